//! Calls whose closures return errors of the program.
//!
//! Invariant: OWN-ERRORS-1. The error of a closure is treated as [`transact`](Database::transact)
//! treats it: the transaction is rolled back, and the error is withheld until everything that the
//! closure has read is durable. Whether the closure is run again depends on the state of its
//! transaction, so a closure that turns the error of a conflict into one of its own is run again
//! all the same.

use std::future::Future;

use clearway_base::{Error, Result};

use crate::{Database, LentTransaction, Pending, Ticket, Transaction, async_runner, runner};

impl Database {
    /// Runs `body` like [`transact`](Database::transact). Its errors are of the program's own type,
    /// to which errors of the engine are converted. (`transact` is for closures that return
    /// [`Error`], so that they need no annotation.)
    ///
    /// ```
    /// #[derive(Debug, PartialEq)]
    /// enum ShopError {
    ///     SoldOut { left: u8 },
    ///     Database(String),
    /// }
    ///
    /// impl From<clearway::Error> for ShopError {
    ///     fn from(error: clearway::Error) -> ShopError {
    ///         ShopError::Database(error.to_string())
    ///     }
    /// }
    ///
    /// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
    /// let stock = db.table("stock")?;
    /// db.transact("fill", |tx| tx.put(&stock, "bolt", [7]))?;
    /// let take = |count: u8| {
    ///     db.try_transact("take", |tx| {
    ///         let left = tx.get_for_update(&stock, "bolt")?.map_or(0, |row| row[0]);
    ///         let after = left.checked_sub(count).ok_or(ShopError::SoldOut { left })?;
    ///         tx.put(&stock, "bolt", [after])?;
    ///         Ok(after)
    ///     })
    /// };
    /// assert_eq!(take(5), Ok(2));
    /// assert_eq!(take(5), Err(ShopError::SoldOut { left: 2 }));
    /// # Ok::<(), clearway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`transact`](Database::transact), converted.
    pub fn try_transact<T, E: From<Error>>(
        &self,
        name: &'static str,
        body: impl FnMut(&mut Transaction) -> Result<T, E>,
    ) -> Result<T, E> {
        runner::run(&self.inner, name, body)?.wait()
    }

    /// Runs `body` like [`submit`](Database::submit), with errors of the program's own type.
    ///
    /// # Errors
    /// Those of [`submit`](Database::submit), converted.
    pub fn try_submit<T, E: From<Error>>(
        &self,
        name: &'static str,
        body: impl FnMut(&mut Transaction) -> Result<T, E>,
    ) -> Result<Pending<T, E>, E> {
        let pending = runner::run(&self.inner, name, body)?;
        pending.request_flush();
        Ok(pending)
    }

    /// Runs `body` like [`transact_async`](Database::transact_async), with errors of the program's
    /// own type.
    ///
    /// # Errors
    /// Those of [`transact_async`](Database::transact_async), converted.
    pub async fn try_transact_async<T, E, B, F>(&self, name: &'static str, body: B) -> Result<T, E>
    where
        E: From<Error>,
        B: FnMut(LentTransaction) -> F,
        F: Future<Output = Result<T, E>>,
    {
        self.try_submit_async(name, body).await?.await
    }

    /// Runs `body` like [`submit_async`](Database::submit_async), with errors of the program's own
    /// type.
    ///
    /// # Errors
    /// Those of [`submit_async`](Database::submit_async), converted.
    pub async fn try_submit_async<T, E, B, F>(
        &self,
        name: &'static str,
        body: B,
    ) -> Result<Pending<T, E>, E>
    where
        E: From<Error>,
        B: FnMut(LentTransaction) -> F,
        F: Future<Output = Result<T, E>>,
    {
        let pending = async_runner::run(&self.inner, name, body).await?;
        pending.request_flush();
        Ok(pending)
    }

    /// Gives `body` to a thread of the database like [`spawn`](Database::spawn). The ticket reports
    /// errors of the program's own type.
    ///
    /// # Errors
    /// Those of [`spawn`](Database::spawn), not converted.
    pub fn try_spawn<T, E, B>(&self, name: &'static str, body: B) -> Result<Ticket<T, E>>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
        B: AsyncFnMut(LentTransaction) -> Result<T, E> + Send + 'static,
    {
        self.default_pipeline()?.try_submit_async(name, body)
    }
}
