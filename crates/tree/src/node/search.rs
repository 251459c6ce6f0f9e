//! Finding a key in a node.
//!
//! Two phases. The first is a binary search without branches over the key heads alone: one aligned
//! load and one conditional move a step, seven steps for a hundred records. The second compares
//! suffixes, and only among the slots whose head equals the key's, which is one slot in most nodes,
//! because the prefix is gone.

use std::cmp::Ordering;

use clearway_base::PageId;

use super::bytes::Bytes;
use super::layout::{FOSTER_KEY, HIGH, LOW, Slot, head_of};
use super::read::Node;

/// Where a key belongs, seen from one node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// Below the low fence: the wrong node.
    Below,
    /// In the node's own range.
    Here,
    /// In the range of the foster child.
    Foster(PageId),
    /// At or above the chain's high fence: the wrong node.
    Above,
}

impl<B: Bytes + ?Sized> Node<'_, B> {
    /// Where `key` belongs. Total: on a torn page the answer means nothing.
    #[inline]
    pub(crate) fn place(&self, key: &[u8]) -> Place {
        let (low, low_len) = self.fence(LOW);
        if self.bytes.compare(low, low_len, key) == Ordering::Greater {
            return Place::Below;
        }
        if !self.is_high_infinite() {
            let (high, high_len) = self.fence(HIGH);
            if self.bytes.compare(high, high_len, key) != Ordering::Greater {
                return Place::Above;
            }
        }
        match self.foster_for(key) {
            Some(foster) => Place::Foster(foster),
            None => Place::Here,
        }
    }

    /// The foster child if `key` is at or above the foster key: all a descent has to ask that came
    /// through a pointer it has validated, which already proves the fences.
    #[inline]
    pub(crate) fn foster_for(&self, key: &[u8]) -> Option<PageId> {
        let foster = self.foster()?;
        let (at, len) = self.fence(FOSTER_KEY);
        (self.bytes.compare(at, len, key) != Ordering::Greater).then_some(foster)
    }

    /// The slot of `key`, or the slot where it would be inserted. `key` must be in the fences for
    /// the answer to mean anything; the answer is at most [`count`](Node::count) in any case.
    #[inline]
    pub(crate) fn find(&self, key: &[u8]) -> Result<usize, usize> {
        let suffix = key.get(self.prefix_len()..).unwrap_or(&[]);
        self.find_suffix(suffix, self.count())
    }

    fn find_suffix(&self, suffix: &[u8], count: usize) -> Result<usize, usize> {
        let head = head_of(suffix);
        let first = self.first_with_head(head, count);
        if first == count {
            return Err(count);
        }
        let slot = self.slot(first);
        if slot.head() != head {
            return Err(first);
        }
        match self.compare_tied(slot, suffix) {
            Ordering::Equal => Ok(first),
            Ordering::Greater => Err(first),
            Ordering::Less => self.find_tied(head, suffix, first + 1, count),
        }
    }

    /// The first slot whose head is at least `head`. At most 10 steps, since the range halves.
    #[inline]
    fn first_with_head(&self, head: u32, count: usize) -> usize {
        if count == 0 {
            return 0;
        }
        let (mut base, mut size) = (0, count);
        while size > 1 {
            let half = size / 2;
            // Everything up to `base + half - 1` is known to be lower if this slot is.
            base += if self.slot(base + half - 1).head() < head { half } else { 0 };
            size -= half;
        }
        base + usize::from(self.slot(base).head() < head)
    }

    /// Binary search by head and suffix in `lo..hi`: for nodes in which many heads are the same.
    fn find_tied(
        &self,
        head: u32,
        suffix: &[u8],
        mut lo: usize,
        mut hi: usize,
    ) -> Result<usize, usize> {
        while lo < hi {
            let middle = lo + (hi - lo) / 2;
            let slot = self.slot(middle);
            let order = match slot.head().cmp(&head) {
                Ordering::Equal => self.compare_tied(slot, suffix),
                unequal => unequal,
            };
            match order {
                Ordering::Equal => return Ok(middle),
                Ordering::Less => lo = middle + 1,
                Ordering::Greater => hi = middle,
            }
        }
        Err(lo)
    }

    /// Orders the suffix of `slot` against `suffix`, given that their heads are equal. If either is
    /// no longer than a head, it is a prefix of the other (pads are zeros), so lengths decide.
    #[inline]
    fn compare_tied(&self, slot: Slot, suffix: &[u8]) -> Ordering {
        let len = slot.suffix_len();
        if len <= 4 || suffix.len() <= 4 {
            return len.cmp(&suffix.len());
        }
        self.bytes.compare(slot.suffix_at() + 4, len - 4, &suffix[4..])
    }

    /// Orders the key at `slot` against `key`, which must start with the node's prefix.
    pub(crate) fn compare_key(&self, slot: usize, key: &[u8]) -> Ordering {
        let suffix = key.get(self.prefix_len()..).unwrap_or(&[]);
        let slot = self.slot(slot);
        self.bytes.compare(slot.suffix_at(), slot.suffix_len(), suffix)
    }

    /// The slot and child of a branch under which `key` lies. With no slots at all, which only a
    /// torn page has, the child is [`PageId::NONE`].
    #[inline]
    pub(crate) fn child_for(&self, key: &[u8]) -> (usize, PageId) {
        let slot = match self.find(key) {
            Ok(slot) => slot,
            Err(slot) => slot.saturating_sub(1),
        };
        if slot >= self.count() {
            return (slot, PageId::NONE);
        }
        (slot, self.child(slot))
    }
}
