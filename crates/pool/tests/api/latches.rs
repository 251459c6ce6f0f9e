//! Invariant 1: an optimistic read that validates saw one version of the page.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use clearway_base::PageId;
use clearway_disk::MemoryDisk;
use clearway_pool::Restart;

use crate::support::*;

const PAGE: PageId = PageId(7);

#[test]
fn torn_reads_never_validate() {
    let wal = CountingWal::new();
    let pool = open(&MemoryDisk::new(), &wal, small());
    populate(&pool, &wal, 0..128);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        // One thread changes the page, one drives it out of the cache again and again.
        scope.spawn(|| {
            for counter in 2..4_000 {
                fill(
                    &mut {
                        let mut page = pool.exclusive(PAGE).unwrap();
                        page.begin_change();
                        page
                    },
                    counter,
                );
            }
            stop.store(true, Ordering::Relaxed);
        });
        scope.spawn(|| {
            for round in 0.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                check(PageId(round % 128), &pool.shared(PageId(round % 128)).unwrap());
            }
        });
        let reader = scope.spawn(|| {
            let (mut validated, mut last) = (0, 0);
            // The scheduler may not let it run before the writers have ended.
            while !stop.load(Ordering::Relaxed) || validated == 0 {
                if let Some(counter) = check_optimistic(pool.optimistic(PAGE).unwrap()) {
                    assert!(counter >= last, "a version came back");
                    last = counter;
                    validated += 1;
                }
            }
        });
        reader.join().unwrap();
    });
}

#[test]
fn version_survives_eviction() {
    let wal = CountingWal::new();
    let pool = open(&MemoryDisk::new(), &wal, small());
    populate(&pool, &wal, 0..200);
    pool.clean_all().unwrap();
    let before = pool.optimistic(PAGE).unwrap();
    let counter = before.read_u64(24);
    (8..200).for_each(|id| drop(pool.shared(PageId(id)).unwrap()));
    assert!(!pool.try_resident(PAGE));
    assert_eq!(before.validate(), Err(Restart));
    let after = pool.optimistic(PAGE).unwrap();
    assert_eq!((after.read_u64(24), after.validate()), (counter, Ok(())));
    // The same bytes in the same place, and still not the same version.
    assert_eq!(before.validate(), Err(Restart));
    assert!(before.latch_exclusive().is_err());
}

#[test]
fn upgrade_succeeds_only_on_the_version_that_was_read() {
    let wal = CountingWal::new();
    let pool = open(&MemoryDisk::new(), &wal, small());
    let old = pool.optimistic(PAGE).unwrap();
    write(&wal, &mut old.latch_exclusive().unwrap(), 5);
    assert!(old.latch_exclusive().is_err());
    let new = pool.optimistic(PAGE).unwrap();
    assert_eq!(check(PAGE, &new.latch_exclusive().unwrap()), 5);
}

#[test]
fn waiters_of_every_kind_wake_when_the_writer_leaves() {
    let wal = CountingWal::new();
    let pool = open(&MemoryDisk::new(), &wal, small());
    let page = pool.exclusive(PAGE).unwrap();
    thread::scope(|scope| {
        for kind in 0..9 {
            let pool = &pool;
            scope.spawn(move || match kind % 3 {
                0 => drop(pool.exclusive(PAGE).unwrap()),
                1 => drop(pool.shared(PAGE).unwrap()),
                _ => assert_eq!(pool.optimistic(PAGE).unwrap().id(), PAGE),
            });
        }
        // All nine spin a little and then sleep; without a release none of them can go on.
        while pool.stats().latch_waits < 9 {
            thread::sleep(Duration::from_millis(1));
        }
        drop(page);
    });
}
