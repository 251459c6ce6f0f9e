//! From a page id to a latched page, which is read in if it is absent.
//!
//! Latch order. The pool's code waits for a page's latch in two cases. The thread of the loader
//! waits for one while it holds no other. And these calls wait on behalf of their caller, which
//! defines the order among pages: `optimistic`, `shared` (which `pin` uses), `exclusive`, the
//! `…_if_resident` forms of these (but not `try_exclusive_if_resident`), `format` and
//! `OptimisticPage::latch_exclusive`. Cleaners and the clock never wait for a page's latch; they
//! skip latched pages. A thread may therefore miss while it holds latches of other pages: what it
//! waits for in that case (a part of the double-write area, the log, the disk) never waits for a
//! page's latch.

use clearway_base::{PageId, Result};

use crate::{
    Pin, Pool,
    exclusive::ExclusivePage,
    frame::Frame,
    latch::{LatchOutcome, Seen},
    optimistic::OptimisticPage,
    shared::SharedPage,
};

impl Pool {
    /// Reads a page without a latch: the result records the page's version, and what is read
    /// through it is unreliable until [`OptimisticPage::validate`] confirms that it was of that
    /// version. Waits while the page is latched exclusively; reads it in if it is absent.
    ///
    /// # Errors
    /// [`Error::CorruptPage`]; errors of the disk; [`Error::BadOption`] if all pages of the cache
    /// stay latched or pinned; the error that prevents dirty pages from being written, if room can
    /// be made in no other way ([`Pool::health`]).
    ///
    /// [`Error::CorruptPage`]: clearway_base::Error::CorruptPage
    /// [`Error::BadOption`]: clearway_base::Error::BadOption
    #[inline]
    pub fn optimistic(&self, page: PageId) -> Result<OptimisticPage<'_>> {
        let (frame, bytes) = self.space.page(page)?;
        let seen = match frame.latch.see() {
            Some(seen) => seen,
            None => self.optimistic_slow(page, frame)?,
        };
        frame.touch();
        Ok(OptimisticPage::new(self, page, frame, bytes, seen))
    }

    /// Latches a page for reading, shared with other readers.
    ///
    /// # Errors
    /// As for [`Pool::optimistic`].
    #[inline]
    pub fn shared(&self, page: PageId) -> Result<SharedPage<'_>> {
        let (frame, bytes) = self.space.page(page)?;
        bytes.prefetch();
        if !frame.latch.shared_at_once() {
            self.shared_slow(page, frame)?;
        }
        frame.touch();
        Ok(SharedPage::new(page, frame, bytes))
    }

    /// Latches a page for writing.
    ///
    /// # Errors
    /// As for [`Pool::optimistic`].
    #[inline]
    pub fn exclusive(&self, page: PageId) -> Result<ExclusivePage<'_>> {
        let (frame, bytes) = self.space.page(page)?;
        bytes.prefetch();
        if !frame.latch.exclusive_at_once() {
            self.exclusive_slow(page, frame)?;
        }
        frame.touch();
        Ok(ExclusivePage::new(self, page, frame, bytes))
    }

    /// Latches a page for writing if no thread has it latched. An absent page is read in.
    ///
    /// # Errors
    /// As for [`Pool::optimistic`].
    #[inline]
    pub fn try_exclusive(&self, page: PageId) -> Result<Option<ExclusivePage<'_>>> {
        let (frame, bytes) = self.space.page(page)?;
        if !frame.latch.try_exclusive()
            && (frame.latch.is_resident() || !self.bring_in(page, frame)?)
        {
            return Ok(None);
        }
        frame.touch();
        Ok(Some(ExclusivePage::new(self, page, frame, bytes)))
    }

    /// Latches a page for writing and fills it with zeros, without reading it from disk: for newly
    /// allocated pages, and for redo of full images (the page LSN starts at 0 again, so every image
    /// applies). If no change is finished before the latch is released, the page becomes what it
    /// was: if it was resident, its former contents are put back; if it was absent, it is evicted
    /// again.
    ///
    /// # Errors
    /// As for [`Pool::optimistic`], except [`Error::CorruptPage`].
    ///
    /// [`Error::CorruptPage`]: clearway_base::Error::CorruptPage
    pub fn format(&self, page: PageId) -> Result<ExclusivePage<'_>> {
        let (frame, bytes) = self.space.page(page)?;
        let mut was_resident = true;
        while was_resident
            && frame.latch.exclusive(&self.counters.latch_waits) == LatchOutcome::Absent
        {
            // This thread may have been the writer that was woken (PAGE-LATCH-6).
            let brought = self.bring_in_empty(page, frame).inspect_err(|_| frame.latch.wake_next());
            was_resident = !brought?;
        }
        frame.touch();
        Ok(ExclusivePage::new(self, page, frame, bytes).emptied(was_resident))
    }

    /// Like [`format`](Pool::format), if no thread has the page latched.
    ///
    /// # Errors
    /// As for [`Pool::format`].
    pub fn try_format(&self, page: PageId) -> Result<Option<ExclusivePage<'_>>> {
        let (frame, bytes) = self.space.page(page)?;
        let was_resident = frame.latch.try_exclusive();
        if !was_resident && (frame.latch.is_resident() || !self.bring_in_empty(page, frame)?) {
            return Ok(None);
        }
        frame.touch();
        Ok(Some(ExclusivePage::new(self, page, frame, bytes).emptied(was_resident)))
    }

    /// Keeps a page in memory without a latch, until the pin is dropped.
    ///
    /// # Errors
    /// As for [`Pool::optimistic`].
    pub fn pin(&self, page: PageId) -> Result<Pin<'_>> {
        Ok(self.shared(page)?.pin())
    }

    /// Like [`Pool::pin`], but returns `None` instead of waiting while another thread, or the read
    /// queue, reads the page in.
    ///
    /// # Errors
    /// As for [`Pool::optimistic`].
    #[cold]
    pub(crate) fn pin_unless_loading(&self, page: PageId) -> Result<Option<Pin<'_>>> {
        if let Ok(pin) = self.pin_if_resident(page) {
            return Ok(Some(pin));
        }
        let (frame, bytes) = self.space.page(page)?;
        if !self.bring_in(page, frame)? {
            return Ok(None);
        }
        frame.latch.downgrade();
        frame.touch();
        Ok(Some(SharedPage::new(page, frame, bytes).pin()))
    }

    #[cold]
    fn optimistic_slow(&self, page: PageId, frame: &Frame) -> Result<Seen> {
        loop {
            if let Some(seen) = frame.latch.wait_to_see(&self.counters.latch_waits) {
                return Ok(seen);
            }
            if self.bring_in(page, frame)? {
                frame.latch.release_exclusive();
            }
        }
    }

    #[cold]
    fn shared_slow(&self, page: PageId, frame: &Frame) -> Result<()> {
        while frame.latch.shared(&self.counters.latch_waits) == LatchOutcome::Absent {
            if self.bring_in(page, frame)? {
                frame.latch.downgrade();
                break;
            }
        }
        Ok(())
    }

    #[cold]
    fn exclusive_slow(&self, page: PageId, frame: &Frame) -> Result<()> {
        while frame.latch.exclusive(&self.counters.latch_waits) == LatchOutcome::Absent {
            if self.bring_in(page, frame)? {
                break;
            }
        }
        Ok(())
    }

    /// Discards a page that `format` created in memory and that was not changed. The caller has
    /// held it exclusively since it was absent: it is in no batch and has no pin.
    #[cold]
    pub(crate) fn forget_formatted(&self, page: PageId, frame: &Frame) {
        frame.mark_clean();
        debug_assert!(frame.is_evictable(), "no other thread has had this page");
        self.evict_latched(page, frame, frame.slot());
    }
}
