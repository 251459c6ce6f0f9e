//! The wait between two runs of a fetch stage: for the pages at which the first of them is over
//! (STAGING-7).
//!
//! ```text
//!   run ──► page absent: the run is over ──► the closure returns ──► wait, as a task, without a
//!     ▲                                                              transaction and without locks
//!     └──────────────── the page is in memory, and pinned ◄──────────────────────┘
//! ```

use std::{
    future::poll_fn,
    sync::Arc,
    task::Poll,
    time::{Duration, Instant},
};

use clearway_base::PageId;
use clearway_pool::AwaitedPage;

use super::Fetched;
use crate::{core::Core, task_work::Alarm};

/// The pages at which a run is over.
pub(super) struct AbsentPages {
    pub(super) core: Arc<Core>,
    pub(super) pages: Vec<PageId>,
    pub(super) awaited: AwaitedPage,
    /// The time limit of the wait for one page.
    pub(super) limit: Duration,
    /// The end of the stage (STAGING-3).
    pub(super) until: Instant,
}

impl AbsentPages {
    /// Waits for a page. Returns false if it could not be read in time.
    async fn wait_for(&mut self, page: PageId) -> bool {
        let limit = Instant::now().checked_add(self.limit);
        let until = limit.map_or(self.until, |limit| limit.min(self.until));
        let (awaited, mut alarm) = (&mut self.awaited, Alarm::new(&self.core.task_work.timer));
        let arrived = poll_fn(|cx| match awaited.poll(page, cx) {
            Poll::Ready(read) => Poll::Ready(read.is_ok()),
            Poll::Pending if alarm.poll(until, cx) => Poll::Ready(false),
            Poll::Pending => Poll::Pending,
        });
        Instant::now() < until && arrived.await
    }
}

impl Fetched {
    /// Returns true if the run is over at an absent page: the closure is to be run again after
    /// [`read_absent`](Fetched::read_absent).
    pub fn is_at_absent_page(&self) -> bool {
        self.absent.is_some()
    }

    /// Reads the pages at which the run is over, as a task, and pins them. Returns false if the
    /// first of them could not be read in time: then the stage was cut short.
    pub async fn read_absent(&mut self) -> bool {
        let Fetched { pages: kept, absent: Some(absent), .. } = self else { return false };
        let (pool, pages) = (absent.core.pool.clone(), std::mem::take(&mut absent.pages));
        let Some((first, others)) = pages.split_first() else { return false };
        pool.load_ahead(others);
        if !absent.wait_for(*first).await {
            return false;
        }
        kept.keep(*first);
        for page in others {
            // One that cannot be read is left to the next run.
            absent.wait_for(*page).await;
            kept.keep(*page);
        }
        true
    }
}
