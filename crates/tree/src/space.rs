//! The space map: pages of the data file that are in use.
//!
//! What it is
//! : From page 2 on, every [`SPACE_SPAN`] pages begin with a space-map page that has one bit for
//!   each of them, set = allocated. Bits change only as part of a system operation. The log record
//!   that sets a page's bit also gives the page its content; the one that clears it also takes the
//!   last pointer to the page away, unless there was none before. So a page in use is never marked
//!   as free. (A crash can leave an allocated page to which nothing leads, such as a page of an
//!   overflow chain that no record refers to yet; `verify` counts these.) In memory there is one
//!   number only: a hint where the search for a free page may start.
//!
//! Invariants
//! 1. A page that something durable leads to has its bit set.
//! 2. A bit is read for allocation, and changed, only under the exclusive latch of its map page,
//!    held from the search until the record is logged and applied. So no page is given out twice.
//! 3. `hint`: the search for a free page begins there, since no page below it is free as far as is
//!    known. (A hint that errs wastes space or time, nothing else.)
//! 4. A page that is latched is not given out. Its latch is only tried, so if a damaged map offers
//!    a thread a page that the same thread has latched, the thread does not wait for itself. A page
//!    that is passed over stays known as free.
//! 5. A page is given out only if the data file holds it, so it can be written without meeting a
//!    full disk. (If a crash shortens the file, redo makes it longer again.)
//! 6. Except to an undo, a page is given out only if the data file holds [`UNDO_PAGES`] more behind
//!    it, and an opening restores that length if a crash has shortened the file. So a rollback on a
//!    full disk, or a recovery, has that many pages for splits: an old value may need room that has
//!    been taken since. (An undo splits a leaf only if other changes of the leaf since, by other
//!    transactions or by its own, have taken the room that the old value needs. If even these pages
//!    are used up, or the disk was full at the opening already, undo fails with `DiskFull`, the
//!    engine stops, and it opens again as soon as there is room.)
//!
//! Latch order
//! : Tree pages before map pages, and one map page at a time. The page that is given out is latched
//!   *after* the map page, without waiting (invariant 4).
//!
//! Differences
//! : No extents and no per-tree segments: pages of a tree are near each other because allocation
//!   goes upwards.

mod map;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use clearway_base::{Error, PageId, Result};
use clearway_pool::{ExclusivePage, Pool};
use clearway_sync::atomic::{AtomicU64, Ordering};

pub use map::SPACE_SPAN;
pub(crate) use map::{format_map, map_page_of, set_allocated};

use crate::need::{Need, Step, drive, reserve};
use crate::op::{Op, SystemOp, perform};
use crate::{Journal, Wait, resident};

/// Pages that [`SpaceMap::prepare`] requests beyond those that are needed, if the data file is too
/// short.
const MARGIN_PAGES: u32 = 64;

/// Pages at the end of the data file that only those who undo may use (invariant 6): 512 KiB.
const UNDO_PAGES: u32 = 64;

/// Allocates and frees pages.
pub struct SpaceMap {
    pool: Arc<Pool>,
    /// Low half: no page below it is free, as far as is known (invariant 3). High half: raised by
    /// every free, so that an allocation that was searching meanwhile does not overwrite what the
    /// free said. A hint: all accesses are `Relaxed`, and the pages themselves are ordered by their
    /// latches.
    hint: AtomicU64,
}

/// The state of an operation's preparation for its next allocation ([`SpaceMap::prepare`]).
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Preparation {
    /// It has needed a longer file, whether or not the file could grow.
    has_grown_file: bool,
}

/// A page about to be allocated. The operation that allocates it sets its bit while the map page,
/// latched here, stays latched.
pub(crate) struct Allocation<'a> {
    /// The map page.
    pub(crate) map: ExclusivePage<'a>,
    /// The page, latched and empty.
    pub(crate) page: ExclusivePage<'a>,
}

impl SpaceMap {
    /// The space map of a database. Reads nothing.
    pub fn open(pool: Arc<Pool>) -> Arc<SpaceMap> {
        let hint = AtomicU64::new(u64::from(map::FIRST_MAP.0));
        Arc::new(SpaceMap { pool, hint })
    }

    /// Makes the data file long enough again for those who undo, at an opening: a crash may have
    /// shortened it, and the disk may be full when they come (invariant 6). Best effort: a full
    /// disk or a damaged map page is ignored here; the operation that needs it later reports it.
    pub fn make_room_for_undo(&self) {
        let last_map = map_page_of(PageId(self.pool.page_count().saturating_sub(1)));
        if let Ok(map) = self.pool.shared(last_map) {
            // If the map page was never written, all of its pages are free.
            let last = map::allocated(last_map, &map).last().unwrap_or(last_map);
            let _ = self.pool.ensure_len(PageId(last.0.saturating_add(UNDO_PAGES)));
        }
    }

    /// Formats the first map page: part of the creation of a database.
    ///
    /// # Errors
    /// `DiskFull`, and what the log returns.
    pub fn create(&self, ctx: &mut (impl Journal + Wait)) -> Result<()> {
        drive(&self.pool, ctx, |ctx| reserve(ctx, map::FORMAT_RESERVE))?;
        self.pool.ensure_len(map::FIRST_MAP)?;
        let page = self.pool.format(map::FIRST_MAP)?;
        self.format_latched(ctx, page).map(drop)
    }

    /// Returns a need if the data file is too short for the next `pages` allocations, or if the map
    /// page is not in memory. To be called before an operation takes its first latch, so that
    /// [`allocate`](SpaceMap::allocate), under latches, seldom returns a need. A few loads if there
    /// is nothing to do. A disk that is full is left to `allocate`: there may be a free page in the
    /// file, or none may be needed.
    pub(crate) fn prepare(
        &self,
        ctx: &impl Journal,
        pages: u32,
        preparation: &mut Preparation,
    ) -> Step<()> {
        // The hinted page may be in use already, since `allocate` leaves the hint at the page that
        // it gives out.
        let last = last_needed(ctx, self.hint().0.saturating_add(pages));
        if last >= self.pool.page_count() && !preparation.has_grown_file {
            preparation.has_grown_file = true;
            let ahead = last.saturating_add(MARGIN_PAGES).min(self.pool.page_limit() - 1);
            return Err(Need::FileLength { last: PageId(ahead), is_required: false }.into());
        }
        resident::optimistic(&self.pool, map_page_of(self.hint())).map(drop)
    }

    /// Finds a free page and returns it with its map page, both latched. The caller has reserved
    /// [`ALLOCATE_RESERVE`](SpaceMap::ALLOCATE_RESERVE) bytes of log beside its own.
    ///
    /// # Errors
    /// A need, or `DiskFull`, before anything of the operation is logged; those of the log.
    pub(crate) fn allocate(&self, ctx: &mut impl Journal) -> Step<Allocation<'_>> {
        let seen = self.hint.load(Ordering::Relaxed);
        let (mut from, mut lowest) = (PageId(seen as u32), None);
        loop {
            let map = self.latch_map(ctx, map_page_of(from))?;
            while let Some(free) = map::first_free(&map, map.id(), from) {
                let lowest = *lowest.get_or_insert(free);
                self.need_length(last_needed(ctx, free.0))?;
                if let Some(page) = resident::try_format(&self.pool, free)? {
                    // The hint stays at this page, not behind it: the page is not allocated yet,
                    // and the operation may still fail.
                    self.move_hint(seen, lowest);
                    return Ok(Allocation { map, page });
                }
                from = PageId(free.0.saturating_add(1)); // invariant 4
                if map_page_of(from) != map.id() {
                    break;
                }
            }
            let next = map.id().0.checked_add(SPACE_SPAN);
            from = PageId(next.ok_or(Error::DiskFull { path: "data".into() })?);
        }
    }

    /// Returns a need if the data file does not hold the page `last`.
    #[inline]
    fn need_length(&self, last: u32) -> Step<()> {
        if last < self.pool.page_count() {
            return Ok(());
        }
        Err(Need::FileLength { last: PageId(last), is_required: true }.into())
    }

    /// Moves the hint to `lowest`, below which no page was free when the hint was `seen`. Does
    /// nothing if the hint has changed since.
    fn move_hint(&self, seen: u64, lowest: PageId) {
        let now = (seen & !0xFFFF_FFFF) | u64::from(lowest.0);
        let _ = self.hint.compare_exchange(seen, now, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Log bytes that [`allocate`](SpaceMap::allocate) may use itself: a new map page's format.
    pub(crate) const ALLOCATE_RESERVE: usize = map::FORMAT_RESERVE;

    /// Latches the map page that covers `page`, for an operation that frees it.
    pub(crate) fn map_for(&self, page: PageId) -> Step<ExclusivePage<'_>> {
        resident::exclusive(&self.pool, map_page_of(page))
    }

    /// Notes that an operation has freed `page`. Called after the operation was performed.
    pub(crate) fn note_freed(&self, page: PageId) {
        let lowered = |seen: u64| {
            let version = (seen >> 32).wrapping_add(1) << 32;
            Some(version | u64::from((seen as u32).min(page.0)))
        };
        let _ = self.hint.fetch_update(Ordering::Relaxed, Ordering::Relaxed, lowered);
    }

    /// The number of allocated pages, map pages included.
    ///
    /// # Errors
    /// `CorruptPage` for a map page whose own bit or whose count is wrong.
    pub fn allocated_count(&self) -> Result<u64> {
        let mut count = 0;
        self.for_each_map(|map, bytes| {
            count += map::count(bytes);
            map::check(map, bytes)
        })?;
        Ok(count)
    }

    /// Calls `visit` with every allocated page, map pages included, in rising order. Pages may be
    /// allocated and freed meanwhile; each map page is seen at one moment.
    ///
    /// # Errors
    /// `CorruptPage` for a map page whose own bit or whose count is wrong.
    pub fn for_each_allocated(&self, mut visit: impl FnMut(PageId)) -> Result<()> {
        self.for_each_map(|map, bytes| {
            map::check(map, bytes)?;
            map::allocated(map, bytes).for_each(&mut visit);
            Ok(())
        })
    }

    /// Whether `page` is allocated.
    ///
    /// # Errors
    /// What the pool returns.
    pub fn is_allocated(&self, page: PageId) -> Result<bool> {
        let map = map_page_of(page);
        Ok(page.0 < self.pool.page_count()
            && page >= map::FIRST_MAP
            && map::is_allocated(&self.pool.shared(map)?, map, page))
    }

    fn for_each_map(&self, mut visit: impl FnMut(PageId, &[u8]) -> Result<()>) -> Result<()> {
        let mut id = map::FIRST_MAP;
        while id.0 < self.pool.page_count() {
            let page = self.pool.shared(id)?;
            if !map::is_map(&page) {
                break;
            }
            // A copy, so that the latch is not held while the caller works.
            let bytes = page.to_vec();
            drop(page);
            visit(id, &bytes)?;
            match id.0.checked_add(SPACE_SPAN) {
                Some(next) => id = PageId(next),
                None => break,
            }
        }
        Ok(())
    }

    /// The space-map page in which the next allocation is likely to find a page.
    pub(crate) fn next_map(&self) -> PageId {
        map_page_of(self.hint())
    }

    fn hint(&self) -> PageId {
        PageId(self.hint.load(Ordering::Relaxed) as u32)
    }

    /// Latches a map page; the first time a page is wanted from its span, formats it.
    fn latch_map(&self, ctx: &mut impl Journal, map: PageId) -> Step<ExclusivePage<'_>> {
        if map.0 >= self.pool.page_count() {
            self.need_length(last_needed(ctx, map.0))?;
        }
        let page = resident::exclusive(&self.pool, map)?;
        if map::is_map(&page) {
            return Ok(page);
        }
        if !map::is_blank(&page) {
            return Err(map::not_a_map(map).into());
        }
        Ok(self.format_latched(ctx, page)?)
    }

    fn format_latched<'a>(
        &self,
        ctx: &mut impl Journal,
        mut page: ExclusivePage<'a>,
    ) -> Result<ExclusivePage<'a>> {
        let mut body = Vec::new();
        Op::System(SystemOp::FormatMap { map: page.id() }).encode(&mut body);
        perform(ctx, Journal::log_system, &body, &mut [&mut page])?;
        Ok(page)
    }
}

/// The last page that the file must hold for `page` to be given out (invariant 6).
fn last_needed(ctx: &impl Journal, page: u32) -> u32 {
    if ctx.is_undoing() { page } else { page.saturating_add(UNDO_PAGES) }
}
