//! Pages that tasks wait for: a read of one page through the I/O queue, without a thread that
//! waits for it.
//!
//! ```text
//!   Pool::pin_or_wait ── resident ──► pinned
//!        │ waker registered
//!        ▼
//!   serve_waits ── being read in ──► its read-in ends the wait
//!        │  └───── resident since ─► the waits for the page end here
//!        │ a slot, the latch
//!        ├───────► request ──► I/O queue ── completion (`load`) ends the waits
//!        └ no clean slot ──► loader: makes room, and serves the waits
//! ```
//!
//! A request does not belong to the task that has caused it (LOAD-1): a task that is dropped leaves
//! it alone. If all of them are, the page arrives, and stays in memory without a pin.

use std::{
    sync::Arc,
    task::{Context, Poll, Waker, ready},
};

use clearway_base::{Error, PageId, Result};
use clearway_disk::IoPriority;
use clearway_sync::{invariant, step, wake};

use crate::{
    Pool,
    frame::Frame,
    latch::Residency,
    page_waits::{PageWait, PageWaitEnd},
};

/// Takes a slot for a page that is to be read. `None`: there is none without I/O.
type TakeSlot = fn(&Pool) -> Result<Option<u32>>;

impl Pool {
    /// Pins a page if it is in memory, otherwise has it read in and begins a wait. Blocks at most
    /// for its latch.
    ///
    /// # Errors
    /// [`Error::CorruptPage`] for an id beyond the address space; [`Error::Closed`].
    pub(crate) fn pin_or_wait(
        self: &Arc<Pool>,
        page: PageId,
        waker: &Waker,
    ) -> Result<Option<PageWait>> {
        let (frame, _) = self.space.page(page)?;
        if let Ok(pin) = self.pin_if_resident(page) {
            pin.leave();
            return Ok(None);
        }
        let (wait, seen) = self.page_waits.begin(page, &frame.latch, waker)?;
        if seen == Residency::Loading {
            return Ok(Some(wait));
        }
        match self.serve_waits(page, |pool| Ok(pool.take_clean_slot())) {
            Ok(true) => {}
            Ok(false) if self.loader.request(self, page) => {}
            // Without a loader the poll makes room itself.
            _ => {
                let _may_block = step::Except::begin();
                self.serve_waits_in_need(page);
            }
        }
        Ok(Some(wait))
    }

    /// Pins a page, for a task, and has it read in for that if it is absent. `wait` is its wait for
    /// the page, if that has begun.
    ///
    /// # Errors
    /// Those of [`Pool::pin_or_wait`], and that of the read, also if it was begun for another task.
    pub(crate) fn poll_pin(
        self: &Arc<Pool>,
        page: PageId,
        wait: &mut Option<PageWait>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<()>> {
        loop {
            if wait.is_none() {
                *wait = self.pin_or_wait(page, cx.waker())?;
            }
            let Some(begun) = &*wait else { return Poll::Ready(Ok(())) };
            let end = ready!(self.page_waits.poll(begun, cx.waker()));
            *wait = None;
            match end {
                PageWaitEnd::Arrived => return Poll::Ready(Ok(())),
                PageWaitEnd::Failed(error) => return Poll::Ready(Err(error)),
                // Read the page alone.
                PageWaitEnd::Unknown => {}
            }
        }
    }

    /// Gives up a wait, if there is one, and the pin that belongs to it (PAGE-WAITS-2).
    pub(crate) fn cancel_wait(&self, wait: &mut Option<PageWait>) {
        let Some(wait) = wait.take() else { return };
        let page = wait.page;
        if let Some(PageWaitEnd::Arrived) = self.page_waits.cancel(wait) {
            self.space.frame(page).unpin();
        }
    }

    /// As `serve_waits`; makes room if there is none. The waits fail if that fails.
    pub(crate) fn serve_waits_in_need(self: &Arc<Pool>, page: PageId) {
        if let Err(error) = self.serve_waits(page, |pool| pool.take_slot().map(Some)) {
            self.fail_waits(page, &error).into_iter().for_each(wake);
        }
    }

    /// Sees to it that the waits for a page end (PAGE-WAITS-1). Returns false if there is no slot
    /// to read the page into.
    ///
    /// # Errors
    /// Those of `take_slot`.
    fn serve_waits(self: &Arc<Pool>, page: PageId, take_slot: TakeSlot) -> Result<bool> {
        let frame = self.space.frame(page);
        loop {
            match self.page_waits.residency(&frame.latch) {
                Residency::Loading => return Ok(true),
                Residency::Resident => {
                    if let Ok(shared) = self.shared_if_resident(page) {
                        let tasks = self.end_waits(page, frame);
                        drop(shared);
                        tasks.into_iter().for_each(wake);
                        return Ok(true);
                    }
                }
                Residency::Absent => {
                    let Some(slot) = take_slot(self)? else { return Ok(false) };
                    if self.latch_to_load(page, frame, slot) {
                        let request = self.request(page, 1, IoPriority::Foreground, || ());
                        self.io.submit(vec![request]);
                        return Ok(true);
                    }
                    self.slots.give_back(slot);
                }
            }
        }
    }

    /// Ends the waits for a page that is resident and that the caller has latched. Returns the
    /// wakers to call without the latch.
    #[must_use]
    pub(crate) fn end_waits(&self, page: PageId, frame: &Frame) -> Vec<Waker> {
        self.page_waits.end(page, &PageWaitEnd::Arrived, || {
            invariant(frame.latch.is_held(), "PAGE-WAITS-2: pinned under the latch");
            frame.pin();
        })
    }

    /// Ends the waits for a page that could not be read, and that was released as absent. Returns
    /// the wakers to call without any latch.
    #[must_use]
    pub(crate) fn fail_waits(&self, page: PageId, error: &Error) -> Vec<Waker> {
        self.page_waits.end(page, &PageWaitEnd::Failed(error.clone()), || ())
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
