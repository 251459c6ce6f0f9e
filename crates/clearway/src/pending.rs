//! A result that is withheld until everything it depends on is durable.
//!
//! Invariants:
//! - PENDING-1. Neither the closure's value nor its error is delivered before the log is durable up
//!   to `ack`: an error, too, may reveal what was read ("the key is there"). Only the failure of
//!   the log and [`Error::Forked`], which reveal nothing of what was read, come earlier.
//! - PENDING-2. Under [`CommitMode::Lazy`](crate::CommitMode) `ack` is zero, and nothing is
//!   withheld.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Instant,
};

use clearway_base::{Error, Lsn, Result};
use clearway_sync::{ThreadWaker, thread};
use clearway_txn::Committed;

use crate::{statistics::Shard, timings::Timed};

/// The outcome of a transaction that has ended. It is the value of a committed transaction, or the
/// error with which a transaction was rolled back. It becomes available once the commit and
/// everything that the transaction has read are durable (under
/// [`CommitMode::Lazy`](crate::CommitMode::Lazy), at once).
///
/// Wait for it with [`wait`](Pending::wait), `.await` it, or check it with
/// [`try_take`](Pending::try_take). Only [`wait`](Pending::wait) blocks the thread, until the log
/// is durable. Dropping a `Pending` blocks nothing; it discards the outcome, and does not undo the
/// transaction.
///
/// ```
/// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
/// # let t = db.table("t")?;
/// let pending = db.submit("put", |tx| tx.put(&t, b"k", b"v"))?;
/// // … other work …
/// pending.wait()?;
/// # Ok::<(), clearway::Error>(())
/// ```
#[must_use = "the transaction's outcome is known only from its Pending"]
pub struct Pending<T, E = Error> {
    /// The outcome; `None` once it was delivered.
    outcome: Option<Result<T, Box<E>>>,
    /// The LSN up to which the log must be durable first: the end of the commit record or the
    /// highest tag that the transaction met, whichever is greater; zero in the lazy mode
    /// (PENDING-2).
    ack: Lsn,
    /// True if the transaction wrote and committed. If false and the log fails, the outcome is
    /// known, although what the transaction read may be lost.
    wrote: bool,
    /// The timing, recorded when the result is delivered, if the transaction is timed.
    timed: Option<Box<Timed>>,
    /// Provides access to the log through a reference count that few threads share.
    shard: Arc<Shard>,
}

/// No field is pinned structurally, whatever `T` is: `poll` moves the value out and never borrows
/// it.
impl<T, E> Unpin for Pending<T, E> {}

impl<T, E> Pending<T, E> {
    #[inline]
    pub(crate) fn new(
        value: T,
        committed: Committed,
        timed: Option<Box<Timed>>,
        shard: Arc<Shard>,
    ) -> Pending<T, E> {
        let Committed { ack, wrote } = committed;
        Pending { outcome: Some(Ok(value)), ack, wrote, timed, shard }
    }

    /// Creates the result of a transaction that was rolled back with an error; `seen` is the
    /// highest tag that it met.
    #[cold]
    pub(crate) fn failed(error: E, seen: Lsn, shard: Arc<Shard>) -> Pending<T, E> {
        let outcome = Some(Err(Box::new(error)));
        Pending { outcome, ack: seen, wrote: false, timed: None, shard }
    }

    #[inline]
    pub(crate) fn request_flush(&self) {
        let log = self.shard.log();
        if log.durable() < self.ack {
            log.request_flush(self.ack);
        }
    }

    #[inline]
    fn is_durable(&self) -> bool {
        self.shard.log().durable() >= self.ack
    }

    /// Returns true if [`wait`](Pending::wait) would not block: it would return the outcome, the
    /// error of a failed log, or [`Error::Forked`].
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.is_durable() || self.failure().is_some() || self.shard.check_process().is_err()
    }

    /// Returns true if the outcome is known. Otherwise requests the flush, and has the waker called
    /// when the outcome becomes known.
    pub(crate) fn poll_ready(&self, cx: &mut Context<'_>) -> bool {
        self.is_durable() || self.shard.log().poll_durable(self.ack, cx).is_ready()
    }

    /// Returns the failure of the log, if it has failed. A closed log has not failed: the close
    /// makes all its records durable, or fails.
    fn failure(&self) -> Option<Error> {
        self.shard.log().health().err().filter(|error| !matches!(error, Error::Closed))
    }

    /// Waits until [`wait`](Pending::wait) would not block, but no longer than until `deadline`.
    /// Returns true if it would not block.
    ///
    /// Unlike `wait`, this call never writes the log itself, so that it can return in time.
    pub fn wait_until(&self, deadline: Instant) -> bool {
        if self.shard.check_process().is_err() {
            return true;
        }
        let waker = ThreadWaker::current();
        let mut context = Context::from_waker(&waker);
        while !self.poll_ready(&mut context) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            thread::park_timeout(left);
        }
        true
    }

    /// Translates the failure of the log for this transaction.
    fn explain(&self, error: Error) -> Error {
        match (self.wrote, error) {
            (true, Error::Poisoned { cause }) => Error::OutcomeUnknown { cause },
            (false, Error::OutcomeUnknown { cause }) => Error::Poisoned { cause },
            (_, error) => error,
        }
    }
}

impl<T, E: From<Error>> Pending<T, E> {
    /// Waits until the outcome is available and returns the value.
    ///
    /// # Errors
    /// The error with which the transaction was rolled back, if it was. [`Error::OutcomeUnknown`]
    /// if the log failed before the commit was durable: whether the transaction took effect is
    /// known after the database is opened again. [`Error::Poisoned`] if the log failed and the
    /// transaction only read or was rolled back.
    ///
    /// # Panics
    /// If the outcome was already taken.
    pub fn wait(mut self) -> Result<T, E> {
        self.shard.check_process()?;
        if !self.is_durable() {
            self.shard.log().wait_durable(self.ack).map_err(|error| self.explain(error))?;
        }
        self.take()
    }

    /// Returns the outcome if [`wait`](Pending::wait) would not block and the outcome was not taken
    /// yet, and `None` otherwise.
    ///
    /// # Errors
    /// Those of [`wait`](Pending::wait).
    pub fn try_take(&mut self) -> Option<Result<T, E>> {
        self.outcome.as_ref()?;
        if let Err(error) = self.shard.check_process() {
            self.outcome = None;
            return Some(Err(error.into()));
        }
        if self.is_durable() {
            return Some(self.take());
        }
        let failure = self.failure()?;
        // The log's failure can race with the commit becoming durable: a durable commit is not
        // reported as lost.
        if self.is_durable() {
            return Some(self.take());
        }
        self.outcome = None;
        Some(Err(self.explain(failure).into()))
    }

    #[inline]
    fn take(&mut self) -> Result<T, E> {
        if let Some(timed) = self.timed.take() {
            self.shard.timings().delivered(&timed);
        }
        let outcome = self.outcome.take().expect("the outcome of a Pending is taken once");
        outcome.map_err(|error| *error)
    }
}

impl<T, E: From<Error>> Future for Pending<T, E> {
    type Output = Result<T, E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T, E>> {
        self.shard.check_process()?;
        if !self.is_durable() {
            let result = ready!(self.shard.log().poll_durable(self.ack, cx));
            if let Err(error) = result {
                return Poll::Ready(Err(self.explain(error).into()));
            }
        }
        Poll::Ready(self.take())
    }
}

impl<T, E> std::fmt::Debug for Pending<T, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pending").field("ack", &self.ack).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clearway_base::{Epoch, TxnId};
    use clearway_disk::MemoryDisk;
    use clearway_log::{Log, LogOptions, Record, record_bytes};
    use clearway_testkit::disk::DelayedDisk;

    use super::*;
    use crate::{CommitMode, statistics::Statistics};

    /// A commit in a log that takes a tenth of a second to write, before any flush was requested.
    fn commit() -> (Arc<Log>, Pending<()>) {
        let disk = Arc::new(DelayedDisk::new(MemoryDisk::new(), Duration::from_millis(100)));
        let log = Log::start(disk, LogOptions::default(), Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap();
        log.reserve_space(record_bytes(0)).unwrap();
        let record = Record { kind: 20, txn: TxnId(1), prev: Lsn::ZERO, body: &[] };
        let ack = log.insert(&record).unwrap().end;
        let shard =
            Statistics::new(u64::MAX, &log, &Arc::default(), CommitMode::Durable, 0).shard();
        let pending = Pending::new((), Committed { ack, wrote: true }, None, shard);
        (log, pending)
    }

    #[test]
    fn a_wait_ends_at_its_deadline_or_with_the_flush_whichever_is_first() {
        let (log, pending) = commit();
        assert!(!pending.wait_until(Instant::now()), "it is only just being written");
        assert!(pending.wait_until(Instant::now() + Duration::from_secs(3_600)));
        assert!(pending.is_ready());
        assert!(pending.wait_until(Instant::now()), "what is known needs no time");
        pending.wait().unwrap();
        log.close().unwrap();
    }

    #[test]
    fn a_commit_in_a_log_that_is_being_closed_has_not_failed() {
        let (log, mut pending) = commit();
        thread::scope(|scope| {
            scope.spawn(|| log.close().unwrap());
            while log.health().is_ok() {
                thread::yield_now();
            }
            assert!(!pending.is_ready() || pending.is_durable());
            let outcome = loop {
                if let Some(outcome) = pending.try_take() {
                    break outcome;
                }
                thread::yield_now();
            };
            assert!(outcome.is_ok(), "{outcome:?}");
        });
    }
}
