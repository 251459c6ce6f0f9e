//! The lengths of keys.

use crate::{
    order::{PREFIXES_MAX, Place, index_of},
    random::mix,
};

/// The limits of the keys and values of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The longest key, in bytes.
    pub key_len_max: usize,
    /// The longest key and value together that stay in their page.
    pub inline_len_max: usize,
}

impl Limits {
    /// The limits of pages of `node_bytes` (`docs/page-format.md`). The tests of the tree compare
    /// them with the keys and values that the engine accepts and refuses.
    pub fn of_node(node_bytes: usize) -> Limits {
        // The node's header, and the overhead of a record.
        const HEADER: usize = 56;
        const OVERHEAD: usize = 10;
        let key_len_max = ((node_bytes - 160) / 7).min(1024);
        let inline_len_max = (node_bytes - HEADER - 3 * key_len_max) / 4 - OVERHEAD;
        Limits { key_len_max, inline_len_max }
    }
}

/// A mixture of key lengths.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Lengths {
    /// A few bytes.
    Short,
    /// As long as a key may be.
    Longest,
    /// One in 16 as long as a key may be, the others short.
    SomeLongest,
    /// Neighbours are short and as long as a key may be, in turn.
    Alternating,
    /// 20 to 300 bytes.
    Uniform,
    /// Any length from the shortest to the longest.
    Any,
}

/// The number of bytes of a key that determine where it sorts: no key except the empty one is
/// shorter.
pub(crate) const DIGITS: usize = 4;
/// The longest of the short keys.
const SHORT_MAX: usize = 12;
/// The lengths of [`Lengths::Uniform`].
const UNIFORM: (usize, usize) = (20, 300);
/// One in this number of keys of [`Lengths::SomeLongest`] is long.
const LONG_ONE_IN: u64 = 16;

impl Lengths {
    /// All mixtures.
    pub const ALL: [Lengths; 6] = [
        Lengths::Short,
        Lengths::Longest,
        Lengths::SomeLongest,
        Lengths::Alternating,
        Lengths::Uniform,
        Lengths::Any,
    ];

    /// The name of the mixture in summaries.
    pub fn name(self) -> &'static str {
        match self {
            Lengths::Short => "short",
            Lengths::Longest => "longest",
            Lengths::SomeLongest => "some-longest",
            Lengths::Alternating => "alternating",
            Lengths::Uniform => "uniform",
            Lengths::Any => "any",
        }
    }

    /// The length of the key at `place`, which is not that of the empty key.
    pub(crate) fn of_place(self, place: Place, seed: u64, max: usize) -> usize {
        let chance = mix(place ^ seed);
        let within = |low: usize, high: usize| low + (chance >> 8) as usize % (high - low + 1);
        let short = within(DIGITS, SHORT_MAX.min(max));
        match self {
            Lengths::Short => short,
            Lengths::Longest => max,
            Lengths::SomeLongest if chance.is_multiple_of(LONG_ONE_IN) => max,
            Lengths::SomeLongest => short,
            Lengths::Alternating if (place >> 8).is_multiple_of(2) => max,
            Lengths::Alternating => short,
            Lengths::Uniform => within(UNIFORM.0.min(max), UNIFORM.1.min(max)),
            Lengths::Any => within(DIGITS, max),
        }
    }

    /// The length of the shortest key except the empty one.
    pub(crate) fn shortest(self, max: usize) -> usize {
        match self {
            Lengths::Longest => max,
            Lengths::Uniform => UNIFORM.0.min(max),
            _ => DIGITS,
        }
    }

    /// The number of keys in a group of growing prefixes.
    pub(crate) fn prefixes(self, max: usize) -> u64 {
        PREFIXES_MAX.min((max - DIGITS) as u64 + 1)
    }

    /// The length of a key in a group of growing prefixes: each is longer than the one before.
    pub(crate) fn of_prefix(self, place: Place, max: usize) -> usize {
        let (index, last) = (index_of(place), self.prefixes(max) - 1);
        let up_to = |longest: usize| {
            DIGITS + (longest.min(max) - DIGITS).max(last as usize) * index as usize / last as usize
        };
        let one_by_one = DIGITS + index as usize;
        match self {
            Lengths::Short => one_by_one,
            Lengths::SomeLongest if index == last => max,
            Lengths::SomeLongest => one_by_one,
            Lengths::Alternating if (place >> 8).is_multiple_of(2) => one_by_one,
            Lengths::Uniform => up_to(UNIFORM.1),
            Lengths::Longest | Lengths::Alternating | Lengths::Any => up_to(max),
        }
    }
}
