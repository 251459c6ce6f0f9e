//! Where a full node is split, and whether two nodes fit in one.
//!
//! Which slots are possible
//! : A split at slot `s` makes the full key `K` of that slot a fence of both halves: the lower
//!   half's foster key and the upper half's low fence. Either half may be the one that cannot take
//!   it, since `K` may be as long as a key can be. With `low`, `high`, `foster` for the lengths of
//!   the node's fences (0 where there is none), `below(s)` and `above(s)` for the bytes of the
//!   records on either side, and `C` = `node_bytes − SLOTS` for what a node holds:
//!
//! ```text
//!   lower half:  low + high + |K|    + below(s) ≤ C
//!   upper half:  |K| + high + foster + above(s) ≤ C
//! ```
//!
//! Why one is always possible
//! : Let `k` be the longest key and `R = (C − 3k) / 4`, rounded down, the bytes of the largest
//!   record with its slot and header ([`Limits`](super::Limits)). `R ≥ k + 26`: pages of
//!   8,192 bytes have `k` = 1,024 and `R` = 1,266, and smaller ones have `C ≥ 7k + 104`. A
//!   branch's record, `k + 14` bytes, and a ghost that stands for a fence, `k + 10` bytes, are no
//!   larger than `R`.
//!
//!   A node without room for a record of at most `R` bytes holds records of
//!   `S > C − 3k − R ≥ 3R` bytes. As one record has at most `R` bytes, some slot `s` has
//!   `|below(s) − S/2| ≤ R/2`, so `below(s)` and `above(s)` are both at least `(S − R) / 2 ≥ R`,
//!   which is at least `k`. The node fits as it is, and each half gains at most `k` bytes, for its
//!   new fence, and loses at least `k`, for the other half's records: both fit. (Prefixes only
//!   grow in a split, and records only shrink by that.)
//!
//! How many splits make room
//! : The half that owns the new record has at most `(S + R) / 2` bytes of records after a split
//!   in the middle, and one that still has no room has more than `3R`. From `S ≤ C`, two splits
//!   lead to at most `(C + 3R) / 4 = (3k + 4R + 3 + 3R) / 4`, which is less than `3R`. Splits
//!   elsewhere, which the pattern of insertions asks for, only take records away.
//!
//! What insertions' order says
//! : A new record is placed directly below the heap's lowest byte in use, and a split lays out both
//!   halves in key order. So among the records that came after the last split, the one at the lower
//!   offset is the newer one: whether keys rise or fall at the place of an insertion can be read
//!   from the node, and costs insertions nothing. (Compaction and growing values blur it, which
//!   costs some space.) For the field's usual way, a counter in the page header, see InnoDB's
//!   `PAGE_N_DIRECTION`; for the problem, PostgreSQL's `_bt_afternewitemoff`.

use super::build::{Builder, Shape, common_len};
use super::layout::RECORD_OVERHEAD;
use super::read::Node;
use super::write::absorbed;

/// The divisor of the records' bytes for the part that an insertion at a node's very end leaves to
/// the upper half, or at its very start to the lower half: a tree that grows at one end is about 94
/// % full.
const END_PART: usize = 16;

/// One side of an insertion is so small that the split may leave it a node of its own if it has at
/// most this part (one eighth) of the records' bytes.
const SMALL_PART: usize = 8;

/// A split assumes a rising (falling) sequence if this number of adjacent records directly below
/// (above) the insertion were inserted in rising (falling) order of their keys, each of them later
/// than the record on the other side of the insertion. By chance that happens once in 24 times:
/// four random insertions came in this one order. One record less is enough if the other side is
/// small ([`SMALL_PART`]).
const RUN_MIN: usize = 3;

/// The rule by which a split divides a node's records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Division {
    /// As suits the insertions that came before, if they were in key order: those that follow fill
    /// one half, and the other is as full as it will ever be.
    ByPattern,
    /// In halves of about the same size.
    Even,
}

impl Node<'_, [u8]> {
    /// The slot of the first record that a split should move to the foster child, given the slot
    /// at which the record that found no room would be inserted: of the slots that leave two nodes
    /// that fit, the one that comes nearest to the wanted division. `None` if there is none, which
    /// only a damaged node has (see the module).
    pub(crate) fn split_slot(&self, insert_at: usize, division: Division) -> Option<usize> {
        let total = self.bytes_of(0, self.count());
        let target = match division {
            Division::ByPattern => self.pattern_target(insert_at, total),
            Division::Even => total / 2,
        };
        let mut best: Option<(usize, usize)> = None;
        let mut below = 0;
        for slot in 1..self.count() {
            below += self.record_bytes(slot - 1);
            let distance = below.abs_diff(target);
            let is_nearer = best.is_none_or(|(nearest, _)| distance < nearest);
            if is_nearer && self.halves_fit(slot, below, total - below) {
                best = Some((distance, slot));
            }
        }
        best.map(|(_, slot)| slot)
    }

    /// Whether both halves of a split at `slot` fit; `below` and `above` are the bytes of their
    /// records as they stand here.
    fn halves_fit(&self, slot: usize, below: usize, above: usize) -> bool {
        let shape = Shape { foster: None, ..Shape::of(*self) };
        let capacity = self.used_bytes() + self.free_bytes();
        let key_len = self.prefix_len() + self.suffix(slot).len();
        if shape.fence_bytes() + key_len + below > capacity {
            return false;
        }
        let high_len = shape.high.map_or(0, <[u8]>::len);
        let foster_len = self.foster_link().map_or(0, |(_, key)| key.len());
        let upper = key_len + high_len + foster_len + above;
        // The upper half's prefix may be longer, which makes each of its records shorter.
        let gained = |high: &[u8]| {
            let prefix_len = self.prefix_len();
            let rest = high.get(prefix_len..).unwrap_or(&[]);
            common_len(self.suffix(slot), rest) * (self.count() - slot)
        };
        upper <= capacity || upper - shape.high.map_or(0, gained).min(above) <= capacity
    }

    /// The number of bytes of records that the lower half should keep, if insertions will go on as
    /// they did before the one at `insert_at`.
    fn pattern_target(&self, insert_at: usize, total: usize) -> usize {
        let end_part = total / END_PART;
        if insert_at >= self.count() {
            return total - end_part;
        }
        let below = self.bytes_of(0, insert_at);
        // A branch's first record is its low fence: nothing is ever inserted before it.
        if insert_at <= self.first_searched() {
            return below.max(end_part);
        }
        let above = total - below;
        let (rises, falls) = self.direction(insert_at, (below, above));
        // A split at slot `insert_at` (`below`) leaves the sequence's next keys to the lower half,
        // one at slot `insert_at - 1` (`keep_last`) to the upper half.
        let keep_last = below - self.record_bytes(insert_at - 1);
        match (rises, falls) {
            (false, false) => total / 2,
            (true, false) => below,
            (false, true) if below <= total / SMALL_PART => below,
            (false, true) => keep_last,
            // From both sides towards the middle: the larger side is done.
            (true, true) if above >= below => below,
            (true, true) => keep_last,
        }
    }

    /// Whether the keys around an insertion rose up to it, or fell down to it; `below` and `above`
    /// are the bytes on its two sides.
    fn direction(&self, insert_at: usize, (below, above): (usize, usize)) -> (bool, bool) {
        let total = below + above;
        let min_at = |side| if side <= total / SMALL_PART { RUN_MIN - 1 } else { RUN_MIN };
        let rises = self.rising_run(insert_at, self.age(insert_at)) >= min_at(above);
        let falls = self.falling_run(insert_at, self.age(insert_at - 1)) >= min_at(below);
        if rises || falls {
            return (rises, falls);
        }
        // Two sequences that meet here: the records directly below were inserted in rising order of
        // their keys, those directly above in falling order, and neither sequence was inserted
        // entirely after the other.
        let oldest = (insert_at..self.count()).map(|slot| self.age(slot)).max().unwrap_or(0);
        let meet = self.rising_run(insert_at, oldest) >= RUN_MIN
            && self.falling_run(insert_at, usize::MAX) >= RUN_MIN;
        (meet, meet)
    }

    /// The number of records right below `slot` that came in rising order, each after the age
    /// `than`.
    fn rising_run(&self, slot: usize, than: usize) -> usize {
        let in_order = |at: usize| at + 1 == slot || self.age(at) > self.age(at + 1);
        (0..slot).rev().take_while(|&at| self.age(at) < than && in_order(at)).count()
    }

    /// The number of records from `slot` on that came in falling order, each after the age `than`.
    fn falling_run(&self, slot: usize, than: usize) -> usize {
        let in_order = |at: usize| at == slot || self.age(at) > self.age(at - 1);
        (slot..self.count()).take_while(|&at| self.age(at) < than && in_order(at)).count()
    }

    /// The older of two records has the greater age, unless both came before the last split: then
    /// the one with the smaller key has.
    fn age(&self, slot: usize) -> usize {
        self.slot(slot).offset()
    }

    /// Replaces `image` by the image of the node that holds the records from `slot` on: the upper
    /// half of a split. Its low fence is the full key at `slot`, its high fence and foster child
    /// are this node's, and its prefix may be longer. `false` if there is no such record.
    pub(crate) fn upper_image_into(&self, slot: usize, image: &mut Vec<u8>) -> bool {
        if slot >= self.count() {
            return false;
        }
        let low = self.key(slot);
        self.pack(Shape { low: &low, ..Shape::of(*self) }, slot, image)
    }

    /// Replaces `image` by the image of this node, compacted.
    pub(crate) fn image_into(&self, image: &mut Vec<u8>) -> bool {
        self.pack(Shape::of(*self), 0, image)
    }

    /// The bytes in use in the node that this one becomes by absorbing `right`, its foster child
    /// or right neighbour; `None` if that has no room for both. Costs as much as doing it.
    pub(crate) fn used_absorbed(&self, right: Node<'_, [u8]>, keep_fence: bool) -> Option<usize> {
        absorbed(*self, right, keep_fence).map(|built| built.used_bytes())
    }

    /// Bytes of the node's fences.
    pub(crate) fn fence_bytes(&self) -> usize {
        Shape::of(*self).fence_bytes()
    }

    fn pack(&self, shape: Shape<'_>, from: usize, image: &mut Vec<u8>) -> bool {
        let Some(mut builder) = Builder::new(shape) else { return false };
        if builder.push_all(*self, from..self.count()).is_none() {
            return false;
        }
        builder.finish_image(image);
        true
    }

    /// Bytes of the records at `from..to`, slots included.
    fn bytes_of(&self, from: usize, to: usize) -> usize {
        (from..to).map(|slot| self.record_bytes(slot)).sum()
    }

    fn record_bytes(&self, slot: usize) -> usize {
        RECORD_OVERHEAD + self.suffix(slot).len() + self.value_len(slot)
    }
}

#[cfg(test)]
mod tests;
