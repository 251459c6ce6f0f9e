//! Ghost reclamation: the space of deleted records is given back.
//!
//! A ghost may go only if nobody holds or awaits its lock; its tag goes to the boundary before it,
//! in the same latch hold (restructure invariants 3 and 4). So a reader who later finds nothing
//! there locks the gap before, and meets the deleter's commit LSN on it: the read-only anomaly of
//! early lock release does not come back through a forgotten ghost. A reader who has that gap
//! already would not look again: then the ghost stays until the deleter's commit is durable, which
//! is soon, or the gap is free.

use clearway_base::Result;
use clearway_pool::{ExclusivePage, SharedPage};

use super::Tree;
use crate::node::Node;
use crate::op::SystemOp;
use crate::scratch::Scratch;
use crate::{Context, LeafHint};

impl Tree {
    /// Removes the ghosts of a latched leaf that nobody needs, but not that of `except`; whether
    /// there were any. The caller has reserved log space.
    pub(crate) fn reclaim<C: Context>(
        &self,
        ctx: &mut C,
        leaf: &mut ExclusivePage<'_>,
        except: Option<&[u8]>,
    ) -> Result<bool> {
        let node = Node::new(&**leaf);
        if node.ghost_count() == 0 {
            return Ok(false);
        }
        let slots = self.reclaimable(ctx, node, except);
        if slots.is_empty() {
            return Ok(false);
        }
        let op = SystemOp::ReclaimGhosts { page: leaf.id(), tree: self.id, slots };
        Tree::perform_system(ctx, op, &mut [leaf])?;
        Ok(true)
    }

    /// What the bug [`GhostPeeked`](clearway_base::zoo::Bug::GhostPeeked) does: asks which ghosts
    /// may go under a latch that keeps no reader out, and lets even that go before it removes them.
    #[cold]
    pub(crate) fn reclaim_peeked<C: Context>(
        &self,
        ctx: &mut C,
        hint: &mut LeafHint,
        key: &[u8],
    ) -> Result<()> {
        let (lsn, slots) = {
            let leaf: SharedPage<'_> = self.leaf(key, hint, &mut None)?;
            (leaf.page_lsn(), self.reclaimable(ctx, Node::new(&*leaf), None))
        };
        let mut leaf: ExclusivePage<'_> = self.leaf(key, hint, &mut None)?;
        if leaf.page_lsn() != lsn || slots.is_empty() {
            return Ok(());
        }
        let op = SystemOp::ReclaimGhosts { page: leaf.id(), tree: self.id, slots };
        Tree::perform_system(ctx, op, &mut [&mut leaf])
    }

    /// The slots of the ghosts that may go. Their tags are handed on already: a tag that is too
    /// high makes somebody wait a little longer, and does no other harm.
    fn reclaimable<C: Context>(
        &self,
        ctx: &mut C,
        node: Node<'_, [u8]>,
        except: Option<&[u8]>,
    ) -> Vec<u16> {
        let mut scratch = Scratch::borrow();
        let mut slots = Vec::new();
        let fence = self.lock_of(node.low_fence());
        let mut kept = fence;
        for slot in 0..node.count() {
            node.key_into(slot, &mut scratch.key);
            let id = self.lock_of(&scratch.key);
            // The low fence stays a boundary without its record, under the same identity.
            let goes = node.is_ghost(slot)
                && except != Some(&scratch.key[..])
                && ctx.ghost_is_free(id)
                && (id == fence || ctx.inherit_tag(id, kept));
            if goes {
                slots.push(slot as u16);
            } else {
                kept = id;
            }
        }
        slots
    }
}
