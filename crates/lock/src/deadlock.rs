//! Deadlock detection: a waiter looks for a way from itself back to itself, and dies if there is
//! one.
//!
//! Invariants:
//! - D1. **Complete.** Of the owners of every cycle, at least one finds it.
//! - D2. **Exact.** An owner dies only if at one moment every edge of a cycle through it existed.
//! - D3. **One victim.** Each cycle costs one life: a finder confirms and withdraws under
//!   `detector`, so whoever else found the same cycle looks again and finds it broken.
//! - D4. **Bounded.** A search visits each waiting owner once, whatever cycles it meets that do not
//!   lead back to the searcher.
//! - D5. The detector kills nobody but the owner that runs it.
//!
//! An edge `i → j` means: `i` waits, and cannot be granted before `j` lets something go or stops
//! waiting. Edges are read from the queues themselves, under the latch, by the conditions that also
//! decide grants (`Entries::blockers` and `IntentLocks::blockers`): all incompatible holders,
//! conversions, and whoever is ahead in a first-come queue. Intent locks take part: they have no
//! list of holders, so a searcher runs over the slots of all *waiting* owners, who have published
//! their private tables. There are no digests that could be out of date.
//!
//! # Why no cycle is missed (D1)
//! An owner queues its request, publishes its wait by a `SeqCst` store within the same latch hold,
//! and searches afterwards, loading the others' states by `SeqCst` loads. Let `w` be the last of a
//! cycle's owners in the total order of these stores.
//!
//! 1. `w`'s loads come after its own store, so they see every other owner of the cycle waiting, and
//!    (acquire) whatever those did before.
//! 2. An edge `i → j` comes into being only by an act of `i` (it queues), of `j` (it queues, or is
//!    granted something by its own request), or by a grant to `j` of what it waited for, where the
//!    edge was there before by what `j` wanted. All these acts precede the later one of the two
//!    owners' stores: waiting owners do nothing (R3). Hence no edge is younger than `w`'s store.
//! 3. `w` enters the queue of `i` after its own store. Were the act of `j` that made the edge to
//!    come only after that, then `w`'s store would happen before `j`'s, by the latch: against the
//!    choice of `w`. So the edge is there when `w` looks, and stays: nobody in the cycle moves.
//!
//! So one search for each wait is enough, and a sleeper need not look again. Two waiters that close
//! a cycle at the same moment are ordered by their stores: the later one sees the earlier.
//!
//! At that moment nobody stands behind `w` in the queue it has just joined, so whoever waits for
//! `w` waits for what it *holds* or converts. Therefore edges name holders only (newcomers of a
//! queue are passed through), and an owner that holds nothing need not search.
//!
//! # Why nobody dies for nothing (D2)
//! The search reads edges one after another, so it may put together a cycle whose edges never
//! existed at the same time. It therefore walks the path again, and the owner dies only if each
//! owner on it is still in the same wait, by number, as when the search met it, and each edge still
//! exists. Let `i → j` be seen again at `t(i)`, before `j` is looked at again at `t(j)`. `j` was in
//! the same wait from the search until `t(j)`, so it moved neither at `t(i)` nor since. The last
//! edge leads to the searcher, who does not move either, so the last owner stays blocked, therefore
//! the one before it, and so on to the first: when the walk ends all edges exist, unless somebody
//! has just given up at its time limit. The withdrawal itself yields to a grant (W4).
//!
//! Algorithm: the requirements of "Efficient Locking for Databases", section 4.2 (conversions,
//! queue order, all holders), met by a search of the wait-for graph at block time instead of
//! spreading digests. Differences: exact for any number of waiters; no spinning and no periodic
//! refresh; costs nothing while nobody waits, and one visit of the own queue for a wait whose
//! holders all run. The victim is the one that closes the cycle.

use clearway_base::zoo::{self, Bug};

use crate::{
    owner::LockOwner,
    registry::{Counters, Target, WaitState},
    table::LockTable,
    wait::Withdrawal,
};

/// An owner that the search met.
#[derive(Clone, Copy)]
struct Node {
    slot: u32,
    /// Its state when the search expanded it.
    state: WaitState,
    /// Index of the node that waits for it.
    parent: usize,
}

/// The memory of a search, kept from one to the next.
#[derive(Default)]
pub(crate) struct Search {
    /// Nodes in breadth-first order; the first is the searcher.
    nodes: Vec<Node>,
    /// Indices of `nodes`: the cycle from the searcher to the owner that waits for it.
    path: Vec<usize>,
    /// One bit for each slot that is in `nodes` (D4).
    visited: Vec<u64>,
    blockers: Vec<u32>,
}

impl LockTable {
    /// Searches for a cycle; if there is one, withdraws the request and returns true (D3, D5).
    ///
    /// The owner waits, or was granted in the meantime.
    #[cold]
    pub(crate) fn dies(&self, owner: &mut LockOwner) -> bool {
        let holds_nothing = owner.held.is_empty() && owner.intents.is_empty();
        if holds_nothing {
            return false;
        }
        let mut search = std::mem::take(&mut owner.search);
        Counters::add(&self.slot(owner).counters.searches, 1);
        let dies = search.find_cycle(self, owner.slot) && self.confirm(&mut search, owner);
        owner.search = search;
        dies
    }

    /// Makes sure of a cycle and breaks it, as the only one who does so (D3).
    fn confirm(&self, search: &mut Search, owner: &mut LockOwner) -> bool {
        let _one_victim_at_a_time = self.shared.detector.lock();
        // What was found may be gone, and another cycle be there. Each repetition means that
        // somebody moved between a search and its second look.
        while search.find_cycle(self, owner.slot) {
            if search.is_certain(self, owner.slot) {
                let died = self.withdraw(owner, false) == Withdrawal::Done;
                if died {
                    Counters::add(&self.slot(owner).counters.deadlocks, 1);
                }
                return died;
            }
            Counters::add(&self.slot(owner).counters.false_alarms, 1);
        }
        false
    }

    /// Appends to `out` whom a waiting owner waits for; false if it does not wait for `target`.
    fn blockers(&self, slot: u32, target: Target, out: &mut Vec<u32>) -> bool {
        let registry = &self.shared.registry;
        match target {
            Target::Range(id) => self.bucket(id).entries.lock().blockers(id, slot, out),
            Target::Intent(entry) => {
                let blocking = self.resource(entry).locks.lock().blockers(slot, out);
                let Some(modes) = blocking else { return false };
                // Only who waits can be part of a cycle, and only who waits has published (R4).
                out.extend((0..registry.len()).filter(|&other| {
                    let holder = registry.slot(other);
                    other != slot
                        && holder.state().is_waiting()
                        && holder.intent_on(entry).is_some_and(|held| modes.contains(held.mode))
                }));
                true
            }
        }
    }
}

impl Search {
    /// Whether `me` was seen to wait for itself; then `path` is the cycle.
    fn find_cycle(&mut self, table: &LockTable, me: u32) -> bool {
        let registry = &table.shared.registry;
        self.nodes.clear();
        self.visited.clear();
        self.visit(me, 0);
        let mut at = 0;
        while at < self.nodes.len() {
            let slot = self.nodes[at].slot;
            let state = registry.slot(slot).state();
            self.nodes[at].state = state;
            self.blockers.clear();
            if let Some(target) = registry.slot(slot).target(state) {
                table.blockers(slot, target, &mut self.blockers);
            }
            if zoo::has(Bug::FirstHolderOnly) {
                self.blockers.truncate(1);
            }
            for next in 0..self.blockers.len() {
                if self.blockers[next] == me {
                    self.trace(at);
                    return true;
                }
                self.visit(self.blockers[next], at);
            }
            at += 1;
        }
        false
    }

    fn visit(&mut self, slot: u32, parent: usize) {
        let (word, bit) = (slot as usize / 64, 1 << (slot % 64));
        if word >= self.visited.len() {
            self.visited.resize(word + 1, 0);
        }
        if self.visited[word] & bit == 0 {
            self.visited[word] |= bit;
            self.nodes.push(Node { slot, state: WaitState::default(), parent });
        }
    }

    /// Writes down the way from the searcher to the node at `last`.
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

    /// Walks the cycle again: the same waits, and still every edge (D2).
    fn is_certain(&mut self, table: &LockTable, me: u32) -> bool {
        let registry = &table.shared.registry;
        (0..self.path.len()).all(|step| {
            let node = self.nodes[self.path[step]];
            let next = self.path.get(step + 1).map_or(me, |&at| self.nodes[at].slot);
            let state = registry.slot(node.slot).state();
            let Some(target) = registry.slot(node.slot).target(state) else { return false };
            self.blockers.clear();
            state == node.state
                && table.blockers(node.slot, target, &mut self.blockers)
                && self.blockers.contains(&next)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{
        task::{Context, Waker},
        time::Duration,
    };

    use clearway_sync::thread;

    use super::*;
    use crate::{LockId, LockOptions, Outcome, RangeMode};

    const KEYS: [LockId; 3] = [LockId(11), LockId(22), LockId(33)];

    /// Owners 0 and 1 wait for each other and have not searched yet; owner 2 holds the third key.
    fn standing_cycle() -> (LockTable, [LockOwner; 3]) {
        let table = LockTable::new(LockOptions { buckets: 2, ..LockOptions::default() });
        let mut owners = std::array::from_fn(|_| table.owner());
        for (owner, key) in owners.iter_mut().zip(KEYS) {
            assert_eq!(table.try_acquire(owner, key, RangeMode::XN), Outcome::Granted);
        }
        assert!(!table.start(&mut owners[0], KEYS[1], RangeMode::XN));
        assert!(!table.start(&mut owners[1], KEYS[0], RangeMode::XN));
        (table, owners)
    }

    #[test]
    fn search_that_meets_a_foreign_cycle_ends_and_survives() {
        let (table, mut owners) = standing_cycle();
        let me = &mut owners[2];
        let mut cx = Context::from_waker(Waker::noop());
        assert!(table.poll_acquire(me, KEYS[0], RangeMode::XN, &mut cx).is_pending());
        assert_eq!((table.stats().searches, table.stats().deadlocks), (1, 0));
        assert_eq!(me.search.nodes.len(), 3, "each owner is visited once (D4)");
        assert!(table.dies(&mut owners[0]));
    }

    #[test]
    fn only_the_first_of_two_finders_dies() {
        let (table, mut owners) = standing_cycle();
        let [a, b, _] = &mut owners;
        // Both have found it; neither has confirmed.
        assert!(a.search.find_cycle(&table, a.slot) && b.search.find_cycle(&table, b.slot));
        assert!(table.dies(b));
        assert!(!table.dies(a));
        assert!(a.pending.is_some() && b.pending.is_none());
        assert_eq!(table.stats().deadlocks, 1);
    }

    #[test]
    fn finder_waits_for_another_to_confirm_and_then_looks_again() {
        let (table, mut owners) = standing_cycle();
        let [a, b, _] = &mut owners;
        let confirming = table.shared.detector.lock();
        thread::scope(|scope| {
            let second = scope.spawn(|| table.dies(a));
            while table.stats().searches == 0 {
                thread::yield_now();
            }
            // Time for it to die at once, if it did not wait for us (D3).
            thread::sleep(Duration::from_millis(20));
            // b, the first finder, gives way.
            assert!(table.withdraw(b, false) == Withdrawal::Done);
            drop(confirming);
            assert!(!second.join().expect("no panic"), "one victim is enough");
        });
        assert_eq!(table.stats().deadlocks, 0);
    }

    #[test]
    fn cycle_of_an_older_wait_is_not_certain() {
        let (table, mut owners) = standing_cycle();
        let [a, b, _] = &mut owners;
        assert!(a.search.find_cycle(&table, a.slot));
        assert!(a.search.is_certain(&table, a.slot));
        // The same edge, but b has moved in between: it may have let a pass for a while.
        table.cancel(b);
        assert!(!a.search.is_certain(&table, a.slot));
        assert!(!table.start(b, KEYS[0], RangeMode::XN));
        assert!(!a.search.is_certain(&table, a.slot));
        assert!(a.search.find_cycle(&table, a.slot) && a.search.is_certain(&table, a.slot));
    }

    #[test]
    fn finder_that_was_granted_in_the_meantime_lives() {
        let (table, mut owners) = standing_cycle();
        let [a, b, _] = &mut owners;
        assert!(a.search.find_cycle(&table, a.slot));
        table.release_all(b, None);
        assert!(!table.dies(a));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(table.poll_acquire(a, KEYS[1], RangeMode::XN, &mut cx).is_ready());
    }
}
