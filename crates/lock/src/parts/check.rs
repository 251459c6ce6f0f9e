//! The handles by which a detector reads the waits, and ends the one that it checks.

use std::time::Duration;

use crate::{deadlock::search, owner::LockOwner, shared::LockTable};

/// A deadlock check of one waiter, by its own thread. No latch is held.
pub struct Check<'a> {
    table: &'a LockTable,
    owner: &'a mut LockOwner,
}

/// The owners of a table, as other owners see them.
#[derive(Clone, Copy)]
pub struct Owners<'a> {
    table: &'a LockTable,
}

impl<'a> Check<'a> {
    pub(crate) fn new(table: &'a LockTable, owner: &'a mut LockOwner) -> Check<'a> {
        Check { table, owner }
    }

    /// Returns the number of the waiter.
    pub fn waiter(&self) -> u32 {
        self.owner.number
    }

    /// Returns the owners of the table.
    pub fn owners(&self) -> Owners<'a> {
        Owners { table: self.table }
    }

    /// Returns the time that the waiter has waited; zero if it does not wait any more.
    pub fn waited(&self) -> Duration {
        self.owner.pending.map_or(Duration::ZERO, |pending| pending.since.elapsed())
    }

    /// Returns the number of attempts that the waiter's transaction has lost.
    pub fn retries(&self) -> u32 {
        self.owner.priority.retries
    }

    /// Passes to `edge` each edge (waiter, blocker) of the wait-for graph that begins at this
    /// waiter, or at a polled waiter that it waits for, directly or through other polled ones
    /// (GRAPH-3).
    pub fn edges(&mut self, edge: impl FnMut(u32, u32)) {
        let mut graph = std::mem::take(&mut self.owner.graph);
        graph.walk(self.table, self.owner.number, edge);
        self.owner.graph = graph;
    }

    /// Returns true if another owner has marked the waiter as the victim of a cycle (SEARCH-3).
    /// Such a waiter must call [`search`](Check::search).
    pub fn is_marked(&self) -> bool {
        self.table.record(self.owner).is_marked_victim()
    }

    /// Returns true if the waiter, as the owner that closes a cycle, ranks below another member of
    /// it.
    pub fn ranks_below(&self, other: u32) -> bool {
        let rank = |owner, closes| self.table.shared.rank(owner, closes);
        rank(self.owner.number, true) < rank(other, false)
    }

    /// Searches the exact wait-for graph, as the product does: if there is a cycle and the waiter
    /// is its victim, it dies, and true is returned. With `alarmed`, finding no cycle counts as a
    /// false alarm.
    pub fn search(&mut self, alarmed: bool) -> bool {
        search::dies(self.table, self.owner, alarmed)
    }

    /// Makes the waiter die, unless it was granted (LOCK-WAIT-4). Returns whether it died. A death
    /// without a cycle counts as a false one.
    pub fn die(&mut self) -> bool {
        self.table.die_by_rule(self.owner)
    }
}

impl Owners<'_> {
    /// Returns the age of the transaction that runs with an owner: the number of its start, in
    /// increasing order; 0 if none was needed yet.
    pub fn age(self, owner: u32) -> u64 {
        self.table.shared.record(owner).priority.age()
    }

    /// Returns true if an owner waits.
    pub fn is_waiting(self, owner: u32) -> bool {
        self.table.shared.record(owner).state().is_waiting()
    }

    /// Wakes an owner, if it sleeps, to check again (LOCK-PARTS-4).
    pub fn wake(self, owner: u32) {
        if let Some(waker) = self.table.shared.record(owner).take_waker() {
            clearway_sync::wake(waker);
        }
    }
}
