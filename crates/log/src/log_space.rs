//! Log space reservations: log space is reserved before it is needed.
//!
//! A thread that will insert records reserves space for them first, including the space for a
//! rollback, before it takes any latch. A thread that will request a flush also reserves space for
//! the trailer of its group. So an insert, which may be the compensation of a rollback, never finds
//! the log or the disk full. A flush can, once trailers for which no record has paid have used up a
//! reserve (LOG-SPACE-4). (The page splits that an undo may need are not reserved: they may exceed
//! the capacity, LOG-SPACE-5.)
//!
//! ```text
//!  retention_lsn          end of the log      reserved_end       limit     end of segments
//!  ├── in use, needed ────┼── reserved ───────┼── free ──────────┼─ reserve ──┤
//! ```
//!
//! Invariants:
//! - LOG-SPACE-1. `reserved_end` is an LSN: the end of the log once every outstanding reservation
//!   is used up. It is at least the end of the log, if callers insert only bytes that they have
//!   reserved.
//! - LOG-SPACE-2. A reservation that may not exceed the capacity is granted only if `reserved_end ≤
//!   limit` afterwards. `limit` is the end of the prepared segments, those beyond the capacity left
//!   out, less the log space reserve (`reserve_bytes`). While the capacity is lifted it is the end
//!   of all segments.
//! - LOG-SPACE-3. A group whose records reserved space for a trailer ([`Log::insert_with_trailer`])
//!   pays for its trailer from these reservations. The rest is released: a group has one trailer,
//!   however many records have paid. So no flush takes space that others have reserved, however old
//!   a reservation is.
//! - LOG-SPACE-4. A group for which no record paid (for example because the ring was full, or
//!   because a page is cleaned whose change is not committed) raises `reserved_end` by its trailer
//!   without a check. Free space pays for the trailer if there is any. Otherwise `reserved_end`
//!   passes `limit`: the log space reserve pays, and reservations are refused until the reserve is
//!   full again. The preparer refills it in the background. While it cannot, no insert requests a
//!   flush by itself (`is_tight`), so such groups are few.
//! - LOG-SPACE-5. The segments that are in use (not freed) occupy at most `capacity_bytes`, with
//!   three exceptions: a segment that a flusher had to add because unpaid trailers used up the
//!   reserve; segments for rollbacks, for deallocations after a commit, and for the checkpoints
//!   that make room ([`Log::reserve_beyond_capacity`]); and segments that recovery adds
//!   ([`Log::lift_capacity`]). After a crash the log may be completely full, and an opening needs
//!   some space: for its epoch, its reserve, and the checkpoint that makes room again. If the disk
//!   is full as well, the reserve must suffice.
//!
//! Latch order: `growth` → the segments' latches; the waiters' mutex → the segments' state.
//! `reserve_space` without growth takes no latch, except to wake the preparer.
//!
//! Waiting for room is in `log_space/waiting.rs`.
//!
//! [`Log::insert_with_trailer`]: crate::Log::insert_with_trailer
//! [`Log::reserve_beyond_capacity`]: crate::Log::reserve_beyond_capacity
//! [`Log::lift_capacity`]: crate::Log::lift_capacity

mod waiting;

use std::sync::{Arc, OnceLock};

use clearway_base::{Error, Lsn, Result};
use clearway_sync::{
    CachePadded, Condvar, Counter, Mutex,
    atomic::{AtomicBool, AtomicU64, Ordering},
    invariant,
};
use waiting::SpaceWaiters;
pub use waiting::{RunningCheckpoint, SpaceOutlook};

use crate::{health::Health, options::LogOptions, record::TRAILER_BYTES_MAX, segments::Segments};

/// The callback that requests a checkpoint.
pub(crate) type SpaceWaker = Box<dyn Fn() + Send + Sync>;

/// The callback that stops the log.
type StopCallback = Box<dyn Fn(Error) + Send + Sync>;

/// The account of log space.
pub(crate) struct SpaceAccount {
    segments: Arc<Segments>,
    health: Arc<Health>,
    capacity_bytes: u64,
    /// True while segments may exceed the capacity (LOG-SPACE-5).
    is_lifted: AtomicBool,
    /// The size of the log space reserve (LOG-SPACE-4).
    reserve_bytes: u64,
    /// True if there are background threads, which may make room.
    has_background: bool,
    /// The bytes reserved beyond the capacity since the start.
    beyond_bytes: Counter,
    /// LOG-SPACE-1.
    reserved_end: CachePadded<AtomicU64>,
    /// LOG-SPACE-2.
    limit: CachePadded<AtomicU64>,
    /// The oldest LSN that is still needed.
    retention_lsn: AtomicU64,
    /// Held while a segment is prepared.
    growth: Mutex<()>,
    waiters: SpaceWaiters,
    stop: OnceLock<StopCallback>,
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

impl SpaceAccount {
    /// Creates the account of a log that ends at `end` and whose segments already exist.
    pub(crate) fn new(
        segments: Arc<Segments>,
        health: Arc<Health>,
        options: &LogOptions,
        (end, retention_lsn): (Lsn, Lsn),
    ) -> Result<SpaceAccount> {
        let account = SpaceAccount {
            capacity_bytes: options.capacity_bytes,
            is_lifted: AtomicBool::new(false),
            // 1 MiB pays for 2,000 trailers written while the preparer is busy with one segment.
            reserve_bytes: (options.segment_bytes / 4).min(1 << 20),
            has_background: options.background,
            beyond_bytes: Counter::default(),
            reserved_end: CachePadded::new(AtomicU64::new(end.0)),
            limit: CachePadded::new(AtomicU64::new(0)),
            retention_lsn: AtomicU64::new(retention_lsn.0),
            growth: Mutex::new(()),
            waiters: SpaceWaiters::default(),
            stop: OnceLock::new(),
            preparer: Preparer::default(),
            space_waker: Mutex::new(None),
            segments,
            health,
        };
        match account.extend_to(end.0 + account.reserve_bytes) {
            Ok(()) => {}
            // The disk has no room for the reserve: open nevertheless, with the part of the reserve
            // that exists (LOG-SPACE-5).
            Err(Error::DiskFull { .. }) if account.segments.end() >= end => {}
            Err(error) => return Err(error),
        }
        account.raise_limit();
        Ok(account)
    }

    /// Raises the limit to the end of the prepared segments (LOG-SPACE-2).
    fn raise_limit(&self) {
        self.limit.fetch_max(self.prepared(), Ordering::SeqCst);
    }

    /// Returns the limit that the existing segments permit (LOG-SPACE-2).
    fn prepared(&self) -> u64 {
        let end = self.segments.end().0;
        if self.is_lifted() {
            return end;
        }
        let full = self.segments.start().0 + self.capacity_bytes;
        end.min(full).saturating_sub(self.reserve_bytes)
    }

    /// Reserves `bytes` bytes of log space.
    #[inline]
    pub(crate) fn reserve_space(&self, bytes: u64) -> Result<()> {
        self.reserve_space_if(bytes, &|| SpaceOutlook::MayFree)
    }

    /// Like [`reserve_space`](SpaceAccount::reserve_space), but the length of the wait depends on
    /// `outlook`.
    #[inline]
    pub(crate) fn reserve_space_if(
        &self,
        bytes: u64,
        outlook: &dyn Fn() -> SpaceOutlook,
    ) -> Result<()> {
        if self.take_free(bytes) { Ok(()) } else { self.reserve_space_slowly(bytes, outlook) }
    }

    /// Like [`reserve_space`](SpaceAccount::reserve_space), but does not wait for a truncation.
    pub(crate) fn try_reserve_space(&self, bytes: u64) -> Result<()> {
        if self.reserve_or_grow(bytes)? { Ok(()) } else { Err(self.full(bytes)) }
    }

    /// Like [`reserve_space`](SpaceAccount::reserve_space), but exceeds the capacity instead of
    /// waiting or failing (LOG-SPACE-5).
    pub(crate) fn reserve_beyond_capacity(&self, bytes: u64) -> Result<()> {
        if self.reserve_or_grow(bytes)? {
            return Ok(());
        }
        let end = self.reserved_end.fetch_add(bytes, Ordering::SeqCst) + bytes;
        let extended = {
            let _growing = self.growth.lock();
            let extended = self.extend_to(end + self.reserve_bytes);
            // A truncation may have moved the end of the capacity meanwhile (LOG-SPACE-2).
            self.raise_limit();
            extended
        };
        self.wake_waiters();
        self.stopping_if_broken(extended).inspect_err(|_| self.release_space(bytes))?;
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

    /// Reserves `bytes` bytes if the log stays at most half full and the segments for them exist.
    pub(crate) fn reserve_optional_space(&self, bytes: u64) -> bool {
        self.used_bytes().saturating_add(bytes) <= self.capacity_bytes / 2 && self.take_free(bytes)
    }

    /// Reserves `bytes` bytes if the prepared segments have room for them.
    #[inline]
    pub(crate) fn take_free(&self, bytes: u64) -> bool {
        // SeqCst here and in `release_space`: SPACE-1.
        let mut end = self.reserved_end.load(Ordering::SeqCst);
        loop {
            let after = end.saturating_add(bytes);
            if after > self.limit.load(Ordering::SeqCst) {
                return false;
            }
            match self.reserved_end.compare_exchange_weak(
                end,
                after,
                Ordering::SeqCst,
                Ordering::SeqCst,
            ) {
                Ok(_) => {
                    self.note_crossing(end, after);
                    return true;
                }
                Err(now) => end = now,
            }
        }
    }

    /// Wakes the preparer if the reserved space now ends in another half of a segment than before.
    #[inline]
    fn note_crossing(&self, before: u64, after: u64) {
        let step = self.segments.segment_bytes() / 2;
        if before / step != after / step {
            self.preparer.wake();
        }
    }

    /// Reserves space and adds segments as needed. Returns `false` if the capacity does not allow
    /// it.
    fn reserve_or_grow(&self, bytes: u64) -> Result<bool> {
        loop {
            self.health.check()?;
            if self.take_free(bytes) {
                return Ok(true);
            }
            if self.exceeds_capacity(bytes) || matches!(self.grow_for(bytes)?, Growth::OverCapacity)
            {
                return Ok(false);
            }
        }
    }

    /// Returns true if no truncation can make room for `bytes` bytes.
    fn exceeds_capacity(&self, bytes: u64) -> bool {
        !self.is_lifted() && bytes.saturating_add(self.reserve_bytes) > self.capacity_bytes
    }

    /// Adds a segment, unless that would break LOG-SPACE-5 or another thread has made room for
    /// `bytes` bytes meanwhile.
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

    /// Returns true if the prepared segments have room for `bytes` more bytes.
    fn fits(&self, bytes: u64) -> bool {
        let end = self.reserved_end.load(Ordering::SeqCst);
        end.saturating_add(bytes) <= self.limit.load(Ordering::SeqCst)
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

    /// Returns true if another segment is permitted (LOG-SPACE-5).
    fn may_grow(&self) -> bool {
        let end = self.segments.end().0 + self.segments.segment_bytes();
        end - self.segments.start().0 <= self.capacity_bytes || self.is_lifted()
    }

    fn is_lifted(&self) -> bool {
        self.is_lifted.load(Ordering::SeqCst)
    }

    /// Sets whether reservations exceed the capacity instead of waiting for room.
    pub(crate) fn lift_capacity(&self, is_lifted: bool) {
        self.is_lifted.store(is_lifted, Ordering::SeqCst);
        if !is_lifted {
            // The limit may fall below `reserved_end` here, because of reservations beyond the
            // capacity. As after unpaid trailers, no reservation is granted then until there is
            // room again (LOG-SPACE-4).
            self.limit.store(self.prepared(), Ordering::SeqCst);
        }
        // Raise it again if segments were added meanwhile.
        self.raise_limit();
    }

    /// Releases reserved bytes that were not inserted.
    #[inline]
    pub(crate) fn release_space(&self, bytes: u64) {
        let before = self.reserved_end.fetch_sub(bytes, Ordering::SeqCst);
        invariant(before >= bytes, "log space: no more is released than is reserved");
        self.wake_waiters();
    }

    /// Accounts for a trailer of `bytes` bytes for which `trailers_paid` records have paid
    /// (LOG-SPACE-3, LOG-SPACE-4).
    pub(crate) fn pay_trailer(&self, bytes: u64, trailers_paid: u64) {
        let paid = trailers_paid * TRAILER_BYTES_MAX;
        if paid >= bytes {
            return self.release_space(paid - bytes);
        }
        let before = self.reserved_end.fetch_add(bytes, Ordering::SeqCst);
        self.note_crossing(before, before + bytes);
    }

    /// Wakes the threads that wait for room.
    #[inline]
    pub(crate) fn wake_waiters(&self) {
        self.waiters.wake();
    }

    /// Truncates the log: nothing before `retention_lsn` is needed any more.
    pub(crate) fn truncate(&self, retention_lsn: Lsn) -> Result<()> {
        self.retention_lsn.fetch_max(retention_lsn.0, Ordering::SeqCst);
        let was_written = retention_lsn <= self.reserved_end();
        invariant(was_written, "log space: nothing is truncated that was not written");
        let truncated = self.segments.truncate(retention_lsn);
        // Segments beyond the capacity may be within it now (LOG-SPACE-2).
        self.raise_limit();
        // Only if segments were freed: otherwise the preparer would request checkpoints in a loop.
        if !matches!(truncated, Ok(false)) {
            self.preparer.wake();
        }
        self.wake_waiters();
        self.stopping_if_broken(truncated).map(drop)
    }

    /// Returns the bytes between the oldest needed record and the end of all reservations.
    pub(crate) fn used_bytes(&self) -> u64 {
        let retention_lsn = self.retention_lsn.load(Ordering::SeqCst);
        self.reserved_end.load(Ordering::SeqCst).saturating_sub(retention_lsn)
    }

    /// Returns the bytes reserved beyond the capacity since the start.
    pub(crate) fn beyond_bytes(&self) -> u64 {
        self.beyond_bytes.get()
    }

    /// Returns the LSN where the log would end once every outstanding reservation is used up
    /// (LOG-SPACE-1).
    pub(crate) fn reserved_end(&self) -> Lsn {
        Lsn(self.reserved_end.load(Ordering::SeqCst))
    }

    /// Returns the retention LSN, the oldest LSN that is still needed.
    pub(crate) fn retention_lsn(&self) -> Lsn {
        Lsn(self.retention_lsn.load(Ordering::SeqCst))
    }

    /// Returns the bytes that the segments in use may occupy.
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

    /// Runs the preparer thread, which keeps half a segment of room ahead of the reservations.
    pub(crate) fn run_preparer(&self) {
        while self.preparer.wait() {
            if self.used_bytes() > self.capacity_bytes / 2 {
                self.wake_checkpointer();
            }
            while self.is_low() && self.health.check().is_ok() {
                let grown = self.grow_if(|| true);
                // The thread that needs the space gets the error of a full disk.
                if !matches!(grown, Ok(Growth::Grown)) {
                    break;
                }
                self.wake_waiters();
            }
        }
    }

    /// Returns true if unpaid trailers have begun to use the reserve (LOG-SPACE-4).
    pub(crate) fn is_tight(&self) -> bool {
        !self.fits(0)
    }

    fn is_low(&self) -> bool {
        let ahead = self.reserved_end().0 + self.segments.segment_bytes() / 2;
        ahead > self.limit.load(Ordering::SeqCst)
    }

    /// Ends the preparer thread.
    pub(crate) fn stop_preparer(&self) {
        self.preparer.work.lock().stopping = true;
        self.preparer.changed.notify_all();
    }
}

impl Preparer {
    fn wake(&self) {
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
