//! The pool as a whole: its parts, how it opens and closes, and what it reports.
//!
//! | question                              | answered in        |
//! | ------------------------------------- | ------------------ |
//! | where is a page, where is its frame?  | `space`, `region`  |
//! | how is a page latched?                | `latching`, guards |
//! | which threads may access it now?      | `latch`            |
//! | is it in memory, and if not?          | `miss`, `load`     |
//! | how does a task wait for it?          | `task_reads`       |
//! | which page is evicted for another?    | `evict`, `slots`   |
//! | how do changes reach the disk?        | `clean`            |

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use clearway_base::{Error, Lsn, PAGE_SIZE, PageId, Result};
use clearway_disk::{Disk, IoQueue, IoQueueKind};
use clearway_sync::{
    Counter, Mutex,
    atomic::{AtomicU64, Ordering},
};

use crate::{
    DirectoryLock, PoolOptions, PoolStats, Wal,
    admission::{AdmissionsByDriver, operations_max},
    clean::{CleanerHandle, PageCleaner},
    data_file::DataFile,
    fetch_pins::FetchPins,
    latch::Residency,
    loader::Loader,
    loading_pages::LoadingPages,
    page_waits::PageWaits,
    slots::Slots,
    space::PageSpace,
};

/// Counters of [`PoolStats`], each incremented on slow paths only.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) misses: Counter,
    pub(crate) reads: Counter,
    pub(crate) evictions: Counter,
    pub(crate) pages_written: Counter,
    pub(crate) batches: Counter,
    pub(crate) foreground_batches: Counter,
    pub(crate) latch_waits: Counter,
    pub(crate) pages_repaired: Counter,
}

/// Pages in memory, each at an address of its own.
pub struct Pool {
    /// The queue through which `load` and tasks read, and cleaning writes. The completions of reads
    /// keep the pool alive (LOAD-2), those of writes only the queue (WRITES-1).
    pub(crate) io: Arc<dyn IoQueue>,
    pub(crate) space: PageSpace,
    pub(crate) slots: Slots,
    pub(crate) data: DataFile,
    pub(crate) wal: Arc<dyn Wal>,
    pub(crate) cleaning: PageCleaner,
    pub(crate) counters: Counters,
    opened: Instant,
    pub(crate) pinned_operations: AdmissionsByDriver,
    pub(crate) fetch_pins: FetchPins,
    /// Operations, of threads and of tasks, that wait for pages.
    pub(crate) page_waits: PageWaits,
    pub(crate) loader: Loader,
    /// The pages of all calls of `load_ahead`.
    pub(crate) loading_ahead: Arc<LoadingPages>,
    /// Upper bound on the recovery LSNs of pages that become dirty while redo runs, `u64::MAX`
    /// otherwise; see `set_redo_position`.
    redo_position: AtomicU64,
    /// The highest page LSN, and its page, of those that were read before the log ran.
    pub(crate) newest_before_log: Mutex<(Lsn, PageId)>,
    /// The first failed write or sync of data; nothing is written after it.
    pub(crate) failure: OnceLock<Error>,
    /// The longest wait of a close for a read or write that is under way.
    close_wait: Duration,
}

impl Pool {
    /// Opens the files `data` and `doublewrite` of the directory, creating them if they are
    /// absent, and repairs pages that a crash has torn. Call it before recovery reads any page.
    ///
    /// # Errors
    /// [`Error::BadOption`] for invalid options; errors of the disk.
    pub fn open(disk: &dyn Disk, wal: Arc<dyn Wal>, options: PoolOptions) -> Result<Arc<Pool>> {
        options.check()?;
        let data = DataFile::open(disk)?;
        // This repairs torn pages, so it comes before any step that could read one.
        let counters = Counters::default();
        let cleaning = PageCleaner::open(disk, &data, &options, &counters.pages_repaired)?;
        let data_bytes = u64::from(data.pages()) * PAGE_SIZE as u64;
        // The address space that is required even if the system grants less than `max_bytes`:
        // enough for the cache and for twice the data file, whichever is more.
        let least_bytes = options.cache_bytes.max(data_bytes * 2).next_multiple_of(1 << 20);
        let pool = Arc::new(Pool {
            io: Arc::from(disk.io_queue(data.file(), &options.io)?),
            space: PageSpace::reserve(options.max_bytes, least_bytes)?,
            slots: Slots::new(options.capacity_pages()),
            data,
            wal,
            cleaning,
            counters,
            opened: Instant::now(),
            pinned_operations: AdmissionsByDriver::new(operations_max(options.capacity_pages())),
            fetch_pins: FetchPins::new(options.capacity_pages()),
            page_waits: PageWaits::default(),
            loader: Loader::new(options.background_cleaner),
            loading_ahead: Arc::default(),
            redo_position: AtomicU64::new(u64::MAX),
            newest_before_log: Mutex::new((Lsn::ZERO, PageId(0))),
            failure: OnceLock::new(),
            close_wait: options.close_wait,
        });
        if options.background_cleaner {
            CleanerHandle::spawn_cleaner(&pool)?;
        }
        Ok(pool)
    }

    /// Returns true if a page is in memory now. It may be evicted at any time unless it is latched
    /// or pinned.
    pub fn try_resident(&self, page: PageId) -> bool {
        self.space.page(page).is_ok_and(|(frame, _)| frame.latch.is_resident())
    }

    /// Makes the data file long enough to hold `page`. Called before a page is allocated, so that
    /// the cleaner, which has no caller to report an error to, does not meet a full disk.
    ///
    /// # Errors
    /// [`Error::DiskFull`]; nothing has changed then. [`Error::BadOption`] beyond `max_bytes`.
    pub fn ensure_len(&self, page: PageId) -> Result<()> {
        self.data.ensure(page, self.space.page_limit())
    }

    /// The first page id that cannot exist: the data file cannot grow to it.
    pub fn page_limit(&self) -> u32 {
        self.space.page_limit()
    }

    /// Returns true if pages have been evicted.
    pub fn has_evicted(&self) -> bool {
        self.counters.evictions.get() > 0
    }

    /// Pages that the data file holds.
    pub fn page_count(&self) -> u32 {
        self.data.pages()
    }

    /// Sets the redo position: redo applies records that start at `from` or later, so pages made
    /// dirty from now on get a recovery LSN of at most `from`. `None` once redo is over. Without
    /// this a page that redo changes would get the log's end as its recovery LSN, and a checkpoint
    /// taken after recovery would cut off the records that the page still needs.
    pub fn set_redo_position(&self, from: Option<Lsn>) {
        // SeqCst: the call is rare, and no weaker order has to be considered in the proof that
        // `redo_start` (`clean/checkpoint.rs`) is never too late.
        self.redo_position.store(from.unwrap_or(Lsn::MAX).0, Ordering::SeqCst);
    }

    /// Returns the recovery LSN for a page that becomes dirty now.
    #[cold]
    pub(crate) fn rec_lsn_now(&self) -> Lsn {
        let now = self.wal.end().min(Lsn(self.redo_position.load(Ordering::SeqCst)));
        // No record starts at or after the largest LSN: such a page would never be redone.
        assert!(now < Lsn::MAX, "before the log runs, the redo position is set");
        now
    }

    /// Stops all writing because of `cause`, unless it has already stopped. Returns the error that
    /// [`Pool::health`] reports from now on.
    #[cold]
    pub(crate) fn fail(&self, cause: Error) -> Result<()> {
        // The first failure stays the cause.
        let _ = self.failure.set(cause);
        self.health()
    }

    /// The highest page LSN that may have been written to the data file before the pool was opened:
    /// by the WAL rule the log was durable up to there. A log that ends earlier is damaged.
    pub fn page_lsn_max(&self) -> Lsn {
        self.cleaning.page_lsn_max()
    }

    /// Checks that the pool can still write. After the first failed write or sync of data it never
    /// writes again (the contents of the disk are unknown then), dirty pages stay in memory, and a
    /// miss that needs the slot of a dirty page fails with the same error.
    ///
    /// # Errors
    /// [`Error::Poisoned`] with the first failure.
    pub fn health(&self) -> Result<()> {
        match self.failure.get() {
            None => Ok(()),
            Some(cause) => Err(Error::Poisoned { cause: Arc::new(cause.clone()) }),
        }
    }

    /// Returns the number of resident pages that are latched or pinned (counted by walking the
    /// frames).
    pub fn held_pages(&self) -> usize {
        let frames = self.slots.all().map(|page| self.space.frame(page));
        frames.filter(|frame| frame.latch.is_held() || frame.is_pinned()).count()
    }

    /// Bytes of page contents in memory.
    pub fn resident_bytes(&self) -> u64 {
        (self.slots.taken() * PAGE_SIZE) as u64
    }

    /// Counters, and a walk over the resident pages.
    pub fn stats(&self) -> PoolStats {
        let dirty = self.slots.all().filter(|page| self.space.frame(*page).is_dirty());
        let (counters, io) = (&self.counters, self.io.stats());
        PoolStats {
            misses: counters.misses.get(),
            reads: counters.reads.get(),
            evictions: counters.evictions.get(),
            pages_written: counters.pages_written.get(),
            batches: counters.batches.get(),
            foreground_batches: counters.foreground_batches.get(),
            latch_waits: counters.latch_waits.get(),
            pages_repaired: counters.pages_repaired.get(),
            io_queue: self.io.kind(),
            queued_reads: io.reads,
            queued_reads_in_flight: io.reads_in_flight as u64,
            queued_reads_in_flight_max: io.reads_in_flight_max as u64,
            queued_reads_in_flight_ns: io.reads_in_flight_time.as_nanos() as u64,
            age_ns: self.opened.elapsed().as_nanos() as u64,
            queued_writes: io.writes,
            fetched_pages: self.fetch_pins.pinned() as u64,
            resident_pages: self.slots.taken() as u64,
            dirty_pages: dirty.count() as u64,
        }
    }

    /// Has each batch of pages hold the lock on the database's directory until its writes have
    /// ended (WRITES-3). The caller keeps `lock` until it writes no page any more.
    pub fn hold_directory(&self, lock: &DirectoryLock) {
        self.cleaning.writes.hold_directory(lock);
    }

    /// Notes that the pool will be closed. From now on no thread waits for the write of a page
    /// longer than [`PoolOptions::close_wait`] after this call or, if that is later, after the
    /// submission of the write: then the pool stops because of [`Error::WriteTimeout`] (WRITES-2).
    /// To be called before any wait for threads that may clean pages. A second call has no effect.
    pub fn begin_close(&self) {
        self.cleaning.writes.begin_close();
    }

    /// Cleans all pages, stops the background threads, and waits for reads that are in flight
    /// (LOAD-2). Tasks that wait for pages, or to be admitted, fail with [`Error::Closed`], now and
    /// later (PAGE-WAITS-4). For threads the pool remains usable, without the cleaner.
    ///
    /// # Errors
    /// As for [`Pool::clean_all`]: nothing is written if the log has failed. The cleaner is stopped
    /// in any case. [`Error::ReadTimeout`] if a read is not completed within
    /// [`PoolOptions::close_wait`]: its page stays mapped for the device, as long as the process
    /// runs. [`Error::WriteTimeout`] if that befell a write, since
    /// [`begin_close`](Pool::begin_close) at the earliest: the memory that it writes stays.
    pub fn close(&self) -> Result<()> {
        self.begin_close();
        let cleaned = self.clean_all();
        self.cleaning.handle.stop();
        self.page_waits.refuse();
        // It submits reads, so it ends before the wait for them.
        self.loader.stop();
        let timed_out = self.write_timeout();
        // After a write that was given up, which is in flight still, there is no more time.
        let wait = if timed_out.is_some() { Duration::ZERO } else { self.close_wait };
        let is_idle = self.io.wait_idle(Instant::now().checked_add(wait));
        self.page_waits.fail_all();
        self.pinned_operations.close();
        match timed_out {
            Some(error) => Err(error),
            None if is_idle => cleaned,
            None => Err(self.unfinished()),
        }
    }

    /// Returns the error of the write that was given up, if the pool stopped because of it.
    fn write_timeout(&self) -> Option<Error> {
        self.failure.get().filter(|cause| matches!(cause, Error::WriteTimeout { .. })).cloned()
    }

    /// Returns the error that names a page whose read, or write, has not been completed.
    #[cold]
    fn unfinished(&self) -> Error {
        let pages = (0..self.slots.len()).filter_map(|slot| self.slots.page(slot));
        let loading = pages.into_iter().find(|page| self.is_loading(*page));
        let waited_us = self.close_wait.as_micros() as u64;
        match (loading, self.cleaning.writes.page_under_way()) {
            // That of a transaction which is still open.
            (None, Some(page)) => Error::WriteTimeout { page, waited_us },
            (page, _) => Error::ReadTimeout { page: page.unwrap_or(PageId::NONE), waited_us },
        }
    }

    /// Returns true if a read is over when it has been requested, since the disk has no queue.
    pub fn reads_at_once(&self) -> bool {
        self.io.kind() == IoQueueKind::AtOnce
    }

    /// Returns true if a page is being read in.
    pub fn is_loading(&self, page: PageId) -> bool {
        let frame = self.space.get(page).map(|(frame, _)| frame);
        frame.is_some_and(|frame| frame.latch.residency() == Residency::Loading)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.cleaning.handle.stop();
        self.loader.stop();
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pool({} of {} pages resident)", self.slots.taken(), self.slots.capacity())
    }
}
