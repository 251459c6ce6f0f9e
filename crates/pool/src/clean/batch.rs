//! One batch: copied, checksummed, double-written, written in place, marked clean. See the module
//! above for CLEANER-1–CLEANER-4.
//!
//! | step         | holds                     | waits for | after a crash here        |
//! | ------------ | ------------------------- | --------- | ------------------------- |
//! | copy, seal   | one shared latch, briefly | nothing   | nothing was written       |
//! | log durable  | `writing` of each page    | the log   | nothing was written       |
//! | double-write | the same                  | the disk  | data untouched; redo      |
//! | in place     | the same                  | the disk  | torn pages repaired; redo |
//! | mark clean   | one shared latch, tried   | nothing   | redo finds nothing to do  |
//!
//! The batch's mutex is held over all steps. Its holder takes no other batch, so holders wait for
//! each other only for the sync of the data file, which one thread does at a time (CLEANER-5).

use std::{ops::Range, sync::Arc};

use clearway_base::{
    Error, Lsn, PAGE_SIZE, PageId, Result,
    failpoint::{self, Failpoint},
};
use clearway_disk::AlignedBuf;
use clearway_sync::invariant;

use super::{
    image_bytes,
    writes::{DirectoryLock, WriteResources},
};
use crate::{Pool, header, load::RUN_PAGES_MAX};

/// The memory of a batch, and its area of the double-write file.
pub(super) struct PageBatch {
    area: usize,
    /// Header block, then one page for each entry. Writes in place own it as well (WRITES-1).
    image: Arc<AlignedBuf>,
    entries: Vec<BatchEntry>,
}

struct BatchEntry {
    page: PageId,
    checksum: u32,
    /// The log's end while the page was copied: later changes have records from there on.
    copied_at: Lsn,
}

impl PageBatch {
    pub(super) fn new(area: usize, pages: usize) -> PageBatch {
        let image = Arc::new(AlignedBuf::new(image_bytes(pages)));
        PageBatch { area, image, entries: Vec::with_capacity(pages) }
    }

    fn has_room(&self) -> bool {
        image_bytes(self.entries.len() + 1) <= self.image.len()
    }

    fn copy_mut(&mut self, index: usize) -> &mut [u8] {
        let at = image_bytes(index);
        &mut owned(&mut self.image)[at..at + PAGE_SIZE]
    }

    /// The parts of the image that are written in place together: each with its first page.
    fn parts(&self) -> Vec<(PageId, Range<usize>)> {
        let mut index = 0;
        // Entries are in file order, so a run of neighbours is contiguous in the image too.
        let runs = self.entries.chunk_by(|left, right| left.page.0 + 1 == right.page.0);
        let parts = runs.flat_map(|run| run.chunks(RUN_PAGES_MAX)).map(|run| {
            let bytes = image_bytes(index)..image_bytes(index + run.len());
            index += run.len();
            (run[0].page, bytes)
        });
        parts.collect()
    }
}

/// The image of a batch that is not written in place yet. If a write of an earlier batch still has
/// it, the pool has stopped (WRITES-2).
fn owned(image: &mut Arc<AlignedBuf>) -> &mut AlignedBuf {
    Arc::get_mut(image).expect("WRITES-1: no write has the image")
}

/// An in-flight batch. In any case, a panic included, its pages leave the batch: clean, dirty with
/// a later recovery LSN, or as dirty as before (CLEANER-2).
struct InFlightBatch<'b> {
    pool: &'b Pool,
    batch: &'b mut PageBatch,
    /// True if the batch has completed or was cancelled.
    is_over: bool,
}

impl InFlightBatch<'_> {
    /// Completes the batch, which is durable in place.
    fn complete(mut self) -> usize {
        self.is_over = true;
        for entry in &self.batch.entries {
            self.pool.space.frame(entry.page).finish_write(entry.copied_at);
        }
        self.batch.entries.len()
    }

    /// Cancels the batch, which is not durable in place.
    fn cancel(&mut self) {
        self.is_over = true;
        for entry in &self.batch.entries {
            self.pool.space.frame(entry.page).cancel_write();
        }
    }
}

impl Drop for InFlightBatch<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            // After a panic at any step, the contents of the disk are unknown, and the area may
            // have the only intact copies of some pages (CLEANER-4).
            let _ = self.pool.fail(panicked("cleaning pages"));
            self.cancel();
        }
    }
}

impl Pool {
    /// Writes those of `pages` that are dirty with a recovery LSN below `limit` and not latched
    /// exclusively, as many as fit in a batch. Returns the number of pages written.
    pub(super) fn write_batch(
        &self,
        batch: &mut PageBatch,
        pages: &mut Vec<PageId>,
        limit: Lsn,
    ) -> Result<usize> {
        // CLEANER-4: checked for each batch, so a failure elsewhere stops this one as well.
        self.check_writable()?;
        // WRITES-3.
        let directory = self.cleaning.writes.directory()?;
        // In file order, so that adjacent pages are written together.
        pages.sort_unstable();
        pages.dedup();
        batch.entries.clear();
        let mut in_flight = InFlightBatch { pool: self, batch, is_over: false };
        // One wait for the log serves the whole batch: it waits for the highest page LSN.
        let mut page_lsn_max = Lsn::ZERO;
        for page in pages.iter() {
            if !in_flight.batch.has_room() {
                break;
            }
            if let Some(page_lsn) = self.copy_into(in_flight.batch, *page, limit) {
                page_lsn_max = page_lsn_max.max(page_lsn);
            }
        }
        if in_flight.batch.entries.is_empty() {
            in_flight.is_over = true;
            return Ok(0);
        }
        self.write_out(in_flight.batch, page_lsn_max, directory)
            .inspect_err(|_| in_flight.cancel())?;
        let written = in_flight.complete();
        self.counters.batches.add(1);
        self.counters.pages_written.add(written as u64);
        Ok(written)
    }

    /// Checks that pages may be written: neither the pool nor the log has failed.
    fn check_writable(&self) -> Result<()> {
        self.health()?;
        self.wal.health()
    }

    /// Copies a page into the batch if it must be written and can be latched. Returns the copy's
    /// page LSN.
    fn copy_into(&self, batch: &mut PageBatch, page: PageId, limit: Lsn) -> Option<Lsn> {
        let frame = self.space.frame(page);
        // CLEANER-3: a page that is latched exclusively is being changed; it is written later.
        if frame.rec_lsn().is_none_or(|rec_lsn| rec_lsn >= limit) || !frame.latch.try_shared() {
            return None;
        }
        let Some(rec_lsn) = frame.begin_write(limit) else {
            frame.latch.release_shared();
            return None;
        };
        let index = batch.entries.len();
        let copy = batch.copy_mut(index);
        // SAFETY: the shared latch is held until after the copy (PAGE-BYTES-3).
        copy.copy_from_slice(unsafe { self.space.bytes(page).slice() });
        if header::page_lsn(copy) <= rec_lsn {
            // CLEANER-6: a record that changed the page since would begin at the recovery LSN or
            // later, and end after it.
            frame.mark_clean();
            frame.cancel_write();
            frame.latch.release_shared();
            return None;
        }
        // Under the latch: no record for this page can start between the copy and this LSN.
        let copied_at = self.rec_lsn_now();
        frame.latch.release_shared();
        // Checksumming takes longer than copying, so it is done without the latch.
        let page_lsn = header::page_lsn(copy);
        let checksum = header::seal(page, copy);
        batch.entries.push(BatchEntry { page, checksum, copied_at });
        Some(page_lsn)
    }

    fn write_out(
        &self,
        batch: &mut PageBatch,
        page_lsn_max: Lsn,
        directory: Option<DirectoryLock>,
    ) -> Result<()> {
        // Check once more: a page that was poisoned after the first check may be among the copies.
        self.check_writable()?;
        // Redo may have recreated pages that the file lost with its last extension.
        let last = batch.entries.last().expect("a batch has pages").page;
        self.ensure_len(last)?;
        // CLEANER-1: before the first byte is written anywhere.
        if self.wal.durable() < page_lsn_max {
            self.wal.make_durable(page_lsn_max)?;
            let is_logged = self.wal.durable() >= page_lsn_max;
            invariant(is_logged, "CLEANER-1: the log of a page is durable before the page");
            self.check_writable()?;
        }
        let double_write = &self.cleaning.double_write;
        let entries = batch.entries.iter().map(|entry| (entry.page, entry.checksum));
        let image = &mut owned(&mut batch.image)[..image_bytes(batch.entries.len())];
        // DOUBLE-WRITE-1: the copy is durable in the double-write file before the first byte is
        // written in place.
        let safe = double_write.write(batch.area, entries, image);
        failpoint::pass(Failpoint::CopiesSafe);
        match safe.and_then(|()| self.write_in_place(batch, directory)) {
            Ok(()) => {
                failpoint::pass(Failpoint::PagesSynced);
                double_write.finish(batch.area);
                Ok(())
            }
            // CLEANER-4. The area stays in flight: it may have the only intact copies of some
            // pages.
            Err(cause) => self.fail(cause),
        }
    }

    /// Writes the copies in place, adjacent ones together, and makes them durable.
    fn write_in_place(&self, batch: &PageBatch, directory: Option<DirectoryLock>) -> Result<()> {
        let (image, queue) = (batch.image.clone(), self.io.clone());
        let resources = WriteResources { image, queue, _directory: directory };
        let file = self.data.shared_file();
        self.cleaning.writes.write_together(batch.area, &file, &resources, &batch.parts())?;
        failpoint::pass(Failpoint::PagesWritten);
        self.sync_in_place()
    }

    /// Makes what was written in place durable.
    fn sync_in_place(&self) -> Result<()> {
        // CLEANER-5. A sync reports a failed write once, to the first caller, even if the write
        // belonged to another batch; the next sync would report success.
        let _one_at_a_time = self.cleaning.syncing.lock();
        self.health()?;
        self.data.file().sync_data().or_else(|cause| self.fail(cause))
    }

    /// Returns true if the same write may be retried after this error.
    pub(super) fn is_passing(error: &Error) -> bool {
        !matches!(error, Error::Poisoned { .. })
    }
}

/// Returns the error for a panic during `what`.
#[cold]
pub(crate) fn panicked(what: &str) -> Error {
    Error::Panicked { message: format!("a thread that was {what}") }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
