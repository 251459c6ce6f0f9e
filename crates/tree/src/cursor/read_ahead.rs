//! Read-ahead: a cursor that comes to an absent leaf needs the leaves behind it at the same time.
//! So the disk serves many reads together, and adjacent pages in one.
//!
//! The leaves are those that the same branch leads to, in the cursor's direction and within its
//! range. Each time the cursor comes to an absent leaf, their number doubles: one that reads a few
//! records reads few leaves, one that goes through a table up to [`LEAVES_MAX`] at a time. Foster
//! children are not read ahead; upkeep has their parents adopt them.
//!
//! Nothing depends on what was read ahead: the leaves are not pinned, and one that is evicted again
//! is an absent leaf.

use std::ops::Bound;

use clearway_base::PageId;

use super::{Cursor, Direction};
use crate::Tree;
use crate::need::{Incomplete, Need};
use crate::node::Node;

/// Leaves of one need: a quarter of a MiB, which is two reads of a device if they are adjacent, and
/// half of those that the read queue has in flight if they are not.
const LEAVES_MAX: usize = 32;

/// The number of leaves that the next need includes.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadAhead(usize);

impl Default for ReadAhead {
    fn default() -> ReadAhead {
        ReadAhead(1)
    }
}

impl Cursor {
    /// Adds the leaves behind an absent leaf to the need for that leaf.
    #[cold]
    pub(super) fn read_ahead(&mut self, tree: &Tree, incomplete: Incomplete) -> Incomplete {
        match incomplete.need() {
            Ok(Need::Page(page)) => {
                let leaves = self.leaves_from(tree, page);
                if leaves.is_empty() {
                    return Need::Page(page).into();
                }
                self.read_ahead.0 = (2 * self.read_ahead.0).min(LEAVES_MAX);
                Need::Pages(leaves).into()
            }
            Ok(need) => need.into(),
            Err(error) => error.into(),
        }
    }

    /// Returns the leaves from an absent one on; none if the page is no leaf whose parent is in
    /// memory.
    fn leaves_from(&mut self, tree: &Tree, leaf: PageId) -> Vec<PageId> {
        let parent = self.hint.resume.filter(|at| at.page == leaf && !at.is_foster);
        let Some(Ok(parent)) = parent.map(|at| tree.pool.shared_if_resident(at.above)) else {
            return Vec::new();
        };
        let node = Node::new(&*parent);
        if !tree.is_node_at(&parent, 1) {
            return Vec::new();
        }
        let Some(first) = (0..node.count()).find(|slot| node.child(*slot) == leaf) else {
            return Vec::new();
        };
        let most = self.read_ahead.0.min(tree.pool.read_ahead_max());
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
