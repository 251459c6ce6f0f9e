//! A batch when a write panics or does not end, and when a sync fails.

use std::{
    io::ErrorKind,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, mpsc},
    time::Duration,
};

use clearway_disk::{Disk, MemoryDisk};
use clearway_testkit::disk::{Faults, FaultyDisk, HeldWrites, HeldWritesDisk, Operation};

use clearway_sync::{Mutex, thread};

use super::*;
use crate::{PoolOptions, wal::DurableLog};

fn open(disk: &dyn Disk, background_cleaner: bool) -> Arc<Pool> {
    let options = PoolOptions {
        cache_bytes: 128 * PAGE_SIZE as u64,
        background_cleaner,
        close_wait: Duration::from_millis(100),
        ..PoolOptions::default()
    };
    let pool = Pool::open(disk, Arc::new(DurableLog), options).unwrap();
    pool.ensure_len(PageId(999)).unwrap();
    pool
}

fn change(pool: &Pool, page: PageId) {
    let mut page = pool.format(page).unwrap();
    page.begin_change();
    page[100] = page.id().0 as u8;
    page.finish_change(Lsn(10));
}

#[test]
fn panic_in_a_write_stops_writing_and_leaves_no_page_in_flight() {
    let (disk, faults) = (MemoryDisk::new(), Faults::new());
    let pool = open(&FaultyDisk::new(disk, faults.clone()), false);
    change(&pool, PageId(5));
    faults.watch(|event| {
        let in_place = event.operation == Operation::Write && event.name == "data";
        if in_place { panic!("the disk's driver is broken") } else { None }
    });
    assert!(catch_unwind(AssertUnwindSafe(|| pool.clean_all())).is_err());
    assert!(matches!(pool.health(), Err(Error::Poisoned { .. })));
    let frame = pool.space.frame(PageId(5));
    assert!(frame.is_dirty() && !frame.is_writing());
    faults.clear();
    assert!(pool.clean_all().is_err(), "its area may hold all that is whole of a page");
}

#[test]
fn panic_in_the_background_cleaner_is_reported() {
    let (disk, faults) = (MemoryDisk::new(), Faults::new());
    let pool = open(&FaultyDisk::new(disk, faults.clone()), true);
    faults.watch(|event| {
        if event.operation == Operation::Write {
            panic!("the disk's driver is broken")
        } else {
            None
        }
    });
    // Use more pages than the cache has, until the cleaner is woken and meets a failure.
    let failed = (2..900).any(|page| {
        let _ = catch_unwind(AssertUnwindSafe(|| {
            if let Ok(mut page) = pool.format(PageId(page)) {
                page.begin_change();
                page.finish_change(Lsn(10));
            }
        }));
        thread::sleep(Duration::from_millis(1));
        pool.health().is_err()
    });
    assert!(failed);
}

/// The system reports a failed write to the first caller that syncs, and to none after that.
#[test]
fn failed_sync_stops_the_batches_beside_it() {
    let (disk, faults) = (MemoryDisk::new(), Faults::new());
    let pool = open(&FaultyDisk::new(disk, faults.clone()), false);
    change(&pool, PageId(5));
    change(&pool, PageId(6));
    let ((arrived, arrival), (resume, resumed)) = (mpsc::channel(), mpsc::channel::<()>());
    let channels = Mutex::new(Some((arrived, resumed)));
    faults.watch(move |event| {
        if event.operation != Operation::Sync || event.name != "data" {
            return None;
        }
        // The first sync only, and no latch over the wait.
        let (arrived, resumed) = channels.lock().take()?;
        arrived.send(()).unwrap();
        resumed.recv().unwrap();
        Some(ErrorKind::Other)
    });
    let clean = |page: u32| {
        let mut batch = pool.cleaning.batch();
        pool.write_batch(&mut batch, &mut vec![PageId(page)], Lsn::MAX)
    };
    thread::scope(|scope| {
        let first = scope.spawn(|| clean(5));
        arrival.recv().unwrap();
        let second = scope.spawn(|| clean(6));
        // Time enough to write in place, and to ask the disk for the same sync.
        thread::sleep(Duration::from_millis(200));
        resume.send(()).unwrap();
        assert!(first.join().unwrap().is_err());
        assert!(second.join().unwrap().is_err(), "its write may be the one that failed");
    });
    assert!(pool.space.frame(PageId(6)).is_dirty());
}

/// The device may read the image of a batch until the last of its writes has ended.
#[test]
fn image_belongs_to_the_writes_that_a_close_has_given_up() {
    let writes = HeldWrites::new();
    let pool = open(&HeldWritesDisk::new(MemoryDisk::new(), writes.clone()), false);
    change(&pool, PageId(5));
    change(&pool, PageId(9));
    writes.hold();
    assert!(matches!(pool.close(), Err(Error::WriteTimeout { page: PageId(5), .. })));
    let owners = || Arc::strong_count(&pool.cleaning.batch().image);
    assert_eq!(owners(), 3);
    assert!(writes.complete_one());
    assert_eq!(owners(), 2);
    writes.let_go();
    assert_eq!(owners(), 1);
}
