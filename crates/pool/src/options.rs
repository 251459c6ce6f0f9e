//! Options and counters of the pool.

use std::time::Duration;

use clearway_base::{Error, PAGE_SIZE, Result};
use clearway_disk::{IoQueueKind, IoQueueOptions};

/// Options of [`Pool::open`](crate::Pool::open).
#[derive(Clone, Debug)]
pub struct PoolOptions {
    /// Bytes of page contents kept in memory. Default 1 GiB, minimum 64 pages.
    pub cache_bytes: u64,
    /// Address space to reserve, hence the largest data file. Reserved space costs nothing until it
    /// is used. If the system grants less, the pool uses that, as long as the cache and twice the
    /// data file fit. Default 256 GiB.
    pub max_bytes: u64,
    /// Pages of one cleaning batch, 1 to 500. Default 128 (1 MiB).
    pub batch_pages: usize,
    /// Number of batches that may be in flight at the same time, each in its own part of the
    /// double-write file, 1 to 8. Default 2: one for the background cleaner, one for an evicting
    /// thread.
    pub batches_in_flight: usize,
    /// True if background threads clean pages before they are needed, and make room for the pages
    /// that tasks wait for. Default true. Without them, a miss that finds only dirty pages cleans
    /// them itself, and so does a task
    /// ([`OperationPins::poll_take`](crate::OperationPins::poll_take)).
    pub background_cleaner: bool,
    /// The queue through which tasks and [`Pool::load`](crate::Pool::load) read, and cleaning
    /// writes. Default: the kernel, through io_uring, where it allows that, otherwise threads; 64
    /// requests in flight.
    pub io: IoQueueOptions,
    /// The longest wait of a close for a read or write that is under way. Default 30 s.
    pub close_wait: Duration,
}

impl Default for PoolOptions {
    fn default() -> PoolOptions {
        PoolOptions {
            cache_bytes: 1 << 30,
            max_bytes: 256 << 30,
            batch_pages: 128,
            batches_in_flight: 2,
            background_cleaner: true,
            io: IoQueueOptions::default(),
            close_wait: Duration::from_secs(30),
        }
    }
}

/// A lower bound: the pages that threads may have latched at the same time, and more. Scheduled
/// tests have few threads, and want to see eviction.
const CAPACITY_MIN: usize = if cfg!(any(loom, shuttle)) { 16 } else { 64 };

impl PoolOptions {
    /// The number of resident pages that fit in `cache_bytes`.
    pub(crate) fn capacity_pages(&self) -> usize {
        (self.cache_bytes / PAGE_SIZE as u64) as usize
    }

    /// Refuses invalid values.
    pub(crate) fn check(&self) -> Result<()> {
        let bad = |option, detail: &str| Err(Error::BadOption { option, detail: detail.into() });
        if self.capacity_pages() < CAPACITY_MIN {
            return bad("cache_bytes", "the cache needs at least 64 pages (512 KiB)");
        }
        if self.cache_bytes > self.max_bytes {
            return bad("max_bytes", "the address space is smaller than the cache");
        }
        if self.max_bytes / PAGE_SIZE as u64 > u64::from(u32::MAX) {
            return bad("max_bytes", "page ids have 32 bits: at most 32 TiB");
        }
        if !(1..=500).contains(&self.batch_pages) {
            return bad("batch_pages", "1 to 500 pages: a batch's list is one 4096-byte block");
        }
        if !(1..=8).contains(&self.batches_in_flight) {
            return bad("batches_in_flight", "1 to 8 batches");
        }
        if !(1..=4096).contains(&self.io.depth) {
            return bad("io", "1 to 4096 requests in flight");
        }
        Ok(())
    }
}

/// Counters of the page cache since the database was opened. Accesses to pages that are in memory
/// are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolStats {
    /// Requests for pages that were absent, those of read-ahead and those for newly allocated pages
    /// included.
    pub misses: u64,
    /// Pages whose read from the data file was begun.
    pub reads: u64,
    /// Pages that were evicted.
    pub evictions: u64,
    /// Pages written to their place in the data file.
    pub pages_written: u64,
    /// Batches of pages that were written, first to the double-write file and then in place.
    pub batches: u64,
    /// Of these, batches written by a thread that found no clean page to evict.
    pub foreground_batches: u64,
    /// Number of times that a thread slept until a page's latch was free.
    pub latch_waits: u64,
    /// Pages repaired from the double-write file when the database was opened.
    pub pages_repaired: u64,
    /// The implementation of the I/O queue, through which tasks and read-ahead read pages and
    /// cleaning writes them.
    pub io_queue: IoQueueKind,
    /// Reads of the I/O queue, each of one page or several adjacent ones.
    pub queued_reads: u64,
    /// Reads of the I/O queue that are in flight now.
    pub queued_reads_in_flight: u64,
    /// The largest number of reads of the I/O queue that were in flight at the same time.
    pub queued_reads_in_flight_max: u64,
    /// The sum of the times for which reads of the I/O queue were in flight, in nanoseconds. For
    /// the mean depth of the queue see [`queued_reads_since`](PoolStats::queued_reads_since).
    pub queued_reads_in_flight_ns: u64,
    /// The time since the pool was opened, in nanoseconds.
    pub age_ns: u64,
    /// Writes of the I/O queue, each of one page or several adjacent ones.
    pub queued_writes: u64,
    /// Pages that fetch stages have pinned, each counted once for each of them.
    pub fetched_pages: u64,
    /// Pages that are in memory now.
    pub resident_pages: u64,
    /// Pages in memory that were changed since they were last written.
    pub dirty_pages: u64,
}

impl PoolStats {
    /// Returns the mean number of reads of the I/O queue that were in flight since `earlier`,
    /// weighted by time; 0 if no time has passed. With default counters as `earlier`, it is the
    /// mean since the database was opened. Reads that a thread makes without the queue are not
    /// included: threads read single pages that way, tasks never do. A disk in memory reads at
    /// once, so no read is in flight there.
    pub fn queued_reads_since(&self, earlier: &PoolStats) -> f64 {
        let time = self.age_ns.saturating_sub(earlier.age_ns).max(1);
        let in_flight = self.queued_reads_in_flight_ns - earlier.queued_reads_in_flight_ns;
        in_flight as f64 / time as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_of_queued_reads_is_that_of_the_time_between() {
        let of = |queued_reads_in_flight_ns, age_ns| PoolStats {
            queued_reads_in_flight_ns,
            age_ns,
            ..PoolStats::default()
        };
        let (before, after) = (of(500, 1_000), of(1_500, 1_400));
        assert_eq!(after.queued_reads_since(&before), 2.5);
        assert_eq!(before.queued_reads_since(&PoolStats::default()), 0.5);
        assert_eq!(after.queued_reads_since(&after), 0.0);
    }
}
