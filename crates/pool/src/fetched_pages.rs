//! Pins of the pages that the fetch stage of a transaction has come to, kept until its operate
//! stage has ended (FETCH-PINS-1 to FETCH-PINS-3 of `fetch_pins`).
//!
//! Algorithm
//! : "High-Performance Transaction Processing in Charm", section 3.1: the fetch stage pins what it
//!   has read.
//!
//! Differences
//! : The paper has no bound.

use std::{cell::Cell, sync::Arc};

use clearway_base::PageId;

use crate::{
    Pool,
    fetch_pins::{Addition, PinnedSetId},
    page_set::PageSet,
};

thread_local! {
    /// The memory of the last set that this thread has dropped.
    static SPARE: Cell<Option<PageSet>> = const { Cell::new(None) };
}

/// The pins of one fetch stage. Given back when it is dropped.
pub struct FetchedPages {
    pool: Arc<Pool>,
    /// `None` before the first pin.
    set: Option<PinnedSetId>,
    /// The pages that were pinned, be it that their pins were taken away.
    pages: PageSet,
}

impl FetchedPages {
    /// An empty set. Of several sets, the one that gets its first page last is the newest.
    pub fn new(pool: &Arc<Pool>) -> FetchedPages {
        FetchedPages { pool: pool.clone(), set: None, pages: SPARE.take().unwrap_or_default() }
    }

    /// Pins a page, unless the pins of this set were taken away (FETCH-PINS-1). Returns false if
    /// the page is not in memory.
    pub fn keep(&mut self, page: PageId) -> bool {
        self.has(page) || self.keep_new(&[page])
    }

    /// As [`keep`](FetchedPages::keep), for several pages. Returns false if one of them is not in
    /// memory.
    #[inline]
    pub fn keep_all(&mut self, pages: &[PageId]) -> bool {
        pages.iter().all(|page| self.has(*page)) || self.keep_new(pages)
    }

    fn keep_new(&mut self, pages: &[PageId]) -> bool {
        let (before, mut are_resident) = (self.pages.pages().len(), true);
        for page in pages {
            if !self.pages.insert(*page) {
                continue;
            }
            match self.pool.pin_if_resident(*page) {
                Ok(pin) => pin.leave(),
                Err(_) => {
                    self.pages.remove_newest();
                    are_resident = false;
                }
            }
        }
        let pinned = &self.pages.pages()[before..];
        if !pinned.is_empty() {
            match self.pool.fetch_pins.add(&mut self.set, pinned) {
                Addition::Added => {}
                Addition::AddedAndTaken(taken) => taken.iter().for_each(|pages| self.unpin(pages)),
                Addition::Refused => self.unpin(pinned),
            }
        }
        are_resident
    }

    /// Returns true if the page was pinned. Its pin may have been taken away.
    #[inline]
    fn has(&self, page: PageId) -> bool {
        self.pages.contains(page)
    }

    /// Returns false if the pins were taken away (FETCH-PINS-1).
    pub fn is_whole(&self) -> bool {
        self.set.is_none_or(|set| self.pool.fetch_pins.count(set).is_some())
    }

    /// The number of pages that this set pins.
    pub fn count(&self) -> usize {
        self.set.and_then(|set| self.pool.fetch_pins.count(set)).unwrap_or(0)
    }

    fn unpin(&self, pages: &[PageId]) {
        pages.iter().for_each(|page| self.pool.space.frame(*page).unpin());
    }
}

impl Drop for FetchedPages {
    fn drop(&mut self) {
        if self.set.is_some_and(|set| self.pool.fetch_pins.end(set)) {
            self.unpin(self.pages.pages());
        }
        let mut pages = std::mem::take(&mut self.pages);
        pages.clear();
        // At the end of a thread there may be no place for it.
        let _ = SPARE.try_with(|spare| spare.set(Some(pages)));
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
