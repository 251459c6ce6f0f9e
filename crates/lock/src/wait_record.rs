//! The lock table's part of a participant record: the state of a waiting owner that other threads
//! must see.
//!
//! Invariants:
//! - WAIT-RECORD-1. `state` is changed from idle to waiting by the record's owner, under the latch
//!   of what it waits for (a bucket or a resource) and *after* its request is in the queue; from
//!   waiting to granted by the granting thread, under the same latch; and from either to idle by
//!   the owner (from waiting only under that latch, with the request removed).
//! - WAIT-RECORD-2. While an owner waits, it neither acquires nor releases anything else.
//! - WAIT-RECORD-3. While an owner waits, `intents` has the intent locks that it holds, all stored
//!   before the wait was published.
//! - WAIT-RECORD-4. A waiting owner publishes its priority before its wait. A wait is marked as
//!   blocking (`blocking_wait`) only once its thread blocks in it.
//! - WAIT-RECORD-5. The time of a grant is recorded for polled waits only, by the granting thread,
//!   after the grant and before the wake-up. It carries the number of the wait (modulo 2¹⁶), so an
//!   owner that notices a grant before its time is recorded does not use the time of another wait.
//!
//! ```text
//!            publish_wait                 grant
//!   idle ──────────────────▶ waiting ───────────────▶ granted
//!    ▲                          │ withdraw               │ end_wait
//!    └──────────────────────────┴────────────────────────┘
//! ```
//!
//! Orderings: `publish_wait` stores and detectors load with `SeqCst`; the proof that no cycle is
//! missed (see `deadlock`) needs one total order of these. A grant is stored with `Release` and
//! pairs with the `Acquire` in `is_granted`: the granted owner sees what the granting thread wrote
//! before, in particular the raised tag.

use std::{sync::Arc, task::Waker, time::Duration};

use clearway_sync::{
    Counter, SpinLatch,
    atomic::{AtomicBool, AtomicU64, Ordering},
    invariant,
};

use crate::{identity::LockId, published_intents::PublishedIntents, victims::PublishedPriority};

/// The target of a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    Range(LockId),
    /// Index of the resource's entry.
    Intent(u32),
}

/// The state of a wait, packed: its number in the upper bits, its phase in the lower two.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct WaitState(u64);

const IDLE: u64 = 0;
const ON_RANGE: u64 = 1;
const ON_INTENT: u64 = 2;
const GRANTED: u64 = 3;
const PHASE: u64 = 3;
/// The bits of a recorded grant that are its time; those above are the wait's number, modulo 2¹⁶.
const GRANT_TIME_BITS: u32 = 48;
const GRANT_TIME: u64 = (1 << GRANT_TIME_BITS) - 1;

impl WaitState {
    pub(crate) fn is_waiting(self) -> bool {
        matches!(self.0 & PHASE, ON_RANGE | ON_INTENT)
    }
}

/// The stall time of the owners of a record, in nanoseconds; see `stalls`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stall {
    /// The time of the page waits and parts of lock waits that have ended.
    pub(crate) passed: u64,
    pub(crate) open: OpenStall,
    /// The part behind readers of the last lock wait, until it is taken.
    pub(crate) last_wait: u64,
}

/// A wait that goes on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum OpenStall {
    #[default]
    None,
    /// A page wait, which began at this time since the creation of the table.
    Page { since: u64 },
    /// A lock wait, which began at this time of the lock's clock.
    Lock { target: Target, base: u64 },
}

/// See the module.
#[derive(Default)]
pub(crate) struct WaitRecord {
    state: AtomicU64,
    /// The lock identity or resource waited for; written before `state` (WAIT-RECORD-1).
    target: AtomicU64,
    waker: SpinLatch<Option<Waker>>,
    /// The intent locks of the owner, who has the list too.
    pub(crate) intents: Arc<PublishedIntents>,
    /// True if a thread blocks in the wait and repeats its deadlock check by itself
    /// (WAIT-RECORD-4).
    blocking_wait: AtomicBool,
    /// The state of the wait in which another owner has marked this one as a cycle's victim; 0 for
    /// none.
    victim_wait: AtomicU64,
    /// The time of the last recorded grant (WAIT-RECORD-5), in microseconds since the lock
    /// table was created.
    granted_at: AtomicU64,
    pub(crate) priority: PublishedPriority,
    pub(crate) counters: OwnerCounters,
    /// The time for which the record's owners were stalled (STALL-2).
    pub(crate) stall: SpinLatch<Stall>,
}

/// The counters of a record's owner; written only when it has to wait, and summed on request.
#[derive(Default)]
pub(crate) struct OwnerCounters {
    pub(crate) waits: Counter,
    pub(crate) intent_waits: Counter,
    pub(crate) wait_us: Counter,
    pub(crate) parks: Counter,
    pub(crate) spurious_wakeups: Counter,
    pub(crate) timeouts: Counter,
    pub(crate) searches: Counter,
    pub(crate) deadlocks: Counter,
    pub(crate) false_alarms: Counter,
    pub(crate) false_deaths: Counter,
    pub(crate) victims_marked: Counter,
}

impl WaitRecord {
    /// Publishes a wait. The caller holds the latch of `target` and has queued its request
    /// (WAIT-RECORD-1).
    pub(crate) fn publish_wait(&self, target: Target) {
        let (phase, id) = match target {
            Target::Range(id) => (ON_RANGE, id.0),
            Target::Intent(entry) => (ON_INTENT, u64::from(entry)),
        };
        // Relaxed: ordered by the store to `state`, which detectors load first.
        self.target.store(id, Ordering::Relaxed);
        self.blocking_wait.store(false, Ordering::Relaxed); // WAIT-RECORD-4
        // Relaxed: only the owner changes an idle record.
        let state = self.state.load(Ordering::Relaxed);
        invariant(state & PHASE == IDLE, "WAIT-RECORD-1: an owner waits for one lock at a time");
        let number = (state & !PHASE) + PHASE + 1;
        self.state.store(number | phase, Ordering::SeqCst);
    }

    /// Grants the owner what it waits for. The caller holds the target's latch (WAIT-RECORD-1).
    pub(crate) fn grant(&self) {
        // Relaxed load: no other thread changes a waiting record while the caller holds the latch.
        let state = self.state.load(Ordering::Relaxed);
        invariant(
            WaitState(state).is_waiting(),
            "WAIT-RECORD-1: an owner that is granted a lock waits for it",
        );
        // Release pairs with the Acquire in `is_granted`.
        self.state.store(state | GRANTED, Ordering::Release);
    }

    /// Returns true if the owner's wait has ended with a grant.
    #[inline]
    pub(crate) fn is_granted(&self) -> bool {
        // Acquire pairs with the Release in `grant`.
        self.state.load(Ordering::Acquire) & PHASE == GRANTED
    }

    /// Returns the record to idle. Called by the owner, once granted, or under the target's latch
    /// (WAIT-RECORD-1).
    pub(crate) fn end_wait(&self) {
        // Relaxed: an idle record carries no information; detectors skip it.
        let state = self.state.load(Ordering::Relaxed);
        invariant(state & PHASE != IDLE, "WAIT-RECORD-1: a wait ends once");
        self.state.store(state & !PHASE | IDLE, Ordering::Relaxed);
    }

    /// Returns the state, for detectors.
    pub(crate) fn state(&self) -> WaitState {
        WaitState(self.state.load(Ordering::SeqCst))
    }

    /// Returns the target of the owner's wait in the given state.
    ///
    /// If the owner has moved on since, the result may belong to a later wait; the detector's
    /// validation then finds another state.
    pub(crate) fn target(&self, state: WaitState) -> Option<Target> {
        // Relaxed: the load of `state` came before and was SeqCst.
        let id = self.target.load(Ordering::Relaxed);
        match state.0 & PHASE {
            ON_RANGE => Some(Target::Range(LockId(id))),
            ON_INTENT => Some(Target::Intent(id as u32)),
            _ => None,
        }
    }

    /// Marks the wait as blocking: the owner's thread will repeat its deadlock check as the method
    /// requires.
    pub(crate) fn mark_blocking_wait(&self) {
        // Relaxed: a detector that sees it late walks through this waiter, which is also correct.
        self.blocking_wait.store(true, Ordering::Relaxed);
    }

    /// Returns true if the owner was granted a lock that it polls for.
    pub(crate) fn is_polled_grant(&self) -> bool {
        self.is_granted() && !self.blocking_wait.load(Ordering::Relaxed) // its own
    }

    /// Returns true if the owner waits and repeats its deadlock check by itself.
    pub(crate) fn is_blocking_wait(&self) -> bool {
        // Relaxed: the load of `state` before it is SeqCst, so a polled wait that is published is
        // not taken for a blocking one that came earlier in the same record.
        self.state().is_waiting() && self.blocking_wait.load(Ordering::Relaxed)
    }

    /// Records the time of the grant if the wait is a polled one and its owner has not picked up
    /// the lock yet (WAIT-RECORD-5).
    pub(crate) fn record_grant(&self, now_us: impl FnOnce() -> u64) {
        // Relaxed throughout: a measurement. If the owner moves on meanwhile, the number is not
        // that of its next wait.
        let state = self.state.load(Ordering::Relaxed);
        if state & PHASE == GRANTED && !self.blocking_wait.load(Ordering::Relaxed) {
            let stamp = grant_number(state) | now_us();
            self.granted_at.store(stamp, Ordering::Relaxed);
        }
    }

    /// Returns the recorded time of the grant of the present wait.
    pub(crate) fn granted_us(&self) -> Option<u64> {
        let stamp = self.granted_at.load(Ordering::Relaxed);
        let state = self.state.load(Ordering::Relaxed); // The caller's own.
        (stamp & !GRANT_TIME == grant_number(state)).then_some(stamp & GRANT_TIME)
    }

    /// Marks the owner as the victim of a cycle that contains this wait. Called under the
    /// `confirmation` mutex.
    pub(crate) fn mark_victim(&self, wait: WaitState) {
        // SeqCst, like the load: the owner stores its waker and then checks, the marking thread
        // marks and then takes the waker (the latch of the waker orders the two).
        self.victim_wait.store(wait.0, Ordering::SeqCst);
    }

    /// Returns true if the owner is marked as a victim in its present wait.
    pub(crate) fn is_marked_victim(&self) -> bool {
        self.victim_wait.load(Ordering::SeqCst) == self.state().0 && self.state().is_waiting()
    }

    /// Clears the victim mark. Called by the owner, under the `confirmation` mutex.
    pub(crate) fn unmark_victim(&self) {
        self.victim_wait.store(0, Ordering::SeqCst);
    }

    /// Stores the waker for the grant, and *then* checks for the grant. Returns true if the lock is
    /// granted.
    ///
    /// The granting thread stores the grant and then takes the waker. The latch around the waker
    /// orders the two: the second one sees what the first has done.
    pub(crate) fn is_granted_or_wakes(&self, waker: &Waker) -> bool {
        let is_there = self.waker.lock().as_ref().is_some_and(|old| old.will_wake(waker));
        if !is_there {
            // Clone and drop outside of the latch, since both run user code. No other thread stores
            // a waker meanwhile; if a granting thread takes the old one, the grant is already
            // stored.
            let waker = waker.clone();
            let old = self.waker.lock().replace(waker);
            drop(old);
        }
        self.is_granted()
    }

    pub(crate) fn take_waker(&self) -> Option<Waker> {
        self.waker.lock().take()
    }

    /// Converts a time since the creation of the lock table to microseconds, modulo 2⁴⁸, as in a
    /// recorded grant.
    pub(crate) fn grant_time(since: Duration) -> u64 {
        since.as_micros() as u64 & GRANT_TIME
    }

    /// Checks that the record's owner, which ends, waits for nothing.
    pub(crate) fn check_idle(&self) {
        // Relaxed: the owner's own stores.
        let is_idle = self.state.load(Ordering::Relaxed) & PHASE == IDLE;
        invariant(is_idle, "PARTICIPANT-1: an owner that ends waits for nothing");
    }
}

/// Returns the number of a wait, modulo 2¹⁶, in the bits above the time of a recorded grant.
fn grant_number(state: u64) -> u64 {
    (state / (PHASE + 1)) << GRANT_TIME_BITS
}

/// The counters of the lock table since it was created, that is, since the database was opened.
///
/// A lock that is granted at once updates none of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct LockStats {
    /// Waits for range locks, that is, for locks on keys and gaps, that have ended.
    pub waits: u64,
    /// Waits for intent locks, that is, for locks on tables and on the database, that have ended.
    pub intent_waits: u64,
    /// Transactions that wait for a lock of either kind now.
    pub waiting: u64,
    /// Time spent in these waits, in microseconds.
    pub wait_us: u64,
    /// Number of times that a blocking waiter put its thread to sleep.
    pub parks: u64,
    /// Number of wake-ups of sleeping waiters without a grant: at the time limit, because the
    /// waiter was marked as a deadlock's victim, or without a reason. Wake-ups for a repeated
    /// search for deadlocks are not counted.
    pub spurious_wakeups: u64,
    /// Waits that ended at their time limit.
    pub timeouts: u64,
    /// Searches for a cycle of waits.
    pub searches: u64,
    /// Waiters that were chosen as a victim, because of a deadlock or of a suspected one.
    pub deadlocks: u64,
    /// Suspected cycles that a second check refuted, so that no waiter was rolled back.
    pub false_alarms: u64,
    /// The waiters counted in `deadlocks` that were in no cycle when they were rolled back. Always
    /// zero for the engine's own method, which confirms each cycle before it chooses a victim; a
    /// checker counts them for the methods that do not.
    pub false_deaths: u64,
    /// Cycles whose victim was not the waiter that found them. The victim was marked and woken.
    pub victims_marked: u64,
}

impl LockStats {
    /// Sums the counters of all records.
    pub(crate) fn gather<'a>(records: impl Iterator<Item = &'a WaitRecord>) -> LockStats {
        let mut stats = LockStats::default();
        for record in records {
            let counters = &record.counters;
            stats.waiting += u64::from(record.state().is_waiting());
            stats.waits += counters.waits.get();
            stats.intent_waits += counters.intent_waits.get();
            stats.wait_us += counters.wait_us.get();
            stats.parks += counters.parks.get();
            stats.spurious_wakeups += counters.spurious_wakeups.get();
            stats.timeouts += counters.timeouts.get();
            stats.searches += counters.searches.get();
            stats.deadlocks += counters.deadlocks.get();
            stats.false_alarms += counters.false_alarms.get();
            stats.false_deaths += counters.false_deaths.get();
            stats.victims_marked += counters.victims_marked.get();
        }
        stats
    }

    /// Returns the mean length of a wait; 0 if there was none.
    pub fn mean_wait(&self) -> Duration {
        let waits = (self.waits + self.intent_waits).max(1);
        Duration::from_micros(self.wait_us / waits)
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, task::Wake};

    use super::*;

    /// A waker whose replacement by another is the very moment of the grant.
    struct GrantWhenReplaced(Arc<WaitRecord>);

    impl Wake for GrantWhenReplaced {
        fn wake(self: Arc<Self>) {}
    }

    impl Drop for GrantWhenReplaced {
        fn drop(&mut self) {
            self.0.grant();
        }
    }

    #[test]
    fn grant_while_the_waker_is_left_is_seen() {
        let record = Arc::new(WaitRecord::default());
        record.publish_wait(Target::Range(LockId(1)));
        let earlier = Waker::from(Arc::new(GrantWhenReplaced(record.clone())));
        assert!(!record.is_granted_or_wakes(&earlier));
        drop(earlier);
        assert!(record.is_granted_or_wakes(Waker::noop()), "a lost wake-up (LOCK-WAIT-2)");
    }

    /// A waker whose replacement comes back to the record.
    struct TakesWhenReplaced(Arc<WaitRecord>);

    impl Wake for TakesWhenReplaced {
        fn wake(self: Arc<Self>) {}
    }

    impl Drop for TakesWhenReplaced {
        fn drop(&mut self) {
            assert!(self.0.take_waker().is_some(), "the new one is there");
        }
    }

    #[test]
    fn a_wakers_drop_runs_without_the_latch() {
        let record = Arc::new(WaitRecord::default());
        let earlier = Waker::from(Arc::new(TakesWhenReplaced(record.clone())));
        assert!(!record.is_granted_or_wakes(&earlier));
        drop(earlier);
        assert!(!record.is_granted_or_wakes(Waker::noop()));
    }

    #[test]
    fn each_wait_has_a_state_of_its_own() {
        let record = WaitRecord::default();
        let mut seen = Vec::new();
        for target in [Target::Range(LockId(u64::MAX)), Target::Intent(7), Target::Range(LockId(0))]
        {
            record.publish_wait(target);
            let state = record.state();
            assert!(state.is_waiting() && !seen.contains(&state));
            assert_eq!(record.target(state), Some(target));
            seen.push(state);
            record.grant();
            assert!(record.is_granted() && !record.state().is_waiting());
            record.end_wait();
            assert!(!record.is_granted() && record.target(record.state()).is_none());
        }
    }

    #[test]
    fn a_recorded_grant_belongs_to_one_wait() {
        let record = WaitRecord::default();
        record.record_grant(|| unreachable!("no wait"));
        record.publish_wait(Target::Intent(7));
        record.record_grant(|| unreachable!("not granted"));
        record.grant();
        assert_eq!(record.granted_us(), None, "noticed before it is recorded");
        record.record_grant(|| 17);
        assert_eq!(record.granted_us(), Some(17));
        record.end_wait();
        record.publish_wait(Target::Intent(7));
        assert_eq!(record.granted_us(), None, "that of the wait before");
        record.mark_blocking_wait();
        record.grant();
        record.record_grant(|| unreachable!("a thread blocks"));
        record.end_wait();
    }
}
