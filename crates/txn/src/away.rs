//! The states of transactions that a thread of the engine works on, or rolls back, for their tasks
//! (TASK-4 to TASK-6).

use std::sync::Arc;

use clearway_base::{Error, Lsn, Result};
use clearway_lock::WaitLimit;

use crate::{
    core::Core,
    finish,
    task_work::{Offload, Reply},
    transaction_state::TransactionState,
};

/// The state of a transaction that is on its way back from a job (TASK-4).
pub(crate) struct Away {
    pub(crate) state: Option<Box<TransactionState>>,
}

impl Drop for Away {
    fn drop(&mut self) {
        if let Some(state) = self.state.take() {
            // If the rollback has failed, the engine has stopped or is closed: later calls return
            // that error.
            let _ = finish::rollback(state);
        }
    }
}

/// The place that a transaction's state comes back from.
pub(crate) struct ComingBack {
    pub(crate) core: Arc<Core>,
    pub(crate) reply: Reply<(Away, Result<()>)>,
    /// The wait limit that was set meanwhile.
    pub(crate) limit: Option<WaitLimit>,
}

/// The state of a transaction for its next job.
pub(crate) enum StateForJob {
    /// The transaction has had it.
    Here(Box<TransactionState>),
    /// An earlier job returns it.
    Coming(ComingBack),
}

impl StateForJob {
    pub(crate) fn core(&self) -> &Arc<Core> {
        match self {
            StateForJob::Here(state) => &state.core,
            StateForJob::Coming(coming) => &coming.core,
        }
    }

    /// The queue to which the job is to be handed over.
    pub(crate) fn jobs(&self) -> Arc<Offload> {
        self.core().task_work.blocking.clone()
    }

    /// Returns the state. To be called by the job. What the earlier one's work has returned was for
    /// a future that was dropped.
    ///
    /// # Errors
    /// [`Error::Panicked`] if the earlier job has panicked; [`Error::TransactionEnded`] if it had
    /// no state to return.
    pub(crate) fn take(self) -> Result<Box<TransactionState>> {
        let coming = match self {
            StateForJob::Here(state) => return Ok(state),
            StateForJob::Coming(coming) => coming,
        };
        let (mut away, _) = coming.reply.take_in_later_job()?;
        // An earlier job that could not take the state from the job before it has none to return.
        let mut state = away.state.take().ok_or(Error::TransactionEnded)?;
        coming.limit.into_iter().for_each(|limit| state.limit = limit);
        Ok(state)
    }
}

/// The rollback of a deadlock's victim, and the error to report afterwards (TASK-6).
pub(crate) struct VictimsRollback {
    pub(crate) deadlock: Error,
    pub(crate) rolled_back: Reply<Result<Lsn>>,
}

/// Hands over the rollback of a transaction that a task has dropped (TASK-5).
pub(crate) fn leave_to_engine(state: Box<TransactionState>) {
    if is_undone_at_once(&state) {
        let _ = finish::rollback(state);
        return;
    }
    let blocking = state.core.task_work.blocking.clone();
    state.entry().hand_over();
    blocking.run(move || drop(Away { state: Some(state) }));
}

/// Hands over the rollback of a transaction whose task was dropped while an earlier job had its
/// state.
pub(crate) fn leave_coming_to_engine(coming: ComingBack) {
    let state = StateForJob::Coming(coming);
    let jobs = state.jobs();
    jobs.run(move || drop(state.take().map(finish::rollback)));
}

/// Returns true if there is nothing to undo: a rollback only releases locks.
pub(crate) fn is_undone_at_once(state: &TransactionState) -> bool {
    !state.wrote && !state.has_unlinked()
}
