//! The times for which transactions hold locks and wait for the log, by type.
//!
//! Invariants:
//! - TIMINGS-1. For a transaction that is not timed, the only cost is a load and a store in its
//!   thread's shard. A timed transaction reads the clock when it begins, when it has released its
//!   locks after a commit, and when its result is delivered; only then does it take a mutex, of one
//!   shard.
//! - TIMINGS-2. The choice of timed transactions depends neither on what they do nor on other
//!   databases: a [`Countdown`] selects one in `every`.

use std::time::Instant;

use clearway_base::Histogram;
use clearway_sync::{
    Mutex, Sharded,
    atomic::{AtomicU32, Ordering},
};
use clearway_txn::{KINDS_MAX, Kind, Kinds};

/// Number of shards; a thread always uses the same one. It is small because a shard takes up to
/// [`KINDS_MAX`] times 45 KiB.
const SHARDS: usize = 4;

/// Times of one type of transaction, in nanoseconds: see [`Database::timings`]. If a closure was
/// run more than once, they are those of the attempt that committed.
///
/// [`Database::timings`]: crate::Database::timings
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct TypeTimings {
    /// The type. Empty for transactions that were begun without a name, and for types after the
    /// 63rd.
    pub name: String,
    /// The time from the start of the transaction until its commit had released its locks. The
    /// transaction could block others in this time. If the transaction has freed large values that
    /// it has replaced or deleted itself, since many transactions before it wait for that, the time
    /// is included, although the locks are released before that.
    pub lock_hold: Histogram,
    /// The time from the end of `lock_hold` until the result was delivered, which covers the flush.
    /// If the program retrieves a result late, the delay is included.
    pub flush_wait: Histogram,
    /// The sum of both. Without early release, locks would be held for this time.
    pub latency: Histogram,
}

/// The start time of a transaction that has not ended; `None` if it is not timed.
pub(crate) type Began = Option<Instant>;

/// A committed transaction that is timed.
#[derive(Clone, Copy)]
pub(crate) struct Timed {
    kind: Kind,
    began: Instant,
    released: Instant,
}

/// The number of transactions until the next timed one. Each shard of a database's statistics has
/// one.
pub(crate) struct Countdown {
    every: u32,
    left: AtomicU32,
}

impl Countdown {
    /// Creates a countdown that selects one transaction in `every`, beginning with the first; none
    /// if `every` is 0.
    pub(crate) fn new(every: u32) -> Countdown {
        Countdown { every, left: AtomicU32::new(0) }
    }

    /// Returns the time if the transaction that begins now is timed (TIMINGS-2).
    #[inline]
    pub(crate) fn begin(&self) -> Began {
        // Relaxed, and not atomic as a whole: if two threads share it, some transactions more or
        // fewer are timed.
        match self.left.load(Ordering::Relaxed) {
            0 => self.begin_timed(),
            more => {
                self.left.store(more - 1, Ordering::Relaxed);
                None
            }
        }
    }

    #[cold]
    fn begin_timed(&self) -> Began {
        self.left.store(self.every.saturating_sub(1), Ordering::Relaxed);
        (self.every > 0).then(Instant::now)
    }
}

/// The times of one type in one shard.
type Times = [Histogram; 3];

/// The times of all types, by number; `None` for types that were not timed yet.
type TimesShard = Vec<Option<Box<Times>>>;

/// The times of all types.
pub(crate) struct Timings {
    shards: Sharded<Mutex<TimesShard>, SHARDS>,
}

impl Timings {
    pub(crate) fn new() -> Timings {
        Timings { shards: Sharded::new(|| Mutex::new(vec![None; KINDS_MAX])) }
    }

    /// Records that a transaction of type `kind` has released its locks.
    #[inline]
    pub(crate) fn released(kind: Kind, began: Began) -> Option<Box<Timed>> {
        began.map(|began| Box::new(Timed { kind, began, released: Instant::now() }))
    }

    /// Records that its result was delivered.
    #[cold]
    pub(crate) fn delivered(&self, timed: &Timed) {
        let Timed { kind, began, released } = *timed;
        let nanos = |from: Instant, to: Instant| to.duration_since(from).as_nanos() as u64;
        let now = Instant::now();
        let values = [nanos(began, released), nanos(released, now), nanos(began, now)];
        let mut shard = self.shards.mine().lock();
        let times = shard[kind.index()].get_or_insert_with(Box::default);
        times.iter_mut().zip(values).for_each(|(histogram, value)| histogram.record(value));
    }

    /// Returns the number of timed transactions of a type, and the sum of their `lock_hold`.
    pub(crate) fn timed(&self, kind: Kind) -> (u64, u64) {
        let of_shard = |shard: &Mutex<TimesShard>| {
            let shard = shard.lock();
            let [lock_hold, ..] = &**shard[kind.index()].as_ref()?;
            Some((lock_hold.count(), lock_hold.sum() as u64))
        };
        let shards = self.shards.iter().filter_map(of_shard);
        shards.fold((0, 0), |(count, sum), (more, time)| (count + more, sum + time))
    }

    /// Returns the sums over all shards, by name; types without any times are left out.
    pub(crate) fn types(&self, kinds: &Kinds) -> Vec<TypeTimings> {
        let mut types: Vec<_> = kinds
            .names()
            .into_iter()
            .enumerate()
            .map(|(number, name)| {
                let mut sum = Times::default();
                for shard in self.shards.iter() {
                    if let Some(times) = &shard.lock()[number] {
                        sum.iter_mut().zip(&**times).for_each(|(sum, part)| sum.merge(part));
                    }
                }
                let [lock_hold, flush_wait, latency] = sum;
                TypeTimings { name: name.to_owned(), lock_hold, flush_wait, latency }
            })
            .filter(|timings| timings.latency.count() > 0)
            .collect();
        types.sort_by(|a, b| a.name.cmp(&b.name));
        types
    }
}
