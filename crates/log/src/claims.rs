//! Log space reservations ("claims"): space is reserved before it is needed.
//!
//! A thread that will insert records claims their bytes first, including the space for a rollback,
//! before it takes any latch. A thread that will request a flush also claims the seal (the trailer)
//! of its group. So an insert, a rollback and a flush never find the log or the disk full.
//!
//! ```text
//!  keep_from              end of the log      claimed            limit     end of segments
//!  ├── live, needed ──────┼── promised ───────┼── free ──────────┼─ headroom ─┤
//! ```
//!
//! Invariants:
//! - LOG-SPACE-1. `claimed` is an LSN: the end of the log once every outstanding claim is used up.
//!   It is at least the end of the log, if callers insert only what they have claimed.
//! - LOG-SPACE-2. A claim is granted only if `claimed ≤ limit` afterwards; `limit` is `headroom`
//!   below the end of the prepared segments, those beyond the capacity left out. While the capacity
//!   is lifted it is the end of all of them.
//! - LOG-SPACE-3. A group whose records claimed a seal ([`Log::insert_with_seal`]) pays its seal
//!   from these claims, and what it did not need (a group has one seal, however many have paid)
//!   goes back. So no flush takes space that others have claimed, however old a claim is.
//! - LOG-SPACE-4. A group for which no record paid (the ring was full, a page is cleaned whose
//!   change is not committed) pays its seal from the reserve (`headroom`): it raises `claimed`
//!   without a check, and claims are then refused until the reserve is full again. The preparer
//!   refills it in the background. While it cannot, no insert requests a flush by itself
//!   (`is_tight`), so such groups are few and large, or one for a batch of pages.
//! - LOG-SPACE-5. Live segments occupy at most `capacity`, except for one that a flusher had to add
//!   because unpaid seals used up the reserve, for what rollbacks and the checkpoints that make
//!   room add ([`Log::claim_beyond`]), and for what recovery adds ([`Log::lift_capacity`]). After a
//!   crash the log may be completely full, and an opening needs some space: for its epoch, its
//!   reserve, and the checkpoint that makes room again. If the disk is full as well, the reserve
//!   must suffice.
//!
//! Latch order: `growth` → the segments' latches; the waiting room → the segments' state. `claim`
//! without growth is a single compare-exchange.
//!
//! Waiting for room is in `claims/waiting.rs`.
//!
//! [`Log::insert_with_seal`]: crate::Log::insert_with_seal
//! [`Log::claim_beyond`]: crate::Log::claim_beyond
//! [`Log::lift_capacity`]: crate::Log::lift_capacity

mod waiting;

use std::sync::{Arc, OnceLock};

use clearway_base::{Error, Lsn, Result};
use clearway_sync::{
    CachePadded, Condvar, Counter, Mutex,
    atomic::{AtomicBool, AtomicU64, Ordering},
    invariant,
};
pub use waiting::AnnouncedCheckpoint;
use waiting::Room;

use crate::{health::Health, options::LogOptions, record::SEAL_BYTES_MAX, segments::Segments};

/// The callback that requests a checkpoint.
pub(crate) type SpaceWaker = Box<dyn Fn() + Send + Sync>;

/// The callback that stops the log.
type Stop = Box<dyn Fn(Error) + Send + Sync>;

/// The account of log space.
pub(crate) struct Claims {
    segments: Arc<Segments>,
    health: Arc<Health>,
    capacity_bytes: u64,
    /// Whether segments may go beyond the capacity for now (LOG-SPACE-5).
    is_lifted: AtomicBool,
    reserve_bytes: u64,
    /// Whether there are background threads, which may make room.
    is_patient: bool,
    /// The bytes claimed beyond the capacity since the start.
    beyond_bytes: Counter,
    claimed: CachePadded<AtomicU64>,
    limit: CachePadded<AtomicU64>,
    keep_from: AtomicU64,
    /// Held while a segment is prepared.
    growth: Mutex<()>,
    room: Room,
    stop: OnceLock<Stop>,
    preparer: Preparer,
    space_waker: Mutex<Option<Arc<SpaceWaker>>>,
}

/// The state that the preparer thread waits on.
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

/// The result of an attempt to add a segment.
enum Growth {
    Grown,
    OverCapacity,
}

impl Claims {
    /// Creates the account of a log that ends at `end` and whose segments already exist.
    pub(crate) fn new(
        segments: Arc<Segments>,
        health: Arc<Health>,
        options: &LogOptions,
        end: Lsn,
        keep_from: Lsn,
    ) -> Result<Claims> {
        let claims = Claims {
            capacity_bytes: options.capacity_bytes,
            is_lifted: AtomicBool::new(false),
            // 1 MiB pays for 2,000 seals written while the preparer is busy with one segment.
            reserve_bytes: (options.segment_bytes / 4).min(1 << 20),
            is_patient: options.background,
            beyond_bytes: Counter::default(),
            claimed: CachePadded::new(AtomicU64::new(end.0)),
            limit: CachePadded::new(AtomicU64::new(0)),
            keep_from: AtomicU64::new(keep_from.0),
            growth: Mutex::new(()),
            room: Room::default(),
            stop: OnceLock::new(),
            preparer: Preparer::default(),
            space_waker: Mutex::new(None),
            segments,
            health,
        };
        match claims.extend_to(end.0 + claims.reserve_bytes) {
            Ok(()) => {}
            // The reserve covers unpaid seals (LOG-SPACE-4).
            Err(Error::DiskFull { .. }) if claims.segments.end() >= end => {}
            Err(error) => return Err(error),
        }
        claims.raise_limit();
        Ok(claims)
    }

    /// The limit follows the segments (LOG-SPACE-2).
    fn raise_limit(&self) {
        self.limit.fetch_max(self.prepared(), Ordering::SeqCst);
    }

    /// Returns the LSN up to which the existing segments may be claimed.
    fn prepared(&self) -> u64 {
        let end = self.segments.end().0;
        if self.is_lifted() {
            return end;
        }
        let full = self.segments.start().0 + self.capacity_bytes;
        end.min(full).saturating_sub(self.reserve_bytes)
    }

    /// Reserves `bytes` bytes of log.
    #[inline]
    pub(crate) fn claim(&self, bytes: u64) -> Result<()> {
        self.claim_if(bytes, &|| true)
    }

    /// Like [`claim`](Claims::claim), but waits only while `can_help` says that a checkpoint may
    /// make room.
    #[inline]
    pub(crate) fn claim_if(&self, bytes: u64, can_help: &dyn Fn() -> bool) -> Result<()> {
        if self.take_free(bytes) { Ok(()) } else { self.claim_slowly(bytes, can_help) }
    }

    /// Records that a checkpoint has begun.
    pub(crate) fn announce_checkpoint(&self, gives_back: bool) -> AnnouncedCheckpoint<'_> {
        self.room.announce(gives_back)
    }

    /// Like [`claim`](Claims::claim), but does not wait for a truncation.
    pub(crate) fn try_claim(&self, bytes: u64) -> Result<()> {
        if self.claim_or_grow(bytes)? { Ok(()) } else { Err(self.full(bytes)) }
    }

    /// Like [`claim`](Claims::claim), but exceeds the capacity instead of waiting or failing
    /// (LOG-SPACE-5).
    pub(crate) fn claim_beyond(&self, bytes: u64) -> Result<()> {
        if self.claim_or_grow(bytes)? {
            return Ok(());
        }
        let claimed = self.claimed.fetch_add(bytes, Ordering::SeqCst) + bytes;
        let extended = {
            let _growing = self.growth.lock();
            let extended = self.extend_to(claimed + self.reserve_bytes);
            // A truncation may have moved the capacity's end meanwhile (LOG-SPACE-2).
            self.raise_limit();
            extended
        };
        self.tell_waiters();
        self.stopping_if_broken(extended).inspect_err(|_| self.unclaim(bytes))?;
        self.beyond_bytes.add(bytes);
        Ok(())
    }

    /// Prepares segments up to `end`, whatever the capacity. The caller holds `growth`, or is the
    /// only user of the log.
    fn extend_to(&self, end: u64) -> Result<()> {
        while self.segments.end().0 < end {
            self.segments.extend()?;
        }
        Ok(())
    }

    /// Reserves `bytes` bytes if the log stays at most half full and they are already prepared.
    pub(crate) fn claim_spare(&self, bytes: u64) -> bool {
        self.used_bytes().saturating_add(bytes) <= self.capacity_bytes / 2 && self.take_free(bytes)
    }

    #[inline]
    fn take_free(&self, bytes: u64) -> bool {
        // SeqCst here and in `unclaim`: SPACE-1.
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

    /// Claims space and adds segments as needed. Returns `false` if the capacity does not allow it.
    fn claim_or_grow(&self, bytes: u64) -> Result<bool> {
        loop {
            self.health.check()?;
            if self.take_free(bytes) {
                return Ok(true);
            }
            if self.is_hopeless(bytes) || matches!(self.grow_for(bytes)?, Growth::OverCapacity) {
                return Ok(false);
            }
        }
    }

    /// Whether no truncation can make room.
    fn is_hopeless(&self, bytes: u64) -> bool {
        !self.is_lifted() && bytes.saturating_add(self.reserve_bytes) > self.capacity_bytes
    }

    /// Adds a segment unless that would break LOG-SPACE-5 or another claiming thread has added one
    /// meanwhile.
    fn grow_for(&self, bytes: u64) -> Result<Growth> {
        self.grow_if(|| !self.fits(bytes))
    }

    fn grow_if(&self, is_needed: impl Fn() -> bool) -> Result<Growth> {
        let grown = {
            let _growing = self.growth.lock();
            if is_needed() { self.grow() } else { Ok(Growth::Grown) }
        };
        self.stopping_if_broken(grown)
    }

    /// Stops the log if it is unknown which segment names are durable (SEGMENTS-4). The caller
    /// holds no latch.
    fn stopping_if_broken<T>(&self, result: Result<T>) -> Result<T> {
        if result.is_err()
            && let Some(cause) = self.segments.broken()
            && let Some(stop) = self.stop.get()
        {
            stop(cause.clone());
        }
        result
    }

    fn fits(&self, bytes: u64) -> bool {
        let claimed = self.claimed.load(Ordering::SeqCst);
        claimed.saturating_add(bytes) <= self.limit.load(Ordering::SeqCst)
    }

    /// Adds a segment. The caller holds `growth`.
    fn grow(&self) -> Result<Growth> {
        if !self.may_grow() {
            return Ok(Growth::OverCapacity);
        }
        self.segments.extend()?;
        self.raise_limit();
        Ok(Growth::Grown)
    }

    /// Whether another segment is permitted (LOG-SPACE-5).
    fn may_grow(&self) -> bool {
        let end = self.segments.end().0 + self.segments.segment_bytes();
        end - self.segments.start().0 <= self.capacity_bytes || self.is_lifted()
    }

    fn is_lifted(&self) -> bool {
        self.is_lifted.load(Ordering::SeqCst)
    }

    /// Sets whether claims exceed the capacity instead of waiting for room.
    pub(crate) fn lift_capacity(&self, is_lifted: bool) {
        self.is_lifted.store(is_lifted, Ordering::SeqCst);
        if !is_lifted {
            // Claims beyond the capacity count like unpaid seals (LOG-SPACE-4).
            self.limit.store(self.prepared(), Ordering::SeqCst);
        }
        // Raise it again if segments were added meanwhile.
        self.raise_limit();
    }

    /// Releases claimed bytes that were not inserted.
    #[inline]
    pub(crate) fn unclaim(&self, bytes: u64) {
        let before = self.claimed.fetch_sub(bytes, Ordering::SeqCst);
        invariant(before >= bytes, "log space: no more is given back than is reserved");
        self.tell_waiters();
    }

    /// Accounts for a seal of `bytes` for which `seals_paid` records have paid (LOG-SPACE-3,
    /// LOG-SPACE-4).
    pub(crate) fn pay_seal(&self, bytes: u64, seals_paid: u64) {
        let paid = seals_paid * SEAL_BYTES_MAX;
        if paid >= bytes {
            return self.unclaim(paid - bytes);
        }
        let before = self.claimed.fetch_add(bytes, Ordering::SeqCst);
        self.note_crossing(before, before + bytes);
    }

    /// Wakes the claims that wait for room.
    #[inline]
    pub(crate) fn tell_waiters(&self) {
        self.room.tell();
    }

    /// Truncates the log: nothing before `keep_from` is needed any more.
    pub(crate) fn truncate(&self, keep_from: Lsn) -> Result<()> {
        self.keep_from.fetch_max(keep_from.0, Ordering::SeqCst);
        invariant(keep_from <= self.claimed(), "log space: log is truncated after it was written");
        let truncated = self.segments.truncate(keep_from);
        // Segments beyond the capacity may be within it now (LOG-SPACE-2).
        self.raise_limit();
        // Only if something was truncated: otherwise the preparer would keep requesting checkpoints
        // in a loop.
        if !matches!(truncated, Ok(false)) {
            self.preparer.kick();
        }
        self.tell_waiters();
        self.stopping_if_broken(truncated).map(drop)
    }

    /// Returns the bytes between the oldest needed record and the end of all claims.
    pub(crate) fn used_bytes(&self) -> u64 {
        let keep_from = self.keep_from.load(Ordering::SeqCst);
        self.claimed.load(Ordering::SeqCst).saturating_sub(keep_from)
    }

    /// Returns the bytes claimed beyond the capacity since the start.
    pub(crate) fn beyond_bytes(&self) -> u64 {
        self.beyond_bytes.get()
    }

    /// Returns the LSN where the log would end once every outstanding claim is used up.
    pub(crate) fn claimed(&self) -> Lsn {
        Lsn(self.claimed.load(Ordering::SeqCst))
    }

    /// The oldest LSN still needed.
    pub(crate) fn keep_from(&self) -> Lsn {
        Lsn(self.keep_from.load(Ordering::SeqCst))
    }

    /// Returns the bytes that the live segments may occupy.
    pub(crate) fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    /// Sets the callback that requests a checkpoint.
    pub(crate) fn set_space_waker(&self, waker: SpaceWaker) {
        *self.space_waker.lock() = Some(Arc::new(waker));
    }

    /// Sets the callback that stops the log when it is unknown which file names are durable
    /// (SEGMENTS-4).
    pub(crate) fn set_stop(&self, stop: impl Fn(Error) + Send + Sync + 'static) {
        let is_first = self.stop.set(Box::new(stop)).is_ok();
        debug_assert!(is_first, "a log is started once");
    }

    fn wake_checkpointer(&self) {
        // Clone the waker, so that it may call any method of this type.
        let waker = self.space_waker.lock().clone();
        if let Some(waker) = waker {
            waker();
        }
    }

    /// Runs the preparer thread, which keeps half a segment of room ahead of the claims.
    pub(crate) fn run_preparer(&self) {
        while self.preparer.wait() {
            if self.used_bytes() > self.capacity_bytes / 2 {
                self.wake_checkpointer();
            }
            while self.is_low() && self.health.check().is_ok() {
                let grown = self.grow_if(|| true);
                // A full disk is reported to the claim that needs the space, not here.
                if !matches!(grown, Ok(Growth::Grown)) {
                    break;
                }
                self.tell_waiters();
            }
        }
    }

    /// Whether unpaid seals have begun to use the reserve (LOG-SPACE-4).
    pub(crate) fn is_tight(&self) -> bool {
        !self.fits(0)
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

    /// Waits for work. Returns `false` when the thread must end.
    fn wait(&self) -> bool {
        let mut work = self.work.lock();
        while !work.wanted && !work.stopping {
            self.changed.wait(&mut work);
        }
        work.wanted = false;
        !work.stopping
    }
}
