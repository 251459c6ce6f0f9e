//! Read-ahead: a cursor that comes to an absent leaf needs the leaves behind it at the same time.
//! So the disk serves many reads together, and adjacent pages in one.
//!
//! ```text
//!   absent leaf ── need of a window of leaves ──► the first leaf of a window
//!                                                   │ has the window after the next one read,
//!                                                   ▼ without waiting
//!                                                 its last leaf, and so on: the disk is never idle
//! ```
//!
//! The leaves are those that one branch leads to, in the cursor's direction and within its range.
//! The size of the window doubles with each window: a cursor that reads a few records reads few
//! leaves, one that goes through a table up to [`LEAVES_MAX`] at a time. From [`LEAVES_STEADY`] on,
//! the next two windows are read while the cursor goes through the present one: with one alone, the
//! device would have nothing to do while its reads are begun. The window behind the last leaf of a
//! branch begins with the first leaf of the next branch; if that branch is absent, it is read
//! ahead, too. Foster children are not read ahead; upkeep has their parents adopt them.
//!
//! Nothing depends on what was read ahead: the leaves are not pinned, and one that is evicted again
//! is an absent leaf.

use std::ops::Bound;

use clearway_base::PageId;

use super::descend::probe_below;
use super::{Cursor, Direction};
use crate::Tree;
use crate::need::{Incomplete, Need};
use crate::node::Node;

/// Leaves of a window: 1 MiB, which is eight reads of a device if they are adjacent, and twice
/// those that the I/O queue has in flight if they are not.
const LEAVES_MAX: u8 = 128;
/// A window of at least as many leaves is followed by others.
const LEAVES_STEADY: u8 = 8;

/// The windows of leaves that were read ahead.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadAhead {
    /// The number of leaves of the next window.
    count: u8,
    /// The branch that leads to the last window's leaves, and the last of these.
    parent: PageId,
    last: PageId,
    /// The leaf from which on the next window is to be read; `NONE` if none is.
    trigger: PageId,
    /// The leaf that will be the trigger after that: the first of the last window.
    next_trigger: PageId,
}

impl Default for ReadAhead {
    fn default() -> ReadAhead {
        let none = PageId::NONE;
        ReadAhead { count: 1, parent: none, last: none, trigger: none, next_trigger: none }
    }
}

impl ReadAhead {
    /// Returns true if the cursor's present leaf triggers the next window.
    #[inline]
    pub(super) fn is_triggered_by(&self, leaf: PageId) -> bool {
        leaf == self.trigger && leaf != PageId::NONE
    }

    /// Returns true if a window that begins with this leaf was requested.
    fn is_first_requested(&self, leaf: PageId) -> bool {
        leaf != PageId::NONE && (leaf == self.trigger || leaf == self.next_trigger)
    }

    /// Notes a window that the cursor waits for. Its first leaf triggers the next one.
    fn begin(&mut self, parent: PageId, window: &[PageId]) {
        let is_steady = self.count >= LEAVES_STEADY;
        self.note(parent, window);
        self.trigger = if is_steady { self.next_trigger } else { PageId::NONE };
    }

    /// Lets `leaf` trigger what the present leaf could not; without one, the next trigger does.
    fn put_off(&mut self, present: PageId, leaf: Option<PageId>) {
        if self.next_trigger == present {
            self.next_trigger = leaf.unwrap_or(PageId::NONE);
        }
        self.trigger = leaf.unwrap_or(self.next_trigger);
    }

    /// Notes the window behind the last one. The next one is twice as large.
    fn note(&mut self, parent: PageId, window: &[PageId]) {
        self.parent = parent;
        self.last = window.last().copied().unwrap_or(PageId::NONE);
        self.trigger = self.next_trigger;
        self.next_trigger = window.first().copied().unwrap_or(PageId::NONE);
        self.count = self.count.saturating_mul(2).min(LEAVES_MAX);
    }
}

impl Tree {
    /// Returns the branch above the leaf of `key`, and that leaf; or the absent page on the way to
    /// them, if there is one.
    fn branch_of(&self, key: &[u8]) -> Result<(PageId, PageId), Option<PageId>> {
        match self.locate(key, 1, &mut None).map_err(Incomplete::need) {
            Ok(Some(at)) => {
                let branch = self.resident_branch(at.page, 1).ok_or(Some(at.page))?;
                Ok((at.page, Node::new(&*branch).child_for(key).1))
            }
            Err(Ok(Need::Page(absent))) => Err(Some(absent)),
            Ok(None) | Err(_) => Err(None),
        }
    }
}

impl Cursor {
    /// Adds the leaves behind an absent leaf to the need for that leaf.
    #[cold]
    pub(super) fn read_ahead(&mut self, tree: &Tree, incomplete: Incomplete) -> Incomplete {
        match incomplete.need() {
            // Its window was requested, and it is not there yet: it is being read, or the loader
            // has not come to it.
            Ok(Need::Page(page))
                if tree.pool.is_loading(page) || self.read_ahead.is_first_requested(page) =>
            {
                Need::Page(page).into()
            }
            Ok(Need::Page(page)) => {
                let parent = self.hint.resume.filter(|at| at.page == page && !at.is_foster);
                let Some(parent) = parent.map(|at| at.above) else {
                    return Need::Page(page).into();
                };
                let window = self.leaves_from(tree, parent, page);
                if window.is_empty() {
                    return Need::Page(page).into();
                }
                self.read_ahead.begin(parent, &window);
                Need::Pages(window).into()
            }
            Ok(need) => need.into(),
            Err(error) => error.into(),
        }
    }

    /// Has the windows behind the last one read, without waiting for them, up to the second behind
    /// the one that the cursor goes through now.
    #[cold]
    pub(super) fn read_next_windows(&mut self, tree: &Tree) {
        self.read_next_window(tree);
        if self.read_ahead.is_triggered_by(self.hint.page) {
            self.read_next_window(tree);
        }
    }

    fn read_next_window(&mut self, tree: &Tree) {
        let ReadAhead { parent, last, .. } = self.read_ahead;
        match self.leaves_from(tree, parent, last).get(1..) {
            // Without the last leaf of the last window.
            Some(window @ [_, ..]) => {
                self.read_ahead.note(parent, window);
                tree.pool.load_ahead(window);
            }
            _ => self.read_next_branch(tree),
        }
    }

    /// Has the first window of the next branch read, or the next branch: then the cursor's way
    /// through what is left of the present window triggers the next attempt.
    fn read_next_branch(&mut self, tree: &Tree) {
        let ReadAhead { parent, .. } = self.read_ahead;
        let mut key = std::mem::take(&mut self.probe);
        let next = self.key_behind(tree, parent, &mut key).then(|| tree.branch_of(&key));
        self.probe = key;
        match next {
            Some(Ok((branch, leaf))) if branch != parent => {
                let window = self.leaves_from(tree, branch, leaf);
                self.read_ahead.note(branch, &window);
                tree.pool.load_ahead(&window);
            }
            Some(Err(Some(absent))) => {
                tree.pool.load_ahead(&[absent]);
                let here = tree.branch_of(&self.position).map_or(PageId::NONE, |(here, _)| here);
                let mut rest = self.leaves_from(tree, here, self.hint.page);
                // Not beyond the next trigger, which would then be passed without effect.
                let is_next = |leaf: &PageId| *leaf == self.read_ahead.next_trigger;
                if let Some(at) = rest.iter().skip(1).position(is_next) {
                    rest.truncate(at + 1);
                }
                let middle = rest.get((rest.len() / 2).max(1)).copied();
                self.read_ahead.put_off(self.hint.page, middle);
            }
            _ => self.read_ahead.trigger = PageId::NONE,
        }
    }

    /// Replaces `key` by one that belongs to the branch behind `parent`, in the cursor's direction.
    /// Returns false if there is none in the range, or if `parent` is not in memory.
    fn key_behind(&self, tree: &Tree, parent: PageId, key: &mut Vec<u8>) -> bool {
        let Some(branch) = tree.resident_branch(parent, 1) else { return false };
        let node = Node::new(&*branch);
        if self.direction == Direction::Ascending {
            return node.end_into(key) && !self.is_beyond(key);
        }
        let border = node.low_fence();
        probe_below(Some(border), tree.limits.key_len_max, key);
        !border.is_empty() && !self.is_beyond(border)
    }

    /// Returns the leaves below `parent` from one on, as many as the window has and the range
    /// includes; none if the parent is not in memory or does not lead to that leaf.
    fn leaves_from(&mut self, tree: &Tree, parent: PageId, leaf: PageId) -> Vec<PageId> {
        let Some((parent, first)) = tree.resident_branch_to(parent, leaf, 1) else {
            return Vec::new();
        };
        let node = Node::new(&*parent);
        let most = usize::from(self.read_ahead.count).min(tree.pool.read_ahead_max());
        let mut leaves = vec![leaf];
        let mut key = std::mem::take(&mut self.probe);
        for n in 1..most {
            let (next, border) = match self.direction {
                Direction::Ascending => (Some(first + n), first + n),
                Direction::Descending => (first.checked_sub(n), first + 1 - n),
            };
            let Some(next) = next.filter(|next| *next < node.count()) else { break };
            node.key_into(border, &mut key);
            if self.is_beyond(&key) {
                break;
            }
            leaves.push(node.child(next));
        }
        self.probe = key;
        leaves
    }

    /// Whether the range ends at or before `border`, the low fence of a leaf, in the cursor's
    /// direction.
    fn is_beyond(&self, border: &[u8]) -> bool {
        match (self.direction, &self.lower) {
            (Direction::Ascending, _) => self.is_above(border),
            (_, Bound::Included(lower) | Bound::Excluded(lower)) => border <= &lower[..],
            (_, Bound::Unbounded) => false,
        }
    }
}
