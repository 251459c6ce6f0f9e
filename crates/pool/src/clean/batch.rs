//! One batch: copied, sealed, made safe, written, marked clean. See the module above for C1–C4.
//!
//! | step         | holds                     | waits for | after a crash here        |
//! | ------------ | ------------------------- | --------- | ------------------------- |
//! | copy, seal   | one shared latch, briefly | nothing   | nothing was written       |
//! | log durable  | `writing` of each page    | the log   | nothing was written       |
//! | double-write | the same                  | the disk  | data untouched; redo      |
//! | in place     | the same                  | the disk  | torn pages repaired; redo |
//! | mark clean   | one shared latch, tried   | nothing   | redo finds nothing to do  |
//!
//! The batch's mutex is held over all of it. Its holder takes no other batch, so holders never
//! wait for each other.

use clearway_base::{Error, Lsn, PAGE_SIZE, PageId, Result};
use clearway_disk::AlignedBuf;
use clearway_sync::{atomic::Ordering, thread};

use super::{double_write::HEADER_BYTES, image_bytes};
use crate::{Pool, data_file, header};

/// Fewer pages than this are not worth a thread.
const PAGES_PER_WRITER_MIN: usize = 16;

/// The memory of a batch, and its area of the double-write file.
pub(super) struct Batch {
    area: usize,
    /// Header block, then one page for each entry.
    image: AlignedBuf,
    entries: Vec<Entry>,
}

struct Entry {
    page: PageId,
    checksum: u32,
    /// The log's end while the page was copied: later changes have records from there on.
    copied_at: Lsn,
}

impl Batch {
    pub(super) fn new(area: usize, pages: usize) -> Batch {
        let image = AlignedBuf::new(image_bytes(pages));
        Batch { area, image, entries: Vec::with_capacity(pages) }
    }

    fn has_room(&self) -> bool {
        image_bytes(self.entries.len() + 1) <= self.image.len()
    }

    fn copy_mut(&mut self, index: usize) -> &mut [u8] {
        let at = image_bytes(index);
        &mut self.image[at..at + PAGE_SIZE]
    }
}

impl Pool {
    /// Writes those of `pages` that are dirty with a recLSN below `limit` and not latched
    /// exclusively, as many as fit a batch. Answers how many were written.
    pub(super) fn write_batch(
        &self,
        batch: &mut Batch,
        pages: &mut Vec<PageId>,
        limit: Lsn,
    ) -> Result<usize> {
        // C4: asked for each batch, so a failure elsewhere stops this one as well.
        self.health()?;
        // In file order, so that neighbours go in one write.
        pages.sort_unstable();
        pages.dedup();
        batch.entries.clear();
        // One wait for the log serves the whole batch: it is for the youngest page.
        let mut page_lsn_max = Lsn::ZERO;
        for page in pages.iter() {
            if !batch.has_room() {
                break;
            }
            if let Some(page_lsn) = self.copy_into(batch, *page, limit) {
                page_lsn_max = page_lsn_max.max(page_lsn);
            }
        }
        if batch.entries.is_empty() {
            return Ok(0);
        }
        let written = self.write_out(batch, page_lsn_max);
        // Whatever happened, the pages leave the batch: clean, dirty with a later recLSN, or as
        // dirty as before (C2).
        for entry in &batch.entries {
            let frame = self.space.frame(entry.page);
            match written {
                Ok(()) => frame.finish_write(entry.copied_at),
                Err(_) => frame.cancel_write(),
            }
        }
        written?;
        self.counters.batches.fetch_add(1, Ordering::Relaxed);
        self.counters.pages_written.fetch_add(batch.entries.len() as u64, Ordering::Relaxed);
        Ok(batch.entries.len())
    }

    /// Copies a page into the batch if it is to be written and can be latched. Answers the copy's
    /// page LSN.
    fn copy_into(&self, batch: &mut Batch, page: PageId, limit: Lsn) -> Option<Lsn> {
        let frame = self.space.frame(page);
        // C3: a page that is latched exclusively is somebody's work in progress; it comes later.
        if frame.rec_lsn().is_none_or(|rec_lsn| rec_lsn >= limit) || !frame.latch.try_shared() {
            return None;
        }
        // Looked at before the latch was held; the page may have become clean, and gone.
        let wanted = frame.rec_lsn().is_some_and(|rec_lsn| rec_lsn < limit);
        if !wanted || !frame.begin_write() {
            frame.latch.release_shared();
            return None;
        }
        let index = batch.entries.len();
        let copy = batch.copy_mut(index);
        // SAFETY: the shared latch is held until after the copy (P3).
        copy.copy_from_slice(unsafe { self.space.bytes(page).slice() });
        // Under the latch: no record for this page can start between the copy and this LSN.
        let copied_at = self.rec_lsn_now();
        frame.latch.release_shared();
        // Checksumming takes longer than copying, so it is done without the latch.
        let page_lsn = header::page_lsn(copy);
        let checksum = header::seal(page, copy);
        batch.entries.push(Entry { page, checksum, copied_at });
        Some(page_lsn)
    }

    fn write_out(&self, batch: &mut Batch, page_lsn_max: Lsn) -> Result<()> {
        // Redo may have brought pages back that the file lost with its last extension.
        let last = batch.entries.last().expect("a batch has pages").page;
        self.ensure_len(last)?;
        // C1: before the first byte goes anywhere.
        if self.wal.durable() < page_lsn_max {
            self.wal.make_durable(page_lsn_max)?;
        }
        let double_write = &self.cleaning.double_write;
        let entries = batch.entries.iter().map(|entry| (entry.page, entry.checksum));
        let image = &mut batch.image[..image_bytes(batch.entries.len())];
        // W1: the copy is durable over there before the first byte goes in place.
        let safe = double_write.write(batch.area, entries, image);
        match safe.and_then(|()| self.write_in_place(batch)) {
            Ok(()) => {
                double_write.finish(batch.area);
                Ok(())
            }
            // C4. The area stays in flight: its copies may be all that is whole of some pages.
            Err(cause) => {
                let _ = self.failure.set(cause);
                self.health()
            }
        }
    }

    /// Writes the copies in place and makes them durable. Scattered pages are written by a few
    /// threads: a disk serves several writes in the time of one, and one thread after the other
    /// would make this the slowest step when data exceed the cache.
    fn write_in_place(&self, batch: &Batch) -> Result<()> {
        let share = batch.entries.len().div_ceil(self.cleaning.writers).max(PAGES_PER_WRITER_MIN);
        let image = &batch.image[HEADER_BYTES..];
        let mut parts = batch.entries.chunks(share).zip(image.chunks(share * PAGE_SIZE));
        let mine = parts.next();
        thread::scope(|scope| {
            let others: Vec<_> = parts
                .map(|(entries, image)| scope.spawn(move || self.write_part(entries, image)))
                .collect();
            let mut result =
                mine.map_or(Ok(()), |(entries, image)| self.write_part(entries, image));
            for other in others {
                let failed = || Err(Error::Panicked { message: "a write panicked".to_string() });
                result = result.and(other.join().unwrap_or_else(|_| failed()));
            }
            result
        })?;
        self.data.file().sync_data()
    }

    /// Writes copies that stand one after the other in `image`, neighbours in the file together.
    fn write_part(&self, entries: &[Entry], image: &[u8]) -> Result<()> {
        let mut at = 0;
        for run in entries.chunk_by(|left, right| left.page.0 + 1 == right.page.0) {
            // Entries are in file order, so a run of neighbours is contiguous in the image too.
            let end = at + run.len() * PAGE_SIZE;
            self.data.file().write_at(&image[at..end], data_file::offset(run[0].page))?;
            at = end;
        }
        Ok(())
    }

    /// An error after which the same write may be tried again.
    pub(super) fn is_passing(error: &Error) -> bool {
        !matches!(error, Error::Poisoned { .. })
    }
}
