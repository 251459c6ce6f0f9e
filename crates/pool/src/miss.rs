//! Misses: bringing a page into memory.
//!
//! The thread that takes the exclusive bit of an absent page reads the page in. Operations, of
//! threads and of tasks, wait for the end of the read, with a limit (`page_waits`); other callers,
//! such as redo, wait for the latch. The reading thread holds that latch during the read and during
//! the eviction that makes room (`evict`). (Many pages at once, and those that a task wants, are
//! brought in through the I/O queue, whose request holds the latch: `load`, `task_reads`.)
//!
//! A page that is to be formatted is not read: it becomes resident in the step that latches it, so
//! there is no read-in for which a task could wait.
//!
//! A page that cannot be read, or whose bytes are damaged, stays absent: the caller gets the error,
//! and the next caller tries again. Bytes with a valid checksum are damaged too if their page LSN
//! is beyond the durable log: by the write-ahead rule (CLEANER-1) such a page is never written.

use clearway_base::{Lsn, PageId, Result};
use clearway_sync::{counted_reads::assert_counted, wake};

use crate::{Pool, frame::Frame, header};

impl Pool {
    /// Reads an absent page in. Returns true if the caller now holds its latch exclusively, and
    /// false if another thread brings the page in or has done so, or latched it once it was in.
    #[cold]
    pub(crate) fn bring_in(&self, page: PageId, frame: &Frame) -> Result<bool> {
        // One thread wins. For the others this returns false: an operation waits for the end of the
        // read (`page_waits`), and callers without one wait for the latch in their next attempt.
        if !frame.latch.try_exclusive_absent() {
            return Ok(false);
        }
        assert_counted("a read of a page");
        self.counters.misses.add(1);
        match self.read_in(page, frame) {
            Ok(()) => Ok(self.arrived(page, frame)),
            Err(error) => {
                self.fail_waits(page, &error).into_iter().for_each(wake);
                Err(error)
            }
        }
    }

    /// Brings an absent page in with zeros instead of the contents on disk. Returns true if the
    /// caller now holds its latch exclusively, and false if another thread was faster.
    #[cold]
    pub(crate) fn bring_in_empty(&self, page: PageId, frame: &Frame) -> Result<bool> {
        let slot = self.take_slot()?;
        Ok(self.bring_in_empty_to(page, frame, slot))
    }

    /// Like [`Pool::bring_in_empty`], into a slot that the caller owns and that is given back if
    /// another thread was faster.
    #[cold]
    pub(crate) fn bring_in_empty_to(&self, page: PageId, frame: &Frame, slot: u32) -> bool {
        // Absent pages read as zeros (REGION-3).
        if !frame.latch.try_exclusive_empty() {
            self.slots.give_back(slot);
            return false;
        }
        self.counters.misses.add(1);
        self.occupy(slot, page, frame);
        debug_assert!(frame.is_evictable(), "an absent page is clean and unpinned (FRAME-4)");
        true
    }

    /// Reads a page in that the caller has latched. If that fails, the page is absent and released.
    fn read_in(&self, page: PageId, frame: &Frame) -> Result<()> {
        let slot = self.take_slot().inspect_err(|_| frame.latch.release_absent())?;
        self.occupy(slot, page, frame);
        self.read(page).inspect_err(|_| self.leave_absent(page, frame, slot))
    }

    /// Puts a page that the caller has latched into a slot that it owns.
    pub(crate) fn occupy(&self, slot: u32, page: PageId, frame: &Frame) {
        // Set the slot first: the clock skips latched pages, so no thread takes it away
        // (POOL-SLOTS-1).
        frame.set_slot(slot);
        self.slots.occupy(slot, page);
    }

    /// Makes a page resident that the caller has read in. Tasks that wait for it are woken without
    /// its latch. Returns true if the caller still holds it, or has it again.
    fn arrived(&self, page: PageId, frame: &Frame) -> bool {
        debug_assert!(frame.is_evictable(), "an absent page is clean and unpinned (FRAME-4)");
        frame.latch.set_resident();
        let tasks = self.end_waits(page, frame);
        if tasks.is_empty() {
            return true;
        }
        frame.latch.release_exclusive();
        tasks.into_iter().for_each(wake);
        frame.latch.try_exclusive()
    }

    /// Releases the latch of a page that could not be brought into its slot. The release wakes the
    /// first waiters of the page (PAGE-LATCH-6), and each thread that is woken tries again.
    pub(crate) fn leave_absent(&self, page: PageId, frame: &Frame, slot: u32) {
        // Bytes left by the failed read would break REGION-3 for the next reader.
        self.space.give_back(page, 1);
        self.slots.vacate(slot);
        self.slots.give_back(slot);
        frame.latch.release_absent();
    }

    fn read(&self, page: PageId) -> Result<()> {
        self.counters.reads.add(1);
        // SAFETY: the caller holds the page exclusively and has no other slice of it
        // (PAGE-BYTES-3).
        let bytes = unsafe { self.space.bytes(page).slice_mut() };
        self.data.read(page, bytes)?;
        self.verify(page, bytes)
    }

    /// Checks the bytes of a page before any other thread can see them: the page is still absent.
    pub(crate) fn verify(&self, page: PageId, bytes: &[u8]) -> Result<()> {
        header::verify(page, bytes)?;
        let durable = self.wal.durable();
        if durable == Lsn::MAX {
            self.note_page_lsn(page, header::page_lsn(bytes));
        }
        header::check_page_lsn(page, bytes, durable)
    }

    /// Notes the page LSN of a page that was read before the end of the log is known.
    #[cold]
    fn note_page_lsn(&self, page: PageId, page_lsn: Lsn) {
        let mut newest = self.newest_before_log.lock();
        *newest = (*newest).max((page_lsn, page));
    }

    /// Checks that no page that was read while redo ran has a page LSN beyond `end`, the end of the
    /// log that redo has found, whether the page is still in memory or not: redo has left out
    /// changes of such a page. Pages that are read in once the log runs are checked then.
    ///
    /// # Errors
    /// [`Error::CorruptPage`](clearway_base::Error::CorruptPage) with the page whose page LSN is
    /// the highest.
    pub fn check_page_lsns(&self, end: Lsn) -> Result<()> {
        let (page_lsn, page) = *self.newest_before_log.lock();
        header::check_lsn(page, page_lsn, end)
    }
}
