//! Branches in memory, for reading ahead the nodes to which they lead.

use clearway_base::PageId;
use clearway_pool::SharedPage;

use crate::Tree;
use crate::node::Node;

impl Tree {
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
