//! The pool's part of a checkpoint: the position where redo must begin, and moving it forward.

use std::time::Duration;

use clearway_base::{Lsn, PageId, Result};
use clearway_sync::{
    atomic::{Ordering, fence},
    thread,
};

use crate::Pool;

/// Pause before pages that were latched or in another batch are tried again.
const PAUSE: Duration = Duration::from_micros(100);

impl Pool {
    /// The smallest recovery LSN of all dirty pages, including those being written; `None` if every
    /// page equals its durable copy.
    ///
    /// A fuzzy checkpoint takes the log's end *first* and then calls this. Redo from the smaller of
    /// the two misses nothing: a page made dirty after it was examined here has a record that
    /// starts after that end (EXCLUSIVE-1; the fence pairs with the one in `Frame::mark_dirty`).
    pub fn redo_start(&self) -> Option<Lsn> {
        fence(Ordering::SeqCst);
        self.slots.all().filter_map(|page| self.space.frame(page).rec_lsn()).min()
    }

    /// Writes every page that is dirty now. Pages that are changed meanwhile may stay dirty, with
    /// a recovery LSN not before the call.
    ///
    /// The caller must hold no latch, since this waits for pages that stay latched exclusively.
    ///
    /// # Errors
    /// Errors of the log or the disk; see [`Pool::health`]. Pages not written stay dirty.
    pub fn clean_all(&self) -> Result<()> {
        self.clean_older(Lsn(self.wal.end().0.saturating_add(1)))
    }

    /// Like [`Pool::clean_all`], for pages with a recovery LSN below `lsn`.
    pub fn clean_older(&self, lsn: Lsn) -> Result<()> {
        loop {
            let mut old: Vec<PageId> =
                self.slots.all().filter(|p| self.is_older(*p, lsn)).collect();
            if old.is_empty() {
                return Ok(());
            }
            old.sort_unstable();
            let mut written = 0;
            for pages in old.chunks(self.cleaning.batch_pages) {
                let mut pages = pages.to_vec();
                written += self.write_batch(&mut self.cleaning.batch(), &mut pages, lsn)?;
            }
            if written == 0 {
                thread::sleep(PAUSE);
            }
        }
    }

    fn is_older(&self, page: PageId, lsn: Lsn) -> bool {
        self.space.frame(page).rec_lsn().is_some_and(|rec_lsn| rec_lsn < lsn)
    }
}
