//! Loading: bringing many pages into memory at once, through the disk's I/O queue.
//!
//! ```text
//!   Pool::load ── a slot, the latch ──► absent, exclusive ── request ──► I/O queue
//!                                        ("loading")                        │ completion
//!                                             ┌── verified: resident ◄──────┤
//!                                             └── failed: absent again ◄────┘
//! ```
//!
//! An operation that needs a page which is being loaded, whether a thread or a task runs it, waits
//! for the completion (`page_waits`). Other callers wait for the latch, as for a page that another
//! thread reads in (`miss`); the release of the latch wakes them. Pages with adjacent ids are
//! adjacent in the file and in memory, so a run of them is one request.
//!
//! A page that cannot be read, or is damaged, stays absent. Tasks that wait for it get the error;
//! to others no error is reported here: the next thread that wants the page reads it again, and
//! gets the error. If one page of a run cannot be read, the whole run stays absent, and tasks that
//! wait for one of its pages read that page alone.
//!
//! Invariants:
//! - LOAD-1. The exclusive latch of a page that is being loaded belongs to the request. Until the
//!   completion, which releases it, no other code touches the page's slot or (optimistic readers
//!   apart) its bytes, even if no thread waits for the page any more.
//! - LOAD-2. A completion keeps the pool alive, so the bytes stay mapped while the kernel or a
//!   thread of the queue may write them. [`Pool::close`] waits for the completions of all reads
//!   that were begun before it.
//! - LOAD-3. A completion waits for nothing: it verifies, changes state words, and gives slots
//!   back. So a loading page becomes available or absent whatever other threads wait for.
//! - LOAD-4. The loading thread waits (for room, for its requests) only while it holds no page's
//!   latch itself: it takes the slot first, and what it has latched is submitted before it waits.
//! - LOAD-5. One call of [`Pool::load`] has at most [`PAGES_IN_FLIGHT_MAX`] pages, and a quarter of
//!   the cache, in loading state at a time. So have all calls of [`Pool::load_ahead`] together.
//!   A call owns at most [`SLOTS_TOGETHER`] free slots besides.
//!
//! Memory order. The submitting thread acquires the latch; the queue passes the request, and the
//! bytes that were read, to the thread that runs the completion (`clearway_disk::IoQueue`); this
//! thread releases the latch (PAGE-LATCH-4). So the next holder sees the bytes, and an optimistic
//! reader that has seen any of them fails its validation (PAGE-LATCH-5).

use std::{
    collections::VecDeque,
    mem,
    ptr::NonNull,
    sync::Arc,
    time::{Duration, Instant},
};

use clearway_base::{Error, PAGE_SIZE, PageId, Result};
use clearway_disk::{IoPriority, IoRequest};
use clearway_sync::{counted_reads::assert_counted, wake};

use crate::{Pool, data_file, frame::Frame, loading_pages::LoadingPages, page_waits::PageWaitEnd};

/// Pages of a request, 16 × 8 KiB = 128 KiB: what a device reads or writes in about the time of one
/// page.
pub(crate) const RUN_PAGES_MAX: usize = 16;
/// Pages of one call that are loading at a time: 64 requests (the depth of the queue) of a whole
/// run each are 8 MiB.
const PAGES_IN_FLIGHT_MAX: usize = 64 * RUN_PAGES_MAX;
/// Slots that are taken together, ahead of the pages that will occupy them; but not more than a
/// 64th of the cache, or those of one run.
const SLOTS_TOGETHER: usize = 64;
/// Pages whose requests are submitted together, with one system call where the kernel reads: those
/// of one whole run, so that the device reads it while slots are taken for the next one.
const PAGES_TOGETHER: usize = RUN_PAGES_MAX;

/// One call of [`Pool::load`] or [`Pool::load_ahead`].
struct BulkLoad<'a> {
    pool: &'a Arc<Pool>,
    priority: IoPriority,
    /// True if the calling thread waits for room and for its pages; false if it leaves out those
    /// for which there is no room at once.
    waits: bool,
    /// The end of these waits.
    until: Option<Instant>,
    loading: Arc<LoadingPages>,
    /// Bound on the pages in loading state (LOAD-5).
    pages_max: usize,
    /// Not submitted yet; their pages are latched.
    requests: Vec<IoRequest>,
    /// The number of these pages.
    unsubmitted: usize,
    /// The number of pages that are to be latched.
    left: usize,
    /// Slots that no page occupies.
    slots: VecDeque<u32>,
}

impl Pool {
    /// Brings the absent ones of `pages` into memory, several at the same time, and returns when
    /// each has arrived or failed. Pages beyond the end of the data file are left out. Nothing is
    /// promised: a page can be absent afterwards, because it could not be read (a thread that
    /// wants it gets the error), because there was no room, or because it was evicted again; or
    /// still loading, if the disk has not read it within `limit`.
    pub fn load(self: &Arc<Pool>, pages: &[PageId], priority: IoPriority, limit: Duration) {
        assert_counted("a read of pages");
        let mut load = BulkLoad::new(self, priority, true, Arc::default());
        load.until = Instant::now().checked_add(limit);
        load.run(pages);
    }

    /// Has the absent ones of `pages` read, ahead of an operation that will need them, and waits
    /// for none of them. Pages for which there is no room without writing others are left out, and
    /// so are those beyond the end of the data file, and all beyond a number that is read ahead at
    /// a time. The loader begins the reads, if there is one.
    pub fn load_ahead(self: &Arc<Pool>, pages: &[PageId]) {
        let is_needed = pages.iter().any(|page| !self.try_resident(*page));
        if is_needed && !self.loader.request_ahead(self, pages) {
            self.begin_ahead(pages);
        }
    }

    /// Begins the reads of [`Pool::load_ahead`].
    pub(crate) fn begin_ahead(self: &Arc<Pool>, pages: &[PageId]) {
        BulkLoad::new(self, IoPriority::ReadAhead, false, self.loading_ahead.clone()).run(pages);
    }

    /// Pages that are worth reading ahead of one operation: a sixteenth of the cache. A cursor
    /// has up to three such windows, so they do not evict each other, nor what others have read.
    pub fn read_ahead_max(&self) -> usize {
        self.slots.capacity() / 16
    }

    /// Latches an absent page that is to be read into a slot which the caller owns. Returns false
    /// if it is not absent any more; the slot still belongs to the caller then.
    pub(crate) fn latch_to_load(&self, page: PageId, frame: &Frame, slot: u32) -> bool {
        if !frame.latch.try_exclusive_absent() {
            return false;
        }
        self.occupy(slot, page, frame);
        self.counters.misses.add(1);
        true
    }

    /// A request for adjacent pages that the caller has latched for it. `then` is called when they
    /// have arrived or failed, and the request does not keep the pool any more.
    pub(crate) fn request(
        self: &Arc<Pool>,
        first: PageId,
        count: usize,
        priority: IoPriority,
        then: impl FnOnce() + Send + 'static,
    ) -> IoRequest {
        self.counters.reads.add(count as u64);
        let pool = self.clone();
        let completion = Box::new(move |result| {
            pool.loaded(first, count, result);
            drop(pool);
            then();
        });
        let start = self.space.bytes(first).start();
        let memory = NonNull::slice_from_raw_parts(start, count * PAGE_SIZE);
        let (file, at) = (self.data.shared_file(), data_file::offset(first));
        // SAFETY: the pages are adjacent in the mapping (POOL-SPACE-1), which lives until the
        // completion drops the pool (LOAD-2), and their latches belong to the request (LOAD-1).
        unsafe { IoRequest::read(file, at, memory, priority, completion) }
    }

    /// Ends the load of `count` pages from `first` on: `result` is what the queue has read. Called
    /// by the completion, which owns the latches (LOAD-1). Wakes tasks after it has released all
    /// of them.
    fn loaded(&self, first: PageId, count: usize, result: Result<usize>) {
        let mut tasks = Vec::new();
        for (index, page) in run(first, count).enumerate() {
            let frame = self.space.frame(page);
            let read = result.as_ref().map(|read| read.saturating_sub(index * PAGE_SIZE));
            match read.map_err(Error::clone).and_then(|read| self.complete(page, read)) {
                Ok(()) => {
                    frame.touch();
                    frame.latch.set_resident();
                    tasks.extend(self.end_waits(page, frame));
                    frame.latch.release_exclusive();
                }
                Err(error) => {
                    self.leave_absent(page, frame, frame.slot());
                    let is_known = count == 1 || result.is_ok();
                    let end =
                        if is_known { PageWaitEnd::Failed(error) } else { PageWaitEnd::Unknown };
                    tasks.extend(self.page_waits.end(page, &end, || ()));
                }
            }
        }
        tasks.into_iter().for_each(wake);
    }

    /// Fills what lies beyond the end of the file, from byte `read` of a page on, and checks the
    /// page. Called by the completion.
    fn complete(&self, page: PageId, read: usize) -> Result<()> {
        // SAFETY: the request held the page exclusively, does not access it any more
        // (IO-QUEUE-1), and leaves it to this thread (LOAD-1, PAGE-BYTES-3).
        let bytes = unsafe { self.space.bytes(page).slice_mut() };
        bytes[read.min(PAGE_SIZE)..].fill(0);
        self.verify(page, bytes)
    }
}

impl BulkLoad<'_> {
    fn new(
        pool: &Arc<Pool>,
        priority: IoPriority,
        waits: bool,
        loading: Arc<LoadingPages>,
    ) -> BulkLoad<'_> {
        let pages_max = PAGES_IN_FLIGHT_MAX.min(pool.slots.capacity() / 4);
        let (requests, slots) = (Vec::new(), VecDeque::new());
        BulkLoad {
            pool,
            priority,
            waits,
            until: None,
            loading,
            pages_max,
            requests,
            unsubmitted: 0,
            left: 0,
            slots,
        }
    }

    fn run(mut self, pages: &[PageId]) {
        let pool = self.pool;
        let is_wanted = |page: &PageId| page.0 < pool.page_count() && !pool.try_resident(*page);
        let mut absent: Vec<PageId> = pages.iter().copied().filter(is_wanted).collect();
        absent.sort_unstable();
        absent.dedup();
        self.left = absent.len();
        let run_pages_max = RUN_PAGES_MAX.min(self.pages_max);
        let mut runs = absent
            .chunk_by(|page, next| page.0 + 1 == next.0)
            .flat_map(|run| run.chunks(run_pages_max));
        // Without room for one page there is none for the others.
        let _ = runs.try_for_each(|run| self.begin(run));
        self.finish();
    }

    /// Makes requests for the pages of a run that are still absent. `None`: there is no room, the
    /// time is over, or what prevents pages from being cleaned is left to a thread that needs one.
    fn begin(&mut self, run: &[PageId]) -> Option<()> {
        while !self.loading.try_add(run.len(), self.pages_max) {
            if !self.waits {
                return None;
            }
            self.submit();
            if !self.loading.wait_for(self.pages_max.saturating_sub(run.len()), self.until) {
                return None;
            }
        }
        if self.slots.len() < run.len() {
            let together = SLOTS_TOGETHER.min(self.pool.slots.capacity() / 64).min(self.left);
            let count = together.max(run.len()) - self.slots.len();
            self.pool.take_clean_slots(count, &mut self.slots);
        }
        self.left -= run.len();
        let mut latched: Vec<PageId> = Vec::new();
        let mut requested = 0;
        let has_room = run.iter().try_for_each(|page| {
            if self.latch(*page, &mut latched)? {
                latched.push(*page);
                requested += 1;
            } else {
                self.request(mem::take(&mut latched));
            }
            Some(())
        });
        self.request(latched);
        self.loading.remove(run.len() - requested);
        if self.unsubmitted >= PAGES_TOGETHER {
            self.submit();
        }
        has_room
    }

    /// Latches an absent page and gives it a slot. Returns false if it is not absent any more, and
    /// `None` if there is no room. What was `latched` before becomes a request if this waits for
    /// room (LOAD-4).
    fn latch(&mut self, page: PageId, latched: &mut Vec<PageId>) -> Option<bool> {
        let pool = self.pool;
        let slot = match self.slots.pop_front() {
            Some(slot) => slot,
            None if !self.waits => return None,
            None => {
                self.request(mem::take(latched));
                self.submit();
                pool.take_slot().ok()?
            }
        };
        let is_latched = pool.latch_to_load(page, pool.space.frame(page), slot);
        if !is_latched {
            self.slots.push_front(slot);
        }
        Some(is_latched)
    }

    /// Makes one request for adjacent pages that this thread has latched.
    fn request(&mut self, pages: Vec<PageId>) {
        let (Some(first), count) = (pages.first().copied(), pages.len()) else { return };
        self.unsubmitted += count;
        let loading = self.loading.clone();
        // After the request has dropped the pool, so that this thread and not that of the queue
        // drops it last, if it waits.
        let then = move || loading.remove(count);
        self.requests.push(self.pool.request(first, count, self.priority, then));
    }

    fn submit(&mut self) {
        if !self.requests.is_empty() {
            self.unsubmitted = 0;
            self.pool.io.submit(mem::take(&mut self.requests));
        }
    }

    fn finish(mut self) {
        self.submit();
        self.slots.drain(..).for_each(|slot| self.pool.slots.give_back(slot));
        if self.waits {
            self.loading.wait_for(0, self.until);
        }
    }
}

/// The ids of `count` adjacent pages.
fn run(first: PageId, count: usize) -> impl Iterator<Item = PageId> {
    (first.0..).take(count).map(PageId)
}
