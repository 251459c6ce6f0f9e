//! The optimistic run of a closure: the transaction runs as always, and is converted into a fetch
//! stage if it comes to a page that is not in memory. `staging::conversion` does that.
//!
//! Invariants:
//! - OPTIMISTIC-RUN-1. The conversion is requested by the operation of a transaction that is going
//!   forward, at its first absent page, once, and not while changes are undone, nor after its end.
//! - OPTIMISTIC-RUN-2. The state of the fetch stage is there before the conversion is requested:
//!   with none, the transaction goes on and waits for the page.

use std::cell::Cell;

use clearway_base::{Error, PageId, Result};

use super::{RetryContext, TransactionState};

/// Leaves that an optimistic run notes. (A fetch stage pins more, but they are an exception.)
const TOUCHED_MAX: usize = 4096;

/// See the module.
#[derive(Default)]
pub(super) struct OptimisticRun {
    /// True if the next absent page leads to the conversion.
    is_armed: Cell<bool>,
    /// The leaves that the transaction has come to, oldest first.
    touched: Vec<PageId>,
    /// The state of the fetch stage, once the conversion is requested (OPTIMISTIC-RUN-2).
    next: Option<Box<TransactionState>>,
}

impl TransactionState {
    /// Makes this an optimistic run.
    pub(crate) fn begin_optimistic(&mut self) {
        self.optimistic.is_armed.set(true);
        self.has_after_operation = true;
    }

    /// Makes this an ordinary run again.
    #[cold]
    pub(super) fn end_optimistic(&mut self) {
        debug_assert!(self.optimistic.next.is_none(), "a conversion was requested and not made");
        self.optimistic.is_armed.set(false);
        self.optimistic.touched.clear();
        self.has_after_operation = self.core.options.escalate_after.is_some();
    }

    /// Returns true if an absent page leads to the conversion.
    #[inline]
    pub(crate) fn is_optimistic(&self) -> bool {
        self.optimistic.is_armed.get()
    }

    /// From now on the transaction waits for absent pages as always.
    pub(crate) fn prevent_conversion(&self) {
        self.optimistic.is_armed.set(false);
    }

    /// Notes the leaf that an operation has come to.
    #[cold]
    pub(crate) fn note_touched(&mut self, leaf: Option<PageId>) {
        let touched = &mut self.optimistic.touched;
        if let Some(leaf) = leaf
            && self.optimistic.is_armed.get()
            && touched.last() != Some(&leaf)
            && touched.len() < TOUCHED_MAX
        {
            touched.push(leaf);
        }
    }

    /// Requests the conversion, if this is an optimistic run (OPTIMISTIC-RUN-1).
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub(super) fn convert_at_absent_page(&mut self) -> Result<()> {
        if self.undoing || !self.optimistic.is_armed.replace(false) {
            return Ok(());
        }
        self.optimistic.next = self.transactions().begin_for_user(self.kind).ok();
        if self.optimistic.next.is_some() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Takes the state of the fetch stage; `None` if no conversion was requested.
    pub(crate) fn take_next_stage(&mut self) -> Option<Box<TransactionState>> {
        self.optimistic.next.take()
    }

    /// Takes the leaves that the transaction has come to.
    pub(crate) fn take_touched(&mut self) -> Vec<PageId> {
        std::mem::take(&mut self.optimistic.touched)
    }

    /// Returns what the next attempt takes over from this one, which is to be converted.
    pub(crate) fn conversion_context(&self) -> RetryContext {
        RetryContext::with(self.owner.priority(), self.owner.max_tag())
    }

    /// Copies the body of the newest change that was not undone. Returns false if there is none.
    pub(crate) fn newest_change(&self, body: &mut Vec<u8>) -> bool {
        self.undo.copy_newest(body);
        self.undo.len() > 0
    }

    /// Undoes the newest change.
    ///
    /// # Errors
    /// As [`undo_to`](TransactionState::undo_to).
    pub(crate) fn undo_newest(&mut self) -> Result<()> {
        self.undo_to(self.undo.len().saturating_sub(1))
    }
}
