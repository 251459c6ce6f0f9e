//! Log-linear histograms: a fixed number of buckets to each power of two. One array, no allocation
//! after creation, cheap enough for every commit.

/// A histogram whose quantiles are too high by less than 3.2 %: 32 buckets to each power of two, 15
/// KiB.
pub type Histogram = LogHistogram<5>;

/// A histogram whose quantiles are too high by less than a factor of two: one bucket to each power
/// of two, 520 bytes.
pub type CoarseHistogram = LogHistogram<0>;

/// Counts of values, for percentiles, in 2^`SUB_BITS` buckets to each power of two. Values may have
/// any unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogHistogram<const SUB_BITS: u32> {
    counts: Box<[u64]>,
    total: u64,
    sum: u128,
    max: u64,
}

impl<const SUB_BITS: u32> Default for LogHistogram<SUB_BITS> {
    fn default() -> LogHistogram<SUB_BITS> {
        LogHistogram::new()
    }
}

impl<const SUB_BITS: u32> LogHistogram<SUB_BITS> {
    /// The number of buckets of one power of two.
    const SUBS: u64 = 1 << SUB_BITS;
    /// Values below `SUBS` have a bucket each; each power of two above has `SUBS` buckets.
    const BUCKETS: usize = ((64 - SUB_BITS as usize) + 1) << SUB_BITS;

    /// Creates an empty histogram.
    pub fn new() -> LogHistogram<SUB_BITS> {
        LogHistogram { counts: vec![0; Self::BUCKETS].into(), total: 0, sum: 0, max: 0 }
    }

    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.counts[Self::bucket(value)] += 1;
        self.total += 1;
        self.sum += u128::from(value);
        self.max = self.max.max(value);
    }

    /// Adds all counts of `other`.
    pub fn merge(&mut self, other: &LogHistogram<SUB_BITS>) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.total += other.total;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// Returns an upper bound of the `quantile`-quantile (0 to 1) of the values: the largest value
    /// of the bucket that contains the quantile, or the largest recorded value if that is lower. 0
    /// if nothing was recorded.
    pub fn quantile(&self, quantile: f64) -> u64 {
        let wanted = ((quantile * self.total as f64).ceil() as u64).clamp(1, self.total.max(1));
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return Self::upper(index).min(self.max);
            }
        }
        self.max
    }

    /// Returns the number of values recorded.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// Returns the sum of the values.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Returns the largest value; 0 if nothing was recorded.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Returns the standard deviation, from the middles of the buckets; 0 if nothing was recorded.
    pub fn deviation(&self) -> f64 {
        let mean = self.mean();
        let squares = |(index, &count): (usize, &u64)| {
            let lower = if index == 0 { 0 } else { Self::upper(index - 1) + 1 };
            let middle = lower as f64 + (Self::upper(index) - lower) as f64 / 2.0;
            count as f64 * (middle - mean).powi(2)
        };
        let sum: f64 = self.counts.iter().enumerate().filter(|(_, c)| **c > 0).map(squares).sum();
        (sum / self.total.max(1) as f64).sqrt()
    }

    /// Returns the mean; 0 if nothing was recorded.
    pub fn mean(&self) -> f64 {
        if self.total == 0 { 0.0 } else { self.sum as f64 / self.total as f64 }
    }

    /// Returns the bucket of a value: its leading one's position, then the next `SUB_BITS` bits.
    #[inline]
    fn bucket(value: u64) -> usize {
        if value < Self::SUBS {
            return value as usize;
        }
        let power = 63 - value.leading_zeros();
        let sub = (value >> (power - SUB_BITS)) - Self::SUBS;
        ((u64::from(power - SUB_BITS) + 1) * Self::SUBS + sub) as usize
    }

    /// Returns the largest value of a bucket.
    fn upper(index: usize) -> u64 {
        let (row, sub) = (index as u64 / Self::SUBS, index as u64 % Self::SUBS);
        if row == 0 {
            return sub;
        }
        let shift = (row - 1) as u32;
        ((Self::SUBS + sub) << shift) + ((1u64 << shift) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_falls_into_its_own_bucket() {
        check_buckets::<5>();
        check_buckets::<0>();
    }

    fn check_buckets<const SUB_BITS: u32>() {
        let mut values: Vec<u64> = (0..64).flat_map(|p| [1u64 << p, (1u64 << p) - 1]).collect();
        values.extend([u64::MAX, 33, 1_000_003]);
        for value in values {
            let index = LogHistogram::<SUB_BITS>::bucket(value);
            let upper = LogHistogram::<SUB_BITS>::upper;
            assert!(value <= upper(index), "{value}");
            assert!(index == 0 || value > upper(index - 1), "{value}");
            assert!(upper(index) - value <= (value >> SUB_BITS).saturating_add(1), "{value}");
            LogHistogram::<SUB_BITS>::new().record(value);
        }
    }

    #[test]
    fn quantiles_of_a_ramp_are_close() {
        let mut histogram = Histogram::new();
        (1..=10_000).for_each(|v| histogram.record(v));
        for (quantile, exact) in [(0.5, 5_000.0), (0.99, 9_900.0), (1.0, 10_000.0)] {
            let got = histogram.quantile(quantile) as f64;
            assert!((got - exact).abs() / exact < 0.035, "{quantile}: {got}");
        }
        assert_eq!((histogram.max(), histogram.count()), (10_000, 10_000));
        assert!((histogram.mean() - 5_000.5).abs() < 0.01);
        assert!((histogram.deviation() - 2_886.75).abs() < 10.0, "{}", histogram.deviation());
        assert_eq!(Histogram::new().deviation(), 0.0);
    }

    #[test]
    fn merged_histograms_count_together() {
        let (mut a, mut b) = (Histogram::new(), Histogram::new());
        a.record(10);
        b.record(1_000);
        a.merge(&b);
        assert_eq!((a.count(), a.max(), a.quantile(0.5)), (2, 1_000, 10));
        assert_eq!(Histogram::new().quantile(0.99), 0);
    }
}
