//! The engine's counters, and their differences.

use clearway::{EngineStats, StagingStats, TypeStats, WaitsOf};
use clearway_workloads::ClearwayStore;

/// The counters of a database at one time.
pub(super) struct Counters {
    pub(super) engine: EngineStats,
    types: Vec<TypeStats>,
    waits: Vec<WaitsOf>,
}

/// Counters of fetch and operate stages.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub(in super::super) struct Staged {
    pub(in super::super) fetches: u64,
    pub(in super::super) pages_pinned: u64,
    pub(in super::super) operates: u64,
    pub(in super::super) mis_prefetches: u64,
    pub(in super::super) without_pins: u64,
}

impl Staged {
    fn plus(self, stats: &StagingStats) -> Staged {
        Staged {
            fetches: self.fetches + stats.fetches,
            pages_pinned: self.pages_pinned + stats.pages_pinned,
            operates: self.operates + stats.operates,
            mis_prefetches: self.mis_prefetches + stats.mis_prefetches,
            without_pins: self.without_pins + stats.mis_prefetches_without_pins,
        }
    }

    /// Returns what was counted after `earlier`.
    pub(super) fn since(self, earlier: Staged) -> Staged {
        Staged {
            fetches: self.fetches - earlier.fetches,
            pages_pinned: self.pages_pinned - earlier.pages_pinned,
            operates: self.operates - earlier.operates,
            mis_prefetches: self.mis_prefetches - earlier.mis_prefetches,
            without_pins: self.without_pins - earlier.without_pins,
        }
    }
}

impl Counters {
    pub(super) fn of(store: &ClearwayStore) -> Counters {
        let stats = store.database().stats();
        Counters { engine: stats.engine, types: stats.types, waits: stats.lock_waits.types }
    }

    /// Returns the commits since `earlier`.
    pub(super) fn commits(&self, earlier: &Counters) -> u64 {
        let commits =
            |counters: &Counters| counters.engine.commits + counters.engine.read_only_commits;
        commits(self) - commits(earlier)
    }

    /// Returns the misses of each transaction since `earlier`.
    pub(super) fn misses_each(&self, earlier: &Counters) -> f64 {
        let misses = self.engine.pool.misses - earlier.engine.pool.misses;
        misses as f64 / self.commits(earlier).max(1) as f64
    }

    /// Returns the pages evicted since `earlier`.
    pub(super) fn evictions(&self, earlier: &Counters) -> u64 {
        self.engine.pool.evictions - earlier.engine.pool.evictions
    }

    /// Returns the stages of a type, or of all types together.
    pub(super) fn staged(&self, name: Option<&str>) -> Staged {
        let types = self.types.iter().filter(|kind| name.is_none_or(|name| kind.name == name));
        types.fold(Staged::default(), |sum, kind| sum.plus(&kind.staging))
    }

    /// Returns the time of the lock waits of a type, or of all types together, in microseconds.
    pub(super) fn lock_wait_us(&self, name: Option<&str>) -> u64 {
        let types = self.waits.iter().filter(|kind| name.is_none_or(|name| kind.name == name));
        types.map(|kind| kind.counts.wait_us).sum()
    }

    /// Returns the part of these waits in which the holder of the lock read, in microseconds.
    pub(super) fn behind_reads_us(&self, name: Option<&str>) -> u64 {
        let types = self.waits.iter().filter(|kind| name.is_none_or(|name| kind.name == name));
        types.map(|kind| kind.counts.behind_reads_us).sum()
    }
}
