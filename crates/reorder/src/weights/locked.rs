//! The rows whose lock a transaction holds already when a query writes them.
//!
//! Such a write waits for no one: the lock counts where the transaction takes it. The earlier query
//! names the same row by a key, runs on every path to the write, and stays before it in each order,
//! since both use the row.

use super::UnitQuery;
use crate::legality::{
    Context,
    same_row::{Call, calls, is_only_text, is_same_row, locks, runs_before},
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
                        && runs_before(context, earlier, later.node)
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
