//! Pages in memory, as a step gets them: an absent page is a [`Need`](crate::Need).

use clearway_base::PageId;
use clearway_pool::{ExclusivePage, NotResident, OptimisticPage, Pin, Pool, SharedPage};

use crate::need::{Incomplete, Need, Step};

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
