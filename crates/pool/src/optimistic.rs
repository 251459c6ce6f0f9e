//! Reading without a latch.
//!
//! Invariant:
//! - OPTIMISTIC-1. Everything read through an [`OptimisticPage`] between its creation and a
//!   successful [`validate`](OptimisticPage::validate) or upgrade is of one version of the page
//!   (PAGE-LATCH-5). Before that it may be any mix of versions, or zeros.

use std::cmp::Ordering;

use clearway_base::{Lsn, PageId};
use clearway_sync::Trace;

use crate::{
    ExclusivePage, Pool, frame::Frame, header::LSN_AT, latch::Seen, page_bytes::PageBytes,
};

/// The page changed during an optimistic read: the reader must discard what it read and start
/// again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Restart;

/// A page that is read without a latch. All positions are in bytes from the page's start; reads at
/// any position are defined; those beyond the page return zero.
#[derive(Clone, Copy)]
pub struct OptimisticPage<'a> {
    pool: &'a Pool,
    frame: &'a Frame,
    bytes: PageBytes,
    seen: Seen,
    page: PageId,
}

impl<'a> OptimisticPage<'a> {
    #[inline]
    pub(crate) fn new(
        pool: &'a Pool,
        page: PageId,
        frame: &'a Frame,
        bytes: PageBytes,
        seen: Seen,
    ) -> OptimisticPage<'a> {
        OptimisticPage { pool, frame, bytes, seen, page }
    }

    /// The page's id.
    #[inline]
    pub fn id(&self) -> PageId {
        self.page
    }

    /// A byte.
    #[inline]
    pub fn read_u8(&self, at: usize) -> u8 {
        self.bytes.read_u8(at)
    }

    /// A little-endian number of two bytes; `at` need not be aligned, here and below.
    #[inline]
    pub fn read_u16(&self, at: usize) -> u16 {
        self.bytes.read_u16(at)
    }

    /// A little-endian number of four bytes.
    #[inline]
    pub fn read_u32(&self, at: usize) -> u32 {
        self.bytes.read_u32(at)
    }

    /// A little-endian number of eight bytes. At a multiple of 8 it is one load.
    #[inline]
    pub fn read_u64(&self, at: usize) -> u64 {
        self.bytes.read_u64(at)
    }

    /// Copies the bytes from `at` on into `out`; bytes beyond the page become zero.
    #[inline]
    pub fn copy(&self, at: usize, out: &mut [u8]) {
        Trace::new().read(); // As in `compare`.
        self.bytes.copy(at, out);
    }

    /// Compares the `len` bytes from `at` on, as far as they are inside the page, with `other`.
    #[inline]
    pub fn compare(&self, at: usize, len: usize, other: &[u8]) -> Ordering {
        Trace::new().read(); // A writer may come in between any two reads.
        self.bytes.compare(at, len, other)
    }

    /// The page LSN.
    #[inline]
    pub fn page_lsn(&self) -> Lsn {
        Lsn(self.bytes.read_u64(LSN_AT))
    }

    /// Checks that everything that was read is of one version (OPTIMISTIC-1).
    ///
    /// # Errors
    /// [`Restart`] if the page was changed or evicted, or is latched exclusively.
    #[inline]
    pub fn validate(&self) -> Result<(), Restart> {
        if self.frame.latch.is_unchanged(self.seen) { Ok(()) } else { Err(Restart) }
    }

    /// Latches the page for writing if it still has the version that was read (OPTIMISTIC-1). Waits
    /// for threads that have it latched for reading.
    ///
    /// # Errors
    /// [`Restart`] if it has changed.
    #[inline]
    pub fn latch_exclusive(self) -> Result<ExclusivePage<'a>, Restart> {
        if self.frame.latch.upgrade_to_exclusive(self.seen, &self.pool.counters.latch_waits) {
            Ok(ExclusivePage::new(self.pool, self.page, self.frame, self.bytes))
        } else {
            Err(Restart)
        }
    }
}
