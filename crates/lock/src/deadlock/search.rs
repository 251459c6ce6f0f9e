//! The method that searches: a waiter looks for a way from itself back to itself.
//!
//! Invariants:
//! - D1. **Complete.** Of the owners of every cycle, at least one finds it.
//! - D2. **Exact.** An owner dies only if at one moment every edge of a cycle through it existed.
//! - D3. **One victim.** Each cycle costs one life: a finder confirms, and withdraws or names
//!   another victim, under `detector`. Whoever else found the same cycle looks again and finds it
//!   broken, or its victim named.
//! - D4. **Bounded.** A search visits each waiting owner once (G1).
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
//! `w` waits for what it *holds* or converts. Therefore an owner that holds nothing need not search
//! (D6), and edges need to name holders only.
//!
//! # Why nobody dies for nothing (D2)
//! The search reads edges one after another, so it may put together a cycle whose edges never
//! existed at the same time. It therefore walks the path again (G2). The withdrawal itself yields
//! to a grant (W4). A victim that was named by another searches for itself before it dies.
//!
//! # Why naming victims is enough (D1)
//! Who closes cycles may close several at once: when it dies it breaks them all, but each victim
//! that it names breaks only its own. So it searches on, round those that are named (G4), until no
//! cycle is left. Who is named, is woken (D8) and searches under `detector`. Nobody in a cycle
//! moves, so it finds one and dies; if it finds none, the cycle was broken by a time limit, or is
//! left to another one that is named, and it takes the name off under the same mutex. Of several
//! named owners of one cycle the last to search finds it if it is still there: none of the others
//! is named any more.
//!
//! Algorithm: the requirements of "Efficient Locking Techniques for Databases on Modern Hardware",
//! section 4.2 (conversions, queue order, all holders), met by a search of the wait-for graph at
//! block time instead of spreading digests. Differences: exact for any number of waiters; no
//! spinning and no periodic refresh; costs nothing while nobody waits, and one visit of the own
//! queue for a wait whose holders all run.

#[cfg(test)]
mod tests;

use clearway_base::zoo::{self, Bug};
use clearway_sync::wake;

use crate::{
    deadlock::graph::Graph, owner::LockOwner, registry::Counters, table::LockTable,
    wait::Withdrawal,
};

/// What a search came to.
enum Finding {
    /// No cycle, or others' to break.
    Lives,
    Dies,
}

pub(super) fn look(table: &LockTable, owner: &mut LockOwner, first: bool) -> bool {
    (first || table.slot(owner).is_doomed()) && dies(table, owner, false)
}

/// Searches for a cycle; if there is one and this owner is its victim, or was named, withdraws the
/// request and returns true (D3). If the owner is `alarmed` already, no cycle is a false alarm.
///
/// The owner waits, or was granted in the meantime.
pub(super) fn dies(table: &LockTable, owner: &mut LockOwner, alarmed: bool) -> bool {
    let counters = &table.slot(owner).counters;
    Counters::add(&counters.searches, 1);
    let mut graph = std::mem::take(&mut owner.graph);
    let suspects = table.slot(owner).is_doomed() || graph.find_cycle(table, owner.slot);
    let finding = if suspects { confirm(table, &mut graph, owner) } else { Finding::Lives };
    for slot in graph.named.drain(..) {
        // D8: the name is there. No latch is held: a waker is anybody's code.
        let waker = table.shared.registry.slot(slot).take_waker();
        waker.into_iter().for_each(wake);
    }
    owner.graph = graph;
    if alarmed && !suspects {
        Counters::add(&table.slot(owner).counters.false_alarms, 1);
    }
    matches!(finding, Finding::Dies)
}

/// Makes sure of cycles and chooses a victim for each, as the only one who does so (D3).
fn confirm(table: &LockTable, graph: &mut Graph, owner: &mut LockOwner) -> Finding {
    if zoo::has(Bug::TwoVictims) {
        return withdraw(table, owner);
    }
    let _one_victim_at_a_time = table.shared.detector.lock();
    let is_named = table.slot(owner).is_doomed();
    // What was found may be gone, and another cycle be there. Each repetition means that somebody
    // moved between a search and its second look, or was named (G4).
    while graph.find_cycle(table, owner.slot) {
        if !graph.is_certain(table, owner.slot) {
            Counters::add(&table.slot(owner).counters.false_alarms, 1);
            continue;
        }
        let victim = if is_named { owner.slot } else { choose(table, graph, owner.slot) };
        if victim == owner.slot {
            let cycle = table.describe(&graph.owners());
            let finding = withdraw(table, owner);
            if matches!(finding, Finding::Dies) {
                owner.cycle = cycle;
            }
            return finding;
        }
        Counters::add(&table.slot(owner).counters.named, 1);
        graph.named.push(victim);
    }
    table.slot(owner).spare();
    Finding::Lives
}

fn withdraw(table: &LockTable, owner: &mut LockOwner) -> Finding {
    if table.withdraw(owner, false) != Withdrawal::Done {
        return Finding::Lives;
    }
    Counters::add(&table.slot(owner).counters.deadlocks, 1);
    Finding::Dies
}

/// The victim of the cycle that was found; its name is in its slot if it is another than `me`.
fn choose(table: &LockTable, graph: &Graph, me: u32) -> u32 {
    let (registry, policy) = (&table.shared.registry, table.shared.options.victims);
    let rank = |slot| registry.slot(slot).shown.rank(policy, slot == me);
    let worst = graph.members().min_by_key(|&(slot, _)| (rank(slot), slot));
    let (victim, state) = worst.expect("a cycle has members");
    if victim != me {
        registry.slot(victim).doom(state);
    }
    victim
}
