//! Ghost reclamation: the space of deleted records is given back.
//!
//! A ghost may go only if no transaction holds or awaits its lock, and its tag is passed to the
//! boundary before it, in the same latch hold (restructure invariants 3 and 4). So a reader that
//! later finds the key absent locks the gap before it and meets the tag of the deletion there, and
//! is not acknowledged before the deletion is durable. Another transaction that already holds a
//! lock on that boundary would not read the tag again. So while one holds or awaits such a lock,
//! the ghost stays until the deletion is durable.

use clearway_base::Result;
use clearway_pool::ExclusivePage;

use super::Tree;
use crate::node::Node;
use crate::op::SystemOp;
use crate::scratch::Scratch;
use crate::{Environment, Locks, Upkeep};

impl Tree {
    /// Removes the ghosts of a latched leaf that no transaction needs, but not that of `except`.
    /// Returns true if it removed any. The caller has reserved log space.
    pub(crate) fn reclaim<C: Environment>(
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

    /// Passes on the tags of the ghosts that may go, and returns their slots. If one of them stays
    /// then, a tag is too high, which can only delay the delivery of a result.
    fn reclaimable<C: Locks + Upkeep>(
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
