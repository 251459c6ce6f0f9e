//! Branches in memory: for reading ahead the nodes to which they lead, and to keep them there.

use clearway_base::PageId;
use clearway_pool::SharedPage;

use crate::Tree;
use crate::node::{Node, Place};

/// Upper bound on the nodes of a way, foster children included.
const WAY_MAX: usize = 64;

impl Tree {
    /// Calls `visit` with the branches on the way to `key`, from the root on, as far as they do not
    /// change meanwhile. Waits for nothing: if a node is not in memory, it returns its page.
    pub fn visit_branches(&self, key: &[u8], mut visit: impl FnMut(PageId)) -> Option<PageId> {
        let mut next = self.root;
        for _ in 0..WAY_MAX {
            let Ok(view) = self.pool.optimistic_if_resident(next) else { return Some(next) };
            let node = Node::new(&view);
            if !node.is_branch() || node.tree() != self.id {
                return None;
            }
            next = match node.place(key) {
                Place::Foster(foster) => foster,
                _ => node.child_for(key).1,
            };
            if view.validate().is_err() {
                return None;
            }
            visit(view.id());
        }
        None
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
