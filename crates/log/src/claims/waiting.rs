//! Waiting for log space.
//!
//! Checkpoints make room. The log knows of a checkpoint only what its owner reports: that it has
//! begun and whether it will free a segment ([`Log::announce_checkpoint`]), and that it has ended.
//!
//! ```text
//!            no room: asks for a checkpoint
//!   claim ─────────────────────────────────► idle ──── 100 ms ────► LogFull
//!     ▲                                      │  ▲
//!     │ tries again: room, or an event       │  │ the checkpoint ends: 100 ms more
//!     └──────────────────────────────────────┤  │
//!                    a checkpoint is announced  │
//!                    that gives back a segment ▼│
//!                                          relieved ── 10 s in all ──► LogFull
//! ```
//!
//! Invariants:
//! - SPACE-1. No lost wake-up by room: the waiter increments the count of waiters and checks again,
//!   under the mutex; a thread that makes room does so first, then reads the count, and signals
//!   under the mutex. All accesses are SeqCst, so one of the two sees the other.
//! - SPACE-2. No lost wake-up by an event (a checkpoint that begins or ends): events are counted
//!   under the mutex. The waiter reads the count before it tries, and does not sleep if the count
//!   has changed since.
//! - SPACE-3. A claim waits at most [`IDLE_WAIT`] in a row while no checkpoint that frees a segment
//!   is running, and at most [`TRUNCATION_WAIT`] in all.
//! - SPACE-4. A claim that no checkpoint can satisfy does not begin to wait, and stops waiting at
//!   the event after which this holds: `can_help` is called before each wait.
//!
//! [`Log::announce_checkpoint`]: crate::Log::announce_checkpoint

use std::time::{Duration, Instant};

use clearway_base::{Error, Result};
use clearway_sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use super::Claims;

/// Upper bound on a claim's wait while no checkpoint that will make room is running: long enough
/// for one to begin, or for a transaction that retains log to end.
const IDLE_WAIT: Duration = Duration::from_millis(100);
/// Upper bound on a claim's total wait.
const TRUNCATION_WAIT: Duration = Duration::from_secs(10);

/// The waiting room of claims.
#[derive(Default)]
pub(super) struct Room {
    /// Number of claims that wait (SPACE-1).
    waiting: AtomicUsize,
    /// Number of checkpoint events: begins and ends. Written under `giving` (SPACE-2).
    events: AtomicU64,
    /// Number of running checkpoints that will free a segment. Held for a few instructions.
    giving: Mutex<usize>,
    changed: Condvar,
}

/// A running checkpoint; it ends when this value is dropped.
#[must_use = "the checkpoint has ended when this is dropped"]
pub struct AnnouncedCheckpoint<'a> {
    room: &'a Room,
    gives_back: bool,
}

impl Drop for AnnouncedCheckpoint<'_> {
    fn drop(&mut self) {
        let mut giving = self.room.giving.lock();
        *giving -= usize::from(self.gives_back);
        self.room.count_event(giving);
    }
}

impl Room {
    pub(super) fn announce(&self, gives_back: bool) -> AnnouncedCheckpoint<'_> {
        let mut giving = self.giving.lock();
        *giving += usize::from(gives_back);
        self.count_event(giving);
        AnnouncedCheckpoint { room: self, gives_back }
    }

    fn count_event(&self, giving: MutexGuard<'_, usize>) {
        self.events.fetch_add(1, Ordering::SeqCst);
        drop(giving);
        self.changed.notify_all();
    }

    /// Wakes the claims that wait, since there is room (SPACE-1).
    #[inline]
    pub(super) fn tell(&self) {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            drop(self.giving.lock());
            self.changed.notify_all();
        }
    }

    /// Waits until `is_over`, an event after the first `events`, or the time limit of `patience`.
    /// Returns `false` if the time is up.
    fn wait(&self, events: u64, patience: &mut Patience, is_over: impl Fn() -> bool) -> bool {
        let mut giving = self.giving.lock();
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let mut was_relieved = false;
        let is_in_time = loop {
            if is_over() || self.events.load(Ordering::SeqCst) != events {
                break true;
            }
            was_relieved |= *giving > 0;
            let deadline = patience.deadline(*giving > 0);
            if self.changed.wait_until(&mut giving, deadline).timed_out() {
                break false;
            }
        };
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        drop(giving);
        if was_relieved {
            patience.renew();
        }
        is_in_time
    }
}

/// The time limits of a claim's wait (SPACE-3).
struct Patience {
    idle_wait: Duration,
    /// The end of a wait without a checkpoint that frees a segment.
    idle_until: Instant,
    /// The end of every wait.
    until: Instant,
}

impl Patience {
    /// Starts the time limits. Without background threads no thread would make room, so the claim
    /// does not wait.
    fn begin(is_patient: bool) -> Patience {
        let now = Instant::now();
        let allowed = |wait| if is_patient { wait } else { Duration::ZERO };
        let idle_wait = allowed(IDLE_WAIT);
        Patience { idle_wait, idle_until: now + idle_wait, until: now + allowed(TRUNCATION_WAIT) }
    }

    fn deadline(&self, is_relieved: bool) -> Instant {
        if is_relieved { self.until } else { self.idle_until.min(self.until) }
    }

    /// Renews the idle limit after a checkpoint that made room.
    fn renew(&mut self) {
        self.idle_until = Instant::now() + self.idle_wait;
    }
}

impl Claims {
    /// Claims, waiting for room as long as `can_help` reports that a checkpoint may make it.
    #[cold]
    pub(super) fn claim_slowly(&self, bytes: u64, can_help: &dyn Fn() -> bool) -> Result<()> {
        let mut patience = Patience::begin(self.is_patient);
        loop {
            // Before the attempt, and before `can_help` (SPACE-2, SPACE-4).
            let events = self.room.events.load(Ordering::SeqCst);
            if self.claim_or_grow(bytes)? {
                return Ok(());
            }
            if self.is_hopeless(bytes) || !can_help() {
                return Err(self.full(bytes));
            }
            self.wake_checkpointer();
            let has_room = || self.may_grow() || self.fits(bytes) || self.health.check().is_err();
            if !self.room.wait(events, &mut patience, has_room) {
                // Room may have come with the end of the wait.
                return self.try_claim(bytes);
            }
        }
    }

    pub(super) fn full(&self, bytes: u64) -> Error {
        let capacity_bytes = self.capacity_bytes;
        Error::LogFull { wanted_bytes: bytes, capacity_bytes, keeper: None }
    }
}
