//! Misses: bringing a page into memory.
//!
//! Whoever takes the exclusive bit of an absent page brings it; the others wait for that latch.
//! The one who brings holds that latch over the read, and over whatever must be done to find room
//! (`evict`), and none of the pool's others.
//!
//! A page that cannot be read, or whose bytes are damaged, stays absent: the error is that
//! caller's, and the next one tries again.

use clearway_base::{PageId, Result};
use clearway_sync::atomic::Ordering;

use crate::{Pool, frame::Frame, header};

impl Pool {
    /// Reads an absent page in. True: the caller holds its latch exclusively now. False: somebody
    /// else was faster.
    #[cold]
    pub(crate) fn bring_in(&self, page: PageId, frame: &Frame) -> Result<bool> {
        self.bring(page, frame, |pool| pool.read_in(page))
    }

    /// As [`Pool::bring_in`], with zeros instead of what the disk has.
    #[cold]
    pub(crate) fn bring_in_empty(&self, page: PageId, frame: &Frame) -> Result<bool> {
        // Absent pages read as zeros (R3).
        self.bring(page, frame, |_| Ok(()))
    }

    fn bring(
        &self,
        page: PageId,
        frame: &Frame,
        fill: impl FnOnce(&Pool) -> Result<()>,
    ) -> Result<bool> {
        // One wins; the others come back when the winner lets the latch go.
        if !frame.latch.try_exclusive_absent() {
            return Ok(false);
        }
        self.counters.misses.fetch_add(1, Ordering::Relaxed);
        let filled = self.take_slot().and_then(|slot| {
            // The slot first: the clock skips latched pages, so nobody takes it away (S1).
            frame.set_slot(slot);
            self.slots.occupy(slot, page);
            fill(self).inspect_err(|_| {
                // What the failed read may have left would break R3 for the next one.
                self.space.give_back(page);
                self.slots.vacate(slot);
                self.slots.give_back(slot);
            })
        });
        match filled {
            Ok(()) => {
                debug_assert!(frame.is_evictable(), "an absent page is clean and unpinned (F4)");
                frame.latch.set_resident();
                Ok(true)
            }
            // The release wakes whoever waits for the page, and each of them tries for itself.
            Err(error) => {
                frame.latch.release_absent();
                Err(error)
            }
        }
    }

    fn read_in(&self, page: PageId) -> Result<()> {
        self.counters.reads.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller holds the page exclusively and has no other slice of it (P3).
        let bytes = unsafe { self.space.bytes(page).slice_mut() };
        self.data.read(page, bytes)?;
        // Before anybody can see the page: it is still absent.
        header::verify(page, bytes)
    }
}
