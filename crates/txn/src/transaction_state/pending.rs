//! The transactions that have committed and whose deferred deallocations are not done.
//!
//! ```text
//!   commit ── add ──► pending ── take_next, take_all ──► under way ──► done
//!     │ no room, or closed         ▲ take_all before        │ failed
//!     └──► done at once            │ a checkpoint           ▼
//!                                  └────────────────────  failed
//! ```
//!
//! Such a transaction holds no lock. It is unfinished for checkpoints and recovery (TXN-TABLE-4),
//! so it retains the log from its first record on.
//!
//! Invariants:
//! - DEALLOCATION-1. At most [`PENDING_MAX`] transactions are pending or under way when one is
//!   added. A transaction for which there is no room is not added: its own thread frees its values
//!   before it returns the result. So transactions that drop values faster than the engine's thread
//!   frees them wait for their own deallocations, and space does not grow without bound.
//! - DEALLOCATION-2. [`PendingDeallocations::wait`] returns when no deallocation is under way that
//!   was so at the call. It does not wait for later ones, which may never stop. A transaction whose
//!   deallocation has failed is among the `failed` before it is no longer under way.
//! - DEALLOCATION-3. Once the list is closed, no transaction is added to it, or kept as failed.
//!
//! Latch order: the mutex is held for a few instructions, and nothing is latched under it.

use std::collections::VecDeque;

use clearway_sync::{Condvar, Mutex};

use super::TransactionState;

/// Upper bound on the number of transactions whose deallocations are pending (DEALLOCATION-1). The
/// threads that commit at the same moment fit in, and the engine's thread has work for the time
/// that it takes to wake up. Each transaction retains log, and the pages that it has dropped.
pub(crate) const PENDING_MAX: usize = 16;

/// See the module.
#[derive(Default)]
pub(crate) struct PendingDeallocations {
    lists: Mutex<Lists>,
    /// Signalled when a deallocation is no longer under way.
    changed: Condvar,
}

#[derive(Default)]
#[allow(clippy::vec_box)] // States move as pointers.
struct Lists {
    /// Not tried yet, the oldest first.
    pending: VecDeque<Box<TransactionState>>,
    /// To be tried again before the next checkpoint.
    failed: Vec<Box<TransactionState>>,
    /// The numbers of the deallocations that threads have taken and not completed.
    under_way: Vec<u64>,
    /// The number of deallocations taken so far.
    taken: u64,
    is_closed: bool,
}

/// A transaction with deallocations that the thread has taken. It counts as under way until this is
/// dropped.
pub(crate) struct TakenDeallocations<'a> {
    /// Taken when the deallocations are done.
    state: Option<Box<TransactionState>>,
    of: &'a PendingDeallocations,
    number: u64,
}

impl TakenDeallocations<'_> {
    /// Runs `free` with the transaction's state.
    pub(crate) fn finish(mut self, free: impl FnOnce(Box<TransactionState>)) {
        if let Some(state) = self.state.take() {
            free(state);
        }
    }
}

impl Drop for TakenDeallocations<'_> {
    fn drop(&mut self) {
        let number = self.number;
        self.of.lists.lock().under_way.retain(|other| *other != number);
        self.of.changed.notify_all();
    }
}

impl PendingDeallocations {
    /// Adds the state of a committed transaction, or returns it: there is no room
    /// (DEALLOCATION-1), or the list is closed.
    pub(crate) fn add(&self, state: Box<TransactionState>) -> Option<Box<TransactionState>> {
        let mut lists = self.lists.lock();
        if lists.is_closed || lists.pending.len() + lists.under_way.len() >= PENDING_MAX {
            return Some(state);
        }
        lists.pending.push_back(state);
        None
    }

    /// Keeps the state of a transaction whose deallocations have failed, or returns it if the list
    /// is closed, so that they will not be tried again.
    pub(crate) fn keep_failed(
        &self,
        state: Box<TransactionState>,
    ) -> Option<Box<TransactionState>> {
        let mut lists = self.lists.lock();
        if lists.is_closed {
            return Some(state);
        }
        lists.failed.push(state);
        None
    }

    /// Takes the oldest of the pending ones.
    pub(crate) fn take_next(&self) -> Option<TakenDeallocations<'_>> {
        let mut lists = self.lists.lock();
        let state = lists.pending.pop_front()?;
        Some(self.taken(&mut lists, state))
    }

    /// Takes all, also those that have failed before.
    pub(crate) fn take_all(&self) -> Vec<TakenDeallocations<'_>> {
        let mut lists = self.lists.lock();
        let pending = std::mem::take(&mut lists.pending);
        let failed = std::mem::take(&mut lists.failed);
        failed.into_iter().chain(pending).map(|state| self.taken(&mut lists, state)).collect()
    }

    fn taken(&self, lists: &mut Lists, state: Box<TransactionState>) -> TakenDeallocations<'_> {
        let number = lists.taken;
        lists.taken += 1;
        lists.under_way.push(number);
        TakenDeallocations { state: Some(state), of: self, number }
    }

    /// Waits for the deallocations that other threads have under way (DEALLOCATION-2). Returns
    /// false if there are none.
    pub(crate) fn wait(&self) -> bool {
        let mut lists = self.lists.lock();
        let (later, has_any) = (lists.taken, !lists.under_way.is_empty());
        while lists.under_way.iter().any(|number| *number < later) {
            self.changed.wait(&mut lists);
        }
        has_any
    }

    /// The number of those that are pending and not under way.
    pub(crate) fn count(&self) -> usize {
        self.lists.lock().pending.len()
    }

    /// From now on, none is added or kept (DEALLOCATION-3).
    pub(crate) fn close(&self) {
        self.lists.lock().is_closed = true;
    }
}
