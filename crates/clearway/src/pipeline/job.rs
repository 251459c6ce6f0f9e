//! One client's transaction: to be run, then waiting, then told.

use std::panic::{AssertUnwindSafe, catch_unwind};

use clearway_base::Result;

use super::Ran;
use crate::{Transaction, database::Inner, runner};

/// A transaction of any result.
pub(super) trait Job: Send {
    /// Runs it, once. Its locks are free afterwards.
    fn run(&mut self, database: &Inner);

    /// Whether its result may be told.
    fn is_ready(&self) -> bool;

    /// Tells the result, having waited until it may be told if it may not yet.
    fn tell(self: Box<Self>);

    /// Waits for the log as [`clearway_log::Log::poll_durable`]; whether it is ready.
    fn poll(&self, context: &mut std::task::Context<'_>) -> bool;
}

/// A closure with its listener.
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

    fn tell(self: Box<Self>) {
        let Task { done, ran, body, .. } = *self;
        // What the closure has captured goes before the client hears of it.
        drop(body);
        let result = match ran {
            Ran::Waits(pending) => pending.wait(),
            Ran::Failed(error) => Err(error),
            Ran::Not => Err(clearway_base::Error::Closed),
        };
        // The hook has reported what panics; it is between the listener and its author.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| done(result))) {
            // The payload's drop could be another panic.
            std::mem::forget(payload);
        }
    }
}
