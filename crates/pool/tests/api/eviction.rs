//! Invariants 4 (bound) and 6 (progress), with data many times the cache.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use clearway_base::{PAGE_SIZE, PageId};
use clearway_disk::{Disk, MemoryDisk, OsDisk};
use clearway_pool::{Pool, PoolOptions};
use clearway_testkit::Random;

use crate::support::*;

/// Twenty times the cache of 64 pages, four times one of 320.
const PAGES: u32 = 1280;
/// 64 pages and the reserve of 8.
const BOUND: u64 = 72 * PAGE_SIZE as u64;

/// A thread writes and reads random pages; every page must always have the contents of its counter,
/// and no more than `bound` bytes may be in memory.
fn churn(pool: &Pool, wal: &CountingWal, written: &[AtomicU64], bound: u64, rounds: (u64, u32)) {
    let (seed, rounds) = rounds;
    let mut random = Random::new(seed);
    for _ in 0..rounds {
        let id = random.below(u64::from(PAGES)) as u32;
        let page = PageId(id);
        let written = &written[id as usize];
        match random.below(4) {
            0 => {
                let mut page = pool.exclusive(page).unwrap();
                assert_eq!(check(page.id(), &page), written.load(Ordering::Relaxed));
                let counter = written.load(Ordering::Relaxed) + 1;
                write(wal, &mut page, counter);
                written.store(counter, Ordering::Relaxed);
            }
            1 => {
                let shared = pool.shared(page).unwrap();
                assert_eq!(check(page, &shared), written.load(Ordering::Relaxed));
            }
            _ => {
                check_optimistic(pool.optimistic(page).unwrap());
            }
        }
        assert!(pool.resident_bytes() <= bound);
    }
}

fn churn_on(disk: &dyn Disk, options: PoolOptions, rounds: u32) {
    let bound = options.cache_bytes + BOUND - small().cache_bytes;
    let wal = CountingWal::new();
    let pool = open(disk, &wal, options.clone());
    populate(&pool, &wal, 0..PAGES);
    let written: Vec<AtomicU64> = (0..PAGES).map(|_| AtomicU64::new(1)).collect();
    thread::scope(|scope| {
        for seed in 0..4 {
            let (pool, wal, written) = (&pool, &wal, &written);
            scope.spawn(move || churn(pool, wal, written, bound, (seed, rounds)));
        }
    });
    let stats = pool.stats();
    assert!(stats.evictions > u64::from(rounds) && stats.pages_written > u64::from(PAGES));
    pool.close().unwrap();
    assert_eq!((pool.stats().dirty_pages, pool.redo_start()), (0, None));
    drop(pool);
    let pool = open(disk, &wal, options);
    for id in 0..PAGES {
        let page = pool.shared(PageId(id)).unwrap();
        assert_eq!(check(page.id(), &page), written[id as usize].load(Ordering::Relaxed));
    }
}

#[test]
fn data_twenty_times_the_cache_keeps_its_contents() {
    churn_on(&MemoryDisk::new(), small(), 4_000);
}

/// In a larger cache, pages are evicted several at a time.
#[test]
fn pages_that_are_evicted_together_keep_their_contents() {
    let cache_bytes = 320 * PAGE_SIZE as u64;
    churn_on(&MemoryDisk::new(), PoolOptions { cache_bytes, ..small() }, 10_000);
    let options = PoolOptions { cache_bytes, background_cleaner: true, ..small() };
    churn_on(&MemoryDisk::new(), options, 10_000);
}

#[test]
fn background_cleaner_keeps_contents_and_bound() {
    let options = PoolOptions { background_cleaner: true, batch_pages: 16, ..small() };
    churn_on(&MemoryDisk::new(), options, 4_000);
}

#[test]
fn files_of_the_operating_system_keep_contents_and_bound() {
    let directory = tempfile::tempdir().unwrap();
    let disk = OsDisk::open_dir(directory.path(), true).unwrap();
    churn_on(&disk, PoolOptions { background_cleaner: true, ..small() }, 500);
}

#[test]
fn miss_succeeds_when_all_pages_are_dirty_and_some_are_latched() {
    let wal = CountingWal::new();
    let pool = open(&MemoryDisk::new(), &wal, small());
    populate(&pool, &wal, 0..64);
    assert_eq!(pool.stats().dirty_pages, 64);
    // The caller holds latches of other pages, as a tree does.
    let held: Vec<_> = (0..10).map(|id| pool.exclusive(PageId(id)).unwrap()).collect();
    for id in 64..200 {
        pool.shared(PageId(id)).unwrap();
    }
    assert!(pool.stats().foreground_batches > 0);
    assert!(held.iter().all(|page| check(page.id(), page) == 1));
    assert!(pool.resident_bytes() <= BOUND);
}

#[test]
fn miss_succeeds_when_all_pages_are_latched() {
    let wal = CountingWal::new();
    let pool = open(&MemoryDisk::new(), &wal, small());
    let held: Vec<_> = (0..64).map(|id| pool.exclusive(PageId(id)).unwrap()).collect();
    let more: Vec<_> = (64..72).map(|id| pool.shared(PageId(id)).unwrap()).collect();
    assert_eq!(pool.resident_bytes(), BOUND);
    drop((held, more));
    // The reserve is returned.
    (72..80).for_each(|id| drop(pool.shared(PageId(id)).unwrap()));
    assert_eq!(pool.resident_bytes(), 64 * PAGE_SIZE as u64);
}

#[test]
fn pinned_page_stays_and_leaves_after_its_last_pin() {
    let wal = CountingWal::new();
    let pool = open(&MemoryDisk::new(), &wal, small());
    let (first, second) = (pool.pin(PageId(5)).unwrap(), pool.pin(PageId(5)).unwrap());
    let visit_all = || (100..400).for_each(|id| drop(pool.shared(PageId(id)).unwrap()));
    visit_all();
    drop(first);
    visit_all();
    assert!(pool.try_resident(PageId(5)));
    assert_eq!(second.id(), PageId(5));
    drop(second);
    visit_all();
    assert!(!pool.try_resident(PageId(5)));
}

#[test]
fn page_is_read_once_however_many_ask_for_it() {
    let wal = CountingWal::new();
    let disk = MemoryDisk::new();
    let pool = open(&disk, &wal, small());
    populate(&pool, &wal, 0..2);
    pool.close().unwrap();
    let pool = open(&disk, &wal, small());
    let ready = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while !ready.load(Ordering::Relaxed) {
                    thread::yield_now();
                }
                assert_eq!(check(PageId(1), &pool.shared(PageId(1)).unwrap()), 1);
            });
        }
        ready.store(true, Ordering::Relaxed);
    });
    assert_eq!(pool.stats().reads, 1);
}

#[test]
fn dropped_pool_ends_its_thread() {
    let wal = CountingWal::new();
    let options = PoolOptions { background_cleaner: true, ..small() };
    let pool = open(&MemoryDisk::new(), &wal, options);
    let weak = Arc::downgrade(&pool);
    drop(pool);
    assert!(weak.upgrade().is_none());
}
