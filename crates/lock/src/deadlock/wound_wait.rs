//! The method in which the older goes first: who has to wait for a younger transaction wounds it.
//!
//! A wounded transaction dies when it has to wait, or wakes up and dies if it waits already; one
//! that never waits again finishes unharmed. So what remains is younger ones waiting for older
//! ones, which makes no cycle. The oldest transaction is never wounded, and a victim keeps its age
//! (V3).
//!
//! An edge may come into being after its waiter has looked (the lock is handed to somebody else, or
//! somebody converts), so waiters look again, and again for those that are polled (G3): every edge
//! of a standing cycle is judged, by its waiter or by another waiter of the cycle.
//!
//! Source: Rosenkrantz, Stearns and Lewis, "System Level Concurrency Control for Distributed
//! Database Systems" (TODS 1978). Differences: the wound of a running transaction is felt at its
//! next wait, not at once, which spares those that finish without one; a wait before the first
//! lock wounds nobody (D6).

use crate::{owner::LockOwner, table::LockTable};

pub(super) fn look(table: &LockTable, owner: &mut LockOwner) -> bool {
    if table.slot(owner).is_wounded() {
        return table.die_by_rule(owner);
    }
    let age = |slot| table.shared.registry.slot(slot).shown.age();
    let mut graph = std::mem::take(&mut owner.graph);
    graph.walk(table, owner.slot, |waiter, blocker| {
        if age(waiter) < age(blocker) {
            table.wound(blocker);
        }
    });
    owner.graph = graph;
    // A polled waiter that this one waits for may be the older one.
    table.slot(owner).is_wounded() && table.die_by_rule(owner)
}
