//! The pool under many schedules: threads that read and change more pages than the cache has room
//! for, on shuttle's threads. Pages are evicted several at a time, and written by other threads.
#![cfg(shuttle)]

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Instant,
};

use clearway_base::{Lsn, PAGE_SIZE, PageId, Result};
use clearway_disk::{
    Disk, File, IoQueue, IoQueueKind, IoQueueOptions, IoQueueStats, IoRequest, MemoryDisk,
};
use clearway_pool::{Pool, PoolOptions, Wal};
use clearway_sync::{
    schedules::{check, random},
    thread,
};
use clearway_testkit::forward_disk;

/// Pages of the cache, the least that there are; four of them are evicted together.
const CACHE: u32 = 16;
const PAGES: u32 = 22;

/// A log without bytes that is always durable: its end.
struct NoLog(AtomicU64);

impl Wal for NoLog {
    fn durable(&self) -> Lsn {
        self.end()
    }

    fn make_durable(&self, _: Lsn) -> Result<()> {
        Ok(())
    }

    fn end(&self) -> Lsn {
        Lsn(self.0.load(SeqCst))
    }
}

/// A disk in memory whose queue performs each request on a thread of its own.
struct ThreadsDisk(MemoryDisk);

#[derive(Default)]
struct ThreadsQueue(AtomicU64);

impl IoQueue for ThreadsQueue {
    fn submit(&self, requests: Vec<IoRequest>) {
        for request in requests {
            self.0.fetch_add(1, SeqCst);
            thread::spawn(|| request.perform());
        }
    }

    fn wait_idle(&self, _: Option<Instant>) -> bool {
        true
    }

    fn kind(&self) -> IoQueueKind {
        IoQueueKind::Threads
    }

    fn stats(&self) -> IoQueueStats {
        IoQueueStats { writes: self.0.load(SeqCst), ..IoQueueStats::default() }
    }
}

impl Disk for ThreadsDisk {
    fn io_queue(&self, _: &dyn File, _: &IoQueueOptions) -> Result<Box<dyn IoQueue>> {
        Ok(Box::new(ThreadsQueue::default()))
    }

    forward_disk!(0);
    forward_disk!(0; open);
}

/// Writes the bytes that `page` has for good.
fn write(pool: &Pool, log: &NoLog, page: u32) {
    let mut latched = pool.exclusive(PageId(page)).unwrap();
    latched.begin_change();
    latched[100..].fill(page as u8 + 1);
    latched.finish_change(Lsn(log.0.fetch_add(10, SeqCst) + 10));
}

fn read(pool: &Pool, page: u32) {
    let latched = pool.shared(PageId(page)).unwrap();
    assert!(latched[100..].iter().all(|byte| *byte == page as u8 + 1), "page {page}");
}

#[test]
fn evicted_pages_keep_their_contents() {
    check("evicted pages", 500, || {
        let options = PoolOptions {
            cache_bytes: u64::from(CACHE) * PAGE_SIZE as u64,
            max_bytes: 2 << 20,
            batches_in_flight: 1,
            background_cleaner: false,
            ..PoolOptions::default()
        };
        let log = Arc::new(NoLog(AtomicU64::new(10)));
        let pool = Pool::open(&ThreadsDisk(MemoryDisk::new()), log.clone(), options).unwrap();
        let directory: Arc<dyn Send + Sync> = Arc::new(());
        pool.hold_directory(&directory);
        (0..PAGES).for_each(|page| write(&pool, &log, page));
        pool.clean_all().unwrap();
        let threads: Vec<_> = (0..3)
            .map(|number| {
                let (pool, log) = (pool.clone(), log.clone());
                thread::spawn(move || {
                    for _ in 0..8 {
                        let page = random(u64::from(PAGES)) as u32;
                        if number == 0 { write(&pool, &log, page) } else { read(&pool, page) }
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        (0..PAGES).for_each(|page| read(&pool, page));
        assert_eq!(Arc::strong_count(&directory), 1, "WRITES-3: no write is under way");
        assert!(pool.stats().evictions > u64::from(PAGES - CACHE), "{:?}", pool.stats());
        assert!(pool.stats().queued_writes > 1);
    });
}
