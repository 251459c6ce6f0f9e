//! Steps of a descending cursor.
//!
//! A leaf owns its low fence and everything above, so the leaf *before* a position cannot be asked
//! for by that position itself. It is asked for by a key that lies between the position and every
//! valid key below it ([`probe_below`]); then descents, hints and searches work as for any key.
//! Where the hint still names the position's slot, and that is not the leaf's first, the boundary
//! before it is in the slot before.

use std::ops::Bound;

use clearway_lock::{Outcome, Part, RangeMode};
use clearway_pool::SharedPage;

use super::{Cursor, CursorState, Look};
use crate::locking::LockWaitState;
use crate::need::Step;
use crate::node::Node;
use crate::{Locks, Tree, Upkeep};

impl Cursor {
    pub(super) fn descend<C: Locks + Upkeep>(
        &mut self,
        tree: &Tree,
        ctx: &mut C,
        waited: &mut LockWaitState,
    ) -> Step<Look> {
        if self.state == CursorState::Start {
            match &self.upper {
                Bound::Included(_) => return self.descend_from_key(tree, ctx, waited),
                Bound::Excluded(key) => self.position.clone_from(key),
                Bound::Unbounded => self.at_infinity = true,
            }
            self.state = CursorState::Between;
        }
        self.descend_next(tree, ctx, waited)
    }

    /// Locks the upper bound itself, if it is there: the gap behind it is out of the range.
    fn descend_from_key<C: Locks + Upkeep>(
        &mut self,
        tree: &Tree,
        ctx: &mut C,
        waited: &mut LockWaitState,
    ) -> Step<Look> {
        let Bound::Included(key) = &self.upper else { return Ok(Look::Moved) };
        let (leaf, found) = Cursor::find(&mut self.hint, tree, key)?;
        let node = Node::new(&*leaf);
        if let Err(below) = found
            && node.low_fence() != *key
        {
            // Absent: the gap that it is in is locked together with the key before, which this
            // leaf has. In one latch hold, or the bound could become a key in between.
            return self.descend_to(tree, ctx, waited, leaf, below);
        }
        self.candidate.clone_from(key);
        let mode = self.mode_of(node, found.ok(), Part::N);
        self.take(tree, ctx, waited, leaf, (found.ok(), mode))
    }

    /// Goes to the boundary before `position`.
    fn descend_next<C: Locks + Upkeep>(
        &mut self,
        tree: &Tree,
        ctx: &mut C,
        waited: &mut LockWaitState,
    ) -> Step<Look> {
        if !self.at_infinity && self.is_at_lower_end() {
            return Ok(Look::End);
        }
        if !self.at_infinity
            && self.hint.slot > 0
            && let Some(leaf) = tree.leaf_with(&self.position, &self.hint)
        {
            let below = self.hint.slot;
            return self.descend_to(tree, ctx, waited, leaf, below);
        }
        let position = (!self.at_infinity).then_some(&self.position[..]);
        probe_below(position, tree.limits.key_len_max, &mut self.probe);
        let (leaf, found) = Cursor::find(&mut self.hint, tree, &self.probe)?;
        let below = match found {
            Ok(slot) => slot + 1,
            Err(slot) => slot,
        };
        self.descend_to(tree, ctx, waited, leaf, below)
    }

    /// Takes the last of the first `below` records of `leaf`, or its low fence if there are none;
    /// if that is past the end, only its gap.
    fn descend_to<C: Locks + Upkeep>(
        &mut self,
        tree: &Tree,
        ctx: &mut C,
        waited: &mut LockWaitState,
        leaf: SharedPage<'_>,
        below: usize,
    ) -> Step<Look> {
        let node = Node::new(&*leaf);
        let slot = below.checked_sub(1);
        match slot {
            Some(slot) => node.key_into(slot, &mut self.candidate),
            None => node.low_fence_into(&mut self.candidate),
        }
        if self.is_below(&self.candidate) {
            // The gap of the last boundary reaches into the range.
            let id = tree.lock_of(&self.candidate);
            if ctx.request(id, RangeMode::NS) == Outcome::Denied {
                let name = tree.name_of(&self.candidate);
                return Err(waited.lacks(ctx, id, RangeMode::NS, name));
            }
            waited.keep_only(ctx, id);
            return Ok(Look::End);
        }
        let mode = self.mode_of(node, slot, Part::S);
        self.take(tree, ctx, waited, leaf, (slot, mode))
    }

    /// Whether nothing of the range is below `position`.
    fn is_at_lower_end(&self) -> bool {
        match &self.lower {
            Bound::Included(lower) => self.position <= *lower,
            Bound::Excluded(_) => false, // The gap above the bound is still to be locked.
            Bound::Unbounded => self.position.is_empty(),
        }
    }

    /// Whether `key` is beyond the lower bound.
    pub(super) fn is_below(&self, key: &[u8]) -> bool {
        match &self.lower {
            Bound::Included(lower) => key < &lower[..],
            Bound::Excluded(lower) => key <= &lower[..],
            Bound::Unbounded => false,
        }
    }
}

/// Replaces `probe` by a key that is above every valid key below `position` and itself below
/// `position`; `None` is plus infinity. "Valid" is at most `key_len_max` bytes long.
///
/// - `p·00` has an immediate predecessor, `p`.
/// - For `p·c`, every valid key below it is below `p·(c−1)·FF FF …` as soon as that is longer than
///   any valid key.
/// - A position longer than a valid key is no valid key, so it will do itself.
pub(super) fn probe_below(position: Option<&[u8]>, key_len_max: usize, probe: &mut Vec<u8>) {
    probe.clear();
    probe.extend_from_slice(position.unwrap_or(&[]));
    match position {
        Some(key) if key.len() > key_len_max => {}
        Some([.., 0]) => {
            probe.pop();
        }
        Some([.., _]) => {
            *probe.last_mut().expect("not empty") -= 1;
            probe.resize(key_len_max + 1, 0xFF);
        }
        // Below the empty key there is nothing; the callers never ask.
        Some([]) => {}
        None => probe.resize(key_len_max + 1, 0xFF),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probe_separates_a_position_from_every_key_below() {
        let keys: Vec<Vec<u8>> = (0..5u32.pow(3))
            .flat_map(|n| {
                let digits = [n % 5, n / 5 % 5, n / 25].map(|d| [0, 1, 127, 254, 255][d as usize]);
                (0..=3).map(move |len| digits[..len].to_vec())
            })
            .collect();
        let mut probe = Vec::new();
        for position in keys.iter().filter(|key| !key.is_empty()) {
            probe_below(Some(position), 3, &mut probe);
            assert!(probe < *position);
            assert!(keys.iter().all(|key| key >= position || *key <= probe), "{position:?}");
        }
        probe_below(None, 3, &mut probe);
        assert!(keys.iter().all(|key| *key < probe));
    }
}
