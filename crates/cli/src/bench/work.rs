//! The engine's counters for a run.

use clearway::{LockWaits, StagingStats, Stats, TypeTimings};

/// The engine's counters: their increase during the run, unless a field says otherwise.
pub(crate) struct Work {
    pub(crate) flushes: u64,
    pub(crate) log_bytes: u64,
    pub(crate) lock_waits: u64,
    pub(crate) lock_wait_us: u64,
    pub(crate) deadlocks: u64,
    /// Lock waits by table, type and key, since the database was opened.
    pub(crate) contention: LockWaits,
    /// Lock hold times and waits for the log, since the database was opened.
    pub(crate) timings: Vec<TypeTimings>,
    pub(crate) checkpoints: u64,
    pub(crate) page_reads: u64,
    pub(crate) page_writes: u64,
    /// Pages in memory at the end of the run.
    pub(crate) resident_pages: u64,
    /// The number of fetch stages.
    pub(crate) fetches: u64,
    /// Of these, those that waited for at least one page.
    pub(crate) fetches_with_reads: u64,
    /// The number of operate stages that had to wait for a page after a fetch stage.
    pub(crate) mis_prefetches: u64,
}

impl Work {
    /// Returns the work between two readings of the counters.
    pub(crate) fn between(before: &Stats, after: &Stats) -> Work {
        let (a, b) = (&before.engine, &after.engine);
        let locks = |stats: &clearway::LockStats| stats.waits + stats.intent_waits;
        let staging = |count: fn(&StagingStats) -> u64| {
            let sum =
                |stats: &Stats| stats.types.iter().map(|kind| count(&kind.staging)).sum::<u64>();
            sum(after) - sum(before)
        };
        Work {
            flushes: b.log.flushes - a.log.flushes,
            log_bytes: b.log.flushed_bytes - a.log.flushed_bytes,
            lock_waits: locks(&b.lock) - locks(&a.lock),
            lock_wait_us: b.lock.wait_us - a.lock.wait_us,
            deadlocks: b.lock.deadlocks - a.lock.deadlocks,
            contention: after.lock_waits.clone(),
            timings: after.timings.clone(),
            checkpoints: b.checkpoints - a.checkpoints,
            page_reads: b.pool.reads - a.pool.reads,
            page_writes: b.pool.pages_written - a.pool.pages_written,
            resident_pages: b.pool.resident_pages,
            fetches: staging(|of| of.fetches),
            fetches_with_reads: staging(|of| of.fetches_with_reads),
            mis_prefetches: staging(|of| of.mis_prefetches),
        }
    }

    /// Returns the average number of bytes in a flush.
    pub(crate) fn flush_bytes(&self) -> u64 {
        self.log_bytes / self.flushes.max(1)
    }
}
