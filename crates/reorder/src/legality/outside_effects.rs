//! Effects outside of the program and the database keep their order, and none changes places with
//! an exit. A query that calls a function which is not known may have such an effect.
//!
//! The same holds of what the function finds as its last call has left it, and writes: an attempt
//! that an exit ends must not have changed it for the next one. This is
//! - a `static` variable, or one outside of functions, that the function reads before it writes it;
//! - memory of the caller that one statement reads and writes, as `cart->total += price` does;
//! - all memory of the caller that the function reads before it writes it, if the file shows that
//!   the function may be called again. Callers elsewhere set such memory before each call.
//!
//! So do the queries of which a caller sees the last one: in SQLite, a function of the file that
//! asks for the number of the row which was inserted last, or of the rows which were changed last,
//! behind a call of the transaction's function; with other servers, one that asks for what the last
//! query has left before it ends the transaction.
//!
//! **Safe because** a run that commits shows the same effects in the same order, and a run that
//! takes an exit shows those that stood before the exit in the source.

use std::collections::BTreeSet;

use super::{
    Context, Found, Rule, functions,
    values::{self, Read},
};
use crate::{
    flow::{
        access::AccessKind,
        graph::NodeIndex,
        place::{Place, Root, Step},
    },
    ir::LastSeen,
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
    keep_last_query(context, found);
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

/// Keeps the order of the queries of which a caller sees the last one.
fn keep_last_query(context: &Context<'_, '_, '_>, found: &mut Found) {
    let Some((caller, seen)) = context.flow.asked_by_caller() else { return };
    let is_seen = |unit: usize| {
        context.units.units[unit].queries().any(|one| match seen {
            LastSeen::Inserts => one.query.tables.values().any(|access| access.inserts),
            LastSeen::Writes => one.query.kind == QueryKind::Write,
            LastSeen::Queries => true,
        })
    };
    let last = match seen {
        LastSeen::Inserts => "insert",
        LastSeen::Writes => "write",
        LastSeen::Queries => "query",
    };
    for (first, later) in context.pairs() {
        if is_seen(first) && is_seen(later) {
            let reason = format!("`{caller}` asks afterwards for what the last {last} has left");
            found.before(first, later, Rule::OutsideEffect, reason);
        }
    }
}

/// Returns what the transaction may read as the last call has left it.
fn kept_between_calls(context: &Context<'_, '_, '_>, found: &Found) -> BTreeSet<Place> {
    let is_kept = |read: &Read| match read.place.root {
        Root::Variable(variable) => context.program.variable(variable).is_lasting(),
        Root::Pointee(_) | Root::Behind(_) if !read.place.root.is_object() => {
            is_kept_by_caller(context, read)
        }
        _ => false,
    };
    let reads = found.reads(context);
    let from_before = reads.iter().filter(|read| read.from_before && is_kept(read));
    from_before.map(|read| read.place.clone()).collect()
}

/// Returns true if a read of the caller's memory finds there what an earlier call has left, and if
/// a statement adds to it or the function may be called again.
fn is_kept_by_caller(context: &Context<'_, '_, '_>, read: &Read) -> bool {
    let nodes = context.units.units[read.unit].continuing_nodes();
    let mut exposed = nodes.filter(|&node| context.flow.exposed_reads(node).contains(&&read.place));
    exposed.any(|node| {
        !is_set_before(context, node, &read.place)
            && (context.flow.is_called_again() || accumulates(context, node, &read.place))
    })
}

/// Returns true if a node writes the memory that it reads.
fn accumulates(context: &Context<'_, '_, '_>, node: NodeIndex, place: &Place) -> bool {
    let mut accesses = context.flow.effects[node].accesses.iter();
    accesses.any(|access| {
        access.kind != AccessKind::Read
            && access.place.root == place.root
            && context.flow.may_share(&access.place, place)
    })
}

/// Returns true if each path to a node passes another node that writes exactly the place. A fetch
/// is one: code behind it uses what it has written only if it has.
fn is_set_before(context: &Context<'_, '_, '_>, node: NodeIndex, place: &Place) -> bool {
    let flow = context.flow;
    let writes = |other: &NodeIndex| {
        let mut accesses = flow.effects[*other].accesses.iter();
        *other != node && accesses.any(|one| one.kind != AccessKind::Read && one.place == *place)
    };
    let over: Vec<NodeIndex> = (0..flow.graph.nodes.len()).filter(writes).collect();
    !place.path.contains(&Step::Element(None)) && flow.graph.passes(0, node, &over)
}
