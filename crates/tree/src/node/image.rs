//! A node as log records carry it: all its bytes but the pool's header and the free space.
//!
//! ```text
//!   page    | pool's header | node header | slots | free .. | heap ... | unused |
//!   image                   | node header | slots |           heap ... |
//! ```
//!
//! What moves between pages (the upper half of a split, a node that is merged away, a root's
//! content) is logged as an image, because redo looks at one page at a time and may find the other
//! page newer (op invariant 2). An image is always that of a compact node, so a page that is
//! written from it has no garbage.
//!
//! Invariant: an [`Image`] has lengths that add up and lie in a page; it exists only through
//! [`Image::parse`], so writing one never fails. The records inside are as sound as the node was:
//! the log record's checksum vouches for that, and reading a node is total in any case.

use std::ops::Range;

use clearway_base::PAGE_SIZE;

use super::bytes::NodeBytes;
use super::layout::{COUNT, HEAP_START, KIND, LOW, NODE_END, PageKind, SLOT_LEN, SLOTS};
use super::read::Node;

/// A valid image: bytes `KIND..slots_end`, then bytes `heap_start..node_end` of a compact node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Image<'a> {
    bytes: &'a [u8],
}

impl std::fmt::Debug for Image<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Image({} bytes)", self.bytes.len())
    }
}

impl Node<'_, [u8]> {
    /// Where the bytes stand that make the node what it is: its header and slots, and its heap.
    /// `None` if the page is no node.
    pub(crate) fn content(&self) -> Option<[Range<usize>; 2]> {
        let (heap_start, node_end) = (self.heap_start(), self.node_bytes());
        let slots_end = self.slots_end().min(heap_start);
        let is_node = self.is_leaf() || self.is_branch();
        is_node.then_some([KIND..slots_end, heap_start..node_end])
    }
}

impl<'a> Image<'a> {
    /// Checks that `bytes` are an image: that its lengths add up and lie in a page.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Image<'a>> {
        if bytes.len() < SLOTS - KIND {
            return None;
        }
        let image = Image { bytes };
        let (slots_end, heap_start, node_end) = image.bounds();
        let sound = slots_end <= heap_start
            && heap_start <= node_end
            && node_end <= PAGE_SIZE
            && bytes.len() == (slots_end - KIND) + (node_end - heap_start)
            && matches!(PageKind::of(bytes[0]), PageKind::Leaf | PageKind::Branch);
        sound.then_some(image)
    }

    /// The bytes, as logged.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Replaces `out` by the image of a node.
    pub(super) fn pack(page: &[u8; PAGE_SIZE], out: &mut Vec<u8>) {
        let content = Node::new(&page[..]).content();
        out.clear();
        for part in content.into_iter().flatten() {
            out.extend_from_slice(&page[part]);
        }
    }

    /// Puts the node into a page; the pool's header stays.
    pub(crate) fn write_to(&self, page: &mut [u8]) {
        let (slots_end, heap_start, node_end) = self.bounds();
        let (head, heap) = self.bytes.split_at(slots_end - KIND);
        page[KIND..slots_end].copy_from_slice(head);
        page[slots_end..heap_start].fill(0);
        page[heap_start..node_end].copy_from_slice(heap);
        page[node_end..].fill(0);
    }

    /// A page with the node in it and nothing in the pool's header.
    pub(crate) fn to_page(self) -> Box<[u8; PAGE_SIZE]> {
        let mut page = super::build::zeroed();
        self.write_to(&mut page[..]);
        page
    }

    /// The node's height above the leaves.
    pub(crate) fn level(&self) -> u8 {
        self.bytes[super::layout::LEVEL - KIND]
    }

    /// The number of bytes of its page that the node may use.
    pub(crate) fn node_bytes(&self) -> usize {
        self.bounds().2
    }

    /// The node's low fence.
    pub(crate) fn low_fence(&self) -> &'a [u8] {
        let (slots_end, heap_start, _) = self.bounds();
        let at = usize::from(self.bytes.u16(LOW - KIND));
        let len = usize::from(self.bytes.u16(LOW + 2 - KIND));
        // Where the heap's bytes stand in the image.
        let from = (at + slots_end - KIND).saturating_sub(heap_start);
        self.bytes.get(from..from + len).unwrap_or(&[])
    }

    fn bounds(&self) -> (usize, usize, usize) {
        let field = |at: usize| usize::from(self.bytes.u16(at - KIND));
        (SLOTS + field(COUNT) * SLOT_LEN, field(HEAP_START), field(NODE_END))
    }
}
