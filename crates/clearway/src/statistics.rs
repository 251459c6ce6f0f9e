//! Counters by type of transaction, kept per thread and summed when read.
//!
//! Invariants:
//! - STATISTICS-1. Once the engine has numbered a type, the type keeps its number as long as the
//!   database is open; number 0 is shared by transactions without a type and by transactions of
//!   types after the 63rd (`KINDS_MAX` counts number 0 as well).
//! - STATISTICS-2. A thread always uses the same shard. Two threads share a shard only once more
//!   threads have been numbered ([`Sharded`]) than there are shards; threads that have ended count
//!   too.
//! - STATISTICS-3. Each [`Transaction`](crate::Transaction), and so each attempt of a closure, is
//!   counted once: when [`Uncounted::count`] is called, or as a rollback when it ends without that.
//!   (A commit whose future is dropped while a thread of the engine does it thus counts as a
//!   rollback here.)
//!
//! A shard also holds the handle of the log that each [`Pending`](crate::Pending) needs. If each
//! `Pending` held the log itself, every commit of every thread would write the cache line of the
//! log's reference count. A shard's reference count is written by one thread, or by the few that
//! share the shard, unless other threads drop its `Pending`s.

use std::{cell::Cell, sync::Arc};

use clearway_base::{Error, Result};
use clearway_log::Log;
use clearway_sync::{CachePadded, Counter, Process, Sharded};
use clearway_txn::{Engine, EngineStats, KINDS_MAX, Kind, Kinds, LockWaits};

use crate::{
    CommitMode, RunStats, StagingStats, TypeTimings,
    staging::StagingPolicies,
    timings::{Began, Countdown, Timings},
};

/// Number of shards, a power of two: at least the number of busy threads on most machines. Once
/// more threads have been numbered, some share a shard (STATISTICS-2).
const SHARDS: usize = 64;
/// Entries of a thread's cache of type numbers, a power of two.
const REMEMBERED: usize = 16;

/// All statistics of a database.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Stats {
    /// Counters of the engine and its parts.
    pub engine: EngineStats,
    /// One entry for each type of transaction that was counted, by name.
    pub types: Vec<TypeStats>,
    /// Lock waits by table and by type, the keys that were waited for most often, and the last
    /// deadlocks.
    pub lock_waits: LockWaits,
    /// Times for which locks were held and results waited for the log, by type.
    pub timings: Vec<TypeTimings>,
}

/// Counters of one type of transaction since the database was opened. The type is the name given to
/// [`transact`](crate::Database::transact), [`submit`](crate::Database::submit),
/// [`begin_as`](crate::Database::begin_as) or another call that takes one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct TypeStats {
    /// The type. Empty for transactions that were begun without a name, and for types after the
    /// 63rd.
    pub name: String,
    /// Transactions that committed. A commit counts even if it never becomes durable because the
    /// log fails.
    pub commits: u64,
    /// Transactions that ended without a commit and were not run again: they were rolled back by
    /// the closure, with [`rollback`](crate::Transaction::rollback) or by being dropped; they were
    /// a deadlock's victim, in the last attempt of a closure or as an interactive transaction;
    /// their commit failed; or they could not begin. Transactions whose closure panicked are in
    /// `panics` only. A commit of an asynchronous transaction whose future was dropped may be
    /// counted here, although it takes place.
    pub rollbacks: u64,
    /// Attempts that were a deadlock's victim and were run again.
    pub retries: u64,
    /// Transactions whose closure panicked.
    pub panics: u64,
    /// Number of times that a closure, or one poll of an asynchronous closure, kept an agent of a
    /// [`Pipeline`](crate::Pipeline) for longer than 10 ms. The agent ran and delivered nothing
    /// else in that time. The time of a closure includes its waits (for locks, pages and log space)
    /// and all its attempts.
    pub long_steps: u64,
    /// The time of the transactions, and their waits for locks and for pages.
    pub runs: RunStats,
    /// Counters of two-stage execution; all zero for a type that never had a fetch stage.
    pub staging: StagingStats,
}

/// An event of a transaction.
#[derive(Clone, Copy)]
pub(crate) enum Count {
    Commit,
    Rollback,
    Retry,
    Panic,
}

/// One type's counters in one shard.
#[derive(Default)]
struct TypeCounters([Counter; 4]);

/// One thread's counters, and its handle of the log.
pub(crate) struct Shard {
    log: Arc<Log>,
    /// The process that opened the database; only this process may use it.
    process: Process,
    mode: CommitMode,
    timings: Arc<Timings>,
    countdown: CachePadded<Countdown>,
    /// By type number (STATISTICS-1).
    counters: CachePadded<[TypeCounters; KINDS_MAX]>,
    /// Apart from the others, since they are counted rarely.
    long_steps: [Counter; KINDS_MAX],
}

impl Shard {
    #[inline]
    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    /// Fails in a fork of the process that opened the database. Must be called before any latch is
    /// taken: a latch that another thread held at the fork is never released in the child.
    ///
    /// # Errors
    /// [`Error::Forked`].
    #[inline]
    pub(crate) fn check_process(&self) -> Result<()> {
        if self.process.is_current() { Ok(()) } else { Err(Error::Forked) }
    }

    /// Returns the commit mode of this database.
    #[inline]
    pub(crate) fn mode(&self) -> CommitMode {
        self.mode
    }

    /// Returns the start time of a transaction that begins now, if it is timed.
    #[inline]
    pub(crate) fn begin(&self) -> Began {
        self.countdown.begin()
    }

    #[inline]
    pub(crate) fn timings(&self) -> &Timings {
        &self.timings
    }

    #[inline]
    fn count(&self, kind: Kind, what: Count) {
        self.counters[kind.index()].0[what as usize].add(1);
    }
}

impl Drop for Shard {
    fn drop(&mut self) {
        if self.check_process().is_err() {
            // In a child, the log's threads and files belong to the parent.
            std::mem::forget(Arc::clone(&self.log));
        }
    }
}

/// A transaction that was not counted yet: its type, and the shard that will count it. Dropping it
/// counts a rollback (STATISTICS-3).
pub(crate) struct Uncounted {
    /// `None` once the transaction is counted.
    shard: Option<Arc<Shard>>,
    kind: Kind,
}

impl Uncounted {
    #[inline]
    pub(crate) fn new(shard: Arc<Shard>, kind: Kind) -> Uncounted {
        Uncounted { shard: Some(shard), kind }
    }

    /// Makes this one whose drop counts nothing.
    pub(crate) fn cancel(&mut self) {
        self.shard = None;
    }

    #[inline]
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// Moves it, and leaves one whose drop counts nothing.
    #[inline]
    pub(crate) fn take(&mut self) -> Uncounted {
        Uncounted { shard: self.shard.take(), kind: self.kind }
    }

    /// Counts how the transaction has ended, and returns the shard.
    #[inline]
    pub(crate) fn count(mut self, what: Count) -> Arc<Shard> {
        let shard = self.shard.take().expect("a transaction is counted once (STATISTICS-3)");
        shard.count(self.kind, what);
        // Its drop would find nothing to do. This saves each commit a call.
        std::mem::forget(self);
        shard
    }
}

impl Drop for Uncounted {
    #[inline]
    fn drop(&mut self) {
        if let Some(shard) = self.shard.take() {
            shard.count(self.kind, Count::Rollback);
        }
    }
}

/// All counters of a database.
pub(crate) struct Statistics {
    database: u64,
    shards: Sharded<Arc<Shard>, SHARDS>,
    kinds: Arc<Kinds>,
}

/// A thread's cache entry of a type's number, keyed by database and by the address and length of
/// the name, which identify a `'static` text.
#[derive(Clone, Copy)]
struct Remembered {
    database: u64,
    address: usize,
    len: usize,
    kind: Kind,
}

const NOTHING: Remembered = Remembered { database: 0, address: 0, len: 0, kind: Kind::NONE };

thread_local! {
    static TYPES: [Cell<Remembered>; REMEMBERED] =
        const { [const { Cell::new(NOTHING) }; REMEMBERED] };
}

impl Statistics {
    pub(crate) fn new(
        database: u64,
        log: &Arc<Log>,
        kinds: &Arc<Kinds>,
        mode: CommitMode,
        time_one_in: u32,
    ) -> Statistics {
        let timings = Arc::new(Timings::new());
        let shard = || {
            let counters = CachePadded::new(std::array::from_fn(|_| TypeCounters::default()));
            let timings = Arc::clone(&timings);
            let countdown = CachePadded::new(Countdown::new(time_one_in));
            let (log, process) = (Arc::clone(log), Process::current());
            let long_steps = std::array::from_fn(|_| Counter::default());
            Arc::new(Shard { log, process, mode, timings, countdown, counters, long_steps })
        };
        Statistics { database, shards: Sharded::new(shard), kinds: Arc::clone(kinds) }
    }

    /// Returns the calling thread's shard (STATISTICS-2).
    #[inline]
    pub(crate) fn shard(&self) -> Arc<Shard> {
        Arc::clone(self.shards.mine())
    }

    /// Returns the type `name`.
    #[inline]
    pub(crate) fn kind(&self, name: &'static str) -> Kind {
        let (address, len) = (name.as_ptr() as usize, name.len());
        let slot = (address ^ (address >> 7) ^ self.database as usize) % REMEMBERED;
        TYPES.with(|types| {
            let found = types[slot].get();
            if found.database == self.database && found.address == address && found.len == len {
                return found.kind;
            }
            let kind = self.kinds.of_name(name);
            types[slot].set(Remembered { database: self.database, address, len, kind });
            kind
        })
    }

    /// Counts a long step of an agent, in a transaction of type `name`.
    #[cold]
    pub(crate) fn count_long_step(&self, name: &'static str) {
        self.shards.mine().long_steps[self.kind(name).index()].add(1);
    }

    /// Returns the times of each type, by name.
    pub(crate) fn timings(&self) -> Vec<TypeTimings> {
        self.shards.mine().timings.types(&self.kinds)
    }

    /// Returns the runs of a type and their waits. Reads some hundred counters and takes the few
    /// mutexes of the timings; the difference of two values ([`RunStats::since`]) is a window.
    pub(crate) fn runs(&self, kind: Kind, engine: &Engine) -> RunStats {
        // The waits last: they are counted before the run.
        let events = self.shards.iter().flat_map(|shard| &shard.counters[kind.index()].0);
        let runs = events.map(Counter::get).sum();
        let (timed_runs, timed_run_ns) = self.shards.mine().timings.timed(kind);
        RunStats { runs, timed_runs, timed_run_ns, waits: engine.wait_totals(kind) }
    }

    /// Returns the sums over all shards, by name; types without any event are left out.
    pub(crate) fn types(&self, staging: &StagingPolicies, engine: &Engine) -> Vec<TypeStats> {
        let names = self.kinds.names();
        let sum = |number: usize, what: Count| -> u64 {
            self.shards.iter().map(|shard| shard.counters[number].0[what as usize].get()).sum()
        };
        let mut types: Vec<_> = names
            .into_iter()
            .enumerate()
            .map(|(number, name)| TypeStats {
                name: name.to_owned(),
                commits: sum(number, Count::Commit),
                rollbacks: sum(number, Count::Rollback),
                retries: sum(number, Count::Retry),
                panics: sum(number, Count::Panic),
                long_steps: self.shards.iter().map(|shard| shard.long_steps[number].get()).sum(),
                runs: self.runs(Kind::of_index(number), engine),
                staging: staging.stats(number),
            })
            .filter(|t| t.runs.runs + t.long_steps > 0)
            .collect();
        types.sort_by(|a, b| a.name.cmp(&b.name));
        types
    }
}
