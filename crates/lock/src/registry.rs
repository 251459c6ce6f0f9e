//! The slots of lock owners: the state of a waiting transaction that other threads must see.
//!
//! Invariants:
//! - LOCK-REGISTRY-1. A slot belongs to at most one [`LockOwner`](crate::LockOwner) at a time.
//!   The memory of a slot is never freed (a slot given back is used by a later owner), and its wait
//!   numbers never restart, so a stale slot number leads to a needless wake-up or a failed
//!   validation and never to a wrong grant.
//! - LOCK-REGISTRY-2. `state` is changed from idle to waiting by the slot's owner, under the latch
//!   of what it waits for (a bucket or a resource) and *after* its request is in the queue; from
//!   waiting to granted by the granting thread, under the same latch; and from either to idle by
//!   the owner (from waiting only under that latch, with the request removed).
//! - LOCK-REGISTRY-3. While an owner waits, it neither acquires nor releases anything else.
//! - LOCK-REGISTRY-4. Before it publishes a wait, the owner publishes the intent locks it holds in
//!   `intents`.
//! - LOCK-REGISTRY-5. There are at most 65,535 owners, so a count of waiters fits 16 bits.
//! - LOCK-REGISTRY-6. A waiting owner publishes its priority before its wait. A wait is marked as
//!   blocking (`blocking_wait`) only once its thread blocks in it.
//! - LOCK-REGISTRY-7. `rests` is written only by the slot's owner, and is only a hint: an owner
//!   that never reports that it rests counts as one with a transaction.
//! - LOCK-REGISTRY-8. The time of a grant is recorded for polled waits only, by the granting
//!   thread, after the grant and before the wake-up. It carries the number of the wait, so an owner
//!   that has noticed the grant before takes no other wait's time for its own.
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

use std::{
    sync::OnceLock,
    task::Waker,
    time::{Duration, Instant},
};

use clearway_sync::{
    CachePadded, Counter, Mutex, SpinLatch,
    atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    invariant, wake,
};

use crate::{identity::LockId, intent::HeldIntent, victims::PublishedPriority};

/// Slots are made 256 at a time; 256 chunks are 65,536 slots, one of which is never used
/// (LOCK-REGISTRY-5).
#[cfg(not(any(loom, shuttle)))]
const CHUNK_SLOTS: usize = 256;
#[cfg(any(loom, shuttle))]
const CHUNK_SLOTS: usize = 4;
const CHUNKS: usize = 256;
/// Upper bound on the slots scanned by `is_oversubscribed`: reading 128 remote cache lines takes a
/// few microseconds, about the cost of one sleep.
const SCANNED_MAX: u32 = 128;
const OWNERS_MAX: u32 = (CHUNK_SLOTS * CHUNKS - 1) as u32;

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

/// One owner's slot.
#[derive(Default)]
pub(crate) struct OwnerSlot {
    state: AtomicU64,
    /// The lock identity or resource waited for; written before `state` (LOCK-REGISTRY-2).
    target: AtomicU64,
    waker: SpinLatch<Option<Waker>>,
    intents: SpinLatch<Vec<HeldIntent>>,
    /// True if a thread blocks in the wait and repeats its deadlock check by itself
    /// (LOCK-REGISTRY-6).
    blocking_wait: AtomicBool,
    /// The state of the wait in which another owner has marked this one as a cycle's victim; 0 for
    /// none.
    victim_wait: AtomicU64,
    /// The time of the last recorded grant (LOCK-REGISTRY-8), in microseconds since the registry
    /// was created.
    granted_at: AtomicU64,
    /// True if the owner has reported that no transaction runs in this slot (LOCK-REGISTRY-7).
    rests: AtomicBool,
    pub(crate) priority: PublishedPriority,
    pub(crate) counters: OwnerCounters,
}

/// The counters of a slot's owner; written only when it has to wait, and summed on request.
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

impl OwnerSlot {
    /// Publishes a wait. The caller holds the latch of `target` and has queued its request
    /// (LOCK-REGISTRY-2).
    pub(crate) fn publish_wait(&self, target: Target) {
        let (phase, id) = match target {
            Target::Range(id) => (ON_RANGE, id.0),
            Target::Intent(entry) => (ON_INTENT, u64::from(entry)),
        };
        // Relaxed: ordered by the store to `state`, which detectors load first.
        self.target.store(id, Ordering::Relaxed);
        self.blocking_wait.store(false, Ordering::Relaxed); // LOCK-REGISTRY-6
        // Relaxed: only the owner changes an idle slot.
        let state = self.state.load(Ordering::Relaxed);
        invariant(state & PHASE == IDLE, "LOCK-REGISTRY-2: an owner waits for one lock at a time");
        let number = (state & !PHASE) + PHASE + 1;
        self.state.store(number | phase, Ordering::SeqCst);
    }

    /// Grants the owner what it waits for. The caller holds the target's latch (LOCK-REGISTRY-2).
    pub(crate) fn grant(&self) {
        // Relaxed load: no other thread changes a waiting slot while the caller holds the latch.
        let state = self.state.load(Ordering::Relaxed);
        invariant(
            WaitState(state).is_waiting(),
            "LOCK-REGISTRY-2: an owner that is granted a lock waits for it",
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

    /// Returns the slot to idle. Called by the owner, once granted, or under the target's latch
    /// (LOCK-REGISTRY-2).
    pub(crate) fn end_wait(&self) {
        // Relaxed: an idle slot carries no information; detectors skip it.
        let state = self.state.load(Ordering::Relaxed);
        invariant(state & PHASE != IDLE, "LOCK-REGISTRY-2: a wait ends once");
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
        // not taken for a blocking one that came earlier in the same slot.
        self.state().is_waiting() && self.blocking_wait.load(Ordering::Relaxed)
    }

    /// Records the time of the grant if the wait is a polled one and its owner has not picked up
    /// the lock yet (LOCK-REGISTRY-8).
    fn record_grant(&self, now_us: impl FnOnce() -> u64) {
        // Relaxed throughout: a measurement. If the owner moves on meanwhile, the number is not
        // that of its next wait.
        let state = self.state.load(Ordering::Relaxed);
        if state & PHASE == GRANTED && !self.blocking_wait.load(Ordering::Relaxed) {
            let stamp = grant_number(state) | (now_us() & GRANT_TIME);
            self.granted_at.store(stamp, Ordering::Relaxed);
        }
    }

    /// Returns the recorded time of the grant of the present wait.
    pub(crate) fn granted_us(&self) -> Option<u64> {
        let stamp = self.granted_at.load(Ordering::Relaxed);
        let state = self.state.load(Ordering::Relaxed); // The caller's own.
        (stamp & !GRANT_TIME == grant_number(state)).then_some(stamp & GRANT_TIME)
    }

    /// Records whether the owner is between two transactions (LOCK-REGISTRY-7).
    #[inline]
    pub(crate) fn rest(&self, rests: bool) {
        // Relaxed, as is the load: a hint.
        self.rests.store(rests, Ordering::Relaxed);
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

    /// Publishes the intent locks the owner holds (LOCK-REGISTRY-4).
    pub(crate) fn publish_intents(&self, held: &[HeldIntent]) {
        let mut intents = self.intents.lock();
        intents.clear();
        intents.extend_from_slice(held);
    }

    /// Returns the intent lock that a *waiting* owner holds on the resource with this entry
    /// (LOCK-REGISTRY-4).
    pub(crate) fn intent_on(&self, entry: u32) -> Option<HeldIntent> {
        self.intents.lock().iter().find(|held| held.entry == entry).copied()
    }
}

/// Returns the number of a wait where a recorded grant has it.
fn grant_number(state: u64) -> u64 {
    (state / (PHASE + 1)) << GRANT_TIME_BITS
}

type SlotChunk = Box<[CachePadded<OwnerSlot>]>;

/// All slots.
pub(crate) struct OwnerRegistry {
    chunks: Box<[OnceLock<SlotChunk>]>,
    free: Mutex<Vec<u32>>,
    /// The time from which grants are counted.
    created: Instant,
    /// Number of slots ever allocated: every slot number in use is below it.
    count: AtomicU32,
}

impl OwnerRegistry {
    pub(crate) fn new() -> OwnerRegistry {
        OwnerRegistry {
            chunks: (0..CHUNKS).map(|_| OnceLock::new()).collect(),
            free: Mutex::new(Vec::new()),
            created: Instant::now(),
            count: AtomicU32::new(0),
        }
    }

    /// Allocates a slot (LOCK-REGISTRY-1).
    pub(crate) fn claim(&self) -> u32 {
        let mut free = self.free.lock();
        if let Some(slot) = free.pop() {
            self.slot(slot).rest(false);
            return slot;
        }
        // Relaxed load: changes only under the mutex.
        let slot = self.count.load(Ordering::Relaxed);
        assert!(
            slot < OWNERS_MAX,
            "more than {OWNERS_MAX} lock owners at a time (LOCK-REGISTRY-5)"
        );
        self.chunks[slot as usize / CHUNK_SLOTS]
            .get_or_init(|| (0..CHUNK_SLOTS).map(|_| CachePadded::default()).collect());
        self.count.store(slot + 1, Ordering::SeqCst);
        slot
    }

    /// Takes a slot back (LOCK-REGISTRY-1).
    pub(crate) fn give_back(&self, slot: u32) {
        let is_idle = self.slot(slot).state.load(Ordering::Relaxed) & PHASE == IDLE;
        invariant(is_idle, "LOCK-REGISTRY-1: an owner that goes waits for nothing");
        self.slot(slot).rest(true);
        self.free.lock().push(slot);
    }

    /// Returns true if roughly more than `most` owners have a transaction, or if there are too many
    /// slots to scan.
    pub(crate) fn is_oversubscribed(&self, most: u32) -> bool {
        // Relaxed throughout: an approximate result.
        let slots = self.count.load(Ordering::Relaxed);
        let runs = |slot: &u32| !self.slot(*slot).rests.load(Ordering::Relaxed);
        slots > most
            && (slots > SCANNED_MAX || (0..slots).filter(runs).nth(most as usize).is_some())
    }

    /// Returns the number of slots; they are numbered from 0.
    pub(crate) fn len(&self) -> u32 {
        // SeqCst, like the store in `claim`: a detector that runs over all slots must not miss one
        // whose owner published a wait before the detector published its own.
        self.count.load(Ordering::SeqCst)
    }

    #[inline]
    pub(crate) fn slot(&self, slot: u32) -> &OwnerSlot {
        let chunk = self.chunks[slot as usize / CHUNK_SLOTS].get();
        &chunk.expect("slots in use exist (LOCK-REGISTRY-1)")[slot as usize % CHUNK_SLOTS]
    }

    /// Returns a time as recorded grants have it.
    pub(crate) fn us_at(&self, time: Instant) -> u64 {
        time.saturating_duration_since(self.created).as_micros() as u64 & GRANT_TIME
    }

    /// Wakes the owners of these slots and empties the list. The caller holds no latch of the lock
    /// table. (It may hold a leaf's latch, if the tree releases a lock that it no longer needs.)
    pub(crate) fn wake(&self, granted: &mut Vec<u32>) {
        for slot in granted.drain(..).map(|slot| self.slot(slot)) {
            slot.record_grant(|| self.us_at(Instant::now()));
            // Comes after the grant: see `is_granted_or_wakes`.
            if let Some(waker) = slot.take_waker() {
                wake(waker);
            }
        }
    }
}

/// The counters since the table was created.
///
/// A lock that is granted at once updates none of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LockStats {
    /// Waits for range locks.
    pub waits: u64,
    /// Waits for intent locks.
    pub intent_waits: u64,
    /// Owners that currently wait for a lock of either kind.
    pub waiting: u64,
    /// Time spent in both kinds of waits, in microseconds.
    pub wait_us: u64,
    /// Number of times that a blocking waiter put its thread to sleep.
    pub parks: u64,
    /// Number of spurious wake-ups of sleeping waiters.
    pub spurious_wakeups: u64,
    /// Waits that ended at their time limit.
    pub timeouts: u64,
    /// Searches for a cycle.
    pub searches: u64,
    /// Waiters that were rolled back: because of a deadlock, or of a suspected one.
    pub deadlocks: u64,
    /// Suspected cycles that the detector's second check refuted; no waiter was rolled back.
    pub false_alarms: u64,
    /// The waiters counted in `deadlocks` that were in no cycle when they were rolled back. Always
    /// zero for the engine's own method, which confirms each cycle before it chooses a victim; a
    /// checker counts them for the methods that do not.
    pub false_deaths: u64,
    /// Cycles whose victim was not the owner that found them: it was marked and woken.
    pub victims_marked: u64,
}

impl LockStats {
    /// Sums the counters of all slots.
    pub(crate) fn gather(registry: &OwnerRegistry) -> LockStats {
        let mut stats = LockStats::default();
        for slot in 0..registry.len() {
            let counters = &registry.slot(slot).counters;
            stats.waiting += u64::from(registry.slot(slot).state().is_waiting());
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

    /// Returns the mean length of a wait.
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
    struct GrantWhenReplaced(Arc<OwnerSlot>);

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
        let slot = Arc::new(OwnerSlot::default());
        slot.publish_wait(Target::Range(LockId(1)));
        let earlier = Waker::from(Arc::new(GrantWhenReplaced(slot.clone())));
        assert!(!slot.is_granted_or_wakes(&earlier));
        drop(earlier);
        assert!(slot.is_granted_or_wakes(Waker::noop()), "a lost wake-up (LOCK-WAIT-2)");
    }

    /// A waker whose replacement comes back to the slot.
    struct TakesWhenReplaced(Arc<OwnerSlot>);

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
        let slot = Arc::new(OwnerSlot::default());
        let earlier = Waker::from(Arc::new(TakesWhenReplaced(slot.clone())));
        assert!(!slot.is_granted_or_wakes(&earlier));
        drop(earlier);
        assert!(!slot.is_granted_or_wakes(Waker::noop()));
    }

    struct PanickingWaker;

    impl Wake for PanickingWaker {
        fn wake(self: Arc<Self>) {
            panic!("a waker that panics, as it should");
        }
    }

    #[test]
    fn a_waker_that_panics_keeps_no_other_owner_asleep() {
        struct Flag(AtomicU32);
        impl Wake for Flag {
            fn wake(self: Arc<Self>) {
                self.0.store(1, Ordering::SeqCst);
            }
        }
        let registry = OwnerRegistry::new();
        let flag = Arc::new(Flag(AtomicU32::new(0)));
        let mut granted: Vec<u32> = (0..2).map(|_| registry.claim()).collect();
        registry.slot(granted[0]).is_granted_or_wakes(&Waker::from(Arc::new(PanickingWaker)));
        registry.slot(granted[1]).is_granted_or_wakes(&Waker::from(flag.clone()));
        registry.wake(&mut granted);
        assert_eq!(flag.0.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn each_wait_has_a_state_of_its_own() {
        let slot = OwnerSlot::default();
        let mut seen = Vec::new();
        for target in [Target::Range(LockId(u64::MAX)), Target::Intent(7), Target::Range(LockId(0))]
        {
            slot.publish_wait(target);
            let state = slot.state();
            assert!(state.is_waiting() && !seen.contains(&state));
            assert_eq!(slot.target(state), Some(target));
            seen.push(state);
            slot.grant();
            assert!(slot.is_granted() && !slot.state().is_waiting());
            slot.end_wait();
            assert!(!slot.is_granted() && slot.target(slot.state()).is_none());
        }
    }

    #[test]
    fn only_owners_with_a_transaction_count_as_oversubscription() {
        let registry = OwnerRegistry::new();
        let slots: Vec<u32> = (0..6).map(|_| registry.claim()).collect();
        assert!(registry.is_oversubscribed(5) && !registry.is_oversubscribed(6));
        slots[..4].iter().for_each(|&slot| registry.slot(slot).rest(true));
        assert!(registry.is_oversubscribed(1) && !registry.is_oversubscribed(2));
        registry.slot(slots[3]).rest(false);
        assert!(registry.is_oversubscribed(2) && !registry.is_oversubscribed(3));
        slots[3..].iter().for_each(|&slot| registry.give_back(slot));
        assert!(!registry.is_oversubscribed(0), "a slot that is given back has no transaction");
        registry.claim();
        assert!(registry.is_oversubscribed(0), "a slot that is claimed again counts");
    }

    #[test]
    fn a_recorded_grant_belongs_to_one_wait() {
        let slot = OwnerSlot::default();
        slot.record_grant(|| unreachable!("no wait"));
        slot.publish_wait(Target::Intent(7));
        slot.record_grant(|| unreachable!("not granted"));
        slot.grant();
        assert_eq!(slot.granted_us(), None, "noticed before it is recorded");
        slot.record_grant(|| 17);
        assert_eq!(slot.granted_us(), Some(17));
        slot.end_wait();
        slot.publish_wait(Target::Intent(7));
        assert_eq!(slot.granted_us(), None, "that of the wait before");
        slot.mark_blocking_wait();
        slot.grant();
        slot.record_grant(|| unreachable!("a thread blocks"));
        slot.end_wait();
    }

    #[test]
    fn slots_are_used_again() {
        let registry = OwnerRegistry::new();
        let slots: Vec<u32> = (0..600).map(|_| registry.claim()).collect();
        assert_eq!(slots, (0..600).collect::<Vec<_>>());
        registry.give_back(17);
        assert_eq!(registry.claim(), 17);
        assert_eq!(registry.len(), 600);
        assert!(!registry.slot(599).state().is_waiting());
    }
}
