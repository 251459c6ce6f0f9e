//! The guard of a page that is being changed, and the protocol of a change.
//!
//! A change of one page, or of several under one record, proceeds as follows:
//!
//! 1. latch the pages exclusively;
//! 2. [`begin_change`](ExclusivePage::begin_change) on each: a clean page becomes dirty, with the
//!    log's present end as recovery LSN;
//! 3. insert the record; change the bytes;
//! 4. [`finish_change`](ExclusivePage::finish_change) on each, with the record's end;
//! 5. release the latches.
//!
//! If step 3 fails, there is no record and must be no change: the page is unchanged, except that it
//! is marked dirty. A page that [`Pool::format`] has emptied by then gets its contents back
//! (EXCLUSIVE-3).
//!
//! Invariants:
//! - EXCLUSIVE-1. Step 2 comes before step 3. A fuzzy checkpoint that reads the log's end and then
//!   asks for [`Pool::redo_start`](crate::Pool::redo_start) would otherwise miss a page whose
//!   record is before that end and which is not marked yet.
//! - EXCLUSIVE-2. No cleaner copies a page between 2 and 4: it needs the shared latch. So a copy's
//!   page LSN covers every change in the copy, which is what the WAL rule waits for.
//! - EXCLUSIVE-3. Zeros without a record are never read as the contents of a page: the former
//!   contents of a formatted page are kept until step 4, and are put back if it does not come.

use std::{
    fmt,
    ops::{Deref, DerefMut},
};

use clearway_base::{Error, Lsn, PageId};

use clearway_sync::invariant;

use crate::{Pool, frame::Frame, header, page_bytes::PageBytes};

/// A page latched for writing, until this is dropped.
pub struct ExclusivePage<'a> {
    pool: &'a Pool,
    frame: &'a Frame,
    bytes: PageBytes,
    page: PageId,
    /// The page before `format`, kept until a change is finished (EXCLUSIVE-3).
    before: Option<Box<Before>>,
}

/// A page as it was before `format`.
enum Before {
    /// Not in memory.
    Absent,
    /// In memory with these contents.
    Resident { bytes: Box<[u8]>, dirty: bool },
}

impl<'a> ExclusivePage<'a> {
    /// The caller holds the exclusive bit of a resident page and leaves its release to this guard.
    #[inline]
    pub(crate) fn new(
        pool: &'a Pool,
        page: PageId,
        frame: &'a Frame,
        bytes: PageBytes,
    ) -> ExclusivePage<'a> {
        ExclusivePage { pool, frame, bytes, page, before: None }
    }

    /// Fills the page with zeros. Its contents are kept (EXCLUSIVE-3) if it was resident; a page
    /// that was not resident is all zeros already (REGION-3).
    pub(crate) fn emptied(mut self, was_resident: bool) -> ExclusivePage<'a> {
        let before = if was_resident {
            let before = Before::Resident { bytes: (*self).into(), dirty: self.frame.is_dirty() };
            self.fill(0);
            before
        } else {
            Before::Absent
        };
        self.before = Some(Box::new(before));
        self
    }

    /// Undoes `format` (EXCLUSIVE-3) and releases the latch.
    #[cold]
    fn take_back(&mut self, before: Before) {
        match before {
            Before::Absent => self.pool.forget_formatted(self.page, self.frame),
            Before::Resident { bytes, dirty } => {
                self.copy_from_slice(&bytes);
                if !dirty {
                    // Only `begin_change` can have marked it dirty.
                    self.frame.mark_clean();
                }
                self.frame.latch.release_exclusive();
            }
        }
    }

    /// Poisons the page: a record is in the log but the page does not match it. The pool and the
    /// log stop, so the page is not written.
    #[cold]
    pub fn poison(&self, cause: &Error) {
        let _ = self.pool.fail(cause.clone());
        self.pool.wal.fail(cause);
    }

    /// The page's id.
    #[inline]
    pub fn id(&self) -> PageId {
        self.page
    }

    /// The page LSN: the end of the last record applied.
    #[inline]
    pub fn page_lsn(&self) -> Lsn {
        header::page_lsn(self)
    }

    /// Begins a change. Must be called before its record is inserted into the log (EXCLUSIVE-1).
    #[inline]
    pub fn begin_change(&mut self) {
        if !self.frame.is_dirty() {
            self.frame.mark_dirty(self.pool.rec_lsn_now());
        }
        self.frame.mark_changed();
    }

    /// Completes a change: the page LSN becomes `end`, the end of the change's record.
    #[inline]
    pub fn finish_change(&mut self, end: Lsn) {
        debug_assert!(self.frame.is_dirty(), "EXCLUSIVE-1: begin_change comes first");
        invariant(end > self.page_lsn(), "page change: a page's LSN grows with each change");
        header::set_page_lsn(self, end);
        if self.before.is_some() {
            self.forget_before();
        }
    }

    #[cold]
    fn forget_before(&mut self) {
        self.before = None;
    }
}

impl Deref for ExclusivePage<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: this guard holds the latch exclusively, and is borrowed for as long
        // (PAGE-BYTES-3).
        unsafe { self.bytes.slice() }
    }
}

impl DerefMut for ExclusivePage<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: this guard holds the latch exclusively, and is mutably borrowed for as long
        // (PAGE-BYTES-3).
        unsafe { self.bytes.slice_mut() }
    }
}

impl Drop for ExclusivePage<'_> {
    #[inline]
    fn drop(&mut self) {
        match self.before.take() {
            None => self.frame.latch.release_exclusive(),
            Some(before) => self.take_back(*before),
        }
    }
}

impl fmt::Debug for ExclusivePage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExclusivePage({})", self.page)
    }
}
