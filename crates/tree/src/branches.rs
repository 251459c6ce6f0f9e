//! Branches in memory: for reading ahead the nodes to which they lead, and to keep them there.

use clearway_base::PageId;
use clearway_pool::SharedPage;

use crate::node::{Node, Place};
use crate::{LeafHint, Tree};

/// Upper bound on the nodes of a way, foster children included.
const WAY_MAX: usize = 64;

/// The end of the way to a key, as far as it is in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WayEnd {
    /// The leaf to which the last branch leads. It may be absent, and the key may be in one of its
    /// foster children.
    Leaf(PageId),
    /// A node that is not in memory.
    Absent(PageId),
    /// Something changed on the way.
    Changed,
}

impl Tree {
    /// Calls `visit` with the branches on the way to `key`, from the root on, as far as they do not
    /// change meanwhile. Waits for nothing. Does not look at the leaf, unless it is the root.
    #[inline]
    pub fn visit_branches(&self, key: &[u8], mut visit: impl FnMut(PageId)) -> WayEnd {
        let mut next = self.root;
        for _ in 0..WAY_MAX {
            let Ok(view) = self.pool.optimistic_if_resident(next) else {
                return WayEnd::Absent(next);
            };
            let node = Node::new(&view);
            if node.tree() != self.id {
                return WayEnd::Changed;
            }
            if !node.is_branch() {
                return WayEnd::Leaf(next);
            }
            let level = node.level();
            let foster = node.foster_for(key);
            next = foster.unwrap_or_else(|| node.child_for(key).1);
            if view.validate().is_err() {
                return WayEnd::Changed;
            }
            visit(view.id());
            if level == 1 && foster.is_none() {
                return WayEnd::Leaf(next);
            }
        }
        WayEnd::Changed
    }

    /// Returns the first node on the way to `key` that is not in memory.
    pub fn absent_on_way(&self, key: &[u8]) -> Option<PageId> {
        match self.visit_branches(key, |_| ()) {
            WayEnd::Leaf(page) | WayEnd::Absent(page) => {
                self.pool.optimistic_if_resident(page).is_err().then_some(page)
            }
            WayEnd::Changed => None,
        }
    }

    /// Returns true if `hint` names the leaf of `key` and it is in memory.
    #[inline]
    pub fn is_at(&self, hint: &LeafHint, key: &[u8]) -> bool {
        if hint.page == PageId::NONE {
            return false;
        }
        let Ok(view) = self.pool.optimistic_if_resident(hint.page) else { return false };
        let node = Node::new(&view);
        let is_at = node.is_leaf() && node.tree() == self.id && node.place(key) == Place::Here;
        is_at && view.validate().is_ok()
    }

    /// Latches the branch `parent` if it is in memory, on `level`, and leads to `child`, to read
    /// the nodes beside that ahead. Returns it with the slot of `child`.
    pub(crate) fn resident_branch_to(
        &self,
        parent: PageId,
        child: PageId,
        level: u8,
    ) -> Option<(SharedPage<'_>, usize)> {
        let branch = self.resident_branch(parent, level)?;
        let node = Node::new(&*branch);
        let slot = (0..node.count()).find(|slot| node.child(*slot) == child)?;
        Some((branch, slot))
    }

    /// Latches the branch `page` if it is in memory and on `level`.
    pub(crate) fn resident_branch(&self, page: PageId, level: u8) -> Option<SharedPage<'_>> {
        let branch = self.pool.shared_if_resident(page).ok()?;
        self.is_node_at(&branch, level).then_some(branch)
    }
}
