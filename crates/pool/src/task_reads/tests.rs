//! Tasks that take pages over a disk whose reads the test completes.

use std::{
    io::ErrorKind,
    sync::atomic::{AtomicU32, Ordering},
    task::{Context, Poll, Wake},
    thread,
    time::Duration,
};

use clearway_base::{Lsn, PAGE_SIZE};
use clearway_disk::{Disk, MemoryDisk, OpenMode};
use clearway_sync::step;
use clearway_testkit::disk::{HeldReads, HeldReadsDisk};

use super::*;
use crate::{OperationPins, PoolOptions, wal::DurableLog};

mod many;
mod races;
mod waits;

const PAGES: u32 = 640;

/// A pool of 64 pages, of which none is in memory.
struct Scene {
    pool: Arc<Pool>,
    reads: HeldReads,
    disk: MemoryDisk,
}

impl Scene {
    fn new() -> Scene {
        Scene::with(1, true)
    }

    fn with(seed: u64, background_cleaner: bool) -> Scene {
        let (disk, reads) = (MemoryDisk::new(), HeldReads::new(seed));
        let held = HeldReadsDisk::new(disk.clone(), reads.clone());
        let options = PoolOptions {
            cache_bytes: 64 * PAGE_SIZE as u64,
            max_bytes: 1 << 30,
            background_cleaner,
            close_wait: Duration::from_millis(300),
            ..PoolOptions::default()
        };
        let pool = Pool::open(&held, Arc::new(DurableLog), options).unwrap();
        pool.ensure_len(PageId(PAGES - 1)).unwrap();
        Scene { pool, reads, disk }
    }

    fn task(&self) -> Task {
        Task { pins: OperationPins::new(&self.pool), woken: Arc::default() }
    }

    fn frame(&self, page: u32) -> &Frame {
        self.pool.space.frame(PageId(page))
    }

    fn damage(&self, page: u32) {
        let data = self.disk.open("data", OpenMode::Existing).unwrap();
        data.write_at(&[0xAB; 9], u64::from(page) * PAGE_SIZE as u64 + 500).unwrap();
    }

    /// Fills the cache with dirty pages.
    fn fill_with_dirty_pages(&self) {
        for page in 100..164 {
            let mut page = self.pool.format(PageId(page)).unwrap();
            page.begin_change();
            page.finish_change(Lsn(2));
        }
    }

    /// Evicts everything that can be evicted.
    fn evict_others(&self) {
        (300..600).for_each(|page| drop(self.pool.shared(PageId(page)).unwrap()));
    }

    /// Nothing is pinned, latched, admitted or waited for.
    fn assert_at_rest(&self) {
        assert_eq!(self.pool.held_pages(), 0);
        assert_eq!(self.pool.pinned_operations.tasks.counts(), (0, 0));
        assert_eq!(self.pool.pinned_operations.threads.counts(), (0, 0));
        assert_eq!(self.pool.page_waits.counts(), (0, 0));
    }
}

#[derive(Default)]
struct Woken(AtomicU32);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

struct Task {
    pins: OperationPins,
    woken: Arc<Woken>,
}

impl Task {
    /// Polls as if inside a step: what blocks panics.
    fn poll(&mut self, page: u32) -> Poll<Result<()>> {
        let waker = Waker::from(self.woken.clone());
        let _inside = step::Inside::begin();
        self.pins.poll_take(PageId(page), &mut Context::from_waker(&waker))
    }

    fn is_pending(&mut self, page: u32) -> bool {
        self.poll(page).is_pending()
    }

    fn is_taken(&mut self, page: u32) -> bool {
        matches!(self.poll(page), Poll::Ready(Ok(())))
    }

    fn error(&mut self, page: u32) -> Option<Error> {
        match self.poll(page) {
            Poll::Ready(Err(error)) => Some(error),
            _ => None,
        }
    }

    fn woken(&self) -> u32 {
        self.woken.0.load(Ordering::SeqCst)
    }

    fn wait_until_woken(&self, times: u32) {
        while self.woken() < times {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

const fn assert_send<T: Send>() {}
const _: () = assert_send::<OperationPins>();
