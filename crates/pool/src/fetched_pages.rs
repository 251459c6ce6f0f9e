//! Pins of the pages that the fetch stage of a transaction has come to, kept until its operate
//! stage has ended (FETCH-PINS-1 to FETCH-PINS-3 of `fetch_pins`).
//!
//! Algorithm
//! : "High-Performance Transaction Processing in Charm", section 3.1: the fetch stage pins what it
//!   has read.
//!
//! Differences
//! : The paper has no bound.

use std::{collections::BTreeSet, sync::Arc};

use clearway_base::PageId;

use crate::{Pool, fetch_pins::Addition};

/// The pins of one fetch stage. Given back when it is dropped.
pub struct FetchedPages {
    pool: Arc<Pool>,
    number: u64,
    /// The pages that were pinned, be it that their pins were taken away.
    pages: BTreeSet<PageId>,
}

impl FetchedPages {
    /// An empty set, the newest.
    pub fn new(pool: &Arc<Pool>) -> FetchedPages {
        let number = pool.fetch_pins.begin();
        FetchedPages { pool: pool.clone(), number, pages: BTreeSet::new() }
    }

    /// Pins a page, unless the pins of this set were taken away (FETCH-PINS-1). Returns false if
    /// the page is not in memory.
    pub fn keep(&mut self, page: PageId) -> bool {
        if self.has(page) {
            return true;
        }
        let Ok(pin) = self.pool.pin_if_resident(page) else { return false };
        self.pages.insert(page);
        if let Addition::Added(taken) = self.pool.fetch_pins.add(self.number, page) {
            pin.leave();
            taken.into_iter().for_each(|pages| self.unpin(pages));
        }
        true
    }

    /// Returns true if the page was pinned. Its pin may have been taken away.
    #[inline]
    fn has(&self, page: PageId) -> bool {
        self.pages.contains(&page)
    }

    /// Returns false if the pins were taken away (FETCH-PINS-1).
    pub fn is_whole(&self) -> bool {
        self.pool.fetch_pins.count(self.number).is_some()
    }

    /// The number of pages that this set pins.
    pub fn count(&self) -> usize {
        self.pool.fetch_pins.count(self.number).unwrap_or(0)
    }

    fn unpin(&self, pages: Vec<PageId>) {
        pages.into_iter().for_each(|page| self.pool.space.frame(page).unpin());
    }
}

impl Drop for FetchedPages {
    fn drop(&mut self) {
        self.unpin(self.pool.fetch_pins.end(self.number));
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
