//! From the ring to the device: groups, in-flight flushes, and the durable LSN.
//!
//! A *group* contains the records inserted since the previous group. A record of the log's own, the
//! group's *trailer*, ends it at a sector boundary. An in-flight flush is the write of a group. Any
//! thread can flush: daemons do it for pipelined work. A committing thread that finds that a group
//! can start (the device is idle, or the group may overlap with the flushes in flight) does it
//! itself, without a context switch.
//!
//! ```text
//!          durable           last_group_end      end of the log
//!  ─────────┴─ flush 1 ─┬─ flush 2 ┴── gathering ──┘
//!                       └ completed early: waits for the one before it
//!
//!  request ─▶ gathering ──begin──▶ in flight ──▶ complete ──all before it complete──▶ durable
//!                                      └── error ──▶ poisoned: the durable LSN stays
//! ```
//!
//! Invariants:
//! - FLUSH-1. Groups are consecutive, and only `begin` makes them, under the schedule's mutex.
//! - FLUSH-2. Only `complete`, under that mutex, moves the durable LSN: to the end of a group whose
//!   flush and all earlier flushes have completed. Once the log is poisoned it does not move.
//! - FLUSH-3. A group is written once. A failed write or sync is never tried again.
//! - FLUSH-4. At most `in_flight_max` flushes are in flight at a time.
//! - FLUSH-5. No lost request.
//!
//!   (a) A requester raises `requested` (and `awaited`, if it has a waiter: a waiting thread, a
//!   polled future, or an insert that has passed a multiple of `flush_trigger_bytes`), and then
//!   reads the wake thresholds (`WakeThresholds`). It takes the schedule's mutex in two cases only:
//!   - it has a waiter, and the highest requested LSN is at or above the threshold of requests with
//!     a waiter;
//!   - it has no waiter, it raised `requested`, and one of two conditions holds: its LSN is at or
//!     above the threshold of requests without a waiter; or its LSN is at or above that of requests
//!     with a waiter, and `awaited` is above the end of the last group.
//!
//!   A flusher writes both thresholds; `decide` then reads `requested` and `awaited`. All accesses
//!   are SeqCst. So if a requester does not take the mutex because it has read a threshold that is
//!   too high, and a flusher lowers the threshold afterwards, then this flusher's `decide` reads
//!   the request.
//!
//!   (b) A requester that waits raises `awaited` and then reads `requested` again. So for each
//!   concurrent requester that does not wait, either that requester reads the raised `awaited`, or
//!   this one reads the raised `requested`.
//!
//!   (c) A requester that takes the mutex decides and signals under it; daemons decide and go to
//!   sleep under it. Under a [`FlushPolicy`] of another crate every requester takes it.
//! - FLUSH-6. If a thread changes the schedule so that a group may start, it either starts that
//!   group or signals a sleeping daemon, if there is one; a daemon that is awake decides again
//!   before it sleeps. For a group that may start only later, one daemon, the *timer daemon*, will
//!   be awake by then.
//! - FLUSH-7. A daemon ends only when it is stopped, or by a panic of its own, which stops the log.
//!   A waker's panic ends no daemon.
//! - FLUSH-8. After the closing trailer nothing is written: the insertion is closed, so no record
//!   can join a group.
//!
//! Latch order: `schedule` → the insertion's latch, the preparer's mutex, the space waiters' mutex.
//! No I/O under `schedule`.
//!
//! The group commit is that of "Aether", section 4 (flush pipelining), with three differences:
//! flushes may overlap; a committing thread writes the group itself if one may start; and requests
//! are signalled under the mutex, so that requests with a waiter make progress without a time-out.

mod daemon;
mod policy;

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use clearway_base::{
    Error, Lsn, LsnSpan, Result,
    failpoint::{self, Failpoint},
};
use clearway_sync::{
    Broken, CachePadded, Condvar, Mutex, Stop,
    atomic::{AtomicU64, Ordering},
    invariant, wake,
};

use crate::{
    completion::CompletionQueue,
    health::Health,
    insertion::{Insertion, TrailerFields},
    log_space::SpaceAccount,
    options::LogOptions,
    parts::{Decision, FlushPolicy},
    record::{FLAG_CLOSED, Stamp},
    ring::Ring,
    segments::Segments,
};
use policy::{Situation, decide, wake_threshold};

/// The parts of the log that a flusher uses.
pub(crate) struct Parts {
    pub(crate) ring: Arc<Ring>,
    pub(crate) insertion: Arc<dyn Insertion>,
    pub(crate) segments: Arc<Segments>,
    pub(crate) space: Arc<SpaceAccount>,
    pub(crate) health: Arc<Health>,
    pub(crate) completion: Arc<CompletionQueue>,
}

/// The shared state of all flushers (the threads that write groups), and the operations by which
/// they form and write groups.
pub(crate) struct Flusher {
    parts: Parts,
    stamp: Stamp,
    /// A policy in place of the default one.
    other_policy: Option<Box<dyn FlushPolicy>>,
    in_flight_max: usize,
    group_commit_delay: Duration,
    has_daemons: bool,
    /// The highest LSN whose durability was requested.
    requested: CachePadded<AtomicU64>,
    /// The highest LSN that was requested when a thread or a future last began to wait, or when an
    /// insert last passed a multiple of `flush_trigger_bytes`: up to here the group-commit delay
    /// does not apply.
    awaited: CachePadded<AtomicU64>,
    thresholds: CachePadded<WakeThresholds>,
    schedule: Mutex<Schedule>,
    changed: Condvar,
}

/// The wake thresholds: requests below these LSNs need not check the schedule (FLUSH-5).
struct WakeThresholds {
    /// The threshold of requests with a waiter.
    awaited: AtomicU64,
    /// The threshold of the other requests. Once a thread waits for an LSN after `last_group_end`,
    /// they are treated like those with a waiter.
    unawaited: AtomicU64,
    /// The end of the last group.
    last_group_end: AtomicU64,
}

/// The schedule of flushes, protected by the mutex.
struct Schedule {
    /// The end of the last group and the start of the next.
    last_group_end: Lsn,
    /// The in-flight flushes in LSN order; the first has not completed.
    in_flight: VecDeque<InFlight>,
    last_bytes: u64,
    /// The time at which the last group was started, and the duration of the last completed flush.
    last_start: Option<Instant>,
    last_flush: Duration,
    daemons_asleep: usize,
    /// True from the signal to a sleeping daemon until a daemon wakes or a group starts.
    is_signalled: bool,
    /// One of the sleeping daemons, the timer daemon, will wake when a delayed group may start
    /// (FLUSH-6).
    has_timer: bool,
    stopping: bool,
    figures: FlushFigures,
}

struct InFlight {
    end: Lsn,
    started: Instant,
    is_complete: bool,
}

impl Stop for Flusher {
    fn stop(&self, broken: Broken) {
        // Without the mutex: the caller may hold it. A flush that completes concurrently counts as
        // completed before (FLUSH-2).
        self.parts.health.poison(Error::broken_invariant(broken.what, broken.place));
    }

    fn wake_waiters(&self) {
        // No completion is half done after this (FLUSH-2).
        drop(self.schedule.lock());
        self.wake_after_failure();
    }
}

/// Totals for [`LogStats`](crate::LogStats).
#[derive(Clone, Copy, Default)]
pub(crate) struct FlushFigures {
    pub(crate) flushes: u64,
    pub(crate) bytes: u64,
    pub(crate) trailer_bytes: u64,
}

impl Flusher {
    /// Creates a flusher for a log whose first group begins at `start`.
    pub(crate) fn new(
        parts: Parts,
        policy: Option<Box<dyn FlushPolicy>>,
        options: &LogOptions,
        stamp: Stamp,
        start: Lsn,
    ) -> Flusher {
        Flusher {
            parts,
            stamp,
            // Without daemons no thread would wake at the time that a policy names.
            other_policy: policy.filter(|_| options.background),
            in_flight_max: options.flushes_in_flight,
            group_commit_delay: options.group_commit_delay,
            has_daemons: options.background,
            requested: CachePadded::new(AtomicU64::new(0)),
            awaited: CachePadded::new(AtomicU64::new(0)),
            thresholds: CachePadded::new(WakeThresholds {
                awaited: AtomicU64::new(0),
                unawaited: AtomicU64::new(0),
                last_group_end: AtomicU64::new(start.0),
            }),
            schedule: Mutex::new(Schedule {
                last_group_end: start,
                in_flight: VecDeque::new(),
                last_bytes: 0,
                last_start: None,
                last_flush: Duration::ZERO,
                daemons_asleep: 0,
                is_signalled: false,
                has_timer: false,
                stopping: false,
                figures: FlushFigures::default(),
            }),
            changed: Condvar::new(),
        }
    }

    /// Requests durability up to `lsn`, which is at most the end of the log, without waiting for
    /// it.
    #[inline]
    pub(crate) fn request(&self, lsn: Lsn) {
        if self.other_policy.is_some() {
            self.request_by_policy(lsn);
        } else if self.raise_requested(lsn) {
            self.wake_daemon();
        }
    }

    /// Requests `lsn` under another policy, which decides after each request. Out of line, so that
    /// the path of the default policy tests one pointer and saves no register.
    #[cold]
    #[inline(never)]
    fn request_by_policy(&self, lsn: Lsn) {
        let Some(policy) = &self.other_policy else { return };
        policy.request();
        self.requested.fetch_max(lsn.0, Ordering::SeqCst);
        self.wake_daemon();
    }

    /// Raises `requested`. Returns true if the schedule must be checked because of the change.
    #[inline]
    fn raise_requested(&self, lsn: Lsn) -> bool {
        if self.requested.load(Ordering::SeqCst) >= lsn.0 {
            // A request for at least this LSN is already being handled.
            return false;
        }
        self.requested.fetch_max(lsn.0, Ordering::SeqCst);
        let thresholds = &*self.thresholds;
        let has_waiter = || {
            let awaited = self.awaited.load(Ordering::SeqCst);
            awaited > thresholds.last_group_end.load(Ordering::SeqCst)
        };
        lsn.0 >= thresholds.unawaited.load(Ordering::SeqCst)
            || lsn.0 >= thresholds.awaited.load(Ordering::SeqCst) && has_waiter()
    }

    /// Requests durability up to `lsn` on behalf of a waiting thread, or for a group so large that
    /// it needs no delay.
    pub(crate) fn await_soon(&self, lsn: Lsn) {
        if self.other_policy.is_some() {
            self.request_by_policy(lsn);
        } else if self.raise_awaited(lsn) {
            self.wake_daemon();
        }
    }

    /// Raises `requested` and `awaited`, which ends the group-commit delay: a waiting thread has no
    /// other work to do, and the requests of others can be flushed with it. Returns true if the
    /// schedule must be checked.
    fn raise_awaited(&self, lsn: Lsn) -> bool {
        let requested = self.requested.fetch_max(lsn.0, Ordering::SeqCst).max(lsn.0);
        if self.awaited.load(Ordering::SeqCst) < requested {
            self.awaited.fetch_max(requested, Ordering::SeqCst);
        }
        // Read again: a concurrent requester may have read `awaited` too early (FLUSH-5 b).
        let requested = self.requested.load(Ordering::SeqCst);
        requested >= self.thresholds.awaited.load(Ordering::SeqCst)
    }

    /// Wakes a daemon if a group can start, or if it can start later and there is no timer daemon
    /// (FLUSH-6).
    #[cold]
    fn wake_daemon(&self) {
        let mut schedule = self.schedule.lock();
        match self.decide(&schedule) {
            Decision::Start => self.signal(&mut schedule),
            Decision::At(_) if !schedule.has_timer => self.signal(&mut schedule),
            Decision::At(_) | Decision::Rest => {}
        }
    }

    /// Makes another policy start the group as soon as the device can take it, for a thread that is
    /// about to wait for `lsn`. Does nothing under the default policy, which does not delay a group
    /// for which a thread waits: the wait itself requests the flush.
    pub(crate) fn force(&self, lsn: Lsn) {
        let Some(policy) = &self.other_policy else { return };
        self.requested.fetch_max(lsn.0, Ordering::SeqCst);
        policy.force(lsn);
        let mut schedule = self.schedule.lock();
        if self.decide(&schedule) == Decision::Start {
            self.signal(&mut schedule);
        }
    }

    /// Requests `lsn` for the calling thread, which will wait, and flushes the group on this thread
    /// if that can start now.
    pub(crate) fn request_and_flush(&self, lsn: Lsn) {
        if self.other_policy.is_some() {
            return self.request_by_policy(lsn);
        }
        if !self.raise_awaited(lsn) {
            return;
        }
        loop {
            let mut schedule = self.schedule.lock();
            if self.decide(&schedule) != Decision::Start {
                return;
            }
            // This thread's own LSN is in a group by now: leave the next group to a daemon. Without
            // daemons, or once they are stopped, a flushing thread also writes what others have
            // requested: it decides again after each flush, so the last of these threads leaves no
            // request behind.
            if schedule.last_group_end >= lsn && self.has_daemons && !schedule.stopping {
                return self.signal(&mut schedule);
            }
            let Some(group) = self.begin(&mut schedule, 0) else { return };
            drop(schedule);
            self.flush(group, true);
        }
    }

    /// Ends the gathered records with a trailer, as a group (FLUSH-1). The caller flushes it.
    fn begin(&self, schedule: &mut Schedule, flags: u8) -> Option<LsnSpan> {
        let fields = TrailerFields {
            stamp: self.stamp,
            durable: self.parts.ring.durable(),
            flags,
            even_empty: flags & FLAG_CLOSED != 0,
        };
        let trailer = self.parts.insertion.end_group(schedule.last_group_end, fields)?;
        let trailer_bytes = trailer.span.end.0 - trailer.span.start.0;
        self.parts.space.pay_trailer(trailer_bytes, trailer.trailers_paid);
        let group = LsnSpan { start: schedule.last_group_end, end: trailer.span.end };
        let follows = group.start <= trailer.span.start && trailer.span.start < group.end;
        invariant(follows, "FLUSH-1: a group ends with its trailer");
        let has_place = schedule.in_flight.len() < self.in_flight_max.max(1);
        invariant(has_place, "flush: at most in_flight_max groups are in flight");
        schedule.last_group_end = group.end;
        schedule.last_bytes = trailer.span.start.0 - group.start.0;
        let started = Instant::now();
        schedule.last_start = Some(started);
        schedule.in_flight.push_back(InFlight { end: group.end, started, is_complete: false });
        schedule.is_signalled = false;
        schedule.figures.flushes += 1;
        schedule.figures.bytes += group.end.0 - group.start.0;
        schedule.figures.trailer_bytes += trailer_bytes;
        if let Some(policy) = &self.other_policy {
            policy.start_group();
        }
        self.publish_thresholds(schedule);
        Some(group)
    }

    /// Writes a group, completes the flush, and wakes the waiters up to the durable LSN.
    /// `caller_returns` is true for a caller that is not a daemon: before it wakes the waiters,
    /// this call wakes a daemon if another group can start, since the caller may return to other
    /// work.
    fn flush(&self, group: LsnSpan, caller_returns: bool) {
        let mut guard = CompletionGuard { flusher: self, group, result: None };
        self.parts.insertion.await_released(group);
        // SAFETY: RING-4. `await_released` has returned; and the durable LSN cannot pass the start
        // of this group before its flush completes (FLUSH-2), which is after the last use of the
        // bytes.
        let bytes = unsafe { self.parts.ring.released(group) };
        failpoint::pass(Failpoint::GroupFormed);
        let written = self.parts.segments.write_durable(group, bytes);
        guard.result = Some(written);
        failpoint::pass(Failpoint::GroupWritten);
        drop(guard);
        failpoint::pass(Failpoint::GroupCompleted);
        if self.parts.health.is_poisoned() {
            return self.wake_after_failure();
        }
        let ready = self.parts.completion.take_up_to(self.parts.ring.durable());
        // Waking many waiters takes longer than waking one daemon: let a daemon start the next
        // group meanwhile.
        if caller_returns || ready.len() > WAKE_ALONE_MAX {
            self.wake_daemon();
        }
        ready.into_iter().for_each(wake);
    }

    /// Completes an in-flight flush (FLUSH-2).
    fn complete(&self, group: LsnSpan, result: Result<()>) {
        let mut schedule = self.schedule.lock();
        if let Err(cause) = result {
            self.parts.health.poison(cause);
        }
        let flush = schedule.in_flight.iter_mut().find(|flush| flush.end == group.end);
        invariant(flush.is_some(), "FLUSH-2: a flush that completes was in flight");
        if let Some(flush) = flush {
            flush.is_complete = true;
            schedule.last_flush = flush.started.elapsed();
        }
        let mut durable = None;
        while schedule.in_flight.front().is_some_and(|flush| flush.is_complete) {
            durable = schedule.in_flight.pop_front().map(|flush| flush.end);
        }
        // A failed flush counts as complete in the loop above, but after a failure the durable LSN
        // must not move (FLUSH-2). A poisoned log stays poisoned (HEALTH-1), so no later flush
        // moves it either.
        if let Some(lsn) = durable
            && !self.parts.health.is_poisoned()
        {
            self.parts.ring.set_durable(lsn);
        }
        self.publish_thresholds(&mut schedule);
    }

    /// Stops the log: the durable LSN does not move any more, and all waiters are woken.
    pub(crate) fn poison(&self, cause: Error) {
        {
            // Under the mutex, so that no completion is half done (FLUSH-2).
            let _schedule = self.schedule.lock();
            self.parts.health.poison(cause);
        }
        self.wake_after_failure();
    }

    /// Wakes all threads that wait for the log, after it was poisoned.
    fn wake_after_failure(&self) {
        self.parts.completion.wake_all();
        self.parts.space.wake_waiters();
    }

    /// Writes the epoch's first group on this thread, before there are others.
    pub(crate) fn write_first(&self) {
        self.write_alone(0);
    }

    /// Writes the closing trailer, in a group of its own. The insertion is closed and everything
    /// before its end is durable, so no flush is in flight, and none begins (FLUSH-8).
    pub(crate) fn write_closing(&self) {
        self.write_alone(FLAG_CLOSED);
    }

    fn write_alone(&self, flags: u8) {
        let mut schedule = self.schedule.lock();
        if self.parts.health.is_poisoned() {
            return;
        }
        let is_quiet = schedule.in_flight.is_empty();
        if !invariant(is_quiet, "FLUSH-8: nothing is in flight at the log's start and end") {
            return;
        }
        if let Some(group) = self.begin(&mut schedule, flags) {
            drop(schedule);
            self.flush(group, true);
        }
    }

    /// Returns the totals so far.
    pub(crate) fn figures(&self) -> FlushFigures {
        self.schedule.lock().figures
    }

    fn situation(&self, schedule: &Schedule) -> Situation {
        let requested = self.requested.load(Ordering::SeqCst);
        let is_awaited = self.awaited.load(Ordering::SeqCst) > schedule.last_group_end.0;
        Situation {
            in_flight: schedule.in_flight.len(),
            in_flight_max: self.in_flight_max,
            last_bytes: schedule.last_bytes,
            gathered: requested.saturating_sub(schedule.last_group_end.0),
            is_awaited,
            delayed_until: self.delayed_until(schedule),
            is_slow: schedule.last_flush >= 2 * self.group_commit_delay,
        }
    }

    fn decide(&self, schedule: &Schedule) -> Decision {
        if self.parts.health.is_poisoned() {
            return Decision::Rest;
        }
        let situation = self.situation(schedule);
        match &self.other_policy {
            None => decide(Instant::now, &situation),
            Some(_) if situation.gathered == 0 => Decision::Rest,
            Some(policy) => {
                let start = schedule.last_group_end;
                let decision =
                    policy.decide(LsnSpan { start, end: Lsn(start.0 + situation.gathered) });
                let has_place = situation.in_flight < situation.in_flight_max;
                if has_place { decision } else { Decision::Rest }
            }
        }
    }

    /// Signals a sleeping daemon, once; a daemon that is awake decides again before it sleeps
    /// (FLUSH-6).
    fn signal(&self, schedule: &mut Schedule) {
        if schedule.daemons_asleep > 0 && !schedule.is_signalled {
            schedule.is_signalled = true;
            self.publish_thresholds(schedule);
            self.changed.notify_one();
        }
    }

    /// Returns the time until which requests without a waiter are delayed; `None` without a
    /// group-commit delay.
    fn delayed_until(&self, schedule: &Schedule) -> Option<Instant> {
        let has_delay = self.other_policy.is_none() && !self.group_commit_delay.is_zero();
        schedule.last_start.filter(|_| has_delay)?.checked_add(self.group_commit_delay)
    }

    /// Publishes the wake thresholds, from which on requesters must check the schedule (FLUSH-5). A
    /// signalled daemon will decide for all requests, the timer daemon for those without a waiter.
    fn publish_thresholds(&self, schedule: &mut Schedule) {
        let situation = self.situation(schedule);
        let last_group_end = schedule.last_group_end.0;
        let from = |is_awaited: bool, is_handled: bool| {
            let bytes = wake_threshold(&situation, is_awaited).filter(|_| !is_handled);
            bytes.map_or(u64::MAX, |bytes| last_group_end.saturating_add(bytes))
        };
        let awaited = from(true, schedule.is_signalled);
        let unawaited = from(false, schedule.is_signalled || schedule.has_timer);
        self.thresholds.awaited.store(awaited, Ordering::SeqCst);
        self.thresholds.unawaited.store(unawaited, Ordering::SeqCst);
        self.thresholds.last_group_end.store(last_group_end, Ordering::SeqCst);
    }
}

/// If a daemon has more waiters to wake than this, it first signals another daemon to start the
/// next group, and then wakes them all. Waking one waiter takes about 5 µs.
const WAKE_ALONE_MAX: usize = 4;

/// Completes a flush even if the disk panicked: that is a failure like any other.
struct CompletionGuard<'a> {
    flusher: &'a Flusher,
    group: LsnSpan,
    result: Option<Result<()>>,
}

impl Drop for CompletionGuard<'_> {
    fn drop(&mut self) {
        let panicked = || Err(Error::Panicked { message: "the log's disk panicked".to_string() });
        self.flusher.complete(self.group, self.result.take().unwrap_or_else(panicked));
        if std::thread::panicking() {
            self.flusher.wake_after_failure();
        }
    }
}
