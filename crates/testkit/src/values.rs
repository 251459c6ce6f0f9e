//! The lengths of values.

use crate::{lengths::Limits, random::mix};

/// A kind of values, by their lengths.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Values {
    /// No bytes.
    Empty,
    /// 8 to 40 bytes.
    Short,
    /// 60 to 260 bytes.
    Medium,
    /// The maximum length that stays in the page; one in eight is one byte longer.
    Inline,
    /// Up to three pages, stored outside the tree.
    Overflow,
    /// Growing from nothing to beyond the page and shrinking again, insertion by insertion.
    Waves,
    /// All of these.
    Mixed,
}

/// The number of insertions in a wave.
const WAVE: u64 = 24;
/// The longest value of [`Values::Overflow`].
const OVERFLOW_MAX: usize = 20_000;

impl Values {
    /// All kinds.
    pub const ALL: [Values; 7] = [
        Values::Empty,
        Values::Short,
        Values::Medium,
        Values::Inline,
        Values::Overflow,
        Values::Waves,
        Values::Mixed,
    ];

    /// The name of the kind in summaries.
    pub fn name(self) -> &'static str {
        match self {
            Values::Empty => "empty",
            Values::Short => "small",
            Values::Medium => "medium",
            Values::Inline => "inline",
            Values::Overflow => "overflow",
            Values::Waves => "waves",
            Values::Mixed => "mixed",
        }
    }

    /// The length of the `n`-th value, beside a key of `key_len` bytes.
    pub(crate) fn len(self, n: u64, seed: u64, key_len: usize, limits: Limits) -> usize {
        let chance = mix(n.wrapping_mul(3) ^ seed);
        let within = |low: usize, high: usize| low + (chance >> 8) as usize % (high - low + 1);
        let inline = limits.inline_len_max - key_len;
        match self {
            Values::Empty => 0,
            Values::Short => within(8, 40),
            Values::Medium => within(60, 260),
            Values::Inline => inline + usize::from(chance.is_multiple_of(8)),
            Values::Overflow => within(inline + 1, OVERFLOW_MAX),
            Values::Waves => {
                let (step, top) = (n % WAVE, WAVE / 2);
                let height = if step <= top { step } else { WAVE - step } as usize;
                // The longest value of a wave has one and a half times the length that stays in the
                // page.
                inline * height * 3 / (top as usize * 2)
            }
            Values::Mixed => match chance % 32 {
                0..4 => 0,
                4..16 => within(8, 40),
                16..24 => within(60, 260),
                24..31 => within(inline / 2, inline),
                _ => within(inline + 1, OVERFLOW_MAX),
            },
        }
    }
}
