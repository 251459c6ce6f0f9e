//! Steps of an ascending cursor.
//!
//! The start locks the lower bound, or the gap that it falls into; from then on the gap from the
//! position to the next boundary is always locked (cursor invariant 1), so the next boundary cannot
//! move nearer while no latch is held. It can move away: if a ghost is reclaimed, or a merge
//! removes a fence, and no transaction has a lock on that key, the gap extends to the next
//! boundary, and the lock covers all of it. The step never requests a lock on the removed key, so
//! the tag of that key must be durable by then (restructure invariant 4).

use std::ops::Bound;

use clearway_lock::{Outcome, Part, RangeMode};
use clearway_pool::SharedPage;

use super::{Cursor, CursorState, Look};
use crate::locking::LockWaitState;
use crate::need::Step;
use crate::node::Node;
use crate::{Locks, Tree, Upkeep};

impl Cursor {
    pub(super) fn ascend<C: Locks + Upkeep>(
        &mut self,
        tree: &Tree,
        ctx: &mut C,
        waited: &mut LockWaitState,
    ) -> Step<Look> {
        if self.state == CursorState::Start {
            self.ascend_start(tree, ctx, waited)
        } else {
            self.ascend_next(tree, ctx, waited)
        }
    }

    /// Locks the lower bound, or the gap it falls into.
    fn ascend_start<C: Locks + Upkeep>(
        &mut self,
        tree: &Tree,
        ctx: &mut C,
        waited: &mut LockWaitState,
    ) -> Step<Look> {
        let (key, included) = match &self.lower {
            Bound::Included(key) => (&key[..], true),
            Bound::Excluded(key) => (&key[..], false),
            // The first key there can be.
            Bound::Unbounded => (&[][..], true),
        };
        let (leaf, found) = Cursor::find(&mut self.hint, tree, key)?;
        let node = Node::new(&*leaf);
        let is_boundary = found.is_ok() || node.low_fence() == key;
        self.candidate.clear();
        self.candidate.extend_from_slice(key);
        if is_boundary && included {
            let mode = self.ascending_mode(node, found.ok());
            return self.take(tree, ctx, waited, leaf, (found.ok(), mode));
        }
        // An excluded bound that is there gives its own gap; an absent bound is in the gap before
        // it, and the position is the bound itself: what lies between the two is not in the range.
        let (Ok(slot) | Err(slot)) = found;
        let id = if is_boundary { tree.lock_of(key) } else { tree.lock_before(node, slot) };
        if ctx.request(id, RangeMode::NS) == Outcome::Denied {
            let name = match is_boundary {
                true => tree.name_of(key),
                false => tree.name_before(node, slot),
            };
            return Err(waited.lacks(ctx, id, RangeMode::NS, name));
        }
        waited.keep_only(ctx, id);
        self.state = CursorState::Between;
        self.position.clone_from(&self.candidate);
        Ok(Look::Moved)
    }

    /// Goes to the boundary after `position`.
    fn ascend_next<C: Locks + Upkeep>(
        &mut self,
        tree: &Tree,
        ctx: &mut C,
        waited: &mut LockWaitState,
    ) -> Step<Look> {
        let (leaf, found) = Cursor::find(&mut self.hint, tree, &self.position)?;
        let node = Node::new(&*leaf);
        let slot = match found {
            Ok(slot) => slot + 1,
            Err(slot) => slot,
        };
        if slot < node.count() {
            node.key_into(slot, &mut self.candidate);
            return self.ascend_to(tree, ctx, waited, leaf, Some(slot));
        }
        // Nothing behind it in this leaf. The gap is locked up to the leaf's end, so if that is
        // plus infinity, or past the range, all is done without a look at the next leaf.
        if !node.end_into(&mut self.candidate) || self.is_above(&self.candidate) {
            return Ok(Look::End);
        }
        // The boundary is the low fence of the next leaf, and is locked under that leaf's latch.
        // No transaction can insert a key before it meanwhile: the gap is locked (invariant 1).
        drop(leaf);
        let (leaf, found) = Cursor::find(&mut self.hint, tree, &self.candidate)?;
        let node = Node::new(&*leaf);
        if found.is_err() && node.low_fence() != self.candidate {
            return Ok(Look::Moved); // Merged away, no record: look again from the position.
        }
        self.ascend_to(tree, ctx, waited, leaf, found.ok())
    }

    /// Takes `candidate`, unless it is past the end.
    fn ascend_to<C: Locks + Upkeep>(
        &mut self,
        tree: &Tree,
        ctx: &mut C,
        waited: &mut LockWaitState,
        leaf: SharedPage<'_>,
        slot: Option<usize>,
    ) -> Step<Look> {
        if self.is_above(&self.candidate) {
            return Ok(Look::End);
        }
        let mode = self.ascending_mode(Node::new(&*leaf), slot);
        self.take(tree, ctx, waited, leaf, (slot, mode))
    }

    /// The gap after `candidate` is locked too, unless the range ends right there.
    fn ascending_mode(&self, node: Node<'_, [u8]>, slot: Option<usize>) -> RangeMode {
        let is_last = matches!(&self.upper, Bound::Included(key) if *key == self.candidate);
        self.mode_of(node, slot, if is_last { Part::N } else { Part::S })
    }

    /// Whether `key` is beyond the upper bound.
    pub(super) fn is_above(&self, key: &[u8]) -> bool {
        match &self.upper {
            Bound::Included(upper) => key > &upper[..],
            Bound::Excluded(upper) => key >= &upper[..],
            Bound::Unbounded => false,
        }
    }
}
