//! System operations: each is a whole system transaction. What they are and how they are encoded;
//! what they do to each page is in `system_apply.rs`.
//!
//! ```text
//!   code u8 | first page u32 | …                                      pages, in latch order
//!   format map     32: –                                              map
//!   format root    33: tree, node bytes                               root, its map
//!   reclaim ghosts 35: tree, slots as differences …                   leaf
//!   split          36: tree, slot, right u32, image …                 left, right, right's map
//!   adopt          37: tree, child u32, foster u32, key …             parent, child
//!   grow root      38: tree, child u32, image …                       root, child, child's map
//!   shrink root    39: tree, child u32, image …                       root, child, child's map
//!   merge          40: tree, parent u32, right u32, flag, image …     parent, left, right, map
//!   write overflow 41: tree, next u32 or 0, payload …                 page, its map
//!   free pages     42: tree, more pages u32 …                         their map
//!   cut chain      43: tree, slot, rest (16 bytes), pages u32 …       leaf, their map
//!   prune          44: tree, slots kept, flag, pages u32 …            node, their map
//! ```
//! 34 is not used.

use clearway_base::{PageId, TreeId};

use super::codec::{Reader, put_len, put_number, start};
use super::{SYSTEM, Touched};
use crate::node::Image;
use crate::overflow::OverflowRef;
use crate::space::map_page_of;

const FORMAT_MAP: u8 = SYSTEM;
const FORMAT_ROOT: u8 = SYSTEM + 1;
const RECLAIM_GHOSTS: u8 = SYSTEM + 3;
const SPLIT: u8 = SYSTEM + 4;
const ADOPT: u8 = SYSTEM + 5;
const GROW_ROOT: u8 = SYSTEM + 6;
const SHRINK_ROOT: u8 = SYSTEM + 7;
const MERGE: u8 = SYSTEM + 8;
const WRITE_OVERFLOW: u8 = SYSTEM + 9;
const FREE_PAGES: u8 = SYSTEM + 10;
const CUT_CHAIN: u8 = SYSTEM + 11;
const PRUNE: u8 = SYSTEM + 12;

/// A system transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum SystemOp<'a> {
    /// Makes `map` an empty space-map page, which has itself allocated.
    FormatMap {
        /// The page.
        map: PageId,
    },
    /// Allocates `page` and makes it an empty leaf from minus to plus infinity.
    FormatRoot {
        /// The root.
        page: PageId,
        /// Its tree.
        tree: TreeId,
        /// Bytes of the page that a node uses.
        node_bytes: usize,
    },
    /// Removes ghosts.
    ReclaimGhosts {
        /// The leaf.
        page: PageId,
        /// Its tree.
        tree: TreeId,
        /// Their slots before the operation, rising.
        slots: Vec<u16>,
    },
    /// Moves the upper records of `left` to a new foster child `right`.
    Split {
        /// The full node.
        left: PageId,
        /// The new node, which is allocated.
        right: PageId,
        /// Their tree.
        tree: TreeId,
        /// The first slot of `left` that moves.
        slot: usize,
        /// The new node; its low fence becomes the foster key of `left`.
        image: Image<'a>,
    },
    /// Makes the foster child of `child` a child of `parent`.
    Adopt {
        /// The branch above `child`.
        parent: PageId,
        /// The node with the foster child.
        child: PageId,
        /// Their tree.
        tree: TreeId,
        /// The foster child.
        foster: PageId,
        /// The foster key: the new separator, and the new high fence of `child`.
        key: &'a [u8],
    },
    /// Moves the content of `root` to a new node, the only child of `root` from then on.
    GrowRoot {
        /// The root.
        root: PageId,
        /// The new node, which is allocated.
        child: PageId,
        /// Their tree.
        tree: TreeId,
        /// The content of `root`.
        image: Image<'a>,
    },
    /// Moves the content of the only child of `root` to `root`, and frees the child.
    ShrinkRoot {
        /// The root.
        root: PageId,
        /// Its only child.
        child: PageId,
        /// Their tree.
        tree: TreeId,
        /// The content of `child`.
        image: Image<'a>,
    },
    /// Moves the content of `right` to its left neighbour, and frees it.
    Merge {
        /// The branch above both, which loses a separator.
        parent: PageId,
        /// The node that takes over.
        left: PageId,
        /// The node that is freed.
        right: PageId,
        /// Their tree.
        tree: TreeId,
        /// Keep the border between the two as a ghost, if it is no record.
        keep_fence: bool,
        /// The content of `right`.
        image: Image<'a>,
    },
    /// Allocates `page` and writes a chunk of a large value to it.
    WriteOverflow {
        /// The page.
        page: PageId,
        /// The tree that the value belongs to.
        tree: TreeId,
        /// The page of the next chunk.
        next: PageId,
        /// The chunk.
        payload: &'a [u8],
    },
    /// Frees pages to which nothing leads any more; one space-map page covers all of them.
    FreePages {
        /// The tree that they belonged to.
        tree: TreeId,
        /// The pages; at least one.
        pages: Vec<PageId>,
    },
    /// Frees pages at the front of an overflow chain, to which the record then no longer leads;
    /// one space-map page covers all of them. For chains that no transaction may still want back.
    CutChain {
        /// The leaf.
        leaf: PageId,
        /// Its tree.
        tree: TreeId,
        /// The record, or ghost, with the overflow reference.
        slot: usize,
        /// The reference to what is left; when nothing is, the value becomes empty.
        rest: OverflowRef,
        /// The pages; at least one.
        pages: Vec<PageId>,
    },
    /// Takes a tree apart: frees pages below `node` to which it then no longer leads; one
    /// space-map page covers all of them.
    Prune {
        /// The node above.
        node: PageId,
        /// Its tree.
        tree: TreeId,
        /// The number of slots that it keeps.
        keep: usize,
        /// Whether it loses its foster child too.
        drop_foster: bool,
        /// The pages; at least one.
        pages: Vec<PageId>,
    },
}

impl<'a> SystemOp<'a> {
    /// The tree that the operation belongs to.
    pub(super) fn tree(&self) -> Option<TreeId> {
        use SystemOp::*;
        match *self {
            FormatMap { .. } => None,
            FormatRoot { tree, .. }
            | ReclaimGhosts { tree, .. }
            | Split { tree, .. }
            | Adopt { tree, .. }
            | GrowRoot { tree, .. }
            | ShrinkRoot { tree, .. }
            | Merge { tree, .. }
            | WriteOverflow { tree, .. }
            | FreePages { tree, .. }
            | CutChain { tree, .. }
            | Prune { tree, .. } => Some(tree),
        }
    }

    /// The pages it changes, in latch order.
    pub(super) fn pages(&self) -> Touched {
        use SystemOp::*;
        let touched = Touched::default();
        let map = map_page_of;
        match self {
            FormatMap { map } => touched.format(*map),
            FormatRoot { page, .. } | WriteOverflow { page, .. } => {
                touched.format(*page).change(map(*page))
            }
            ReclaimGhosts { page, .. } => touched.change(*page),
            Split { left, right, .. } => touched.change(*left).format(*right).change(map(*right)),
            Adopt { parent, child, .. } => touched.change(*parent).change(*child),
            GrowRoot { root, child, .. } => {
                touched.format(*root).format(*child).change(map(*child))
            }
            ShrinkRoot { root, child, .. } => {
                touched.format(*root).format(*child).change(map(*child))
            }
            Merge { parent, left, right, .. } => {
                touched.change(*parent).change(*left).format(*right).change(map(*right))
            }
            FreePages { pages, .. } => touched.change(map(pages[0])),
            CutChain { leaf: node, pages, .. } | Prune { node, pages, .. } => {
                touched.change(*node).change(map(pages[0]))
            }
        }
    }

    /// Replaces `out` by the body.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        use SystemOp::*;
        match self {
            FormatMap { map } => start(out, FORMAT_MAP, *map),
            FormatRoot { page, tree, node_bytes } => {
                begin(out, FORMAT_ROOT, *page, *tree);
                put_len(out, *node_bytes);
            }
            ReclaimGhosts { page, tree, slots } => {
                begin(out, RECLAIM_GHOSTS, *page, *tree);
                let mut next = 0;
                for &slot in slots {
                    put_number(out, u32::from(slot) - next);
                    next = u32::from(slot) + 1;
                }
            }
            WriteOverflow { page, tree, next, payload } => {
                begin(out, WRITE_OVERFLOW, *page, *tree);
                put_page(out, *next);
                out.extend_from_slice(payload);
            }
            FreePages { tree, pages } => {
                begin(out, FREE_PAGES, pages[0], *tree);
                pages[1..].iter().for_each(|&page| put_page(out, page));
            }
            CutChain { leaf, tree, slot, rest, pages } => {
                begin(out, CUT_CHAIN, *leaf, *tree);
                put_len(out, *slot);
                out.extend_from_slice(&rest.to_bytes());
                pages.iter().for_each(|&page| put_page(out, page));
            }
            Prune { node, tree, keep, drop_foster, pages } => {
                begin(out, PRUNE, *node, *tree);
                put_len(out, *keep);
                out.push(u8::from(*drop_foster));
                pages.iter().for_each(|&page| put_page(out, page));
            }
            Split { .. } | Adopt { .. } | GrowRoot { .. } | ShrinkRoot { .. } | Merge { .. } => {
                self.encode_structural(out);
            }
        }
    }

    /// The part of [`encode`](SystemOp::encode) for what moves records between nodes.
    fn encode_structural(&self, out: &mut Vec<u8>) {
        match self {
            SystemOp::Split { left, right, tree, slot, image } => {
                begin(out, SPLIT, *left, *tree);
                put_len(out, *slot);
                put_page(out, *right);
                out.extend_from_slice(image.bytes());
            }
            SystemOp::Adopt { parent, child, tree, foster, key } => {
                begin(out, ADOPT, *parent, *tree);
                put_page(out, *child);
                put_page(out, *foster);
                out.extend_from_slice(key);
            }
            SystemOp::GrowRoot { root, child, tree, image } => {
                begin(out, GROW_ROOT, *root, *tree);
                put_page(out, *child);
                out.extend_from_slice(image.bytes());
            }
            SystemOp::ShrinkRoot { root, child, tree, image } => {
                begin(out, SHRINK_ROOT, *root, *tree);
                put_page(out, *child);
                out.extend_from_slice(image.bytes());
            }
            SystemOp::Merge { parent, left, right, tree, keep_fence, image } => {
                begin(out, MERGE, *left, *tree);
                put_page(out, *parent);
                put_page(out, *right);
                out.push(u8::from(*keep_fence));
                out.extend_from_slice(image.bytes());
            }
            _ => {}
        }
    }

    /// Reads a body; `None` if it is damaged.
    pub(crate) fn decode(body: &'a [u8]) -> Option<SystemOp<'a>> {
        let mut reader = Reader::new(body);
        let (code, page) = (reader.byte()?, reader.page()?);
        if code == FORMAT_MAP {
            let sound = page == map_page_of(page);
            return reader.end(SystemOp::FormatMap { map: page }).filter(|_| sound);
        }
        let tree = reader.tree()?;
        let op = match code {
            FORMAT_ROOT => SystemOp::FormatRoot { page, tree, node_bytes: reader.len()? },
            RECLAIM_GHOSTS => {
                SystemOp::ReclaimGhosts { page, tree, slots: rising_slots(&mut reader)? }
            }
            WRITE_OVERFLOW => {
                let next = reader.page_or_none()?;
                SystemOp::WriteOverflow { page, tree, next, payload: reader.rest() }
            }
            FREE_PAGES => {
                SystemOp::FreePages { tree, pages: pages_of_one_map(Some(page), &mut reader)? }
            }
            CUT_CHAIN => {
                let slot = reader.len()?;
                let rest = OverflowRef::from_bytes(reader.take(OverflowRef::LEN)?)?;
                let pages = pages_of_one_map(None, &mut reader)?;
                SystemOp::CutChain { leaf: page, tree, slot, rest, pages }
            }
            PRUNE => {
                let (keep, drop_foster) = (reader.len()?, flag(&mut reader)?);
                let pages = pages_of_one_map(None, &mut reader)?;
                SystemOp::Prune { node: page, tree, keep, drop_foster, pages }
            }
            _ => return SystemOp::decode_structural(code, page, tree, reader),
        };
        reader.end(op)
    }

    /// The part of [`decode`](SystemOp::decode) for what moves records between nodes.
    fn decode_structural(
        code: u8,
        page: PageId,
        tree: TreeId,
        mut reader: Reader<'a>,
    ) -> Option<SystemOp<'a>> {
        Some(match code {
            SPLIT => {
                let (slot, right) = (reader.len()?, reader.page()?);
                let image = Image::parse(reader.rest())?;
                SystemOp::Split { left: page, right, tree, slot, image }
            }
            ADOPT => {
                let (child, foster) = (reader.page()?, reader.page()?);
                SystemOp::Adopt { parent: page, child, tree, foster, key: reader.rest() }
            }
            GROW_ROOT => {
                let (child, image) = (reader.page()?, Image::parse(reader.rest())?);
                SystemOp::GrowRoot { root: page, child, tree, image }
            }
            SHRINK_ROOT => {
                let (child, image) = (reader.page()?, Image::parse(reader.rest())?);
                SystemOp::ShrinkRoot { root: page, child, tree, image }
            }
            MERGE => {
                let (parent, right) = (reader.page()?, reader.page()?);
                let keep_fence = flag(&mut reader)?;
                let image = Image::parse(reader.rest())?;
                SystemOp::Merge { parent, left: page, right, tree, keep_fence, image }
            }
            _ => return None,
        })
    }
}

/// Starts the body of an operation of a tree.
fn begin(out: &mut Vec<u8>, code: u8, page: PageId, tree: TreeId) {
    start(out, code, page);
    put_number(out, tree.0);
}

fn put_page(out: &mut Vec<u8>, page: PageId) {
    out.extend_from_slice(&page.0.to_le_bytes());
}

fn flag(reader: &mut Reader<'_>) -> Option<bool> {
    reader.byte().filter(|&byte| byte <= 1).map(|byte| byte == 1)
}

/// Slots that rise strictly, so each number is the distance from the slot expected next.
fn rising_slots(reader: &mut Reader<'_>) -> Option<Vec<u16>> {
    let (mut slots, mut next) = (Vec::new(), 0u32);
    while !reader.is_empty() {
        let slot = next.checked_add(reader.number()?)?;
        slots.push(u16::try_from(slot).ok()?);
        next = slot + 1;
    }
    (!slots.is_empty()).then_some(slots)
}

/// Pages, at least one, that one space-map page covers, and none of which is that page.
fn pages_of_one_map(first: Option<PageId>, reader: &mut Reader<'_>) -> Option<Vec<PageId>> {
    let mut pages: Vec<PageId> = first.into_iter().collect();
    while !reader.is_empty() {
        pages.push(reader.page()?);
    }
    let map = map_page_of(*pages.first()?);
    pages.iter().all(|&page| map_page_of(page) == map && page != map).then_some(pages)
}
