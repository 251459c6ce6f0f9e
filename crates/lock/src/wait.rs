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
//! - W5. Every wait searches for a cycle once, after its announcement and before its first sleep.
//!   One search is enough (see `deadlock`).
//!
//! ```text
//!   acquire ─▶ start ──granted──────────────────────────────▶ lock held
//!                │ queued, announced (W1)                       ▲
//!                ▼                                              │ pick_up
//!              spin ──────────────granted──────────────────────▶┤
//!                ▼                                              │
//!              dies? ──cycle──▶ withdraw ──▶ Deadlock           │
//!                ▼                                              │
//!              sleep ─────────────granted──────────────────────▶┘
//!                └──time limit──▶ withdraw ──▶ LockTimeout
//! ```
//!
//! A polled request goes the same way without the spin, and sleeps by returning `Pending`.
//!
//! Algorithm: a short spin, then sleep: "Efficient Locking for Databases", section 4.2. It spins
//! only while fewer waiters spin than there are other processors: a spinning waiter must leave one
//! to the holder it waits for.
//!
//! Differences: the paper's sleepers wake up every 10 ms to refresh their digests. Here a grant is
//! handed over, so a waiter sleeps until it has the lock, it gives up, or it never will.

#[cfg(all(test, loom))]
mod models;

use std::{
    sync::OnceLock,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use clearway_base::{Error, Result};
use clearway_sync::{ThreadWaker, atomic::Ordering, spin_loop, thread};

use crate::{
    identity::LockId,
    intent::HeldIntent,
    mode::RangeMode,
    owner::{LockOwner, Pending, Request},
    queue::{Purpose, Verdict},
    registry::{Counters, Slot, Target},
    table::{LockTable, Outcome, WaitLimit, grant},
};

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
                Outcome::Denied => Err(Error::WouldBlock),
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
    pub(crate) fn publish_wait(&self, owner: &LockOwner, target: Target) {
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
        if !self.spin(owner) {
            if self.dies(owner) {
                return Err(Error::Deadlock { txn: owner.txn });
            }
            self.sleep(owner, limit)?;
        }
        self.pick_up(owner);
        Ok(())
    }

    /// Looks for the grant for a few microseconds, if a processor can be spared.
    fn spin(&self, owner: &LockOwner) -> bool {
        let slot = self.slot(owner);
        let spinners = &self.shared.spinners;
        // Relaxed: a rough count; more or fewer spinners for a moment harm nobody.
        let admitted = spinners.fetch_add(1, Ordering::Relaxed) < spare_processors();
        // Who is not admitted goes on to the search and to sleep at once.
        let spins = if admitted { self.shared.options.spins } else { 0 };
        let granted = (0..spins).any(|_| {
            spin_loop();
            slot.is_granted()
        });
        spinners.fetch_sub(1, Ordering::Relaxed);
        granted
    }

    /// Sleeps until granted (W2) or, at the limit, withdraws.
    fn sleep(&self, owner: &mut LockOwner, limit: Option<Duration>) -> Result<()> {
        let since = owner.pending.map_or_else(Instant::now, |pending| pending.since);
        // A limit beyond the end of the clock is none.
        let deadline = limit.and_then(|limit| since.checked_add(limit));
        let waker: Waker = ThreadWaker::current();
        loop {
            let slot = self.slot(owner);
            // Each time round: an earlier wait's granter may have used the waker up.
            if slot.is_granted_or_wakes(&waker) {
                return Ok(());
            }
            match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                Some(Duration::ZERO) => return self.give_up(owner, limit),
                Some(left) => thread::park_timeout(left),
                None => thread::park(),
            }
            Counters::add(&slot.counters.parks, 1);
            if !slot.is_granted() {
                Counters::add(&slot.counters.spurious_wakeups, 1);
            }
        }
    }

    fn give_up(&self, owner: &mut LockOwner, limit: Option<Duration>) -> Result<()> {
        if self.withdraw(owner, false) == Withdrawal::Granted {
            return Ok(());
        }
        Counters::add(&self.slot(owner).counters.timeouts, 1);
        let waited_us = limit.unwrap_or_default().as_micros() as u64;
        Err(Error::LockTimeout { waited_us })
    }

    /// Polls the pending request; on its first poll, just queued, it searches for a cycle (W5).
    pub(crate) fn poll_pending(
        &self,
        owner: &mut LockOwner,
        cx: &mut Context<'_>,
    ) -> Poll<Result<()>> {
        if !std::mem::replace(&mut owner.searched, true) && self.dies(owner) {
            return Poll::Ready(Err(Error::Deadlock { txn: owner.txn }));
        }
        if self.slot(owner).is_granted_or_wakes(cx.waker()) {
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
        };
        owner.raise_tag(tag);
        self.slot(owner).end_wait();
        self.end_pending(owner);
    }

    /// Forgets the pending request and counts the wait.
    fn end_pending(&self, owner: &mut LockOwner) {
        owner.searched = false;
        let Some(pending) = owner.pending.take() else { return };
        let counters = &self.slot(owner).counters;
        Counters::add(&counters.wait_us, pending.since.elapsed().as_micros() as u64);
        match pending.request {
            Request::Range { .. } => Counters::add(&counters.waits, 1),
            Request::Intent { .. } => Counters::add(&counters.intent_waits, 1),
        }
    }

    /// Takes the pending request out of its queue (W3), unless it was granted (W4). With `undo`, a
    /// grant that was not picked up is given back as well.
    pub(crate) fn withdraw(&self, owner: &mut LockOwner, undo: bool) -> Withdrawal {
        let Some(pending) = owner.pending else { return Withdrawal::Granted };
        let (registry, mine) = (&self.shared.registry, self.slot(owner));
        let granted = &mut owner.granted;
        match pending.request {
            Request::Range { id, before } => {
                let mut entries = self.bucket(id).entries.lock();
                if mine.is_granted() && !undo {
                    return Withdrawal::Granted;
                }
                // A conversion goes back to what it had, a newcomer's entry goes.
                if let Some(at) = entries.position_from_back(id, owner.slot) {
                    entries.lower(at, before, |slot| grant(registry, slot, granted));
                }
                mine.end_wait();
            }
            Request::Intent { entry, before, wanted } => {
                let mut locks = self.resource(entry).locks.lock();
                match (mine.is_granted(), undo) {
                    (true, false) => return Withdrawal::Granted,
                    (true, true) => {
                        locks.lower(wanted, before, |slot| grant(registry, slot, granted));
                    }
                    (false, _) => {
                        locks.withdraw(owner.slot, |slot| grant(registry, slot, granted));
                    }
                }
                mine.end_wait();
            }
        }
        // Whatever the waker keeps alive, such as a task, is let go.
        mine.take_waker();
        self.end_pending(owner);
        self.shared.registry.wake(&mut owner.granted);
        Withdrawal::Done
    }
}

/// How many waiters may spin at a time: all processors but one.
fn spare_processors() -> u32 {
    static PROCESSORS: OnceLock<u32> = OnceLock::new();
    let processors =
        PROCESSORS.get_or_init(|| thread::available_parallelism().map_or(1, |n| n.get() as u32));
    processors - 1
}
