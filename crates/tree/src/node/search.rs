//! Finding a key in a node.
//!
//! Three phases. First the bytes that all keys of the node share are compared, once. Then the key
//! heads alone are searched, one aligned load a step: first both ends, then a guess, then the rest
//! by binary search. Last, suffixes are compared, and only among the slots whose head equals the
//! key's: one slot in most nodes, because shared bytes are in no head.
//!
//! Algorithm
//! : The guess is one step of interpolation search (Perl, Itai, Avni, CACM 1978). It is not
//!   repeated, so keys that are spread unevenly cost three loads more than a binary search.
//!
//! Measured, in instructions (callgrind, release build, 8-byte keys, 2026-11)
//! : `find` of a key that is there: leaf of 67 records 176, the same without a prefix (a tree's
//!   last leaf) 248, branch of 350 separators 253. A binary search alone: 250, 325, 358; without
//!   the skip of shared bytes, 300, 800 and 1,100.

use std::cmp::Ordering;

use clearway_base::PageId;

use super::bytes::NodeBytes;
use super::layout::{FOSTER_KEY, HIGH, LOW, NodeSlot, head_of};
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

impl<B: NodeBytes + ?Sized> Node<'_, B> {
    /// Where `key` belongs. Total: if the read races with a writer, the answer means nothing.
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

    /// The foster child if `key` is at or above the foster key. A descent that came through a
    /// pointer that it has validated needs no other check: such a pointer leads only to a node
    /// whose fences enclose the key.
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
        let found = self.search(key);
        if found == Err(1) && self.is_branch() {
            // A branch's slot 0, the low fence, is not part of the search.
            return match self.compare_key(0, key) {
                Ordering::Equal => Ok(0),
                Ordering::Greater => Err(0),
                Ordering::Less => Err(1),
            };
        }
        found
    }

    /// Whether `slot` is there and its key is `key`, prefix included.
    #[inline(always)] // the callers are where each instruction counts
    pub(crate) fn has_key_at(&self, slot: usize, key: &[u8]) -> bool {
        let Some((prefix, suffix)) = key.split_at_checked(self.prefix_len()) else { return false };
        let word = self.slot(slot);
        slot < self.count()
            && word.suffix_len() == suffix.len()
            && self.bytes.is_equal(word.suffix_at(), suffix)
            && self.bytes.is_equal(self.fence(LOW).0, prefix)
    }

    /// The search proper, over all slots of a leaf and all but the first of a branch.
    #[inline]
    fn search(&self, key: &[u8]) -> Result<usize, usize> {
        let (first, count) = (self.first_searched(), self.count());
        if first >= count {
            return Err(count);
        }
        let suffix = key.get(self.prefix_len()..).unwrap_or(&[]);
        let skip = self.head_skip();
        // Compare the bytes that all searched keys share first; any of these keys has them.
        match self.compare_skipped(self.slot(count - 1), skip, suffix) {
            Ordering::Equal => {
                let rest = suffix.get(skip..).unwrap_or(&[]);
                self.search_heads(skip, rest, first, count)
            }
            Ordering::Greater => Err(first),
            Ordering::Less => Err(count),
        }
    }

    /// Orders the `skip` bytes that all searched keys share, as `slot` has them, against the
    /// start of `suffix`.
    #[inline]
    pub(super) fn compare_skipped(&self, slot: NodeSlot, skip: usize, suffix: &[u8]) -> Ordering {
        if skip == 0 {
            return Ordering::Equal;
        }
        self.bytes.compare(slot.suffix_at(), skip, &suffix[..skip.min(suffix.len())])
    }

    /// Looks for `rest`, the key after prefix and skip, in `first..count`, which is not empty.
    #[inline]
    fn search_heads(
        &self,
        skip: usize,
        rest: &[u8],
        first: usize,
        count: usize,
    ) -> Result<usize, usize> {
        let head = head_of(rest);
        let found = self.first_with_head(head, first, count);
        if found == count {
            return Err(count);
        }
        let slot = self.slot(found);
        if slot.head() != head {
            return Err(found);
        }
        match self.compare_tied(slot, skip, rest) {
            Ordering::Equal => Ok(found),
            Ordering::Greater => Err(found),
            Ordering::Less => self.search_tied(skip, rest, found + 1, count),
        }
    }

    /// The first slot of `first..count`, which is not empty, whose head is at least `head`.
    ///
    /// A head is the upper half of its word: it is below `head` exactly if the word is below
    /// `floor`. The ends are tested first, because appending is common; then the place where the
    /// head would be if heads were spread evenly, and its neighbour, one of which is the result if
    /// the keys are consecutive numbers; then a binary search in what is left. At most `4 + 10`
    /// words are read.
    #[inline]
    fn first_with_head(&self, head: u32, first: usize, count: usize) -> usize {
        let floor = u64::from(head) << 32;
        let word = |slot: usize| self.slot(slot).0;
        let (lowest, highest) = (word(first), word(count - 1));
        if lowest >= floor {
            return first;
        }
        if highest < floor {
            return count;
        }
        // From here on `word(lo) < floor <= word(hi)`, in a node that is not torn.
        let (mut lo, mut hi) = (first, count - 1);
        // `lowest < floor <= highest`, and the lower half of `floor` is zero: the two differences
        // are `1 <= reach <= span`, so there is no division by zero and `guess <= hi`.
        let (reach, span) = (u64::from(head) - (lowest >> 32), (highest >> 32) - (lowest >> 32));
        let guess = lo + (reach * (hi - lo) as u64 / span) as usize;
        if word(guess) < floor {
            if word(guess + 1) >= floor {
                return guess + 1;
            }
            lo = guess + 1;
        } else {
            if guess > lo && word(guess - 1) < floor {
                return guess;
            }
            hi = guess;
        }
        while lo + 1 < hi {
            let middle = lo + (hi - lo) / 2;
            if word(middle) < floor { lo = middle } else { hi = middle }
        }
        hi
    }

    /// Binary search by head and rest in `lo..hi`: for nodes in which many heads are the same.
    fn search_tied(
        &self,
        skip: usize,
        rest: &[u8],
        mut lo: usize,
        mut hi: usize,
    ) -> Result<usize, usize> {
        let head = head_of(rest);
        while lo < hi {
            let middle = lo + (hi - lo) / 2;
            let slot = self.slot(middle);
            let order = match slot.head().cmp(&head) {
                Ordering::Equal => self.compare_tied(slot, skip, rest),
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

    /// Orders the key at `slot`, after prefix and skip, against `rest`, given that their heads are
    /// equal. If either is no longer than a head, it is a prefix of the other (pads are zeros), so
    /// lengths decide.
    #[inline]
    fn compare_tied(&self, slot: NodeSlot, skip: usize, rest: &[u8]) -> Ordering {
        let len = slot.suffix_len().saturating_sub(skip);
        if len <= 4 || rest.len() <= 4 {
            return len.cmp(&rest.len());
        }
        self.bytes.compare(slot.suffix_at() + skip + 4, len - 4, &rest[4..])
    }

    /// Whether `key` is absent and would stand at `slot`: its two neighbours tell, no search is
    /// needed.
    pub(crate) fn belongs_at(&self, slot: usize, key: &[u8]) -> bool {
        let count = self.count();
        slot <= count
            && (slot == 0 || self.compare_key(slot - 1, key) == Ordering::Less)
            && (slot == count || self.compare_key(slot, key) == Ordering::Greater)
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
        let slot = match self.search(key) {
            Ok(slot) => slot,
            Err(slot) => slot.saturating_sub(1),
        };
        if slot >= self.count() {
            return (slot, PageId::NONE);
        }
        (slot, self.child(slot))
    }
}
