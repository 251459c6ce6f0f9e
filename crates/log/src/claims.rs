//! Log space, promised before it is needed.
//!
//! Whoever will insert records claims their bytes first, room for rollback included, before it
//! takes any latch. So an insert, a rollback and a flush never find the log or the disk full.
//!
//! ```text
//!  keep_from              end of the log      claimed            limit     end of segments
//!  ├── live, needed ──────┼── promised ───────┼── free ──────────┼─ headroom ─┤
//! ```
//!
//! Invariants:
//! - K1. `claimed` is an LSN: the end of the log once every outstanding claim is used up. It is at
//!   least the end of the log, if callers insert only what they have claimed.
//! - K2. A claim is granted only if `claimed ≤ limit` afterwards; `limit` is `headroom` below the
//!   end of the prepared segments and never falls.
//! - K3. Seals are paid from the headroom: they raise `claimed` without asking. The preparer
//!   refills the headroom in the background.
//! - K4. Live segments occupy at most `capacity`, except for one that a flusher had to add because
//!   seals ate the headroom.
//!
//! Latch order: `growth` → the segments' latches. `claim` without growth is one compare-exchange.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use clearway_base::{Error, Lsn, Result};
use clearway_sync::{
    CachePadded, Condvar, Mutex,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use crate::{health::Health, options::LogOptions, segments::Segments};

/// How long a claim waits for a truncation that a background thread may bring.
const TRUNCATION_WAIT: Duration = Duration::from_secs(10);

/// What asks for a checkpoint.
pub(crate) type SpaceWaker = Box<dyn Fn() + Send + Sync>;

/// The account of log space.
pub(crate) struct Claims {
    segments: Arc<Segments>,
    health: Arc<Health>,
    capacity_bytes: u64,
    headroom_bytes: u64,
    /// How long a claim waits for a truncation before it fails.
    patience: Duration,
    claimed: CachePadded<AtomicU64>,
    limit: CachePadded<AtomicU64>,
    keep_from: AtomicU64,
    /// Claims that wait for room; unclaiming tells them.
    waiting: AtomicUsize,
    growth: Mutex<()>,
    room: Condvar,
    preparer: Preparer,
    space_waker: Mutex<Option<Arc<SpaceWaker>>>,
}

/// What the preparer thread waits for.
#[derive(Default)]
struct Preparer {
    work: Mutex<Work>,
    changed: Condvar,
}

#[derive(Default)]
struct Work {
    wanted: bool,
    stopping: bool,
}

/// What an attempt to add a segment came to.
enum Growth {
    Grown,
    OverCapacity,
}

impl Claims {
    /// The account of a log that ends at `end`, whose segments are there already.
    pub(crate) fn new(
        segments: Arc<Segments>,
        health: Arc<Health>,
        options: &LogOptions,
        end: Lsn,
        keep_from: Lsn,
    ) -> Result<Claims> {
        let claims = Claims {
            capacity_bytes: options.capacity_bytes,
            // 1 MiB pays for 2,000 seals that come while the preparer is busy with one segment.
            headroom_bytes: (options.segment_bytes / 4).min(1 << 20),
            patience: if options.background { TRUNCATION_WAIT } else { Duration::ZERO },
            claimed: CachePadded::new(AtomicU64::new(end.0)),
            limit: CachePadded::new(AtomicU64::new(0)),
            keep_from: AtomicU64::new(keep_from.0),
            waiting: AtomicUsize::new(0),
            growth: Mutex::new(()),
            room: Condvar::new(),
            preparer: Preparer::default(),
            space_waker: Mutex::new(None),
            segments,
            health,
        };
        claims.raise_limit();
        while claims.limit.load(Ordering::SeqCst) < end.0 {
            claims.segments.extend()?;
            claims.raise_limit();
        }
        Ok(claims)
    }

    /// The limit follows the segments (K2).
    fn raise_limit(&self) {
        let end = self.segments.end().0;
        self.limit.fetch_max(end.saturating_sub(self.headroom_bytes), Ordering::SeqCst);
    }

    /// Promises `bytes` bytes of log.
    #[inline]
    pub(crate) fn claim(&self, bytes: u64) -> Result<()> {
        if self.try_claim(bytes) { Ok(()) } else { self.claim_slowly(bytes) }
    }

    #[inline]
    fn try_claim(&self, bytes: u64) -> bool {
        // SeqCst here and in `unclaim`: see `wait_for_room`.
        let mut claimed = self.claimed.load(Ordering::SeqCst);
        loop {
            let after = claimed.saturating_add(bytes);
            if after > self.limit.load(Ordering::SeqCst) {
                return false;
            }
            match self.claimed.compare_exchange_weak(
                claimed,
                after,
                Ordering::SeqCst,
                Ordering::SeqCst,
            ) {
                Ok(_) => {
                    self.note_crossing(claimed, after);
                    return true;
                }
                Err(now) => claimed = now,
            }
        }
    }

    /// A claim that enters another half of a segment wakes the preparer.
    #[inline]
    fn note_crossing(&self, before: u64, after: u64) {
        let step = self.segments.segment_bytes() / 2;
        if before / step != after / step {
            self.preparer.kick();
        }
    }

    #[cold]
    fn claim_slowly(&self, bytes: u64) -> Result<()> {
        let deadline = Instant::now() + self.patience;
        loop {
            self.health.check()?;
            if self.try_claim(bytes) {
                return Ok(());
            }
            let full = self.is_hopeless(bytes)
                || matches!(self.grow_for(bytes)?, Growth::OverCapacity)
                    && !self.wait_for_room(bytes, deadline);
            if full {
                let capacity_bytes = self.capacity_bytes;
                return Err(Error::LogFull { wanted_bytes: bytes, capacity_bytes });
            }
        }
    }

    /// Whether no truncation can make room.
    fn is_hopeless(&self, bytes: u64) -> bool {
        bytes.saturating_add(self.headroom_bytes) > self.capacity_bytes
    }

    /// Adds a segment unless it would break K4 or another claimer has done it meanwhile.
    fn grow_for(&self, bytes: u64) -> Result<Growth> {
        let _growing = self.growth.lock();
        if self.fits(bytes) { Ok(Growth::Grown) } else { self.grow() }
    }

    fn fits(&self, bytes: u64) -> bool {
        let claimed = self.claimed.load(Ordering::SeqCst);
        claimed.saturating_add(bytes) <= self.limit.load(Ordering::SeqCst)
    }

    /// The caller holds `growth`.
    fn grow(&self) -> Result<Growth> {
        let end = self.segments.end().0 + self.segments.segment_bytes();
        if end - self.segments.start().0 > self.capacity_bytes {
            return Ok(Growth::OverCapacity);
        }
        self.segments.extend()?;
        self.raise_limit();
        Ok(Growth::Grown)
    }

    /// Asks for a checkpoint and waits until something has changed. `false` when time is up.
    ///
    /// No lost wake-up: the waiter counts itself and looks again, under the mutex; who makes room
    /// does so first, then looks at the count, and signals under the mutex. All of it is SeqCst, so
    /// one of the two sees the other.
    fn wait_for_room(&self, bytes: u64, deadline: Instant) -> bool {
        self.wake_checkpointer();
        let mut growing = self.growth.lock();
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let end = self.segments.end().0 + self.segments.segment_bytes();
        let can_grow = end - self.segments.start().0 <= self.capacity_bytes;
        let over = can_grow || self.fits(bytes) || self.health.check().is_err();
        let in_time = over || !self.room.wait_until(&mut growing, deadline).timed_out();
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        in_time
    }

    /// Gives back what was claimed and not inserted.
    #[inline]
    pub(crate) fn unclaim(&self, bytes: u64) {
        self.claimed.fetch_sub(bytes, Ordering::SeqCst);
        self.tell_waiters();
    }

    /// A seal of `bytes` was inserted (K3).
    pub(crate) fn pay_seal(&self, bytes: u64) {
        let before = self.claimed.fetch_add(bytes, Ordering::SeqCst);
        self.note_crossing(before, before + bytes);
    }

    /// Wakes the claims that wait for room.
    #[inline]
    pub(crate) fn tell_waiters(&self) {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            drop(self.growth.lock());
            self.room.notify_all();
        }
    }

    /// Nothing before `keep_from` is needed any more.
    pub(crate) fn truncate(&self, keep_from: Lsn) -> Result<()> {
        self.keep_from.fetch_max(keep_from.0, Ordering::SeqCst);
        let result = self.segments.truncate(keep_from);
        self.preparer.kick();
        self.tell_waiters();
        result
    }

    /// Bytes between the oldest needed record and the end of all claims.
    pub(crate) fn used_bytes(&self) -> u64 {
        let keep_from = self.keep_from.load(Ordering::SeqCst);
        self.claimed.load(Ordering::SeqCst).saturating_sub(keep_from)
    }

    /// The oldest LSN still needed.
    pub(crate) fn keep_from(&self) -> Lsn {
        Lsn(self.keep_from.load(Ordering::SeqCst))
    }

    /// What the live segments may occupy.
    pub(crate) fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    /// Sets what asks for a checkpoint.
    pub(crate) fn set_space_waker(&self, waker: SpaceWaker) {
        *self.space_waker.lock() = Some(Arc::new(waker));
    }

    fn wake_checkpointer(&self) {
        // Cloned out, so that the waker may call anything of ours.
        let waker = self.space_waker.lock().clone();
        if let Some(waker) = waker {
            waker();
        }
    }

    /// The preparer's thread: keeps a segment's worth of room ahead of the claims (K3).
    pub(crate) fn run_preparer(&self) {
        while self.preparer.wait() {
            if self.used_bytes() > self.capacity_bytes / 2 {
                self.wake_checkpointer();
            }
            while self.is_low() && self.health.check().is_ok() {
                let grown = {
                    let _growing = self.growth.lock();
                    self.grow()
                };
                // A full disk is reported to the claim that needs the space, not here.
                if !matches!(grown, Ok(Growth::Grown)) {
                    break;
                }
                self.tell_waiters();
            }
        }
    }

    fn is_low(&self) -> bool {
        let ahead = self.claimed.load(Ordering::SeqCst) + self.segments.segment_bytes() / 2;
        ahead > self.limit.load(Ordering::SeqCst)
    }

    /// Ends the preparer's thread.
    pub(crate) fn stop_preparer(&self) {
        self.preparer.work.lock().stopping = true;
        self.preparer.changed.notify_all();
    }
}

impl Preparer {
    fn kick(&self) {
        self.work.lock().wanted = true;
        self.changed.notify_one();
    }

    /// Waits for work; `false` when the thread shall end.
    fn wait(&self) -> bool {
        let mut work = self.work.lock();
        while !work.wanted && !work.stopping {
            self.changed.wait(&mut work);
        }
        work.wanted = false;
        !work.stopping
    }
}
