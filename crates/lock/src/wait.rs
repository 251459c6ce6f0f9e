//! Waiting: one path for threads that block and for tasks that are polled.
//!
//! Invariants:
//! - W1. A request that must wait is queued, then announced in the owner's slot, in one latch hold
//!   of what it waits for.
//! - W2. A waiter leaves its waker first and looks for its grant afterwards; a granter grants first
//!   and takes the waker afterwards. So no wake-up is lost, and nothing relies on time passing.
//! - W3. Whoever stops waiting without a grant takes its request out of the queue, and those that
//!   it alone blocked are granted in the same latch hold.
//! - W4. A grant that comes before the withdrawal wins: a waiter at its time limit, or about to
//!   die, that was granted in the meantime has its lock and no error.
//! - W5. Every wait looks for a deadlock after its announcement, and again as its method asks (see
//!   `deadlock`). Before it sleeps a waiter leaves its waker and looks afterwards, so that nothing
//!   it is told is lost.
//!
//! ```text
//!   acquire ─▶ start ──granted──────────────────────────────▶ lock held
//!                │ queued, announced (W1)                       ▲
//!                ▼                                              │ pick_up
//!              spin, look ────────granted──────────────────────▶┤
//!                ▼                                              │
//!          ┌▶ look ──dies──▶ withdraw ──▶ Deadlock              │
//!          │     ▼                                              │
//!          │  sleep ──────────────granted──────────────────────▶┘
//!          └─────┤ told, or time to look again
//!                └──time limit──▶ withdraw ──▶ LockTimeout
//! ```
//!
//! A polled request goes the same way without the spin, and sleeps by returning `Pending`.
//!
//! Algorithm: "Efficient Locking Techniques for Databases on Modern Hardware", section 4.2, figure
//! 5: spinning, sleeping between looks, sleeping with backoff, and a hybrid of the first and the
//! last, which is the default. The hybrid spins only while there are no more running transactions
//! than processors, and fewer waiters spin than there are other processors; how long, and who
//! counts as running, is told in `spin`. Whoever may not spin, or has spun in vain, sleeps.
//!
//! Differences: the paper's sleepers wake up every 10 ms to refresh their digests. Here a grant is
//! handed over, so a waiter sleeps until it has the lock, it gives up, or it never will; it wakes
//! up in between only for methods that refresh.
//!
//! Tried and dropped: to spin whenever fewer waiters spin than there are other processors, however
//! many owners there are. With more threads than processors the spinner takes the place of somebody
//! who could run, the holder among them, and pairs of threads hand the lock to and fro: with 32
//! threads on 2 processors a quarter of what sleeping at once gives (`clearway-lab deadlock_wait`,
//! November 2026).

mod spin;

#[cfg(all(test, loom))]
mod models;

use std::{
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use clearway_base::{Error, Result};
use clearway_sync::{ThreadWaker, spin_loop, thread};

use crate::{
    identity::LockId,
    intent::HeldIntent,
    mode::RangeMode,
    owner::{LockOwner, Pending, Request},
    queue::{Purpose, Verdict},
    registry::{Counters, Slot, Target},
    table::{LockTable, Outcome, WaitLimit},
};

use spin::Spun;

/// How blocking waiters wait. Polled waiters have no choice.
///
/// Under every policy a waiter notices at once that its lock was handed over to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WaitPolicy {
    /// Never sleeps. For machines with more processors than threads.
    Spin,
    /// Sleeps between looks, and takes digests of others for current even if they are marked.
    Sleep,
    /// Sleeps between looks, and leaves marked digests out.
    SleepBackoff,
    /// Spins for a while if a processor can be spared, then as `SleepBackoff`.
    #[default]
    Hybrid,
}

/// Spins between two looks of a waiter that never sleeps: some microseconds.
#[cfg(not(any(loom, shuttle)))]
const SPINS_A_LOOK: u32 = 256;
#[cfg(any(loom, shuttle))]
const SPINS_A_LOOK: u32 = 1;

/// How a withdrawal found the request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Withdrawal {
    /// It still waited, and is gone now.
    Done,
    /// It had been granted (W4) and stays so.
    Granted,
}

impl LockTable {
    /// Takes a lock, waiting up to `limit`.
    ///
    /// What this adds to the lock can be given back by [`release`](Self::release) until
    /// [`try_acquire`](Self::try_acquire) confirms it.
    ///
    /// # Errors
    /// - [`Error::Deadlock`]: waiting would never end, and this owner was chosen to give way.
    /// - [`Error::LockTimeout`]: not granted within the limit.
    /// - [`Error::WouldBlock`]: not granted at once, for [`WaitLimit::NoWait`].
    ///
    /// After an error nothing is queued, and what was held before is still held.
    pub fn acquire(
        &self,
        owner: &mut LockOwner,
        id: LockId,
        mode: RangeMode,
        limit: WaitLimit,
    ) -> Result<()> {
        if limit == WaitLimit::NoWait {
            return match self.request(owner, id, mode, Purpose::Try) {
                Outcome::Granted => Ok(()),
                Outcome::Denied => Err(Error::WouldBlock { conflict: None }),
            };
        }
        if self.start(owner, id, mode) {
            return Ok(());
        }
        self.block(owner, limit)
    }

    /// The form of [`acquire`](Self::acquire) that leaves a waker instead of blocking.
    ///
    /// `Pending` means that the request is queued. Poll again with the same arguments when woken,
    /// or [`cancel`](Self::cancel); time limits are the caller's.
    pub fn poll_acquire(
        &self,
        owner: &mut LockOwner,
        id: LockId,
        mode: RangeMode,
        cx: &mut Context<'_>,
    ) -> Poll<Result<()>> {
        if owner.pending.is_none() && self.start(owner, id, mode) {
            return Poll::Ready(Ok(()));
        }
        debug_assert!(matches!(
            owner.pending.map(|pending| pending.request),
            Some(Request::Range { id: pending, .. }) if pending == id
        ));
        self.poll_pending(owner, cx)
    }

    /// Withdraws the request that waits, if any. If it was granted but not picked up, the lock is
    /// what it was before the request.
    pub fn cancel(&self, owner: &mut LockOwner) {
        if owner.pending.is_some() {
            self.withdraw(owner, true);
        }
    }

    /// Asks for a lock; true if granted. Otherwise the request waits (W1).
    pub(crate) fn start(&self, owner: &mut LockOwner, id: LockId, mode: RangeMode) -> bool {
        debug_assert!(owner.pending.is_none(), "an owner waits for one lock at a time");
        if mode.is_none() {
            return true;
        }
        let bucket = self.bucket(id);
        let mut entries = bucket.entries.lock();
        // Queueing and announcing in one latch hold: a granter that finds the request can grant it.
        match entries.request(id, owner.slot, mode, Purpose::Wait) {
            Verdict::Denied { granted } => {
                self.publish_wait(owner, Target::Range(id));
                drop(entries);
                self.note_pending(owner, Request::Range { id, before: granted });
                return false;
            }
            Verdict::New => owner.held.push(id),
            Verdict::Held => {}
        }
        let tag = bucket.tag();
        drop(entries);
        owner.raise_tag(tag);
        true
    }

    /// Announces a wait and what detectors need to know. The latch of `target` is held (W1).
    pub(crate) fn publish_wait(&self, owner: &mut LockOwner, target: Target) {
        owner.show_standing();
        let slot = self.slot(owner);
        slot.publish_intents(&owner.intents);
        slot.publish_wait(target);
    }

    pub(crate) fn note_pending(&self, owner: &mut LockOwner, request: Request) {
        owner.pending = Some(Pending { request, since: Instant::now() });
    }

    pub(crate) fn slot(&self, owner: &LockOwner) -> &Slot {
        self.shared.registry.slot(owner.slot)
    }

    /// Blocks until the pending request is granted or given up.
    #[cold]
    pub(crate) fn block(&self, owner: &mut LockOwner, limit: WaitLimit) -> Result<()> {
        let limit = match limit {
            WaitLimit::Forever => None,
            WaitLimit::For(limit) => Some(limit),
            WaitLimit::NoWait => Some(Duration::ZERO),
            WaitLimit::Default => self.shared.options.wait_limit,
        };
        self.slot(owner).attend();
        let deadline = Deadline::new(owner, limit);
        match self.shared.options.waiting {
            WaitPolicy::Spin => self.spin_on(owner, deadline)?,
            WaitPolicy::Hybrid => match self.spin_a_while(owner, deadline)? {
                Spun::Granted => {}
                Spun::InVain { looked } => self.sleep(owner, deadline, looked)?,
            },
            WaitPolicy::Sleep | WaitPolicy::SleepBackoff => self.sleep(owner, deadline, false)?,
        }
        self.pick_up(owner);
        Ok(())
    }

    /// Spins until granted or, at the limit, withdraws.
    fn spin_on(&self, owner: &mut LockOwner, deadline: Deadline) -> Result<()> {
        let mut first = true;
        loop {
            let slot = self.slot(owner);
            let granted = (0..SPINS_A_LOOK).any(|_| {
                spin_loop();
                slot.is_granted()
            });
            if granted {
                return Ok(());
            }
            if self.look(owner, first) {
                return Err(Error::Deadlock { txn: owner.txn, cycle: None });
            }
            if deadline.is_over() {
                return self.give_up(owner, deadline);
            }
            first = false;
        }
    }

    /// Sleeps until granted (W2) or, at the limit, withdraws. Who has looked already need not
    /// search again, but may have been told something since.
    fn sleep(&self, owner: &mut LockOwner, deadline: Deadline, looked: bool) -> Result<()> {
        let waker: Waker = ThreadWaker::current();
        let mut first = !looked;
        loop {
            // Each time round: whoever has woken this thread has used the waker up.
            if self.slot(owner).is_granted_or_wakes(&waker) {
                return Ok(());
            }
            // After the waker is there (W5).
            if self.look(owner, first) {
                return Err(Error::Deadlock { txn: owner.txn, cycle: None });
            }
            first = false;
            let slot = self.slot(owner);
            let left = deadline.left();
            if left == Some(Duration::ZERO) {
                return self.give_up(owner, deadline);
            }
            let next_look = self.next_look(owner);
            match left.into_iter().chain(next_look).min() {
                // In a model no time passes, and a look must not wait for it.
                Some(_) if cfg!(any(loom, shuttle)) && next_look.is_some() => thread::yield_now(),
                Some(time) => thread::park_timeout(time),
                None => thread::park(),
            }
            Counters::add(&slot.counters.parks, 1);
            if next_look.is_none() && !slot.is_granted() {
                Counters::add(&slot.counters.spurious_wakeups, 1);
            }
        }
    }

    fn give_up(&self, owner: &mut LockOwner, deadline: Deadline) -> Result<()> {
        if self.withdraw(owner, false) == Withdrawal::Granted {
            return Ok(());
        }
        Counters::add(&self.slot(owner).counters.timeouts, 1);
        let waited_us = deadline.limit.unwrap_or_default().as_micros() as u64;
        Err(Error::LockTimeout { waited_us, conflict: None })
    }

    /// Polls the pending request, and looks if it was not granted (W5).
    pub(crate) fn poll_pending(
        &self,
        owner: &mut LockOwner,
        cx: &mut Context<'_>,
    ) -> Poll<Result<()>> {
        let mut granted = self.slot(owner).is_granted_or_wakes(cx.waker());
        if !granted {
            let first = !std::mem::replace(&mut owner.looked, true);
            if self.look(owner, first) {
                return Poll::Ready(Err(Error::Deadlock { txn: owner.txn, cycle: None }));
            }
            // Whoever granted it meanwhile may have been too early for the waker to be of use.
            granted = self.slot(owner).is_granted();
        }
        if granted {
            self.pick_up(owner);
            return Poll::Ready(Ok(()));
        }
        Poll::Pending
    }

    /// Takes possession of what was granted.
    fn pick_up(&self, owner: &mut LockOwner) {
        let Some(pending) = owner.pending else { return };
        // The grant was seen with Acquire, so the tag read below is not older than it (B3).
        debug_assert!(self.slot(owner).is_granted());
        let tag = match pending.request {
            Request::Range { id, before } => {
                if before.is_none() {
                    owner.held.push(id);
                }
                self.bucket(id).tag()
            }
            Request::Intent { entry, wanted, .. } => {
                let place = owner.intent_position(entry);
                owner.note_intent(place, HeldIntent { entry, mode: wanted });
                self.resource(entry).tag_for(wanted)
            }
            Request::Queued { entry, wanted, .. } => self.pick_up_queued(owner, entry, wanted),
        };
        owner.raise_tag(tag);
        self.slot(owner).end_wait();
        self.end_pending(owner);
    }

    /// Forgets the pending request and counts the wait.
    fn end_pending(&self, owner: &mut LockOwner) {
        owner.looked = false;
        let Some(pending) = owner.pending.take() else { return };
        let counters = &self.slot(owner).counters;
        let waited = pending.since.elapsed();
        Counters::add(&counters.wait_us, waited.as_micros() as u64);
        match pending.request {
            Request::Range { .. } => Counters::add(&counters.waits, 1),
            Request::Intent { .. } | Request::Queued { .. } => {
                Counters::add(&counters.intent_waits, 1);
            }
        }
        owner.last_wait = Some(waited);
    }

    /// Takes the pending request out of its queue (W3), unless it was granted (W4). With `undo`, a
    /// grant that was not picked up is given back as well.
    pub(crate) fn withdraw(&self, owner: &mut LockOwner, undo: bool) -> Withdrawal {
        let Some(pending) = owner.pending else { return Withdrawal::Granted };
        let mine = self.slot(owner);
        let handover = self.granting(&mut owner.granted);
        match pending.request {
            Request::Range { id, before } => {
                let mut entries = self.bucket(id).entries.lock();
                if mine.is_granted() && !undo {
                    return Withdrawal::Granted;
                }
                // A conversion goes back to what it had, a newcomer's entry goes.
                if let Some(at) = entries.position_from_back(id, owner.slot) {
                    entries.lower(at, before, handover);
                }
                mine.end_wait();
            }
            Request::Intent { entry, before, wanted } => {
                let mut locks = self.resource(entry).locks.lock();
                match (mine.is_granted(), undo) {
                    (true, false) => return Withdrawal::Granted,
                    (true, true) => locks.lower(wanted, before, handover),
                    (false, _) => locks.withdraw(owner.slot, handover),
                }
                mine.end_wait();
            }
            Request::Queued { entry, before, wanted } => {
                if !self.withdraw_queued(owner, entry, before, wanted, undo) {
                    return Withdrawal::Granted;
                }
            }
        }
        let mine = self.slot(owner);
        // Whatever the waker keeps alive, such as a task, is let go.
        mine.take_waker();
        self.end_pending(owner);
        self.shared.registry.wake(&mut owner.granted);
        Withdrawal::Done
    }
}

/// When a wait ends without a grant.
#[derive(Clone, Copy)]
struct Deadline {
    limit: Option<Duration>,
    /// `None` if there is no limit, or one beyond the end of the clock.
    at: Option<Instant>,
}

impl Deadline {
    fn new(owner: &LockOwner, limit: Option<Duration>) -> Deadline {
        let since = owner.pending.map_or_else(Instant::now, |pending| pending.since);
        Deadline { limit, at: limit.and_then(|limit| since.checked_add(limit)) }
    }

    fn left(self) -> Option<Duration> {
        self.at.map(|at| at.saturating_duration_since(Instant::now()))
    }

    fn is_over(self) -> bool {
        self.left() == Some(Duration::ZERO)
    }
}
