//! The end of a transaction: commit, rollback, or neither because the engine has stopped.
//!
//! Commit of a writer:
//!
//! ```text
//!   entry marked busy ─► COMMIT record inserted ─► entry says: recovery has nothing to undo
//!     ─► for each lock: if held to write, tag raised to the end of the record; then released
//!     ─► ack returned
//! ```
//!
//! Invariants:
//! - FINISH-1. Locks are released after the commit record stands in the log buffer, so commit
//!   records are in the order in which their effects become visible; and nothing that could still
//!   fail comes between the record and the release (but the wait of a plugged-in `CommitRelease`,
//!   after which the locks are released all the same).
//! - FINISH-2. The result may be delivered when the log is durable up to `ack` = max(end of the
//!   commit record, every tag met). A reader logs nothing; its `ack` is the highest tag it met.
//! - FINISH-3. A rollback raises no tag: after the undo the visible value is again that of the last
//!   committed writer, whose commit is durable or covered by the tag.
//! - FINISH-4. A commit that begins after the engine has stopped or was closed fails, a reader's
//!   included: it may have read what an abandoned transaction left behind. For the same reason the
//!   error of a closure is not delivered then
//!   ([`Transaction::check_open`](crate::Transaction::check_open)).
//! - FINISH-5. The engine frees the values whose freeing a transaction deferred, after that
//!   transaction's commit. Its upkeep thread does that, and the result does not wait for it, unless
//!   too many transactions wait already (DEALLOCATION-1) or there is no such thread. If the engine
//!   stops or closes before the transaction's END record (the log record after which nothing is
//!   left to do for it) is durable, recovery frees each value whose freeing has not begun in the
//!   durable log.
//! - FINISH-8. A call that reports or reuses space ([`finish_deallocations`]) first frees the
//!   values of each transaction whose result was returned before the call.
//! - FINISH-6. [`rollback`] returns the highest tag that the transaction met. The caller (`fail` of
//!   the transaction in `crates/clearway`) delivers nothing that the transaction has read, not even
//!   an error, before the log is durable up to that tag, as for a reader: "the key is there" is a
//!   result too. (The lazy commit mode of `crates/clearway` gives up this and FINISH-2.)
//! - FINISH-7. A transaction adds the leaves that it reports to the upkeep queue before it counts
//!   as ended. So when an engine that is closing counts no active transaction, all reports are in
//!   that queue.
//!
//! Algorithm: "Early lock release", section 3 (partial strictness); tags after "Efficient Locking
//! for Databases", section 5.3.

use clearway_base::{
    Lsn, Result,
    failpoint::{self, Failpoint},
};
use clearway_sync::invariant;

use crate::transaction_state::{TransactionState, Transactions};

/// A transaction that has committed. Its locks are released; it may not be durable yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Committed {
    /// The result may be delivered once the log is durable up to here (FINISH-2).
    pub ack: Lsn,
    /// Whether the transaction changed anything.
    pub wrote: bool,
}

/// Commits. See [`Transaction::commit`](crate::Transaction::commit).
#[inline(always)] // `commit_as_task` has its own copy.
pub(crate) fn commit(mut state: Box<TransactionState>) -> Result<Committed> {
    // FINISH-4: after the last read.
    if let Err(error) = state.core.health.check_open() {
        abandon(state);
        return Err(error);
    }
    state.report_leaves();
    if !state.wrote {
        let ack = state.owner.max_tag();
        state.entry().finish();
        state.entry().read_only_commits.add_as_only_writer(1);
        release(&mut state, None);
        state.retire();
        return Ok(Committed { ack, wrote: false });
    }
    let span = match state.log_commit() {
        Ok(span) => span,
        Err(error) => {
            abandon(state);
            return Err(error);
        }
    };
    failpoint::pass(Failpoint::CommitLogged);
    state.entry().commits.add_as_only_writer(1);
    let ack = span.end.max(state.owner.max_tag());
    let outcome = release_committed(&mut state, ack, span.end);
    failpoint::pass(Failpoint::CommitReleased);
    tidy_up(state);
    outcome.map(|()| Committed { ack, wrote: true })
}

/// As [`commit`], for a task.
#[inline(never)]
pub(crate) fn commit_as_task(state: Box<TransactionState>) -> Result<Committed> {
    commit(state)
}

/// Releases the locks of a committed writer without waiting until the commit is durable, unless the
/// options plug in a `CommitRelease`, which may do that first.
#[inline]
fn release_committed(state: &mut TransactionState, ack: Lsn, end: Lsn) -> Result<()> {
    let core = &state.core;
    let waited = match &core.commit_release {
        None => Ok(()),
        Some(other) => other.before_release(&core.locks, &mut state.owner, &core.log, ack),
    };
    release(state, Some(end));
    waited
}

#[inline]
fn release(state: &mut TransactionState, commit: Option<Lsn>) {
    state.core.locks.release_all(&mut state.owner, commit);
    invariant(state.owner.held() == 0, "finish: a transaction that has ended holds no lock");
}

/// Does the work that remains after a transaction has ended, or leaves it to the upkeep thread, and
/// retires the state.
#[inline]
fn tidy_up(state: Box<TransactionState>) {
    if state.frees.is_empty() { state.retire() } else { free_later(state) }
}

/// Leaves the frees that the transaction deferred to the upkeep thread (FINISH-5).
#[cold]
fn free_later(mut state: Box<TransactionState>) {
    let transactions = state.transactions();
    let core = &transactions.core;
    if !core.options.background && !core.options.simulated_jobs {
        return free_deferred(state);
    }
    state.await_frees();
    match transactions.deallocations.add(state) {
        None => core.upkeep.note_deallocation(),
        Some(state) => free_deferred(state),
    }
}

/// Frees the values whose freeing the transaction deferred (FINISH-5). If that fails, the state is
/// kept, and the frees are tried again before the next checkpoint; until then the log from the
/// transaction's first record on is retained.
#[cold]
fn free_deferred(mut state: Box<TransactionState>) {
    match state.free_deferred() {
        Ok(()) => state.retire(),
        Err(_) => {
            // If the engine is closed, no checkpoint will try again.
            let transactions = state.transactions();
            let refused = transactions.deallocations.keep_failed(state);
            refused.into_iter().for_each(leave_to_recovery);
        }
    }
}

/// Frees what the oldest of the transactions has deferred that wait for it. Returns false if there
/// is none.
pub(crate) fn free_next(transactions: &Transactions) -> bool {
    let Some(taken) = transactions.deallocations.take_next() else { return false };
    taken.finish(free_deferred);
    if transactions.deallocations.count() > 0 {
        transactions.core.upkeep.note_deallocation();
    }
    true
}

/// Does the deallocations that are pending, and tries again those that failed. Does not wait for
/// those that other threads do at this moment: it is called by the checkpointer, and these may wait
/// for the log space that the checkpointer frees.
pub(crate) fn retry_deallocations(transactions: &Transactions) {
    transactions.deallocations.take_all().into_iter().for_each(|taken| taken.finish(free_deferred));
}

/// As [`retry_deallocations`], and waits for the deallocations that other threads do (FINISH-8).
/// The caller must hold no latch.
pub(crate) fn finish_deallocations(transactions: &Transactions) {
    retry_deallocations(transactions);
    if transactions.deallocations.wait() {
        retry_deallocations(transactions); // Those of the others may have failed.
    }
}

/// As [`finish_deallocations`], for the last time. Recovery does what fails now or later
/// (FINISH-5).
pub(crate) fn close_deallocations(transactions: &Transactions) {
    transactions.deallocations.close();
    finish_deallocations(transactions);
}

/// Rolls back. See [`Transaction::rollback`](crate::Transaction::rollback). Returns the highest tag
/// that the transaction met (FINISH-6).
pub(crate) fn rollback(mut state: Box<TransactionState>) -> Result<Lsn> {
    state.prevent_conversion(); // OPTIMISTIC-RUN-1
    if state.wrote {
        if let Err(error) = state.core.health.check_open() {
            abandon(state);
            return Err(error);
        }
        if let Err(error) = undo_all(&mut state) {
            // The engine can now neither commit these changes nor undo them. Recovery undoes them
            // at the next opening.
            let error = state.core.health.fail(error);
            abandon(state);
            return Err(error);
        }
    }
    if state.has_unlinked() {
        // Left by an operation of a task that was dropped. If this fails, the pages stay allocated
        // and unreachable, which `verify` reports.
        let _ = state.free_unlinked();
    }
    state.report_leaves();
    state.entry().finish();
    state.entry().rollbacks.add_as_only_writer(1);
    let seen = state.owner.max_tag();
    release(&mut state, None);
    state.frees.clear();
    tidy_up(state);
    Ok(seen)
}

/// Ends a transaction that has logged no change of content: the engine's own work, or a user's
/// transaction that the stopped or closed engine refuses. Releases its locks and counts neither a
/// commit nor a rollback.
pub(crate) fn leave(mut state: Box<TransactionState>) {
    invariant(!state.wrote, "finish: a transaction that has written must commit or be undone");
    state.report_leaves();
    state.entry().finish();
    release(&mut state, None);
    state.retire();
}

/// Ends a loser that recovery has undone.
pub(crate) fn end_loser(mut state: Box<TransactionState>) -> Result<()> {
    state.reserve_end()?;
    state.log_end()?;
    state.report_leaves();
    state.entry().finish();
    state.retire();
    Ok(())
}

/// Undoes all changes and logs the END record.
fn undo_all(state: &mut TransactionState) -> Result<()> {
    state.undo_to(0)?;
    state.log_end().map(drop)
}

/// Ends a transaction of an engine that has stopped or is closing. Releases its locks and leaves
/// its changes for recovery to undo. No transaction that reads these changes is acknowledged
/// (FINISH-4).
#[cold]
pub(crate) fn abandon(state: Box<TransactionState>) {
    if state.wrote { leave_to_recovery(state) } else { leave(state) }
}

/// Releases the locks of a transaction that recovery will end, and drops its state. The transaction
/// stays registered in the transaction table with the work that recovery must do for it (its undo
/// or its deferred deallocations, TXN-TABLE-6), so that a checkpoint which is still to come lists
/// it. Its participant record is not used again.
#[cold]
fn leave_to_recovery(mut state: Box<TransactionState>) {
    state.report_leaves();
    state.entry().leave_to_recovery();
    release(&mut state, None);
    let core = state.core.clone();
    drop(state);
    core.directory.leave();
}
