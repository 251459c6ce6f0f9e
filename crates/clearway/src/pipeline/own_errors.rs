//! Calls of a pipeline whose closures return errors of the program (OWN-ERRORS-1).

use clearway_base::{Error, Result};

use super::{Accepted, AsyncTask, Pipeline, Task, ticket};
use crate::{LentTransaction, Ticket, Transaction};

impl Pipeline {
    /// Gives `body` to an agent like [`submit`](Pipeline::submit). The ticket reports errors of the
    /// program's own type. (An agent converts those of the engine. If the conversion panics, so
    /// does the wait for the ticket.)
    ///
    /// # Errors
    /// Those of [`submit`](Pipeline::submit), not converted.
    pub fn try_submit<T, E, B>(&self, name: &'static str, body: B) -> Result<Ticket<T, E>>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
        B: FnMut(&mut Transaction) -> Result<T, E> + Send + 'static,
    {
        let (ticket, promise) = ticket::new();
        self.try_submit_then(name, body, move |result| promise.fulfil(result))?;
        Ok(ticket)
    }

    /// Gives `body` to an agent like [`submit_async`](Pipeline::submit_async). The ticket reports
    /// errors of the program's own type.
    ///
    /// # Errors
    /// Those of [`submit_async`](Pipeline::submit_async), not converted.
    pub fn try_submit_async<T, E, B>(&self, name: &'static str, body: B) -> Result<Ticket<T, E>>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
        B: AsyncFnMut(LentTransaction) -> Result<T, E> + Send + 'static,
    {
        let (ticket, promise) = ticket::new();
        self.try_submit_async_then(name, body, move |result| promise.fulfil(result))?;
        Ok(ticket)
    }

    /// Gives `body` to an agent like [`submit_then`](Pipeline::submit_then). `done` is called with
    /// errors of the program's own type.
    ///
    /// # Errors
    /// Those of [`submit_then`](Pipeline::submit_then), not converted.
    pub fn try_submit_then<T, E, B, D>(&self, name: &'static str, body: B, done: D) -> Result<()>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
        B: FnMut(&mut Transaction) -> Result<T, E> + Send + 'static,
        D: FnOnce(Result<T, E>) + Send + 'static,
    {
        self.give(Accepted::Job(Box::new(Task::new(name, body, done))))
    }

    /// Gives `body` to an agent like [`submit_async_then`](Pipeline::submit_async_then). `done` is
    /// called with errors of the program's own type.
    ///
    /// # Errors
    /// Those of [`submit_async_then`](Pipeline::submit_async_then), not converted.
    pub fn try_submit_async_then<T, E, B, D>(
        &self,
        name: &'static str,
        body: B,
        done: D,
    ) -> Result<()>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
        B: AsyncFnMut(LentTransaction) -> Result<T, E> + Send + 'static,
        D: FnOnce(Result<T, E>) + Send + 'static,
    {
        self.give(Accepted::Task(Box::new(AsyncTask::new(name, body, done))))
    }
}
