//! Pins of the pages that an operation needed last, kept until the operation has ended or waits for
//! a lock or for log space.
//!
//! An operation that returns an absent page as a need, and goes on when the page is there, must not
//! lose the page meanwhile.
//!
//! Invariants:
//! - PINS-1. An operation keeps at most [`PINS_MAX`] pins, those of the pages that it needed last.
//! - PINS-2. All operations together keep at most a quarter of the cache; if the cache is so small
//!   that not even one operation's pins fit in that, one operation at a time keeps pins. Operations
//!   that may not keep pins yet wait in [`PinnedOperations`], without a pin. So there are always
//!   pages to evict for those that read.
//! - PINS-3. An operation that keeps pins waits only for disk, log and page latches. No holder of a
//!   page latch waits for PINS-2, since that wait comes between two steps. The driver drops the
//!   pins before it waits for a lock or for log space. So those that wait for PINS-2 go on at some
//!   time, whatever locks they hold.

use clearway_base::{Error, PageId, Result};
use clearway_sync::{Condvar, Mutex};

use crate::{Pin, Pool};

/// More than the pages that one step uses: three nodes, a space-map page and a new page.
const PINS_MAX: usize = 6;
/// Pages that an operation may need: `TAKEN_BASE`, and `VISITS_MAX` times those of the file. One
/// step of a cursor may pass all leaves, and descends to each of them over at most 256 levels.
const TAKEN_BASE: u64 = 1000;
const VISITS_MAX: u64 = 256;
/// See PINS-2.
const SHARE_OF_CACHE: usize = 4;

/// The number of operations that keep pins.
pub(crate) struct PinnedOperations {
    count: Mutex<usize>,
    max: usize,
    /// An operation has dropped its pins.
    ended: Condvar,
}

impl PinnedOperations {
    /// For a cache of `capacity` pages.
    pub(crate) fn new(capacity: usize) -> PinnedOperations {
        let max = (capacity / SHARE_OF_CACHE / PINS_MAX).max(1);
        PinnedOperations { count: Mutex::new(0), max, ended: Condvar::new() }
    }

    fn enter(&self) {
        let mut count = self.count.lock();
        while *count == self.max {
            self.ended.wait(&mut count);
        }
        *count += 1;
    }

    fn leave(&self) {
        *self.count.lock() -= 1;
        self.ended.notify_one();
    }
}

/// The pins of one operation. Dropped before the operation waits for a lock or for log space.
pub struct OperationPins<'p> {
    pool: &'p Pool,
    /// The page needed last is the last one.
    pins: Vec<Pin<'p>>,
    /// The number of pages that the operation has needed.
    taken: u64,
}

impl<'p> OperationPins<'p> {
    /// Waits until the operation may keep pins (PINS-2).
    #[cold]
    pub fn new(pool: &'p Pool) -> OperationPins<'p> {
        pool.pinned_operations.enter();
        OperationPins { pool, pins: Vec::with_capacity(PINS_MAX), taken: 0 }
    }

    /// Reads a page in if it is absent, and keeps it in memory.
    ///
    /// # Errors
    /// As for [`Pool::pin`]; `CorruptPage` after more pages than any path through sound pages has.
    #[cold]
    pub fn take(&mut self, page: PageId) -> Result<()> {
        self.taken += 1;
        if self.taken > TAKEN_BASE + VISITS_MAX * u64::from(self.pool.page_count()) {
            let detail = "an operation comes back to this page again and again".into();
            return Err(Error::CorruptPage { page, detail });
        }
        if self.pins.len() == PINS_MAX {
            self.pins.remove(0);
        }
        self.pins.push(self.pool.pin(page)?);
        Ok(())
    }
}

impl Drop for OperationPins<'_> {
    fn drop(&mut self) {
        self.pins.clear();
        self.pool.pinned_operations.leave();
    }
}

#[cfg(all(test, loom))]
mod models;

#[cfg(all(test, not(any(loom, shuttle))))]
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
            Lsn(1)
        }
    }

    fn small_pool() -> Arc<Pool> {
        let options = PoolOptions {
            cache_bytes: 64 * PAGE_SIZE as u64,
            background_cleaner: false,
            ..PoolOptions::default()
        };
        Pool::open(&MemoryDisk::new(), Arc::new(NoLog), options).unwrap()
    }

    #[test]
    fn operation_keeps_the_pages_that_it_needed_last() {
        let pool = small_pool();
        let mut pins = OperationPins::new(&pool);
        (1..=10).for_each(|page| pins.take(PageId(page)).unwrap());
        assert_eq!(pool.held_pages(), PINS_MAX);
        assert!((5..=10).all(|page| pool.space.frame(PageId(page)).is_pinned()));
        drop(pins);
        assert_eq!(pool.held_pages(), 0);
    }

    #[test]
    fn operations_wait_for_each_other_rather_than_fill_the_cache() {
        let pool = small_pool();
        let most = Mutex::new(0);
        std::thread::scope(|scope| {
            for first in 0..16 {
                let (pool, most) = (&pool, &most);
                scope.spawn(move || {
                    for _ in 0..200 {
                        let mut pins = OperationPins::new(pool);
                        (0..10).for_each(|n| pins.take(PageId(1 + 10 * first + n)).unwrap());
                        let mut most = most.lock();
                        *most = pool.held_pages().max(*most);
                    }
                });
            }
        });
        let most = *most.lock();
        assert!((PINS_MAX..=64 / SHARE_OF_CACHE).contains(&most), "{most}");
        assert_eq!(pool.held_pages(), 0);
        assert_eq!(*pool.pinned_operations.count.lock(), 0);
    }
}
