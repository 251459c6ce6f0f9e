//! The waits of each type of transaction for locks and for pages, in time.
//!
//! A transaction adds its waits up in its state, and the sums are counted under its type when it
//! has ended and its locks are released. All waits are timed, none is estimated. A transaction that
//! neither waits for a lock nor for a page touches nothing of this.

use std::time::Duration;

use clearway_lock::WaitLength;
use clearway_sync::{Counter, Sharded};

use crate::kinds::{KINDS_MAX, Kind};

/// Shards of the counters.
const SHARDS: usize = 8;

/// The waits of all transactions of one type that have ended since the database was opened. Each
/// attempt of a closure counts as a transaction; fetch stages are not included.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct WaitTotals {
    /// The time of lock waits, in nanoseconds: of those in
    /// [`LockWaits::types`](crate::LockWaits::types), and of those for the locks of the attempt
    /// before, which an attempt takes first.
    pub lock_wait_ns: u64,
    /// The part of `lock_wait_ns` in which the holder of the lock waited for a page, or for a lock
    /// whose holder did, and so on, in nanoseconds. Of several holders one is followed at a time.
    pub behind_reads_ns: u64,
    /// Transactions that waited for at least one page.
    pub runs_with_reads: u64,
    /// Waits for pages that were not in memory. A page that another thread was reading already
    /// counts, too.
    pub page_waits: u64,
    /// The time of these waits, in nanoseconds.
    pub page_wait_ns: u64,
}

impl WaitTotals {
    /// Adds a lock wait.
    pub(crate) fn add_lock_wait(&mut self, length: &WaitLength) {
        self.lock_wait_ns += ns(length.waited);
        self.behind_reads_ns += ns(length.behind_reads);
    }

    /// Adds a wait for a page.
    pub(crate) fn add_page_wait(&mut self, length: Duration) {
        self.runs_with_reads = 1;
        self.page_waits += 1;
        self.page_wait_ns += ns(length);
    }

    /// Returns what was counted after `earlier`, an earlier value of the same type.
    pub fn since(&self, earlier: &WaitTotals) -> WaitTotals {
        let (now, then) = (self.values(), earlier.values());
        WaitTotals::of_values(std::array::from_fn(|at| now[at] - then[at]))
    }

    fn of_values(values: [u64; VALUES]) -> WaitTotals {
        let [lock_wait_ns, behind_reads_ns, runs_with_reads, page_waits, page_wait_ns] = values;
        WaitTotals { lock_wait_ns, behind_reads_ns, runs_with_reads, page_waits, page_wait_ns }
    }

    fn values(&self) -> [u64; VALUES] {
        [
            self.lock_wait_ns,
            self.behind_reads_ns,
            self.runs_with_reads,
            self.page_waits,
            self.page_wait_ns,
        ]
    }
}

fn ns(length: Duration) -> u64 {
    length.as_nanos() as u64
}

/// The number of values in [`WaitTotals`].
const VALUES: usize = 5;

/// The totals of all types.
pub(crate) struct WaitCounters {
    /// By type number.
    shards: Sharded<Box<[[Counter; VALUES]]>, SHARDS>,
}

impl Default for WaitCounters {
    fn default() -> WaitCounters {
        let kind = |_| std::array::from_fn(|_| Counter::default());
        // Not arrays, which would be built on the stack.
        WaitCounters { shards: Sharded::new(|| (0..KINDS_MAX).map(kind).collect()) }
    }
}

impl WaitCounters {
    /// Counts the waits of a transaction.
    pub(crate) fn count(&self, kind: Kind, waits: WaitTotals) {
        let counters = &self.shards.mine()[kind.index()];
        counters.iter().zip(waits.values()).for_each(|(counter, value)| counter.add(value));
    }

    /// Returns the totals of a type.
    pub(crate) fn of(&self, kind: Kind) -> WaitTotals {
        let sum = |at: usize| -> u64 {
            self.shards.iter().map(|shard| shard[kind.index()][at].get()).sum()
        };
        WaitTotals::of_values(std::array::from_fn(sum))
    }
}
