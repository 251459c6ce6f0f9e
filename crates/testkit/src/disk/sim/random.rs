//! Numbers drawn from a seed.
//!
//! A draw depends on the seed and on its purpose, never on the number of earlier draws: one more
//! fault in a plan changes no other outcome of the same run.

use crate::mix;

/// The step of Weyl's sequence is that of SplitMix64 (Steele, Lea and Flood, *Fast Splittable
/// Pseudorandom Number Generators*, 2014).
const WEYL: u64 = 0x9E37_79B9_7F4A_7C15;

/// The random number that a disk of this seed draws as its `number`th.
pub(super) fn draw(seed: u64, number: u64) -> u64 {
    Draws::new(mix(seed ^ WEYL), number).next()
}

/// A sequence of draws.
#[derive(Clone)]
pub(super) struct Draws(u64);

impl Draws {
    /// The draws for one purpose: `subject` is an operation's or a change's number.
    pub(super) fn new(seed: u64, subject: u64) -> Draws {
        Draws(mix(seed.wrapping_add(WEYL)) ^ mix(subject.wrapping_mul(WEYL)))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(WEYL);
        mix(self.0)
    }

    /// One of `0..bound`, and 0 if the bound is 0. The bias is below bound / 2^64.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// True in `percent` of 100 cases.
    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}
