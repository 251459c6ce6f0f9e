//! The resident pages, as a circular array that the clock's hand walks.
//!
//! The address space is far larger than the cache, so residency is bounded here: a page that is in
//! memory occupies one slot, and there are `capacity` slots, plus a reserve that is used only while
//! no page to evict is found (`evict`).
//!
//! Invariants:
//! - POOL-SLOTS-1. A page is resident only if it occupies exactly one slot; the slot's index stands
//!   in its frame. Both change only under the page's exclusive latch. (A page that is to be
//!   formatted becomes resident a moment before, under the same latch.) So a thread that holds page
//!   `p` exclusively and reads `p` in slot `i` knows that `i` is `p`'s slot.
//! - POOL-SLOTS-2. A slot is free (in `free`), or owned by one thread that brings pages in, or
//!   occupied.
//! - POOL-SLOTS-3. Occupied and owned slots number at most `capacity + reserve`.

#[cfg(all(test, loom))]
mod models;

use std::iter;

use clearway_base::PageId;
use clearway_sync::{
    Mutex,
    atomic::{AtomicU32, AtomicUsize, Ordering},
};

const NO_PAGE: u32 = u32::MAX;

/// The slots; see the module.
pub(crate) struct Slots {
    pages: Box<[AtomicU32]>,
    free: Mutex<Vec<u32>>,
    /// `pages.len() - free.len()`, written under `free`'s mutex, read anywhere.
    taken: AtomicUsize,
    hand: AtomicUsize,
    capacity: usize,
}

impl Slots {
    /// `capacity` slots and a reserve of a 64th (1.6 %), at least 8.
    pub(crate) fn new(capacity: usize) -> Slots {
        let count = capacity + (capacity / 64).max(8);
        Slots {
            pages: (0..count).map(|_| AtomicU32::new(NO_PAGE)).collect(),
            // Reversed, so that low slots are handed out first and the hand starts among them.
            free: Mutex::new((0..count as u32).rev().collect()),
            taken: AtomicUsize::new(0),
            hand: AtomicUsize::new(0),
            capacity,
        }
    }

    /// Returns the number of slots without the reserve.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// All slots, the reserve included.
    pub(crate) fn len(&self) -> usize {
        self.pages.len()
    }

    /// Slots in use.
    pub(crate) fn taken(&self) -> usize {
        // Relaxed: used for decisions that are checked again, and for statistics.
        self.taken.load(Ordering::Relaxed)
    }

    /// A free slot within the capacity, or, with `reserve`, any free slot.
    pub(crate) fn take(&self, reserve: bool) -> Option<u32> {
        let limit = if reserve { self.pages.len() } else { self.capacity };
        if self.taken() >= limit {
            return None;
        }
        let mut free = self.free.lock();
        if self.taken() >= limit {
            return None;
        }
        let slot = free.pop();
        self.taken.store(self.pages.len() - free.len(), Ordering::Relaxed);
        slot
    }

    /// Gives a slot back that no page occupies.
    pub(crate) fn give_back(&self, slot: u32) {
        self.give_back_all(iter::once(slot));
    }

    /// As [`Slots::give_back`], for several slots.
    pub(crate) fn give_back_all(&self, slots: impl Iterator<Item = u32>) {
        let is_free = |slot: &u32| self.page(*slot as usize).is_none();
        let mut free = self.free.lock();
        free.extend(slots.inspect(|slot| debug_assert!(is_free(slot), "POOL-SLOTS-2")));
        self.taken.store(self.pages.len() - free.len(), Ordering::Relaxed);
    }

    /// The page in a slot. Final only under that page's exclusive latch (POOL-SLOTS-1).
    pub(crate) fn page(&self, slot: usize) -> Option<PageId> {
        // Relaxed: a candidate, checked again under its latch, or ordered by a fence in the
        // checkpointer's walk.
        let page = self.pages[slot].load(Ordering::Relaxed);
        (page != NO_PAGE).then_some(PageId(page))
    }

    /// Puts a page into an owned slot; the caller holds the page exclusively.
    pub(crate) fn occupy(&self, slot: u32, page: PageId) {
        self.pages[slot as usize].store(page.0, Ordering::Relaxed);
    }

    /// Takes a page out of its slot, which the caller owns from now on; the caller holds the page
    /// exclusively.
    pub(crate) fn vacate(&self, slot: u32) {
        self.pages[slot as usize].store(NO_PAGE, Ordering::Relaxed);
    }

    /// Moves the hand by one slot and returns its former position.
    pub(crate) fn advance(&self) -> usize {
        self.hand.fetch_add(1, Ordering::Relaxed) % self.pages.len()
    }

    /// Returns the hand's position, in slots walked since the pool was opened.
    pub(crate) fn hand(&self) -> usize {
        self.hand.load(Ordering::Relaxed)
    }

    /// All pages in slots.
    pub(crate) fn all(&self) -> impl Iterator<Item = PageId> + '_ {
        (0..self.pages.len()).filter_map(|slot| self.page(slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserve_is_given_only_to_those_who_ask_for_it() {
        let slots = Slots::new(64);
        let taken: Vec<u32> = std::iter::from_fn(|| slots.take(false)).collect();
        assert_eq!((taken.len(), slots.taken()), (64, 64));
        let reserve: Vec<u32> = std::iter::from_fn(|| slots.take(true)).collect();
        assert_eq!(reserve.len(), 8);
        slots.give_back(reserve[0]);
        assert!(slots.take(false).is_none());
        assert!(slots.take(true).is_some());
    }

    #[test]
    fn hand_goes_round() {
        let slots = Slots::new(64);
        let slot = slots.take(false).unwrap();
        slots.occupy(slot, PageId(9));
        let rounds = (0..3 * slots.len()).filter(|_| slots.page(slots.advance()).is_some());
        assert_eq!(rounds.count(), 3);
        assert_eq!((slots.hand(), slots.all().collect()), (3 * slots.len(), vec![PageId(9)]));
    }
}
