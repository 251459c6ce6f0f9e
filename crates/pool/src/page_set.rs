//! A set of pages: a hash table with open addressing, since a fetch stage looks a page up each time
//! that it comes to one.

use clearway_base::PageId;

/// The value of a free place. No page has this number.
const FREE: u32 = u32::MAX;

/// Places at the beginning.
const PLACES_MIN: usize = 64;

/// A set that is emptied keeps its memory if it has at most this number of places (8 KiB).
const PLACES_KEPT: usize = 2048;

/// See the module.
#[derive(Default)]
pub(crate) struct PageSet {
    /// As many as a power of two, and at least twice as many as there are pages; none in a set that
    /// was never used.
    places: Vec<u32>,
    /// The pages, oldest first.
    pages: Vec<PageId>,
}

impl PageSet {
    /// Returns true if the page is in the set.
    #[inline]
    pub(crate) fn contains(&self, page: PageId) -> bool {
        !self.places.is_empty() && self.places[self.place_of(page)] != FREE
    }

    /// Adds a page. Returns false if it is there.
    #[inline]
    pub(crate) fn insert(&mut self, page: PageId) -> bool {
        if 2 * self.pages.len() >= self.places.len() {
            self.grow();
        }
        let place = self.place_of(page);
        let is_new = self.places[place] == FREE;
        if is_new {
            self.places[place] = page.0;
            self.pages.push(page);
        }
        is_new
    }

    /// Removes the page that was added last.
    #[cold]
    pub(crate) fn remove_newest(&mut self) {
        let Some(page) = self.pages.pop() else { return };
        // No page was put behind it, so none is looked for beyond its place.
        let place = self.place_of(page);
        self.places[place] = FREE;
    }

    /// The pages, oldest first.
    pub(crate) fn pages(&self) -> &[PageId] {
        &self.pages
    }

    /// Makes the set empty.
    pub(crate) fn clear(&mut self) {
        if self.places.len() > PLACES_KEPT {
            *self = PageSet::default();
        } else {
            self.places.fill(FREE);
            self.pages.clear();
        }
    }

    #[cold]
    fn grow(&mut self) {
        let count = PLACES_MIN.max(2 * self.places.len());
        self.places.clear();
        self.places.resize(count, FREE);
        for at in 0..self.pages.len() {
            let page = self.pages[at];
            let place = self.place_of(page);
            self.places[place] = page.0;
        }
    }

    /// The place of a page, or the free one where it would be.
    #[inline]
    fn place_of(&self, page: PageId) -> usize {
        let last = self.places.len() - 1;
        // The upper bits of the product depend on all bits of the number.
        let hash = u64::from(page.0).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let mut place = hash as usize & last;
        while self.places[place] != page.0 && self.places[place] != FREE {
            place = (place + 1) & last;
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn set_has_what_was_inserted_whatever_its_size() {
        let mut set = PageSet::default();
        for (count, step) in [(0, 1), (20, 1), (31, 64), (5000, 1024), (3, 7)] {
            let pages: Vec<PageId> = (2..2 + count).map(|n: u32| PageId(n * step)).collect();
            let mut seen = BTreeSet::new();
            for page in &pages {
                assert_eq!(set.contains(*page), seen.contains(page));
                assert_eq!(set.insert(*page), seen.insert(*page));
                set.remove_newest();
                assert!(!set.contains(*page));
                assert!(set.insert(*page) && !set.insert(*page));
            }
            assert!(pages.iter().all(|page| set.contains(*page)));
            assert_eq!(set.pages(), pages);
            assert!(!set.contains(PageId(1)) && !set.contains(PageId(8 + count * step)));
            set.clear();
            assert!(set.pages().is_empty() && !pages.iter().any(|page| set.contains(*page)));
            assert!(set.places.len() <= PLACES_KEPT);
        }
    }
}
