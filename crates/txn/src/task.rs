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
//! - The future of an *operation*: it has had no effect (TASK-2), and the transaction goes on.
//! - A *transaction* before its commit was requested: it is rolled back by a thread of the engine.
//! - The future of a commit, once it was polled: the transaction is committed.
//!
//! Invariants:
//! - TASK-4. The state of a transaction is in one place: in its [`Transaction`], or in a job of
//!   `offload` that returns it (`away`), or in one that ends the transaction. A job whose
//!   transaction was dropped rolls it back.
//! - TASK-5. A rollback that was handed over needs no task any more: not the one that dropped the
//!   transaction, nor any that runs. So a task that waits for the transaction's locks gets them.
//!   [`Engine::close`](crate::Engine::close) waits for the rollbacks that were handed over before.
//! - TASK-6. A deadlock is reported once. If the operation that met it is dropped during the
//!   victim's rollback, the next call waits for the rollback's end and reports the deadlock (or, if
//!   it is the rollback, the rollback's result; a commit fails).

mod offload;
mod operations;
mod timer;

use std::{
    future::poll_fn,
    sync::Arc,
    time::{Duration, Instant},
};

use clearway_base::{Error, Lsn, Result};
use clearway_lock::{AbsoluteMode, IntentMode, WaitLimit};
use clearway_sync::{
    Mutex,
    atomic::{AtomicBool, Ordering},
    step,
    thread::{self, JoinHandle},
};
use clearway_tree::ReadIntent;

use offload::BlockingJob;
pub(crate) use offload::{Offload, Reply};
pub use operations::{AtOnce, OperationRest};
pub(crate) use timer::{Alarm, Timer};

use crate::{
    Committed, RetryContext, Savepoint, Table, Transaction, core::Core, finish,
    transaction_state::TransactionState,
};

/// The services of an engine for tasks.
#[derive(Default)]
pub(crate) struct TaskWork {
    pub(crate) timer: Arc<Timer>,
    /// Everything that blocks, except waits for log space.
    pub(crate) blocking: Arc<Offload>,
    /// Waits for log space, which end when transactions end: `blocking` may have to end them
    /// (OFFLOAD-2).
    pub(crate) log_space: Arc<Offload>,
    /// The threads that run; they are started for the first transaction of a task.
    threads: Mutex<Threads>,
    /// True once `threads` was decided, so that later transactions need not latch it.
    is_started: AtomicBool,
}

#[derive(Default)]
enum Threads {
    #[default]
    NotStarted,
    Running(Vec<JoinHandle<()>>),
    /// Tasks do without: the engine has no background threads, or has closed.
    Never,
}

impl TaskWork {
    /// Starts the threads, unless they run or are not wanted.
    ///
    /// # Errors
    /// `Io` if a thread cannot be started.
    fn start(&self, is_wanted: bool) -> Result<()> {
        // Acquire pairs with the Release below: jobs find the queues started.
        if self.is_started.load(Ordering::Acquire) { Ok(()) } else { self.start_now(is_wanted) }
    }

    #[cold]
    fn start_now(&self, is_wanted: bool) -> Result<()> {
        let mut threads = self.threads.lock();
        if !matches!(*threads, Threads::NotStarted) {
            return Ok(());
        }
        if !is_wanted {
            *threads = Threads::Never;
            self.is_started.store(true, Ordering::Release);
            return Ok(());
        }
        let (timer, blocking, log_space) =
            (self.timer.clone(), self.blocking.clone(), self.log_space.clone());
        let runs: [(&str, BlockingJob); 3] = [
            ("clearway-timer", Box::new(move || timer.run())),
            ("clearway-tasks", Box::new(move || blocking.work())),
            ("clearway-log-space", Box::new(move || log_space.work())),
        ];
        self.timer.start();
        self.blocking.start();
        self.log_space.start();
        let mut running = Vec::new();
        for (name, run) in runs {
            match thread::Builder::new().name(name.into()).spawn(run) {
                Ok(thread) => running.push(thread),
                Err(source) => {
                    self.end(running);
                    return Err(Error::io("start a thread for", name, source));
                }
            }
        }
        *threads = Threads::Running(running);
        self.is_started.store(true, Ordering::Release);
        Ok(())
    }

    /// Waits for the rollbacks that were handed over (TASK-5).
    pub(crate) fn wait_idle(&self) {
        self.blocking.wait_idle();
    }

    /// Ends the threads once their jobs are done.
    pub(crate) fn stop(&self) {
        let threads = std::mem::replace(&mut *self.threads.lock(), Threads::Never);
        if let Threads::Running(threads) = threads {
            self.end(threads);
        }
    }

    fn end(&self, threads: Vec<JoinHandle<()>>) {
        self.timer.stop();
        self.blocking.stop();
        self.log_space.stop();
        for thread in threads {
            let _ = thread.join();
        }
    }
}

/// Log space that was reserved for a transaction of a task; given back if it is dropped.
pub(crate) struct ReservedSpace {
    core: Arc<Core>,
    bytes: u64,
}

impl ReservedSpace {
    /// Reserves for the transaction of slot `index`. May wait.
    pub(crate) fn reserve(core: Arc<Core>, index: u32, bytes: u64) -> Result<ReservedSpace> {
        core.reserve_log_space(index, bytes)?;
        Ok(ReservedSpace { core, bytes })
    }

    /// Returns the number of bytes, which the caller gives back from now on.
    pub(crate) fn take(mut self) -> u64 {
        std::mem::take(&mut self.bytes)
    }
}

impl Drop for ReservedSpace {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.core.log.release_space(self.bytes);
        }
    }
}

/// The state of a transaction that is on its way back from a job (TASK-4).
pub(crate) struct Away {
    state: Option<Box<TransactionState>>,
}

impl Drop for Away {
    fn drop(&mut self) {
        if let Some(state) = self.state.take() {
            // A failed rollback has stopped the engine; later calls return that error.
            let _ = finish::rollback(state);
        }
    }
}

/// The place that a transaction's state comes back from.
pub(crate) struct ComingBack {
    reply: Reply<(Away, Result<()>)>,
    /// The wait limit that was set meanwhile.
    pub(crate) limit: Option<WaitLimit>,
}

/// The rollback of a deadlock's victim, and the error to report afterwards (TASK-6).
pub(crate) struct VictimsRollback {
    pub(crate) deadlock: Error,
    rolled_back: Reply<Result<Lsn>>,
}

impl Transaction {
    fn has_unlinked(&self) -> bool {
        self.state.as_ref().is_some_and(|state| state.has_unlinked())
    }

    /// Ends a deadlock's victim, and frees what an operation has left.
    async fn after_task<T>(&mut self, result: Result<T>) -> Result<T> {
        if matches!(result, Err(Error::Deadlock { .. })) {
            return self.die_as_task(result).await;
        }
        if self.has_unlinked() {
            // If this fails as well, the pages stay allocated and unreachable, which `verify`
            // reports; the operation's error is the one to return.
            let _ = self.work_on_state(TransactionState::free_unlinked).await;
        }
        result
    }

    /// Returns the state, once it is back.
    async fn state_as_task(&mut self) -> Result<&mut TransactionState> {
        self.check_process()?;
        if let Some((deadlock, rolled_back)) = self.end_victim().await {
            return Err(rolled_back.err().unwrap_or(deadlock));
        }
        // If the work has failed, its future was dropped; where that matters, the engine has
        // stopped.
        let _ = self.come_back().await;
        if self.has_unlinked() {
            // Left by an operation whose future was dropped.
            let _ = self.work_on_state(TransactionState::free_unlinked).await;
        }
        let ended = self.ended();
        self.state.as_deref_mut().ok_or(ended)
    }

    /// Has a thread of the engine work on the state, which then comes back.
    async fn work_on_state(
        &mut self,
        work: impl FnOnce(&mut TransactionState) -> Result<()> + Send + 'static,
    ) -> Result<()> {
        let Some(mut state) = self.state.take() else { return Err(self.ended()) };
        let blocking = state.core.task_work.blocking.clone();
        let reply = blocking.call(move || {
            let result = work(&mut state);
            (Away { state: Some(state) }, result)
        });
        self.aside().away = Some(ComingBack { reply, limit: None });
        self.come_back().await
    }

    /// Waits until the state is back. Returns the result of the work that was done on it.
    async fn come_back(&mut self) -> Result<()> {
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
        if is_undone_at_once(&state) {
            finish::rollback(state)?;
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
        let victim = self.aside().victim.take()?;
        Some((victim.deadlock, rolled_back.and_then(|result| result)))
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
        let entered = self.state_as_task().await?.enter_as_task(table, mode).await;
        self.after_task(entered.map(drop)).await
    }

    /// As [`lock_database`](Self::lock_database), for a task.
    pub async fn lock_database_as_task(&mut self, mode: AbsoluteMode) -> Result<()> {
        let locked = self.state_as_task().await?.lock_database_as_task(mode.into()).await;
        self.after_task(locked).await
    }

    /// As [`savepoint`](Self::savepoint), for a task.
    pub async fn savepoint_as_task(&mut self) -> Result<Savepoint> {
        self.state_as_task().await?;
        self.savepoint()
    }

    /// As [`rollback_to`](Self::rollback_to), for a task. If the future is dropped once it was
    /// polled, the rollback takes place all the same.
    pub async fn rollback_to_as_task(&mut self, savepoint: &Savepoint) -> Result<()> {
        self.state_as_task().await?;
        let keep = self.forget_savepoints_after(savepoint)?;
        self.work_on_state(move |state| {
            let result = state.undo_to(keep);
            result.map_err(|error| state.core.fail(error))
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
    /// transaction is committed.
    pub async fn commit_as_task(mut self) -> Result<Committed> {
        if let Some(committed) = self.commit_at_once() {
            return committed;
        }
        if self.end_victim().await.is_some() {
            return Err(self.ended());
        }
        let _ = self.come_back().await;
        let Some(mut state) = self.state.take() else { return Err(self.ended()) };
        if !state.ends_with_work() {
            return finish::commit_as_task(state);
        }
        let blocking = state.core.task_work.blocking.clone();
        state.entry().hand_over();
        let mut reply = blocking.call(move || {
            let _ = state.free_unlinked();
            finish::commit_as_task(state)
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
}

/// Returns true if there is nothing to undo: a rollback only releases locks.
fn is_undone_at_once(state: &TransactionState) -> bool {
    !state.wrote && !state.has_unlinked()
}

/// Rolls back, without blocking the task.
async fn roll_back(state: Box<TransactionState>) -> Result<Lsn> {
    if is_undone_at_once(&state) {
        return finish::rollback(state);
    }
    let blocking = state.core.task_work.blocking.clone();
    state.entry().hand_over();
    let mut reply = blocking.call(move || finish::rollback(state));
    poll_fn(|cx| reply.poll(cx)).await?
}

impl crate::Engine {
    /// As [`begin_as`](crate::Engine::begin_as), for a task: to be used with the methods whose
    /// names end in `_as_task`. If it is dropped, a thread of the engine rolls it back.
    pub fn begin_task(self: &Arc<Self>, kind: crate::Kind) -> Transaction {
        let core = &self.core;
        let started = match core.process.is_current() {
            true => core.task_work.start(core.options.background),
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

/// The lock on the table that goes with a read of its rows.
pub(crate) fn intent_mode(intent: ReadIntent) -> IntentMode {
    match intent {
        ReadIntent::Read => IntentMode::IS,
        ReadIntent::Update => IntentMode::IX,
    }
}
