//! Steps of a cursor that passes over what others have locked, and never waits.
//!
//! For a transaction that needs *some* record that no other one works on, such as the next job of a
//! queue.
//!
//! Invariants
//! 1. *Returned is locked.* A record is returned only after its key's lock was granted, in the same
//!    latch hold in which it was read: of two transactions that look at the same time, one gets it.
//! 2. *Nothing else is.* No gap is locked, no ghost, no border: what was passed over, and what is
//!    put before the position later, is simply not seen. Reading again may show more, or less.
//! 3. *No wait.* A lock that is denied is not asked for again in this pass.
//! 4. *What is not there is as durable as what is.* A key may be missing because of a deletion that
//!    committed and is not durable yet. Its ghost, or what its ghost's tag went to when it was
//!    reclaimed (restructure invariant 4), is one of the boundaries that a step passes, and the
//!    step takes the tag of each into account without a lock. So a result that depends on the
//!    deletion ("there is nothing to do") is not delivered before the deletion is durable. The tag
//!    comes with the release, in the bucket's latch hold: a deletion whose tag is not there yet is
//!    locked, and counts as a record that was skipped.
//!
//! A step looks at the records of one leaf in one latch hold, however many of them are locked.
//!
//! Algorithm
//! : `SKIP LOCKED` as database systems with SQL have it; the tags are ours.

use std::ops::Bound;

use clearway_lock::{Outcome, RangeMode};

use super::descend::probe_below;
use super::{Cursor, CursorState, Direction};
use crate::need::Step;
use crate::node::Node;
use crate::{Locks, Tree, Upkeep};

impl Cursor {
    /// From here on the cursor returns only records whose locks are free, or the transaction's own,
    /// and locks nothing but them: see the head of this module.
    pub fn skip_locked(&mut self) {
        self.skips = true;
    }

    /// Goes to the next record that can be locked at once; whether there is one.
    pub(super) fn advance_free<C: Locks + Upkeep>(
        &mut self,
        tree: &Tree,
        ctx: &mut C,
    ) -> Step<bool> {
        while self.state != CursorState::End {
            let found = match self.direction {
                Direction::Ascending => self.pass_up(tree, ctx)?,
                Direction::Descending => self.pass_down(tree, ctx)?,
            };
            if found {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Looks through what is left of one leaf, upwards.
    fn pass_up<C: Locks + Upkeep>(&mut self, tree: &Tree, ctx: &mut C) -> Step<bool> {
        if self.state == CursorState::Start {
            let (key, included) = match &self.lower {
                Bound::Included(key) => (&key[..], true),
                Bound::Excluded(key) => (&key[..], false),
                Bound::Unbounded => (&[][..], true),
            };
            self.position.extend_from_slice(key);
            (self.includes, self.state) = (included, CursorState::Between);
        }
        let (leaf, found) = Cursor::find(&mut self.hint, tree, &self.position)?;
        let node = Node::new(&*leaf);
        let first = match found {
            Ok(slot) => slot + usize::from(!self.includes),
            Err(slot) => slot,
        };
        ctx.check(tree.lock_before(node, first), RangeMode::NN);
        for slot in first..node.count() {
            node.key_into(slot, &mut self.candidate);
            if self.is_above(&self.candidate) {
                self.state = CursorState::End;
                return Ok(false);
            }
            if self.locks(tree, ctx, node, slot) {
                self.hint.slot = slot;
                self.take_record(tree, leaf, slot)?;
                return Ok(true);
            }
        }
        if !node.end_into(&mut self.candidate) || self.is_above(&self.candidate) {
            self.state = CursorState::End;
            return Ok(false);
        }
        if self.candidate <= self.position {
            return Err(tree.misplaced(leaf.id(), "a leaf ends before it begins".into()).into());
        }
        self.report_ghosts(tree, ctx, &leaf);
        self.position.clone_from(&self.candidate);
        self.includes = true;
        Ok(false)
    }

    /// Looks through what is left of one leaf, downwards.
    fn pass_down<C: Locks + Upkeep>(&mut self, tree: &Tree, ctx: &mut C) -> Step<bool> {
        if self.state == CursorState::Start {
            match &self.upper {
                Bound::Included(key) => {
                    self.position.clone_from(key);
                    self.includes = true;
                }
                Bound::Excluded(key) => self.position.clone_from(key),
                Bound::Unbounded => self.at_infinity = true,
            }
            self.state = CursorState::Between;
        }
        if !self.includes && !self.at_infinity && self.ends_below(&self.position) {
            self.state = CursorState::End;
            return Ok(false);
        }
        if self.includes {
            self.probe.clone_from(&self.position);
        } else {
            let position = (!self.at_infinity).then_some(&self.position[..]);
            probe_below(position, tree.limits.key_len_max, &mut self.probe);
        }
        let (leaf, found) = Cursor::find(&mut self.hint, tree, &self.probe)?;
        let node = Node::new(&*leaf);
        let below = match found {
            Ok(slot) => slot + 1,
            Err(slot) => slot,
        };
        for slot in (0..below).rev() {
            node.key_into(slot, &mut self.candidate);
            if self.is_below(&self.candidate) {
                // The gap behind it reaches into the range.
                ctx.check(tree.lock_of(&self.candidate), RangeMode::NN);
                self.state = CursorState::End;
                return Ok(false);
            }
            if self.locks(tree, ctx, node, slot) {
                self.hint.slot = slot;
                self.take_record(tree, leaf, slot)?;
                return Ok(true);
            }
        }
        node.low_fence_into(&mut self.candidate);
        ctx.check(tree.lock_of(&self.candidate), RangeMode::NN);
        let is_progress = self.includes || self.at_infinity || self.candidate < self.position;
        if !is_progress {
            return Err(tree.misplaced(leaf.id(), "a leaf begins behind its end".into()).into());
        }
        self.report_ghosts(tree, ctx, &leaf);
        self.position.clone_from(&self.candidate);
        (self.includes, self.at_infinity) = (false, false);
        Ok(false)
    }

    /// Tries to lock `candidate`, the record at `slot`. Its tag counts in any case (invariant 4).
    fn locks<C: Locks>(&self, tree: &Tree, ctx: &mut C, node: Node<'_, [u8]>, slot: usize) -> bool {
        let id = tree.lock_of(&self.candidate);
        let mode = self.intent.key_mode();
        if !node.is_ghost(slot) && ctx.request(id, mode) == Outcome::Granted {
            return true;
        }
        ctx.check(id, RangeMode::NN);
        false
    }

    /// Whether no key of the range is below `key`.
    fn ends_below(&self, key: &[u8]) -> bool {
        match &self.lower {
            Bound::Included(lower) | Bound::Excluded(lower) => key <= &lower[..],
            Bound::Unbounded => key.is_empty(),
        }
    }
}
