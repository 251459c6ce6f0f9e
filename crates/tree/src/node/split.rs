//! Where a full node is split, and whether two nodes fit in one.

use super::build::{Builder, Shape};
use super::layout::RECORD_OVERHEAD;
use super::read::Node;
use super::write::absorbed;

/// An append-pattern split leaves this many sixteenths of the records' bytes on the left, so a
/// tree that grows at its end is about 94 % full.
const APPEND_SIXTEENTHS: usize = 15;

/// An insertion with at most this share of the node's bytes behind it, one in 8, splits the node
/// where it goes. Where many sequences grow side by side, each thereby gets leaves of its own and
/// then splits like an append, instead of leaving half-full leaves behind for ever.
const NEAR_END_SHARE: usize = 8;

impl Node<'_, [u8]> {
    /// The slot of the first record that a split should move to the foster child, given the slot
    /// at which the record that found no room would be inserted: by bytes in the middle, but near
    /// the end for an insertion at the very end, near the start for one at the very start, and at
    /// the insertion itself if little is behind it.
    /// `None` if there are too few records to split.
    ///
    /// The lower half has room for its foster key.
    pub(crate) fn split_slot(&self, insert_at: usize) -> Option<usize> {
        let count = self.count();
        if count < 2 {
            return None;
        }
        let total: usize = (0..count).map(|slot| self.record_bytes(slot)).sum();
        let behind: usize = (insert_at..count).map(|slot| self.record_bytes(slot)).sum();
        let target = if insert_at >= count {
            total * APPEND_SIXTEENTHS / 16
        } else if insert_at == 0 {
            total - total * APPEND_SIXTEENTHS / 16
        } else if behind <= total / NEAR_END_SHARE {
            total - behind
        } else {
            total / 2
        };
        let fences = Shape { foster: None, ..Shape::of(*self) }.fence_bytes();
        let capacity = self.used_bytes() + self.free_bytes();
        let (mut best, mut left) = (1, 0);
        for slot in 1..count {
            let before = left;
            left += self.record_bytes(slot - 1);
            let fits = fences + left + self.prefix_len() + self.suffix(slot).len() <= capacity;
            // The first slot is taken whatever it costs; after it, each that gets nearer.
            if slot > 1 && (!fits || before.abs_diff(target) <= left.abs_diff(target)) {
                break;
            }
            best = slot;
        }
        Some(best)
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

    /// Whether this node has room for everything in `right`, its foster child or right neighbour.
    /// Costs as much as doing it; a cheap estimate is the sum of both
    /// [`used_bytes`](Node::used_bytes).
    pub(crate) fn fits_absorbed(&self, right: Node<'_, [u8]>, keep_fence: bool) -> bool {
        absorbed(*self, right, keep_fence).is_some()
    }

    fn pack(&self, shape: Shape<'_>, from: usize, image: &mut Vec<u8>) -> bool {
        let Some(mut builder) = Builder::new(shape) else { return false };
        if builder.push_all(*self, from..self.count()).is_none() {
            return false;
        }
        builder.finish_image(image);
        true
    }

    fn record_bytes(&self, slot: usize) -> usize {
        RECORD_OVERHEAD + self.suffix(slot).len() + self.value_len(slot)
    }
}
