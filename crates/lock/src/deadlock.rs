//! Deadlocks: the deadlock check of a waiter.
//!
//! A waiter checks when its request is in the queue: it searches the wait-for graph for a cycle
//! that leads back to itself (`search`). (If its thread has suspended owners, it makes this check
//! twice, the first time before the test for a wait for itself.) After that it checks again only
//! when it is marked as a victim. Under a detector of the table's parts ([`crate::parts`]), a check
//! does what the detector says, and is repeated as often as that requires.
//!
//! Invariants:
//! - DEADLOCK-1. No owner removes another owner's request from a queue. A detector chooses the
//!   owner that runs it as the victim, or sets a mark for another owner and wakes it; the marked
//!   owner confirms by itself, and yields to a grant under the latch of its own queue
//!   (LOCK-WAIT-4).
//! - DEADLOCK-2. An owner that holds nothing never dies. A request queued behind the request of
//!   such an owner counts as waiting for the holders that block that owner (`Entries::blockers`,
//!   `IntentLocks::blockers`). So no edge of the graph leads to the owner, and a cycle of waits
//!   through it contains a shorter one without it.
//! - DEADLOCK-3. A mark identifies the wait (`victim_wait`) or the transaction for which it is set,
//!   so it does not affect a later one.
//! - DEADLOCK-4. A mark is set before its owner is woken, and checked after the owner has stored
//!   its waker: no mark is missed.
//!
//! # Polled waiters
//!
//! A *polled* waiter checks only when it is polled, and so perhaps late. Therefore, under a
//! detector that repeats its checks, a blocking waiter also reads the edges of the polled waiters
//! for which it waits, as if they were its own (`Graph::walk`). A cycle of polled waiters alone is
//! found by the one that closes it, as with the search. The caller handles the limits of polled
//! waits, see [`poll_acquire`].
//!
//! [`poll_acquire`]: crate::LockTable::poll_acquire

mod graph;
pub(crate) mod search;

use std::time::Duration;

use crate::{owner::LockOwner, parts::Check, shared::LockTable, wait::Withdrawal};

impl LockTable {
    /// Runs a waiter's deadlock check. Returns true if it dies, in which case its request is
    /// removed. `first` is set at the first check of a wait.
    #[cold]
    pub(crate) fn check_deadlock(&self, owner: &mut LockOwner, first: bool) -> bool {
        if owner.held.is_empty() && owner.intents.is_empty() {
            return false; // DEADLOCK-2
        }
        match &self.shared.method {
            None => search::check(self, owner, first),
            Some(method) => method.check(&mut Check::new(self, owner), first),
        }
    }

    /// Returns how long a waiter may sleep, or a task may wait to be polled, before it checks
    /// again; `None` means until it is woken.
    pub fn next_check(&self, owner: &mut LockOwner) -> Option<Duration> {
        let method = self.shared.method.as_ref()?;
        if owner.held.is_empty() && owner.intents.is_empty() {
            return None; // DEADLOCK-2
        }
        method.next_check(&Check::new(self, owner))
    }

    /// Makes an owner die by a detector's rule, unless it was granted (LOCK-WAIT-4). The checker
    /// walks the exact graph first, to count false victims.
    pub(crate) fn die_by_rule(&self, owner: &mut LockOwner) -> bool {
        let mut graph = std::mem::take(&mut owner.graph);
        let is_true = graph.find_cycle(self, owner.number) && graph.is_certain(self, owner.number);
        let cycle = if is_true { self.describe(&graph.owners()) } else { Vec::new() };
        owner.graph = graph;
        let died = self.withdraw(owner, false) == Withdrawal::Done;
        let counters = &self.record(owner).counters;
        if died {
            owner.cycle = cycle;
        }
        counters.deadlocks.add(u64::from(died));
        counters.false_deaths.add(u64::from(died && !is_true));
        died
    }
}
