//! Key-range lock modes: a lock covers a key, the gap after it, or both.
//!
//! Invariants:
//! - RANGE-MODE-1. A mode is two independent parts, key and gap, and every operation works part by
//!   part.
//! - RANGE-MODE-2. A part is coded in two bits so that the supremum is `|`, the infimum `&` and
//!   "conflicts" two `&`s: bit 0 "anything at all", bit 1 "exclusive". `N = 00`, `S = 01`,
//!   `X = 11`.
//!
//! Algorithm: "Efficient Locking for Databases", section 2.2, table 2 (after Graefe's orthogonal
//! key-range modes). The gap of key `A` is the open interval up to the next key (prior-key
//! locking). The paper prints a 9 × 9 table; here it is only the test oracle of the rule.
//!
//! The fourth code of a part, `10`, is compatible with itself and with `N`, and conflicts with `S`
//! and `X`. No range lock uses it; with it the same algebra also covers intent locks that are
//! stored in the lock table ([`RangeMode::of_intent`]).

use std::fmt;

/// One of the two parts of a mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Part {
    /// Not locked.
    N = 0b00,
    /// Shared.
    S = 0b01,
    /// Exclusive.
    X = 0b11,
}

/// A key-range lock mode: a part for the key and a part for the gap up to the next key.
///
/// Names put the key first: `SX` locks the key shared and the gap exclusively.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct RangeMode(pub(crate) u8);

/// Bit 0 of both parts, "anything at all" (RANGE-MODE-2).
const ANY: u8 = 0b0101;

impl RangeMode {
    /// Nothing.
    pub const NN: RangeMode = RangeMode::new(Part::N, Part::N);
    /// Key shared.
    pub const SN: RangeMode = RangeMode::new(Part::S, Part::N);
    /// Key exclusive.
    pub const XN: RangeMode = RangeMode::new(Part::X, Part::N);
    /// Gap shared.
    pub const NS: RangeMode = RangeMode::new(Part::N, Part::S);
    /// Gap exclusive.
    pub const NX: RangeMode = RangeMode::new(Part::N, Part::X);
    /// Key and gap shared.
    pub const SS: RangeMode = RangeMode::new(Part::S, Part::S);
    /// Key and gap exclusive.
    pub const XX: RangeMode = RangeMode::new(Part::X, Part::X);
    /// Key shared, gap exclusive.
    pub const SX: RangeMode = RangeMode::new(Part::S, Part::X);
    /// Key exclusive, gap shared.
    pub const XS: RangeMode = RangeMode::new(Part::X, Part::S);
    /// Another name of [`RangeMode::SS`].
    pub const S: RangeMode = RangeMode::SS;
    /// Another name of [`RangeMode::XX`].
    pub const X: RangeMode = RangeMode::XX;

    /// Returns the mode with these two parts.
    #[inline]
    pub const fn new(key: Part, gap: Part) -> RangeMode {
        RangeMode(key as u8 | (gap as u8) << 2)
    }

    /// Returns true if the mode's code has this bit, from 0 to 3. A supremum has the bits of both
    /// modes.
    #[inline]
    pub(crate) const fn has_bit(self, bit: usize) -> bool {
        self.0 & 1 << bit != 0
    }

    /// Returns the mode with these bits.
    pub(crate) fn of_bits(has: impl Fn(usize) -> bool) -> RangeMode {
        RangeMode((0..4).map(|bit| u8::from(has(bit)) << bit).sum())
    }

    /// Returns the key part.
    pub const fn key(self) -> Part {
        Self::part(self.0)
    }

    /// Returns the gap part.
    pub const fn gap(self) -> Part {
        Self::part(self.0 >> 2)
    }

    const fn part(bits: u8) -> Part {
        match bits & 0b11 {
            0b00 => Part::N,
            0b01 => Part::S,
            _ => Part::X,
        }
    }

    /// Returns true if two owners may hold these modes on one key at the same time.
    #[inline]
    pub const fn compatible(self, other: RangeMode) -> bool {
        // In each part: one is exclusive where the other is anything at all (RANGE-MODE-1,
        // RANGE-MODE-2).
        let (a, b) = (self.0, other.0);
        ((a >> 1) & b | (b >> 1) & a) & ANY == 0
    }

    /// Returns the weakest mode that is as strong as both.
    #[inline]
    pub const fn supremum(self, other: RangeMode) -> RangeMode {
        RangeMode(self.0 | other.0)
    }

    /// Returns the strongest mode that is as weak as both.
    #[inline]
    pub const fn infimum(self, other: RangeMode) -> RangeMode {
        RangeMode(self.0 & other.0)
    }

    /// Returns true if this mode covers `other`.
    #[inline]
    pub const fn covers(self, other: RangeMode) -> bool {
        self.0 | other.0 == self.0
    }

    /// Returns true if the mode locks nothing.
    #[inline]
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Returns true if a part is exclusive: then the owner may have changed what the lock covers,
    /// and the release at commit leaves a tag.
    #[inline]
    pub const fn is_exclusive(self) -> bool {
        self.0 & !ANY != 0
    }

    /// Returns the exclusive parts only: those that stay when the shared ones are released early.
    pub const fn exclusive_part(self) -> RangeMode {
        let exclusive = (self.0 >> 1) & ANY;
        RangeMode(exclusive | exclusive << 1)
    }
}

impl RangeMode {
    /// Returns the name: the letters of key part and gap part.
    pub const fn name(self) -> &'static str {
        const NAMES: [[&str; 3]; 3] = [["NN", "NS", "NX"], ["SN", "SS", "SX"], ["XN", "XS", "XX"]];
        // N = 0, S = 1, X = 3 (RANGE-MODE-2): half of it, rounded up, is 0, 1, 2.
        NAMES[(self.key() as usize).div_ceil(2)][(self.gap() as usize).div_ceil(2)]
    }
}

impl fmt::Debug for RangeMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::IntentMode;

    /// Rows and columns of the paper's table 2, in its order.
    const MODES: [(&str, RangeMode); 9] = [
        ("N", RangeMode::NN),
        ("S", RangeMode::SS),
        ("X", RangeMode::XX),
        ("NS", RangeMode::NS),
        ("NX", RangeMode::NX),
        ("SN", RangeMode::SN),
        ("SX", RangeMode::SX),
        ("XN", RangeMode::XN),
        ("XS", RangeMode::XS),
    ];

    /// The paper's table 2 as printed: the header names the columns; `+` compatible, `-` not.
    const TABLE_2: &str = "
           N S X NS NX SN SX XN XS
        N  + + + +  +  +  +  +  +
        S  + + - +  -  +  -  -  -
        X  + - - -  -  -  -  -  -
        NS + + - +  -  +  -  +  +
        NX + - - -  -  +  -  +  -
        SN + + - +  +  +  +  -  -
        SX + - - -  -  +  -  -  -
        XN + - - +  +  -  -  -  -
        XS + - - +  -  -  -  -  -
    ";

    fn mode(name: &str) -> RangeMode {
        MODES.iter().find(|(n, _)| *n == name).expect("a mode of the table").1
    }

    #[test]
    fn compatibility_equals_the_papers_table() {
        let mut lines = TABLE_2.lines().map(str::trim).filter(|line| !line.is_empty());
        let columns: Vec<_> = lines.next().unwrap().split_whitespace().map(mode).collect();
        let mut pairs = 0;
        for line in lines {
            let mut words = line.split_whitespace();
            let row = mode(words.next().unwrap());
            for (column, word) in columns.iter().zip(words) {
                assert_eq!(row.compatible(*column), word == "+", "{row:?} and {column:?}");
                assert_eq!(row.compatible(*column), column.compatible(row));
                pairs += 1;
            }
        }
        assert_eq!(pairs, 81);
    }

    #[test]
    fn supremum_is_the_least_upper_bound() {
        for (_, a) in MODES {
            for (_, b) in MODES {
                let sup = a.supremum(b);
                let inf = a.infimum(b);
                assert!(sup.covers(a) && sup.covers(b) && a.covers(inf) && b.covers(inf));
                for (_, c) in MODES {
                    if c.covers(a) && c.covers(b) {
                        assert!(c.covers(sup));
                    }
                    // A mode conflicts with the supremum if and only if it conflicts with one of
                    // the two.
                    assert_eq!(c.compatible(sup), c.compatible(a) && c.compatible(b));
                }
            }
        }
    }

    #[test]
    fn intent_modes_keep_their_algebra_in_the_lock_table() {
        let code = RangeMode::of_intent;
        for a in IntentMode::ALL {
            assert!(!code(a).is_none());
            for b in IntentMode::ALL {
                assert_eq!(code(a).compatible(code(b)), a.compatible(b), "{a:?} {b:?}");
                assert_eq!(code(a).supremum(code(b)), code(a.supremum(b)), "{a:?} {b:?}");
                assert_eq!(code(a).covers(code(b)), a.covers(b), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn parts_survive_the_coding() {
        for key in [Part::N, Part::S, Part::X] {
            for gap in [Part::N, Part::S, Part::X] {
                let mode = RangeMode::new(key, gap);
                assert_eq!((mode.key(), mode.gap()), (key, gap));
                assert_eq!(mode.name(), format!("{key:?}{gap:?}"));
                assert_eq!(mode.is_exclusive(), key == Part::X || gap == Part::X);
                let only = |part| if part == Part::X { Part::X } else { Part::N };
                assert_eq!(mode.exclusive_part(), RangeMode::new(only(key), only(gap)));
            }
        }
        assert_eq!(format!("{:?}", RangeMode::SX), "SX");
    }
}
