//! Operations of threads over a disk in memory.

use std::sync::Arc;

use clearway_base::PAGE_SIZE;
use clearway_disk::MemoryDisk;
use clearway_sync::Mutex;

use super::*;
use crate::{PoolOptions, admission::SHARE_OF_CACHE, wal::DurableLog};

fn small_pool() -> Arc<Pool> {
    let options = PoolOptions {
        cache_bytes: 64 * PAGE_SIZE as u64,
        background_cleaner: false,
        ..PoolOptions::default()
    };
    Pool::open(&MemoryDisk::new(), Arc::new(DurableLog), options).unwrap()
}

#[test]
fn operation_keeps_the_pages_that_it_needed_last() {
    let pool = small_pool();
    let mut pins = OperationPins::new(&pool);
    (1..=10).for_each(|page| pins.take(PageId(page), Duration::MAX).unwrap());
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
                    (0..10).for_each(|n| {
                        pins.take(PageId(1 + 10 * first + n), Duration::MAX).unwrap()
                    });
                    let mut most = most.lock();
                    *most = pool.held_pages().max(*most);
                }
            });
        }
    });
    let most = *most.lock();
    assert!((PINS_MAX..=64 / SHARE_OF_CACHE).contains(&most), "{most}");
    assert_eq!(pool.held_pages(), 0);
    assert_eq!(pool.pinned_operations.threads.counts(), (0, 0));
}
