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
pub(crate) fn commit(mut slot: Box<TransactionState>) -> Result<Committed> {
    // FINISH-4: after the last read.
    if let Err(error) = slot.core.check_open() {
        abandon(slot);
        return Err(error);
    }
    slot.report_leaves();
    if !slot.wrote {
        let ack = slot.owner.max_tag();
        slot.entry().finish();
        slot.entry().read_only_commits.add_as_only_writer(1);
        release(&mut slot, None);
        slot.retire();
        return Ok(Committed { ack, wrote: false });
    }
    let span = match slot.log_commit() {
        Ok(span) => span,
        Err(error) => {
            abandon(slot);
            return Err(error);
        }
    };
    failpoint::pass(Failpoint::CommitLogged);
    slot.entry().commits.add_as_only_writer(1);
    let ack = span.end.max(slot.owner.max_tag());
    let outcome = release_committed(&mut slot, ack, span.end);
    failpoint::pass(Failpoint::CommitReleased);
    tidy_up(slot);
    outcome.map(|()| Committed { ack, wrote: true })
}

/// Releases the locks of a committed writer: at once, before the commit is durable.
#[inline]
fn release_committed(slot: &mut TransactionState, ack: Lsn, end: Lsn) -> Result<()> {
    let core = &slot.core;
    let waited = match &core.commit_release {
        None => Ok(()),
        Some(other) => other.before_release(&core.locks, &mut slot.owner, &core.log, ack),
    };
    release(slot, Some(end));
    waited
}

#[inline]
fn release(slot: &mut TransactionState, commit: Option<Lsn>) {
    slot.core.locks.release_all(&mut slot.owner, commit);
    invariant(slot.owner.held() == 0, "finish: a transaction that has ended holds no lock");
}

/// What a transaction that has ended leaves to do.
#[inline]
fn tidy_up(slot: Box<TransactionState>) {
    if slot.frees.is_empty() { slot.retire() } else { free_deferred(slot) }
}

/// Does what the transaction deferred (FINISH-5). If that fails now, the slot waits for another try
/// with the next checkpoint; until then it keeps the log from its commit record on.
#[cold]
fn free_deferred(mut slot: Box<TransactionState>) {
    match slot.free_deferred() {
        Ok(()) => slot.retire(),
        Err(_) => {
            let core = slot.core.clone();
            let mut stranded = core.stranded.lock();
            if let Some(stranded) = &mut *stranded {
                return stranded.push(slot);
            }
            // The engine is closed: nobody will try again.
            drop(stranded);
            leave_to_recovery(slot);
        }
    }
}

/// Tries again what [`free_deferred`] could not do.
pub(crate) fn retry_stranded(core: &Arc<Core>) {
    let stranded = core.stranded.lock().as_mut().map(std::mem::take);
    stranded.into_iter().flatten().for_each(free_deferred);
}

/// Tries for the last time; what fails now, and whatever fails later, is recovery's to do
/// (FINISH-5).
pub(crate) fn settle_stranded(core: &Arc<Core>) {
    let stranded = core.stranded.lock().take();
    stranded.into_iter().flatten().for_each(free_deferred);
}

/// Rolls back. See [`Transaction::rollback`](crate::Transaction::rollback). Answers the highest tag
/// that the transaction met (FINISH-6).
pub(crate) fn rollback(mut slot: Box<TransactionState>) -> Result<Lsn> {
    if slot.wrote {
        if let Err(error) = slot.core.check_open() {
            abandon(slot);
            return Err(error);
        }
        if let Err(error) = undo_all(&mut slot) {
            // Its changes can be neither kept nor taken back now: recovery will.
            let error = slot.core.fail(error);
            abandon(slot);
            return Err(error);
        }
    }
    slot.report_leaves();
    slot.entry().finish();
    slot.entry().rollbacks.add_as_only_writer(1);
    let seen = slot.owner.max_tag();
    release(&mut slot, None);
    slot.frees.clear();
    tidy_up(slot);
    Ok(seen)
}

/// Ends the engine's own work that has logged no change of content: locks go, nothing is counted.
pub(crate) fn leave(mut slot: Box<TransactionState>) {
    invariant(!slot.wrote, "finish: what has written commits or is undone");
    slot.report_leaves();
    slot.entry().finish();
    release(&mut slot, None);
    slot.retire();
}

/// Ends a loser that recovery has undone.
pub(crate) fn end_loser(mut slot: Box<TransactionState>) -> Result<()> {
    slot.reserve_end()?;
    slot.log_end()?;
    slot.report_leaves();
    slot.entry().finish();
    slot.retire();
    Ok(())
}

/// Undoes everything and says so in the log.
fn undo_all(slot: &mut TransactionState) -> Result<()> {
    slot.undo_to(0)?;
    slot.log_end().map(drop)
}

/// Ends a transaction of an engine that has stopped or closes: its locks go, its changes stay for
/// recovery to undo. Nobody who sees them is acknowledged any more (FINISH-4).
#[cold]
pub(crate) fn abandon(slot: Box<TransactionState>) {
    if slot.wrote { leave_to_recovery(slot) } else { leave(slot) }
}

/// Lets go of a slot whose transaction is recovery's to end. It stays registered with what it is
/// owed (TXN-TABLE-6), so that a checkpoint which is still to come lists it; the slot is not used
/// again.
#[cold]
fn leave_to_recovery(mut slot: Box<TransactionState>) {
    slot.report_leaves();
    slot.entry().leave_to_recovery();
    release(&mut slot, None);
    let core = slot.core.clone();
    drop(slot);
    core.leave_directory();
}
