//! The number of reads in flight, and its integral over time, from which follows its mean.

use std::time::{Duration, Instant};

use super::IoQueueStats;

/// The reads of a queue that are in flight.
#[derive(Clone, Copy, Debug)]
pub struct ReadsInFlight {
    count: usize,
    max: usize,
    /// The integral of the number over time, until it was changed last.
    time: Duration,
    changed: Instant,
}

impl Default for ReadsInFlight {
    fn default() -> ReadsInFlight {
        ReadsInFlight { count: 0, max: 0, time: Duration::ZERO, changed: Instant::now() }
    }
}

impl ReadsInFlight {
    /// A read is in flight from now on.
    pub fn begin(&mut self) {
        self.pass_to(Instant::now());
        self.count += 1;
        self.max = self.max.max(self.count);
    }

    /// A read is not in flight any more.
    pub fn end(&mut self) {
        self.pass_to(Instant::now());
        self.count -= 1;
    }

    /// The number of reads that are in flight now.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the counters of a queue with those of the reads in flight set.
    pub fn in_stats(mut self, others: IoQueueStats) -> IoQueueStats {
        self.pass_to(Instant::now());
        IoQueueStats {
            reads_in_flight: self.count,
            reads_in_flight_max: self.max,
            reads_in_flight_time: self.time,
            ..others
        }
    }

    fn pass_to(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.changed);
        self.time += passed * self.count as u32;
        self.changed = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_the_integral_of_the_number() {
        let ms = Duration::from_millis;
        let mut reads = ReadsInFlight::default();
        let begin = reads.changed;
        for (at, count, expected) in [(5, 3, 0), (7, 1, 6), (12, 0, 11), (20, 2, 11), (30, 2, 31)] {
            reads.pass_to(begin + ms(at));
            reads.count = count;
            assert_eq!(reads.time, ms(expected));
        }
        let mut reads = ReadsInFlight::default();
        reads.begin();
        reads.begin();
        reads.end();
        let (outer, inner) = (reads.changed, Instant::now());
        std::thread::sleep(ms(2));
        let min = inner.elapsed();
        let stats = reads.in_stats(IoQueueStats { writes: 7, ..IoQueueStats::default() });
        assert_eq!((stats.reads_in_flight, stats.reads_in_flight_max, stats.writes), (1, 2, 7));
        let time = stats.reads_in_flight_time - reads.time;
        assert!(min <= time && time <= outer.elapsed(), "one read, as long as this took");
    }
}
