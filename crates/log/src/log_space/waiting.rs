//! Waiting for log space.
//!
//! Checkpoints make room. The owner of the log reports each checkpoint
//! ([`Log::report_checkpoint`]): its start, whether it will free a segment, and its end. What the
//! next checkpoint can do, a waiting thread asks the owner ([`SpaceOutlook`]). The log has no other
//! information about checkpoints.
//!
//! ```text
//!   try ──── no room ────► ask the owner ────► request a checkpoint ────► wait
//!    ▲                         │ it cannot help         │ bounded for 100 ms │
//!    │                         ▼                        ▼ in a row           │
//!    │                      LogFull                  LogFull                 │
//!    └─────────────── room, an event, or 100 ms have passed ─────────────────┘
//! ```
//!
//! A wait is *unbounded* while a checkpoint is running that will free a segment. It is also
//! unbounded while the owner reports that the next checkpoint [will](SpaceOutlook::WillFree) free
//! one, unless a checkpoint that was to do so has failed (its disk was full) since the wait began
//! or, if later, since a checkpoint last freed one. Otherwise it is *bounded*: room may come from a
//! transaction or backup that ends.
//!
//! Invariants:
//! - SPACE-1. No lost wake-up by room: the waiter increments the number of waiters and checks
//!   again, under the mutex; a thread that makes room does so first, and then reads the number. If
//!   it is not zero, that thread takes the mutex, releases it, and signals. All accesses are
//!   SeqCst, so one of the two sees the other.
//! - SPACE-2. No lost wake-up by an event (a checkpoint that begins or ends): events are counted
//!   under the mutex. The waiter reads the count before it tries, and does not sleep if the count
//!   has changed since.
//! - SPACE-3. A thread whose wait has been bounded for [`BOUNDED_WAIT`] in a row gives up, and so
//!   does a thread whose request no checkpoint can satisfy; no other thread does. So no thread
//!   gives up because a checkpoint begins late or takes long. In each round a thread reads the
//!   time, then tries to reserve, and then asks the owner. So a thread whose bounded wait is over
//!   has tried again after its end, even if the thread was not scheduled in between.
//! - SPACE-4. A thread whose request no checkpoint can satisfy does not begin to wait, and stops
//!   waiting at the event after which this holds: the owner is asked before each wait.
//! - SPACE-5. A waiting thread requests a checkpoint each time that it has asked the owner, at
//!   least every [`ASK_AGAIN`]. So neither a request that no thread received, nor a transaction or
//!   backup that ends without an event, makes it wait for ever.
//!
//! [`Log::report_checkpoint`]: crate::Log::report_checkpoint

use std::time::{Duration, Instant};

use clearway_base::{Error, Lsn, Result};
use clearway_sync::{
    Condvar, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use super::SpaceAccount;

/// Upper bound on a bounded wait: long enough for most transactions that retain log to end.
const BOUNDED_WAIT: Duration = Duration::from_millis(100);
/// Upper bound on the time between two questions to the owner of the log (SPACE-5).
const ASK_AGAIN: Duration = BOUNDED_WAIT;

/// The effect that the next checkpoint will have for a thread that needs log space, as far as the
/// owner of the log knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpaceOutlook {
    /// It cannot make room, and waiting is in vain.
    CannotFree,
    /// It frees nothing now. It may after a while, for example when a transaction has ended.
    MayFree,
    /// It frees a segment, and it will be taken if it is requested.
    WillFree,
}

/// The threads that wait for log space, and the checkpoint events that they wait for.
#[derive(Default)]
pub(super) struct SpaceWaiters {
    /// Number of threads that wait (SPACE-1).
    waiting: AtomicUsize,
    /// Held for a few instructions.
    checkpoints: Mutex<CheckpointCounts>,
    changed: Condvar,
}

/// The checkpoints that were reported.
#[derive(Clone, Copy, Default)]
struct CheckpointCounts {
    /// Number of begins and ends (SPACE-2).
    events: u64,
    /// Number of running checkpoints that will free a segment.
    freeing: u64,
    /// Number of checkpoints that have ended and have freed a segment.
    freed: u64,
    /// Number of checkpoints that have ended and were to free a segment, but did not.
    failed: u64,
}

/// A running checkpoint; it ends when this value is dropped.
#[must_use = "the checkpoint has ended when this is dropped"]
pub struct RunningCheckpoint<'a> {
    space: &'a SpaceAccount,
    frees_segment: bool,
    /// The oldest segment when it began.
    oldest_segment: Lsn,
}

impl Drop for RunningCheckpoint<'_> {
    fn drop(&mut self) {
        let has_freed = self.space.segments.start() > self.oldest_segment;
        self.space.waiters.note_event(|counts| {
            counts.freeing -= u64::from(self.frees_segment);
            counts.freed += u64::from(has_freed);
            counts.failed += u64::from(self.frees_segment && !has_freed);
        });
    }
}

impl SpaceWaiters {
    /// Counts a start or an end of a checkpoint, and wakes all waiters (SPACE-2).
    fn note_event(&self, change: impl FnOnce(&mut CheckpointCounts)) {
        {
            let mut counts = self.checkpoints.lock();
            change(&mut counts);
            counts.events += 1;
        }
        self.changed.notify_all();
    }

    /// Wakes the threads that wait, since there is room (SPACE-1).
    #[inline]
    pub(super) fn wake(&self) {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            drop(self.checkpoints.lock());
            self.changed.notify_all();
        }
    }

    fn counts(&self) -> CheckpointCounts {
        *self.checkpoints.lock()
    }

    /// Waits until `is_over` returns true, an event after the first `events` occurs, or the
    /// deadline has passed.
    fn wait(&self, events: u64, deadline: Instant, is_over: impl Fn() -> bool) {
        let mut counts = self.checkpoints.lock();
        self.waiting.fetch_add(1, Ordering::SeqCst);
        while !is_over() && counts.events == events {
            if self.changed.wait_until(&mut counts, deadline).timed_out() {
                break;
            }
        }
        self.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The time limit of a wait, if it has one (SPACE-3).
struct Patience {
    /// Upper bound on a bounded wait. Zero without background threads, which are the only ones that
    /// make room while this thread waits.
    bounded_wait: Duration,
    /// The counts when the wait began, or when a checkpoint last freed a segment.
    since: CheckpointCounts,
    /// The end of the bounded wait that is under way.
    bounded_until: Option<Instant>,
}

impl Patience {
    fn begin(has_background: bool, counts: CheckpointCounts) -> Patience {
        let bounded_wait = if has_background { BOUNDED_WAIT } else { Duration::ZERO };
        Patience { bounded_wait, since: counts, bounded_until: None }
    }

    /// Returns how long to wait before the next attempt, or `None` if the thread gives up. The last
    /// attempt was made at `now` or later, after `counts` was read.
    fn deadline(
        &mut self,
        now: Instant,
        counts: CheckpointCounts,
        outlook: SpaceOutlook,
    ) -> Option<Instant> {
        if counts.freed > self.since.freed {
            self.since = counts;
        }
        let has_failed = counts.failed > self.since.failed;
        let is_unbounded = counts.freeing > 0 || outlook == SpaceOutlook::WillFree && !has_failed;
        if is_unbounded && !self.bounded_wait.is_zero() {
            self.bounded_until = None;
            return Some(now + ASK_AGAIN);
        }
        let until = *self.bounded_until.get_or_insert(now + self.bounded_wait);
        (now < until).then_some(until)
    }
}

impl SpaceAccount {
    /// Records that a checkpoint has begun, and whether it will free a segment.
    pub(crate) fn report_checkpoint(&self, frees_segment: bool) -> RunningCheckpoint<'_> {
        let oldest_segment = self.segments.start();
        self.waiters.note_event(|counts| counts.freeing += u64::from(frees_segment));
        RunningCheckpoint { space: self, frees_segment, oldest_segment }
    }

    /// Reserves `bytes` bytes, and waits for room as long as `outlook` and the checkpoints permit
    /// (SPACE-3).
    #[cold]
    pub(super) fn reserve_space_slowly(
        &self,
        bytes: u64,
        outlook: &dyn Fn() -> SpaceOutlook,
    ) -> Result<()> {
        let mut patience = Patience::begin(self.has_background, self.waiters.counts());
        loop {
            // Before the attempt, and before `outlook` (SPACE-2, SPACE-3, SPACE-4).
            let (now, counts) = (Instant::now(), self.waiters.counts());
            if self.reserve_or_grow(bytes)? {
                return Ok(());
            }
            if self.exceeds_capacity(bytes) {
                return Err(self.full(bytes));
            }
            let outlook = outlook();
            if outlook == SpaceOutlook::CannotFree {
                return Err(self.full(bytes));
            }
            self.wake_checkpointer();
            let Some(deadline) = patience.deadline(now, counts, outlook) else {
                return Err(self.full(bytes));
            };
            let has_room = || self.may_grow() || self.fits(bytes) || self.health.check().is_err();
            self.waiters.wait(counts.events, deadline, has_room);
        }
    }

    /// Returns the error of a reservation that finds no room.
    pub(super) fn full(&self, bytes: u64) -> Error {
        let capacity_bytes = self.capacity_bytes;
        Error::LogFull { wanted_bytes: bytes, capacity_bytes, keeper: None }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{
        SpaceOutlook::{MayFree, WillFree},
        *,
    };

    /// A wait, of which each test chooses the times and the counts.
    struct Wait {
        begun: Instant,
        counts: CheckpointCounts,
        patience: Patience,
    }

    impl Wait {
        fn begin(has_background: bool) -> Wait {
            let counts = CheckpointCounts { failed: 3, freed: 5, ..CheckpointCounts::default() };
            let patience = Patience::begin(has_background, counts);
            Wait { begun: Instant::now(), counts, patience }
        }

        /// Returns true if the thread goes on waiting after an attempt in this millisecond.
        fn goes_on(&mut self, millisecond: u64, outlook: SpaceOutlook) -> bool {
            let now = self.begun + Duration::from_millis(millisecond);
            self.patience.deadline(now, self.counts, outlook).is_some()
        }
    }

    #[test]
    fn a_bounded_wait_ends_after_100_ms_in_a_row() {
        let mut wait = Wait::begin(true);
        assert!(wait.goes_on(0, MayFree) && wait.goes_on(99, MayFree));
        // A checkpoint that will free a segment begins, and another thread takes the room.
        assert!(wait.goes_on(100, WillFree) && wait.goes_on(5_000, WillFree));
        assert!(wait.goes_on(5_001, MayFree) && wait.goes_on(5_100, MayFree));
        assert!(!wait.goes_on(5_101, MayFree));
    }

    #[test]
    fn a_wait_is_unbounded_while_a_checkpoint_runs_that_frees() {
        let mut wait = Wait::begin(true);
        assert!(wait.goes_on(0, MayFree));
        wait.counts.freeing = 1;
        assert!(wait.goes_on(60_000, MayFree));
        wait.counts.freeing = 0;
        assert!(wait.goes_on(60_001, MayFree) && !wait.goes_on(60_101, MayFree));
    }

    #[test]
    fn a_failed_checkpoint_bounds_the_wait_until_one_frees() {
        let mut wait = Wait::begin(true);
        assert!(wait.goes_on(0, WillFree) && wait.goes_on(200, WillFree));
        wait.counts.failed += 1;
        assert!(wait.goes_on(201, WillFree) && wait.goes_on(300, WillFree));
        wait.counts.freed += 1;
        assert!(wait.goes_on(301, WillFree) && wait.goes_on(900, WillFree));
        wait.counts.failed += 1;
        assert!(wait.goes_on(901, WillFree) && !wait.goes_on(1_001, WillFree));
    }

    #[test]
    fn without_background_threads_nothing_is_waited_for() {
        let mut wait = Wait::begin(false);
        assert!(!wait.goes_on(0, WillFree));
        wait.counts.freeing = 1;
        assert!(!wait.goes_on(1, WillFree));
    }
}
