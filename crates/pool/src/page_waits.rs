//! Tasks that wait for a page: which of them a read-in has to wake. An operation that blocks its
//! thread counts as a task here if another thread, or the I/O queue, is reading the page: the
//! waker unparks the thread.
//!
//! Outside of operations (redo, `verify`) a thread waits for the latch of a page that is being read
//! in. A task cannot; it registers its waker here instead. Whatever ends the read-in ends the waits
//! for the page.
//!
//! ```text
//!   the task                                  the read-in (a thread, or a completion)
//!   registers its waker: `waiting` + 1        sets the page resident, or releases it absent
//!   fence                                     fence
//!   is the page still being read in?          is any task `waiting`?
//!     yes: it will be woken                     yes: ends the waits for the page
//!     no:  it serves the page's waits itself    no:  nothing to do, at the price of one load
//! ```
//!
//! Invariants:
//! - PAGE-WAITS-1. No lost wake-up. While a waker is registered for a page, one of three is going
//!   to end its wait: the task itself, until its poll returns; the holder of the absent page's
//!   exclusive latch, that is, its read-in; or the loader, which has the page in its queue. A task
//!   that finds no room leaves the wait to the loader; a task or loader that finds, after the
//!   registration, that the page is being read in leaves it to the read-in. The two fences of the
//!   picture are SeqCst, so they have one order: the loads after the later fence see the stores
//!   before the earlier one. So the task sees that the read-in is over, or the read-in sees the
//!   waker.
//! - PAGE-WAITS-2. A wait ends once. If the page has arrived, it is pinned once for each wait that
//!   ends, under the page's latch (FRAME-4), so it is still there when the task is polled. The pin
//!   belongs to the wait until the task takes it over, or gives it back with the wait.
//! - PAGE-WAITS-3. Wakers are cloned, called and dropped without the mutex, and called without the
//!   latch of any page that the caller has brought in: they run user code. (A thread that reads a
//!   page in for `verify` or for redo may hold latches of other pages. So a waker must not wait for
//!   an operation.)
//! - PAGE-WAITS-4. After the close no wait begins, and those that no read-in has ended fail.

use std::{
    collections::BTreeMap,
    mem,
    task::{Poll, Waker},
};

use clearway_base::{Error, PageId, Result};
use clearway_sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering, fence},
    wake,
};

use crate::latch::{Latch, Residency};

/// The end of a wait.
#[derive(Clone, Debug)]
pub(crate) enum PageWaitEnd {
    /// The page is in memory, and was pinned for the wait.
    Arrived,
    /// The page could not be read, or there was no room for it.
    Failed(Error),
    /// A run of pages could not be read; whether this one can is unknown.
    Unknown,
}

/// The waits of tasks.
#[derive(Default)]
pub(crate) struct PageWaits {
    /// The size of `wakers`; written under the mutex.
    waiting: AtomicUsize,
    state: Mutex<WaitTable>,
}

#[derive(Default)]
struct WaitTable {
    /// By page, then by the number of the wait.
    wakers: BTreeMap<(PageId, u64), Waker>,
    /// Waits that have ended, until the task is polled or dropped.
    ended: BTreeMap<u64, PageWaitEnd>,
    next_number: u64,
    is_closed: bool,
}

/// One wait. Must end with [`PageWaits::poll`] or [`PageWaits::cancel`].
#[derive(Debug)]
pub(crate) struct PageWait {
    pub(crate) page: PageId,
    number: u64,
}

impl PageWaits {
    /// Begins a wait, and then looks at the page. The caller must see to it that the wait ends
    /// (PAGE-WAITS-1): if the page is `Loading`, it will.
    ///
    /// # Errors
    /// [`Error::Closed`] (PAGE-WAITS-4).
    pub(crate) fn begin(
        &self,
        page: PageId,
        latch: &Latch,
        waker: &Waker,
    ) -> Result<(PageWait, Residency)> {
        let wait = self.register(page, waker.clone())?;
        Ok((wait, self.residency(latch)))
    }

    fn register(&self, page: PageId, waker: Waker) -> Result<PageWait> {
        let mut state = self.state.lock();
        if state.is_closed {
            // The waker is dropped after the guard (PAGE-WAITS-3).
            return Err(Error::Closed);
        }
        let number = state.next_number;
        state.next_number += 1;
        state.wakers.insert((page, number), waker);
        self.count(&state);
        Ok(PageWait { page, number })
    }

    /// Returns the state of a page's read-in, as seen after the waits that the caller knows of were
    /// registered (PAGE-WAITS-1).
    pub(crate) fn residency(&self, latch: &Latch) -> Residency {
        // Pairs with the fence of `is_any`.
        fence(Ordering::SeqCst);
        latch.residency()
    }

    /// Returns true if any task waits for any page, after the caller has ended a read-in.
    fn is_any(&self) -> bool {
        // Pairs with the fence of `residency`. Relaxed: the fence orders the load.
        fence(Ordering::SeqCst);
        self.waiting.load(Ordering::Relaxed) != 0
    }

    /// Ends the waits for a page, whose read-in the caller has ended. Calls `pin` for each of them
    /// (PAGE-WAITS-2). The caller wakes the tasks (PAGE-WAITS-3).
    #[must_use]
    pub(crate) fn end(&self, page: PageId, end: &PageWaitEnd, pin: impl Fn()) -> Vec<Waker> {
        if !self.is_any() {
            return Vec::new();
        }
        let mut state = self.state.lock();
        let keys: Vec<_> = state.of(page).collect();
        let wakers = keys.iter().filter_map(|key| {
            pin();
            state.ended.insert(key.1, end.clone());
            state.wakers.remove(key)
        });
        let wakers = wakers.collect();
        self.count(&state);
        wakers
    }

    /// Returns true if a task waits for this page.
    pub(crate) fn is_awaited(&self, page: PageId) -> bool {
        self.state.lock().of(page).next().is_some()
    }

    /// Returns how a wait has ended, or keeps the waker that is to be called then. A wait that has
    /// ended must not be polled again.
    pub(crate) fn poll(&self, wait: &PageWait, waker: &Waker) -> Poll<PageWaitEnd> {
        let waker = waker.clone();
        let mut state = self.state.lock();
        if let Some(end) = state.ended.remove(&wait.number) {
            return Poll::Ready(end);
        }
        let replaced = state.wakers.insert((wait.page, wait.number), waker);
        drop(state);
        debug_assert!(replaced.is_some(), "PAGE-WAITS-2: a wait ends once");
        Poll::Pending
    }

    /// Forgets a wait. Returns how it has ended, if it has.
    pub(crate) fn cancel(&self, wait: PageWait) -> Option<PageWaitEnd> {
        let mut state = self.state.lock();
        let removed = state.wakers.remove(&(wait.page, wait.number));
        self.count(&state);
        let end = state.ended.remove(&wait.number);
        drop(state);
        debug_assert!(removed.is_some() != end.is_some(), "PAGE-WAITS-2: a wait ends once");
        end
    }

    /// Refuses waits from now on (PAGE-WAITS-4).
    pub(crate) fn refuse(&self) {
        self.state.lock().is_closed = true;
    }

    /// Ends all waits with [`Error::Closed`], and wakes their tasks.
    pub(crate) fn fail_all(&self) {
        let mut state = self.state.lock();
        let all = mem::take(&mut state.wakers);
        self.count(&state);
        let closed = || PageWaitEnd::Failed(Error::Closed);
        state.ended.extend(all.keys().map(|(_, number)| (*number, closed())));
        drop(state);
        all.into_values().for_each(wake);
    }

    /// The number of waits that have not ended, and of those whose end no task has seen.
    #[cfg(test)]
    pub(crate) fn counts(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.wakers.len(), state.ended.len())
    }

    fn count(&self, state: &WaitTable) {
        // Relaxed: ordered by the fences (PAGE-WAITS-1).
        self.waiting.store(state.wakers.len(), Ordering::Relaxed);
    }
}

impl WaitTable {
    /// The waits for a page.
    fn of(&self, page: PageId) -> impl Iterator<Item = (PageId, u64)> + '_ {
        self.wakers.range((page, 0)..=(page, u64::MAX)).map(|(key, _)| *key)
    }
}

#[cfg(all(test, loom))]
mod models;
