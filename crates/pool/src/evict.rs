//! Eviction: finding room for a page.
//!
//! The clock of Corbató ("A Paging Experiment with the Multics System", 1968): a hand walks over
//! the slots in a circle; a page that was touched since the last visit loses its mark and stays,
//! and an untouched clean page is evicted. Dirty pages are left to the background cleaner, which
//! works ahead of the hand (`clean`), so that the hand finds clean ones.
//!
//! A thread that needs one slot evicts up to [`TOGETHER_MAX`] pages at the same time, because the
//! system interrupts the other processors whenever it takes back memory, be it that of one page or
//! of many ([`region`](crate::region)). The slots of the others become free for the next misses.
//! Free slots are unused memory, so they are at most a 64th of the cache; and the search for the
//! others ends after a few slots, because the thread holds the latches of those that it has found.
//!
//! If the hand meets [`DIRTY_ENOUGH`] untouched dirty pages, or has gone round twice, before it
//! finds a clean page, the evicting thread cleans the dirty ones itself. It may hold latches of
//! other pages meanwhile: nothing that it waits for waits for a page latch. If every page is
//! latched, pinned or in flight, it takes a slot of the reserve instead of waiting for a thread
//! that may be waiting for it; only when the reserve is used up as well does it sleep, and it
//! eventually fails. It does not fail while pages are being written, however slow the write is:
//! pages that are clean afterwards can be evicted.

use std::{collections::VecDeque, iter, slice, time::Duration};

use clearway_base::{Error, PageId, Result};
use clearway_sync::thread;

use crate::{Pool, frame::Frame, region::RANGES_TOGETHER};

/// Number of untouched dirty pages that an evicting thread collects before it cleans them; in a
/// small cache, half of it. However many they are, they are written with two syncs, and then there
/// is room for as many misses.
const DIRTY_ENOUGH: usize = 64;
/// Pages that are evicted together, at most.
const TOGETHER_MAX: usize = RANGES_TOGETHER;
/// Pages of the cache for each of these: with a 64th of the cache, nearly all of it is used.
/// Scheduled tests have small caches.
const SHARE: usize = if cfg!(any(loom, shuttle)) { 4 } else { 64 };
/// Slots that the hand visits for each further page of those that are evicted together.
const VISITS_FOR_ONE: usize = 4;
/// 50,000 rounds of 200 µs: ten seconds in which no page became free or was being written.
const ROUNDS_MAX: u32 = if cfg!(test) { 500 } else { 50_000 };
const ROUND: Duration = Duration::from_micros(200);

/// The result of the clock's visit to a slot.
enum ClockVisit {
    /// The page may be evicted; the visitor has latched it for that.
    Latched(PageId),
    /// The page must be cleaned first.
    Dirty(PageId),
    /// The page is in a batch. When the batch completes, the page is clean unless it was changed
    /// meanwhile or is latched exclusively.
    InFlight,
    /// The slot is free, or its page is touched, latched or pinned.
    Passed,
}

/// Pages that a thread has latched to evict them together, each with its slot.
struct LatchedPages {
    pages: [(PageId, u32); TOGETHER_MAX],
    count: usize,
}

impl LatchedPages {
    fn new() -> LatchedPages {
        LatchedPages { pages: [(PageId(0), 0); TOGETHER_MAX], count: 0 }
    }

    /// Adds a page; there are fewer than [`TOGETHER_MAX`].
    fn push(&mut self, page: PageId, slot: usize) {
        self.pages[self.count] = (page, slot as u32);
        self.count += 1;
    }

    fn iter(&self) -> slice::Iter<'_, (PageId, u32)> {
        self.pages[..self.count].iter()
    }

    /// Runs of adjacent pages, each as its first page and its length.
    fn runs(&mut self) -> impl Iterator<Item = (PageId, usize)> {
        let pages = &mut self.pages[..self.count];
        pages.sort_unstable();
        let runs = pages.chunk_by(|(page, _), (next, _)| page.0 + 1 == next.0);
        runs.map(|run| (run[0].0, run.len()))
    }
}

impl Pool {
    /// Returns a slot for a page. A thread that reads the page in holds its latch exclusively; one
    /// that loads pages (LOAD-4) or formats one holds no latch for that.
    ///
    /// # Errors
    /// The error that prevents dirty pages from being written; [`Error::BadOption`] if the cache is
    /// so small that pinned and latched pages fill it.
    pub(crate) fn take_slot(&self) -> Result<u32> {
        if let Some(slot) = self.slots.take(false) {
            return Ok(slot);
        }
        // Allocates only when the clock meets dirty pages.
        let mut dirty = Vec::new();
        let mut rounds = 0;
        while rounds < ROUNDS_MAX {
            let mut in_flight = false;
            if let Some(slot) = self.sweep(self.dirty_enough(), &mut dirty, &mut in_flight) {
                return Ok(slot);
            }
            match self.clean_in_need(&mut dirty) {
                Ok(_) => {}
                // Nothing can be written, but there may be clean pages farther on.
                Err(error) => {
                    return self.sweep(usize::MAX, &mut dirty, &mut in_flight).ok_or(error);
                }
            }
            // The hand has passed these pages, so visit them first. Any of them may be dirty or
            // touched again, or evicted: `visit` decides.
            let cleaned = dirty.drain(..).find_map(|page| {
                let slot = self.space.frame(page).slot();
                self.evicted(slot)
            });
            if let Some(slot) = cleaned.or_else(|| self.slots.take(true)) {
                return Ok(slot);
            }
            if in_flight {
                self.cleaning.wait_for_batches();
            } else {
                thread::sleep(ROUND);
                rounds += 1;
            }
        }
        let detail = format!("all {} pages of the cache stay latched or pinned", self.slots.len());
        Err(Error::BadOption { option: "cache_bytes", detail })
    }

    /// Returns a slot if it finds one without I/O: a free one, that of a clean page, or one of the
    /// reserve.
    pub(crate) fn take_slot_at_once(&self) -> Option<u32> {
        self.take_clean_slot().or_else(|| self.slots.take(true))
    }

    /// Returns a slot if it finds one without I/O and without the reserve.
    pub(crate) fn take_clean_slot(&self) -> Option<u32> {
        let evicted = || self.sweep(self.dirty_enough(), &mut Vec::new(), &mut false);
        self.slots.take(false).or_else(evicted)
    }

    /// Adds up to `count` slots that [`Pool::take_clean_slot`] would return. Pages in successive
    /// slots are evicted together: pages that were read together are there, and are adjacent.
    pub(crate) fn take_clean_slots(&self, count: usize, slots: &mut VecDeque<u32>) {
        let wanted = slots.len() + count;
        slots.extend(iter::from_fn(|| self.slots.take(false)).take(count));
        let (mut latched, mut dirty) = (LatchedPages::new(), 0);
        for _ in 0..2 * self.slots.len() {
            if slots.len() + latched.count >= wanted || dirty >= self.dirty_enough() {
                break;
            }
            let slot = self.slots.advance();
            let visit = self.visit(slot);
            if let ClockVisit::Latched(page) = visit {
                latched.push(page, slot);
            }
            // No latch is held during a longer search.
            if !matches!(visit, ClockVisit::Latched(_)) || latched.count == TOGETHER_MAX {
                self.evict(&mut latched, TOGETHER_MAX, |slot| slots.push_back(slot));
            }
            dirty += usize::from(matches!(visit, ClockVisit::Dirty(_)));
        }
        self.evict(&mut latched, TOGETHER_MAX, |slot| slots.push_back(slot));
        if slots.len() < wanted {
            self.cleaning.handle.wake();
        } else {
            self.wake_cleaner_if_near();
        }
    }

    /// Moves the hand until a page is evicted, `dirty_max` dirty pages were met, or every slot was
    /// visited twice (the first visit may only clear the mark). Sets `in_flight` if it met a page
    /// that is being written.
    fn sweep(
        &self,
        dirty_max: usize,
        dirty: &mut Vec<PageId>,
        in_flight: &mut bool,
    ) -> Option<u32> {
        dirty.clear();
        for _ in 0..2 * self.slots.len() {
            let slot = self.slots.advance();
            match self.visit(slot) {
                ClockVisit::Latched(page) => {
                    let mut latched = LatchedPages::new();
                    latched.push(page, slot);
                    self.latch_more(&mut latched);
                    let evicted = self.evict_for_one(&mut latched);
                    self.wake_cleaner_if_near();
                    if evicted.is_some() {
                        return evicted;
                    }
                }
                ClockVisit::Dirty(page) => {
                    dirty.push(page);
                    if dirty.len() >= dirty_max {
                        break;
                    }
                }
                ClockVisit::InFlight => *in_flight = true,
                ClockVisit::Passed => {}
            }
        }
        self.cleaning.handle.wake();
        // Slots returned to the reserve may have made room.
        self.slots.take(false)
    }

    /// Evicts the page in a slot if the clock may do so.
    fn evicted(&self, slot: u32) -> Option<u32> {
        match self.visit(slot as usize) {
            ClockVisit::Latched(page) => {
                let mut latched = LatchedPages::new();
                latched.push(page, slot as usize);
                self.evict_for_one(&mut latched)
            }
            _ => None,
        }
    }

    fn visit(&self, slot: usize) -> ClockVisit {
        let Some(page) = self.slots.page(slot) else { return ClockVisit::Passed };
        let frame = self.space.frame(page);
        // Cheap checks first, without the latch; a hot page costs the clock one load and one store.
        if frame.untouch() || frame.is_pinned() {
            return ClockVisit::Passed;
        }
        if frame.is_writing() {
            return ClockVisit::InFlight;
        }
        if frame.is_dirty() {
            return ClockVisit::Dirty(page);
        }
        if self.latch_to_evict(slot, page, frame) {
            ClockVisit::Latched(page)
        } else {
            ClockVisit::Passed
        }
    }

    /// Latches `page` if it is still in `slot`, where the caller saw it, and still evictable.
    fn latch_to_evict(&self, slot: usize, page: PageId, frame: &Frame) -> bool {
        // Never waits (latch order: the visitor may hold latches, and is bringing a page in).
        if !frame.latch.try_exclusive() {
            return false;
        }
        // Check again: the first checks were made without the latch; these are final (POOL-SLOTS-1,
        // FRAME-4).
        if self.slots.page(slot) != Some(page) || !frame.is_evictable() {
            frame.latch.release_unchanged();
            return false;
        }
        true
    }

    /// The number of dirty pages that an evicting thread collects before it cleans them.
    fn dirty_enough(&self) -> usize {
        DIRTY_ENOUGH.min(self.slots.capacity() / 2)
    }

    /// The number of pages that are evicted together, where one slot is needed.
    fn together(&self) -> usize {
        (self.slots.capacity() / SHARE).clamp(1, TOGETHER_MAX)
    }

    /// Moves the hand on, over a few slots, and latches the pages there that may be evicted.
    fn latch_more(&self, latched: &mut LatchedPages) {
        let together = self.together();
        for _ in 0..VISITS_FOR_ONE * (together - 1) {
            if latched.count == together {
                break;
            }
            let slot = self.slots.advance();
            if let ClockVisit::Latched(page) = self.visit(slot) {
                latched.push(page, slot);
            }
        }
    }

    /// As [`Pool::evict`], for a caller that needs one slot. Returns it if there is one now.
    fn evict_for_one(&self, latched: &mut LatchedPages) -> Option<u32> {
        let mut owned = None;
        self.evict(latched, 1, |slot| owned = Some(slot));
        owned
    }

    /// Evicts pages that the clock has latched for that. Calls `own` with each slot, of `wanted` at
    /// most, that the caller owns from now on; the others are free.
    fn evict(&self, latched: &mut LatchedPages, wanted: usize, mut own: impl FnMut(u32)) {
        if latched.count == 0 {
            return;
        }
        // From here an optimistic reader may see zeros; it will not validate (REGION-3,
        // PAGE-LATCH-5).
        latched.iter().for_each(|(_, slot)| self.slots.vacate(*slot));
        self.space.give_back_all(latched.runs());
        latched.iter().for_each(|(page, _)| self.space.frame(*page).latch.release_absent());
        // Return the reserve as soon as pages can be evicted again.
        let reserved = self.slots.taken().saturating_sub(self.slots.capacity());
        let owned = latched.count.saturating_sub(reserved).min(wanted);
        latched.iter().take(owned).for_each(|(_, slot)| own(*slot));
        if owned < latched.count {
            self.slots.give_back_all(latched.iter().skip(owned).map(|(_, slot)| *slot));
        }
        self.counters.evictions.add(latched.count as u64);
        latched.count = 0;
    }

    /// Evicts a clean page that the caller holds exclusively, and frees its slot.
    pub(crate) fn evict_latched(&self, page: PageId, frame: &Frame, slot: u32) {
        self.slots.vacate(slot);
        self.space.give_back(page, 1);
        frame.latch.release_absent();
        self.slots.give_back(slot);
        self.counters.evictions.add(1);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use clearway_base::{Lsn, PAGE_SIZE};
    use clearway_disk::MemoryDisk;

    use super::*;
    use crate::{PoolOptions, wal::DurableLog};

    /// The state that the clock saw without the latch may be outdated when it has the latch.
    #[test]
    fn page_that_changed_under_the_clock_stays() {
        let options = PoolOptions {
            cache_bytes: 64 * PAGE_SIZE as u64,
            background_cleaner: false,
            ..PoolOptions::default()
        };
        let pool = Pool::open(&MemoryDisk::new(), Arc::new(DurableLog), options).unwrap();
        let page = PageId(3);
        let frame = pool.space.frame(page);
        let stays =
            |slot: u32| !pool.latch_to_evict(slot as usize, page, frame) && pool.try_resident(page);
        let pin = pool.pin(page).unwrap();
        assert!(stays(frame.slot()), "pinned since");
        drop(pin);
        assert!(stays(frame.slot() + 1), "left and came back to another slot since");
        pool.exclusive(page).unwrap().begin_change();
        assert!(stays(frame.slot()), "dirty since");
        pool.clean_all().unwrap();
        assert!(!stays(frame.slot()), "clean and free");
        frame.latch.release_unchanged();
    }

    /// A miss evicts more pages than the one whose slot it needs, but none that must stay, nor one
    /// far from the first.
    #[test]
    fn miss_evicts_pages_together() {
        const PAGES: u32 = 640;
        let options = PoolOptions {
            cache_bytes: u64::from(PAGES) * PAGE_SIZE as u64,
            background_cleaner: false,
            ..PoolOptions::default()
        };
        let pool = Pool::open(&MemoryDisk::new(), Arc::new(DurableLog), options).unwrap();
        (0..PAGES).for_each(|page| drop(pool.shared(PageId(page)).unwrap()));
        let absent = || -> Vec<u32> {
            (0..PAGES).filter(|page| !pool.try_resident(PageId(*page))).collect()
        };
        let pin = pool.shared(PageId(3)).unwrap().pin();
        let latch = pool.shared(PageId(6)).unwrap();
        pool.exclusive(PageId(7)).unwrap().begin_change();
        (0..PAGES).for_each(|page| assert!(pool.space.frame(PageId(page)).untouch()));
        assert_eq!((pool.together(), pool.take_clean_slot()), (10, Some(0)));
        assert_eq!(absent(), [0, 1, 2, 4, 5, 8, 9, 10, 11, 12]);
        assert_eq!((pool.slots.taken(), pool.stats().evictions), (PAGES as usize - 9, 10));
        // The slots of the nine are free; no page is evicted until they are used.
        assert!((0..9).all(|_| pool.take_clean_slot().is_some()) && absent().len() == 10);
        // The next page that may be evicted is too far from the first.
        (14..13 + 4 * 9 + 1).for_each(|page| pool.space.frame(PageId(page)).touch());
        assert_eq!(pool.take_clean_slot(), Some(13));
        assert_eq!(absent(), [0, 1, 2, 4, 5, 8, 9, 10, 11, 12, 13]);
        drop((pin, latch));
    }

    /// While the reserve is in use, pages that are evicted together return it first.
    #[test]
    fn eviction_returns_the_reserve_first() {
        const PAGES: u32 = 640;
        for (reserved, evicted) in [(1, 10), (9, 10), (10, 20)] {
            let options = PoolOptions {
                cache_bytes: u64::from(PAGES) * PAGE_SIZE as u64,
                background_cleaner: false,
                ..PoolOptions::default()
            };
            let pool = Pool::open(&MemoryDisk::new(), Arc::new(DurableLog), options).unwrap();
            (0..PAGES).for_each(|page| drop(pool.shared(PageId(page)).unwrap()));
            (0..PAGES).for_each(|page| assert!(pool.space.frame(PageId(page)).untouch()));
            assert!((0..reserved).all(|_| pool.slots.take(true).is_some()));
            assert!(pool.take_clean_slot().is_some());
            assert_eq!(pool.stats().evictions, evicted, "{reserved} of the reserve");
            // The caller's slot is taken again.
            let taken = PAGES as usize + reserved - evicted as usize + 1;
            assert_eq!(pool.slots.taken(), taken, "{reserved} of the reserve");
        }
    }

    /// The numbers of pages that are evicted, and cleaned, together, by the pages of the cache.
    #[test]
    fn few_pages_of_a_small_cache_are_evicted_together() {
        for (capacity, together, dirty) in
            [(64, 1, 32), (127, 1, 63), (128, 2, 64), (1024, 16, 64), (1 << 20, 32, 64)]
        {
            let options = PoolOptions {
                cache_bytes: capacity * PAGE_SIZE as u64,
                background_cleaner: false,
                ..PoolOptions::default()
            };
            let pool = Pool::open(&MemoryDisk::new(), Arc::new(DurableLog), options).unwrap();
            assert_eq!((pool.together(), pool.dirty_enough()), (together, dirty), "{capacity}");
        }
    }

    /// Of the pages in successive slots, those that may be evicted are, together, and no other one.
    #[test]
    fn pages_in_successive_slots_are_evicted_together() {
        let options = PoolOptions {
            cache_bytes: 64 * PAGE_SIZE as u64,
            background_cleaner: false,
            ..PoolOptions::default()
        };
        let pool = Pool::open(&MemoryDisk::new(), Arc::new(DurableLog), options).unwrap();
        for page in 0..64 {
            let mut page = pool.exclusive(PageId(page)).unwrap();
            page.begin_change();
            page[100..].fill(7);
            page.finish_change(Lsn(1));
        }
        pool.clean_all().unwrap();
        assert_eq!(pool.slots.page(9), Some(PageId(9)), "in the order of their ids");
        (0..64).for_each(|page| assert!(pool.space.frame(PageId(page)).untouch()));
        let pin = pool.shared(PageId(3)).unwrap().pin();
        let latch = pool.shared(PageId(6)).unwrap();
        pool.space.frame(PageId(3)).untouch();
        pool.space.frame(PageId(6)).untouch();
        pool.shared(PageId(8)).unwrap();
        let mut slots = VecDeque::from([70]);
        pool.take_clean_slots(8, &mut slots);
        assert_eq!(slots, [70, 0, 1, 2, 4, 5, 7, 9, 10]);
        let evicted: Vec<u32> = (0..64).filter(|page| !pool.try_resident(PageId(*page))).collect();
        assert_eq!(evicted, [0, 1, 2, 4, 5, 7, 9, 10]);
        assert_eq!((pool.stats().evictions, pool.held_pages()), (8, 2));
        for page in 0..64 {
            let frame = pool.space.frame(PageId(page));
            assert_eq!(pool.slots.page(page as usize).is_some(), frame.latch.is_resident());
            // SAFETY: no other thread has the pool (PAGE-BYTES-3).
            let bytes = unsafe { pool.space.bytes(PageId(page)).slice() };
            let expected = if frame.latch.is_resident() { 7 } else { 0 };
            assert!(bytes[100..].iter().all(|byte| *byte == expected), "page {page}");
        }
        drop((pin, latch));
    }

    /// An evicting thread waits for a batch that takes longer than the thread's limit.
    #[test]
    fn slow_batch_is_waited_for() {
        use clearway_testkit::disk::{Faults, FaultyDisk, Operation};
        let (faults, options) = (
            Faults::new(),
            PoolOptions {
                cache_bytes: 64 * PAGE_SIZE as u64,
                background_cleaner: false,
                ..PoolOptions::default()
            },
        );
        let disk = FaultyDisk::new(MemoryDisk::new(), faults.clone());
        let pool = Pool::open(&disk, Arc::new(DurableLog), options).unwrap();
        pool.ensure_len(PageId(999)).unwrap();
        let change = |page: u32| -> Result<()> {
            let mut page = pool.format(PageId(page))?;
            page.begin_change();
            page.finish_change(Lsn(1));
            Ok(())
        };
        (0..64).for_each(|page| change(page).unwrap());
        // All but the batch's pages and the reserve's: pinned.
        let slow = 4 * ROUND * ROUNDS_MAX;
        faults.watch(move |event| {
            if event.operation == Operation::Sync && event.name == "data" {
                thread::sleep(slow);
            }
            None
        });
        thread::scope(|scope| {
            let cleaner = scope.spawn(|| pool.clean_all());
            while !pool.space.frame(PageId(63)).is_writing() {
                thread::yield_now();
            }
            let pins: Vec<_> = (100..108).map(|page| pool.pin(PageId(page)).unwrap()).collect();
            change(200).unwrap();
            drop(pins);
            cleaner.join().unwrap().unwrap();
        });
    }
}
