//! One client's transaction: it is run, then waits for the log, then its result is delivered.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use clearway_base::Result;

use super::{PipelineShared, Ran, tasks::TaskFuture};
use crate::{LentTransaction, Transaction, async_runner, database::Inner, runner};

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

    /// Begins it on the agent `number`. The future delivers the result.
    fn begin(self: Box<Self>, shared: Arc<PipelineShared>, number: usize) -> TaskFuture;
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

    fn begin(self: Box<Self>, shared: Arc<PipelineShared>, number: usize) -> TaskFuture {
        let AsyncTask { name, body, done } = *self;
        Box::pin(async move {
            let result = match async_runner::run_lending(&shared.database, name, body).await {
                Ok(pending) => {
                    pending.request_flush();
                    pending.await
                }
                Err(error) => Err(error),
            };
            // Before the delivery, so that a client with a result finds it counted.
            shared.counters[number].count_result();
            deliver(done, result);
        })
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
pub(super) trait Job: Send {
    /// Returns the type of the transaction.
    fn name(&self) -> &'static str;

    /// Runs the transaction, once. Its locks are released afterwards.
    fn run(&mut self, database: &Inner);

    /// Returns true if its result may be delivered.
    fn is_ready(&self) -> bool;

    /// Waits until the result may be delivered, and delivers it.
    fn deliver(self: Box<Self>);

    /// Returns true if the result is ready. If it is not, registers the waker of `context`, like
    /// [`clearway_log::Log::poll_durable`].
    fn poll(&self, context: &mut std::task::Context<'_>) -> bool;
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
        self.ran = match runner::run(database, self.name, &mut self.body) {
            Ok(pending) => {
                pending.request_flush();
                Ran::Waits(pending)
            }
            Err(error) => Ran::Failed(error),
        };
    }

    fn is_ready(&self) -> bool {
        match &self.ran {
            Ran::Waits(pending) => pending.is_ready(),
            Ran::Not | Ran::Failed(_) => true,
        }
    }

    fn poll(&self, context: &mut std::task::Context<'_>) -> bool {
        match &self.ran {
            Ran::Waits(pending) => pending.poll_ready(context),
            Ran::Not | Ran::Failed(_) => true,
        }
    }

    fn deliver(self: Box<Self>) {
        let Task { done, ran, body, .. } = *self;
        // Drop what the closure has captured before the client receives the result.
        drop(body);
        let result = match ran {
            Ran::Waits(pending) => pending.wait(),
            Ran::Failed(error) => Err(error),
            Ran::Not => Err(clearway_base::Error::Closed),
        };
        deliver(done, result);
    }
}
