//! The rows whose lock a transaction holds already when a query writes them.
//!
//! Such a write waits for no one: the lock counts where the transaction takes it. The earlier query
//! names the same row by a key, runs on every path to the write, and stays before it in each order,
//! since both use the row.

use super::UnitQuery;
use crate::{
    advice::{Call, calls, is_same_row},
    flow::graph::NodeIndex,
    legality::Context,
    sql::{QueryKind, TableAccess},
};

/// The writes of rows that are locked before.
pub(crate) struct Locked<'c> {
    writes: Vec<(&'c UnitQuery, &'c str)>,
}

impl<'c> Locked<'c> {
    /// Finds the writes of a transaction.
    pub(crate) fn of(context: &Context<'c, '_, '_>) -> Locked<'c> {
        let calls = calls(context);
        let mut writes = Vec::new();
        for (at, later) in calls.iter().enumerate() {
            for (table, access) in &later.query.query.tables {
                let is_before = |earlier: &Call<'c, '_>| {
                    locks(earlier, table)
                        && is_only_text(&calls, earlier)
                        && is_same_row(context, table, earlier, later)
                        && is_passed(context, earlier.node, later.node)
                };
                if !access.inserts && calls[..at].iter().any(is_before) {
                    writes.push((later.query, table.as_str()));
                }
            }
        }
        Locked { writes }
    }

    /// Returns true if the row of a table that a query writes is locked before.
    pub(crate) fn contains(&self, query: &UnitQuery, table: &str) -> bool {
        self.writes.iter().any(|(one, name)| std::ptr::eq(*one, query) && *name == table)
    }
}

/// Returns true if a query locks rows of a table exclusively and waits for them.
fn locks(call: &Call<'_, '_>, table: &str) -> bool {
    let query = &call.query.query;
    let reads = |access: &TableAccess| {
        let text = call.query.text.to_ascii_uppercase();
        access.locks && !text.contains("SHARE") && !text.contains("SKIP")
    };
    let access = query.tables.get(table).filter(|_| query.kind == QueryKind::Write);
    access.is_some_and(|one| !one.inserts && (!one.writes.is_empty() || reads(one)))
}

/// Returns true if a call runs no other text than that of its query.
fn is_only_text(calls: &[Call<'_, '_>], call: &Call<'_, '_>) -> bool {
    let is_its = |one: &&Call<'_, '_>| one.node == call.node && one.query.range == call.query.range;
    calls.iter().filter(is_its).count() == 1
}

/// Returns true if every path to a node passes another one.
fn is_passed(context: &Context<'_, '_, '_>, node: NodeIndex, to: NodeIndex) -> bool {
    let nodes = &context.flow.graph.nodes;
    let (mut open, mut seen) = (vec![0], vec![false; nodes.len()]);
    while let Some(at) = open.pop() {
        if at == to {
            return false;
        }
        if at != node && !std::mem::replace(&mut seen[at], true) {
            open.extend(&nodes[at].successors);
        }
    }
    true
}
