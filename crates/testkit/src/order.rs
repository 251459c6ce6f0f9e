//! The orders in which keys are inserted.
//!
//! An order maps the number of an insertion to a *place*: keys sort as their places do, whatever
//! their lengths. The lowest place is that of the empty key. Each other place has a position, which
//! becomes the digits of the key, and an index within that position, which only
//! [`Order::GrowingPrefixes`] uses.

use crate::random::mix;

/// The order of insertions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Order {
    /// Each key above the one before.
    Ascending,
    /// Each key below the one before.
    Descending,
    /// Ascending, and the oldest keys are deleted during the insertions: a queue.
    WindowUp,
    /// Descending, and the oldest keys are deleted during the insertions.
    WindowDown,
    /// From the middle to both ends in turn.
    ZigzagOut,
    /// From both ends to the middle in turn.
    ZigzagIn,
    /// Several sequences side by side, half of them ascending, half of them descending.
    Interleaved,
    /// A random group, and within each group the newest key first: an index by time.
    GroupsDescending,
    /// Groups of keys, each a prefix of the next.
    GrowingPrefixes,
    /// One key repeatedly; one in eight insertions has a new neighbouring key instead.
    OneKey,
    /// No order.
    Random,
}

/// The position of a key in the sort order.
pub(crate) type Place = u64;

/// The place of the empty key.
pub(crate) const EMPTY: Place = 0;

/// The maximum number of keys in a group of growing prefixes.
pub(crate) const PREFIXES_MAX: u64 = 16;

/// The number of sequences of [`Order::Interleaved`].
const SEQUENCES: u64 = 6;
/// The number of groups of [`Order::GroupsDescending`].
const GROUPS: u64 = 12;
/// One in this number of insertions has a new key in [`Order::OneKey`].
const NEIGHBOUR_EVERY: u64 = 8;
/// The first position of the orders that begin in the middle.
const MIDDLE: u64 = 1 << 31;
/// The distance from the middle to the ends of [`Order::ZigzagIn`].
const SPAN: u64 = 1 << 24;
/// The number of positions of a sequence, or of a group.
const REGION: u64 = 1 << 28;

impl Order {
    /// All orders.
    pub const ALL: [Order; 11] = [
        Order::Ascending,
        Order::Descending,
        Order::WindowUp,
        Order::WindowDown,
        Order::ZigzagOut,
        Order::ZigzagIn,
        Order::Interleaved,
        Order::GroupsDescending,
        Order::GrowingPrefixes,
        Order::OneKey,
        Order::Random,
    ];

    /// The name of the order in summaries.
    pub fn name(self) -> &'static str {
        match self {
            Order::Ascending => "ascending",
            Order::Descending => "descending",
            Order::WindowUp => "window-up",
            Order::WindowDown => "window-down",
            Order::ZigzagOut => "zigzag-out",
            Order::ZigzagIn => "zigzag-in",
            Order::Interleaved => "interleaved",
            Order::GroupsDescending => "groups-descending",
            Order::GrowingPrefixes => "growing-prefixes",
            Order::OneKey => "one-key",
            Order::Random => "random",
        }
    }

    /// Returns true if no key is inserted twice.
    pub fn is_distinct(self) -> bool {
        self != Order::OneKey
    }

    /// Returns true if old keys are deleted during the insertions.
    pub fn is_window(self) -> bool {
        matches!(self, Order::WindowUp | Order::WindowDown)
    }

    /// Returns the number of the insertion whose key has these digits.
    pub(crate) fn number(self, position: u32) -> u64 {
        match self {
            Order::Ascending | Order::WindowUp => u64::from(position) - MIDDLE,
            Order::Descending | Order::WindowDown => MIDDLE - u64::from(position),
            order => panic!("the keys of {order:?} do not contain their numbers"),
        }
    }

    /// The place of the `n`-th insertion, counted from 0 and below 2²⁴. `prefixes` is the number of
    /// keys in a group of growing prefixes.
    pub(crate) fn place(self, n: u64, seed: u64, prefixes: u64) -> Place {
        let position = match self {
            Order::Ascending | Order::WindowUp => MIDDLE + n,
            Order::Descending | Order::WindowDown => MIDDLE - n,
            Order::ZigzagOut => match n % 2 {
                0 => MIDDLE + n / 2,
                _ => MIDDLE - n.div_ceil(2),
            },
            Order::ZigzagIn => match n % 2 {
                0 => MIDDLE - SPAN + n / 2,
                _ => MIDDLE + SPAN - n / 2,
            },
            Order::Interleaved => {
                let (sequence, step) = (n % SEQUENCES, n / SEQUENCES);
                let start = (sequence + 1) * REGION;
                if sequence.is_multiple_of(2) { start + step } else { start - 1 - step }
            }
            Order::GroupsDescending => {
                let group = mix(n ^ seed) % GROUPS;
                (group + 1) * REGION - 1 - n
            }
            Order::GrowingPrefixes => {
                return place_of(MIDDLE + n / prefixes, n % prefixes);
            }
            Order::OneKey => match (n % NEIGHBOUR_EVERY, n / NEIGHBOUR_EVERY) {
                (7, turn) if turn % 2 == 0 => MIDDLE + 1 + turn,
                (7, turn) => MIDDLE - turn,
                _ => MIDDLE,
            },
            Order::Random => u64::from(shuffle(n as u32 ^ seed as u32)),
        };
        place_of(position, 0)
    }
}

/// Returns the place of an index within a position. Index 0 is below index 1, and the empty key
/// below everything.
fn place_of(position: u64, index: u64) -> Place {
    debug_assert!(position <= u64::from(u32::MAX) && index < PREFIXES_MAX);
    (position + 1) << 8 | index
}

/// The digits of a place that is not that of the empty key.
pub(crate) fn position_of(place: Place) -> u32 {
    ((place >> 8) - 1) as u32
}

/// The index of a place within its position.
pub(crate) fn index_of(place: Place) -> u64 {
    place & 0xFF
}

/// A permutation of all 32-bit numbers (the finalizer of MurmurHash3): each step can be undone.
fn shuffle(number: u32) -> u32 {
    let mut mixed = number;
    mixed = (mixed ^ (mixed >> 16)).wrapping_mul(0x85EB_CA6B);
    mixed = (mixed ^ (mixed >> 13)).wrapping_mul(0xC2B2_AE35);
    mixed ^ (mixed >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn places(order: Order, count: u64) -> Vec<Place> {
        (0..count).map(|n| order.place(n, 7, 10)).collect()
    }

    #[test]
    fn different_insertions_have_different_places() {
        for order in Order::ALL.into_iter().filter(|order| order.is_distinct()) {
            let different: HashSet<_> = places(order, 20_000).into_iter().collect();
            assert_eq!(different.len(), 20_000, "{order:?}");
            assert!(!different.contains(&EMPTY), "{order:?}");
        }
    }

    #[test]
    fn orders_match_their_names() {
        let rises = |order| places(order, 500).is_sorted();
        let falls = |order| places(order, 500).is_sorted_by(|a, b| a >= b);
        for order in Order::ALL {
            let up = [Order::Ascending, Order::WindowUp, Order::GrowingPrefixes].contains(&order);
            let down = [Order::Descending, Order::WindowDown].contains(&order);
            assert_eq!((rises(order), falls(order)), (up, down), "{order:?}");
        }
        let sequence = |which: u64| {
            let all = places(Order::Interleaved, 600).into_iter().zip(0..);
            let own = all.filter(move |(_, n): &(Place, u64)| n % SEQUENCES == which);
            own.map(|(place, _)| place).collect::<Vec<_>>()
        };
        assert!(sequence(2).is_sorted());
        assert!(sequence(3).is_sorted_by(|a, b| a > b));
    }

    #[test]
    fn one_key_is_most_of_its_insertions() {
        let all = places(Order::OneKey, 800);
        let most = all.iter().filter(|place| **place == all[0]).count();
        assert_eq!((most, all.iter().collect::<HashSet<_>>().len()), (700, 101));
    }
}
