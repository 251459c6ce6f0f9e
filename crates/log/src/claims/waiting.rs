//! Waiting for log space.
//!
//! Checkpoints make room, and the log knows of them only what their owner says: that one has begun
//! and whether it will give back a segment ([`Log::announce_checkpoint`]), and that it has ended.
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
//! - SPACE-1. No lost wake-up by room: the waiter counts itself and looks again, under the mutex;
//!   a thread that makes room does so first, then looks at the count, and signals under the mutex.
//!   All of it is SeqCst, so one of the two sees the other.
//! - SPACE-2. No lost wake-up by an event (a checkpoint that begins or ends): events are counted
//!   under the mutex. The waiter read the count before it tried, and does not sleep if it is
//!   another one by now.
//! - SPACE-3. A claim waits at most [`IDLE_WAIT`] in a row while no checkpoint is announced that
//!   gives back a segment, and at most [`TRUNCATION_WAIT`] in all.
//! - SPACE-4. A claim that no checkpoint can satisfy does not begin to wait, and ends its wait with
//!   the event after which that is so: its owner is asked (`can_help`) before each wait.
//!
//! [`Log::announce_checkpoint`]: crate::Log::announce_checkpoint

use std::time::{Duration, Instant};

use clearway_base::{
    Error, Result,
    zoo::{self, Bug},
};
use clearway_sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use super::Claims;

/// How long a claim waits while no checkpoint is under way that will make room: for one to begin,
/// and for a transaction that keeps the log and is about to end.
const IDLE_WAIT: Duration = Duration::from_millis(100);
/// How long a claim waits in all.
const TRUNCATION_WAIT: Duration = Duration::from_secs(10);

/// Where claims wait.
#[derive(Default)]
pub(super) struct Room {
    /// Claims that wait (SPACE-1).
    waiting: AtomicUsize,
    /// Checkpoints that were announced or have ended. Written under `giving` (SPACE-2).
    events: AtomicU64,
    /// Announced checkpoints that will give back a segment. Held for a few instructions.
    giving: Mutex<usize>,
    changed: Condvar,
}

/// A checkpoint that was announced; it has ended when this is dropped.
#[must_use = "the checkpoint has ended when this is dropped"]
pub struct AnnouncedCheckpoint<'a> {
    room: &'a Room,
    gives_back: bool,
}

impl Drop for AnnouncedCheckpoint<'_> {
    fn drop(&mut self) {
        let mut giving = self.room.giving.lock();
        *giving -= usize::from(self.gives_back);
        if !zoo::has(Bug::CheckpointEndUntold) {
            self.room.count_event(giving);
        }
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

    /// Wakes the claims that wait, for there is room (SPACE-1).
    #[inline]
    pub(super) fn tell(&self) {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            drop(self.giving.lock());
            self.changed.notify_all();
        }
    }

    /// Waits until `is_over`, or an event after the first `events`, or as long as the patience
    /// lasts. Returns `false` if it is exhausted.
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

/// How long a claim still waits (SPACE-3).
struct Patience {
    idle_wait: Duration,
    /// The end of a wait without a checkpoint that gives back a segment.
    idle_until: Instant,
    /// The end of every wait.
    until: Instant,
}

impl Patience {
    /// Without background threads nobody would bring room: the claim does not wait.
    fn begin(is_patient: bool) -> Patience {
        let now = Instant::now();
        let allowed = |wait| if is_patient { wait } else { Duration::ZERO };
        let idle_wait = allowed(IDLE_WAIT);
        Patience { idle_wait, idle_until: now + idle_wait, until: now + allowed(TRUNCATION_WAIT) }
    }

    fn deadline(&self, is_relieved: bool) -> Instant {
        if is_relieved { self.until } else { self.idle_until.min(self.until) }
    }

    /// A checkpoint that made room has ended.
    fn renew(&mut self) {
        self.idle_until = Instant::now() + self.idle_wait;
    }
}

impl Claims {
    /// Claims, waiting for room as long as `can_help` says that a checkpoint may bring it.
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
