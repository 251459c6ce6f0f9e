//! From the ring to the device: groups, flights, and the durable LSN.
//!
//! A *group* is what was inserted since the last one; a seal ends it at a sector boundary. A
//! *flight* is a group's write. Any thread can fly: daemons do it for pipelined work, and a
//! committer that finds the device free does it for itself, without a change of threads.
//!
//! ```text
//!          durable          sealed              end of the log
//!  ─────────┴── flight ─┬─ flight ─┴── gathering ──┘
//!                       └ landed early: waits for the one before it
//!
//!  request ─▶ gathering ──begin──▶ in flight ──land──▶ landed ──all before it landed──▶ durable
//!                                      └── error ──▶ poisoned: nothing becomes durable any more
//! ```
//!
//! Invariants:
//! - W1. Groups are consecutive, and only `begin` makes them, under the schedule's mutex.
//! - W2. The durable LSN moves only in `land`, under that mutex, to the end of a group before which
//!   every group has landed, and never once the log is poisoned.
//! - W3. A group is written once. A failed write or sync is never tried again.
//! - W4. At most `in_flight_max` flights at a time.
//! - W5. No lost request. A requester raises `requested` (and `awaited`, if it must not linger),
//!   then reads the attention of its kind; a flusher writes both attentions, then reads both of
//!   those (in `decide`). All of it is SeqCst, so if the requester read an attention that let it
//!   go, the flusher that wrote a lower one sees the request. One that waits reads `requested`
//!   again after it has raised `awaited`: a request that nobody waits for either sees it or is
//!   seen by it. A requester that does not go decides and signals under the mutex, under which
//!   daemons decide and go to sleep.
//! - W6. Whoever changes the schedule so that a group may start either starts it or signals a
//!   sleeping daemon, if there is one; a daemon that is awake decides again before it sleeps.
//!   For what may start at a later time a daemon will be awake by then: the *timekeeper*.
//! - W7. A daemon ends only when it is told to. One that panics stops the log, and a waker's panic
//!   ends no daemon.
//! - W8. After the closing seal nothing is written: the cursor is closed, so nothing can gather.
//!
//! Latch order: `schedule` → the insertion's latch, the preparer's mutex, the claims' waiting room.
//! No I/O under `schedule`.
//!
//! The group commit is that of "Aether", section 4 (flush pipelining), with three differences:
//! overlapping flights; the lone committer as its own flusher; and requests that are signalled
//! under the mutex, so that no time-out is needed for progress of what somebody waits for.

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
    zoo::{self, Bug},
};
use clearway_sync::{
    Broken, CachePadded, Condvar, Mutex, Stop,
    atomic::{AtomicU64, Ordering},
    invariant, wake,
};

use crate::{
    claims::Claims,
    completion::CompletionQueue,
    health::Health,
    insertion::{Insertion, SealWords},
    options::{GroupPolicy, LogOptions},
    record::{FLAG_CLOSED, Stamp},
    ring::Ring,
    segments::Segments,
};
use policy::{Decision, Situation, attention, decide};

/// What a flusher works with.
pub(crate) struct Parts {
    pub(crate) ring: Arc<Ring>,
    pub(crate) insertion: Arc<dyn Insertion>,
    pub(crate) segments: Arc<Segments>,
    pub(crate) claims: Arc<Claims>,
    pub(crate) health: Arc<Health>,
    pub(crate) completion: Arc<CompletionQueue>,
}

/// Makes groups and flies them.
pub(crate) struct Flusher {
    parts: Parts,
    stamp: Stamp,
    policy: GroupPolicy,
    in_flight_max: usize,
    linger: Duration,
    has_daemons: bool,
    /// The highest LSN that anybody wants to be durable.
    requested: CachePadded<AtomicU64>,
    /// The highest LSN that was requested when last somebody began to wait, or inserts had passed
    /// an eighth of the ring: up to here nothing lingers.
    awaited: CachePadded<AtomicU64>,
    attention: CachePadded<Attention>,
    /// Requests since the last group; counted under a fixed policy alone.
    requests: AtomicU64,
    schedule: Mutex<Schedule>,
    changed: Condvar,
}

/// Requests below these LSNs need not look at the schedule (W5).
struct Attention {
    /// Those that somebody waits for.
    awaited: AtomicU64,
    /// The others; but once somebody waits for something behind `sealed`, they are as those.
    lingering: AtomicU64,
    /// The end of the last group.
    sealed: AtomicU64,
}

/// Who flies what. All of it under the mutex.
struct Schedule {
    /// The end of the last group and the start of the next.
    sealed: Lsn,
    /// In LSN order; the first has not landed.
    flights: VecDeque<Flight>,
    last_bytes: u64,
    /// When the last group was started, and how long the flight took that landed last.
    last_start: Option<Instant>,
    last_flight: Duration,
    /// Start whatever the policy says, up to here.
    urgent: Lsn,
    first_request: Option<Instant>,
    daemons_asleep: usize,
    /// A sleeping daemon was signalled and is on its way.
    is_signalled: bool,
    /// One of those asleep will be awake when a group may start that may not yet (W6).
    has_timekeeper: bool,
    stopping: bool,
    figures: FlushFigures,
}

struct Flight {
    end: Lsn,
    started: Instant,
    has_landed: bool,
}

impl Stop for Flusher {
    fn stop(&self, broken: Broken) {
        // Without the mutex: the caller may hold it. A flight that lands at this very moment has
        // landed before (W2).
        self.parts.health.poison(Error::broken_invariant(broken.what, broken.place));
    }

    fn wake_waiters(&self) {
        // No landing is half done after this (W2).
        drop(self.schedule.lock());
        self.tell_failure();
    }
}

/// Totals for [`LogStats`](crate::LogStats).
#[derive(Clone, Copy, Default)]
pub(crate) struct FlushFigures {
    pub(crate) flushes: u64,
    pub(crate) bytes: u64,
    pub(crate) seal_bytes: u64,
}

impl Flusher {
    /// A flusher for a log whose first group begins at `start`.
    pub(crate) fn new(parts: Parts, options: &LogOptions, stamp: Stamp, start: Lsn) -> Flusher {
        Flusher {
            parts,
            stamp,
            // Without daemons nobody would watch the clock.
            policy: if options.background { options.group } else { GroupPolicy::Adaptive },
            in_flight_max: options.flushes_in_flight,
            linger: options.linger,
            has_daemons: options.background,
            requested: CachePadded::new(AtomicU64::new(0)),
            awaited: CachePadded::new(AtomicU64::new(0)),
            attention: CachePadded::new(Attention {
                awaited: AtomicU64::new(0),
                lingering: AtomicU64::new(0),
                sealed: AtomicU64::new(start.0),
            }),
            requests: AtomicU64::new(0),
            schedule: Mutex::new(Schedule {
                sealed: start,
                flights: VecDeque::new(),
                last_bytes: 0,
                last_start: None,
                last_flight: Duration::ZERO,
                urgent: Lsn::ZERO,
                first_request: None,
                daemons_asleep: 0,
                is_signalled: false,
                has_timekeeper: false,
                stopping: false,
                figures: FlushFigures::default(),
            }),
            changed: Condvar::new(),
        }
    }

    /// Asks for durability up to `lsn`, which is at most the end of the log. Nobody waits for it.
    #[inline]
    pub(crate) fn request(&self, lsn: Lsn) {
        if self.is_news(lsn) {
            self.nudge();
        }
    }

    /// Raises the request; whether the schedule has to be looked at because of it.
    #[inline]
    fn is_news(&self, lsn: Lsn) -> bool {
        if self.policy != GroupPolicy::Adaptive {
            self.requests.fetch_add(1, Ordering::SeqCst);
        } else if self.requested.load(Ordering::SeqCst) >= lsn.0 {
            // Whoever requested that much has looked, or looks now.
            return false;
        }
        self.requested.fetch_max(lsn.0, Ordering::SeqCst);
        let attention = &*self.attention;
        lsn.0 >= attention.lingering.load(Ordering::SeqCst)
            || lsn.0 >= attention.awaited.load(Ordering::SeqCst)
                && self.awaited.load(Ordering::SeqCst) > attention.sealed.load(Ordering::SeqCst)
    }

    /// Asks for durability up to `lsn` for somebody who waits for it, or for so much that it needs
    /// no linger.
    pub(crate) fn await_soon(&self, lsn: Lsn) {
        if self.policy != GroupPolicy::Adaptive {
            self.request(lsn);
        } else if self.is_awaited_news(lsn) {
            self.nudge();
        }
    }

    /// Raises the request and ends the linger: a thread that waits has no other work to do, and
    /// what others have requested may as well go. Whether the schedule has to be looked at.
    fn is_awaited_news(&self, lsn: Lsn) -> bool {
        let requested = self.requested.fetch_max(lsn.0, Ordering::SeqCst).max(lsn.0);
        if self.awaited.load(Ordering::SeqCst) < requested {
            self.awaited.fetch_max(requested, Ordering::SeqCst);
        }
        // Read again: what was requested meanwhile saw nobody wait.
        let requested = self.requested.load(Ordering::SeqCst);
        requested >= self.attention.awaited.load(Ordering::SeqCst)
    }

    /// Wakes a daemon if a group can start, or if there is no timekeeper for when it can (W6).
    #[cold]
    fn nudge(&self) {
        let mut schedule = self.schedule.lock();
        self.note_first_request(&mut schedule);
        match self.decide(&schedule) {
            Decision::Start => self.signal(&mut schedule),
            Decision::At(_) if !schedule.has_timekeeper => self.signal(&mut schedule),
            Decision::At(_) | Decision::Rest => {}
        }
    }

    /// For somebody who is about to wait for `lsn`: the limits of a fixed policy do not count.
    pub(crate) fn press(&self, lsn: Lsn) {
        if self.policy == GroupPolicy::Adaptive {
            return;
        }
        self.requested.fetch_max(lsn.0, Ordering::SeqCst);
        let mut schedule = self.schedule.lock();
        schedule.urgent = schedule.urgent.max(lsn);
        if self.decide(&schedule) == Decision::Start {
            self.signal(&mut schedule);
        }
    }

    /// Requests `lsn` for the calling thread, which will wait, and flies the group on it if that
    /// can start now.
    pub(crate) fn lead(&self, lsn: Lsn) {
        if self.policy != GroupPolicy::Adaptive {
            return self.request(lsn);
        }
        if !self.is_awaited_news(lsn) {
            return;
        }
        loop {
            let mut schedule = self.schedule.lock();
            if self.decide(&schedule) != Decision::Start {
                return;
            }
            // Without daemons, or once they are gone, whoever lands last carries on.
            if schedule.sealed >= lsn && self.has_daemons && !schedule.stopping {
                return self.signal(&mut schedule);
            }
            let Some(group) = self.begin(&mut schedule, 0) else { return };
            drop(schedule);
            self.fly(group, true);
        }
    }

    /// Seals what was gathered (W1). The caller flies it.
    fn begin(&self, schedule: &mut Schedule, flags: u8) -> Option<LsnSpan> {
        let words = SealWords {
            stamp: self.stamp,
            durable: self.parts.ring.durable(),
            flags,
            even_empty: flags & FLAG_CLOSED != 0,
        };
        let seal = self.parts.insertion.seal(schedule.sealed, words)?;
        let seal_bytes = seal.span.end.0 - seal.span.start.0;
        self.parts.claims.pay_seal(seal_bytes, seal.seals_paid);
        let group = LsnSpan { start: schedule.sealed, end: seal.span.end };
        let follows = group.start <= seal.span.start && seal.span.start < group.end;
        invariant(follows, "flush W1: a group ends with its seal");
        let has_place = schedule.flights.len() < self.in_flight_max.max(1);
        invariant(has_place, "flush: no more groups are in flight than may be");
        schedule.sealed = group.end;
        schedule.last_bytes = seal.span.start.0 - group.start.0;
        let started = Instant::now();
        schedule.last_start = Some(started);
        schedule.flights.push_back(Flight { end: group.end, started, has_landed: false });
        schedule.is_signalled = false;
        schedule.first_request = None;
        schedule.figures.flushes += 1;
        schedule.figures.bytes += group.end.0 - group.start.0;
        schedule.figures.seal_bytes += seal_bytes;
        self.requests.store(0, Ordering::SeqCst);
        self.publish_attention(schedule);
        Some(group)
    }

    /// Writes a group, lands it, and wakes whoever waited for it. `leaves`: the caller has
    /// something else to do afterwards and will not decide again.
    fn fly(&self, group: LsnSpan, leaves: bool) {
        let mut landing = Landing { flusher: self, group, result: None };
        self.parts.insertion.await_released(group);
        // SAFETY: R4. `await_released` has returned; and the durable LSN cannot pass the start of
        // this group before it lands (W2), which is after the last use of the bytes.
        let bytes = unsafe { self.parts.ring.released(group) };
        failpoint::pass(Failpoint::GroupSealed);
        let mut written = self.parts.segments.write_durable(group, bytes);
        if written.is_err() && zoo::has(Bug::FailedWriteRepeated) {
            written = self.parts.segments.write_durable(group, bytes);
        }
        landing.result = Some(written);
        failpoint::pass(Failpoint::GroupWritten);
        drop(landing);
        failpoint::pass(Failpoint::GroupLanded);
        if self.parts.health.is_poisoned() {
            return self.tell_failure();
        }
        let ready = self.parts.completion.take_up_to(self.parts.ring.durable());
        // Waking many takes longer than waking one daemon: let it start the next group meanwhile.
        if leaves || ready.len() > WAKE_ALONE_MAX {
            self.nudge();
        }
        ready.into_iter().for_each(wake);
    }

    /// A flight is over (W2).
    fn land(&self, group: LsnSpan, result: Result<()>) {
        let mut schedule = self.schedule.lock();
        if let Err(cause) = result
            && !zoo::has(Bug::SyncErrorIgnored)
        {
            self.parts.health.poison(cause);
        }
        let flight = schedule.flights.iter_mut().find(|flight| flight.end == group.end);
        invariant(flight.is_some(), "flush W2: a flight that lands was under way");
        if let Some(flight) = flight {
            flight.has_landed = true;
            schedule.last_flight = flight.started.elapsed();
        }
        let mut durable = None;
        while schedule.flights.front().is_some_and(|flight| flight.has_landed) {
            durable = schedule.flights.pop_front().map(|flight| flight.end);
        }
        // Holds by H1: no later flight may land over a failed one.
        if let Some(lsn) = durable
            && !self.parts.health.is_poisoned()
        {
            self.parts.ring.set_durable(lsn);
        }
        self.publish_attention(&mut schedule);
    }

    /// Stops the log: nothing becomes durable any more, and everybody who waits is told.
    pub(crate) fn poison(&self, cause: Error) {
        {
            // Under the mutex, so that no landing is half done (W2).
            let _schedule = self.schedule.lock();
            self.parts.health.poison(cause);
        }
        self.tell_failure();
    }

    fn tell_failure(&self) {
        self.parts.completion.wake_all();
        self.parts.claims.tell_waiters();
    }

    /// Writes the epoch's first group on this thread, before there are others.
    pub(crate) fn write_first(&self) {
        self.write_alone(0);
    }

    /// Writes the closing seal, in a group of its own. The cursor is closed and everything before
    /// its end is durable, so no flight is under way, and none begins (W8).
    pub(crate) fn write_closing(&self) {
        self.write_alone(FLAG_CLOSED);
    }

    fn write_alone(&self, flags: u8) {
        let mut schedule = self.schedule.lock();
        if self.parts.health.is_poisoned() {
            return;
        }
        let is_quiet = schedule.flights.is_empty();
        if !invariant(is_quiet, "flush W8: nothing is in flight at the log's start and end") {
            return;
        }
        if let Some(group) = self.begin(&mut schedule, flags) {
            drop(schedule);
            self.fly(group, true);
        }
    }

    /// Totals so far.
    pub(crate) fn figures(&self) -> FlushFigures {
        self.schedule.lock().figures
    }

    fn situation(&self, schedule: &Schedule) -> Situation {
        let requested = self.requested.load(Ordering::SeqCst);
        let is_awaited = self.awaited.load(Ordering::SeqCst) > schedule.sealed.0;
        Situation {
            in_flight: schedule.flights.len(),
            in_flight_max: self.in_flight_max,
            last_bytes: schedule.last_bytes,
            gathered: requested.saturating_sub(schedule.sealed.0),
            is_awaited,
            linger_until: self.linger_until(schedule),
            is_slow: schedule.last_flight >= 2 * self.linger,
            requests: self.requests.load(Ordering::SeqCst),
            first_request: schedule.first_request,
            is_urgent: schedule.urgent > schedule.sealed,
        }
    }

    fn decide(&self, schedule: &Schedule) -> Decision {
        if self.parts.health.is_poisoned() {
            return Decision::Rest;
        }
        decide(self.policy, Instant::now, &self.situation(schedule))
    }

    /// Signals a sleeping daemon, once; if none sleeps, one is about to decide (W6).
    fn signal(&self, schedule: &mut Schedule) {
        if schedule.daemons_asleep > 0 && !schedule.is_signalled {
            schedule.is_signalled = true;
            self.publish_attention(schedule);
            self.changed.notify_one();
        }
    }

    /// Until when what nobody waits for lingers; `None` without a linger.
    fn linger_until(&self, schedule: &Schedule) -> Option<Instant> {
        let lingers = self.policy == GroupPolicy::Adaptive && !self.linger.is_zero();
        schedule.last_start.filter(|_| lingers)?.checked_add(self.linger)
    }

    /// Under a fixed policy the first request of a group starts the clock.
    fn note_first_request(&self, schedule: &mut Schedule) {
        if self.policy != GroupPolicy::Adaptive
            && schedule.first_request.is_none()
            && self.situation(schedule).gathered > 0
        {
            schedule.first_request = Some(Instant::now());
        }
    }

    /// Tells requesters from where on they have to look (W5). A daemon that is signalled will
    /// decide for all of them, a timekeeper for those that nobody waits for.
    fn publish_attention(&self, schedule: &mut Schedule) {
        let situation = self.situation(schedule);
        let from = |is_awaited: bool, is_seen_to: bool| match attention(
            self.policy,
            &situation,
            is_awaited,
        ) {
            Some(bytes) if !is_seen_to => schedule.sealed.0.saturating_add(bytes),
            Some(0) => 0,
            _ => u64::MAX,
        };
        let awaited = from(true, schedule.is_signalled);
        let lingering = from(false, schedule.is_signalled || schedule.has_timekeeper);
        self.attention.awaited.store(awaited, Ordering::SeqCst);
        self.attention.lingering.store(lingering, Ordering::SeqCst);
        self.attention.sealed.store(schedule.sealed.0, Ordering::SeqCst);
    }
}

/// Waiters that a daemon wakes by itself before it looks for the next group: about 5 µs each.
const WAKE_ALONE_MAX: usize = 4;

/// Lands a flight even if the disk panicked under it: that is a failure like any other.
struct Landing<'a> {
    flusher: &'a Flusher,
    group: LsnSpan,
    result: Option<Result<()>>,
}

impl Drop for Landing<'_> {
    fn drop(&mut self) {
        let panicked = || Err(Error::Panicked { message: "the log's disk panicked".to_string() });
        self.flusher.land(self.group, self.result.take().unwrap_or_else(panicked));
        if std::thread::panicking() {
            self.flusher.tell_failure();
        }
    }
}
