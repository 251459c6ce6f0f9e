//! Guards that keep a page in memory: the shared latch, and the pin.
//!
//! | guard        | page stays in memory | others may read | others may write |
//! | ------------ | -------------------- | --------------- | ---------------- |
//! | `SharedPage` | yes                  | yes             | no               |
//! | `Pin`        | yes                  | yes             | yes              |
//!
//! A latch is for the length of an operation on the page. A pin may be kept longer, from one step
//! of an operation to the next: no thread that wants the page waits for it. But the page occupies a
//! place in the cache, so the number of operations that keep pins is limited (`operation_pins`).

use std::{fmt, mem, ops::Deref};

use clearway_base::{Lsn, PageId};

use crate::{frame::Frame, header, page_bytes::PageBytes};

/// A page latched for reading. No thread writes to it, and it stays in memory, until the guard is
/// dropped.
pub struct SharedPage<'a> {
    frame: &'a Frame,
    bytes: PageBytes,
    page: PageId,
}

impl<'a> SharedPage<'a> {
    /// The caller has joined the sharers, and leaves their release to this guard.
    #[inline]
    pub(crate) fn new(page: PageId, frame: &'a Frame, bytes: PageBytes) -> SharedPage<'a> {
        SharedPage { frame, bytes, page }
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

    /// Converts the latch into a pin.
    pub fn pin(self) -> Pin<'a> {
        // Pin before releasing the latch: no evictor can be past its check (FRAME-4).
        self.frame.pin();
        Pin { frame: self.frame, page: self.page }
    }
}

impl Deref for SharedPage<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: this guard holds the shared latch for as long as it is borrowed (PAGE-BYTES-3).
        unsafe { self.bytes.slice() }
    }
}

impl Drop for SharedPage<'_> {
    #[inline]
    fn drop(&mut self) {
        self.frame.latch.release_shared();
    }
}

impl fmt::Debug for SharedPage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedPage({})", self.page)
    }
}

/// Keeps a page in memory and nothing else: other threads may latch and change it.
pub struct Pin<'a> {
    frame: &'a Frame,
    page: PageId,
}

impl Pin<'_> {
    /// The page's id.
    pub fn id(&self) -> PageId {
        self.page
    }

    /// Leaves the pin to the caller, who gives it back with `Frame::unpin`.
    pub(crate) fn leave(self) {
        mem::forget(self);
    }
}

impl Drop for Pin<'_> {
    fn drop(&mut self) {
        self.frame.unpin();
    }
}

impl fmt::Debug for Pin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pin({})", self.page)
    }
}
