//! Writes of pages that the disk completes late, or never.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use clearway_base::{Error, PAGE_SIZE, PageId, Result};
use clearway_disk::{Disk, MemoryDisk, OpenMode, OsDisk};
use clearway_pool::{Pool, PoolOptions};
use clearway_testkit::disk::{HeldWrites, HeldWritesDisk};

use crate::support::*;

const LIMIT: Duration = Duration::from_millis(100);

/// A pool over a disk in memory, with two dirty pages that are not adjacent.
fn with_dirty_pages(options: &PoolOptions) -> (Arc<Pool>, HeldWrites, MemoryDisk) {
    let (disk, writes, wal) = (MemoryDisk::new(), HeldWrites::new(), CountingWal::new());
    let pool = open(&HeldWritesDisk::new(disk.clone(), writes.clone()), &wal, options.clone());
    populate(&pool, &wal, 3..4);
    populate(&pool, &wal, 9..10);
    (pool, writes, disk)
}

fn limited() -> PoolOptions {
    PoolOptions { close_wait: LIMIT, ..small() }
}

/// The counter of a page in the data file; the page is damaged if it has none.
fn on_disk(disk: &MemoryDisk, page: u32) -> u64 {
    let mut bytes = vec![0; PAGE_SIZE];
    let data = disk.open("data", OpenMode::Existing).unwrap();
    data.read_at(&mut bytes, u64::from(page) * PAGE_SIZE as u64).unwrap();
    check(PageId(page), &bytes)
}

/// Returns true if the pool has stopped because of a write of page 3.
fn is_stopped(result: Result<()>) -> bool {
    let Err(Error::Poisoned { cause }) = result else { return false };
    matches!(*cause, Error::WriteTimeout { page: PageId(3), waited_us: 100_000 })
}

#[test]
fn write_that_never_ends_is_given_up_by_a_close() {
    let (pool, writes, disk) = with_dirty_pages(&limited());
    writes.hold();
    let closed = pool.close().unwrap_err();
    assert!(matches!(closed, Error::WriteTimeout { page: PageId(3), waited_us: 100_000 }));
    assert!(closed.to_string().contains("page 3 was not written within 100 ms"), "{closed}");
    assert!(is_stopped(pool.health()) && is_stopped(pool.clean_all()));
    assert_eq!((pool.stats().dirty_pages, writes.count()), (2, 2));
    assert!(matches!(pool.close(), Err(Error::WriteTimeout { .. })), "again the same");
    // The device may read the image, and the queue has the write, although the pool is gone.
    drop(pool);
    assert_eq!((writes.queues(), on_disk(&disk, 3), on_disk(&disk, 9)), (1, 0, 0));
    assert!(writes.complete_one());
    assert_eq!((writes.queues(), on_disk(&disk, 3), on_disk(&disk, 9)), (1, 1, 0));
    writes.let_go();
    assert_eq!((writes.queues(), on_disk(&disk, 9)), (0, 1));
}

#[test]
fn wait_for_a_write_has_a_limit_once_a_close_begins() {
    let (pool, writes, _) = with_dirty_pages(&limited());
    writes.hold();
    thread::scope(|scope| {
        let cleaning = scope.spawn(|| pool.clean_all());
        writes.wait();
        thread::sleep(2 * LIMIT);
        assert!(!cleaning.is_finished(), "no close has begun");
        let began = Instant::now();
        pool.begin_close();
        assert!(is_stopped(cleaning.join().unwrap()));
        assert!(began.elapsed() >= LIMIT);
    });
    assert!(matches!(pool.close(), Err(Error::WriteTimeout { page: PageId(3), .. })));
    writes.let_go();
}

/// The limit begins with the write if that is later than the close.
#[test]
fn write_that_begins_after_a_close_has_its_own_limit() {
    let (pool, writes, _) = with_dirty_pages(&limited());
    pool.begin_close();
    thread::sleep(2 * LIMIT);
    writes.hold();
    let began = Instant::now();
    assert!(is_stopped(pool.clean_all()));
    assert!(began.elapsed() >= LIMIT);
    writes.let_go();
}

#[test]
fn close_waits_for_a_write_that_ends_in_time() {
    let options = PoolOptions { close_wait: Duration::from_secs(3_600), ..small() };
    let (pool, writes, disk) = with_dirty_pages(&options);
    writes.hold();
    thread::scope(|scope| {
        let closing = scope.spawn(|| pool.close());
        writes.wait();
        assert!(!closing.is_finished());
        writes.let_go();
        closing.join().unwrap().unwrap();
    });
    assert_eq!((pool.stats().dirty_pages, on_disk(&disk, 3), on_disk(&disk, 9)), (0, 1, 1));
}

/// The cleaner, and a thread that needs room, wait for writes; both give up, and the close joins
/// the cleaner.
#[test]
fn cleaner_and_evicting_threads_give_up_in_a_close() {
    let (disk, writes, wal) = (MemoryDisk::new(), HeldWrites::new(), CountingWal::new());
    let options = PoolOptions { background_cleaner: true, batch_pages: 8, ..limited() };
    let pool = open(&HeldWritesDisk::new(disk, writes.clone()), &wal, options);
    pool.ensure_len(PageId(999)).unwrap();
    writes.hold();
    thread::scope(|scope| {
        let evicting = scope.spawn(|| {
            (0..1000).find_map(|page| match pool.format(PageId(page)) {
                Ok(mut page) => {
                    write(&wal, &mut page, 1);
                    None
                }
                Err(error) => Some(error),
            })
        });
        writes.wait();
        assert!(matches!(pool.close(), Err(Error::WriteTimeout { .. })));
        let error = evicting.join().unwrap().unwrap();
        assert!(matches!(error, Error::Poisoned { .. }), "{error}");
    });
    writes.let_go();
}

/// The close itself has nothing to write, because the log has failed.
#[test]
fn close_names_the_page_of_a_write_that_another_thread_waits_for() {
    let (disk, writes, wal) = (MemoryDisk::new(), HeldWrites::new(), CountingWal::new());
    let held = HeldWritesDisk::new(disk, writes.clone());
    let pool = open(&held, &wal, limited());
    populate(&pool, &wal, 7..8);
    writes.hold();
    thread::scope(|scope| {
        let cleaning = scope.spawn(|| pool.clean_all());
        writes.wait();
        wal.fail_for_good();
        let closed = pool.close();
        assert!(matches!(closed, Err(Error::WriteTimeout { page: PageId(7), .. })), "{closed:?}");
        writes.let_go();
        let _ = cleaning.join().unwrap();
    });
}

#[test]
fn late_write_holds_the_directory() {
    let (pool, writes, disk) = with_dirty_pages(&limited());
    let lock: Arc<dyn Send + Sync> = Arc::new(());
    let is_locked = Arc::downgrade(&lock);
    pool.hold_directory(&lock);
    writes.hold();
    assert!(pool.close().is_err());
    drop((pool, lock));
    assert!(is_locked.upgrade().is_some() && writes.complete_one());
    assert!(is_locked.upgrade().is_some(), "one of two writes has ended");
    writes.let_go();
    assert!(is_locked.upgrade().is_none());
    assert_eq!((on_disk(&disk, 3), on_disk(&disk, 9)), (1, 1));
}

#[test]
fn nothing_is_written_without_the_directory() {
    let (pool, _, disk) = with_dirty_pages(&limited());
    let lock: Arc<dyn Send + Sync> = Arc::new(());
    pool.hold_directory(&lock);
    drop(lock);
    assert!(matches!(pool.clean_all(), Err(Error::Closed)));
    let copies = disk.open("doublewrite", OpenMode::Existing).unwrap();
    let mut magic = [0; 8];
    copies.read_at(&mut magic, 0).unwrap();
    assert_eq!((magic, on_disk(&disk, 3)), ([0; 8], 0));
    pool.health().unwrap();
}

/// A batch that has been written holds neither the directory nor the queue: the opener after this
/// one finds the directory free. The completions run in other threads than the batch.
#[test]
fn batch_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let (disk, wal) = (OsDisk::open_dir(directory.path(), true).unwrap(), CountingWal::new());
    let pool = open(&disk, &wal, small());
    populate(&pool, &wal, 0..64);
    let lock: Arc<dyn Send + Sync> = Arc::new(());
    pool.hold_directory(&lock);
    for counter in 2..100 {
        for page in (0..64).step_by(2) {
            write(&wal, &mut pool.exclusive(PageId(page)).unwrap(), counter);
        }
        pool.clean_all().unwrap();
        assert_eq!(Arc::strong_count(&lock), 1, "{counter}");
    }
    pool.close().unwrap();
    drop(pool);
    let pool = open(&disk, &wal, small());
    let counters = |page: u32| check(PageId(page), &pool.shared(PageId(page)).unwrap());
    assert!((0..64).all(|page| counters(page) == if page % 2 == 0 { 99 } else { 1 }));
}
