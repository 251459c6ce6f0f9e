//! Building a node from scratch, densely: how nodes are formatted, compacted, split, merged and
//! given other fences.
//!
//! There is one way to rewrite a node, so there is one place that decides where bytes stand: the
//! fences at the top of the heap (low, high, foster key, downwards), then the records in slot
//! order. That makes the result a function of the content (node invariant 8).

use std::cell::Cell;
use std::ops::{Deref, DerefMut, Range};

use clearway_base::{PAGE_SIZE, PageId, TreeId};

use super::image::Image;
use super::layout::{
    COUNT, FLAGS, FOSTER, FOSTER_KEY, GHOSTS, HEAD_SKIP, HEAP_START, HIGH, HIGH_IS_INFINITE, KIND,
    LEVEL, LOW, META_GHOST, META_OVERFLOW, NODE_END, NodeSlot, PREFIX_LEN, PageKind, RECORD_HEADER,
    SLOT_LEN, SLOTS, TREE,
};
use super::read::Node;

/// Everything about a node but its records.
#[derive(Clone, Copy)]
pub(super) struct Shape<'a> {
    pub(super) level: u8,
    pub(super) tree: TreeId,
    pub(super) node_bytes: usize,
    pub(super) low: &'a [u8],
    /// `None` is plus infinity.
    pub(super) high: Option<&'a [u8]>,
    pub(super) foster: Option<(PageId, &'a [u8])>,
}

impl<'a> Shape<'a> {
    /// The shape of an existing node.
    pub(super) fn of(node: Node<'a, [u8]>) -> Shape<'a> {
        Shape {
            level: node.level(),
            tree: node.tree(),
            node_bytes: node.node_bytes(),
            low: node.low_fence(),
            high: node.high_fence(),
            foster: node.foster_link(),
        }
    }

    /// The prefix that the fences imply: what both have in common; nothing if `high` is infinite.
    pub(super) fn prefix_len(&self) -> usize {
        match self.high {
            Some(high) => common_len(self.low, high),
            None => 0,
        }
    }

    /// Heap bytes of the fences.
    pub(super) fn fence_bytes(&self) -> usize {
        self.low.len() + self.high.map_or(0, <[u8]>::len) + self.foster.map_or(0, |f| f.1.len())
    }
}

/// A node under construction, in a page of its own. Only the node's header begins as zeros: the
/// free space has what the last node that was built here left, and never leaves the builder.
pub(super) struct Builder {
    page: SparePage,
    prefix_len: usize,
    count: usize,
    ghosts: usize,
    heap_start: usize,
    node_end: usize,
}

impl Builder {
    /// Starts a node; `None` if its fences do not fit.
    pub(super) fn new(shape: Shape<'_>) -> Option<Builder> {
        let node_end = shape.node_bytes.clamp(SLOTS, PAGE_SIZE);
        let mut builder = Builder {
            page: SparePage::borrow(),
            prefix_len: shape.prefix_len(),
            count: 0,
            ghosts: 0,
            heap_start: node_end,
            node_end,
        };
        if shape.fence_bytes() > node_end - SLOTS {
            return None;
        }
        builder.page[..SLOTS].fill(0);
        builder.page[KIND] = if shape.level == 0 { PageKind::Leaf } else { PageKind::Branch } as u8;
        builder.page[LEVEL] = shape.level;
        builder.put_u32(TREE, shape.tree.0);
        builder.put_u16(NODE_END, node_end);
        builder.put_u16(PREFIX_LEN, builder.prefix_len);
        builder.put_fence(LOW, shape.low);
        match shape.high {
            Some(high) => builder.put_fence(HIGH, high),
            None => builder.page[FLAGS] |= HIGH_IS_INFINITE,
        }
        if let Some((foster, key)) = shape.foster {
            builder.put_u32(FOSTER, foster.0);
            builder.put_fence(FOSTER_KEY, key);
        }
        Some(builder)
    }

    /// Appends a record whose key, after the new node's prefix, is `missing` and then `suffix`.
    /// `flags` are meta flags. `None` if it does not fit.
    pub(super) fn push(
        &mut self,
        missing: &[u8],
        suffix: &[u8],
        flags: u16,
        value: &[u8],
    ) -> Option<()> {
        let suffix_len = missing.len() + suffix.len();
        let len = RECORD_HEADER + suffix_len + value.len();
        let slot_at = SLOTS + self.count * SLOT_LEN;
        if slot_at + SLOT_LEN + len > self.heap_start {
            return None;
        }
        let at = self.heap_start - len;
        let (suffix_at, value_at) = (at + RECORD_HEADER, at + RECORD_HEADER + suffix_len);
        self.put_u16(at, value.len());
        self.page[suffix_at..suffix_at + missing.len()].copy_from_slice(missing);
        self.page[suffix_at + missing.len()..value_at].copy_from_slice(suffix);
        self.page[value_at..value_at + value.len()].copy_from_slice(value);
        // Without its head, which `finish` knows only when all keys are there.
        let slot = NodeSlot::new(suffix_len, at).with(flags, true);
        self.page[slot_at..slot_at + SLOT_LEN].copy_from_slice(&slot.0.to_le_bytes());
        self.count += 1;
        self.ghosts += usize::from(flags & META_GHOST != 0);
        self.heap_start = at;
        Some(())
    }

    /// Appends a record by its full key.
    pub(super) fn push_key(&mut self, key: &[u8], flags: u16, value: &[u8]) -> Option<()> {
        self.push(&[], key.get(self.prefix_len..).unwrap_or(&[]), flags, value)
    }

    /// Appends records of another node, whose prefix may be shorter or longer.
    pub(super) fn push_all(&mut self, node: Node<'_, [u8]>, slots: Range<usize>) -> Option<()> {
        let old = node.prefix_len();
        let missing = node.prefix().get(self.prefix_len..).unwrap_or(&[]);
        let surplus = self.prefix_len.saturating_sub(old);
        for slot in slots {
            let suffix = node.suffix(slot).get(surplus..).unwrap_or(&[]);
            let flags = node.slot(slot).meta() & (META_GHOST | META_OVERFLOW);
            self.push(missing, suffix, flags, node.value(slot))?;
        }
        Some(())
    }

    /// Bytes in use for slots, records and fences so far.
    pub(super) fn used_bytes(&self) -> usize {
        self.node_end - self.heap_start + self.count * SLOT_LEN
    }

    /// Replaces `image` by the image of the finished node.
    pub(super) fn finish_image(mut self, image: &mut Vec<u8>) {
        self.finish();
        Image::pack(&self.page, image);
    }

    /// Puts the finished node in the place of another; the pool's header stays.
    pub(super) fn finish_into(mut self, page: &mut [u8; PAGE_SIZE]) {
        self.finish();
        let slots_end = SLOTS + self.count * SLOT_LEN;
        page[KIND..slots_end].copy_from_slice(&self.page[KIND..slots_end]);
        page[slots_end..self.heap_start].fill(0);
        let heap = self.heap_start..self.node_end;
        page[heap.clone()].copy_from_slice(&self.page[heap]);
        page[self.node_end..].fill(0);
    }

    /// Writes what is known only when all records are there.
    fn finish(&mut self) {
        let (count, ghosts, heap_start) = (self.count, self.ghosts, self.heap_start);
        self.put_u16(COUNT, count);
        self.put_u16(GHOSTS, ghosts);
        self.put_u16(HEAP_START, heap_start);
        let node = Node::new(&self.page[..]);
        // Keys are sorted: what the first and the last share, all share.
        let (first, last) = (node.first_searched(), count.saturating_sub(1));
        let skip =
            if first < count { common_len(node.suffix(first), node.suffix(last)) } else { 0 };
        set_heads(&mut self.page, skip);
    }

    fn put_u16(&mut self, at: usize, value: usize) {
        self.page[at..at + 2].copy_from_slice(&(value as u16).to_le_bytes());
    }

    fn put_u32(&mut self, at: usize, value: u32) {
        self.page[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    /// Writes a fence below what is there and notes where; room was checked by `new`.
    fn put_fence(&mut self, field: usize, key: &[u8]) {
        self.heap_start -= key.len();
        let at = self.heap_start;
        self.page[at..at + key.len()].copy_from_slice(key);
        self.put_u16(field, at);
        self.put_u16(field + 2, key.len());
    }
}

/// A page of zeros, made where it stays.
pub(super) fn zeroed() -> Box<[u8; PAGE_SIZE]> {
    vec![0; PAGE_SIZE].into_boxed_slice().try_into().expect("as long as a page")
}

thread_local! {
    static SPARE: Cell<Option<Box<[u8; PAGE_SIZE]>>> = const { Cell::new(None) };
}

/// A page that a builder borrows from its thread; dropping gives it back.
struct SparePage(Option<Box<[u8; PAGE_SIZE]>>);

impl SparePage {
    fn borrow() -> SparePage {
        SparePage(Some(SPARE.take().unwrap_or_else(zeroed)))
    }
}

impl Drop for SparePage {
    fn drop(&mut self) {
        SPARE.set(self.0.take());
    }
}

impl Deref for SparePage {
    type Target = [u8; PAGE_SIZE];

    fn deref(&self) -> &Self::Target {
        self.0.as_ref().expect("on loan until dropped")
    }
}

impl DerefMut for SparePage {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.0.as_mut().expect("on loan until dropped")
    }
}

/// The length in bytes of the common prefix of `a` and `b`.
pub(super) fn common_len(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Sets the skip, which all searched keys of the node share, and with it every head.
pub(super) fn set_heads(page: &mut [u8; PAGE_SIZE], skip: usize) {
    page[HEAD_SKIP..HEAD_SKIP + 2].copy_from_slice(&(skip as u16).to_le_bytes());
    for slot in 0..Node::new(&page[..]).count() {
        let node = Node::new(&page[..]);
        // Slot 0 of a branch has none: its key need not share the skipped bytes.
        let suffix = if slot < node.first_searched() { &[] } else { node.suffix(slot) };
        let word = node.slot(slot).headed(suffix, skip);
        let at = SLOTS + slot * SLOT_LEN;
        page[at..at + SLOT_LEN].copy_from_slice(&word.0.to_le_bytes());
    }
}
