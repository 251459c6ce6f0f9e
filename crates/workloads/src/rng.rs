//! A small, fast, seeded random number generator: xoshiro256++ seeded by SplitMix64.
//!
//! (Blackman and Vigna, "Scrambled Linear Pseudorandom Number Generators", 2021.) A workload is
//! repeatable from its seed on every machine, which a library's default generator does not promise.

/// A seeded generator. Not suitable for cryptography.
#[derive(Clone, Debug)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// A generator that always gives the same sequence for the same `seed`.
    pub fn new(seed: u64) -> Rng {
        let mut mix = seed;
        Rng { state: std::array::from_fn(|_| split_mix(&mut mix)) }
    }

    /// The generator of part `stream` of a run: independent sequences from one seed.
    pub fn stream(seed: u64, stream: u64) -> Rng {
        let mut mix = seed ^ stream.wrapping_mul(0xD605_1F35_9C8D_29A7);
        Rng::new(split_mix(&mut mix))
    }

    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.state;
        let result = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        result
    }

    /// Uniform in `0..bound`; 0 if `bound` is 0. (The bias is below 2⁻³² for bounds below 2³².)
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Uniform in `0.0 .. 1.0`.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_gives_same_sequence_and_streams_differ() {
        let take = |mut rng: Rng| (0..8).map(|_| rng.next_u64()).collect::<Vec<_>>();
        assert_eq!(take(Rng::new(7)), take(Rng::new(7)));
        assert_ne!(take(Rng::stream(7, 0)), take(Rng::stream(7, 1)));
    }

    #[test]
    fn below_stays_below_and_reaches_everything() {
        let mut rng = Rng::new(1);
        let mut seen = [false; 10];
        (0..1_000).for_each(|_| seen[rng.below(10) as usize] = true);
        assert!(seen.iter().all(|&s| s));
        assert_eq!(rng.below(0), 0);
    }

    #[test]
    fn unit_is_centred() {
        let mut rng = Rng::new(2);
        let mean = (0..20_000).map(|_| rng.unit()).sum::<f64>() / 20_000.0;
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
    }
}
