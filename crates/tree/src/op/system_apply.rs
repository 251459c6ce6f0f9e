//! The effect of each system operation on each of its pages.
//!
//! Every change first asks whether the page is in the state that the operation was logged for (op
//! invariant 2: by looking at this page and the body only); if not, the page is reported damaged.
//!
//! Which page is which is decided by id alone: an operation's pages are distinct, and what is none
//! of its nodes is its space-map page. Where a page's whole content is in the body (a *formatted*
//! page of [`Touched`](super::Touched)) there is nothing to ask: it may hold anything, from a node
//! of a tree long gone to zeros.
//!
//! Why the questions are there although pages and records have checksums: they turn a mistake in
//! forward processing, or a record that is redone on a page of another history, into an error at
//! the first page it meets, instead of a tree that is quietly wrong.

use clearway_base::{PageId, Result};

use super::mismatch;
use super::system::SystemOp;
use crate::node::{Image, Node, NodeMut, Place, mark_freed};
use crate::{overflow, space};

impl SystemOp<'_> {
    /// Makes the operation's change to one of its pages.
    pub(super) fn apply_to(&self, page: PageId, bytes: &mut [u8]) -> Result<()> {
        use SystemOp::*;
        let done = match self {
            FormatMap { map } => page == *map && space::format_map(bytes),
            FormatRoot { page: root, tree, node_bytes } => {
                if page == *root {
                    NodeMut::format(bytes, 0, *tree, *node_bytes, b"", None)
                } else {
                    space::set_allocated(page, bytes, &[*root], true)
                }
            }
            ReclaimGhosts { slots, .. } => self.owns(bytes) && reclaim(bytes, slots),
            WriteOverflow { page: chunk, tree, next, payload } => {
                if page == *chunk {
                    overflow::format_chunk(bytes, *tree, *next, payload)
                } else {
                    space::set_allocated(page, bytes, &[*chunk], true)
                }
            }
            FreePages { pages, .. } => space::set_allocated(page, bytes, pages, false),
            CutChain { leaf, slot, rest, pages, .. } => {
                if page == *leaf {
                    self.owns(bytes) && cut_chain(bytes, *slot, *rest)
                } else {
                    space::set_allocated(page, bytes, pages, false)
                }
            }
            Prune { node, keep, drop_foster, pages, .. } => {
                if page == *node {
                    self.owns(bytes) && NodeMut::new(bytes).prune(*keep, *drop_foster)
                } else {
                    space::set_allocated(page, bytes, pages, false)
                }
            }
            Split { .. } | Adopt { .. } | GrowRoot { .. } | ShrinkRoot { .. } | Merge { .. } => {
                self.apply_structural(page, bytes)
            }
        };
        if done { Ok(()) } else { Err(mismatch(page, self.name())) }
    }

    /// The part of [`apply_to`](SystemOp::apply_to) for what moves records between nodes.
    fn apply_structural(&self, page: PageId, bytes: &mut [u8]) -> bool {
        match self {
            SystemOp::Split { left, right, slot, image, .. } => {
                if page == *left {
                    self.owns(bytes) && split_left(bytes, *slot, *right, *image)
                } else if page == *right {
                    write_image(bytes, *image)
                } else {
                    space::set_allocated(page, bytes, &[*right], true)
                }
            }
            SystemOp::Adopt { parent, child, foster, key, .. } => {
                let link = Node::new(&*bytes).foster_link();
                if !self.owns(bytes) {
                    false
                } else if page == *parent {
                    adopt_into(bytes, key, *foster)
                } else {
                    page == *child
                        && link == Some((*foster, key))
                        && NodeMut::new(bytes).drop_foster()
                }
            }
            SystemOp::GrowRoot { root, child, tree, image } => {
                if page == *root {
                    let (level, size) = (image.level().saturating_add(1), image.node_bytes());
                    NodeMut::format(bytes, level, *tree, size, b"", None)
                        && NodeMut::new(bytes).insert_child(0, b"", *child)
                } else if page == *child {
                    write_image(bytes, *image)
                } else {
                    space::set_allocated(page, bytes, &[*child], true)
                }
            }
            SystemOp::ShrinkRoot { root, child, image, .. } => {
                if page == *root {
                    write_image(bytes, *image)
                } else if page == *child {
                    mark_freed(bytes);
                    true
                } else {
                    space::set_allocated(page, bytes, &[*child], false)
                }
            }
            SystemOp::Merge { parent, left, right, keep_fence, image, .. } => {
                if page == *parent {
                    self.owns(bytes) && forget_child(bytes, image.low_fence(), *right)
                } else if page == *left {
                    self.owns(bytes) && absorb(bytes, *image, *keep_fence)
                } else if page == *right {
                    mark_freed(bytes);
                    true
                } else {
                    space::set_allocated(page, bytes, &[*right], false)
                }
            }
            _ => false,
        }
    }

    /// Whether the page is a node of the operation's tree.
    fn owns(&self, bytes: &[u8]) -> bool {
        let node = Node::new(bytes);
        (node.is_leaf() || node.is_branch()) && Some(node.tree()) == self.tree()
    }

    /// The operation's name, for messages.
    fn name(&self) -> &'static str {
        match self {
            SystemOp::FormatMap { .. } => "a space-map format",
            SystemOp::FormatRoot { .. } => "a root format",
            SystemOp::ReclaimGhosts { .. } => "a ghost reclamation",
            SystemOp::Split { .. } => "a split",
            SystemOp::Adopt { .. } => "an adoption",
            SystemOp::GrowRoot { .. } => "a root growth",
            SystemOp::ShrinkRoot { .. } => "a root shrinkage",
            SystemOp::Merge { .. } => "a merge",
            SystemOp::WriteOverflow { .. } => "an overflow write",
            SystemOp::FreePages { .. } => "a release of pages",
            SystemOp::CutChain { .. } => "a cut of an overflow chain",
            SystemOp::Prune { .. } => "a pruning",
        }
    }
}

fn write_image(bytes: &mut [u8], image: Image<'_>) -> bool {
    image.write_to(bytes);
    true
}

/// From the last to the first, so that the slots stay what they were when they were logged.
fn reclaim(bytes: &mut [u8], slots: &[u16]) -> bool {
    let mut node = NodeMut::new(bytes);
    slots.iter().rev().all(|&slot| {
        let slot = usize::from(slot);
        node.read().is_leaf() && node.read().is_ghost(slot) && node.remove(slot)
    })
}

fn split_left(bytes: &mut [u8], slot: usize, right: PageId, image: Image<'_>) -> bool {
    let mut node = NodeMut::new(bytes);
    let key = image.low_fence();
    slot < node.read().count() && node.read().key(slot) == key && node.truncate(slot, right, key)
}

fn adopt_into(bytes: &mut [u8], key: &[u8], foster: PageId) -> bool {
    let mut node = NodeMut::new(bytes);
    if !node.read().is_branch() || node.read().place(key) != Place::Here {
        return false;
    }
    match node.read().find(key) {
        Ok(_) => false,
        Err(slot) => node.insert_child(slot, key, foster),
    }
}

fn forget_child(bytes: &mut [u8], separator: &[u8], child: PageId) -> bool {
    let mut node = NodeMut::new(bytes);
    match node.read().find(separator) {
        // Slot 0 is never forgotten: its child has no left neighbour under this parent.
        Ok(slot) if slot > 0 && node.read().is_branch() && node.read().child(slot) == child => {
            node.remove(slot)
        }
        _ => false,
    }
}

fn absorb(bytes: &mut [u8], image: Image<'_>, keep_fence: bool) -> bool {
    let mut node = NodeMut::new(bytes);
    if node.read().level() != image.level() {
        return false;
    }
    let right = image.to_page();
    node.absorb(Node::new(&right[..]), keep_fence)
}

fn cut_chain(bytes: &mut [u8], slot: usize, rest: overflow::OverflowRef) -> bool {
    let mut node = NodeMut::new(bytes);
    if slot >= node.read().count() || !node.read().is_overflow(slot) {
        return false;
    }
    if rest.is_empty() {
        node.set_overflow(slot, false);
        return node.set_value(slot, &[]);
    }
    node.set_value(slot, &rest.to_bytes())
}
