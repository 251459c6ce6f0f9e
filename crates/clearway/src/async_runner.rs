//! Runs an asynchronous closure as a transaction, as `runner` runs a closure: the same stages
//! (`staged_run`), attempts, pauses and results (RUNNER-1), without blocking the thread.
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
//!   back, without blocking the thread, unless its commit was requested already. If it is in its
//!   fetch stage, that ends, and the pins of its fetch stages are given back.

use std::{
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    task::{Context, Poll},
};

use clearway_base::{Error, Result};
use clearway_sync::step;
use clearway_txn::{Closure, Kind, SuspendedTask};

use crate::{
    LentTransaction, Pending, Transaction,
    async_transaction::AsyncTransaction,
    automatic,
    inner::Inner,
    lending::Lender,
    runner::{AttemptEnd, end_of, panicked, pause_before},
    staged_run::{DroppedResult, StagedRun},
    statistics::Count,
};

/// Runs `body` until it commits, fails, or was a deadlock's victim in the last attempt allowed.
pub(crate) async fn run<T, E, B, F>(
    database: &Inner,
    name: &'static str,
    mut body: B,
) -> Result<Pending<T, E>, E>
where
    E: From<Error>,
    B: FnMut(LentTransaction) -> F,
    F: Future<Output = Result<T, E>>,
{
    let mut lender = Lender::default();
    let mut attempts = Attempts::new(database, name, &mut lender, false)?;
    loop {
        let begun = match attempts.begin_at_once() {
            Some(lent) => Ok(lent),
            None => Box::pin(attempts.begin_again()).await,
        };
        let result = match begun {
            Ok(lent) => {
                let closure = lent.tx.inner.closure();
                let (mut call, mut future) = (Some(|| body(lent)), pin!(None));
                poll_fn(|cx| attempts.poll(closure, &mut call, future.as_mut(), cx)).await
            }
            Err(error) => Ok(Err(error.into())),
        };
        match attempts.end_at_once(result) {
            Ok(ended) => return ended,
            Err(end) => {
                if let Some(ended) = Box::pin(attempts.end(end)).await {
                    return ended;
                }
            }
        }
    }
}

/// As [`run`], for a closure whose futures borrow from it. Uses `lender`, or another one in its
/// place.
pub(crate) async fn run_lending<T, E, B>(
    database: &Inner,
    name: &'static str,
    body: &mut B,
    lender: &mut Lender,
) -> Result<Pending<T, E>, E>
where
    E: From<Error>,
    B: AsyncFnMut(LentTransaction) -> Result<T, E>,
{
    let mut attempts = Attempts::new(database, name, lender, true)?;
    loop {
        let begun = match attempts.begin_at_once() {
            Some(lent) => Ok(lent),
            None => Box::pin(attempts.begin_again()).await,
        };
        let result = match begun {
            Ok(lent) => {
                let closure = lent.tx.inner.closure();
                let (mut call, mut future) = (Some(|| body(lent)), pin!(None));
                poll_fn(|cx| attempts.poll(closure, &mut call, future.as_mut(), cx)).await
            }
            Err(error) => Ok(Err(error.into())),
        };
        match attempts.end_at_once(result) {
            Ok(ended) => return ended,
            Err(end) => {
                if let Some(ended) = Box::pin(attempts.end(end)).await {
                    return ended;
                }
            }
        }
    }
}

/// The attempts of one closure.
struct Attempts<'r> {
    database: &'r Inner,
    kind: Kind,
    /// The number of this attempt, from 1. Fetch stages do not count.
    attempt: u32,
    /// `None` in the first attempt of a transaction without stages.
    staged: Option<Box<StagedRun>>,
    lender: &'r mut Lender,
    /// True if an agent of a pipeline runs the closure: the transaction then cannot go on while the
    /// agent's thread blocks.
    is_of_agent: bool,
    /// The transaction as one of the agent's, once it has waited.
    task: Option<SuspendedTask>,
}

/// The end of an attempt that may have to wait.
struct SlowEnd<T, E> {
    tx: Transaction,
    how: HowToEnd<T, E>,
}

/// The result of a closure, unless its attempt may have to wait for its end.
type EndedOrSlow<T, E> = std::result::Result<Result<Pending<T, E>, E>, Box<SlowEnd<T, E>>>;

enum HowToEnd<T, E> {
    Attempt(AttemptEnd<T, E>),
    Panic(Error),
    /// The end of a fetch stage.
    Fetched(DroppedResult),
}

/// The error of a closure that has panicked.
struct Panicked(Error);

/// The result of a closure, unless it has panicked.
type ClosureResult<T, E> = std::result::Result<Result<T, E>, Panicked>;

impl<'r> Attempts<'r> {
    #[inline]
    fn new(
        database: &'r Inner,
        name: &'static str,
        lender: &'r mut Lender,
        is_of_agent: bool,
    ) -> Result<Attempts<'r>> {
        database.check_process()?;
        let kind = database.statistics.kind(name);
        let staged = StagedRun::begin(database.staging.first_run(kind), 0);
        let (attempt, task) = (1, None);
        Ok(Attempts { database, kind, attempt, staged, lender, is_of_agent, task })
    }

    /// Begins the first attempt of a transaction without stages, and returns its transaction for
    /// the closure. Otherwise returns `None`.
    #[inline]
    fn begin_at_once(&mut self) -> Option<LentTransaction> {
        self.staged.is_none().then(|| self.begin())
    }

    #[inline]
    fn begin(&mut self) -> LentTransaction {
        let transaction = AsyncTransaction::begin(self.database, self.kind);
        if transaction.tx.is_timed() {
            automatic::look(self.database, self.kind);
        }
        self.lender.lend(transaction)
    }

    /// Begins a run that follows another one, or a fetch stage.
    ///
    /// # Errors
    /// [`Error::Deadlock`] if it was a victim before the closure could run.
    async fn begin_again(&mut self) -> Result<LentTransaction> {
        let mut lent = self.begin();
        let tx = &mut lent.tx;
        let context = self.staged.as_mut().and_then(|staged| staged.prepare(tx));
        if let Some(context) = context {
            self.suspend(lent.tx.inner.closure());
            step::never_blocking(lent.tx.inner.resume_as_task(&context)).await?;
        }
        Ok(lent)
    }

    /// Calls the closure, if it was not called, and polls its future. Returns the closure's result,
    /// or the error of its panic (ASYNC-RUNNER-1).
    #[inline]
    fn poll<T, E, F>(
        &mut self,
        closure: Closure,
        call: &mut Option<impl FnOnce() -> F>,
        mut future: Pin<&mut Option<F>>,
        cx: &mut Context<'_>,
    ) -> Poll<ClosureResult<T, E>>
    where
        F: Future<Output = Result<T, E>>,
    {
        let polled = catch_unwind(AssertUnwindSafe(|| {
            let _running = closure.run();
            if let Some(call) = call.take() {
                future.set(Some(call()));
            }
            future.as_mut().as_pin_mut().map(|future| future.poll(cx))
        }));
        match polled {
            Ok(Some(Poll::Ready(result))) => Poll::Ready(Ok(result)),
            Ok(Some(Poll::Pending)) => {
                self.suspend(closure);
                Poll::Pending
            }
            Ok(None) => unreachable!("the call has returned"),
            Err(payload) => Poll::Ready(Err(Panicked(panicked(&*payload)))),
        }
    }

    /// Lists the transaction as one of the agent's (SUSPENDED-1).
    #[cold]
    fn suspend(&mut self, closure: Closure) {
        if self.is_of_agent && self.task.is_none() {
            self.task = Some(closure.run_as_task());
        }
    }

    /// Ends an attempt after the closure has returned, or panicked, if that needs nothing, as most
    /// commits. Otherwise returns the arguments of [`end`](Attempts::end).
    #[inline]
    fn end_at_once<T, E: From<Error>>(&mut self, result: ClosureResult<T, E>) -> EndedOrSlow<T, E> {
        // From here on the transaction ends at once, or is listed again in `end`.
        self.task = None;
        // The future of the closure is gone, and the transaction has come back, unless the closure
        // has kept it.
        let Some(mut lent) = self.lender.take_back() else {
            return Ok(Err(Error::TransactionEnded.into()));
        };
        if let Some(staged) = &self.staged {
            if lent.tx.inner.is_fetching() {
                let how = HowToEnd::Fetched(DroppedResult::of(result));
                return Err(Box::new(SlowEnd { tx: lent.tx, how }));
            }
            staged.count_operate(self.database, self.kind, &lent.tx);
        }
        let how = match result {
            Ok(result) => match end_of(&lent.tx, self.attempt >= self.database.attempts, result) {
                AttemptEnd::Commit(value) => match lent.tx.finish_at_once(value) {
                    Ok(ended) => {
                        self.lender.keep(lent);
                        return Ok(ended);
                    }
                    Err(value) => HowToEnd::Attempt(AttemptEnd::Commit(value)),
                },
                how => HowToEnd::Attempt(how),
            },
            Err(Panicked(error)) => HowToEnd::Panic(error),
        };
        Err(Box::new(SlowEnd { tx: lent.tx, how }))
    }

    /// Commits or rolls back, or ends a fetch stage. Returns `None` if the closure is to be run
    /// again.
    async fn end<T, E: From<Error>>(
        &mut self,
        end: Box<SlowEnd<T, E>>,
    ) -> Option<Result<Pending<T, E>, E>> {
        let SlowEnd { mut tx, how } = *end;
        // Its state may have to come back first, and then the agent ends it. (If a thread of the
        // engine ends it, it does not count as listed: SUSPENDED-3.)
        self.suspend(tx.inner.closure());
        let ended = match how {
            HowToEnd::Panic(error) => Some(tx.fail_as_task(Count::Panic, error.into()).await),
            HowToEnd::Attempt(AttemptEnd::Commit(value)) => Some(tx.finish_as_task(value).await),
            HowToEnd::Attempt(AttemptEnd::RollBack(error)) => {
                Some(tx.fail_as_task(Count::Rollback, error).await)
            }
            HowToEnd::Attempt(AttemptEnd::Retry) => {
                let context = tx.inner.take_retry_context();
                self.staged.get_or_insert_default().context = Some(context);
                let undone = tx.undo_as_task(Count::Retry).await;
                self.task = None;
                if let Err(failure) = undone {
                    // The engine has stopped or is closed: report that to the caller.
                    return Some(Err(failure.into()));
                }
                self.attempt += 1;
                self.database.engine.sleep_as_task(pause_before(self.attempt)).await;
                None
            }
            HowToEnd::Fetched(result) => {
                let fetched = tx.end_fetch_as_task().await;
                let staged = self.staged.get_or_insert_default();
                let at_page = staged.end_fetch(self.database, self.kind, fetched, result);
                debug_assert!(at_page.is_none(), "a task waits for its pages during its run");
                None
            }
        };
        self.task = None;
        ended
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
