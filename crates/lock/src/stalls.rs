//! The time for which owners are *stalled*: they wait for a page, or for a lock whose holder is
//! stalled. So a lock wait is divided into the part that the reads of others caused, and the rest.
//!
//! A contended lock has a *clock*, which runs while its holder is stalled. A waiter takes the
//! clock's time when its wait begins and when it ends; the difference is the part behind readers.
//! The stall time of an owner, [`Stall`], stands in its participant record. It is the sum of the
//! page waits and of the parts behind readers of its lock waits, those that go on included, so it
//! leads along a chain of waits to the owner that reads.
//!
//! ```text
//!   the reader          a waiter of its lock       the clock of the lock
//!   begin_read
//!                       begin_stall ─────────────► follows the holder from now on
//!   end_read
//!   releases the lock ──────────────────────────── end_stall of the waiter that is granted;
//!                                                  move_stall: follows the new holder
//! ```
//!
//! Of several holders a clock follows one: the first in the queue whose mode conflicts with the
//! request that is to be granted next. All waiters of a lock share the clock, whatever modes they
//! want. The holders of an intent lock are in no queue; its clock follows the owner that was
//! granted the lock last, or the first that has published such a lock.
//!
//! Invariants:
//! - STALL-1. A clock exists as long as an owner waits for its lock that has begun with
//!   `begin_stall`. It is changed only under the latch of its lock (a bucket or a resource); other
//!   threads read it.
//! - STALL-2. The latches here, of a group of clocks and of the stall time in a record, are leaves
//!   in the latch order. They are held to copy a value, and never two of them.
//! - STALL-3. The stall time of an owner does not decrease. When a read or wait ends, what it adds
//!   is what a thread that looked at that moment would have seen of it.
//! - STALL-4. Only an owner that waits touches these latches, and the thread that ends its wait,
//!   and none of them before the first owner has waited for a page. Clocks do not exist until then,
//!   so waits that began earlier have no part behind readers.
//!
//! Two threads that look along a chain while a lock on it changes hands may see the change a moment
//! earlier or later than it happens; the error is the length of that moment.
//!
//! Source: "High-Performance Transaction Processing in Charm", table 1: the share of the lock
//! contention delay that is due to disk I/O of other transactions. Differences: the paper does not
//! say how it has measured that. Here chains of waits are followed, and holders that change during
//! a wait; a read that the holder waits for counts, also if another transaction has begun it.

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

use std::time::{Duration, Instant};

use crate::{
    LockOwner,
    intent::IntentMode,
    shared::{LockTable, LockTableShared},
    stall_clocks::StallClock,
    wait_record::{OpenStall, Stall, Target},
};

/// Upper bound on the locks of a chain of waits. Beyond it the waits that go on are left out.
const CHAIN_MAX: u32 = 8;

impl LockTableShared {
    /// Begins a page wait of an owner.
    fn begin_read(&self, owner: u32) {
        self.stalls.switch_on();
        let since = self.ns_now();
        self.record(owner).stall.lock().open = OpenStall::Page { since };
    }

    /// Ends the page wait of an owner. Returns its length.
    fn end_read(&self, owner: u32) -> u64 {
        let now = self.ns_now();
        let mut stall = self.record(owner).stall.lock();
        let OpenStall::Page { since } = stall.open else { return 0 };
        let length = now.saturating_sub(since);
        *stall = Stall { passed: stall.passed + length, open: OpenStall::None, ..*stall };
        length
    }

    /// Begins a lock wait. Its request is in the queue of `target`, which is latched, and the wait
    /// is not granted yet. `holder` returns the owner that the clock of the lock follows, if the
    /// clock follows none.
    pub(crate) fn begin_stall(
        &self,
        owner: u32,
        target: Target,
        holder: impl FnOnce() -> Option<u32>,
    ) {
        if !self.stalls.is_on() {
            return;
        }
        let now = self.ns_now();
        let mut clock = self.stalls.get(target).unwrap_or(StallClock::new(target));
        // A holder that waits for a stronger mode must not follow itself.
        if clock.follows.is_none_or(|followed| followed == owner) {
            clock = self.follow(clock, holder(), now);
        }
        clock.waiters += 1;
        let base = self.time_of(&clock, now, CHAIN_MAX);
        self.stalls.put(clock);
        self.record(owner).stall.lock().open = OpenStall::Lock { target, base };
    }

    /// Ends the lock wait of an owner, which is about to be granted its request or withdraws it,
    /// unless it has no clock or has ended already. The latch of the lock is held.
    pub(crate) fn end_stall(&self, owner: u32) {
        if !self.stalls.is_on() {
            return;
        }
        let stall = &self.record(owner).stall;
        let OpenStall::Lock { target, base } = stall.lock().open else { return };
        let behind = self.stalls.get(target).map_or(0, |mut clock| {
            let time = self.time_of(&clock, self.ns_now(), CHAIN_MAX);
            clock.waiters -= 1;
            self.stalls.put(clock);
            time.saturating_sub(base)
        });
        let mut stall = stall.lock();
        let passed = stall.passed + behind;
        *stall = Stall { passed, open: OpenStall::None, last_wait: behind };
    }

    /// Notes that the holders of a contended lock have changed: its clock follows what `holder`
    /// returns from now on. The latch of the lock is held.
    pub(crate) fn move_stall(&self, target: Target, holder: impl FnOnce() -> Option<u32>) {
        if !self.stalls.is_on() {
            return;
        }
        let Some(clock) = self.stalls.get(target) else { return };
        let holder = holder();
        if holder != clock.follows {
            self.stalls.put(self.follow(clock, holder, self.ns_now()));
        }
    }

    /// Takes the part behind readers of an owner's last lock wait. Called by the owner.
    pub(crate) fn take_behind_reads(&self, owner: u32) -> Duration {
        if !self.stalls.is_on() {
            return Duration::ZERO;
        }
        Duration::from_nanos(std::mem::take(&mut self.record(owner).stall.lock().last_wait))
    }

    /// Returns the clock as it is when it begins to follow another holder.
    fn follow(&self, clock: StallClock, holder: Option<u32>, now: u64) -> StallClock {
        let passed = self.time_of(&clock, now, CHAIN_MAX);
        let base = holder.map_or(0, |holder| self.stall_of(holder, now, CHAIN_MAX));
        StallClock { follows: holder, base, passed, ..clock }
    }

    /// Returns the time of a clock.
    fn time_of(&self, clock: &StallClock, now: u64, chain: u32) -> u64 {
        let followed = clock.follows.map_or(0, |holder| self.stall_of(holder, now, chain));
        clock.passed + followed.saturating_sub(clock.base)
    }

    /// Returns the stall time of an owner, with `chain` further locks that it may lead over.
    fn stall_of(&self, owner: u32, now: u64, chain: u32) -> u64 {
        let stall = *self.record(owner).stall.lock();
        stall.passed
            + match stall.open {
                OpenStall::Page { since } => now.saturating_sub(since),
                OpenStall::Lock { target, base } if chain > 0 => {
                    let time = |clock| self.time_of(&clock, now, chain - 1);
                    self.stalls.get(target).map_or(0, time).saturating_sub(base)
                }
                OpenStall::Lock { .. } | OpenStall::None => 0,
            }
    }

    /// Returns the nanoseconds since the creation of the table.
    fn ns_now(&self) -> u64 {
        Instant::now().saturating_duration_since(self.created).as_nanos() as u64
    }
}

impl LockTable {
    /// Returns the owner that the clock of an intent lock follows while `waiter` waits for it: a
    /// holder that does not wait for it, too.
    pub(crate) fn holder_of_intent(
        &self,
        entry: u32,
        waiter: u32,
        wanted: IntentMode,
    ) -> Option<u32> {
        let waits_here = |owner: u32| {
            let record = self.shared.record(owner);
            record.target(record.state()) == Some(Target::Intent(entry))
        };
        let mut holders = self.conflicting_holders(entry, waiter, wanted);
        holders.find(|(owner, _)| !waits_here(*owner)).map(|(owner, _)| owner)
    }
}

impl LockOwner {
    /// Notes that the owner begins to wait for a page. Until [`end_read`](Self::end_read), the
    /// waits for its locks count as waits for reads ([`WaitLength::behind_reads`]).
    ///
    /// [`WaitLength::behind_reads`]: crate::WaitLength::behind_reads
    #[cold]
    pub fn begin_read(&mut self) {
        self.table.shared.begin_read(self.number);
    }

    /// Notes that the owner has its page, or will not get it. Returns the length of the wait; zero
    /// if none was begun.
    #[cold]
    pub fn end_read(&mut self) -> Duration {
        Duration::from_nanos(self.table.shared.end_read(self.number))
    }
}
