//! Cleaning: writing changed pages to the disk.
//!
//! Every write of a page goes through one path, in batches:
//!
//! ```text
//!  copy each page          make the log        double-write        in place,       mark clean
//!  under its shared  ───►  durable up to  ───► area, made    ───►  made      ───►  what did not
//!  latch, seal copies      the max page LSN    durable             durable         change since
//! ```
//!
//! Three kinds of threads clean: the background cleaner, ahead of the clock's hand ([`cleaner`]);
//! an evicting thread, when the hand met only dirty pages; and a checkpointer, which cleans
//! everything older than an LSN ([`checkpoint`]). Each takes one of a few batch areas, which is a
//! mutex, and runs all steps of its batch alone.
//!
//! Invariants:
//! - CLEANER-1. **WAL.** Neither file sees a byte of a page before the log is durable up to the LSN
//!   in the copy. The copy is made under the latch, so its LSN covers all its changes
//!   (EXCLUSIVE-2).
//! - CLEANER-2. A page is in one batch at a time (FRAME-3), and stays dirty until the batch is
//!   durable in place (FRAME-2): so in-flight pages count for `redo_start` without further
//!   bookkeeping.
//! - CLEANER-3. No step waits for a page's latch; a latched page is skipped and cleaned later.
//! - CLEANER-4. The first failed write or sync of data stops all writing for good. A second sync
//!   after a failed one would report a false success; and an area whose batch was not written in
//!   place must not be overwritten (DOUBLE-WRITE-1). Pages stay dirty, the log keeps their records,
//!   reopening recovers. A failed log stops it too, and so do a panic on the way and a write that
//!   a close has given up (WRITES-2).
//! - CLEANER-5. Syncs of the data file are serialized, and a failure is known before the next one
//!   begins.
//! - CLEANER-6. A page whose change was begun but has no record is not written: the page in place
//!   is identical (FRAME-1). So a copy differs from the page in place until it is written there,
//!   from which repair infers how far a batch got (DOUBLE-WRITE-4).

mod batch;
mod checkpoint;
mod cleaner;
mod double_write;
mod writes;

use clearway_base::{Lsn, PAGE_SIZE, Result};
use clearway_disk::Disk;
use clearway_sync::{Counter, Mutex, MutexGuard, atomic::AtomicUsize};

use crate::{PoolOptions, data_file::DataFile};
use batch::PageBatch;
pub(crate) use batch::panicked;
pub(crate) use cleaner::CleanerHandle;
use double_write::DoubleWrite;
pub use writes::DirectoryLock;
use writes::PageWrites;

/// The batches, and the handle of the background cleaner.
pub(crate) struct PageCleaner {
    double_write: DoubleWrite,
    batches: Vec<Mutex<PageBatch>>,
    batch_pages: usize,
    pub(crate) writes: PageWrites,
    /// Held over each sync of the data file (CLEANER-5).
    syncing: Mutex<()>,
    pub(crate) handle: CleanerHandle,
    /// The position up to which the background cleaner has searched, on the clock hand's scale.
    position: AtomicUsize,
}

impl PageCleaner {
    /// Opens the double-write file and repairs torn pages.
    pub(crate) fn open(
        disk: &dyn Disk,
        data: &DataFile,
        options: &PoolOptions,
        pages_repaired: &Counter,
    ) -> Result<PageCleaner> {
        // No batch needs more than the whole cache.
        let batch_pages = options.batch_pages.min(options.capacity_pages());
        let areas = options.batches_in_flight;
        let (double_write, repaired) = DoubleWrite::open(disk, data, areas, batch_pages)?;
        pages_repaired.add(repaired);
        Ok(PageCleaner {
            double_write,
            batches: (0..areas).map(|area| Mutex::new(PageBatch::new(area, batch_pages))).collect(),
            batch_pages,
            writes: PageWrites::new(areas, options.close_wait),
            syncing: Mutex::new(()),
            handle: CleanerHandle::default(),
            position: AtomicUsize::new(0),
        })
    }

    /// See [`Pool::page_lsn_max`].
    pub(crate) fn page_lsn_max(&self) -> Lsn {
        self.double_write.page_lsn_max()
    }

    /// Waits until the batches that are in flight now have completed.
    pub(crate) fn wait_for_batches(&self) {
        self.batches.iter().for_each(|batch| drop(batch.lock()));
    }

    /// Returns an unused batch; if all are in use, waits for the first one.
    fn batch(&self) -> MutexGuard<'_, PageBatch> {
        let idle = self.batches.iter().find_map(|batch| batch.try_lock());
        idle.unwrap_or_else(|| self.batches[0].lock())
    }
}

/// Bytes of a batch's image: the header block and the pages.
fn image_bytes(pages: usize) -> usize {
    double_write::HEADER_BYTES + pages * PAGE_SIZE
}
