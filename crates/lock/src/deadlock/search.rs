//! The search: a waiter searches for a path from itself back to itself.
//!
//! Invariants:
//! - SEARCH-1. **Complete.** Of the owners of every cycle, at least one finds it.
//! - SEARCH-2. **Exact.** An owner dies only if at one moment every edge of a cycle through it
//!   existed.
//! - SEARCH-3. **One victim.** Each cycle has one victim: a finder confirms, and withdraws or marks
//!   another victim, under the `confirmation` mutex. Other finders of the same cycle search again
//!   and find it broken, or its victim marked.
//! - SEARCH-4. **Bounded.** A search visits each waiting owner at most once. If no owner waits for
//!   the searcher, it visits no more owners than the searcher holds locks (GRAPH-1).
//!
//! # Why no cycle is missed (SEARCH-1)
//! An owner queues its request, publishes its wait by a `SeqCst` store within the same latch hold,
//! and searches afterwards, loading the others' states by `SeqCst` loads. Let `w` be the last of a
//! cycle's owners in the total order of these stores.
//!
//! 1. `w`'s loads come after its own store, so they see every other owner of the cycle waiting, and
//!    (acquire) whatever those did before.
//! 2. An edge `i → j` comes into being only when `i` queues its request, or when `j` queues a
//!    request or is granted one, at once or after a wait. Each of these events precedes the later
//!    one of the two owners' stores: a waiting owner does nothing (WAIT-RECORD-2), and `j`
//!    publishes its present wait only after it has picked up every earlier grant. Hence no edge is
//!    younger than `w`'s store.
//! 3. `w` latches the queue in which `i` waits, to read its edges, after its own store. If the
//!    request or the grant of `j` that created the edge came only after that, `w`'s store would
//!    happen before `j`'s, because of the latch. That contradicts the choice of `w`. So the edge
//!    exists when `w` searches, and it stays: no owner in the cycle moves.
//!
//! So one search for each wait is enough, and a sleeper need not search again. Two waiters that
//! close a cycle at the same moment are ordered by their stores: the later one sees the earlier.
//!
//! If `w` is a newcomer, no request is behind it in its queue when it publishes its wait. So an
//! owner that waits for `w` at that moment waits for what `w` *holds* or converts. Therefore an
//! owner that holds nothing need not search (DEADLOCK-2), and edges need to name holders only. For
//! the same reason a search may end if no request waits in the queue of any lock that the searcher
//! holds: every edge of a cycle that `w` has to find exists while `w` searches. One of them leads
//! to `w`, and the request of its waiter stands in one of these queues. Without this, the n-th
//! session of a chain, in which each waits for the one before it, would visit n owners.
//!
//! # Withdrawals (SEARCH-1)
//! A task that is dropped withdraws its request (`LockTable::cancel`) while others search, and so
//! does a waiter at its time limit or that dies: a waiting owner may do this one thing. Let `x` be
//! the owner that withdraws.
//!
//! - It removes edges: those of `x`, which no longer waits, and those that lead to `x` because of
//!   its request or conversion. What `x` holds keeps its edges. A waiter `i` behind the newcomer
//!   `x` has edges to the owners that block `x` instead (`Entries::blockers`). Of these edges, `i`
//!   keeps those that it would have if `x` had never been in the queue; the others are removed.
//! - It creates no edge by itself. Its latch hold may grant waiters that only `x` blocked, and a
//!   grant creates edges to the granted owner `k`: an event of `k` in the sense of step 2,
//!   whichever thread performs it, for `k` publishes another wait only after it has picked the
//!   grant up. The same holds if a lock that `x` was granted and has not picked up is given back.
//! - So a cycle that contains neither `x` nor an edge that a waiter has only because it stands
//!   behind `x` loses no edge and gains none, and its last owner in the order of the stores finds
//!   it as before. Every other cycle is broken. If `x` was marked as its victim, the mark dies with
//!   the wait (DEADLOCK-3); the cycles that finders left to `x` (GRAPH-4) all lead through `x`, so
//!   they are broken too. A later request of `x` is a new wait with its own store and its own
//!   search.
//!
//! `graph/tests.rs` runs these cases step by step: the withdrawal comes between two steps of the
//! search.
//!
//! # Why no owner dies without a deadlock (SEARCH-2)
//! The search reads edges one after another, so it may find a cycle whose edges never existed at
//! the same time. It therefore walks the path again (GRAPH-2). The withdrawal itself yields to a
//! grant (LOCK-WAIT-4). A victim that was marked by another owner searches for itself before it
//! dies. If an owner of the cycle withdraws after the moment at which every edge existed, the
//! victim is rolled back all the same: it cannot see a withdrawal that comes after it has checked
//! that edge for the last time.
//!
//! # Why marking victims is enough (SEARCH-1)
//! A request can close several cycles. If the requester dies, all of them break; each other victim
//! that it marks breaks only the cycles that lead through that victim. So it continues to search,
//! skipping marked owners (GRAPH-4), until no cycle is left. A marked owner is woken (DEADLOCK-4)
//! and searches under the `confirmation` mutex. No owner in a cycle moves, so it finds one and
//! dies; if it finds none, the cycle was broken by a withdrawal, or is left to another marked
//! owner, and it clears its mark under the same mutex. Of several marked owners of one cycle, the
//! last one to search finds the cycle if it still exists: none of the others is marked any more.
//!
//! Algorithm: the requirements of "Efficient Locking Techniques for Databases on Modern Hardware",
//! section 4.2 (conversions, queue order, all holders), met by a search of the wait-for graph at
//! block time instead of spreading digests. Differences: exact for any number of waiters; no
//! spinning and no periodic refresh; costs nothing while no owner waits, and one visit of the
//! waiter's own queue for a wait whose holders all run.

#[cfg(test)]
mod tests;

use clearway_sync::wake;

use crate::{owner::LockOwner, search_memory::Graph, shared::LockTable, wait::Withdrawal};

/// The result of a search.
enum Finding {
    /// No cycle, or only cycles that others break.
    Lives,
    Dies,
}

/// Runs a waiter's deadlock check. Returns true if it dies, in which case its request is removed.
pub(crate) fn check(table: &LockTable, owner: &mut LockOwner, first: bool) -> bool {
    (first || table.record(owner).is_marked_victim()) && dies(table, owner, false)
}

/// Searches for a cycle; if there is one and this owner is its victim, or was marked, withdraws the
/// request and returns true (SEARCH-3). If the owner is already `alarmed`, finding no cycle counts
/// as a false alarm.
///
/// The owner waits, or was granted in the meantime.
pub(crate) fn dies(table: &LockTable, owner: &mut LockOwner, alarmed: bool) -> bool {
    let counters = &table.record(owner).counters;
    counters.searches.add(1);
    let mut graph = std::mem::take(&mut owner.graph);
    let suspects = table.record(owner).is_marked_victim() || graph.find_own_cycle(table, owner);
    let finding = if suspects { confirm(table, &mut graph, owner) } else { Finding::Lives };
    for victim in graph.marked.drain(..) {
        // DEADLOCK-4: the mark is set. No latch is held, since a waker runs arbitrary code.
        let waker = table.shared.record(victim).take_waker();
        waker.into_iter().for_each(wake);
    }
    owner.graph = graph;
    if alarmed && !suspects {
        table.record(owner).counters.false_alarms.add(1);
    }
    matches!(finding, Finding::Dies)
}

/// Confirms cycles and chooses a victim for each. Only one thread does so at a time (SEARCH-3).
fn confirm(table: &LockTable, graph: &mut Graph, owner: &mut LockOwner) -> Finding {
    let _one_victim_at_a_time = table.shared.confirmation.lock();
    let is_marked = table.record(owner).is_marked_victim();
    // The cycle that was found may be gone, and another one may exist. Each repetition means that
    // an owner moved between a search and its confirmation, or was marked (GRAPH-4).
    while graph.find_own_cycle(table, owner) {
        if !graph.is_certain(table, owner.number) {
            table.record(owner).counters.false_alarms.add(1);
            continue;
        }
        let victim = if is_marked { owner.number } else { choose(table, graph, owner.number) };
        if victim == owner.number {
            let cycle = table.describe(&graph.owners());
            let finding = withdraw(table, owner);
            if matches!(finding, Finding::Dies) {
                owner.cycle = cycle;
            }
            return finding;
        }
        table.record(owner).counters.victims_marked.add(1);
        graph.marked.push(victim);
    }
    table.record(owner).unmark_victim();
    Finding::Lives
}

fn withdraw(table: &LockTable, owner: &mut LockOwner) -> Finding {
    if table.withdraw(owner, false) != Withdrawal::Done {
        return Finding::Lives;
    }
    table.record(owner).counters.deadlocks.add(1);
    Finding::Dies
}

/// Chooses the victim of the cycle that was found, and marks it in its record if it is not `me`.
fn choose(table: &LockTable, graph: &Graph, me: u32) -> u32 {
    let rank = |owner| table.shared.rank(owner, owner == me);
    let worst = graph.members().min_by_key(|&(owner, _)| (rank(owner), owner));
    let (victim, state) = worst.expect("a cycle has members");
    if victim != me {
        table.shared.record(victim).mark_victim(state);
    }
    victim
}
