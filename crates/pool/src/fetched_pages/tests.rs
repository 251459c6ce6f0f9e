//! Sets of pins over a disk in memory.

use clearway_base::PAGE_SIZE;
use clearway_disk::MemoryDisk;

use super::*;
use crate::{PoolOptions, fetch_pins::SHARE_OF_CACHE, wal::DurableLog};

const CAPACITY: usize = 64;
const MAX: usize = CAPACITY / SHARE_OF_CACHE;

fn small_pool() -> Arc<Pool> {
    let options = PoolOptions {
        cache_bytes: (CAPACITY * PAGE_SIZE) as u64,
        background_cleaner: false,
        ..PoolOptions::default()
    };
    Pool::open(&MemoryDisk::new(), Arc::new(DurableLog), options).unwrap()
}

fn read(pool: &Pool, pages: impl Iterator<Item = u32>) {
    pages.for_each(|page| drop(pool.shared(PageId(page)).unwrap()));
}

#[test]
fn kept_page_is_not_evicted_until_its_set_is_dropped() {
    let pool = small_pool();
    let mut fetched = FetchedPages::new(&pool);
    read(&pool, 2..6);
    (2..6).for_each(|page| assert!(fetched.keep(PageId(page))));
    fetched.keep(PageId(2));
    assert_eq!((fetched.count(), pool.held_pages()), (4, 4));
    read(&pool, 100..300);
    assert!((2..6).all(|page| pool.try_resident(PageId(page))));
    drop(fetched);
    assert_eq!((pool.fetch_pins.pinned(), pool.held_pages()), (0, 0));
    read(&pool, 300..500);
    assert!(!(2..6).any(|page| pool.try_resident(PageId(page))));
}

#[test]
fn absent_page_is_not_kept() {
    let pool = small_pool();
    let mut fetched = FetchedPages::new(&pool);
    assert!(!fetched.keep(PageId(7)));
    assert_eq!((fetched.count(), pool.held_pages()), (0, 0));
}

#[test]
fn newest_set_takes_the_pins_of_the_oldest() {
    let pool = small_pool();
    let (mut first, mut second) = (FetchedPages::new(&pool), FetchedPages::new(&pool));
    read(&pool, 2..2 + MAX as u32 + 1);
    (2..6).for_each(|page| assert!(first.keep(PageId(page))));
    (6..2 + MAX as u32).for_each(|page| assert!(second.keep(PageId(page))));
    assert_eq!(pool.held_pages(), MAX);
    assert!(first.is_whole() && second.is_whole());
    second.keep(PageId(2 + MAX as u32));
    assert!(!first.is_whole() && second.is_whole());
    assert_eq!((first.count(), second.count()), (0, MAX - 3));
    // A set that has lost its pins gets none again.
    first.keep(PageId(2));
    assert_eq!(pool.held_pages(), MAX - 3);
    drop((first, second));
    assert_eq!((pool.fetch_pins.pinned(), pool.held_pages()), (0, 0));
}

#[test]
fn set_that_alone_has_too_many_loses_its_own() {
    let pool = small_pool();
    let mut fetched = FetchedPages::new(&pool);
    read(&pool, 2..2 + MAX as u32 + 1);
    (2..2 + MAX as u32 + 1).for_each(|page| assert!(fetched.keep(PageId(page))));
    assert!(!fetched.is_whole());
    assert_eq!((pool.fetch_pins.pinned(), pool.held_pages()), (0, 0));
}
