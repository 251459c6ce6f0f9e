//! The stages of one closure: which comes next, and what one leaves to the next.
//!
//! ```text
//!   two-stage    fetch ─────────────────────────► operate ─► deadlock: operate again
//!   optimistic   operate first ─► absent page: fetch ─► operate
//!
//!   on an agent  fetch ─► absent page: wait as a task ─► fetch again ─► … ─► operate
//! ```
//!
//! Invariants:
//! - STAGED-1. The result of a run that ends in the fetch stage is dropped: a value, an error and a
//!   panic alike (STAGING-2 of `txn`).
//! - STAGED-2. The pins of the fetch stage live until the operate stage has ended, in the last of
//!   its attempts. So the attempts after a deadlock find the pages in memory, too.
//! - STAGED-3. A closure has one fetch stage. It has a second one only if the (last) run of the
//!   first waited for a page, a write was refused in it, and the closure returned an error: without
//!   locks, another transaction may have taken the key that it was about to insert (the number of
//!   the next order) during the wait. The second finds the page in memory. There is no third.
//! - STAGED-4. A blocking closure of an agent may have several runs in one fetch stage, which is
//!   counted once: a run that comes to an absent page is over, and after the wait for the page
//!   follows a rerun, which takes over the pins. So each finds at least one page more. After
//!   [`RERUNS_MAX`] reruns, if the closure has panicked, or if the pins were taken away, which
//!   would allow no progress, the next run reads its pages itself. If a page cannot be read in
//!   time, the stage was cut short.

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
};

use clearway_base::Result;
use clearway_pool::FetchedPages;
use clearway_txn::{Fetched, Kind, RetryContext};

use crate::{
    Transaction,
    inner::Inner,
    staging::{EndedRun, FetchRuns, FirstRun},
};

/// Upper bound on the reruns of one fetch stage. A closure with n absent pages has n runs, so that
/// it runs through n² / 2 of them; beyond this number a run that waits costs less.
pub(crate) const RERUNS_MAX: u32 = 32;

/// The state of a closure that has more than one run.
#[derive(Default)]
pub(crate) struct StagedRun {
    next: NextRun,
    /// The part of the run before that the next one takes over.
    pub(crate) context: Option<RetryContext>,
    /// The pins of its fetch stages, of which there are at most two (STAGED-3).
    fetched: Option<FetchedPages>,
    fetched_again: Option<FetchedPages>,
    /// True if a fetch stage had to read pages.
    has_read: bool,
    /// The number of reruns that a fetch stage may have (STAGED-4).
    reruns_max: u32,
    /// The runs of the present fetch stage.
    runs: FetchRuns,
    /// The state that the last of them has left, if the next run is a rerun.
    last: Option<Fetched>,
}

/// The kind of the next run.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum NextRun {
    Fetch,
    /// In the operate stage, until an absent page.
    Optimistic,
    #[default]
    Operate,
}

impl StagedRun {
    /// A closure with this first run; `None` if it is an ordinary one that is not counted. If
    /// `reruns_max` is not 0, the caller waits for the pages at which a run is over.
    #[inline]
    pub(crate) fn begin(first: FirstRun, reruns_max: u32) -> Option<Box<StagedRun>> {
        let next = match first {
            FirstRun::Conventional => return None,
            FirstRun::Counted => NextRun::Operate,
            FirstRun::Fetch => NextRun::Fetch,
            FirstRun::Optimistic => NextRun::Optimistic,
        };
        Some(Box::new(StagedRun { next, reruns_max, ..StagedRun::default() }))
    }

    /// Prepares the transaction of the next run. Returns the context that it is to resume with.
    #[cold]
    pub(crate) fn prepare(&mut self, tx: &mut Transaction) -> Option<RetryContext> {
        if self.next != NextRun::Operate && self.can_rerun() {
            tx.inner.set_can_rerun();
        }
        match self.next {
            NextRun::Fetch => tx.begin_fetch(self.last.take()),
            NextRun::Optimistic => tx.inner.begin_optimistic(),
            NextRun::Operate => {}
        }
        if tx.inner.is_fetching() { None } else { self.context.take() }
    }

    /// Returns true if the next run in the fetch stage may be followed by a rerun (STAGED-4).
    fn can_rerun(&self) -> bool {
        self.runs.reruns < self.reruns_max
            && !self.runs.has_panicked
            && self.last.as_ref().is_none_or(|last| last.pages.is_whole())
    }

    /// Counts a run that has ended in the operate stage.
    #[cold]
    pub(crate) fn count_operate(&self, database: &Inner, kind: Kind, tx: &Transaction) {
        let absent = tx.inner.absent_pages();
        let run = match self.next {
            _ if self.fetched.is_some() => {
                let mut fetched = self.fetched.iter().chain(&self.fetched_again);
                // It matters only after a wait for a page.
                let is_whole = absent == 0 || fetched.all(FetchedPages::is_whole);
                EndedRun::Operate { read: self.has_read, is_whole }
            }
            NextRun::Optimistic => EndedRun::Optimistic,
            _ => EndedRun::Conventional,
        };
        database.staging.count_run(kind, run, absent, tx.is_timed());
    }

    /// Ends a run that has ended in the fetch stage: another run follows. `fetched` is what its
    /// transaction has left, if its fetch stage did not fail. Returns it if the run is over at an
    /// absent page: [`end_wait`](StagedRun::end_wait) is to be called after the wait.
    #[cold]
    pub(crate) fn end_fetch(
        &mut self,
        database: &Inner,
        kind: Kind,
        fetched: Option<(Fetched, RetryContext)>,
        result: DroppedResult,
    ) -> Option<Fetched> {
        let is_converted = self.next == NextRun::Optimistic;
        self.next = NextRun::Operate;
        let (fetched, context) = fetched?;
        if is_converted {
            self.runs.is_converted = true;
            self.context = Some(context);
        }
        self.runs.has_panicked |= result.has_panicked;
        self.runs.absent_pages += fetched.absent_pages;
        if fetched.is_at_absent_page() {
            return Some(fetched);
        }
        let may_be_late = fetched.has_refused && fetched.absent_pages > 0;
        if result.has_failed && may_be_late && self.fetched.is_none() {
            self.next = NextRun::Fetch; // STAGED-3
        }
        self.end_stage(database, kind, fetched);
        None
    }

    /// Ends the wait for the page at which a run was over. If it was read, a rerun follows.
    #[cold]
    pub(crate) fn end_wait(
        &mut self,
        database: &Inner,
        kind: Kind,
        fetched: Fetched,
        was_read: bool,
    ) {
        if was_read {
            self.next = NextRun::Fetch;
            self.runs.reruns += 1;
            self.last = Some(fetched);
        } else {
            self.end_stage(database, kind, fetched);
        }
    }

    fn end_stage(&mut self, database: &Inner, kind: Kind, fetched: Fetched) {
        let runs = mem::take(&mut self.runs);
        database.staging.count_fetch(kind, &fetched, &runs);
        self.has_read |= runs.absent_pages > 0;
        let earlier = self.fetched.replace(fetched.pages);
        self.fetched_again = earlier;
    }
}

/// The result of a run in the fetch stage, which was dropped (STAGED-1).
pub(crate) struct DroppedResult {
    /// True if it was an error.
    has_failed: bool,
    /// True if the closure has panicked, or the drop of its result.
    has_panicked: bool,
}

impl DroppedResult {
    /// Drops the result of the closure, or its panic `P`: that may panic, too.
    #[cold]
    pub(crate) fn of<T, E, P>(returned: std::result::Result<Result<T, E>, P>) -> DroppedResult {
        let has_failed = matches!(returned, Ok(Err(_)));
        let drops = AssertUnwindSafe(|| {
            let has_panicked = returned.is_err();
            drop(returned);
            has_panicked
        });
        DroppedResult { has_failed, has_panicked: catch_unwind(drops).unwrap_or(true) }
    }
}
