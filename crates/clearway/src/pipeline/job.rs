//! One client's transaction: it is run, then its result waits for the log, then it is delivered.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use clearway_base::{Error, Result};

use super::{PipelineShared, tasks::TaskFuture};
use crate::{LentTransaction, Pending, Transaction, async_runner, inner::Inner, runner};

/// The contents of an inbox.
pub(super) enum Accepted {
    /// A closure, which the agent runs to its end.
    Job(Box<dyn Job>),
    /// An asynchronous closure, which the agent begins.
    Task(Box<dyn Begin>),
}

/// An asynchronous transaction with a result of any type, which was not begun yet.
pub(super) trait Begin: Send {
    /// Returns the type of the transaction.
    fn name(&self) -> &'static str;

    /// Begins it. The future returns its result, which the agent delivers.
    fn begin(self: Box<Self>, shared: Arc<PipelineShared>) -> TaskFuture<Box<dyn PendingResult>>;
}

/// An asynchronous closure with its callback.
pub(super) struct AsyncTask<B, D> {
    name: &'static str,
    body: B,
    done: D,
}

impl<B, D> AsyncTask<B, D> {
    pub(super) fn new(name: &'static str, body: B, done: D) -> AsyncTask<B, D> {
        AsyncTask { name, body, done }
    }
}

impl<T, B, D> Begin for AsyncTask<B, D>
where
    T: 'static,
    B: AsyncFnMut(LentTransaction) -> Result<T> + Send + 'static,
    D: FnOnce(Result<T>) + Send + 'static,
{
    fn name(&self) -> &'static str {
        self.name
    }

    fn begin(self: Box<Self>, shared: Arc<PipelineShared>) -> TaskFuture<Box<dyn PendingResult>> {
        let AsyncTask { name, body, done } = *self;
        Box::pin(async move {
            let ran = Ran::of(async_runner::run_lending(&shared.database, name, body).await);
            Box::new(Finished { ran, done }) as Box<dyn PendingResult>
        })
    }
}

/// A result that an agent holds back until it may be delivered.
pub(super) trait PendingResult {
    /// Returns true if the result may be delivered.
    fn is_ready(&self) -> bool;

    /// Waits until the result may be delivered, and delivers it.
    fn deliver(self: Box<Self>);

    /// Returns true if the result is ready. If it is not, registers the waker of `context`, like
    /// [`clearway_log::Log::poll_durable`].
    fn poll(&self, context: &mut std::task::Context<'_>) -> bool;
}

/// The result of a transaction that has ended, with the callback.
struct Finished<T, D> {
    ran: Ran<T>,
    done: D,
}

impl<T, D: FnOnce(Result<T>)> PendingResult for Finished<T, D> {
    fn is_ready(&self) -> bool {
        self.ran.is_ready()
    }

    fn poll(&self, context: &mut std::task::Context<'_>) -> bool {
        self.ran.poll(context)
    }

    fn deliver(self: Box<Self>) {
        let Finished { ran, done } = *self;
        deliver(done, ran.wait());
    }
}

/// The state of a transaction of an agent.
enum Ran<T> {
    Not,
    Waits(Pending<T>),
    Failed(Error),
}

impl<T> Ran<T> {
    /// The state after a run. Requests the flush that the result waits for, but does not wake the
    /// log's thread for each result: an agent that has nothing else to do waits for the first.
    fn of(result: Result<Pending<T>>) -> Ran<T> {
        match result {
            Ok(pending) => {
                pending.request_flush();
                Ran::Waits(pending)
            }
            Err(error) => Ran::Failed(error),
        }
    }

    fn is_ready(&self) -> bool {
        match self {
            Ran::Waits(pending) => pending.is_ready(),
            Ran::Not | Ran::Failed(_) => true,
        }
    }

    fn poll(&self, context: &mut std::task::Context<'_>) -> bool {
        match self {
            Ran::Waits(pending) => pending.poll_ready(context),
            Ran::Not | Ran::Failed(_) => true,
        }
    }

    fn wait(self) -> Result<T> {
        match self {
            Ran::Waits(pending) => pending.wait(),
            Ran::Failed(error) => Err(error),
            Ran::Not => Err(Error::Closed),
        }
    }
}

/// Calls the callback of a client. The panic hook has reported a panic; the callback's author must
/// handle it.
fn deliver<T>(done: impl FnOnce(Result<T>), result: Result<T>) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| done(result))) {
        // Dropping the payload could panic again.
        std::mem::forget(payload);
    }
}

/// A transaction with a result of any type.
pub(super) trait Job: PendingResult + Send {
    /// Returns the type of the transaction.
    fn name(&self) -> &'static str;

    /// Runs the transaction, once. Its locks are released afterwards.
    fn run(&mut self, database: &Inner);
}

/// A closure with its callback.
pub(super) struct Task<T, B, D> {
    name: &'static str,
    body: B,
    done: D,
    ran: Ran<T>,
}

impl<T, B, D> Task<T, B, D> {
    pub(super) fn new(name: &'static str, body: B, done: D) -> Task<T, B, D> {
        Task { name, body, done, ran: Ran::Not }
    }
}

impl<T, B, D> Job for Task<T, B, D>
where
    T: Send,
    B: FnMut(&mut Transaction) -> Result<T> + Send,
    D: FnOnce(Result<T>) + Send,
{
    fn name(&self) -> &'static str {
        self.name
    }

    fn run(&mut self, database: &Inner) {
        self.ran = Ran::of(runner::run(database, self.name, &mut self.body));
    }
}

impl<T, B, D: FnOnce(Result<T>)> PendingResult for Task<T, B, D> {
    fn is_ready(&self) -> bool {
        self.ran.is_ready()
    }

    fn poll(&self, context: &mut std::task::Context<'_>) -> bool {
        self.ran.poll(context)
    }

    fn deliver(self: Box<Self>) {
        let Task { done, ran, body, .. } = *self;
        // Drop what the closure has captured before the client receives the result.
        drop(body);
        deliver(done, ran.wait());
    }
}
