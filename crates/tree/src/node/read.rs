//! The read view of a node, over a latched page or over one that others may be writing.
//!
//! Everything here is total (node invariant 9): positions and lengths found in the page are used
//! only through [`NodeBytes`], counts are clamped to what a page can hold.
//!
//! Who may use what
//! : Over `[u8]`, a latched page, values and fences come out as slices of the page. Over an
//!   optimistic page there are no slices: keys and fences are copied into the caller's vector, and
//!   `validate` on the page decides afterwards whether they ever existed. Lengths that come from a
//!   read that raced with a writer are cut to what the format allows *before* a vector is sized by
//!   them.

use clearway_base::{KEY_LEN_MAX, PAGE_SIZE, PageId, TreeId};

use super::bytes::NodeBytes;
use super::layout::{
    COUNT, FLAGS, FOSTER, FOSTER_KEY, GARBAGE, GHOSTS, HEAD_SKIP, HEAP_START, HIGH,
    HIGH_IS_INFINITE, KIND, LEVEL, LOW, NODE_END, NodeSlot, PREFIX_LEN, PageKind, RECORD_OVERHEAD,
    SLOT_LEN, SLOTS, TREE,
};

/// Most slots a page can hold; a read that races with a writer may see a larger number.
const COUNT_MAX: usize = (PAGE_SIZE - SLOTS) / SLOT_LEN;

/// A node, for reading.
///
/// Over an optimistic page nothing that a method returns may be used, except to go on reading,
/// before the page is validated.
pub(crate) struct Node<'a, B: NodeBytes + ?Sized> {
    pub(super) bytes: &'a B,
}

impl<B: NodeBytes + ?Sized> Clone for Node<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: NodeBytes + ?Sized> Copy for Node<'_, B> {}

impl<'a, B: NodeBytes + ?Sized> Node<'a, B> {
    /// A view of `bytes`, which may be anything; ask [`kind`](Node::kind).
    #[inline]
    pub(crate) fn new(bytes: &'a B) -> Node<'a, B> {
        Node { bytes }
    }

    /// The page's kind.
    #[inline]
    pub(crate) fn kind(&self) -> PageKind {
        PageKind::of(self.bytes.u8(KIND))
    }

    /// Whether the page is a leaf.
    #[inline]
    pub(crate) fn is_leaf(&self) -> bool {
        self.kind() == PageKind::Leaf
    }

    /// Whether the page is a branch.
    #[inline]
    pub(crate) fn is_branch(&self) -> bool {
        self.kind() == PageKind::Branch
    }

    /// The tree that owns the node.
    #[inline]
    pub(crate) fn tree(&self) -> TreeId {
        TreeId(self.bytes.u32(TREE))
    }

    /// Height above the leaves.
    #[inline]
    pub(crate) fn level(&self) -> u8 {
        self.bytes.u8(LEVEL)
    }

    /// Number of slots, ghosts included.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        usize::from(self.bytes.u16(COUNT)).min(COUNT_MAX)
    }

    /// Number of ghosts.
    #[inline]
    pub(crate) fn ghost_count(&self) -> usize {
        usize::from(self.bytes.u16(GHOSTS))
    }

    /// The foster child.
    #[inline]
    pub(crate) fn foster(&self) -> Option<PageId> {
        match self.bytes.u32(FOSTER) {
            0 => None,
            id => Some(PageId(id)),
        }
    }

    /// Length of the prefix that all keys share.
    #[inline]
    pub(crate) fn prefix_len(&self) -> usize {
        usize::from(self.bytes.u16(PREFIX_LEN)).min(KEY_LEN_MAX)
    }

    /// End of the heap: how many bytes of the page the node may use.
    #[inline]
    pub(crate) fn node_bytes(&self) -> usize {
        usize::from(self.bytes.u16(NODE_END)).clamp(SLOTS, PAGE_SIZE)
    }

    /// Suffix bytes that all searched keys share (see [`layout`](super::layout)).
    #[inline]
    pub(super) fn head_skip(&self) -> usize {
        usize::from(self.bytes.u16(HEAD_SKIP)).min(KEY_LEN_MAX)
    }

    /// The first slot that is searched.
    #[inline]
    pub(super) fn first_searched(&self) -> usize {
        usize::from(self.is_branch())
    }

    /// The slot word at `slot`; zero if that is beyond the page.
    #[inline]
    pub(super) fn slot(&self, slot: usize) -> NodeSlot {
        NodeSlot(self.bytes.word(SLOTS / SLOT_LEN + slot))
    }

    /// Whether the record at `slot` is a ghost.
    #[inline]
    pub(crate) fn is_ghost(&self, slot: usize) -> bool {
        self.slot(slot).is_ghost()
    }

    /// Whether the value at `slot` is an overflow reference.
    #[inline]
    pub(crate) fn is_overflow(&self, slot: usize) -> bool {
        self.slot(slot).is_overflow()
    }

    /// Length of the value at `slot`.
    #[inline]
    pub(crate) fn value_len(&self, slot: usize) -> usize {
        usize::from(self.bytes.u16(self.slot(slot).offset())).min(PAGE_SIZE)
    }

    /// Replaces `out` by the full key at `slot`.
    pub(crate) fn key_into(&self, slot: usize, out: &mut Vec<u8>) {
        let slot = self.slot(slot);
        out.clear();
        self.bytes.append_to(self.fence(LOW).0, self.prefix_len(), out);
        self.bytes.append_to(slot.suffix_at(), slot.suffix_len(), out);
    }

    /// The full key at `slot`, in a vector of its own.
    pub(crate) fn key(&self, slot: usize) -> Vec<u8> {
        let mut key = Vec::new();
        self.key_into(slot, &mut key);
        key
    }

    /// The child at `slot` of a branch.
    #[inline]
    pub(crate) fn child(&self, slot: usize) -> PageId {
        PageId(self.bytes.u32(self.slot(slot).value_at()))
    }

    /// Replaces `out` by the low fence.
    pub(crate) fn low_fence_into(&self, out: &mut Vec<u8>) {
        self.fence_into(LOW, out);
    }

    /// Replaces `out` by the high fence of the whole foster chain; `false`, and an empty `out`,
    /// if that is plus infinity.
    pub(crate) fn high_fence_into(&self, out: &mut Vec<u8>) -> bool {
        if self.is_high_infinite() {
            out.clear();
            return false;
        }
        self.fence_into(HIGH, out);
        true
    }

    /// Replaces `out` by the foster key, the lowest key that belongs to the foster child; `false`,
    /// and an empty `out`, if there is no foster child.
    pub(crate) fn foster_key_into(&self, out: &mut Vec<u8>) -> bool {
        if self.foster().is_none() {
            out.clear();
            return false;
        }
        self.fence_into(FOSTER_KEY, out);
        true
    }

    /// Replaces `out` by the end of the node's own range (foster key or high fence); `false` if
    /// that is plus infinity.
    pub(crate) fn end_into(&self, out: &mut Vec<u8>) -> bool {
        self.foster_key_into(out) || self.high_fence_into(out)
    }

    /// Whether the chain's high fence is plus infinity.
    #[inline]
    pub(crate) fn is_high_infinite(&self) -> bool {
        self.bytes.u8(FLAGS) & HIGH_IS_INFINITE != 0
    }

    /// Position and length of a fence.
    #[inline]
    pub(super) fn fence(&self, field: usize) -> (usize, usize) {
        let word = self.bytes.u32(field);
        ((word & 0xFFFF) as usize, ((word >> 16) as usize).min(KEY_LEN_MAX))
    }

    fn fence_into(&self, field: usize, out: &mut Vec<u8>) {
        let (at, len) = self.fence(field);
        out.clear();
        out.resize(len, 0);
        self.bytes.copy(at, out);
    }

    /// End of the slot array.
    #[inline]
    pub(super) fn slots_end(&self) -> usize {
        SLOTS + self.count() * SLOT_LEN
    }

    /// Start of the heap, kept inside the node whatever the page says.
    #[inline]
    pub(super) fn heap_start(&self) -> usize {
        let end = self.node_bytes();
        usize::from(self.bytes.u16(HEAP_START)).clamp(self.slots_end().min(end), end)
    }

    /// Free bytes that need no compaction.
    #[inline]
    pub(super) fn gap_bytes(&self) -> usize {
        self.heap_start().saturating_sub(self.slots_end())
    }

    /// Heap bytes that compaction would win.
    #[inline]
    pub(super) fn garbage(&self) -> usize {
        usize::from(self.bytes.u16(GARBAGE)).min(PAGE_SIZE)
    }

    /// Free bytes, after compaction if need be.
    #[inline]
    pub(crate) fn free_bytes(&self) -> usize {
        self.gap_bytes() + self.garbage()
    }

    /// Bytes in use for slots, records and fences; an empty node with empty fences uses 0.
    #[inline]
    pub(crate) fn used_bytes(&self) -> usize {
        (self.node_bytes() - SLOTS).saturating_sub(self.free_bytes())
    }

    /// Whether a new record fits, after compaction if need be. `key_len` is the full key's.
    #[inline]
    pub(crate) fn fits(&self, key_len: usize, value_len: usize) -> bool {
        let suffix_len = key_len.saturating_sub(self.prefix_len());
        RECORD_OVERHEAD + suffix_len + value_len <= self.free_bytes()
    }

    /// Whether the value at `slot` can become `value_len` bytes long in this node, after compaction
    /// if need be.
    #[inline]
    pub(crate) fn fits_value(&self, slot: usize, value_len: usize) -> bool {
        value_len <= self.value_len(slot) + self.free_bytes()
    }
}

impl<'a> Node<'a, [u8]> {
    /// The value at `slot`.
    #[inline]
    pub(crate) fn value(&self, slot: usize) -> &'a [u8] {
        self.piece(self.slot(slot).value_at(), self.value_len(slot))
    }

    /// The key at `slot` without the node's prefix.
    #[inline]
    pub(crate) fn suffix(&self, slot: usize) -> &'a [u8] {
        let slot = self.slot(slot);
        self.piece(slot.suffix_at(), slot.suffix_len())
    }

    /// The prefix that all keys share.
    #[inline]
    pub(crate) fn prefix(&self) -> &'a [u8] {
        let low = self.low_fence();
        &low[..self.prefix_len().min(low.len())]
    }

    /// The low fence.
    #[inline]
    pub(crate) fn low_fence(&self) -> &'a [u8] {
        let (at, len) = self.fence(LOW);
        self.piece(at, len)
    }

    /// The chain's high fence, `None` for plus infinity.
    #[inline]
    pub(crate) fn high_fence(&self) -> Option<&'a [u8]> {
        let (at, len) = self.fence(HIGH);
        if self.is_high_infinite() { None } else { Some(self.piece(at, len)) }
    }

    /// The foster child and its low fence.
    #[inline]
    pub(crate) fn foster_link(&self) -> Option<(PageId, &'a [u8])> {
        let (at, len) = self.fence(FOSTER_KEY);
        self.foster().map(|page| (page, self.piece(at, len)))
    }

    /// `len` bytes at `at`, cut at the end of the page.
    #[inline]
    fn piece(&self, at: usize, len: usize) -> &'a [u8] {
        let start = at.min(self.bytes.len());
        let end = (at + len).clamp(start, self.bytes.len());
        &self.bytes[start..end]
    }
}
