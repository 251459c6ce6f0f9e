//! Eviction: finding room for a page.
//!
//! The clock of Corbató ("A Paging Experiment with the Multics System", 1968): a hand goes round
//! the slots; a page that was touched since the last visit loses its mark and stays, an untouched
//! clean page goes. Dirty pages are left to the background cleaner, which works ahead of the hand
//! (`clean`), so that the hand finds clean ones.
//!
//! When it does not, the thread in need cleans what it met, itself. It may hold latches of other
//! pages meanwhile: nothing that it waits for waits for a latch. When every page is latched,
//! pinned or in flight, it takes a slot of the reserve rather than wait for a thread that may be
//! waiting for it; only when the reserve is used up as well does it sleep, and in the end fail. Not
//! while pages are on their way to the disk: however slow that is, it ends, and they are clean
//! then.

use std::time::Duration;

use clearway_base::{Error, PageId, Result};
use clearway_sync::{atomic::Ordering, thread};

use crate::{Pool, frame::Frame};

/// Untouched dirty pages that a thread in need collects before it cleans: 32 × 8 KiB = 256 KiB,
/// written in well under a millisecond, and then there is room for 32 misses.
const DIRTY_ENOUGH: usize = 32;
/// 50,000 rounds of 200 µs: ten seconds in which no page at all became free, or was on its way.
const ROUNDS_MAX: u32 = if cfg!(test) { 500 } else { 50_000 };
const ROUND: Duration = Duration::from_micros(200);

/// What the clock found in a slot.
enum Visit {
    /// Its page is gone, the slot is the visitor's.
    Evicted,
    /// It must be cleaned first.
    Dirty(PageId),
    /// In a batch; clean when that is through.
    InFlight,
    /// Free, touched, latched or pinned.
    Passed,
}

impl Pool {
    /// A slot for a page that comes in. The caller holds that page's latch exclusively.
    ///
    /// # Errors
    /// What prevents dirty pages from being written; [`Error::BadOption`] if the cache is so small
    /// that pinned and latched pages fill it.
    pub(crate) fn take_slot(&self) -> Result<u32> {
        if let Some(slot) = self.slots.take(false) {
            return Ok(slot);
        }
        // Allocates only when the clock meets dirty pages.
        let mut dirty = Vec::new();
        let mut rounds = 0;
        while rounds < ROUNDS_MAX {
            let mut in_flight = false;
            if let Some(slot) = self.sweep(DIRTY_ENOUGH, &mut dirty, &mut in_flight) {
                return Ok(slot);
            }
            match self.clean_in_need(&mut dirty) {
                Ok(_) => {}
                // Nothing can be written, but there may be clean pages farther on.
                Err(error) => {
                    return self.sweep(usize::MAX, &mut dirty, &mut in_flight).ok_or(error);
                }
            }
            // The hand is past these; look at them first. Any of them may be dirty or touched
            // again, or gone: `visit` decides.
            let cleaned = dirty.drain(..).find_map(|page| {
                let slot = self.space.frame(page).slot();
                self.evicted(slot as usize)
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

    /// Moves the hand until a page is evicted, `dirty_max` dirty pages were met, or every slot was
    /// visited twice (the first visit may only take the mark away). Notes in `in_flight` whether it
    /// met a page that is on its way to the disk.
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
                Visit::Evicted => {
                    self.wake_cleaner_if_near();
                    // The reserve is given back as soon as pages can be evicted again.
                    if self.slots.taken() <= self.slots.capacity() {
                        return Some(slot as u32);
                    }
                    self.slots.give_back(slot as u32);
                }
                Visit::Dirty(page) => {
                    dirty.push(page);
                    if dirty.len() >= dirty_max {
                        break;
                    }
                }
                Visit::InFlight => *in_flight = true,
                Visit::Passed => {}
            }
        }
        self.cleaning.signal.wake();
        // Given-back reserve may have made room.
        self.slots.take(false)
    }

    fn evicted(&self, slot: usize) -> Option<u32> {
        matches!(self.visit(slot), Visit::Evicted).then_some(slot as u32)
    }

    fn visit(&self, slot: usize) -> Visit {
        let Some(page) = self.slots.page(slot) else { return Visit::Passed };
        let frame = self.space.frame(page);
        // Cheap looks first, without the latch; a hot page costs the clock one load and one store.
        if frame.untouch() || frame.is_pinned() {
            return Visit::Passed;
        }
        if frame.is_writing() {
            return Visit::InFlight;
        }
        if frame.is_dirty() {
            return Visit::Dirty(page);
        }
        self.try_evict(slot, page, frame)
    }

    /// Evicts `page`, which stood in `slot` a moment ago, if nothing has changed about that.
    fn try_evict(&self, slot: usize, page: PageId, frame: &Frame) -> Visit {
        // Never waits (latch order: the visitor may hold latches, and is bringing a page in).
        if !frame.latch.try_exclusive() {
            return Visit::Passed;
        }
        // Looked at before the latch was held; now the answers are final (S1, F4).
        if self.slots.page(slot) != Some(page) || !frame.is_evictable() {
            frame.latch.release_unchanged();
            return Visit::Passed;
        }
        // From here an optimistic reader may see zeros; it will not validate (R3, L5).
        self.slots.vacate(slot as u32);
        self.space.give_back(page);
        frame.latch.release_absent();
        self.counters.evictions.fetch_add(1, Ordering::Relaxed);
        Visit::Evicted
    }

    /// Evicts a clean page that the caller holds exclusively, and frees its slot.
    pub(crate) fn evict_latched(&self, page: PageId, frame: &Frame, slot: u32) {
        self.slots.vacate(slot);
        self.space.give_back(page);
        frame.latch.release_absent();
        self.slots.give_back(slot);
        self.counters.evictions.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use clearway_base::{Lsn, PAGE_SIZE};
    use clearway_disk::MemoryDisk;

    use super::*;
    use crate::{PoolOptions, Wal};

    struct NoLog;

    impl Wal for NoLog {
        fn durable(&self) -> Lsn {
            Lsn(1)
        }

        fn make_durable(&self, _: Lsn) -> Result<()> {
            Ok(())
        }

        fn end(&self) -> Lsn {
            Lsn(0)
        }
    }

    /// What the clock saw without the latch may be old by the time it has the latch.
    #[test]
    fn page_that_changed_under_the_clock_stays() {
        let options = PoolOptions {
            cache_bytes: 64 * PAGE_SIZE as u64,
            background_cleaner: false,
            ..PoolOptions::default()
        };
        let pool = Pool::open(&MemoryDisk::new(), Arc::new(NoLog), options).unwrap();
        let page = PageId(3);
        let frame = pool.space.frame(page);
        let stays = |slot: u32| {
            let visit = pool.try_evict(slot as usize, page, frame);
            matches!(visit, Visit::Passed) && pool.try_resident(page)
        };
        let pin = pool.pin(page).unwrap();
        assert!(stays(frame.slot()), "pinned since");
        drop(pin);
        assert!(stays(frame.slot() + 1), "left and came back to another slot since");
        pool.exclusive(page).unwrap().begin_change();
        assert!(stays(frame.slot()), "dirty since");
        pool.clean_all().unwrap();
        assert!(!stays(frame.slot()), "clean and free");
    }

    /// A batch that takes longer than a thread in need has patience is waited for.
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
        let pool = Pool::open(&disk, Arc::new(NoLog), options).unwrap();
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
