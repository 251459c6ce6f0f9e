//! Pins of the pages that an operation needed last, kept until the operation has ended or waits for
//! a lock or for log space.
//!
//! An operation that returns an absent page as a need, and goes on when the page is there, must not
//! lose the page meanwhile. The driver of the operation takes the page: a driver that blocks its
//! thread with [`OperationPins::take`], one that is a task with [`OperationPins::poll_take`]. Both
//! may be used for the same operation.
//!
//! Invariants:
//! - PINS-1. An operation keeps at most [`PINS_MAX`] pins, those of the pages that it needed last,
//!   the page that it waits for included.
//! - PINS-2. The operations of threads together keep at most a quarter of the cache, and so do
//!   those of tasks; if the cache is so small that not even one operation's pins fit in that, one
//!   operation of each at a time keeps pins. Operations that may not keep pins yet wait without a
//!   pin (`admission`), and those of lock holders are admitted first. So there are always pages to
//!   evict for those that read.
//! - PINS-3. An operation that keeps pins waits only for disk, log and page latches. No holder of a
//!   page latch waits for admission, since that wait comes between two steps. The driver drops the
//!   pins before it waits for a lock or for log space. A thread waits for the admission of threads
//!   only: it may be the one that polls the tasks. So those that wait for admission go on at some
//!   time, whatever locks they hold, if every task that is woken is polled or dropped when no
//!   operation of a thread keeps its thread.
//! - PINS-4. What an operation has (pins, its admission or place in the queue, its wait for a page)
//!   is given back by `clear` and by the drop, in whatever state it is.

use std::{
    mem,
    sync::Arc,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use clearway_base::{Error, PageId, Result};
use clearway_sync::{ThreadWaker, counted_reads::assert_counted, thread};

use crate::{
    Pool,
    admission::{Admission, AdmissionsByDriver, PINS_MAX, PinnedOperations},
    page_waits::PageWait,
};

/// Pages that an operation may need: `TAKEN_BASE`, and `VISITS_MAX` times those of the file. One
/// step of a cursor may pass all leaves, and descends to each of them over at most 256 levels.
const TAKEN_BASE: u64 = 1000;
const VISITS_MAX: u64 = 256;

/// The pins of one operation. Cleared before the operation waits for a lock or for log space.
pub struct OperationPins {
    pool: Arc<Pool>,
    admission: Admission,
    /// True if the admission, or the place in the queue, is one of a thread.
    is_of_thread: bool,
    /// True if the operation's transaction holds locks: it is then admitted before others.
    holds_locks: bool,
    /// Pages that are pinned for this operation; the one needed last is the last.
    pins: Vec<PageId>,
    /// The wait for the page that a task takes.
    wait: Option<PageWait>,
    /// The number of pages that the operation has needed.
    taken: u64,
}

impl OperationPins {
    /// No pins yet; waits for nothing. The first page that is taken admits the operation (PINS-2).
    #[cold]
    pub fn new(pool: &Arc<Pool>) -> OperationPins {
        let (pool, admission) = (pool.clone(), Admission::Outside);
        OperationPins {
            pool,
            admission,
            is_of_thread: false,
            holds_locks: false,
            pins: Vec::new(),
            wait: None,
            taken: 0,
        }
    }

    /// Sets whether the operation's transaction holds locks, for which others may wait: it is then
    /// admitted before those that hold none (ADMISSION-4). To be called before a page is taken.
    pub fn set_holds_locks(&mut self, holds_locks: bool) {
        self.holds_locks = holds_locks;
    }

    /// Waits until the operation may keep pins (PINS-2). [`OperationPins::take`] does it, too.
    #[cold]
    pub fn admit(&mut self) {
        if self.admission != Admission::Admitted && !self.is_of_thread {
            self.leave();
            self.is_of_thread = true;
        }
        let OperationPins { pool, admission, is_of_thread, holds_locks, .. } = self;
        admissions(pool, *is_of_thread).enter(admission, *holds_locks);
    }

    /// Reads a page in if it is absent, and keeps it in memory. If the page is being read already,
    /// waits for that no longer than `limit`.
    ///
    /// # Errors
    /// As for [`Pool::pin`]; `CorruptPage` after more pages than any path through sound pages has;
    /// [`Error::ReadTimeout`].
    #[cold]
    pub fn take(&mut self, page: PageId, limit: Duration) -> Result<()> {
        self.admit();
        let pool = self.pool.clone();
        loop {
            if pool.is_loading(page) {
                let taken = self.take_loading(page, limit);
                if matches!(taken, Ok(()) | Err(Error::ReadTimeout { .. } | Error::Closed)) {
                    return taken;
                }
                // The read was begun ahead of any operation, or for another one: it may have failed
                // for reasons of its own.
            }
            self.cancel_wait();
            if let Some(pin) = pool.pin_unless_loading(page)? {
                self.begin_take(page)?;
                pin.leave();
                self.pins.push(page);
                return Ok(());
            }
        }
    }

    /// Takes a page that another thread, or the I/O queue, is reading. Not by its latch: the wait
    /// for that has no limit.
    fn take_loading(&mut self, page: PageId, limit: Duration) -> Result<()> {
        assert_counted("a wait for a page");
        let until = Instant::now().checked_add(limit);
        let waker = ThreadWaker::current();
        let mut cx = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(taken) = self.poll_take(page, &mut cx) {
                return taken;
            }
            match until.map(|until| until.saturating_duration_since(Instant::now())) {
                Some(Duration::ZERO) => return Err(self.time_out(page, limit)),
                Some(left) => thread::park_timeout(left),
                None => thread::park(),
            }
        }
    }

    /// Gives up the wait for a page after `limit`. Returns the error that says so.
    #[cold]
    pub fn time_out(&mut self, page: PageId, limit: Duration) -> Error {
        self.cancel_wait();
        Error::ReadTimeout { page, waited_us: limit.as_micros() as u64 }
    }

    /// As [`OperationPins::take`], for a task: waits for page latches only, and for none of a page
    /// that is being read in. (If the pool has no background threads, it may write pages to make
    /// room; and a disk without waits is read at once.)
    ///
    /// `Pending`: the waker of `cx` is called when it is worth polling again. Poll again with the
    /// same page; a poll with another one gives up the first.
    ///
    /// # Errors
    /// As for [`OperationPins::take`], also if the read was begun for another operation;
    /// [`Error::Closed`] if it would have to wait after [`Pool::close`]. A later call reads again.
    #[cold]
    pub fn poll_take(&mut self, page: PageId, cx: &mut Context<'_>) -> Poll<Result<()>> {
        ready!(self.poll_admit(cx))?;
        if self.wait.as_ref().is_some_and(|wait| wait.page != page) {
            self.cancel_wait();
        }
        if self.wait.is_none() {
            self.begin_take(page)?;
        }
        ready!(self.pool.poll_pin(page, &mut self.wait, cx))?;
        self.pins.push(page);
        Poll::Ready(Ok(()))
    }

    /// Gives all pins and the admission back: before a wait for a lock or log space (PINS-3). The
    /// count of pages that the operation has taken stays.
    pub fn clear(&mut self) {
        self.cancel_wait();
        mem::take(&mut self.pins).into_iter().for_each(|page| self.unpin(page));
        self.leave();
    }

    /// Gives the admission back, or the place in the queue.
    fn leave(&mut self) {
        let OperationPins { pool, admission, is_of_thread, .. } = self;
        admissions(pool, *is_of_thread).leave(admission);
    }

    fn poll_admit(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        // The wait of a thread polls, too, once it is admitted.
        self.is_of_thread &= self.admission != Admission::Outside;
        let operations = admissions(&self.pool, self.is_of_thread);
        if operations.poll(&mut self.admission, self.holds_locks, cx.waker()).is_ready() {
            return Poll::Ready(Ok(()));
        }
        if operations.is_closed() {
            operations.leave(&mut self.admission);
            return Poll::Ready(Err(Error::Closed));
        }
        Poll::Pending
    }

    /// Counts the page, and makes room for its pin (PINS-1).
    fn begin_take(&mut self, page: PageId) -> Result<()> {
        self.taken += 1;
        if self.taken > TAKEN_BASE + VISITS_MAX * u64::from(self.pool.page_count()) {
            let detail = "an operation comes back to this page again and again".into();
            return Err(Error::CorruptPage { page, detail });
        }
        if self.pins.len() == PINS_MAX {
            let oldest = self.pins.remove(0);
            self.unpin(oldest);
        }
        Ok(())
    }

    fn cancel_wait(&mut self) {
        self.pool.cancel_wait(&mut self.wait);
    }

    fn unpin(&self, page: PageId) {
        self.pool.space.frame(page).unpin();
    }
}

/// Returns the admissions of threads, or those of tasks.
fn admissions(pool: &Pool, of_threads: bool) -> &PinnedOperations {
    let AdmissionsByDriver { threads, tasks } = &pool.pinned_operations;
    if of_threads { threads } else { tasks }
}

impl Drop for OperationPins {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
