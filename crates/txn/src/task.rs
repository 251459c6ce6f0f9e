//! Transactions of tasks: their operations, commit and rollback are futures, which keep no thread
//! while they wait.
//!
//! ```text
//!   operation ── needs (transaction_state::tasks) ── done
//!        │ a deadlock's victim            ┌─────────────────────────────┐
//!        └──────────────► rolled back by  │ offload: a thread of the    │
//!   rollback, rollback_to ──────────────► │ engine that may block       │
//!   dropped ────────────────────────────► │                             │
//!                                         └─────────────────────────────┘
//! ```
//!
//! A task may be dropped at any time:
//! - The future of an *operation*: the operation has changed no record (TASK-2), and the
//!   transaction goes on, unless it is the victim of a deadlock.
//! - A *transaction* before its commit was requested: it is rolled back, by the drop itself if
//!   there is nothing to undo, otherwise by a thread of the engine.
//! - The future of a *commit*, once it was polled: the commit takes place all the same, and its
//!   flush is requested.
//!
//! Invariants:
//! - TASK-4. The state of a transaction is in one place: in its [`Transaction`], or in a job of
//!   `offload` that returns it (`away`), or in one that ends the transaction. A rollback to a
//!   savepoint and a commit need not wait until it comes back: their job takes it from the earlier
//!   one. A job whose transaction was dropped rolls it back, unless it commits.
//! - TASK-5. A rollback that was handed over needs no task any more: not the one that dropped the
//!   transaction, nor any that runs. So a task that waits for the transaction's locks gets them.
//!   [`Engine::close`](crate::Engine::close) waits for the rollbacks that were handed over before.
//! - TASK-6. A deadlock is reported once. If the operation that met it is dropped during the
//!   victim's rollback, the next call waits for the rollback's end and reports the deadlock (or, if
//!   it is the rollback, the rollback's result; a commit fails).
//! - TASK-7. An optimistic run that has something to undo is converted into its fetch stage by a
//!   job of `offload`. If the operation that came to the absent page is dropped meanwhile, the next
//!   call waits for the stage. If the transaction is dropped, the stage ends with the job's reply.

mod conversion;
mod operations;

use std::{
    future::poll_fn,
    ops::Bound,
    sync::Arc,
    time::{Duration, Instant},
};

use clearway_base::{Error, Lsn, Result};
use clearway_lock::{AbsoluteMode, IntentMode};
use clearway_sync::step;
use clearway_tree::{Direction, ReadIntent};

use crate::{
    Committed, RetryContext, Savepoint, Table, TableCursor, Transaction,
    away::{self, Away, ComingBack, StateForJob, VictimsRollback},
    finish,
    staging::FetchStage,
    task_work::Alarm,
    transaction::intent_mode,
    transaction_state::TransactionState,
};

impl Transaction {
    fn has_unlinked(&self) -> bool {
        self.state.as_ref().is_some_and(|state| state.has_unlinked())
    }

    /// Ends a deadlock's victim, and frees what an operation has left.
    async fn after_task<T>(&mut self, result: Result<T>) -> Result<T> {
        match result {
            Err(Error::Deadlock { .. }) => return self.die_as_task(result).await,
            Err(Error::Cancelled) => return self.convert_as_task().await,
            _ => {}
        }
        if self.has_unlinked() {
            // If this fails as well, the pages stay allocated and unreachable, which `verify`
            // reports; the operation's error is the one to return.
            let _ = self.work_on_state(free_unlinked).await;
        }
        result
    }

    /// Returns the state, once it is back.
    async fn state_as_task(&mut self) -> Result<&mut TransactionState> {
        self.check_process()?;
        self.end_conversion().await?;
        if let Some((deadlock, rolled_back)) = self.end_victim().await {
            return Err(rolled_back.err().unwrap_or(deadlock));
        }
        // If the work has failed, its future was dropped; where that matters, the engine has
        // stopped.
        let _ = self.come_back().await;
        if self.has_unlinked() {
            // Left by an operation whose future was dropped.
            let _ = self.work_on_state(free_unlinked).await;
        }
        let ended = self.ended();
        self.state.as_deref_mut().ok_or(ended)
    }

    /// Has a thread of the engine work on the state, which then comes back.
    async fn work_on_state(
        &mut self,
        work: impl FnOnce(&mut TransactionState) -> Result<()> + Send + 'static,
    ) -> Result<()> {
        let state = self.state_for_job()?;
        let core = state.core().clone();
        let reply = state.jobs().call(move || match state.take() {
            Ok(mut state) => {
                let result = work(&mut state);
                (Away { state: Some(state) }, result)
            }
            Err(error) => (Away { state: None }, Err(error)),
        });
        self.aside().away = Some(ComingBack { core, reply, limit: None });
        self.come_back().await
    }

    /// Takes the state, or the place that it comes back from.
    fn state_for_job(&mut self) -> Result<StateForJob> {
        if let Some(state) = self.state.take() {
            return Ok(StateForJob::Here(state));
        }
        let coming = self.aside.as_mut().and_then(|aside| aside.away.take());
        coming.map(StateForJob::Coming).ok_or_else(|| self.ended())
    }

    /// Waits until the state is back. Returns the result of the work that was done on it.
    pub(crate) async fn come_back(&mut self) -> Result<()> {
        if self.state.is_some() {
            return Ok(());
        }
        let Some(coming) = &mut self.aside().away else { return Ok(()) };
        let replied = poll_fn(|cx| coming.reply.poll(cx)).await;
        let limit = self.aside().away.take().and_then(|coming| coming.limit);
        let (mut away, result) = replied?;
        self.state = away.state.take();
        limit.map(|limit| self.set_wait_limit(limit));
        result
    }

    /// Rolls back a deadlock's victim.
    #[cold]
    async fn die_as_task<T>(&mut self, result: Result<T>) -> Result<T> {
        let (Some(mut state), Err(deadlock)) = (self.state.take(), &result) else { return result };
        self.aside().retry = Some(state.retry_context());
        if away::is_undone_at_once(&state) {
            finish::rollback(state)?;
            self.note_deadlock(deadlock);
            return result;
        }
        let blocking = state.core.task_work.blocking.clone();
        state.entry().hand_over();
        let rolled_back = blocking.call(move || finish::rollback(state));
        self.aside().victim = Some(VictimsRollback { deadlock: deadlock.clone(), rolled_back });
        match self.end_victim().await {
            Some((_, Err(failure))) => Err(failure),
            _ => result,
        }
    }

    /// Waits until a deadlock's victim is rolled back, if this transaction is one whose deadlock
    /// was not reported. Returns the deadlock and the result of the rollback.
    async fn end_victim(&mut self) -> Option<(Error, Result<Lsn>)> {
        if self.state.is_some() {
            return None;
        }
        let victim = self.aside().victim.as_mut()?;
        let rolled_back = poll_fn(|cx| victim.rolled_back.poll(cx)).await;
        let VictimsRollback { deadlock, .. } = self.aside().victim.take()?;
        let rolled_back = rolled_back.and_then(|result| result);
        if rolled_back.is_ok() {
            self.note_deadlock(&deadlock);
        }
        Some((deadlock, rolled_back))
    }

    /// As [`cursor`](Self::cursor), for a task.
    pub async fn cursor_as_task(
        &mut self,
        table: &Table,
        lower: Bound<Vec<u8>>,
        upper: Bound<Vec<u8>>,
        direction: Direction,
        intent: ReadIntent,
    ) -> Result<TableCursor> {
        self.enter_as_task(table, intent_mode(intent)).await?;
        Ok(self.cursor_at(table, lower, upper, direction, intent))
    }

    /// As [`lock_table`](Self::lock_table), for a task.
    pub async fn lock_table_as_task(&mut self, table: &Table, mode: AbsoluteMode) -> Result<()> {
        self.enter_as_task(table, mode.into()).await
    }

    /// Takes the intent lock that a cursor needs, for a task.
    pub(crate) async fn enter_as_task(&mut self, table: &Table, mode: IntentMode) -> Result<()> {
        self.check_process()?;
        let state = self.state.as_deref_mut().filter(|state| !state.has_unlinked());
        if state.is_some_and(|state| state.enters_at_once(table, mode)) {
            return Ok(());
        }
        step::never_blocking(Box::pin(self.enter_waiting(table, mode))).await
    }

    async fn enter_waiting(&mut self, table: &Table, mode: IntentMode) -> Result<()> {
        let entered = match self.state_as_task().await {
            Ok(state) => state.enter_as_task(table, mode).await.map(drop),
            Err(error) => return self.fetch_instead(error, |stage| stage.lock_table(table)),
        };
        self.after_task(entered).await
    }

    /// As [`lock_database`](Self::lock_database), for a task.
    pub async fn lock_database_as_task(&mut self, mode: AbsoluteMode) -> Result<()> {
        let locked = match self.state_as_task().await {
            Ok(state) => state.lock_database_as_task(mode.into()).await,
            Err(error) => return self.fetch_instead(error, FetchStage::lock_database),
        };
        self.after_task(locked).await
    }

    /// As [`savepoint`](Self::savepoint), for a task.
    pub async fn savepoint_as_task(&mut self) -> Result<Savepoint> {
        let back = self.state_as_task().await.map(drop);
        if !self.is_fetching() {
            back?;
        }
        self.savepoint()
    }

    /// As [`rollback_to`](Self::rollback_to), for a task. If the future is dropped once it was
    /// polled, the rollback takes place all the same.
    pub async fn rollback_to_as_task(&mut self, savepoint: &Savepoint) -> Result<()> {
        self.check_process()?;
        self.end_conversion().await?;
        if let Some((deadlock, rolled_back)) = self.end_victim().await {
            return Err(rolled_back.err().unwrap_or(deadlock));
        }
        let serial = self.own_savepoint(savepoint)?;
        if self.is_fetching() {
            return self.fetch(|stage| stage.rollback_to(serial));
        }
        if let Some(state) = &self.state {
            state.find_savepoint(serial)?;
        }
        self.work_on_state(move |state| {
            let _ = free_unlinked(state);
            state.rollback_to(serial)
        })
        .await
    }

    /// As [`resume`](Self::resume), for a task.
    pub async fn resume_as_task(&mut self, context: &RetryContext) -> Result<()> {
        let begun = self.state_as_task().await?.begin_again_as_task(context).await;
        match begun {
            Err(_) => self.die_as_task(begun).await,
            Ok(()) => Ok(()),
        }
    }

    /// Commits for a task, if that needs nothing, as it mostly does. Otherwise returns `None`, and
    /// [`commit_as_task`](Self::commit_as_task) is to be called.
    ///
    /// # Errors
    /// Those of [`commit`](Self::commit).
    #[inline]
    pub fn commit_at_once(&mut self) -> Option<Result<Committed>> {
        if let Err(error) = self.check_process() {
            return Some(Err(error));
        }
        let _inside = step::Inside::begin();
        self.state.take_if(|state| !state.ends_with_work()).map(finish::commit_as_task)
    }

    /// As [`commit`](Self::commit), for a task. If the future is dropped once it was polled, the
    /// commit takes place all the same.
    pub async fn commit_as_task(mut self) -> Result<Committed> {
        if let Some(committed) = self.commit_at_once() {
            return committed;
        }
        if self.end_victim().await.is_some() {
            return Err(self.ended());
        }
        let state = self.state_for_job()?;
        let core = state.core().clone();
        core.transactions.hand_over(self.id());
        let mut reply = state.jobs().call(move || {
            let mut state = state.take()?;
            let _ = free_unlinked(&mut state);
            let committed = finish::commit_as_task(state)?;
            // The task that would request it may be gone.
            core.log.request_flush(committed.ack);
            Ok(committed)
        });
        poll_fn(|cx| reply.poll(cx)).await?
    }

    /// As [`rollback`](Self::rollback), for a task. If the future is dropped once it was polled,
    /// the rollback takes place all the same.
    pub async fn rollback_as_task(mut self) -> Result<Lsn> {
        self.check_process()?;
        if let Some((_, rolled_back)) = self.end_victim().await {
            return rolled_back;
        }
        // The rollback makes up for whatever failed.
        let _ = self.come_back().await;
        match self.state.take() {
            Some(state) => roll_back(state).await,
            None => Err(self.ended()),
        }
    }
}

/// Frees what operations have left that failed, or whose futures were dropped. If that fails, the
/// pages stay allocated and unreachable, which `verify` reports.
fn free_unlinked(state: &mut TransactionState) -> Result<()> {
    if !state.has_unlinked() {
        return Ok(());
    }
    state.prevent_conversion(); // Its request would be lost.
    state.free_unlinked()
}

/// Rolls back, without blocking the task.
async fn roll_back(state: Box<TransactionState>) -> Result<Lsn> {
    if away::is_undone_at_once(&state) {
        return finish::rollback(state);
    }
    let blocking = state.core.task_work.blocking.clone();
    state.entry().hand_over();
    let mut reply = blocking.call(move || finish::rollback(state));
    poll_fn(|cx| reply.poll(cx)).await?
}

impl crate::Engine {
    /// As [`begin_as`](crate::Engine::begin_as), for a task: to be used with the methods whose
    /// names end in `_as_task`. If it is dropped, it is rolled back, without blocking the task.
    pub fn begin_task(self: &Arc<Self>, kind: crate::Kind) -> Transaction {
        let core = &self.core;
        let started = match core.process.is_current() {
            true => core.task_work.start(&core.options),
            false => Err(Error::Forked),
        };
        if let Err(error) = started {
            return Transaction::new(core.process, Err(error));
        }
        let mut transaction = self.begin_as(kind);
        transaction.is_of_task = true;
        transaction
    }

    /// Waits, as a task.
    pub async fn sleep_as_task(&self, time: Duration) {
        let mut alarm = Alarm::new(&self.core.task_work.timer);
        let until = Instant::now() + time;
        poll_fn(|cx| match alarm.poll(until, cx) {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        })
        .await;
    }
}
