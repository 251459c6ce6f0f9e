//! The order in which tables are locked, as text.

use std::fmt::Write;

use super::source_order;
use crate::{
    lock_order::{LockOrder, first_locks},
    rewrite::Report,
};

/// Writes a warning if the new order locks tables in another order than the source.
pub(super) fn changed(out: &mut String, report: &Report) {
    let tables = |order: &[usize]| {
        let locks = first_locks(report, order);
        locks.into_iter().map(|lock| lock.table).collect::<Vec<String>>()
    };
    let (old, new) = (tables(&source_order(report)), tables(&report.solution.order));
    if old != new {
        let _ = writeln!(
            out,
            "\ntables are locked in another order: before {}; now {}\n  Programs with the old and \
             the new order that run at once can deadlock: replace all of them together\n  \
             (docs/reorder-isolation.md).",
            old.join(", "),
            new.join(", ")
        );
        if let Some(first) = old.first().filter(|first| new.first() != Some(first)) {
            let _ = writeln!(
                out,
                "  Transactions that lock several rows before that of {first} can now deadlock \
                 with each other:\n  lock these in one order."
            );
        }
    }
}

/// Returns the text of the order of all transactions of a file.
pub(super) fn order(file: &str, order: &LockOrder) -> String {
    match order {
        LockOrder::Order(tables) if tables.is_empty() => {
            "lock order: no two transactions lock rows of the same table\n".to_owned()
        }
        LockOrder::Order(tables) => format!(
            "lock order: all transactions lock tables in the order {} (rows of one table are not \
             compared)\n",
            tables.join(", ")
        ),
        LockOrder::Cycle(steps) => {
            let mut out = "lock order: transactions that run at once can deadlock:\n".to_owned();
            for step in steps {
                let _ = writeln!(
                    out,
                    "  {} locks {} ({file}:{}), then {} ({file}:{})",
                    step.function,
                    step.held.table,
                    step.held.line,
                    step.wanted.table,
                    step.wanted.line
                );
            }
            out.push_str("  --lock-order orders them alike, if that is possible\n");
            out
        }
    }
}
