//! The times of one query: count, sum, sum of squares and a histogram.
//!
//! Times below 16 ns have a bucket each; above, each power of two has 16. So a bucket is at most
//! 1/16 as wide as its times are long, which bounds the error of a percentile. Mean and deviation
//! do not depend on it.

use std::collections::BTreeMap;

/// The number of buckets of a histogram; the last one holds the longest time of 64 bits.
pub const BUCKETS: u32 = 976;

/// The times of the executions of a query, in nanoseconds.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Times {
    /// The number of executions.
    pub count: u64,
    /// The sum of their times.
    pub sum: u64,
    /// The sum of the squares of their times.
    pub squares: f64,
    /// The number of executions for each bucket that is not empty.
    pub buckets: BTreeMap<u32, u64>,
}

impl Times {
    /// Adds an execution.
    pub fn add(&mut self, time: u64) {
        let shift = 59u32.saturating_sub(time.leading_zeros());
        let bucket = shift * 16 + (time >> shift) as u32;
        let one = Times {
            count: 1,
            sum: time,
            squares: time as f64 * time as f64,
            buckets: BTreeMap::from([(bucket, 1)]),
        };
        self.merge(&one);
    }

    /// Adds the executions of other runs.
    pub fn merge(&mut self, other: &Times) {
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        self.squares += other.squares;
        for (&bucket, &count) in &other.buckets {
            let sum = self.buckets.entry(bucket).or_default();
            *sum = sum.saturating_add(count);
        }
    }

    /// Returns the mean time; `None` without executions, as the other functions do.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Returns the standard deviation.
    pub fn deviation(&self) -> Option<f64> {
        let mean = self.mean()?;
        Some((self.squares / self.count as f64 - mean * mean).max(0.0).sqrt())
    }

    /// Returns the 5th percentile: the time that 5 % of the executions do not exceed.
    pub fn p5(&self) -> Option<f64> {
        let rank = self.count as f64 * 0.05;
        let mut below = 0.0;
        for (&bucket, &count) in &self.buckets {
            let count = count as f64;
            if below + count >= rank {
                let (start, width) = range(bucket);
                return Some(start + width * (rank - below) / count);
            }
            below += count;
        }
        None
    }

    /// Returns the shortest time, to the width of a bucket.
    pub fn shortest(&self) -> Option<f64> {
        self.buckets.first_key_value().map(|(&bucket, _)| range(bucket).0)
    }

    /// Returns true if the histogram has as many executions as the count says.
    pub(super) fn is_consistent(&self) -> bool {
        let sum = self.buckets.values().try_fold(0u64, |sum, &count| sum.checked_add(count));
        sum == Some(self.count)
            && self.buckets.iter().all(|(&bucket, &count)| bucket < BUCKETS && count > 0)
            && self.squares >= 0.0
            && self.squares.is_finite()
    }
}

/// Returns the smallest time of a bucket, and the bucket's width.
pub(super) fn range(bucket: u32) -> (f64, f64) {
    let shift = (bucket / 16).saturating_sub(1);
    let width = f64::from(shift).exp2();
    (f64::from(bucket - shift * 16) * width, width)
}
