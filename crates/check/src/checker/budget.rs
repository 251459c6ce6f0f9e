//! The memory budget of a check.
//!
//! The budget counts what grows faster than the history: the choices, and what the search keeps for
//! each state to which it may backtrack. Everything else is linear in the history and is charged
//! once, as an estimate.

use crate::history::{Op, Transaction};

/// The default memory budget of a check: 1 GiB.
pub const MEMORY_BYTES: usize = 1 << 30;

/// Bytes that a check uses without choices, for each byte of the operations: events and
/// transactions have a copy each, the tables by object and the edges are the rest.
const BYTES_FOR_EACH: usize = 12;

/// The memory that is left.
pub(super) struct Budget {
    left: usize,
    was_refused: bool,
}

impl Budget {
    /// A budget of `bytes`, less the linear share of these transactions.
    pub(super) fn new(bytes: usize, transactions: &[Transaction]) -> Budget {
        let operations: usize = transactions.iter().flat_map(|t| &t.ops).map(op_bytes).sum();
        let own = size_of_val(transactions) + operations;
        let mut budget = Budget { left: bytes, was_refused: false };
        if !budget.take(own.saturating_mul(BYTES_FOR_EACH)) {
            budget.left = 0;
        }
        budget
    }

    /// Takes `bytes`. Returns false, and takes nothing, if fewer are left.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        let left = self.left.checked_sub(bytes);
        self.was_refused |= left.is_none();
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }

    /// Gives back bytes that were taken.
    pub(super) fn give(&mut self, bytes: usize) {
        self.left += bytes;
    }

    /// Whether any request was refused.
    pub(super) fn was_refused(&self) -> bool {
        self.was_refused
    }
}

fn op_bytes(op: &Op) -> usize {
    let numbers = match op {
        Op::List { values, .. } | Op::Ledger { versions: values, .. } => {
            values.as_ref().map_or(0, Vec::len)
        }
        Op::Lists { found, .. } => found.iter().flatten().map(|(_, values)| 4 + values.len()).sum(),
        Op::Rows { found, .. } => 2 * found.as_ref().map_or(0, Vec::len),
        _ => 0,
    };
    size_of::<Op>() + numbers * size_of::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_is_not_taken() {
        let mut budget = Budget::new(100, &[]);
        assert!(budget.take(60) && !budget.was_refused());
        assert!(!budget.take(41) && budget.was_refused());
        assert!(budget.take(40) && !budget.take(1));
        budget.give(60);
        assert!(budget.take(60) && budget.was_refused());
    }
}
