//! A pattern: the order in which keys are inserted and deleted, and the bytes of keys and values.

use std::fmt;

use crate::{
    lengths::{DIGITS, Lengths, Limits},
    order::{EMPTY, Order, Place, index_of, position_of},
    random::{Random, mix},
    steps::{Removal, Steps},
    values::Values,
};

/// A pattern of insertions and deletions; see the module. Every key and value follows from its
/// fields alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pattern {
    /// The order in which keys are inserted.
    pub order: Order,
    /// The lengths of keys.
    pub lengths: Lengths,
    /// The lengths of values.
    pub values: Values,
    /// The deletions that follow the insertions.
    pub removal: Removal,
    /// True if the first key is the empty one.
    pub has_empty_key: bool,
    /// True if keys begin with as many equal bytes as their lengths allow, so that nodes have long
    /// prefixes in common.
    pub has_long_prefix: bool,
    /// The seed of the bytes that no other field determines.
    pub seed: u64,
    /// The limits of the table.
    pub limits: Limits,
}

/// The byte between the digits of keys that have a long prefix, and of growing prefixes.
const FILLER: u8 = b'x';

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Pattern { order, lengths, values, removal, .. } = self;
        let (order, lengths, values) = (order.name(), lengths.name(), values.name());
        write!(f, "{order}/{lengths}/{values}/{}", removal.name())
    }
}

impl Pattern {
    /// Draws a pattern, with equal probability for each choice.
    pub fn draw(random: &mut Random, limits: Limits) -> Pattern {
        let order = random.pick(&Order::ALL);
        Pattern::with_order(order, random, limits)
    }

    /// Draws everything but the order. For a lane of few cases, which takes the orders in turn.
    pub fn with_order(order: Order, random: &mut Random, limits: Limits) -> Pattern {
        Pattern {
            order,
            lengths: random.pick(&Lengths::ALL),
            values: random.pick(&Values::ALL),
            removal: random.pick(&Removal::ALL),
            has_empty_key: random.one_in(4),
            has_long_prefix: random.one_in(3),
            seed: random.next_u64(),
            limits,
        }
    }

    /// Returns a pattern for every order with every mixture of lengths; the rest is drawn.
    pub fn all(random: &mut Random, limits: Limits) -> Vec<Pattern> {
        let cells = Order::ALL.into_iter().flat_map(|o| Lengths::ALL.map(|lengths| (o, lengths)));
        let pattern = |(order, lengths)| {
            let drawn = Pattern::with_order(order, random, limits);
            Pattern { lengths, ..drawn }
        };
        cells.map(pattern).collect()
    }

    /// The key of the `n`-th insertion, counted from 0 and below 2²⁴. Distinct orders never repeat
    /// a key ([`Order::is_distinct`]).
    pub fn key(&self, n: u64) -> Vec<u8> {
        self.key_at(self.place(n))
    }

    /// The number of the insertion that a key belongs to, in an ascending or a descending order.
    ///
    /// # Panics
    /// If the key does not belong to the pattern, or if the pattern has another order.
    pub fn number(&self, key: &[u8]) -> u64 {
        let (half, max) = (DIGITS / 2, self.limits.key_len_max);
        let low_at = match self.has_long_prefix {
            true => self.lengths.shortest(max) - half,
            false => half,
        };
        let digits = [&key[..half], &key[low_at..low_at + half]].concat();
        let position = u32::from_be_bytes(digits.try_into().expect("`DIGITS` bytes"));
        self.order.number(position)
    }

    /// The value of the `n`-th insertion.
    pub fn value(&self, n: u64) -> Vec<u8> {
        let mut value = vec![mix(n ^ self.seed) as u8; self.value_len(n)];
        let stamp = n.to_be_bytes();
        let both = value.len().min(stamp.len());
        value[..both].copy_from_slice(&stamp[stamp.len() - both..]);
        value
    }

    /// The length of the `n`-th value.
    pub fn value_len(&self, n: u64) -> usize {
        self.values.len(n, self.seed, self.key(n).len(), self.limits)
    }

    /// The name of the `n`-th table. The names have the order and the lengths of the keys. They are
    /// valid table names of at most `max` bytes; `max` is at least 10.
    pub fn table_name(&self, n: u64, max: usize) -> String {
        let place = self.place(n);
        let (position, index) = match place {
            EMPTY => (0, 0),
            place => (position_of(place), index_of(place)),
        };
        let mut name = format!("{position:08x}{index:01x}");
        let len = self.lengths.of_place(place.max(1), self.seed, max).max(name.len());
        name.extend(std::iter::repeat_n('n', len - name.len()));
        name
    }

    /// Returns a run of `count` insertions, with the deletions that belong to the pattern.
    pub fn steps(&self, count: u64) -> Steps {
        Steps::new(*self, count)
    }

    pub(crate) fn place(&self, n: u64) -> Place {
        if n == 0 && self.has_empty_key {
            return EMPTY;
        }
        self.order.place(n, self.seed, self.lengths.prefixes(self.limits.key_len_max))
    }

    pub(crate) fn key_at(&self, place: Place) -> Vec<u8> {
        if place == EMPTY {
            return Vec::new();
        }
        let (digits, max) = (position_of(place).to_be_bytes(), self.limits.key_len_max);
        if self.order == Order::GrowingPrefixes {
            let mut key = digits.to_vec();
            key.resize(self.lengths.of_prefix(place, max), FILLER);
            return key;
        }
        let mut key = Vec::with_capacity(max);
        let (high, low) = digits.split_at(DIGITS / 2);
        key.extend(high);
        if self.has_long_prefix {
            // The filler has the same length in each key, because it must not change how keys sort.
            key.resize(self.lengths.shortest(max) - low.len(), FILLER);
        }
        key.extend(low);
        let len = self.lengths.of_place(place, self.seed, max);
        let mut random = Random::new(place ^ self.seed);
        while key.len() < len {
            let some = random.next_u64().to_be_bytes();
            key.extend(&some[..some.len().min(len - key.len())]);
        }
        key
    }
}

#[cfg(test)]
mod tests;
