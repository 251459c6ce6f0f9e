//! Requests that read nothing in: for operations that report an absent page to their caller, which
//! reads the page in and repeats the operation.
//!
//! These requests do no I/O and wait for page latches only. A page that is being read in counts as
//! absent: its latch is held across a read of the disk. For a page that is being evicted they wait
//! until the evictor, which does no I/O under that latch, releases it.

use clearway_base::PageId;

use crate::{
    ExclusivePage, OptimisticPage, Pin, Pool, SharedPage, frame::Frame,
    latch::LatchOutcome::Latched,
};

/// The page is not in memory, or cannot exist: [`Pool::pin`] reads it in, or returns the error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotResident;

impl Pool {
    /// Like [`Pool::optimistic`], for a page that is in memory.
    ///
    /// # Errors
    /// [`NotResident`].
    #[inline]
    pub fn optimistic_if_resident(&self, page: PageId) -> Result<OptimisticPage<'_>, NotResident> {
        let (frame, bytes) = self.space.get(page).ok_or(NotResident)?;
        let seen = match frame.latch.see() {
            Some(seen) => seen,
            None => {
                frame.latch.wait_to_see_resident(&self.counters.latch_waits).ok_or(NotResident)?
            }
        };
        frame.touch();
        Ok(OptimisticPage::new(self, page, frame, bytes, seen))
    }

    /// Like [`Pool::shared`], for a page that is in memory.
    ///
    /// # Errors
    /// [`NotResident`].
    #[inline]
    pub fn shared_if_resident(&self, page: PageId) -> Result<SharedPage<'_>, NotResident> {
        let (frame, bytes) = self.space.get(page).ok_or(NotResident)?;
        bytes.prefetch();
        if !frame.latch.shared_at_once() && !self.wait_shared(frame) {
            return Err(NotResident);
        }
        frame.touch();
        Ok(SharedPage::new(page, frame, bytes))
    }

    /// Like [`Pool::exclusive`], for a page that is in memory.
    ///
    /// # Errors
    /// [`NotResident`].
    #[inline]
    pub fn exclusive_if_resident(&self, page: PageId) -> Result<ExclusivePage<'_>, NotResident> {
        let (frame, bytes) = self.space.get(page).ok_or(NotResident)?;
        bytes.prefetch();
        if !frame.latch.exclusive_at_once() && !self.wait_exclusive(frame) {
            return Err(NotResident);
        }
        frame.touch();
        Ok(ExclusivePage::new(self, page, frame, bytes))
    }

    #[cold]
    fn wait_shared(&self, frame: &Frame) -> bool {
        frame.latch.shared_if_resident(&self.counters.latch_waits) == Latched
    }

    #[cold]
    fn wait_exclusive(&self, frame: &Frame) -> bool {
        frame.latch.exclusive_if_resident(&self.counters.latch_waits) == Latched
    }

    /// Like [`Pool::try_exclusive`], for a page that is in memory: `None` if another thread has it
    /// latched.
    ///
    /// # Errors
    /// [`NotResident`].
    #[inline]
    pub fn try_exclusive_if_resident(
        &self,
        page: PageId,
    ) -> Result<Option<ExclusivePage<'_>>, NotResident> {
        let (frame, bytes) = self.space.get(page).ok_or(NotResident)?;
        if !frame.latch.try_exclusive() {
            return if frame.latch.is_resident() { Ok(None) } else { Err(NotResident) };
        }
        frame.touch();
        Ok(Some(ExclusivePage::new(self, page, frame, bytes)))
    }

    /// Like [`Pool::pin`], for a page that is in memory.
    ///
    /// # Errors
    /// [`NotResident`].
    pub fn pin_if_resident(&self, page: PageId) -> Result<Pin<'_>, NotResident> {
        Ok(self.shared_if_resident(page)?.pin())
    }

    /// Like [`Pool::try_format`], but writes no dirty page to make room for an absent one: it takes
    /// a free slot, evicts a clean page, or takes a slot of the reserve.
    ///
    /// # Errors
    /// [`NotResident`] if there is none of these either: pin the page, and try again.
    pub fn try_format_at_once(
        &self,
        page: PageId,
    ) -> Result<Option<ExclusivePage<'_>>, NotResident> {
        let (frame, bytes) = self.space.get(page).ok_or(NotResident)?;
        let was_resident = frame.latch.try_exclusive();
        if !was_resident && (frame.latch.is_resident() || !self.bring_in_at_once(page, frame)?) {
            return Ok(None);
        }
        frame.touch();
        Ok(Some(ExclusivePage::new(self, page, frame, bytes).emptied(was_resident)))
    }

    /// Brings an absent page into memory, with zeros for contents, if there is room at once.
    /// Returns false if another thread is faster.
    #[cold]
    fn bring_in_at_once(&self, page: PageId, frame: &Frame) -> Result<bool, NotResident> {
        let slot = self.take_slot_at_once().ok_or(NotResident)?;
        Ok(self.bring_in_empty_to(page, frame, slot))
    }
}
