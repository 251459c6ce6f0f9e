//! Waiting for log space.
//!
//! Checkpoints make room. The owner of the log reports each checkpoint
//! ([`Log::report_checkpoint`]): its start, whether it will free a segment, and its end. The log
//! has no other information about checkpoints.
//!
//! ```text
//!              no room: requests a checkpoint
//!   reserve ─────────────────────────────────► idle ──── 100 ms ────► LogFull
//!     ▲                                        │  ▲
//!     │ tries again: room, or an event         │  │ the checkpoint ends: 100 ms more
//!     └────────────────────────────────────────┤  │
//!                      a checkpoint begins that│  │
//!                      will free a segment     ▼  │
//!                                          relieved ── 10 s in all ──► LogFull
//! ```
//!
//! Invariants:
//! - SPACE-1. No lost wake-up by room: the waiter increments the number of waiters and checks
//!   again, under the mutex; a thread that makes room does so first, then reads the number, and
//!   signals under the mutex. All accesses are SeqCst, so one of the two sees the other.
//! - SPACE-2. No lost wake-up by an event (a checkpoint that begins or ends): events are counted
//!   under the mutex. The waiter reads the count before it tries, and does not sleep if the count
//!   has changed since.
//! - SPACE-3. A thread waits at most [`IDLE_WAIT`] in a row while no checkpoint that frees a
//!   segment is running, and at most [`TRUNCATION_WAIT`] in all.
//! - SPACE-4. A thread whose request no checkpoint can satisfy does not begin to wait, and stops
//!   waiting at the event after which this holds: `can_help` is called before each wait.
//!
//! [`Log::report_checkpoint`]: crate::Log::report_checkpoint

use std::time::{Duration, Instant};

use clearway_base::{Error, Result};
use clearway_sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use super::SpaceAccount;

/// Upper bound on a wait while no checkpoint that will make room is running: long enough for one to
/// begin, or for a transaction that retains log to end.
const IDLE_WAIT: Duration = Duration::from_millis(100);
/// Upper bound on the total wait of a thread.
const TRUNCATION_WAIT: Duration = Duration::from_secs(10);

/// The threads that wait for log space, and the checkpoint events that they wait for.
#[derive(Default)]
pub(super) struct SpaceWaiters {
    /// Number of threads that wait (SPACE-1).
    waiting: AtomicUsize,
    /// Number of checkpoint events: begins and ends. Written under `freeing` (SPACE-2).
    events: AtomicU64,
    /// Number of running checkpoints that will free a segment. Held for a few instructions.
    freeing: Mutex<usize>,
    changed: Condvar,
}

/// A running checkpoint; it ends when this value is dropped.
#[must_use = "the checkpoint has ended when this is dropped"]
pub struct RunningCheckpoint<'a> {
    waiters: &'a SpaceWaiters,
    frees_segment: bool,
}

impl Drop for RunningCheckpoint<'_> {
    fn drop(&mut self) {
        let mut freeing = self.waiters.freeing.lock();
        *freeing -= usize::from(self.frees_segment);
        self.waiters.count_event(freeing);
    }
}

impl SpaceWaiters {
    /// Records that a checkpoint has begun, and whether it will free a segment.
    pub(super) fn begin_checkpoint(&self, frees_segment: bool) -> RunningCheckpoint<'_> {
        let mut freeing = self.freeing.lock();
        *freeing += usize::from(frees_segment);
        self.count_event(freeing);
        RunningCheckpoint { waiters: self, frees_segment }
    }

    /// Counts a start or an end of a checkpoint, and wakes all waiters (SPACE-2).
    fn count_event(&self, freeing: MutexGuard<'_, usize>) {
        self.events.fetch_add(1, Ordering::SeqCst);
        drop(freeing);
        self.changed.notify_all();
    }

    /// Wakes the threads that wait, since there is room (SPACE-1).
    #[inline]
    pub(super) fn wake(&self) {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            drop(self.freeing.lock());
            self.changed.notify_all();
        }
    }

    /// Waits until `is_over` returns true, an event after the first `events` occurs, or a time
    /// limit expires. Returns `false` if a time limit has expired.
    fn wait(&self, events: u64, limits: &mut WaitLimits, is_over: impl Fn() -> bool) -> bool {
        let mut freeing = self.freeing.lock();
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let mut was_relieved = false;
        let is_in_time = loop {
            if is_over() || self.events.load(Ordering::SeqCst) != events {
                break true;
            }
            was_relieved |= *freeing > 0;
            let deadline = limits.deadline(*freeing > 0);
            if self.changed.wait_until(&mut freeing, deadline).timed_out() {
                break false;
            }
        };
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        drop(freeing);
        if was_relieved {
            limits.renew();
        }
        is_in_time
    }
}

/// The time limits of a wait (SPACE-3).
struct WaitLimits {
    idle_wait: Duration,
    /// The end of a wait without a checkpoint that frees a segment.
    idle_until: Instant,
    /// The end of every wait.
    until: Instant,
}

impl WaitLimits {
    /// Starts the time limits. They are zero without background threads, since then no thread would
    /// make room.
    fn begin(has_background: bool) -> WaitLimits {
        let now = Instant::now();
        let allowed = |wait| if has_background { wait } else { Duration::ZERO };
        let idle_wait = allowed(IDLE_WAIT);
        WaitLimits { idle_wait, idle_until: now + idle_wait, until: now + allowed(TRUNCATION_WAIT) }
    }

    fn deadline(&self, is_relieved: bool) -> Instant {
        if is_relieved { self.until } else { self.idle_until.min(self.until) }
    }

    /// Renews the idle limit after a checkpoint that made room.
    fn renew(&mut self) {
        self.idle_until = Instant::now() + self.idle_wait;
    }
}

impl SpaceAccount {
    /// Reserves `bytes` bytes, and waits for room as long as `can_help` reports that a checkpoint
    /// may make it.
    #[cold]
    pub(super) fn reserve_space_slowly(
        &self,
        bytes: u64,
        can_help: &dyn Fn() -> bool,
    ) -> Result<()> {
        let mut limits = WaitLimits::begin(self.has_background);
        loop {
            // Before the attempt, and before `can_help` (SPACE-2, SPACE-4).
            let events = self.waiters.events.load(Ordering::SeqCst);
            if self.reserve_or_grow(bytes)? {
                return Ok(());
            }
            if self.exceeds_capacity(bytes) || !can_help() {
                return Err(self.full(bytes));
            }
            self.wake_checkpointer();
            let has_room = || self.may_grow() || self.fits(bytes) || self.health.check().is_err();
            if !self.waiters.wait(events, &mut limits, has_room) {
                // Room may have been made when the time limit expired.
                return self.try_reserve_space(bytes);
            }
        }
    }

    /// Returns the error of a reservation that finds no room.
    pub(super) fn full(&self, bytes: u64) -> Error {
        let capacity_bytes = self.capacity_bytes;
        Error::LogFull { wanted_bytes: bytes, capacity_bytes, keeper: None }
    }
}
