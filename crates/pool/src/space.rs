//! The pool's two regions together: page id → bytes and page id → frame, by arithmetic alone.
//!
//! Invariants:
//! - POOL-SPACE-1. For every id below `page_limit`, `PAGE_SIZE` bytes in `pages` and one frame in
//!   `frames` belong to it, at `id × size`.

use clearway_base::{Error, PAGE_SIZE, PageId, Result};

use crate::{frame::Frame, frames::Frames, page_bytes::PageBytes, region::MappedRegion};

/// Address space for pages and frames.
pub(crate) struct PageSpace {
    pages: MappedRegion,
    frames: Frames,
    page_limit: u32,
}

impl PageSpace {
    /// Reserves space for `max_bytes` of pages; where the system refuses (a limit on address space,
    /// a tool such as valgrind), a half, a quarter and so on, but at least `least_bytes`.
    pub(crate) fn reserve(max_bytes: u64, least_bytes: u64) -> Result<PageSpace> {
        let mut bytes = max_bytes.max(least_bytes);
        loop {
            match PageSpace::new((bytes / PAGE_SIZE as u64) as usize) {
                Ok(space) => return Ok(space),
                Err(error) if bytes == least_bytes => return Err(error),
                Err(_) => bytes = (bytes / 2).max(least_bytes),
            }
        }
    }

    fn new(pages: usize) -> Result<PageSpace> {
        let page_limit = u32::try_from(pages).unwrap_or(u32::MAX);
        Ok(PageSpace {
            pages: MappedRegion::new(pages * PAGE_SIZE, true)?,
            frames: Frames::new(pages)?,
            page_limit,
        })
    }

    /// Ids from here on do not exist.
    pub(crate) fn page_limit(&self) -> u32 {
        self.page_limit
    }

    /// Frame and bytes of a page.
    ///
    /// # Errors
    /// [`Error::CorruptPage`] for an id beyond the address space: ids are made by the space map,
    /// which stays below the limit, so this one was read from damaged bytes.
    #[inline]
    pub(crate) fn page(&self, page: PageId) -> Result<(&Frame, PageBytes)> {
        self.get(page).ok_or_else(|| self.beyond(page))
    }

    /// Frame and bytes of a page; `None` for an id beyond the address space.
    #[inline]
    pub(crate) fn get(&self, page: PageId) -> Option<(&Frame, PageBytes)> {
        if page.0 >= self.page_limit {
            return None;
        }
        let index = page.0 as usize;
        // SAFETY: in range (POOL-SPACE-1).
        let frame = unsafe { self.frames.at(index) };
        // SAFETY: in range (POOL-SPACE-1) and mapped (REGION-1); the address is a multiple of
        // PAGE_SIZE away from a base that is a multiple of 4096 (PAGE-BYTES-1).
        let bytes = unsafe { PageBytes::new(self.pages.base().add(index * PAGE_SIZE)) };
        Some((frame, bytes))
    }

    #[cold]
    fn beyond(&self, page: PageId) -> Error {
        let detail = format!("beyond the last possible page, {}", self.page_limit - 1);
        Error::CorruptPage { page, detail }
    }

    /// Returns the frame of a page that the pool has accessed before, so that its id is in range.
    pub(crate) fn frame(&self, page: PageId) -> &Frame {
        self.page(page).expect("ids that the pool keeps are in range").0
    }

    /// Returns the bytes of a page that the pool has accessed before.
    pub(crate) fn bytes(&self, page: PageId) -> PageBytes {
        self.page(page).expect("ids that the pool keeps are in range").1
    }

    /// Returns the memory of `count` adjacent pages to the system. The caller holds the exclusive
    /// latches of the pages.
    pub(crate) fn give_back(&self, first: PageId, count: usize) {
        self.pages.give_back(first.0 as usize * PAGE_SIZE, count * PAGE_SIZE);
    }

    /// Like [`PageSpace::give_back`], for several runs of adjacent pages, each given by its first
    /// page and its length.
    pub(crate) fn give_back_all(&self, runs: impl Iterator<Item = (PageId, usize)>) {
        self.pages.give_back_all(runs.map(|(first, count)| {
            let at = first.0 as usize * PAGE_SIZE;
            at..at + count * PAGE_SIZE
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_beyond_the_address_space_is_an_error() {
        let space = PageSpace::reserve(1 << 20, 1 << 20).unwrap();
        assert_eq!(space.page_limit(), 128);
        assert!(space.page(PageId(127)).is_ok());
        assert!(matches!(space.page(PageId(128)), Err(Error::CorruptPage { .. })));
    }

    #[test]
    fn refused_space_is_asked_for_again_in_half() {
        // The process has no 8 TiB of contiguous address space left.
        let taken: Vec<_> = std::iter::from_fn(|| MappedRegion::new(8 << 40, true).ok()).collect();
        let space = PageSpace::reserve(32 << 40, 1 << 20).unwrap();
        drop(taken);
        assert!((128..u32::MAX).contains(&space.page_limit()));
    }
}
