//! Two-stage execution: the types of transactions whose closures run once without locks, to read
//! their pages in, before they run for good. `fetching` runs them.

use clearway_pool::FetchedPages;
use clearway_sync::{
    Counter,
    plain::{AtomicU8, Ordering},
};
use clearway_txn::{KINDS_MAX, Kind};

/// The execution of transactions that are run as closures: by
/// [`transact`](crate::Database::transact), [`submit`](crate::Database::submit) and the closures of
/// a [`Pipeline`](crate::Pipeline). Asynchronous closures and transactions without a closure run
/// conventionally. See `docs/staging.md` in the repository.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Staging {
    /// The closure runs once, and again after each deadlock. It may hold locks while it waits for
    /// the disk.
    #[default]
    Conventional,
    /// The closure first runs in a *fetch stage*: without locks, and without changes that others
    /// could see, so that the pages it needs are in memory when it runs for good, in its *operate
    /// stage*. So as a rule it holds no lock while it waits for the disk. The run in the fetch
    /// stage sees its own writes, and may see changes that are not committed, or contents that
    /// belong to no single point in time; its result is dropped, even if it is an error or a panic.
    /// What it writes to its captures stays, as after a deadlock; see
    /// [`stage`](crate::Transaction::stage).
    ///
    /// Use this only in programs that unwind on panic: a closure may panic because of contents that
    /// it would never see otherwise.
    TwoStage,
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
    /// Fetch stages.
    pub fetches: u64,
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
    /// Of these, those whose pins were taken away: all fetch stages together pin at most a quarter
    /// of the cache.
    pub mis_prefetches_without_pins: u64,
}

/// The end of a fetch stage.
#[derive(Clone, Copy)]
pub(crate) struct FetchEnd {
    /// True if the closure panicked.
    pub(crate) panicked: bool,
    /// True if the stage was over before the closure.
    pub(crate) is_cut_short: bool,
}

/// One type's counters.
#[derive(Default)]
struct StagingCounters {
    fetches: Counter,
    fetch_panics: Counter,
    fetches_cut_short: Counter,
    pages_pinned: Counter,
    operates: Counter,
    mis_prefetches: Counter,
    mis_prefetches_without_pins: Counter,
}

/// The policy of each type, and the counters.
pub(crate) struct StagingPolicies {
    /// By type number.
    policies: [AtomicU8; KINDS_MAX],
    of_database: Staging,
    counters: [StagingCounters; KINDS_MAX],
}

const CONVENTIONAL: u8 = 0;
const TWO_STAGE: u8 = 1;

impl Staging {
    fn code(self) -> u8 {
        match self {
            Staging::Conventional => CONVENTIONAL,
            Staging::TwoStage => TWO_STAGE,
        }
    }
}

impl StagingPolicies {
    /// All types have the policy of the database.
    pub(crate) fn new(of_database: Staging) -> StagingPolicies {
        StagingPolicies {
            policies: std::array::from_fn(|_| AtomicU8::new(of_database.code())),
            of_database,
            counters: std::array::from_fn(|_| StagingCounters::default()),
        }
    }

    /// Sets the policy of a type; `None`: that of the database.
    pub(crate) fn set(&self, kind: Kind, policy: Option<Staging>) {
        let policy = policy.unwrap_or(self.of_database);
        // Relaxed: transactions that begin meanwhile may use either policy.
        self.policies[kind.index()].store(policy.code(), Ordering::Relaxed);
    }

    /// Returns true if transactions of this type begin with a fetch stage.
    #[inline]
    pub(crate) fn fetches(&self, kind: Kind) -> bool {
        self.policies[kind.index()].load(Ordering::Relaxed) == TWO_STAGE
    }

    /// Counts a fetch stage that has pinned these pages.
    #[cold]
    pub(crate) fn count_fetch(&self, kind: Kind, ended: FetchEnd, pages: &FetchedPages) {
        let counters = &self.counters[kind.index()];
        counters.fetches.add(1);
        counters.fetch_panics.add(u64::from(ended.panicked));
        counters.fetches_cut_short.add(u64::from(ended.is_cut_short));
        counters.pages_pinned.add(pages.count() as u64);
    }

    /// Counts an operate stage that has waited for `absent` pages.
    #[cold]
    pub(crate) fn count_operate(&self, kind: Kind, fetched: &FetchedPages, absent: u32) {
        let counters = &self.counters[kind.index()];
        counters.operates.add(1);
        if absent > 0 {
            counters.mis_prefetches.add(1);
            counters.mis_prefetches_without_pins.add(u64::from(!fetched.is_whole()));
        }
    }

    /// The counters of a type.
    pub(crate) fn stats(&self, kind: usize) -> StagingStats {
        let counters = &self.counters[kind];
        StagingStats {
            fetches: counters.fetches.get(),
            fetch_panics: counters.fetch_panics.get(),
            fetches_cut_short: counters.fetches_cut_short.get(),
            pages_pinned: counters.pages_pinned.get(),
            operates: counters.operates.get(),
            mis_prefetches: counters.mis_prefetches.get(),
            mis_prefetches_without_pins: counters.mis_prefetches_without_pins.get(),
        }
    }
}
