//! Ghost reclamation: the space of deleted records is given back.
//!
//! A ghost may go only if nobody holds or awaits its lock; its tag goes to the boundary before it,
//! in the same latch hold (restructure invariants 3 and 4). So a reader who later finds nothing
//! there locks the gap before, and meets the deleter's commit LSN on it: the read-only anomaly of
//! early lock release does not come back through a forgotten ghost. A reader who has that gap
//! already would not look again: then the ghost stays until the deleter's commit is durable, which
//! is soon, or the gap is free.

use clearway_base::Result;
use clearway_pool::ExclusivePage;

use super::Tree;
use crate::Context;
use crate::node::Node;
use crate::op::SystemOp;
use crate::scratch::Scratch;

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
