//! Runs a closure as a transaction: runs it again if the transaction was the victim of a deadlock,
//! and catches the closure's panics.
//!
//! Each attempt receives state from the lost one before it: the priority by which a former victim
//! is chosen again only in a cycle whose other members are all older former victims (VICTIM-2); the
//! locks that the lost attempt needed, unless they are many, which the next attempt requests first,
//! in canonical order (RETRY-1 to RETRY-3); and the highest tag that was met (RETRY-5).
//!
//! Invariant: RUNNER-1. A value or an error that `run` returns depends only on durable data, or is
//! in a [`Pending`] that withholds it until the data are durable. There are two exceptions: errors
//! of an engine that has stopped or is closed, which reveal nothing of what was read, and
//! everything under [`CommitMode::Lazy`](crate::CommitMode) (PENDING-2).

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use clearway_base::{Error, Result};
use clearway_sync::{
    plain::{AtomicU64, Ordering},
    thread,
};
use clearway_txn::{Fetched, Kind, RetryContext};

use crate::{
    Pending, Transaction, automatic,
    inner::Inner,
    staged_run::{DroppedResult, RERUNS_MAX, StagedRun},
    statistics::Count,
};

/// Upper bound on the pause before the first retry; the bound doubles with each further retry.
const PAUSE_FIRST_US: u64 = 20;
/// Upper bound on any pause: 10 ms.
const PAUSE_MAX_US: u64 = 10_000;

/// The outcome of one run of the closure.
enum Attempt<T, E> {
    Done(Pending<T, E>),
    /// The attempt was a deadlock's victim, and another attempt follows, with this context.
    Retry(RetryContext),
    /// The fetch stage is over, and the operate stage follows.
    Fetched,
    /// The run in the fetch stage is over at an absent page (STAGED-4).
    AtPage(Box<Fetched>),
    Failed(E),
}

/// The runs of a closure whose transaction has not ended.
pub(crate) struct ClosureRuns {
    kind: Kind,
    /// The number of this attempt, from 1. Fetch stages do not count.
    attempt: u32,
    /// `None` in the first attempt of a transaction without stages.
    staged: Option<Box<StagedRun>>,
}

/// A closure of an agent between two runs of its fetch stage: it waits for the page at which the
/// first of them was over.
pub(crate) struct ClosureAtPage {
    runs: ClosureRuns,
    fetched: Box<Fetched>,
}

/// The result of a closure, unless it waits for a page.
pub(crate) type EndedOrAtPage<T, E> =
    std::result::Result<Result<Pending<T, E>, E>, Box<ClosureAtPage>>;

/// Runs `body` until its transaction commits or fails, or was a deadlock's victim in the last
/// attempt allowed.
#[inline]
pub(crate) fn run<T, E: From<Error>>(
    database: &Inner,
    name: &'static str,
    mut body: impl FnMut(&mut Transaction) -> Result<T, E>,
) -> Result<Pending<T, E>, E> {
    let runs = ClosureRuns::begin(database, name, 0)?;
    runs.go_on(database, &mut body).unwrap_or_else(|_| unreachable!("no rerun is allowed"))
}

/// As [`run`], for an agent: returns early if the closure waits for a page in its fetch stage. The
/// agent then awaits [`ClosureAtPage::wait`] as a task, and calls [`ClosureRuns::go_on`].
#[inline]
pub(crate) fn run_by_agent<T, E: From<Error>>(
    database: &Inner,
    name: &'static str,
    body: &mut impl FnMut(&mut Transaction) -> Result<T, E>,
) -> EndedOrAtPage<T, E> {
    match ClosureRuns::begin(database, name, RERUNS_MAX) {
        Ok(runs) => runs.go_on(database, body),
        Err(error) => Ok(Err(error.into())),
    }
}

impl ClosureAtPage {
    /// Waits for the page, as a task. Returns the runs that follow.
    pub(crate) async fn wait(self, database: &Inner) -> ClosureRuns {
        let ClosureAtPage { mut runs, mut fetched } = self;
        let was_read = fetched.read_absent().await;
        let staged = runs.staged.get_or_insert_default();
        staged.end_wait(database, runs.kind, *fetched, was_read);
        runs
    }
}

impl ClosureRuns {
    #[inline]
    fn begin(database: &Inner, name: &'static str, reruns_max: u32) -> Result<ClosureRuns> {
        database.check_process()?;
        let kind = database.statistics.kind(name);
        let staged = StagedRun::begin(database.staging.first_run(kind), reruns_max);
        Ok(ClosureRuns { kind, attempt: 1, staged })
    }

    /// Runs `body` until its transaction ends, or its fetch stage waits for a page.
    #[inline]
    pub(crate) fn go_on<T, E: From<Error>>(
        mut self,
        database: &Inner,
        body: &mut impl FnMut(&mut Transaction) -> Result<T, E>,
    ) -> EndedOrAtPage<T, E> {
        loop {
            let last = self.attempt >= database.attempts;
            match run_once(database, self.kind, last, self.staged.as_deref_mut(), body) {
                Attempt::Done(pending) => return Ok(Ok(pending)),
                Attempt::Failed(error) => return Ok(Err(error)),
                Attempt::Fetched => {}
                Attempt::AtPage(fetched) => {
                    return Err(Box::new(ClosureAtPage { runs: self, fetched }));
                }
                Attempt::Retry(context) => {
                    self.staged.get_or_insert_default().context = Some(context);
                    pause(self.attempt);
                    self.attempt += 1;
                }
            }
        }
    }
}

/// Runs `body` once. `staged` is `None` in the first attempt of a transaction without stages.
#[inline]
fn run_once<T, E: From<Error>>(
    database: &Inner,
    kind: Kind,
    last: bool,
    mut staged: Option<&mut StagedRun>,
    body: &mut impl FnMut(&mut Transaction) -> Result<T, E>,
) -> Attempt<T, E> {
    let mut tx = Transaction::begin(database, kind);
    if let Some(staged) = &mut staged
        && let Some(context) = staged.prepare(&mut tx)
        && let Err(error) = tx.inner.resume(&context)
    {
        return commit_or_roll_back(tx, last, Err(error.into()));
    }
    if tx.is_timed() {
        automatic::look(database, kind);
    }
    // A closure that panics may leave its captures half changed; the program gets the error and
    // must deal with that. Afterwards the transaction is only rolled back.
    let running = tx.inner.closure().run();
    let returned = catch_unwind(AssertUnwindSafe(|| body(&mut tx)));
    drop(running);
    if let Some(staged) = staged {
        if tx.inner.is_fetching() {
            let result = DroppedResult::of(returned);
            return match staged.end_fetch(database, kind, tx.end_fetch(), result) {
                None => Attempt::Fetched,
                Some(fetched) => Attempt::AtPage(Box::new(fetched)),
            };
        }
        staged.count_operate(database, kind, &tx);
    }
    match returned {
        Ok(result) => commit_or_roll_back(tx, last, result),
        Err(panic) => ended(tx.fail(Count::Panic, panicked(&*panic).into())),
    }
}

/// The end of a transaction whose closure has returned.
pub(crate) enum AttemptEnd<T, E> {
    Commit(T),
    RollBack(E),
    /// Roll back, and run the closure again.
    Retry,
}

/// Decides how a transaction ends, by its state and not by the error, which may be the program's
/// own: unless this was the last attempt, a closure whose transaction was a deadlock's victim is
/// run again, even if it hid the error. (After a lock timeout it is not: that would multiply the
/// limit.)
#[inline]
pub(crate) fn end_of<T, E: From<Error>>(
    tx: &Transaction,
    last: bool,
    result: Result<T, E>,
) -> AttemptEnd<T, E> {
    match (tx.inner.deadlock(), result) {
        (None, Ok(value)) => AttemptEnd::Commit(value),
        (None, Err(error)) => AttemptEnd::RollBack(error),
        (Some(deadlock), _) if last => AttemptEnd::RollBack(deadlock.clone().into()),
        (Some(_), _) => AttemptEnd::Retry,
    }
}

/// Commits or rolls back after the closure has returned.
#[inline]
fn commit_or_roll_back<T, E: From<Error>>(
    mut tx: Transaction,
    last: bool,
    result: Result<T, E>,
) -> Attempt<T, E> {
    match end_of(&tx, last, result) {
        AttemptEnd::Commit(value) => return ended(tx.finish(value)),
        AttemptEnd::RollBack(error) => return ended(tx.fail(Count::Rollback, error)),
        AttemptEnd::Retry => {}
    }
    let context = tx.inner.take_retry_context();
    match tx.undo(Count::Retry) {
        // The context carries the highest tag that this attempt met (RETRY-5).
        Ok(_) => Attempt::Retry(context),
        // The rollback has failed: the engine has stopped or is closed. Report that error to the
        // caller.
        Err(failure) => Attempt::Failed(failure.into()),
    }
}

#[inline]
fn ended<T, E>(outcome: Result<Pending<T, E>, E>) -> Attempt<T, E> {
    match outcome {
        Ok(pending) => Attempt::Done(pending),
        Err(error) => Attempt::Failed(error),
    }
}

/// Waits a random time before the next attempt, so that the members of a deadlock are less likely
/// to collide again.
#[cold]
fn pause(attempt: u32) {
    thread::sleep(pause_before(attempt + 1));
}

/// Returns a random length for the pause before this attempt; the first attempt, number 1, has
/// none.
#[cold]
pub(crate) fn pause_before(attempt: u32) -> Duration {
    let ceiling = (PAUSE_FIRST_US << (attempt - 2).min(16)).min(PAUSE_MAX_US);
    Duration::from_micros(jitter() % (ceiling + 1))
}

/// Returns numbers that differ between threads and calls; no other property is needed.
fn jitter() -> u64 {
    static SEED: AtomicU64 = AtomicU64::new(0x9E37_79B9_7F4A_7C15);
    // Relaxed: any order of the draws is fine. (A step of SplitMix64.)
    let mut z = SEED.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Returns the error of a closure that has panicked.
pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Error {
    Error::Panicked { message: message_of(panic) }
}

/// Returns the message of a panic.
fn message_of(panic: &(dyn Any + Send)) -> String {
    if let Some(text) = panic.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text.clone()
    } else {
        "a value that is no text".to_owned()
    }
}
