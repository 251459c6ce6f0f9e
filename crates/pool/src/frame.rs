//! A frame: the pool's state of a page beside its bytes. Each page of the address space has a frame
//! of 32 bytes, which uses memory only once the page was touched.
//!
//! Writers of each field:
//!
//! | field        | written by                                                                |
//! | ------------ | ------------------------------------------------------------------------- |
//! | `latch`      | any thread, see `latch.rs`                                                |
//! | `rec_lsn`    | the exclusive holder (`mark_dirty`, `mark_clean`); the owner of `writing` |
//! | `changed`    | the exclusive holder sets it; a cleaner clears it, holding shared         |
//! | `writing`    | a cleaner, 0 → 1 holding shared; only its owner sets it back              |
//! | `pins`       | incremented by a holder of the latch; decremented by any owner of a pin   |
//! | `referenced` | any thread; a hint                                                        |
//! | `slot`       | the exclusive holder of the page while it is being brought in             |
//!
//! Invariants:
//! - FRAME-1. If `rec_lsn` is 0, the page equals its durable copy, unless it was formatted and its
//!   change has not begun (EXCLUSIVE-3). Otherwise it is one more than the recovery LSN, and every
//!   change that is not in the durable copy has a record that starts at the recovery LSN or later.
//! - FRAME-2. `rec_lsn` goes to 0 only after the copy is durable *in place*, or if the change that
//!   was begun has no record (`mark_clean`); so pages that are being written count as dirty.
//! - FRAME-3. At most one cleaner has `writing`, so two copies of a page never race to the disk.
//! - FRAME-4. A page with a pin, with `rec_lsn` or with `writing` is not evicted.

use clearway_base::Lsn;
use clearway_sync::{
    atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering, fence},
    invariant,
};

use crate::latch::Latch;

/// The state of a page in memory. All zeros is an absent, clean, unlatched page.
#[repr(C, align(32))]
pub(crate) struct Frame {
    pub(crate) latch: Latch,
    rec_lsn: AtomicU64,
    slot: AtomicU32,
    pins: AtomicU32,
    referenced: AtomicU8,
    changed: AtomicU8,
    writing: AtomicU8,
}

impl Frame {
    /// An absent, clean, unlatched page. Without a model zeroed memory is one, see `frames`.
    #[cfg(any(loom, shuttle))]
    pub(crate) fn new() -> Frame {
        Frame {
            latch: Latch::new(),
            rec_lsn: AtomicU64::new(0),
            slot: AtomicU32::new(0),
            pins: AtomicU32::new(0),
            referenced: AtomicU8::new(0),
            changed: AtomicU8::new(0),
            writing: AtomicU8::new(0),
        }
    }

    /// Marks the page as in use, for the clock.
    #[inline]
    pub(crate) fn touch(&self) {
        // Relaxed: a hint. Read first, so that a hot page's cache line stays shared between cores.
        if self.referenced.load(Ordering::Relaxed) == 0 {
            self.referenced.store(1, Ordering::Relaxed);
        }
    }

    /// Clears the mark. Returns true if it was set.
    pub(crate) fn untouch(&self) -> bool {
        let was = self.referenced.load(Ordering::Relaxed) != 0;
        if was {
            self.referenced.store(0, Ordering::Relaxed);
        }
        was
    }

    /// Returns true if the page was used since the clock last passed.
    pub(crate) fn is_touched(&self) -> bool {
        self.referenced.load(Ordering::Relaxed) != 0
    }

    /// Returns the recovery LSN of a dirty page.
    #[inline]
    pub(crate) fn rec_lsn(&self) -> Option<Lsn> {
        // Relaxed: the checkpointer orders this load with a SeqCst fence (see `mark_dirty`); other
        // callers hold a latch or use the result as a hint.
        self.rec_lsn.load(Ordering::Relaxed).checked_sub(1).map(Lsn)
    }

    /// Returns true if the page differs, or may differ, from its durable copy.
    #[inline]
    pub(crate) fn is_dirty(&self) -> bool {
        self.rec_lsn.load(Ordering::Relaxed) != 0
    }

    /// Records that the page was changed after any copy that a cleaner may have. Called by the
    /// exclusive holder.
    #[inline]
    pub(crate) fn mark_changed(&self) {
        // Relaxed: read and cleared under the shared latch, which orders it (PAGE-LATCH-4).
        if self.changed.load(Ordering::Relaxed) == 0 {
            self.changed.store(1, Ordering::Relaxed);
        }
    }

    /// Makes a clean page dirty. Called by the exclusive holder before it inserts the log record.
    ///
    /// The fence pairs with the one in [`Pool::redo_start`](crate::Pool::redo_start): a
    /// checkpointer that takes the log's end first and the recovery LSNs second either sees this
    /// store or took an end that is not after the start of the record.
    pub(crate) fn mark_dirty(&self, rec_lsn: Lsn) {
        invariant(!self.is_dirty(), "FRAME-1: a dirty page keeps its older recovery LSN");
        self.rec_lsn.store(rec_lsn.0.saturating_add(1), Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Marks a page clean that equals its durable copy after all: a change was begun but nothing
    /// was logged. Called by the exclusive holder that made it dirty, or by a cleaner that owns
    /// `writing` and holds a shared latch.
    pub(crate) fn mark_clean(&self) {
        // Relaxed: see `rec_lsn`.
        self.rec_lsn.store(0, Ordering::Relaxed);
    }

    /// Begins a cleaner's copy: the page belongs to its batch until [`Frame::finish_write`] or
    /// [`Frame::cancel_write`]. Returns its recovery LSN, or `None` if another cleaner has it
    /// (FRAME-3), or if it is clean or its recovery LSN is not below `limit`. The caller holds a
    /// shared latch.
    pub(crate) fn begin_write(&self, limit: Lsn) -> Option<Lsn> {
        // Acquire pairs with the Release in `finish_write`: the former batch has completed.
        let (yes, no) = (Ordering::Acquire, Ordering::Relaxed);
        self.writing.compare_exchange(0, 1, yes, no).ok()?;
        // Only now: until then the former batch, too, could make the page clean, which needs no
        // more than a shared latch.
        let wanted = self.rec_lsn().filter(|rec_lsn| *rec_lsn < limit);
        if wanted.is_none() {
            self.cancel_write();
            return None;
        }
        self.changed.store(0, Ordering::Relaxed);
        wanted
    }

    /// Ends a cleaner's copy that failed: the page stays dirty with its recovery LSN.
    pub(crate) fn cancel_write(&self) {
        invariant(self.is_writing(), "FRAME-3: only a batch's page leaves the batch");
        self.writing.store(0, Ordering::Release);
    }

    /// Ends a cleaner's copy that is durable in place. `copied_at` was the log's end during the
    /// copy. If the latch can be taken shared and the page was not changed since, the page becomes
    /// clean. If it was changed, or another thread holds it exclusively and may be changing it, its
    /// recovery LSN becomes `copied_at`: every later change has a later record (FRAME-1, FRAME-2).
    pub(crate) fn finish_write(&self, copied_at: Lsn) {
        invariant(self.is_writing(), "FRAME-3: only a batch's page is finished");
        invariant(self.is_dirty(), "FRAME-2: pages in flight to the disk count as dirty");
        let latched = self.latch.try_shared();
        if latched && self.changed.load(Ordering::Relaxed) == 0 {
            self.rec_lsn.store(0, Ordering::Relaxed);
        } else {
            self.rec_lsn.store(copied_at.0.saturating_add(1), Ordering::Relaxed);
        }
        // Release pairs with `begin_write` and `is_evictable`.
        self.writing.store(0, Ordering::Release);
        if latched {
            self.latch.release_shared();
        }
    }

    /// Returns true if a cleaner has the page in a batch.
    pub(crate) fn is_writing(&self) -> bool {
        self.writing.load(Ordering::Acquire) != 0
    }

    /// Returns true if FRAME-4 permits the page's eviction. Final only under the exclusive latch.
    pub(crate) fn is_evictable(&self) -> bool {
        !self.is_pinned() && !self.is_dirty() && !self.is_writing()
    }

    /// Returns true if the page is pinned.
    pub(crate) fn is_pinned(&self) -> bool {
        // Acquire pairs with the Release in `unpin`.
        self.pins.load(Ordering::Acquire) != 0
    }

    /// Adds a pin. The caller holds a latch, so the page is resident and no evictor is past its
    /// check.
    pub(crate) fn pin(&self) {
        let before = self.pins.fetch_add(1, Ordering::Relaxed);
        invariant(before < u32::MAX / 2, "frame: as many pins are given back as are taken");
    }

    /// Removes a pin.
    pub(crate) fn unpin(&self) {
        // Release: reads through the pin come before the eviction that it prevented.
        let before = self.pins.fetch_sub(1, Ordering::Release);
        invariant(before != 0, "FRAME-4: a pin is given back once");
    }

    /// The slot of the clock that this resident page occupies.
    pub(crate) fn slot(&self) -> u32 {
        self.slot.load(Ordering::Relaxed)
    }

    /// Sets the slot. Called by the exclusive holder that reads the page in.
    pub(crate) fn set_slot(&self, slot: u32) {
        // Relaxed: without the exclusive latch, a reader uses it as a hint only.
        self.slot.store(slot, Ordering::Relaxed);
    }
}

#[cfg(all(test, loom))]
mod models;

#[cfg(all(test, not(any(loom, shuttle))))] // A model's atomics are larger.
mod tests {
    use super::*;

    /// Constants with arithmetic: a frame costs 32 / 8192 = 0.4 % of the page it describes.
    #[test]
    fn frame_is_32_bytes() {
        assert_eq!(size_of::<Frame>(), 32);
    }
}
