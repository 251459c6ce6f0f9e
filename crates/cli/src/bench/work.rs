//! What the engine did during a run.

use clearway::{LockWaits, Stats, TypeTimings};

/// Counters of the engine, the run's part of them.
pub(crate) struct Work {
    pub(crate) flushes: u64,
    pub(crate) log_bytes: u64,
    pub(crate) lock_waits: u64,
    pub(crate) lock_wait_us: u64,
    pub(crate) deadlocks: u64,
    /// Where the waits were, since the database was opened.
    pub(crate) contention: LockWaits,
    /// How long locks were held and results waited for the log, since the database was opened.
    pub(crate) timings: Vec<TypeTimings>,
    pub(crate) checkpoints: u64,
    pub(crate) page_reads: u64,
    pub(crate) page_writes: u64,
    pub(crate) resident_pages: u64,
}

impl Work {
    /// What was done between two readings.
    pub(crate) fn between(before: &Stats, after: &Stats) -> Work {
        let (a, b) = (&before.engine, &after.engine);
        let locks = |stats: &clearway::LockStats| stats.waits + stats.intent_waits;
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
        }
    }

    /// Bytes of an average flush.
    pub(crate) fn flush_bytes(&self) -> u64 {
        self.log_bytes / self.flushes.max(1)
    }
}
