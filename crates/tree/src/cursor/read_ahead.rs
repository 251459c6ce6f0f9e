//! Read-ahead: a cursor that comes to an absent leaf needs the leaves behind it at the same time.
//! So the disk serves many reads together, and adjacent pages in one.
//!
//! ```text
//!   absent leaf ── need of a window of leaves ──► the first leaf of a window
//!                                                   │ has the next window read, without waiting
//!                                                   ▼
//!                                                 its last leaf, and so on: the disk is never idle
//! ```
//!
//! The leaves are those that the same branch leads to, in the cursor's direction and within its
//! range. Each time the cursor comes to an absent leaf, the size of the window doubles: one that
//! reads a few records reads few leaves, one that goes through a table up to [`LEAVES_MAX`] at a
//! time. From [`LEAVES_STEADY`] on, the next window is read while the cursor goes through the
//! present one. Foster children are not read ahead; upkeep has their parents adopt them.
//!
//! Nothing depends on what was read ahead: the leaves are not pinned, and one that is evicted again
//! is an absent leaf.

use std::ops::Bound;

use clearway_base::PageId;

use super::{Cursor, Direction};
use crate::Tree;
use crate::need::{Incomplete, Need};
use crate::node::Node;

/// Leaves of a window: a quarter of a MiB, which is two reads of a device if they are adjacent, and
/// half of those that the read queue has in flight if they are not.
const LEAVES_MAX: u8 = 32;
/// A window of as many leaves is followed by another.
const LEAVES_STEADY: usize = 8;

/// The window of leaves that were read ahead.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadAhead {
    /// The number of leaves of the next window.
    count: u8,
    /// The branch that leads to the window's leaves, and the last of these.
    parent: PageId,
    last: PageId,
    /// The leaf from which on the next window is to be read; `NONE` if none is.
    trigger: PageId,
}

impl Default for ReadAhead {
    fn default() -> ReadAhead {
        let none = PageId::NONE;
        ReadAhead { count: 1, parent: none, last: none, trigger: none }
    }
}

impl ReadAhead {
    /// Returns true if the cursor's present leaf triggers the next window.
    #[inline]
    pub(super) fn is_triggered_by(&self, leaf: PageId) -> bool {
        leaf == self.trigger && leaf != PageId::NONE
    }

    /// Notes a window.
    fn note(&mut self, parent: PageId, window: &[PageId]) {
        self.parent = parent;
        self.last = window.last().copied().unwrap_or(PageId::NONE);
        let is_steady = window.len() >= LEAVES_STEADY;
        self.trigger = window.first().copied().filter(|_| is_steady).unwrap_or(PageId::NONE);
    }
}

impl Cursor {
    /// Adds the leaves behind an absent leaf to the need for that leaf.
    #[cold]
    pub(super) fn read_ahead(&mut self, tree: &Tree, incomplete: Incomplete) -> Incomplete {
        match incomplete.need() {
            // Its window was requested, and it is not there yet.
            Ok(Need::Page(page)) if tree.pool.is_loading(page) => Need::Page(page).into(),
            Ok(Need::Page(page)) => {
                let parent = self.hint.resume.filter(|at| at.page == page && !at.is_foster);
                let Some(parent) = parent.map(|at| at.above) else {
                    return Need::Page(page).into();
                };
                let window = self.leaves_from(tree, parent, page);
                if window.is_empty() {
                    return Need::Page(page).into();
                }
                self.read_ahead.note(parent, &window);
                self.read_ahead.count = (2 * self.read_ahead.count).min(LEAVES_MAX);
                Need::Pages(window).into()
            }
            Ok(need) => need.into(),
            Err(error) => error.into(),
        }
    }

    /// Has the window behind the present one read, without waiting for it.
    #[cold]
    pub(super) fn read_next_window(&mut self, tree: &Tree) {
        let ReadAhead { parent, last, .. } = self.read_ahead;
        let window = self.leaves_from(tree, parent, last);
        // Without the last leaf of the present window.
        let window = window.get(1..).unwrap_or_default();
        self.read_ahead.note(parent, window);
        tree.pool.load_ahead(window);
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
