//! The time of each type's transactions, and the parts of it in which they waited for locks, for
//! the page reads of others, and for their own.

use std::time::Duration;

use clearway_txn::WaitTotals;

/// The runs of one type of transaction and their waits, since the database was opened or in a
/// [window](RunStats::since). Each attempt of a closure is a run, and so is a transaction without a
/// closure. A run lasts until the transaction has released its locks; a fetch stage is no part of
/// it.
///
/// Waits are counted exactly, when their transaction has ended. The time of the runs is estimated.
///
/// ```
/// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
/// # let words = db.table("words")?;
/// let runs = || db.type_stats().iter().find(|kind| kind.name == "learn").map(|kind| kind.runs);
/// let before = runs().unwrap_or_default();
/// for n in 0..100u8 {
///     db.transact("learn", |tx| tx.put(&words, [n], b""))?;
/// }
/// let window = runs().unwrap().since(&before);
/// assert_eq!((window.runs, window.waits.runs_with_reads), (100, 0));
/// assert_eq!(window.behind_reads_share_of_runs(), 0.0);
/// # Ok::<(), clearway::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct RunStats {
    /// Runs that have ended: the sum of the commits, rollbacks, retries and panics of
    /// [`TypeStats`](crate::TypeStats).
    pub runs: u64,
    /// Of these, runs that were timed: see
    /// [`Options::time_one_in`](crate::Options::time_one_in). They have committed, and their
    /// results were delivered.
    pub timed_runs: u64,
    /// The time of the timed runs, in nanoseconds.
    pub timed_run_ns: u64,
    /// The waits of all runs.
    pub waits: WaitTotals,
}

impl RunStats {
    /// Returns what was counted after `earlier`, an earlier value of the same type.
    pub fn since(&self, earlier: &RunStats) -> RunStats {
        RunStats {
            runs: self.runs - earlier.runs,
            timed_runs: self.timed_runs - earlier.timed_runs,
            timed_run_ns: self.timed_run_ns - earlier.timed_run_ns,
            waits: self.waits.since(&earlier.waits),
        }
    }

    /// Returns the time of all runs: the mean of the timed runs, for each run, but at least the
    /// time of the waits, which is known. As long as all runs commit, the mean is an unbiased
    /// estimate. If no run was timed, the time between the waits is left out.
    pub fn run_time(&self) -> Duration {
        let mean = self.timed_run_ns as f64 / self.timed_runs.max(1) as f64;
        let waits = self.waits.lock_wait_ns + self.waits.page_wait_ns;
        Duration::from_nanos((mean * self.runs as f64).max(waits as f64) as u64)
    }

    /// Returns the share (0 to 1) of the time of these runs in which they waited for a lock whose
    /// holder waited for a page, or for a lock whose holder did, and so on; 0 if there were none.
    /// It is what two-stage execution of the other transactions could save at most.
    pub fn behind_reads_share_of_runs(&self) -> f64 {
        share(self.waits.behind_reads_ns, self.run_time().as_nanos() as u64)
    }

    /// Returns the share (0 to 1) of the lock waits of these runs that was caused by page reads of
    /// others; 0 if there was no lock wait.
    ///
    /// Source: "High-Performance Transaction Processing in Charm", table 1.
    pub fn behind_reads_share_of_lock_waits(&self) -> f64 {
        share(self.waits.behind_reads_ns, self.waits.lock_wait_ns)
    }

    /// Returns the share (0 to 1) of the runs that waited for at least one page; 0 if there were
    /// none.
    ///
    /// Source: "High-Performance Transaction Processing in Charm", table 4.
    pub fn share_with_reads(&self) -> f64 {
        share(self.waits.runs_with_reads, self.runs)
    }
}

fn share(part: u64, whole: u64) -> f64 {
    // The waits of a run are counted a moment before the run is.
    (part as f64 / whole.max(1) as f64).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_runs_is_that_of_the_timed_ones_and_at_least_the_waits() {
        let mut stats = RunStats { runs: 40, ..RunStats::default() };
        stats.waits.lock_wait_ns = 300;
        stats.waits.behind_reads_ns = 90;
        stats.waits.page_wait_ns = 100;
        stats.waits.runs_with_reads = 10;
        assert_eq!(stats.run_time(), Duration::from_nanos(400), "no run was timed");
        assert_eq!(stats.behind_reads_share_of_lock_waits(), 0.3);
        assert_eq!(stats.behind_reads_share_of_runs(), 90.0 / 400.0);
        assert_eq!(stats.share_with_reads(), 0.25);
        stats.timed_runs = 4;
        stats.timed_run_ns = 80;
        assert_eq!(stats.run_time(), Duration::from_nanos(800));
        assert_eq!(stats.behind_reads_share_of_runs(), 90.0 / 800.0);
        stats.timed_run_ns = 8;
        assert_eq!(stats.run_time(), Duration::from_nanos(400), "no less than the waits");
        assert_eq!(RunStats::default().behind_reads_share_of_runs(), 0.0);
    }

    #[test]
    fn window_has_what_was_counted_in_it() {
        let mut before =
            RunStats { runs: 40, timed_runs: 3, timed_run_ns: 9, ..Default::default() };
        before.waits.lock_wait_ns = 300;
        before.waits.page_waits = 5;
        let mut after = RunStats { runs: 50, timed_runs: 5, timed_run_ns: 29, waits: before.waits };
        after.waits.lock_wait_ns = 350;
        let window = after.since(&before);
        assert_eq!((window.runs, window.timed_runs, window.timed_run_ns), (10, 2, 20));
        assert_eq!((window.waits.lock_wait_ns, window.waits.page_waits), (50, 0));
        assert_eq!(window.run_time(), Duration::from_nanos(100));
        assert_eq!(after.since(&after), RunStats::default());
    }
}
