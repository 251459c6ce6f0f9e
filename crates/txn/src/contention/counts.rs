//! Counts and lengths of lock waits.

use clearway_base::CoarseHistogram;

/// The number and the lengths of lock waits that have ended.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct WaitCounts {
    /// Waits that have ended, with or without the lock.
    pub waits: u64,
    /// Of these, waits that were given up at the time limit.
    pub timeouts: u64,
    /// Of these, waits that ended because the transaction was a deadlock's victim.
    pub deadlocks: u64,
    /// The time of all these waits, in microseconds.
    pub wait_us: u64,
    /// The longest wait, in microseconds.
    pub wait_us_max: u64,
    /// The part of `wait_us` in which the holder of the lock waited for a page, or for a lock whose
    /// holder did, and so on, in microseconds. See
    /// [`behind_reads_share`](WaitCounts::behind_reads_share).
    pub behind_reads_us: u64,
    /// The time from the grant of a lock to the waiting task's next poll: a part of `wait_us`.
    pub grant_to_poll: GrantToPoll,
    lengths_us: CoarseHistogram,
}

/// The time between the grant of a lock to a task and the poll that finds the grant. A lock counts
/// as held from its grant on, so others wait for it even while the task is not polled. Waits of
/// threads are not included.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct GrantToPoll {
    /// Waits of tasks that ended with a grant.
    pub count: u64,
    /// The time from the grants to the polls that found them, in microseconds.
    pub us: u64,
    /// The longest such time, in microseconds.
    pub us_max: u64,
}

impl GrantToPoll {
    /// Counts a grant.
    pub(crate) fn count(&mut self, us: u64) {
        self.add(&GrantToPoll { count: 1, us, us_max: us });
    }

    fn add(&mut self, other: &GrantToPoll) {
        self.count += other.count;
        self.us += other.us;
        self.us_max = self.us_max.max(other.us_max);
    }
}

/// The end of a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WaitEnd {
    Granted,
    Timeout,
    Deadlock,
    /// The task was dropped, or the wait would never have ended.
    Withdrawn,
}

impl WaitCounts {
    /// Counts a wait.
    pub(crate) fn count(&mut self, us: u64, end: WaitEnd) {
        self.waits += 1;
        self.timeouts += u64::from(end == WaitEnd::Timeout);
        self.deadlocks += u64::from(end == WaitEnd::Deadlock);
        self.wait_us += us;
        self.wait_us_max = self.wait_us_max.max(us);
        self.lengths_us.record(us);
    }

    /// Adds what another has counted.
    pub(crate) fn add(&mut self, other: &WaitCounts) {
        self.waits += other.waits;
        self.timeouts += other.timeouts;
        self.deadlocks += other.deadlocks;
        self.wait_us += other.wait_us;
        self.wait_us_max = self.wait_us_max.max(other.wait_us_max);
        self.behind_reads_us += other.behind_reads_us;
        self.grant_to_poll.add(&other.grant_to_poll);
        self.lengths_us.merge(&other.lengths_us);
    }

    /// Returns the share (0 to 1) of the waiting time that the page reads of other transactions
    /// caused; 0 if there was no wait. Each wait is rounded down to microseconds.
    ///
    /// Source: "High-Performance Transaction Processing in Charm", table 1.
    pub fn behind_reads_share(&self) -> f64 {
        self.behind_reads_us as f64 / self.wait_us.max(1) as f64
    }

    /// Returns an upper bound of the `q`-quantile (`q` from 0 to 1) of the waits' lengths, in
    /// microseconds: at most twice the exact value. 0 if there were no waits.
    pub fn quantile_us(&self, q: f64) -> u64 {
        self.lengths_us.quantile(q)
    }
}

#[cfg(test)]
mod tests {
    use clearway_testkit::Random;

    use super::*;

    #[test]
    fn quantiles_bound_the_true_ones() {
        let mut random = Random::new(1);
        let mut lengths: Vec<u64> =
            (0..5_000).map(|_| (random.next_u64() >> 32) >> random.below(33)).collect();
        let (mut whole, mut parts) =
            (WaitCounts::default(), [WaitCounts::default(), WaitCounts::default()]);
        for (at, &us) in lengths.iter().enumerate() {
            whole.count(us, WaitEnd::Granted);
            parts[at % 2].count(us, WaitEnd::Granted);
        }
        lengths.sort_unstable();
        for q in [0.01, 0.5, 0.9, 0.99, 1.0] {
            let rank = ((lengths.len() as f64 * q).ceil() as usize).max(1);
            let (truth, bound) = (lengths[rank - 1], whole.quantile_us(q));
            assert!(truth <= bound && bound <= 2 * truth + 1, "{q}: {truth}, {bound}");
        }
        assert_eq!(whole.wait_us_max, *lengths.last().unwrap());
        assert_eq!(whole.wait_us, lengths.iter().sum::<u64>());
        let [mut sum, other] = parts;
        sum.add(&other);
        assert_eq!(sum, whole);
    }

    #[test]
    fn ends_are_counted_separately() {
        let mut counts = WaitCounts::default();
        assert_eq!(counts.quantile_us(0.99), 0);
        counts.count(0, WaitEnd::Granted);
        assert_eq!(counts.quantile_us(0.99), 0);
        counts.count(1000, WaitEnd::Timeout);
        counts.count(5, WaitEnd::Deadlock);
        assert_eq!((counts.waits, counts.timeouts, counts.deadlocks), (3, 1, 1));
        assert_eq!((counts.wait_us, counts.wait_us_max), (1005, 1000));
        assert_eq!((counts.quantile_us(0.5), counts.quantile_us(1.0)), (7, 1000));
    }
}
