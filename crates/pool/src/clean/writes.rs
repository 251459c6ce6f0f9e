//! The writes of batches in place: several at the same time, through the disk's queue. A device
//! completes them in little more than the time of one.
//!
//! The thread that writes a batch waits for its writes, and a disk may never complete one. While
//! the database is in use, the wait has no limit: nothing can take the place of the write. But a
//! close must end, so from its start on the waits have one. A thread that gives up leaves the write
//! to the disk, which may still read its memory and change the file.
//!
//! Invariants:
//! - WRITES-1. The image of a batch and the queue belong to its requests as well: both live until
//!   the last completion, even if no thread waits any more and the pool is gone. Nothing changes
//!   the image while a request has it.
//! - WRITES-2. A thread leaves a batch whose writes have not ended in two cases: it panics, or the
//!   wait was given up, at the limit, in a close. In both the pool stops before the area of the
//!   batch is free (CLEANER-4).
//! - WRITES-3. A batch, and each of its requests, hold the lock on the directory (if there is one),
//!   and no batch begins without it. A late write would replace what a later opening has written.
//!   A completion has let it go when the thread that waits goes on.

use std::{
    collections::BTreeSet,
    mem,
    ops::Range,
    ptr::NonNull,
    sync::{Arc, OnceLock, Weak},
    time::{Duration, Instant},
};

use clearway_base::{
    Error, PageId, Result,
    failpoint::{self, Failpoint},
};
use clearway_disk::{AlignedBuf, File, IoQueue, IoRequest};
use clearway_sync::{Condvar, Mutex, invariant};

use crate::data_file;

/// The lock on a database's directory. The directory is locked as long as any part holds it.
pub type DirectoryLock = Arc<dyn Send + Sync>;

/// The writes that are under way, and the waits for them.
pub(crate) struct PageWrites {
    shared: Arc<PageWritesShared>,
    /// The longest wait for a write in a close.
    limit: Duration,
    /// WRITES-3.
    directory: OnceLock<Weak<dyn Send + Sync>>,
}

struct PageWritesShared {
    state: Mutex<PageWritesState>,
    /// Notified when all writes of a batch have ended, and when a close begins.
    changed: Condvar,
}

struct PageWritesState {
    /// The start of the close, if it has begun.
    close_began: Option<Instant>,
    /// By area.
    batches: Vec<BatchWrites>,
}

/// The writes of one batch.
struct BatchWrites {
    /// The first page of each write whose completion has not been called.
    under_way: BTreeSet<PageId>,
    /// The first error, if there was one.
    result: Result<()>,
}

/// The resources of a write (WRITES-1, WRITES-3), dropped in this order.
#[derive(Clone)]
pub(super) struct WriteResources {
    pub(super) image: Arc<AlignedBuf>,
    pub(super) queue: Arc<dyn IoQueue>,
    pub(super) _directory: Option<DirectoryLock>,
}

impl PageWrites {
    pub(super) fn new(areas: usize, limit: Duration) -> PageWrites {
        let batch = || BatchWrites { under_way: BTreeSet::new(), result: Ok(()) };
        let batches = (0..areas).map(|_| batch()).collect();
        let state = Mutex::new(PageWritesState { close_began: None, batches });
        let shared = Arc::new(PageWritesShared { state, changed: Condvar::new() });
        PageWrites { shared, limit, directory: OnceLock::new() }
    }

    /// See [`Pool::hold_directory`](crate::Pool::hold_directory).
    pub(crate) fn hold_directory(&self, lock: &DirectoryLock) {
        // The first one stays: a pool has one directory.
        let _ = self.directory.set(Arc::downgrade(lock));
    }

    /// Returns the lock on the directory, for a batch; `None` if the pool was given none.
    ///
    /// # Errors
    /// [`Error::Closed`] if it was released.
    pub(super) fn directory(&self) -> Result<Option<DirectoryLock>> {
        let lock = self.directory.get().map(Weak::upgrade);
        lock.map_or(Ok(None), |lock| lock.map(Some).ok_or(Error::Closed))
    }

    /// See [`Pool::begin_close`](crate::Pool::begin_close).
    pub(crate) fn begin_close(&self) {
        self.shared.state.lock().close_began.get_or_insert_with(Instant::now);
        self.shared.changed.notify_all();
    }

    /// Returns the first page of a write that is under way, if there is one.
    pub(crate) fn page_under_way(&self) -> Option<PageId> {
        let state = self.shared.state.lock();
        state.batches.iter().find_map(|batch| batch.under_way.first().copied())
    }

    /// Writes parts of the image of a batch, each to the place of a page and the following ones,
    /// and returns when all have ended or the wait for them is given up.
    ///
    /// # Errors
    /// That of a write that failed; the others may have taken place or not.
    /// [`Error::WriteTimeout`].
    pub(super) fn write_together(
        &self,
        area: usize,
        file: &Arc<dyn File>,
        resources: &WriteResources,
        parts: &[(PageId, Range<usize>)],
    ) -> Result<()> {
        let pages = parts.iter().map(|(page, _)| *page).collect();
        self.shared.begin(area, pages);
        let request = |(page, bytes): &(PageId, Range<usize>)| {
            self.request(area, file, resources.clone(), *page, bytes.clone())
        };
        let submitted = Instant::now();
        resources.queue.submit(parts.iter().map(request).collect());
        self.wait(area, submitted)
    }

    fn request(
        &self,
        area: usize,
        file: &Arc<dyn File>,
        resources: WriteResources,
        page: PageId,
        bytes: Range<usize>,
    ) -> IoRequest {
        let memory = NonNull::from(&resources.image[bytes]);
        let shared = self.shared.clone();
        let completion = Box::new(move |result: Result<usize>| {
            failpoint::pass(Failpoint::PagesHalfWritten);
            // Before a thread goes on that waits: it reuses the image, or drops the pool, or
            // releases the directory.
            drop(resources);
            shared.ended(area, page, result.map(drop));
        });
        // SAFETY: the completion owns the memory (WRITES-1): it is not freed before, and nothing
        // changes it, since only the sole owner of an `Arc` can.
        unsafe { IoRequest::write(file.clone(), data_file::offset(page), memory, completion) }
    }

    /// Waits for the writes of a batch, and returns the first error.
    fn wait(&self, area: usize, submitted: Instant) -> Result<()> {
        let PageWritesShared { state, changed } = &*self.shared;
        let mut state = state.lock();
        loop {
            let batch = &mut state.batches[area];
            let Some(page) = batch.under_way.first().copied() else {
                return mem::replace(&mut batch.result, Ok(()));
            };
            let from = state.close_began.map(|began| began.max(submitted));
            match from.and_then(|from| from.checked_add(self.limit)) {
                None => changed.wait(&mut state),
                Some(until) if Instant::now() < until => {
                    changed.wait_until(&mut state, until);
                }
                Some(_) => {
                    let waited_us = self.limit.as_micros() as u64;
                    return Err(Error::WriteTimeout { page, waited_us });
                }
            }
        }
    }
}

impl PageWritesShared {
    fn begin(&self, area: usize, pages: BTreeSet<PageId>) {
        let batch = &mut self.state.lock().batches[area];
        invariant(batch.under_way.is_empty(), "WRITES-2: an area is free once its writes ended");
        *batch = BatchWrites { under_way: pages, result: Ok(()) };
    }

    fn ended(&self, area: usize, page: PageId, result: Result<()>) {
        let mut state = self.state.lock();
        let batch = &mut state.batches[area];
        batch.under_way.remove(&page);
        if batch.result.is_ok() {
            batch.result = result;
        }
        if batch.under_way.is_empty() {
            self.changed.notify_all();
        }
    }
}
