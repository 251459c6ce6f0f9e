//! Waiting: one path for threads that block and for tasks that are polled.
//!
//! Invariants:
//! - LOCK-WAIT-1. A request that must wait is queued, then published in the owner's record, in one
//!   hold of the latch of the bucket or resource that it waits for.
//! - LOCK-WAIT-2. A waiter stores its waker first and checks for its grant afterwards; the granting
//!   thread grants first and takes the waker afterwards. So no wake-up is lost, and nothing depends
//!   on time-outs.
//! - LOCK-WAIT-3. An owner that stops waiting without a grant removes its request from the queue,
//!   and waiters that only it blocked are granted in the same latch hold.
//! - LOCK-WAIT-4. A grant that comes before the withdrawal wins: a waiter at its time limit, or
//!   about to die, that was granted in the meantime has its lock and no error.
//! - LOCK-WAIT-5. A waiter that holds a lock checks for a deadlock after it has published its wait,
//!   unless it was granted the lock by then, and again as the method requires (see `deadlock`).
//!   Before it sleeps, a waiter stores its waker and checks afterwards, so that no notification is
//!   lost.
//! - LOCK-WAIT-6. A blocking waiter does not wait for an owner that its user has named as suspended
//!   ([`LockOwner::set_suspended`]): such an owner does nothing before the wait ends. This is
//!   checked once, when the request is in its queue: from then on no suspended owner requests
//!   anything, so none comes to stand before it.
//!
//! ```text
//!   acquire ─▶ start ──granted──────────────────────────────────────▶ lock held
//!                │ queued, published (LOCK-WAIT-1)                          ▲
//!                ▼                                                          │ pick_up
//!              spin, check_deadlock ──granted──────────────────────────────▶┤
//!                ▼                                                          │
//!          ┌▶ check_deadlock ──dies──▶ withdraw ──▶ Deadlock                │
//!          │     ▼                                                          │
//!          │  sleep ──────────────────granted──────────────────────────────▶┘
//!          └─────┤ woken, or time for the next check
//!                └──time limit──▶ withdraw ──▶ LockTimeout
//! ```
//!
//! A polled request takes the same path without the spin, and sleeps by returning `Pending`.
//!
//! Algorithm: "Efficient Locking Techniques for Databases on Modern Hardware", section 4.2, figure
//! 5: a hybrid of spinning and sleeping. With P processors, a waiter spins only while at most P
//! transactions run and fewer than P − 1 other waiters spin; the duration, and the definition of
//! running transactions, are in `spin`. A waiter that may not spin, or has spun without a grant,
//! sleeps. [`LockOptions::spin_rounds`](crate::LockOptions::spin_rounds) has the paper's two other
//! policies as its extremes.
//!
//! Differences: the paper's sleepers wake up every 10 ms to check again. Here a grant is handed
//! over, so a waiter sleeps until it has the lock, reaches its time limit, or is a deadlock's
//! victim; it wakes up in between only if the method requires it.
//!
//! Tried and rejected: spinning whenever fewer waiters spin than there are other processors,
//! however many owners there are. With more threads than processors, a spinning thread takes the
//! processor from one that could run, possibly the holder, and pairs of threads alternate in
//! holding the lock. With 32 threads on 2 processors the throughput was a quarter of that of
//! sleeping at once (`clearway-lab deadlock_wait`, November 2026).

mod spin;

#[cfg(all(test, loom))]
mod models;

use std::{
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use clearway_base::{Error, Result};
use clearway_sync::{ThreadWaker, thread};

use crate::{
    identity::LockId,
    intent::HeldIntent,
    mode::RangeMode,
    owner::{LockOwner, PendingRequest, Request, WaitLength},
    parts::Holder,
    queue::{Purpose, RequestResult},
    shared::{LockTable, Outcome, WaitLimit},
    wait_record::{Target, WaitRecord},
};

use spin::Spun;

/// The result of a withdrawal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Withdrawal {
    /// The request still waited and was removed.
    Done,
    /// The request had been granted (LOCK-WAIT-4) and stays granted.
    Granted,
}

impl LockTable {
    /// Takes a lock, waiting up to `limit`.
    ///
    /// What this adds to the lock can be released with [`release`](Self::release) until
    /// [`try_acquire`](Self::try_acquire) confirms it.
    ///
    /// # Errors
    /// - [`Error::Deadlock`]: waiting would never end, and this owner was chosen as the victim.
    /// - [`Error::LockTimeout`]: not granted within the limit.
    /// - [`Error::WouldBlock`]: not granted at once, for [`WaitLimit::NoWait`].
    /// - [`Error::SelfWait`]: a suspended owner is in the way ([`LockOwner::set_suspended`]).
    ///
    /// After an error no request is queued, and locks held before are still held.
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

    /// Requests a lock like [`acquire`](Self::acquire), but registers a waker instead of blocking.
    ///
    /// `Pending` means that the request is queued. Poll again with the same arguments when woken,
    /// or [`cancel`](Self::cancel). The caller handles time limits: it polls again when a
    /// [check](Self::next_check) is due, and ends the wait with [`time_out`](Self::time_out) at its
    /// [limit](Self::time_limit).
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

    /// Withdraws the waiting request, if any. If it was granted but not picked up, the lock returns
    /// to its mode before the request.
    pub fn cancel(&self, owner: &mut LockOwner) {
        if owner.pending.is_some() {
            self.withdraw(owner, true);
        }
    }

    /// Returns the time after which a wait with this limit ends; `None` if it has no limit.
    pub fn time_limit(&self, limit: WaitLimit) -> Option<Duration> {
        match limit {
            WaitLimit::Forever => None,
            WaitLimit::For(limit) => Some(limit),
            WaitLimit::NoWait => Some(Duration::ZERO),
            WaitLimit::Default => self.shared.options.wait_limit,
        }
    }

    /// Ends a polled wait whose `limit` is over. If the request was granted in the meantime, the
    /// lock is kept (LOCK-WAIT-4).
    ///
    /// # Errors
    /// [`Error::LockTimeout`].
    pub fn time_out(&self, owner: &mut LockOwner, limit: Duration) -> Result<()> {
        if owner.pending.is_some() {
            self.give_up(owner, Some(limit))?;
            self.pick_up(owner);
        }
        Ok(())
    }

    /// Requests a lock. Returns true if it is granted; otherwise the request waits (LOCK-WAIT-1).
    pub(crate) fn start(&self, owner: &mut LockOwner, id: LockId, mode: RangeMode) -> bool {
        debug_assert!(owner.pending.is_none(), "an owner waits for one lock at a time");
        if mode.is_none() {
            return true;
        }
        let bucket = self.bucket(id);
        let mut entries = bucket.entries.lock();
        // Queue and publish in one latch hold: a granter that finds the request can grant it.
        match entries.request(id, owner.number, mode, Purpose::Wait) {
            RequestResult::Denied { granted } => {
                self.publish_wait(owner, Target::Range(id));
                let holder = || entries.holder_in_the_way(id);
                self.shared.begin_stall(owner.number, Target::Range(id), holder);
                drop(entries);
                self.note_pending(owner, Request::Range { id, before: granted });
                return false;
            }
            RequestResult::New => owner.held.push(id),
            RequestResult::Held => {}
        }
        let tag = bucket.tag();
        drop(entries);
        owner.raise_tag(tag);
        true
    }

    /// Publishes a wait and the data that detectors need. The latch of `target` is held
    /// (LOCK-WAIT-1).
    pub(crate) fn publish_wait(&self, owner: &mut LockOwner, target: Target) {
        owner.publish_priority();
        if let Some(method) = &self.shared.method {
            method.begin_wait(owner.number);
        }
        self.record(owner).publish_wait(target);
    }

    pub(crate) fn note_pending(&self, owner: &mut LockOwner, request: Request) {
        owner.pending = Some(PendingRequest { request, since: Instant::now() });
    }

    pub(crate) fn record(&self, owner: &LockOwner) -> &WaitRecord {
        self.shared.record(owner.number)
    }

    /// Blocks until the pending request is granted or withdrawn.
    #[cold]
    pub(crate) fn block(&self, owner: &mut LockOwner, limit: WaitLimit) -> Result<()> {
        let limit = self.time_limit(limit);
        self.record(owner).mark_blocking_wait();
        if !owner.suspended.is_empty() {
            self.check_self_wait(owner)?;
        }
        let deadline = Deadline::new(owner, limit);
        match self.spin_a_while(owner, deadline)? {
            Spun::Granted => {}
            Spun::NotGranted { checked } => self.sleep(owner, deadline, checked)?,
        }
        self.pick_up(owner);
        Ok(())
    }

    /// Fails if the owner waits for a suspended one (LOCK-WAIT-6). A deadlock is reported as such.
    #[cold]
    fn check_self_wait(&self, owner: &mut LockOwner) -> Result<()> {
        if self.check_deadlock(owner, true) {
            return Err(Error::Deadlock { txn: owner.txn, cycle: None });
        }
        if self.is_behind_suspended(owner) && self.withdraw(owner, false) == Withdrawal::Done {
            return Err(Error::SelfWait { conflict: None });
        }
        Ok(())
    }

    /// Returns true if a suspended owner is in the way of this one.
    fn is_behind_suspended(&self, owner: &LockOwner) -> bool {
        let record = self.record(owner);
        let is_one = |other| owner.suspended.contains(&other);
        match record.target(record.state()) {
            Some(Target::Range(id)) => {
                self.bucket(id).entries.lock().is_behind(id, owner.number, is_one)
            }
            Some(Target::Intent(entry)) => {
                let found = self.resource(entry).locks.lock().ways_behind(owner.number, is_one);
                let Some(modes) = found else { return true };
                owner.suspended.iter().any(|&other| {
                    let held = self.shared.record(other).intents.mode_on(entry);
                    held.is_some_and(|mode| modes.contains(mode))
                })
            }
            None => false, // It was granted.
        }
    }

    /// Sleeps until granted (LOCK-WAIT-2) or, at the limit, withdraws. If `checked`, the waiter has
    /// made its first deadlock check while it spun. Later checks search only if another owner has
    /// marked it as a victim; under another deadlock method (`parts::Detector`), that method
    /// decides.
    fn sleep(&self, owner: &mut LockOwner, deadline: Deadline, checked: bool) -> Result<()> {
        let waker: Waker = ThreadWaker::current();
        let mut first = !checked;
        loop {
            // Store the waker in each iteration: the thread that woke this one has taken it.
            if self.record(owner).is_granted_or_wakes(&waker) {
                return Ok(());
            }
            // After the waker is there (LOCK-WAIT-5).
            if self.check_deadlock(owner, first) {
                return Err(Error::Deadlock { txn: owner.txn, cycle: None });
            }
            first = false;
            let record = self.record(owner);
            let left = deadline.left();
            if left == Some(Duration::ZERO) {
                return self.give_up(owner, deadline.limit);
            }
            let next_check = self.next_check(owner);
            match left.into_iter().chain(next_check).min() {
                // In a model no time passes, so a deadlock check must not depend on it.
                Some(_) if cfg!(any(loom, shuttle)) && next_check.is_some() => thread::yield_now(),
                Some(time) => thread::park_timeout(time),
                None => thread::park(),
            }
            record.counters.parks.add(1);
            if next_check.is_none() && !record.is_granted() {
                record.counters.spurious_wakeups.add(1);
            }
        }
    }

    fn give_up(&self, owner: &mut LockOwner, limit: Option<Duration>) -> Result<()> {
        if self.withdraw(owner, false) == Withdrawal::Granted {
            return Ok(());
        }
        self.record(owner).counters.timeouts.add(1);
        let waited_us = limit.unwrap_or_default().as_micros() as u64;
        Err(Error::LockTimeout { waited_us, conflict: None })
    }

    /// Polls the pending request, and checks for a deadlock if it was not granted (LOCK-WAIT-5).
    pub(crate) fn poll_pending(
        &self,
        owner: &mut LockOwner,
        cx: &mut Context<'_>,
    ) -> Poll<Result<()>> {
        let mut granted = self.record(owner).is_granted_or_wakes(cx.waker());
        if !granted {
            let first = !std::mem::replace(&mut owner.checked, true);
            if self.check_deadlock(owner, first) {
                return Poll::Ready(Err(Error::Deadlock { txn: owner.txn, cycle: None }));
            }
            // The waker is stored, so a grant made since then wakes the task (LOCK-WAIT-2). Return
            // the lock in this poll instead of waiting for the next.
            granted = self.record(owner).is_granted();
        }
        if granted {
            self.pick_up(owner);
            return Poll::Ready(Ok(()));
        }
        Poll::Pending
    }

    /// Picks up the granted lock.
    fn pick_up(&self, owner: &mut LockOwner) {
        let Some(pending) = owner.pending else { return };
        // The grant was seen with Acquire, so the tag read below is not older than it (BUCKET-3).
        debug_assert!(self.record(owner).is_granted());
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
                if let Some(store) = &self.shared.store {
                    store.picked_up(entry, wanted);
                }
                self.resource(entry).tag_for(wanted)
            }
        };
        owner.raise_tag(tag);
        let record = self.record(owner);
        let granted_us = record.is_polled_grant().then(|| record.granted_us());
        record.end_wait();
        self.end_pending(owner, granted_us);
    }

    /// Clears the pending request and counts the wait. `granted_us` is the recorded time of the
    /// grant of a polled wait; `Some(None)` if it was noticed before it could be recorded.
    fn end_pending(&self, owner: &mut LockOwner, granted_us: Option<Option<u64>>) {
        owner.checked = false;
        let Some(pending) = owner.pending.take() else { return };
        let counters = &self.record(owner).counters;
        let now = Instant::now();
        let waited = now.saturating_duration_since(pending.since);
        let grant_to_poll = granted_us.map(|granted_us| {
            let now = self.shared.us_at(now);
            Duration::from_micros(now.saturating_sub(granted_us.unwrap_or(now)))
        });
        counters.wait_us.add(waited.as_micros() as u64);
        match pending.request {
            Request::Range { .. } => counters.waits.add(1),
            Request::Intent { .. } => counters.intent_waits.add(1),
        }
        let behind_reads = self.shared.take_behind_reads(owner.number).min(waited);
        owner.last_wait = Some(WaitLength { waited, grant_to_poll, behind_reads });
    }

    /// Removes the pending request from its queue (LOCK-WAIT-3), unless it was granted
    /// (LOCK-WAIT-4). With `undo`, a grant that was not picked up is released as well.
    pub(crate) fn withdraw(&self, owner: &mut LockOwner, undo: bool) -> Withdrawal {
        let Some(pending) = owner.pending else { return Withdrawal::Granted };
        let mine = self.record(owner);
        let handover = self.granting(&mut owner.granted);
        match pending.request {
            Request::Range { id, before } => {
                let mut entries = self.bucket(id).entries.lock();
                if mine.is_granted() && !undo {
                    return Withdrawal::Granted;
                }
                self.shared.end_stall(owner.number);
                // A conversion returns to its former mode; a newcomer's entry is removed.
                if let Some(at) = entries.position_from_back(id, owner.number) {
                    entries.lower(at, before, handover);
                }
                mine.end_wait();
            }
            Request::Intent { entry, before, wanted } => {
                if let Some(store) = &self.shared.store {
                    let mut holder = Holder::new(self, owner);
                    if !store.withdraw(&mut holder, entry, before, wanted, undo) {
                        return Withdrawal::Granted;
                    }
                    return self.withdrawn(owner);
                }
                let mut locks = self.resource(entry).locks.lock();
                if mine.is_granted() && !undo {
                    return Withdrawal::Granted;
                }
                self.shared.end_stall(owner.number);
                match mine.is_granted() {
                    true => locks.lower(wanted, before, handover),
                    false => locks.withdraw(owner.number, handover),
                }
                mine.end_wait();
            }
        }
        self.withdrawn(owner)
    }

    /// Ends the wait of an owner whose request was withdrawn.
    fn withdrawn(&self, owner: &mut LockOwner) -> Withdrawal {
        // Drop the waker, which may keep a task alive.
        self.record(owner).take_waker();
        self.end_pending(owner, None);
        self.shared.wake(&mut owner.granted);
        Withdrawal::Done
    }
}

/// The time at which a wait ends without a grant.
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
