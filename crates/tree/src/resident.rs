//! Pages in memory, as a step gets them: an absent page is a [`Need`](crate::Need).

use clearway_base::PageId;
use clearway_pool::{ExclusivePage, NotResident, OptimisticPage, Pin, Pool, SharedPage};

use crate::Tree;
use crate::need::{Incomplete, Need, Step};
use crate::node::Node;

#[inline]
pub(crate) fn optimistic(pool: &Pool, page: PageId) -> Step<OptimisticPage<'_>> {
    pool.optimistic_if_resident(page).map_err(|NotResident| lacking(page))
}

#[inline]
pub(crate) fn shared(pool: &Pool, page: PageId) -> Step<SharedPage<'_>> {
    pool.shared_if_resident(page).map_err(|NotResident| lacking(page))
}

#[inline]
pub(crate) fn exclusive(pool: &Pool, page: PageId) -> Step<ExclusivePage<'_>> {
    pool.exclusive_if_resident(page).map_err(|NotResident| lacking(page))
}

/// Returns `None` if another thread has the page latched.
#[inline]
pub(crate) fn try_exclusive(pool: &Pool, page: PageId) -> Step<Option<ExclusivePage<'_>>> {
    pool.try_exclusive_if_resident(page).map_err(|NotResident| lacking(page))
}

#[inline]
pub(crate) fn pin(pool: &Pool, page: PageId) -> Step<Pin<'_>> {
    pool.pin_if_resident(page).map_err(|NotResident| lacking(page))
}

/// Returns `None` if another thread has the page latched. The page's former contents are not
/// needed, so an absent page is not read in. It becomes a need only if the pool has no slot for it
/// without I/O.
pub(crate) fn try_format(pool: &Pool, page: PageId) -> Step<Option<ExclusivePage<'_>>> {
    pool.try_format_at_once(page).map_err(|NotResident| lacking(page))
}

#[cold]
pub(crate) fn lacking(page: PageId) -> Incomplete {
    Need::Page(page).into()
}

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
