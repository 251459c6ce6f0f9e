//! The wait-for graph, read from the queues themselves: the owners that an owner waits for, a
//! search for a cycle, and its confirmation.
//!
//! An edge `i → j` means: `i` waits, and cannot be granted before `j` releases something or stops
//! waiting. Edges are read under the latch, by the conditions that also decide grants
//! (`Entries::blockers` and `IntentLocks::blockers`): all incompatible holders, conversions, and
//! requests ahead in a first-come queue. Newcomers of a queue are passed through and not listed:
//! they hold nothing there and wait nowhere else, so the owners that *they* wait for suffice, and
//! every cycle has a shorter one without them. Intent locks take part: they have no list of
//! holders, so the graph runs over what all *waiting* owners have published
//! (`published_intents`).
//!
//! Invariants:
//! - GRAPH-1. `find_cycle` visits each waiting owner at most once, even if it meets cycles that do
//!   not lead back to its start. If no owner waits for the searcher, `find_own_cycle` visits no
//!   more owners than the searcher holds locks: the searcher is then in no cycle, however long the
//!   chain before it is.
//! - GRAPH-2. When `is_certain` returns true, there was a moment at which every edge of the cycle
//!   existed. (An owner may withdraw its request after that moment; see `search`.) It walks the
//!   path again: each owner on it is still in the same wait, by number, as when the search met it,
//!   and each edge still exists. Let the second walk see the edge `i → j` at the time `t(i)` and,
//!   later, the edge that leaves `j` at `t(j)`. `j` was in the same wait from the search until
//!   `t(j)`, and `t(i)` is earlier, so `j` did not move between `t(i)` and `t(j)`. The last edge
//!   leads to the searcher, which does not move either, so the last owner stays blocked, therefore
//!   the one before it, and so on to the first.
//! - GRAPH-3. `walk` continues through polled waiters, which check for deadlocks only when they are
//!   polled. It stops at blocking waits: a waiter whose thread blocks repeats its deadlock check,
//!   so a detector that repeats its checks need not walk through it.
//! - GRAPH-4. `find_cycle` skips owners that are marked as victims: a marked owner searches for
//!   itself, under the `confirmation` mutex, and dies if it finds a cycle, which breaks every cycle
//!   that leads through it. A cycle that is found is therefore one that no other owner is about to
//!   break.
//!
//! All detectors share this graph: it is what the search searches, the edges that other detectors
//! judge, and the checker that detects false victims.

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

use crate::{
    identity::LockId,
    owner::LockOwner,
    search_memory::{Graph, VisitedOwner},
    shared::LockTable,
    wait_record::{Target, WaitState},
};

impl LockTable {
    /// Returns false if no other owner waits for a lock that `owner` holds or converts.
    fn is_awaited(&self, owner: &LockOwner) -> bool {
        let has_waiter = |id: &LockId| {
            let entries = self.bucket(*id).entries.lock();
            entries.waiting() > 0
                && entries.of(*id).any(|entry| entry.is_waiting() && entry.owner != owner.number)
        };
        // Intent locks of a store of the table's parts are not known here.
        self.shared.store.is_some()
            || owner.held.iter().any(has_waiter)
            || owner
                .intents
                .iter()
                .any(|held| self.resource(held.entry).locks.lock().has_waiter_beside(owner.number))
    }

    /// Appends to `out` the owners that a waiting owner waits for; returns false if it does not
    /// wait for `target`.
    fn blockers(&self, owner: u32, target: Target, out: &mut Vec<u32>) -> bool {
        match target {
            Target::Range(id) => self.bucket(id).entries.lock().blockers(id, owner, out),
            Target::Intent(entry) => {
                let blocking = self.resource(entry).locks.lock().blockers(owner, out);
                let Some(modes) = blocking else { return false };
                // Only a waiting owner can be part of a cycle, and what it has published stays
                // (WAIT-RECORD-3).
                out.extend((0..self.shared.participants.len()).filter(|&other| {
                    let holder = self.shared.record(other);
                    other != owner
                        && holder.state().is_waiting()
                        && holder.intents.mode_on(entry).is_some_and(|mode| modes.contains(mode))
                }));
                true
            }
        }
    }
}

impl Graph {
    /// Returns true if `me` waits for itself; if so, `path` is the cycle. Cycles through owners
    /// that are marked as victims are ignored, since these owners break them (GRAPH-4).
    pub(super) fn find_cycle(&mut self, table: &LockTable, me: u32) -> bool {
        self.find(table, me, usize::MAX, || true)
    }

    /// As [`find_cycle`](Graph::find_cycle), for an owner that searches for itself. Once it has
    /// visited as many owners as it holds locks, it asks whether any owner waits for one of these,
    /// which costs a latch for each.
    pub(super) fn find_own_cycle(&mut self, table: &LockTable, me: &LockOwner) -> bool {
        let visits = me.held.len() + me.intents.len();
        self.find(table, me.number, visits, || table.is_awaited(me))
    }

    /// Searches for a cycle. After `visits` owners it goes on only if `is_awaited` returns true.
    fn find(
        &mut self,
        table: &LockTable,
        me: u32,
        visits: usize,
        is_awaited: impl Fn() -> bool,
    ) -> bool {
        self.begin(me);
        let mut at = 0;
        while at < self.nodes.len() {
            if at == visits && !is_awaited() {
                return false;
            }
            self.expand(table, at);
            for next in 0..self.blockers.len() {
                let blocker = self.blockers[next];
                if blocker == me {
                    self.trace(at);
                    return true;
                }
                // An owner that does not wait leads nowhere: on a hot row this is usually the
                // holder.
                let blocking = table.shared.record(blocker);
                if blocking.state().is_waiting() && !blocking.is_marked_victim() {
                    self.visit(blocker, at); // GRAPH-4
                }
            }
            at += 1;
        }
        false
    }

    /// Passes to `edge` each edge (waiter, blocker) of `me` and of the polled waiters that it waits
    /// for, directly or through others of them (GRAPH-3).
    pub(crate) fn walk(&mut self, table: &LockTable, me: u32, mut edge: impl FnMut(u32, u32)) {
        self.begin(me);
        let mut at = 0;
        while at < self.nodes.len() {
            self.expand(table, at);
            let waiter = self.nodes[at].owner;
            for next in 0..self.blockers.len() {
                let blocker = self.blockers[next];
                edge(waiter, blocker);
                if !table.shared.record(blocker).is_blocking_wait() {
                    self.visit(blocker, at);
                }
            }
            at += 1;
        }
    }

    /// Walks the cycle again and checks that the waits are the same and every edge still exists
    /// (GRAPH-2).
    pub(super) fn is_certain(&mut self, table: &LockTable, me: u32) -> bool {
        let shared = &table.shared;
        (0..self.path.len()).all(|step| {
            let node = self.nodes[self.path[step]];
            let next = self.path.get(step + 1).map_or(me, |&at| self.nodes[at].owner);
            let state = shared.record(node.owner).state();
            let Some(target) = shared.record(node.owner).target(state) else { return false };
            self.blockers.clear();
            state == node.state
                && table.blockers(node.owner, target, &mut self.blockers)
                && self.blockers.contains(&next)
        })
    }

    /// Returns the owners of the cycle that was found, each with its wait, the searcher first.
    pub(super) fn members(&self) -> impl Iterator<Item = (u32, WaitState)> {
        self.path.iter().map(|&at| (self.nodes[at].owner, self.nodes[at].state))
    }

    /// Returns the owners of the cycle without their waits, for the report of the cycle.
    pub(super) fn owners(&self) -> Vec<u32> {
        self.members().map(|(owner, _)| owner).collect()
    }

    /// Returns the number of owners that the last search visited.
    #[cfg(test)]
    pub(super) fn met(&self) -> usize {
        self.nodes.len()
    }

    fn begin(&mut self, me: u32) {
        self.nodes.clear();
        self.visited.clear();
        self.visit(me, 0);
    }

    /// Stores in `blockers` the owners that the node at `at` waits for.
    fn expand(&mut self, table: &LockTable, at: usize) {
        let owner = self.nodes[at].owner;
        let published = table.shared.record(owner);
        let state = published.state();
        self.nodes[at].state = state;
        self.blockers.clear();
        if let Some(target) = published.target(state) {
            table.blockers(owner, target, &mut self.blockers);
        }
    }

    fn visit(&mut self, owner: u32, parent: usize) {
        let (word, bit) = (owner as usize / 64, 1 << (owner % 64));
        if word >= self.visited.len() {
            self.visited.resize(word + 1, 0);
        }
        if self.visited[word] & bit == 0 {
            self.visited[word] |= bit;
            self.nodes.push(VisitedOwner { owner, state: WaitState::default(), parent });
        }
    }

    /// Records the path from the searcher to the node at `last`.
    fn trace(&mut self, last: usize) {
        self.path.clear();
        let mut at = last;
        while at != 0 {
            self.path.push(at);
            at = self.nodes[at].parent;
        }
        self.path.push(0);
        self.path.reverse();
    }
}
