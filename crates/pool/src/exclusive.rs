//! The guard of a page that is being changed, and the protocol of a change.
//!
//! A change of one page, or of several under one record, goes
//!
//! 1. latch the pages exclusively;
//! 2. [`begin_change`](ExclusivePage::begin_change) on each: a clean page becomes dirty, with the
//!    log's present end as recLSN;
//! 3. insert the record; change the bytes;
//! 4. [`finish_change`](ExclusivePage::finish_change) on each, with the record's end;
//! 5. let go.
//!
//! Invariants:
//! - X1. Step 2 comes before step 3. A fuzzy checkpoint that reads the log's end and then asks for
//!   [`Pool::redo_start`](crate::Pool::redo_start) would otherwise miss a page whose record is
//!   before that end and which is not marked yet.
//! - X2. No cleaner copies a page between 2 and 4: it needs the shared latch. So a copy's page LSN
//!   covers every change in the copy, which is what the WAL rule waits for.

use std::{
    fmt,
    mem::ManuallyDrop,
    ops::{Deref, DerefMut},
};

use clearway_base::{Lsn, PageId};

use crate::{Pool, SharedPage, frame::Frame, header, page_bytes::PageBytes};

/// A page latched for writing, until this is dropped.
pub struct ExclusivePage<'a> {
    pool: &'a Pool,
    frame: &'a Frame,
    bytes: PageBytes,
    page: PageId,
    /// Emptied by `format`, and no change begun since.
    emptied: bool,
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
        ExclusivePage { pool, frame, bytes, page, emptied: false }
    }

    /// The same page, all zeros.
    pub(crate) fn emptied(mut self) -> ExclusivePage<'a> {
        self.fill(0);
        self.emptied = true;
        self
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

    /// Announces a change. Called before its record is inserted into the log (X1).
    #[inline]
    pub fn begin_change(&mut self) {
        if !self.frame.is_dirty() {
            self.frame.mark_dirty(self.pool.rec_lsn_now());
        }
        self.frame.mark_changed();
        self.emptied = false;
    }

    /// Completes a change: the page LSN becomes `end`, the end of the change's record.
    #[inline]
    pub fn finish_change(&mut self, end: Lsn) {
        debug_assert!(self.frame.is_dirty(), "X1: begin_change comes first");
        header::set_page_lsn(self, end);
    }

    /// Keeps the page latched, for reading only.
    #[inline]
    pub fn downgrade(self) -> SharedPage<'a> {
        debug_assert!(!self.emptied, "a formatted page is changed before others see it");
        // The exclusive bit goes with `downgrade`, so this guard must not release it again.
        let this = ManuallyDrop::new(self);
        this.frame.latch.downgrade();
        SharedPage::new(this.page, this.frame, this.bytes)
    }
}

impl Deref for ExclusivePage<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: this guard holds the latch exclusively, and is borrowed for as long (P3).
        unsafe { self.bytes.slice() }
    }
}

impl DerefMut for ExclusivePage<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: this guard holds the latch exclusively, and is mutably borrowed for as long
        // (P3).
        unsafe { self.bytes.slice_mut() }
    }
}

impl Drop for ExclusivePage<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.emptied {
            self.pool.forget_emptied(self.page, self.frame);
        } else {
            self.frame.latch.release_exclusive();
        }
    }
}

impl fmt::Debug for ExclusivePage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExclusivePage({})", self.page)
    }
}
