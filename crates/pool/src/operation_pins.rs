//! Pins of pages that an operation has needed, kept until the operation has ended.
//!
//! An operation that returns an absent page as a need, and begins anew when the page is there, must
//! not lose the pages that it needed before.
//!
//! Invariants:
//! - PINS-1. An operation keeps at most [`PINS_MAX`] pins: more than a path through a tree and a
//!   space-map page.
//! - PINS-2. Beyond a quarter of the cache, all operations together keep one pin each, that of the
//!   page needed last. So pins leave the other pages for the threads that read pages in, however
//!   many operations wait.

use clearway_base::{PageId, Result};
use clearway_sync::atomic::Ordering;

use crate::{Pin, Pool};

/// See PINS-1.
const PINS_MAX: usize = 6;
/// See PINS-2.
const SHARE_OF_CACHE: usize = 4;

/// The pins of one operation.
#[derive(Debug)]
pub struct OperationPins<'p> {
    pool: &'p Pool,
    /// The page needed last is the last one.
    pins: Vec<Pin<'p>>,
}

impl<'p> OperationPins<'p> {
    /// Begins with none.
    #[inline]
    pub fn new(pool: &'p Pool) -> OperationPins<'p> {
        OperationPins { pool, pins: Vec::new() }
    }

    /// Reads a page in if it is absent, and keeps it in memory.
    ///
    /// # Errors
    /// As for [`Pool::pin`].
    #[cold]
    pub fn take(&mut self, page: PageId) -> Result<()> {
        self.pins.push(self.pool.pin(page)?);
        // Relaxed, here and below: the number orders nothing.
        let kept = self.pool.operation_pins.fetch_add(1, Ordering::Relaxed) + 1;
        let is_too_much = kept > self.pool.slots.capacity() / SHARE_OF_CACHE;
        let keep = if is_too_much { 1 } else { PINS_MAX };
        self.give_back(self.pins.len().saturating_sub(keep));
        Ok(())
    }

    /// Gives back the oldest pins.
    fn give_back(&mut self, count: usize) {
        self.pins.drain(..count);
        self.pool.operation_pins.fetch_sub(count, Ordering::Relaxed);
    }
}

impl Drop for OperationPins<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.pins.is_empty() {
            self.give_back(self.pins.len());
        }
    }
}

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

    #[test]
    fn operations_keep_few_pins_and_one_each_when_there_are_many() {
        let options = PoolOptions {
            cache_bytes: 64 * PAGE_SIZE as u64,
            background_cleaner: false,
            ..PoolOptions::default()
        };
        let pool = Pool::open(&MemoryDisk::new(), Arc::new(NoLog), options).unwrap();
        let mut operations: Vec<_> = (0..20).map(|_| OperationPins::new(&pool)).collect();
        let mut next = 0;
        let mut take = |operation: &mut OperationPins<'_>| {
            next += 1;
            operation.take(PageId(next)).unwrap();
        };
        (0..10).for_each(|_| take(&mut operations[0]));
        assert_eq!(pool.held_pages(), PINS_MAX);
        for operation in &mut operations {
            (0..10).for_each(|_| take(operation));
        }
        // A quarter of 64 is 16, and each of the 20 has at least its last one.
        let held = pool.held_pages();
        assert!((20..=16 + 20).contains(&held), "{held}");
        assert!(operations.iter().all(|one| !one.pins.is_empty() && one.pins.len() <= PINS_MAX));
        drop(operations);
        assert_eq!(pool.held_pages(), 0);
        assert_eq!(pool.operation_pins.load(Ordering::Relaxed), 0);
    }
}
