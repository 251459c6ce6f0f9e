//! Loading: bringing many pages into memory at once, through the disk's read queue.
//!
//! ```text
//!   Pool::load ── a slot, the latch ──► absent, exclusive ── request ──► read queue
//!                                        ("loading")                        │ completion
//!                                             ┌── verified: resident ◄──────┤
//!                                             └── failed: absent again ◄────┘
//! ```
//!
//! A thread that wants a page which is being loaded waits for its latch, as it waits for a page
//! that another thread reads in (`miss`); the release of the latch wakes it. Pages with adjacent
//! ids are adjacent in the file and in memory, so a run of them is one request.
//!
//! A page that cannot be read, or is damaged, stays absent, and no error is reported here: the next
//! thread that wants the page reads it again, and gets the error. If one page of a run cannot be
//! read, the whole run stays absent.
//!
//! Invariants:
//! - LOAD-1. The exclusive latch of a page that is being loaded belongs to the request. Until the
//!   completion, which releases it, no other code touches the page's slot or (optimistic readers
//!   apart) its bytes, even if no thread waits for the page any more.
//! - LOAD-2. A completion keeps the pool alive, so the bytes stay mapped while the kernel or a
//!   thread of the queue may write them. [`Pool::close`] waits for all completions, so nothing is
//!   read from the disk after it.
//! - LOAD-3. A completion waits for nothing: it verifies, changes state words, and gives slots
//!   back. So a loading page becomes available or absent whatever other threads wait for.
//! - LOAD-4. The loading thread waits (for room, for its requests) only while it holds no page's
//!   latch itself: it takes the slot first, and what it has latched is submitted before it waits.
//! - LOAD-5. One call has at most [`PAGES_IN_FLIGHT_MAX`] pages, and a quarter of the cache, in
//!   loading state at a time.
//!
//! Memory order. The submitting thread acquires the latch; the queue passes the request, and the
//! bytes that were read, to the thread that runs the completion (`clearway_disk::ReadQueue`); this
//! thread releases the latch (PAGE-LATCH-4). So the next holder sees the bytes, and an optimistic
//! reader that has seen any of them fails its validation (PAGE-LATCH-5).

use std::{mem, ptr::NonNull, sync::Arc};

use clearway_base::{PAGE_SIZE, PageId, Result};
use clearway_disk::{ReadPriority, ReadRequest};
use clearway_sync::{Condvar, Mutex};

use crate::{Pool, data_file};

/// Pages of a request, 16 × 8 KiB = 128 KiB: what a device reads in about the time of one page.
const RUN_PAGES_MAX: usize = 16;
/// Pages of one call that are loading at a time: 64 requests (the depth of the queue) of a whole
/// run each are 8 MiB.
const PAGES_IN_FLIGHT_MAX: usize = 64 * RUN_PAGES_MAX;
/// Requests that are submitted together, with one system call where the kernel reads.
const REQUESTS_TOGETHER: usize = 16;

/// The pages of one call of [`Pool::load`] that are loading.
#[derive(Default)]
struct LoadingPages {
    count: Mutex<usize>,
    fewer: Condvar,
}

impl LoadingPages {
    fn add(&self, count: usize) {
        *self.count.lock() += count;
    }

    fn remove(&self, count: usize) {
        *self.count.lock() -= count;
        self.fewer.notify_all();
    }

    /// Waits until at most `most` pages are loading.
    fn wait_for(&self, most: usize) {
        let mut count = self.count.lock();
        while *count > most {
            self.fewer.wait(&mut count);
        }
    }

    fn are_at_most(&self, most: usize) -> bool {
        *self.count.lock() <= most
    }
}

/// One call of [`Pool::load`].
struct BulkLoad<'a> {
    pool: &'a Arc<Pool>,
    priority: ReadPriority,
    loading: Arc<LoadingPages>,
    /// Bound on the pages in loading state (LOAD-5).
    pages_max: usize,
    /// Not submitted yet; their pages are latched.
    requests: Vec<ReadRequest>,
    /// A slot that no page occupies.
    slot: Option<u32>,
}

impl Pool {
    /// Brings the absent ones of `pages` into memory, several at the same time, and returns when
    /// each has arrived or failed. Pages beyond the end of the data file are left out. Nothing is
    /// promised: a page can be absent afterwards, because it could not be read (a thread that
    /// wants it gets the error), because there was no room, or because it was evicted again.
    pub fn load(self: &Arc<Pool>, pages: &[PageId], priority: ReadPriority) {
        let is_wanted = |page: &PageId| page.0 < self.page_count() && !self.try_resident(*page);
        let mut absent: Vec<PageId> = pages.iter().copied().filter(is_wanted).collect();
        absent.sort_unstable();
        absent.dedup();
        let mut load = BulkLoad {
            pool: self,
            priority,
            loading: Arc::default(),
            pages_max: PAGES_IN_FLIGHT_MAX.min(self.slots.capacity() / 4),
            requests: Vec::new(),
            slot: None,
        };
        let run_pages_max = RUN_PAGES_MAX.min(load.pages_max);
        let runs = absent.chunk_by(|page, next| page.0 + 1 == next.0);
        // Without room for one page there is none for the others.
        let _ = runs.flat_map(|run| run.chunks(run_pages_max)).try_for_each(|run| load.begin(run));
        load.finish();
    }

    /// Pages that are worth reading ahead of one operation: a sixteenth of the cache, so that they
    /// do not evict each other, nor what others have read.
    pub fn read_ahead_max(&self) -> usize {
        self.slots.capacity() / 16
    }

    /// Ends the load of `count` pages from `first` on: `result` is what the queue has read. Called
    /// by the completion, which owns the latches (LOAD-1).
    fn loaded(&self, first: PageId, count: usize, result: Result<usize>) {
        let mut read = result.ok();
        for page in run(first, count) {
            let frame = self.space.frame(page);
            let is_valid = read.is_some_and(|read| {
                // SAFETY: the request held the page exclusively, does not access it any more
                // (READ-QUEUE-1), and leaves it to this thread (LOAD-1, PAGE-BYTES-3).
                let bytes = unsafe { self.space.bytes(page).slice_mut() };
                bytes[read.min(PAGE_SIZE)..].fill(0);
                self.verify(page, bytes).is_ok()
            });
            if is_valid {
                frame.touch();
                frame.latch.set_resident();
                frame.latch.release_exclusive();
            } else {
                self.leave_absent(page, frame, frame.slot());
            }
            read = read.map(|read| read.saturating_sub(PAGE_SIZE));
        }
    }
}

impl BulkLoad<'_> {
    /// Makes requests for the pages of a run that are still absent.
    ///
    /// # Errors
    /// Those of [`Pool::take_slot`].
    fn begin(&mut self, run: &[PageId]) -> Result<()> {
        if !self.loading.are_at_most(self.pages_max.saturating_sub(run.len())) {
            self.submit();
            self.loading.wait_for(self.pages_max.saturating_sub(run.len()));
        }
        let mut latched: Vec<PageId> = Vec::new();
        for page in run {
            if self.latch(*page, &mut latched)? {
                latched.push(*page);
            } else {
                self.request(mem::take(&mut latched));
            }
        }
        self.request(latched);
        if self.requests.len() >= REQUESTS_TOGETHER {
            self.submit();
        }
        Ok(())
    }

    /// Latches an absent page and gives it a slot. Returns false if it is not absent any more. What
    /// was `latched` before becomes a request if this waits for room (LOAD-4).
    fn latch(&mut self, page: PageId, latched: &mut Vec<PageId>) -> Result<bool> {
        let pool = self.pool;
        let frame = pool.space.frame(page);
        let slot = match self.slot.take().or_else(|| pool.take_clean_slot()) {
            Some(slot) => slot,
            None => {
                self.request(mem::take(latched));
                self.submit();
                pool.take_slot()?
            }
        };
        if !frame.latch.try_exclusive_absent() {
            self.slot = Some(slot);
            return Ok(false);
        }
        frame.set_slot(slot);
        pool.slots.occupy(slot, page);
        pool.counters.misses.add(1);
        Ok(true)
    }

    /// Makes one request for adjacent pages that this thread has latched.
    fn request(&mut self, pages: Vec<PageId>) {
        let (Some(first), count) = (pages.first().copied(), pages.len()) else { return };
        self.loading.add(count);
        self.pool.counters.reads.add(count as u64);
        let (pool, loading) = (self.pool.clone(), self.loading.clone());
        let completion = Box::new(move |result| {
            pool.loaded(first, count, result);
            // Before the loading thread goes on: it is to drop the pool, not the queue's thread.
            drop(pool);
            loading.remove(count);
        });
        let start = self.pool.space.bytes(first).start();
        let memory = NonNull::slice_from_raw_parts(start, count * PAGE_SIZE);
        let (file, at) = (self.pool.data.shared_file(), data_file::offset(first));
        // SAFETY: the pages are adjacent in the mapping (POOL-SPACE-1), which lives until the
        // completion drops the pool (LOAD-2), and their latches belong to the request (LOAD-1).
        self.requests
            .push(unsafe { ReadRequest::new(file, at, memory, self.priority, completion) });
    }

    fn submit(&mut self) {
        if !self.requests.is_empty() {
            self.pool.reads.submit(mem::take(&mut self.requests));
        }
    }

    fn finish(mut self) {
        self.submit();
        if let Some(slot) = self.slot {
            self.pool.slots.give_back(slot);
        }
        self.loading.wait_for(0);
    }
}

/// The ids of `count` adjacent pages.
fn run(first: PageId, count: usize) -> impl Iterator<Item = PageId> {
    (first.0..).take(count).map(PageId)
}
