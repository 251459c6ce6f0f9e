//! Below serializable, queries whose results the transaction sees keep their order among each
//! other, unless the user allows another order (`--relaxed-reads`).
//!
//! **Safe because** at read committed each query sees a later state of the database than the query
//! before it. If two reads changed places, the transaction could see a state of the second row
//! that is older than that of the first, which the source never saw. A write whose result the
//! transaction does not see, not even the number of rows, such as `UPDATE t SET n = n + 1`, may
//! change places with a read: nothing in the transaction shows which of the two was first. What
//! another transaction sees may differ: `docs/reorder-isolation.md`.
//!
//! If a later query of the transaction sees what an update or deletion has left, the transaction
//! does see its result. The update waits for a transaction that has changed the row, and keeps
//! others from changing it. So all queries behind it whose results are seen, up to the later one,
//! stay behind it: else they could see an older state than the row shows.

use std::collections::BTreeSet;

use super::{
    Context, Found, Isolation, Rule,
    same_table::{self, Unknown},
};
use crate::{flow::place::Root, solve::UnitIndex, sql::TableAccess};

pub(super) fn find(context: &Context<'_, '_, '_>, found: &mut Found) {
    if context.isolation == Isolation::Serializable || context.relaxed_reads {
        return;
    }
    let units = &context.units.units;
    let read = with_results_read(context);
    let observes = |unit: UnitIndex| {
        let mut queries = units[unit].queries();
        queries.any(|query| query.query.observes() || read.contains(&unit))
    };
    for (first, later) in context.pairs() {
        if observes(first) && observes(later) {
            let reason = "both read, and the isolation level shows in which order".to_string();
            found.before(first, later, Rule::ReadOrder, reason);
        } else if observes(later) && updates(context, first) {
            let mut seers = later + 1..units.len();
            if seers.any(|seer| observes(seer) && sees(context, seer, first)) {
                let reason = "a later query sees what the write left, and the isolation level \
                              shows in which order the two were"
                    .to_string();
                found.before(first, later, Rule::ReadOrder, reason);
            }
        }
    }
}

/// Returns true if a unit updates or deletes rows: it waits for others that have changed them.
fn updates(context: &Context<'_, '_, '_>, unit: UnitIndex) -> bool {
    let mut queries = context.units.units[unit].queries();
    queries.any(|query| {
        let mut accesses = query.query.tables.values();
        accesses.any(|access| access.deletes || !access.writes.is_empty())
    })
}

/// Returns true if a unit reads columns that another one has updated, or rows of a table from which
/// that one has deleted.
fn sees(context: &Context<'_, '_, '_>, seer: UnitIndex, writer: UnitIndex) -> bool {
    let units = &context.units.units;
    let accesses = |unit: UnitIndex| units[unit].queries().flat_map(|one| &one.query.tables);
    let reads_written = |(name, access): (&String, &TableAccess)| {
        accesses(writer).any(|(other, write)| {
            let bases = context.schema.base_tables(other);
            let is_shared = !context.schema.base_tables(name).is_disjoint(&bases);
            let by_view = !bases.contains(name);
            is_shared && (write.deletes || by_view || access.reads.overlap(&write.writes))
        })
    };
    same_table::between(context, (writer, seer), &Unknown).is_some()
        && accesses(seer).any(reads_written)
}

/// Returns the units with a query of whose result more is read than whether it succeeded: the
/// number of rows that it changed.
pub(super) fn with_results_read(context: &Context<'_, '_, '_>) -> BTreeSet<UnitIndex> {
    let flow = context.flow;
    let mut found = BTreeSet::new();
    let nodes = (0..flow.effects.len()).filter(|&node| flow.effects[node].result);
    for node in nodes {
        found.extend(context.units.of_node(node));
        let reads = flow.exposed_reads(node).into_iter();
        for place in reads.filter(|place| {
            place.root.is_object() || matches!(place.root, Root::Last | Root::LastWrite)
        }) {
            let made = flow.reaching(node, place);
            let makers = made.into_iter().map(|one| flow.definitions.all[one].node);
            found.extend(makers.filter_map(|maker| context.units.of_node(maker)));
        }
    }
    found
}
