//! One client's transaction: it is run, then waits for the log, then its result is delivered.

use std::panic::{AssertUnwindSafe, catch_unwind};

use clearway_base::Result;

use super::Ran;
use crate::{Transaction, database::Inner, runner};

/// A transaction with a result of any type.
pub(super) trait Job: Send {
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
        // The panic hook has reported the panic; the callback's author must handle it.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| done(result))) {
            // Dropping the payload could panic again.
            std::mem::forget(payload);
        }
    }
}
