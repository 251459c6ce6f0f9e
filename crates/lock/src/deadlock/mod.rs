//! Deadlocks: what a waiter does about them each time it looks.
//!
//! Every method answers one question: a waiter *looks*, does it die? It looks once when its request
//! stands in the queue, and then as often as its method and wait policy say.
//!
//! | method | at a look | looks again | dies |
//! | --- | --- | --- | --- |
//! | `Search` | searches the graph, the first time | when named | the cycle's victim, confirmed |
//! | `Dreadlocks` | gathers digests, publishes one | every `refresh` | the same; or the finder |
//! | `Timeout` | compares its wait with the limit | at the limit | who waits too long |
//! | `WoundWait` | wounds younger owners in its way | every `refresh` | who is wounded, and waits |
//! | `WaitDie` | compares ages | every `refresh` | who waits for an older one |
//!
//! Invariants:
//! - D5. Nobody takes another's request out of a queue. A detector kills the owner that runs it, or
//!   leaves a mark in another's slot and wakes it; who is marked makes sure for itself, and yields
//!   to a grant under the latch of its own queue (W4).
//! - D6. An owner that holds nothing never dies: nobody can wait for it.
//! - D7. A mark names the very wait (`doom`) or the very transaction (`wound`) that it is meant
//!   for, so it harms no later one.
//! - D8. A mark is set before its owner is woken, and looked for after the owner has left its
//!   waker: none is slept over.
//!
//! # Who is told what, and when
//! A *running* owner can be wounded, but notices it only when it has to wait: as long as it does
//! not wait it is in no cycle, and if it never waits again nobody needed its death.
//!
//! A *polled* waiter looks when it is polled, and nobody polls it without a reason. So methods that
//! refresh look *through* such waiters: whoever is attended judges their edges or gathers their
//! dependencies as if they were its own (`Graph::walk`), and a cycle of polled waiters alone is
//! found by the one that closes it, as by `Search`. `Timeout` can only look at the clock when it is
//! polled: the limits of polled waits are the caller's, as [`poll_acquire`] says.
//!
//! | policy | first look | between looks | with methods that refresh |
//! | --- | --- | --- | --- |
//! | `Spin` | after 256 spins | 256 spins | digests are hardly ever old |
//! | `Sleep` | at once | sleeps | old digests pass for new ones: the paper's false alarms |
//! | `SleepBackoff` | at once | sleeps | old digests are left out until their owners look |
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

/// How deadlocks are found or prevented.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DeadlockMethod {
    /// A search of the exact wait-for graph by each owner that has to wait. Nobody dies without a
    /// deadlock, none is missed, and sleepers sleep.
    #[default]
    Search,
    /// Digests of whom each waiter depends on, spread from waiter to waiter.
    Dreadlocks(Digests),
    /// Whoever holds something and has waited this long is taken for deadlocked. A former victim
    /// waits twice as long in each further attempt, up to 64 times.
    Timeout(Duration),
    /// Who has to wait for a younger transaction has it rolled back.
    WoundWait,
    /// Who would have to wait for an older transaction rolls back.
    WaitDie,
}

impl DeadlockMethod {
    /// Whether ages must be known before anybody waits.
    pub(crate) fn judges_by_age(self) -> bool {
        matches!(self, DeadlockMethod::WoundWait | DeadlockMethod::WaitDie)
    }

    /// Whether waiters must be told when what they wait for changes.
    pub(crate) fn has_digests(self) -> bool {
        matches!(self, DeadlockMethod::Dreadlocks(_))
    }
}

impl LockTable {
    /// A waiter looks; true if it dies, and then its request is gone. It is its `first` look at
    /// this wait, or a later one.
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

    /// How long a waiter may sleep before it looks again; `None` is until it is woken.
    pub(crate) fn next_look(&self, owner: &LockOwner) -> Option<Duration> {
        match self.shared.options.deadlocks {
            _ if owner.held.is_empty() && owner.intents.is_empty() => None, // D6
            DeadlockMethod::Search => None,
            DeadlockMethod::Timeout(limit) => timeout::next_look(owner, limit),
            _ => Some(self.shared.options.refresh),
        }
    }

    /// Lets an owner die by its method's rule, unless it was granted (W4). The checker walks the
    /// exact graph first, to count those that died for nothing.
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

    /// Marks the transaction that runs in a slot now: it is to die when it waits (D7).
    fn wound(&self, slot: u32) {
        let wounded = self.shared.registry.slot(slot);
        wounded.wound(wounded.shown.age());
        // D8: after the mark.
        if let Some(waker) = wounded.take_waker() {
            clearway_sync::wake(waker);
        }
    }
}
