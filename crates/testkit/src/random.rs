//! Numbers from a seed: the same on every machine.
//!
//! This is the only generator of the tests and of the tools. The engine's own draws (salts, pauses
//! before a retry) and its hash functions do not use it.

/// A seeded generator (SplitMix64; Steele, Lea, Flood, OOPSLA 2014). Not for secrets.
#[derive(Clone, Debug)]
pub struct Random(u64);

/// The step of SplitMix64's Weyl sequence.
const WEYL: u64 = 0x9E37_79B9_7F4A_7C15;

/// Mixes the bits of `word` into a number that looks random. Different words give different
/// numbers.
#[inline]
pub fn mix(word: u64) -> u64 {
    let mut mixed = word;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

impl Random {
    /// A generator that always returns the same numbers for the same `seed`.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The generator of one part of a run, such as a client, a thread or an operation: the numbers
    /// of different parts are independent, and so are those of different seeds.
    pub fn stream(seed: u64, part: u64) -> Random {
        Random(mix(seed.wrapping_add(WEYL)) ^ mix(part.wrapping_mul(WEYL)))
    }

    /// Returns 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(WEYL);
        mix(self.0)
    }

    /// Returns a number, uniform in `0..bound`; 0 if `bound` is 0. The bias is below `bound / 2⁶⁴`.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns a number, uniform in `low..=high`.
    #[inline]
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// Returns a number, uniform in `0.0..1.0`.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Returns true in one of `times` cases.
    #[inline]
    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// Returns true in `percent` of 100 cases.
    #[inline]
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Returns one of the choices.
    pub fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize].clone()
    }

    /// Returns an index, drawn with a probability proportional to its weight.
    pub fn weighted(&mut self, weights: &[u32]) -> usize {
        let total = weights.iter().map(|&weight| u64::from(weight)).sum();
        let mut at = self.below(total);
        for (index, &weight) in weights.iter().enumerate() {
            match at.checked_sub(u64::from(weight)) {
                Some(rest) => at = rest,
                None => return index,
            }
        }
        0
    }

    /// Puts the items in random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_gives_same_numbers_and_streams_differ() {
        let take = |mut random: Random| (0..8).map(|_| random.next_u64()).collect::<Vec<_>>();
        assert_eq!(take(Random::new(7)), take(Random::new(7)));
        assert_ne!(take(Random::stream(7, 0)), take(Random::stream(7, 1)));
        assert_ne!(take(Random::stream(7, 0)), take(Random::stream(8, 0)));
    }

    #[test]
    fn below_stays_below_and_reaches_everything() {
        let mut random = Random::new(1);
        let mut seen = [false; 10];
        (0..1_000).for_each(|_| seen[random.below(10) as usize] = true);
        assert!(seen.iter().all(|&was_drawn| was_drawn));
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn unit_is_centred() {
        let mut random = Random::new(2);
        let mean = (0..20_000).map(|_| random.unit()).sum::<f64>() / 20_000.0;
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
    }

    #[test]
    fn weights_are_kept() {
        let mut random = Random::new(1);
        let mut counts = [0; 3];
        (0..4000).for_each(|_| counts[random.weighted(&[1, 0, 3])] += 1);
        assert_eq!(counts[1], 0);
        assert!((800..1200).contains(&counts[0]), "{counts:?}");
    }

    #[test]
    fn shuffled_items_are_the_same_in_another_order() {
        let mut numbers: Vec<u32> = (0..100).collect();
        Random::new(1).shuffle(&mut numbers);
        assert!(!numbers.is_sorted());
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..100));
    }
}
