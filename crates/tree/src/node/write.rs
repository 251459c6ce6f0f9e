//! Changing a node in place.
//!
//! Every method either does what it says or, if the result does not fit, changes nothing and says
//! so. Only `op`'s `apply_to` calls these on pages of the pool (node invariant 8); tests may call
//! them on buffers. Where room is short a method compacts first.
//!
//! Two kinds of change
//! : *In place*: to insert or remove a record, replace a value, set or clear the ghost flag. These
//!   changes move slots, take bytes from the free space between slots and heap, and count freed
//!   bytes as garbage. They are cheap, and most changes of transactions are of this kind.
//!   *Rebuilding*: whatever changes fences or the foster child, and compaction. They write a new
//!   node beside the old one and copy it over, in a few microseconds. System transactions do this,
//!   and so does a user's insert or longer value for which the free space is too small.
//!
//! Garbage
//! : If a removed record is the lowest of the heap, its bytes join the free space at once. All
//!   other bytes that become free are counted as garbage, and compaction joins them to the free
//!   space when an insertion or a longer value finds it too small. A deleted record's bytes are
//!   *not* garbage: its ghost keeps them until it is reclaimed or inserted over, so that the undo
//!   of a deletion usually has room in place.

use clearway_base::{PAGE_SIZE, PageId, TreeId};

use super::build::{Builder, Shape, common_len, set_heads};
use super::layout::{
    COUNT, GARBAGE, GHOSTS, HEAD_SKIP, HEAP_START, KIND, META_GHOST, META_OVERFLOW, NodeSlot,
    PageKind, RECORD_HEADER, SLOT_LEN, SLOTS,
};
use super::read::Node;

/// A record's value and flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct NodeRecord<'a> {
    /// The value, or the reference to it.
    pub(crate) value: &'a [u8],
    /// Whether the record is a ghost.
    pub(crate) ghost: bool,
    /// Whether `value` is an overflow reference.
    pub(crate) overflow: bool,
}

impl NodeRecord<'_> {
    fn flags(&self) -> u16 {
        (if self.ghost { META_GHOST } else { 0 }) | (if self.overflow { META_OVERFLOW } else { 0 })
    }
}

/// A node, for changing. Its page is exclusively latched.
pub(crate) struct NodeMut<'a> {
    page: &'a mut [u8; PAGE_SIZE],
}

impl<'a> NodeMut<'a> {
    /// A view of a page.
    ///
    /// # Panics
    /// If `bytes` is not [`PAGE_SIZE`] bytes long.
    #[inline]
    pub(crate) fn new(bytes: &'a mut [u8]) -> NodeMut<'a> {
        NodeMut { page: bytes.try_into().expect("a node is a whole page") }
    }

    /// Makes `bytes` an empty node without a foster child. `high` `None` is plus infinity.
    /// `false` if the fences do not fit.
    pub(crate) fn format(
        bytes: &mut [u8],
        level: u8,
        tree: TreeId,
        node_bytes: usize,
        low: &[u8],
        high: Option<&[u8]>,
    ) -> bool {
        let node = NodeMut::new(bytes);
        let shape = Shape { level, tree, node_bytes, low, high, foster: None };
        Builder::new(shape).map(|b| b.finish_into(node.page)).is_some()
    }

    /// The same node, for reading.
    #[inline]
    pub(crate) fn read(&self) -> Node<'_, [u8]> {
        Node::new(&self.page[..])
    }

    /// Inserts a record before `slot`. `false` if it does not fit or `slot` is out of range.
    pub(crate) fn insert(&mut self, slot: usize, key: &[u8], record: NodeRecord<'_>) -> bool {
        let node = self.read();
        let suffix = key.get(node.prefix_len()..).unwrap_or(&[]);
        let len = RECORD_HEADER + suffix.len() + record.value.len();
        if slot > node.count() || len + SLOT_LEN > node.free_bytes() {
            return false;
        }
        if slot < node.first_searched() && node.count() > 0 {
            return false; // A branch's slot 0 is its low fence and stays where it is.
        }
        if len + SLOT_LEN > node.gap_bytes() {
            self.compact();
            if len + SLOT_LEN > self.read().gap_bytes() {
                return false; // Only a damaged node promises room that compaction cannot find.
            }
        }
        self.adapt_skip(suffix);
        let (count, end) = (self.read().count(), self.read().slots_end());
        let at = self.read().heap_start() - len;
        self.write_record(at, suffix, record.value);
        let from = SLOTS + slot * SLOT_LEN;
        self.page.copy_within(from..end, from + SLOT_LEN);
        let headless = NodeSlot::new(suffix.len(), at).with(record.flags(), true);
        let searched = slot >= self.read().first_searched();
        let skip = self.read().head_skip();
        self.put_slot(slot, if searched { headless.headed(suffix, skip) } else { headless });
        self.put_u16(COUNT, count + 1);
        self.put_u16(HEAP_START, at);
        if record.ghost {
            self.put_u16(GHOSTS, self.read().ghost_count() + 1);
        }
        true
    }

    /// Inserts an entry of a branch.
    pub(crate) fn insert_child(&mut self, slot: usize, key: &[u8], child: PageId) -> bool {
        let value = child.0.to_le_bytes();
        self.insert(slot, key, NodeRecord { value: &value, ghost: false, overflow: false })
    }

    /// Replaces the value at `slot`; flags stay. `false` if it does not fit.
    pub(crate) fn set_value(&mut self, slot: usize, value: &[u8]) -> bool {
        let node = self.read();
        if slot >= node.count() || !node.fits_value(slot, value.len()) {
            return false;
        }
        let (word, old_len, garbage) = (node.slot(slot), node.value_len(slot), node.garbage());
        if value.len() <= old_len {
            let at = word.value_at();
            if at + value.len() > PAGE_SIZE {
                return false; // A damaged node.
            }
            self.put_u16(word.offset(), value.len());
            self.page[at..at + value.len()].copy_from_slice(value);
            self.put_u16(GARBAGE, garbage + old_len - value.len());
            return true;
        }
        if RECORD_HEADER + word.suffix_len() + value.len() > node.gap_bytes() {
            return self.rebuild_with(slot, value);
        }
        let suffix = node.suffix(slot).to_vec();
        let at = node.heap_start() - (RECORD_HEADER + suffix.len() + value.len());
        self.write_record(at, &suffix, value);
        self.put_slot(slot, word.at(at));
        self.put_u16(HEAP_START, at);
        self.put_u16(GARBAGE, garbage + RECORD_HEADER + suffix.len() + old_len);
        true
    }

    /// Overwrites part of the value at `slot`. `false` if the part is not inside the value.
    pub(crate) fn patch_value(&mut self, slot: usize, offset: usize, bytes: &[u8]) -> bool {
        let node = self.read();
        let at = node.slot(slot).value_at() + offset;
        let inside = slot < node.count() && offset + bytes.len() <= node.value_len(slot);
        if !inside || at + bytes.len() > PAGE_SIZE {
            return false;
        }
        self.page[at..at + bytes.len()].copy_from_slice(bytes);
        true
    }

    /// Makes the record at `slot` a ghost, or a record again.
    pub(crate) fn set_ghost(&mut self, slot: usize, ghost: bool) {
        let (word, ghosts) = (self.read().slot(slot), self.read().ghost_count());
        if slot < self.read().count() && word.is_ghost() != ghost {
            self.put_slot(slot, word.with(META_GHOST, ghost));
            self.put_u16(GHOSTS, if ghost { ghosts + 1 } else { ghosts.saturating_sub(1) });
        }
    }

    /// Sets whether the value at `slot` is an overflow reference.
    pub(crate) fn set_overflow(&mut self, slot: usize, overflow: bool) {
        if slot < self.read().count() {
            self.put_slot(slot, self.read().slot(slot).with(META_OVERFLOW, overflow));
        }
    }

    /// Removes the record at `slot`. `false` if there is none.
    pub(crate) fn remove(&mut self, slot: usize) -> bool {
        let node = self.read();
        let (count, end, word) = (node.count(), node.slots_end(), node.slot(slot));
        if slot >= count {
            return false;
        }
        let len = RECORD_HEADER + word.suffix_len() + node.value_len(slot);
        let (heap_start, garbage) = (node.heap_start(), node.garbage());
        if word.is_ghost() {
            self.put_u16(GHOSTS, self.read().ghost_count().saturating_sub(1));
        }
        if word.offset() == heap_start {
            // The bytes of the lowest record, written last, join the free space at once. What a
            // shrunken value left behind it stays garbage.
            self.put_u16(HEAP_START, heap_start + len);
        } else {
            self.put_u16(GARBAGE, garbage + len);
        }
        let from = SLOTS + slot * SLOT_LEN;
        self.page.copy_within(from + SLOT_LEN..end, from);
        self.put_u16(COUNT, count - 1);
        true
    }

    /// Moves all records together, so that all free bytes are one range.
    pub(crate) fn compact(&mut self) {
        let node = self.read();
        // Fails for a damaged node only, which then stays as it is.
        let built = build(Shape::of(node), |b| b.push_all(node, 0..node.count()));
        self.install(built);
    }

    /// Links the foster child `foster`, which owns the keys from `key`, and drops all records from
    /// `slot` on: the lower half of a split. `false` if the foster key does not fit.
    pub(crate) fn truncate(&mut self, slot: usize, foster: PageId, key: &[u8]) -> bool {
        let node = self.read();
        let shape = Shape { foster: Some((foster, key)), ..Shape::of(node) };
        let slots = 0..slot.min(node.count());
        let built = build(shape, |b| b.push_all(node, slots));
        self.install(built)
    }

    /// Ends the node's range at its foster key, without the foster child: the lower half of an
    /// adoption. The prefix may grow. `false` if there is no foster child.
    pub(crate) fn drop_foster(&mut self) -> bool {
        let node = self.read();
        let Some((_, end)) = node.foster_link() else { return false };
        let shape = Shape { high: Some(end), foster: None, ..Shape::of(node) };
        let built = build(shape, |b| b.push_all(node, 0..node.count()));
        self.install(built)
    }

    /// Drops the slots from `keep` on and, with `foster` set, the foster child, while the tree is
    /// taken apart: the node's range no longer matters, and its fences stay. `false` if it does
    /// not have that much to drop.
    pub(crate) fn prune(&mut self, keep: usize, foster: bool) -> bool {
        let node = self.read();
        let link = if foster { None } else { node.foster_link() };
        if keep > node.count() || (foster && node.foster().is_none()) {
            return false;
        }
        let shape = Shape { foster: link, ..Shape::of(node) };
        let built = build(shape, |b| b.push_all(node, 0..keep));
        self.install(built)
    }

    /// Takes over range, records and foster child of the node to the right, its foster child or
    /// its neighbour. With `keep_fence` the border between them becomes a ghost if it is no record.
    /// `false` if the result does not fit; see [`Node::used_absorbed`].
    pub(crate) fn absorb(&mut self, right: Node<'_, [u8]>, keep_fence: bool) -> bool {
        let built = absorbed(self.read(), right, keep_fence);
        self.install(built)
    }

    /// Rewrites the node with a longer value at `slot`.
    fn rebuild_with(&mut self, slot: usize, value: &[u8]) -> bool {
        let node = self.read();
        let built = build(Shape::of(node), |b| {
            let flags = node.slot(slot).meta() & (META_GHOST | META_OVERFLOW);
            b.push_all(node, 0..slot)?;
            b.push(&[], node.suffix(slot), flags, value)?;
            b.push_all(node, slot + 1..node.count())
        });
        self.install(built)
    }

    /// Puts a rebuilt node in the place of this one, if it could be built.
    fn install(&mut self, built: Option<Builder>) -> bool {
        built.map(|builder| builder.finish_into(self.page)).is_some()
    }

    /// Makes the skip short enough for a key that is about to be inserted. That rewrites all heads,
    /// but each time the skip gets shorter, so at most once for each byte of a key.
    fn adapt_skip(&mut self, suffix: &[u8]) {
        let node = self.read();
        let (first, count, skip) = (node.first_searched(), node.count(), node.head_skip());
        if first >= count {
            // The new key is the only one that is searched, so the skip is its whole suffix. (In a
            // branch without any slot it becomes slot 0, which is not searched: no skip.)
            let skip = if first > count { 0 } else { suffix.len() };
            self.put_u16(HEAD_SKIP, skip);
            return;
        }
        let reference = node.slot(count - 1);
        if node.compare_skipped(reference, skip, suffix).is_ne() {
            let shared = common_len(node.suffix(count - 1), suffix).min(skip);
            set_heads(self.page, shared);
        }
    }

    /// Writes a record into the free space.
    fn write_record(&mut self, at: usize, suffix: &[u8], value: &[u8]) {
        let value_at = at + RECORD_HEADER + suffix.len();
        self.put_u16(at, value.len());
        self.page[at + RECORD_HEADER..value_at].copy_from_slice(suffix);
        self.page[value_at..value_at + value.len()].copy_from_slice(value);
    }

    #[inline]
    fn put_slot(&mut self, slot: usize, word: NodeSlot) {
        let at = SLOTS + slot * SLOT_LEN;
        self.page[at..at + SLOT_LEN].copy_from_slice(&word.0.to_le_bytes());
    }

    /// Writes a count or an offset. None exceeds [`PAGE_SIZE`] in a sound node.
    #[inline]
    fn put_u16(&mut self, at: usize, value: usize) {
        if let Some(place) = self.page.get_mut(at..at + 2) {
            place.copy_from_slice(&(value as u16).to_le_bytes());
        }
    }
}

/// Builds a node of the given shape with what `fill` pushes; `None` if that does not fit.
fn build(shape: Shape<'_>, fill: impl FnOnce(&mut Builder) -> Option<()>) -> Option<Builder> {
    let mut builder = Builder::new(shape)?;
    fill(&mut builder)?;
    Some(builder)
}

/// The node that `left` becomes by absorbing `right`.
pub(super) fn absorbed(
    left: Node<'_, [u8]>,
    right: Node<'_, [u8]>,
    keep_fence: bool,
) -> Option<Builder> {
    let shape = Shape { high: right.high_fence(), foster: right.foster_link(), ..Shape::of(left) };
    let mut builder = Builder::new(shape)?;
    builder.push_all(left, 0..left.count())?;
    let fence = right.low_fence();
    if keep_fence && right.find(fence) != Ok(0) {
        builder.push_key(fence, META_GHOST, &[])?;
    }
    builder.push_all(right, 0..right.count())?;
    Some(builder)
}

/// Marks a node that a merge or a root shrinkage emptied, so that an operation that still has its
/// page id notices.
pub(crate) fn mark_freed(bytes: &mut [u8]) {
    if let Some(body) = bytes.get_mut(KIND..) {
        body.fill(0);
        body[0] = PageKind::Freed as u8;
    }
}
