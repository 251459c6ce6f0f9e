//! How a transaction ends: commit, rollback, or neither because the engine has stopped.
//!
//! Commit of a writer:
//!
//! ```text
//!   busy ─► COMMIT record ─► nothing owed ─► locks released, tags = END of the record ─► ack
//! ```
//!
//! Invariants:
//! - FINISH-1. Locks are released after the commit record stands in the log buffer, so commit
//!   records are in the order in which their effects become visible; and nothing that could still
//!   fail comes between the record and the release.
//! - FINISH-2. The result may leave when the log is durable up to `ack` = max(end of the commit
//!   record, every tag met). A reader logs nothing; its `ack` is the highest tag it met.
//! - FINISH-3. An end by rollback leaves no tag: after the undo the visible value is the
//!   predecessor's, and so is the tag.
//! - FINISH-4. Once the log has failed no commit succeeds, a reader's included: it may have read
//!   what a stopped transaction left behind.
//! - FINISH-5. What a transaction deferred is done after its commit; until its END record recovery
//!   would do it.
//! - FINISH-6. What a rolled back transaction has read may be told to anybody only when the log is
//!   durable up to the highest tag it met, as for a reader: "the key is there" is a result too.
//! - FINISH-7. The leaves that a transaction reports to upkeep are in its queue before the
//!   transaction counts as ended, so that a closing engine which counts no transaction misses none.
//!
//! Algorithm: "Early lock release", section 3 (partial strictness); tags after "Efficient Locking
//! for Databases", section 5.3.

use std::sync::Arc;

use clearway_base::{
    Lsn, Result,
    failpoint::{self, Failpoint},
};
use clearway_sync::invariant;

use crate::{core::Core, transaction_state::TransactionState};

/// A commit that has been requested: locks released, not yet durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Committed {
    /// The result may be shown once the log is durable up to here.
    pub ack: Lsn,
    /// Whether the transaction changed anything.
    pub wrote: bool,
}

/// Commits. See [`Transaction::commit`](crate::Transaction::commit).
#[inline]
pub(crate) fn commit(mut state: Box<TransactionState>) -> Result<Committed> {
    // FINISH-4: after the last read.
    if let Err(error) = state.core.check_open() {
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

/// Releases the locks of a committed writer: at once, before the commit is durable.
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

/// What a transaction that has ended leaves to do.
#[inline]
fn tidy_up(state: Box<TransactionState>) {
    if state.frees.is_empty() { state.retire() } else { free_deferred(state) }
}

/// Does what the transaction deferred (FINISH-5). If that fails now, the slot waits for another try
/// with the next checkpoint; until then it keeps the log from its commit record on.
#[cold]
fn free_deferred(mut state: Box<TransactionState>) {
    match state.free_deferred() {
        Ok(()) => state.retire(),
        Err(_) => {
            let core = state.core.clone();
            let mut failed_deallocations = core.failed_deallocations.lock();
            if let Some(failed_deallocations) = &mut *failed_deallocations {
                return failed_deallocations.push(state);
            }
            // The engine is closed: nobody will try again.
            drop(failed_deallocations);
            leave_to_recovery(state);
        }
    }
}

/// Tries again what [`free_deferred`] could not do.
pub(crate) fn retry_stranded(core: &Arc<Core>) {
    let failed_deallocations = core.failed_deallocations.lock().as_mut().map(std::mem::take);
    failed_deallocations.into_iter().flatten().for_each(free_deferred);
}

/// Tries for the last time; what fails now, and whatever fails later, is recovery's to do
/// (FINISH-5).
pub(crate) fn settle_stranded(core: &Arc<Core>) {
    let failed_deallocations = core.failed_deallocations.lock().take();
    failed_deallocations.into_iter().flatten().for_each(free_deferred);
}

/// Rolls back. See [`Transaction::rollback`](crate::Transaction::rollback). Answers the highest tag
/// that the transaction met (FINISH-6).
pub(crate) fn rollback(mut state: Box<TransactionState>) -> Result<Lsn> {
    if state.wrote {
        if let Err(error) = state.core.check_open() {
            abandon(state);
            return Err(error);
        }
        if let Err(error) = undo_all(&mut state) {
            // Its changes can be neither kept nor taken back now: recovery will.
            let error = state.core.fail(error);
            abandon(state);
            return Err(error);
        }
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

/// Ends the engine's own work that has logged no change of content: locks go, nothing is counted.
pub(crate) fn leave(mut state: Box<TransactionState>) {
    invariant(!state.wrote, "finish: what has written commits or is undone");
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

/// Undoes everything and says so in the log.
fn undo_all(state: &mut TransactionState) -> Result<()> {
    state.undo_to(0)?;
    state.log_end().map(drop)
}

/// Ends a transaction of an engine that has stopped or closes: its locks go, its changes stay for
/// recovery to undo. Nobody who sees them is acknowledged any more (FINISH-4).
#[cold]
pub(crate) fn abandon(state: Box<TransactionState>) {
    if state.wrote { leave_to_recovery(state) } else { leave(state) }
}

/// Lets go of a slot whose transaction is recovery's to end. It stays registered with what it is
/// owed (TXN-TABLE-6), so that a checkpoint which is still to come lists it; the slot is not used
/// again.
#[cold]
fn leave_to_recovery(mut state: Box<TransactionState>) {
    state.report_leaves();
    state.entry().leave_to_recovery();
    release(&mut state, None);
    let core = state.core.clone();
    drop(state);
    core.leave_directory();
}
