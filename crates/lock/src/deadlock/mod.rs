//! Deadlocks: the deadlock check of a waiter.
//!
//! Every method decides at each deadlock check (*look*) of a waiter whether it dies. A waiter
//! checks once when its request is in the queue, and then as often as its method and wait policy
//! require.
//!
//! | method | at a check | checks again | victim |
//! | --- | --- | --- | --- |
//! | `Search` | searches the graph, the first time | when marked | the cycle's victim, confirmed |
//! | `Dreadlocks` | gathers digests, publishes one | every `refresh` | the same; or the finder |
//! | `Timeout` | compares its wait with the limit | at the limit | an owner that waits too long |
//! | `WoundWait` | wounds younger blockers | every `refresh` | a wounded owner that waits |
//! | `WaitDie` | compares ages | every `refresh` | an owner that waits for an older one |
//!
//! Invariants:
//! - D5. No owner removes another owner's request from a queue. A detector chooses the owner that
//!   runs it as the victim, or sets a mark in another owner's slot and wakes it; the marked owner
//!   confirms by itself, and yields to a grant under the latch of its own queue (W4).
//! - D6. An owner that holds nothing never dies: no owner can wait for it.
//! - D7. A mark identifies the wait (`victim_wait`) or the transaction (`wound`) for which it is
//!   set, so it does not affect a later one.
//! - D8. A mark is set before its owner is woken, and checked after the owner has stored its waker:
//!   no mark is missed.
//!
//! # Delivery of marks
//! A *running* owner can be wounded, but notices it only when it has to wait: as long as it does
//! not wait it is in no cycle, and if it never waits again its death was not necessary.
//!
//! A *polled* waiter checks when it is polled, which happens only for a reason. Therefore methods
//! that refresh walk *through* such waiters: a waiter that blocks judges their edges or gathers
//! their dependencies as if they were its own (`Graph::walk`), and a cycle of polled waiters alone
//! is found by the one that closes it, as with `Search`. `Timeout` can only read the clock when it
//! is polled: the caller handles the limits of polled waits, see [`poll_acquire`].
//!
//! | policy | first check | between checks | with methods that refresh |
//! | --- | --- | --- | --- |
//! | `Spin` | after 256 spins | 256 spins | digests are hardly ever old |
//! | `Sleep` | at once | sleeps | old digests are accepted as new: the paper's false alarms |
//! | `SleepBackoff` | at once | sleeps | old digests are ignored until their owners check |
//! | `Hybrid` | after a short spin, if admitted | spins, sleeps | as `SleepBackoff` |
//!
//! "Sleeps" is until the lock is handed over, the owner is marked, its time is up, or, with a
//! method that refreshes, for `refresh` at the most. `Search` needs no refreshing: its sleepers
//! sleep until one of the other things happens.
//!
//! [`poll_acquire`]: crate::LockTable::poll_acquire

mod dreadlocks;
mod graph;
mod search;
mod timeout;
mod wait_die;
mod wound_wait;

pub(crate) mod digest;

pub(crate) use graph::Graph;

use std::time::Duration;

use crate::{
    deadlock::digest::Digests, owner::LockOwner, registry::Counters, table::LockTable,
    wait::Withdrawal,
};

/// The method by which deadlocks are found or prevented.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DeadlockMethod {
    /// A search of the exact wait-for graph by each owner that has to wait. No owner dies without a
    /// deadlock, none is missed, and sleepers need not wake up.
    #[default]
    Search,
    /// Digests of the owners on which each waiter depends, spread from waiter to waiter.
    Dreadlocks(Digests),
    /// An owner that holds something and has waited this long is considered deadlocked. A former
    /// victim waits twice as long in each further attempt, up to 64 times.
    Timeout(Duration),
    /// A transaction that has to wait for a younger one rolls that one back.
    WoundWait,
    /// A transaction that would have to wait for an older one rolls back.
    WaitDie,
}

impl DeadlockMethod {
    /// Whether ages must be known before any wait.
    pub(crate) fn judges_by_age(self) -> bool {
        matches!(self, DeadlockMethod::WoundWait | DeadlockMethod::WaitDie)
    }

    /// Whether waiters must be notified when what they wait for changes.
    pub(crate) fn has_digests(self) -> bool {
        matches!(self, DeadlockMethod::Dreadlocks(_))
    }
}

impl LockTable {
    /// Runs a waiter's deadlock check. Returns true if it dies, in which case its request is
    /// removed. `first` is set at the first check of a wait.
    #[cold]
    pub(crate) fn look(&self, owner: &mut LockOwner, first: bool) -> bool {
        if owner.held.is_empty() && owner.intents.is_empty() {
            return false; // D6
        }
        match self.shared.options.deadlocks {
            DeadlockMethod::Search => search::look(self, owner, first),
            DeadlockMethod::Dreadlocks(digests) => dreadlocks::look(self, owner, digests),
            DeadlockMethod::Timeout(limit) => timeout::look(self, owner, limit),
            DeadlockMethod::WoundWait => wound_wait::look(self, owner),
            DeadlockMethod::WaitDie => wait_die::look(self, owner),
        }
    }

    /// Returns how long a waiter may sleep before it checks again; `None` means until it is woken.
    pub(crate) fn next_look(&self, owner: &LockOwner) -> Option<Duration> {
        match self.shared.options.deadlocks {
            _ if owner.held.is_empty() && owner.intents.is_empty() => None, // D6
            DeadlockMethod::Search => None,
            DeadlockMethod::Timeout(limit) => timeout::next_look(owner, limit),
            _ => Some(self.shared.options.refresh),
        }
    }

    /// Makes an owner die by its method's rule, unless it was granted (W4). The checker walks the
    /// exact graph first, to count false victims.
    fn die_by_rule(&self, owner: &mut LockOwner) -> bool {
        let mut graph = std::mem::take(&mut owner.graph);
        let is_true = graph.find_cycle(self, owner.slot) && graph.is_certain(self, owner.slot);
        let cycle = if is_true { self.describe(&graph.owners()) } else { Vec::new() };
        owner.graph = graph;
        let died = self.withdraw(owner, false) == Withdrawal::Done;
        let counters = &self.slot(owner).counters;
        if died {
            owner.cycle = cycle;
        }
        Counters::add(&counters.deadlocks, u64::from(died));
        Counters::add(&counters.false_deaths, u64::from(died && !is_true));
        died
    }

    /// Wounds the transaction that runs in a slot now: it must die when it waits (D7).
    fn wound(&self, slot: u32) {
        let wounded = self.shared.registry.slot(slot);
        wounded.wound(wounded.shown.age());
        // D8: after the mark.
        if let Some(waker) = wounded.take_waker() {
            clearway_sync::wake(waker);
        }
    }
}
