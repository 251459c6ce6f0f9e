//! Two-stage execution: the types of transactions whose closures run once without locks, to read
//! their pages in, before they run for good. `staged_run` runs them.

mod hybrid;

use std::time::Instant;

use clearway_sync::{
    Counter, Mutex,
    plain::{AtomicU8, AtomicU32, AtomicU64, Ordering},
};
use clearway_txn::{Fetched, KINDS_MAX, Kind};

use crate::run_stats::RunStats;
use hybrid::{Execution, RunWindow};

/// Timed transactions of a type between two looks at its runs.
const TIMED_FOR_A_LOOK: u32 = 4;

/// The execution of transactions that are run as closures: by
/// [`transact`](crate::Database::transact), [`submit`](crate::Database::submit), their asynchronous
/// relatives, and as the closures of a [`Pipeline`](crate::Pipeline). Transactions without a
/// closure run conventionally. See `docs/staging.md` in the repository.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Staging {
    /// `Hybrid` for types that need pages which are not in memory, while transactions of some type
    /// wait for more than 5 % of their time for locks whose holders wait for pages; `Conventional`
    /// for all others, in programs that abort on panic, and if no transaction is timed
    /// ([`Options::time_one_in`](crate::Options::time_one_in)).
    #[default]
    Automatic,
    /// The closure runs once, and again after each deadlock. It may hold locks while it waits for
    /// the disk.
    Conventional,
    /// The closure first runs in a *fetch stage*: without locks, and without changes that others
    /// could see, so that the pages it needs are in memory when it runs for good, in its *operate
    /// stage*. So as a rule it holds no lock while it waits for the disk. The run in the fetch
    /// stage (on a pipeline there may be several) sees its own writes, and may see changes that are
    /// not committed, or contents that belong to no single point in time; its result is dropped,
    /// even if it is an error or a panic. What it writes to its captures stays, as after a
    /// deadlock; see [`stage`](crate::Transaction::stage).
    ///
    /// Use this only in programs that unwind on panic: a closure may panic because of contents that
    /// it would never see otherwise.
    TwoStage,
    /// The closure runs in the operate stage first. If it comes to a page that is not in memory,
    /// its changes are undone, its locks released, and the rest of its run is a fetch stage, which
    /// sees the changes that were undone; then follows the operate stage, from the beginning. So
    /// there is no fetch stage if all pages are in memory. A run that has called
    /// [`stage`](crate::Transaction::stage) before waits for its pages instead.
    Optimistic,
    /// For each type the one of `TwoStage`, `Optimistic` and `Conventional` that fits its last
    /// runs: `Optimistic` if fewer than 5 % of them needed a page that was not in memory,
    /// `Conventional` if fetch stages do not find the pages that operate stages need, and otherwise
    /// `TwoStage`. [`StagingStats::current`] shows which.
    Hybrid,
}

/// The stage in which a closure runs; see [`Staging`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// The run takes no locks, and its changes and its result are dropped.
    Fetch,
    /// The run for good, until a deadlock.
    Operate,
}

/// Counters of two-stage execution of one type of transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct StagingStats {
    /// The execution of the runs that begin now, one of [`Conventional`](Staging::Conventional),
    /// [`TwoStage`](Staging::TwoStage) and [`Optimistic`](Staging::Optimistic).
    pub current: Staging,
    /// Fetch stages.
    pub fetches: u64,
    /// Of these, those that began as operate stages.
    pub conversions: u64,
    /// Fetch stages that waited for at least one page.
    pub fetches_with_reads: u64,
    /// The number of times that fetch stages waited for a page.
    pub fetch_waits: u64,
    /// The number of times that closures were run again in their fetch stage: on a pipeline, the
    /// run of a blocking closure is over at a page that is not in memory, and the next one begins
    /// when the page is there.
    pub fetch_reruns: u64,
    /// Fetch stages whose closure panicked.
    pub fetch_panics: u64,
    /// Fetch stages that ended before their closure: they needed more operations, bytes or time
    /// than a fetch stage has, or met an error that inconsistent contents may explain.
    pub fetches_cut_short: u64,
    /// Pages that fetch stages pinned, in all.
    pub pages_pinned: u64,
    /// Operate stages after a fetch stage, each attempt counted.
    pub operates: u64,
    /// Of these, those that had to wait for a page all the same: they needed other pages than the
    /// fetch stage, or pages of which the pin was taken away.
    pub mis_prefetches: u64,
    /// The number of times that they waited for a page.
    pub operate_waits: u64,
    /// Of these, those whose pins were taken away: all fetch stages together pin at most a quarter
    /// of the cache.
    pub mis_prefetches_without_pins: u64,
}

/// The first run of a closure.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FirstRun {
    /// As always. Its end is not counted here.
    Conventional,
    /// As always. Its end is counted here.
    Counted,
    /// A fetch stage.
    Fetch,
    /// In the operate stage, until an absent page.
    Optimistic,
}

/// A run of a closure that has ended in the operate stage.
#[derive(Clone, Copy)]
pub(crate) enum EndedRun {
    /// It has had a fetch stage, which has read pages, or none; and its pins were all kept, or not.
    Operate {
        read: bool,
        is_whole: bool,
    },
    /// An optimistic run without conversion.
    Optimistic,
    Conventional,
}

/// The runs of a closure in one fetch stage, the present one included.
#[derive(Default)]
pub(crate) struct FetchRuns {
    /// True if the stage began as an operate stage.
    pub(crate) is_converted: bool,
    /// The number of runs but one.
    pub(crate) reruns: u32,
    /// The number of times that they waited for a page.
    pub(crate) absent_pages: u32,
    /// True if the closure has panicked in one of them.
    pub(crate) has_panicked: bool,
}

/// The counters of a type.
#[derive(Default)]
struct StagingCounters {
    fetches: Counter,
    conversions: Counter,
    fetches_with_reads: Counter,
    fetch_waits: Counter,
    fetch_reruns: Counter,
    fetch_panics: Counter,
    fetches_cut_short: Counter,
    pages_pinned: Counter,
    operates: Counter,
    mis_prefetches: Counter,
    operate_waits: Counter,
    mis_prefetches_without_pins: Counter,
}

/// The way in which the execution of a type changes.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Changes {
    Never,
    ByHybrid,
    ByAutomatic,
}

/// The policy of a type, what it leads to, and the counters.
struct StagingOfType {
    /// The code of a [`Changes`].
    changes: AtomicU8,
    /// The code of an [`Execution`].
    execution: AtomicU8,
    window: RunWindow,
    counters: StagingCounters,
    /// Timed transactions, for `automatic`.
    timed: AtomicU32,
    /// The runs up to the last look of `automatic`.
    looked_at: Mutex<RunStats>,
}

/// The policy of each type, and the counters.
pub(crate) struct StagingPolicies {
    /// By type number.
    types: Box<[StagingOfType]>,
    of_database: Staging,
    /// Runs for which each one counts that is timed.
    time_one_in: u32,
    opened: Instant,
    /// The time since `opened`, in milliseconds, at which some type waited behind reads; 0 if none
    /// has.
    waited_ms: AtomicU64,
}

impl StagingOfType {
    fn new() -> StagingOfType {
        StagingOfType {
            changes: AtomicU8::new(Changes::Never as u8),
            execution: AtomicU8::new(Execution::Conventional as u8),
            window: RunWindow::default(),
            counters: StagingCounters::default(),
            timed: AtomicU32::new(0),
            looked_at: Mutex::default(),
        }
    }

    fn set(&self, policy: Staging) {
        let (execution, changes) = match policy {
            Staging::Automatic if cfg!(panic = "unwind") => {
                (Execution::Conventional, Changes::ByAutomatic)
            }
            Staging::Automatic | Staging::Conventional => (Execution::Conventional, Changes::Never),
            Staging::Optimistic => (Execution::Optimistic, Changes::Never),
            Staging::TwoStage => (Execution::TwoStage, Changes::Never),
            // A type of which nothing is known begins with fetch stages, as in the paper.
            Staging::Hybrid => (Execution::TwoStage, Changes::ByHybrid),
        };
        // Relaxed: transactions that begin meanwhile may use either policy.
        self.window.reset();
        self.execution.store(execution as u8, Ordering::Relaxed);
        self.changes.store(changes as u8, Ordering::Relaxed);
    }

    fn changes(&self, how: Changes) -> bool {
        self.changes.load(Ordering::Relaxed) == how as u8
    }

    fn execution(&self) -> Execution {
        Execution::of_code(self.execution.load(Ordering::Relaxed))
    }

    /// Counts runs that have waited for pages, or not.
    fn count_runs(&self, runs: u32, have_read: bool) {
        if self.changes(Changes::Never) {
            return;
        }
        let now = self.execution();
        let Some(decision) = self.window.count_runs(runs, have_read, now) else { return };
        let is_idle = decision.has_read_nothing && self.changes(Changes::ByAutomatic);
        let next = if is_idle { Execution::Conventional } else { decision.next };
        // Relaxed: a policy that is set meanwhile may be replaced by this decision, until the next
        // one.
        self.execution.store(next as u8, Ordering::Relaxed);
    }
}

impl StagingPolicies {
    /// All types have the policy of the database. One run in `time_one_in` is timed.
    pub(crate) fn new(of_database: Staging, time_one_in: u32) -> StagingPolicies {
        // Not an array, which would be built on the stack.
        let types: Box<[_]> = (0..KINDS_MAX).map(|_| StagingOfType::new()).collect();
        types.iter().for_each(|of_type| of_type.set(of_database));
        let (opened, waited_ms) = (Instant::now(), AtomicU64::new(0));
        StagingPolicies { types, of_database, time_one_in, opened, waited_ms }
    }

    /// Sets the policy of a type; `None`: that of the database.
    pub(crate) fn set(&self, kind: Kind, policy: Option<Staging>) {
        self.types[kind.index()].set(policy.unwrap_or(self.of_database));
    }

    /// Returns the first run of a transaction of a type that begins now.
    #[inline]
    pub(crate) fn first_run(&self, kind: Kind) -> FirstRun {
        match self.types[kind.index()].execution.load(Ordering::Relaxed) {
            0 => FirstRun::Conventional,
            _ => self.first_staged_run(kind),
        }
    }

    #[cold]
    fn first_staged_run(&self, kind: Kind) -> FirstRun {
        let of_type = &self.types[kind.index()];
        match of_type.execution() {
            Execution::Conventional => FirstRun::Conventional,
            Execution::TwoStage => FirstRun::Fetch,
            Execution::Optimistic => FirstRun::Optimistic,
            Execution::Probed if of_type.window.is_probe() => FirstRun::Fetch,
            Execution::Probed => FirstRun::Counted,
        }
    }

    /// Returns true if the last runs of a type are to be looked at, in one of
    /// [`TIMED_FOR_A_LOOK`] calls.
    pub(crate) fn is_time_to_look(&self, kind: Kind) -> bool {
        let of_type = &self.types[kind.index()];
        of_type.changes(Changes::ByAutomatic)
            && of_type.execution() == Execution::Conventional
            && of_type.timed.fetch_add(1, Ordering::Relaxed).is_multiple_of(TIMED_FOR_A_LOOK)
    }

    /// Returns the runs since the last such call that returned some, if they are enough to decide.
    /// `all` returns those since the opening.
    pub(crate) fn window_of_runs(
        &self,
        kind: Kind,
        all: impl FnOnce() -> RunStats,
    ) -> Option<RunStats> {
        // If another thread has it, that one looks at them.
        let mut earlier = self.types[kind.index()].looked_at.try_lock()?;
        let all = all(); // Not before: the other thread may have seen more.
        let window = all.since(&earlier);
        (window.runs >= hybrid::WINDOW.into()).then(|| {
            *earlier = all;
            window
        })
    }

    /// Notes that transactions of some type wait behind reads.
    pub(crate) fn note_waiting(&self) {
        self.waited_ms.store(self.now_ms(), Ordering::Relaxed);
    }

    /// Returns true if that was noted within the last second.
    pub(crate) fn is_any_waiting(&self) -> bool {
        let waited = self.waited_ms.load(Ordering::Relaxed);
        waited > 0 && self.now_ms() - waited.min(self.now_ms()) <= 1000
    }

    fn now_ms(&self) -> u64 {
        self.opened.elapsed().as_millis() as u64 + 1
    }

    /// Leaves a type to [`Staging::Hybrid`] until it has read nothing in a window.
    pub(crate) fn begin_hybrid(&self, kind: Kind) {
        let of_type = &self.types[kind.index()];
        if of_type.changes(Changes::ByAutomatic) {
            of_type.window.reset();
            of_type.execution.store(Execution::TwoStage as u8, Ordering::Relaxed);
        }
    }

    /// Counts a fetch stage, after its last run.
    #[cold]
    pub(crate) fn count_fetch(&self, kind: Kind, fetched: &Fetched, runs: &FetchRuns) {
        let StagingOfType { counters, window, .. } = &self.types[kind.index()];
        counters.fetches.add(1);
        counters.conversions.add(u64::from(runs.is_converted));
        counters.fetches_with_reads.add(u64::from(runs.absent_pages > 0));
        counters.fetch_waits.add(u64::from(runs.absent_pages));
        counters.fetch_reruns.add(u64::from(runs.reruns));
        counters.fetch_panics.add(u64::from(runs.has_panicked));
        counters.fetches_cut_short.add(u64::from(fetched.is_cut_short));
        counters.pages_pinned.add(fetched.pages.count() as u64);
        window.count_fetch(runs.absent_pages);
    }

    /// Counts a run that has ended in the operate stage, in which it has waited for `absent` pages.
    #[cold]
    pub(crate) fn count_run(&self, kind: Kind, run: EndedRun, absent: u32, is_timed: bool) {
        let of_type = &self.types[kind.index()];
        let has_missed = absent > 0;
        match run {
            EndedRun::Operate { read, is_whole } => {
                let counters = &of_type.counters;
                counters.operates.add(1);
                counters.operate_waits.add(u64::from(absent));
                counters.mis_prefetches.add(u64::from(has_missed));
                counters.mis_prefetches_without_pins.add(u64::from(has_missed && !is_whole));
                of_type.window.count_operate(absent);
                of_type.count_runs(1, read || has_missed);
            }
            EndedRun::Optimistic if !has_missed && self.time_one_in > 1 => {
                // Most runs of most types: those that are timed count for the others.
                if is_timed {
                    of_type.count_runs(self.time_one_in, false);
                }
            }
            EndedRun::Optimistic | EndedRun::Conventional => of_type.count_runs(1, has_missed),
        }
    }

    /// The counters of a type.
    pub(crate) fn stats(&self, kind: usize) -> StagingStats {
        let of_type = &self.types[kind];
        let counters = &of_type.counters;
        StagingStats {
            current: match of_type.execution() {
                Execution::Conventional | Execution::Probed => Staging::Conventional,
                Execution::TwoStage => Staging::TwoStage,
                Execution::Optimistic => Staging::Optimistic,
            },
            fetches: counters.fetches.get(),
            conversions: counters.conversions.get(),
            fetches_with_reads: counters.fetches_with_reads.get(),
            fetch_waits: counters.fetch_waits.get(),
            fetch_reruns: counters.fetch_reruns.get(),
            fetch_panics: counters.fetch_panics.get(),
            fetches_cut_short: counters.fetches_cut_short.get(),
            pages_pinned: counters.pages_pinned.get(),
            operates: counters.operates.get(),
            mis_prefetches: counters.mis_prefetches.get(),
            operate_waits: counters.operate_waits.get(),
            mis_prefetches_without_pins: counters.mis_prefetches_without_pins.get(),
        }
    }
}
