//! Runs an asynchronous closure as a transaction, as `runner` runs a closure: the same attempts,
//! pauses and results (RUNNER-1), without blocking the thread.
//!
//! There are two kinds of closures, and no bound of the language covers both: those that return a
//! future which borrows nothing of the closure, so that the whole can move between threads
//! ([`run`]), and those whose futures borrow what the closure owns ([`run_lending`]).
//!
//! Invariants:
//! - ASYNC-RUNNER-1. The call of the closure and each poll of its future are guarded against
//!   panics. After a panic the future is not polled again, but dropped, and the transaction is
//!   rolled back.
//! - ASYNC-RUNNER-2. If the future of a run is dropped, the transaction is dropped: it is rolled
//!   back by a thread of the engine, or its commit was requested already.

use std::{
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::Arc,
    task::Poll,
};

use clearway_base::{Error, Result};
use clearway_sync::step;
use clearway_txn::{Closure, Kind, RetryContext, SuspendedTask};

use crate::{
    LentTransaction, Pending,
    async_transaction::{AsyncTransaction, Lender},
    inner::Inner,
    runner::{AttemptEnd, end_of, panicked, pause_before},
    statistics::Count,
};

/// Runs `body` until it commits, fails, or was a deadlock's victim in the last attempt allowed.
pub(crate) async fn run<T, B, F>(
    database: &Inner,
    name: &'static str,
    mut body: B,
) -> Result<Pending<T>>
where
    B: FnMut(LentTransaction) -> F,
    F: Future<Output = Result<T>>,
{
    let mut attempts = Attempts::new(database, name, false)?;
    loop {
        let result = match attempts.begin().await {
            Ok(lent) => guarded(lent.tx.inner.closure(), || body(lent)).await,
            Err(error) => Ok(Err(error)),
        };
        if let Some(ended) = attempts.end(result).await {
            return ended;
        }
    }
}

/// As [`run`], for a closure whose futures borrow from it.
pub(crate) async fn run_lending<T, B>(
    database: &Inner,
    name: &'static str,
    mut body: B,
) -> Result<Pending<T>>
where
    B: AsyncFnMut(LentTransaction) -> Result<T>,
{
    let mut attempts = Attempts::new(database, name, true)?;
    loop {
        let result = match attempts.begin().await {
            Ok(lent) => guarded(lent.tx.inner.closure(), || body(lent)).await,
            Err(error) => Ok(Err(error)),
        };
        if let Some(ended) = attempts.end(result).await {
            return ended;
        }
    }
}

/// Calls a closure and polls its future. Returns its result, or the error of its panic
/// (ASYNC-RUNNER-1).
async fn guarded<T, F>(closure: Closure, call: impl FnOnce() -> F) -> Result<Result<T>>
where
    F: Future<Output = Result<T>>,
{
    let mut panic = None;
    let called = catch_unwind(AssertUnwindSafe(|| {
        let _running = closure.run();
        call()
    }));
    // An `Option`, so that the future is moved once only, into its pinned place.
    let mut future = pin!(called.map_err(|payload| panic = Some(panicked(&*payload))).ok());
    if let Some(panic) = panic {
        return Err(panic);
    }
    poll_fn(|cx| {
        let polled = catch_unwind(AssertUnwindSafe(|| {
            let _running = closure.run();
            future.as_mut().as_pin_mut().map(|future| future.poll(cx))
        }));
        match polled {
            Ok(Some(polled)) => polled.map(Ok),
            Ok(None) => unreachable!("the call has returned"),
            Err(payload) => Poll::Ready(Err(panicked(&*payload))),
        }
    })
    .await
}

/// The attempts of one closure.
struct Attempts<'d> {
    database: &'d Inner,
    kind: Kind,
    attempt: u32,
    context: Option<RetryContext>,
    lender: Arc<Lender>,
    /// True if an agent of a pipeline runs the closure: the transaction then cannot go on while the
    /// agent's thread blocks.
    is_of_agent: bool,
    /// The transaction as one of the agent's.
    task: Option<SuspendedTask>,
}

impl<'d> Attempts<'d> {
    fn new(database: &'d Inner, name: &'static str, is_of_agent: bool) -> Result<Attempts<'d>> {
        database.check_process()?;
        let (kind, lender) = (database.statistics.kind(name), Arc::default());
        let (attempt, context, task) = (0, None, None);
        Ok(Attempts { database, kind, attempt, context, lender, is_of_agent, task })
    }

    /// Begins an attempt, and returns its transaction for the closure.
    ///
    /// # Errors
    /// [`Error::Deadlock`] if it was a victim before the closure could run.
    async fn begin(&mut self) -> Result<LentTransaction> {
        self.attempt += 1;
        if self.attempt > 1 {
            Box::pin(self.database.engine.sleep_as_task(pause_before(self.attempt))).await;
        }
        let transaction = AsyncTransaction::begin(self.database, self.kind);
        self.task = self.is_of_agent.then(|| transaction.tx.inner.closure().run_as_task());
        let mut lent = self.lender.lend(transaction);
        if let Some(context) = self.context.take() {
            let resume = Box::pin(lent.tx.inner.resume_as_task(&context));
            step::never_blocking(resume).await?;
        }
        Ok(lent)
    }

    /// Ends an attempt: commits or rolls back after the closure has returned, or panicked. Returns
    /// `None` if the closure is to be run again.
    async fn end<T>(&mut self, result: Result<Result<T>>) -> Option<Result<Pending<T>>> {
        // From here on the transaction ends without the agent, or at once.
        self.task = None;
        // The future of the closure is gone, and the transaction has come back, unless the closure
        // has kept it.
        let Some(AsyncTransaction { mut tx }) = self.lender.take_back() else {
            return Some(Err(Error::TransactionEnded));
        };
        let result = match result {
            Ok(result) => result,
            Err(panic) => {
                return Some(Box::pin(tx.fail_as_task(Count::Panic, panic)).await);
            }
        };
        let is_last = self.attempt >= self.database.attempts;
        match end_of(&tx, is_last, result) {
            AttemptEnd::Commit(value) => Some(tx.finish_as_task(value).await),
            AttemptEnd::RollBack(error) => {
                Some(Box::pin(tx.fail_as_task(Count::Rollback, error)).await)
            }
            AttemptEnd::Retry => {
                self.context = Some(tx.inner.take_retry_context());
                let undone = Box::pin(tx.undo_as_task(Count::Retry)).await;
                // A failed rollback stops the engine, so report that error to the caller.
                undone.err().map(Err)
            }
        }
    }
}
