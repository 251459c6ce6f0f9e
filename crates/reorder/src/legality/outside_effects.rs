//! Effects outside of the program and the database keep their order, and none changes places with
//! an exit. A query that calls a function which is not known may have such an effect.
//!
//! The same holds of a variable that the function finds as its last call has left it, and that no
//! caller can set: a `static` one, or one outside of functions, that it reads before it writes it.
//!
//! So do the writes of which a caller sees the last one: in SQLite, a function of the file that
//! asks for the number of the row which was inserted last, or of the rows which were changed last,
//! behind a call of the transaction's function.
//!
//! **Safe because** a run that commits shows the same effects in the same order, and a run that
//! takes an exit shows those that stood before the exit in the source.

use std::collections::BTreeSet;

use super::{Context, Found, Rule, functions, values};
use crate::{
    flow::{
        callers::LastSeen,
        place::{Place, Root},
    },
    sql::QueryKind,
};

pub(super) fn find(context: &Context<'_, '_, '_>, found: &mut Found) {
    let units = &context.units.units;
    let has_effect = |unit: usize| {
        let by_query =
            units[unit].queries().any(|query| functions::lasting(context, query).is_some());
        let mut nodes = units[unit].continuing_nodes();
        by_query
            || nodes.any(|node| {
                let accesses = &context.flow.effects[node].accesses;
                accesses.iter().any(|access| access.place.root == Root::Outside)
            })
    };
    let effects: Vec<bool> = (0..units.len()).map(has_effect).collect();
    let leaves = |unit: usize| units[unit].exits().next().is_some();
    for (first, later) in context.pairs() {
        let (one, other) = (effects[first], effects[later]);
        if one && (other || leaves(later)) || other && leaves(first) {
            let reason = "it has an effect outside, or depends on something there".to_string();
            found.before(first, later, Rule::OutsideEffect, reason);
        }
    }
    keep_last_write(context, found);
    for place in kept_between_calls(context, found) {
        let reason = format!("a later call reads {}", values::name(context, &place));
        for writer in values::writers(context, &place) {
            for unit in (0..units.len()).filter(|&unit| leaves(unit)) {
                let (first, later) = (writer.min(unit), writer.max(unit));
                found.before(first, later, Rule::OutsideEffect, reason.clone());
            }
        }
    }
}

/// Keeps the order of the writes of which a caller sees the last one.
fn keep_last_write(context: &Context<'_, '_, '_>, found: &mut Found) {
    let Some((caller, seen)) = context.flow.asked_by_caller() else { return };
    let is_seen = |unit: usize| {
        context.units.units[unit].queries().any(|one| match seen {
            LastSeen::Inserts => one.query.tables.values().any(|access| access.inserts),
            LastSeen::Writes => one.query.kind == QueryKind::Write,
        })
    };
    let write = if seen == LastSeen::Inserts { "insert" } else { "write" };
    for (first, later) in context.pairs() {
        if is_seen(first) && is_seen(later) {
            let reason = format!("`{caller}` asks afterwards for what the last {write} has left");
            found.before(first, later, Rule::OutsideEffect, reason);
        }
    }
}

/// Returns the variables that the transaction may read as the last call has left them.
fn kept_between_calls(context: &Context<'_, '_, '_>, found: &Found) -> BTreeSet<Place> {
    let is_kept = |place: &Place| match place.root {
        Root::Variable(variable) => context.program.variable(variable).is_lasting(),
        _ => false,
    };
    let reads = found.reads(context);
    let from_before = reads.iter().filter(|read| read.from_before).map(|read| &read.place);
    from_before.filter(|place| is_kept(place)).cloned().collect()
}
