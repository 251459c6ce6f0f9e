//! Wound-wait: the older transaction has priority; a transaction that has to wait for a younger one
//! wounds it.
//!
//! A wounded transaction dies when it has to wait, or wakes up and dies if it waits already; one
//! that never waits again finishes unharmed. The remaining waits are of younger transactions for
//! older ones, which form no cycle. The oldest transaction is never wounded, and a victim keeps its
//! age (V3).
//!
//! An edge may arise after its waiter has checked (the lock is granted to another owner, or an
//! owner converts), so waiters check again, also for polled waiters (G3): every edge of a standing
//! cycle is judged, by its waiter or by another waiter of the cycle.
//!
//! Source: Rosenkrantz, Stearns and Lewis, "System Level Concurrency Control for Distributed
//! Database Systems" (TODS 1978). Differences: a running transaction notices a wound at its next
//! wait, not at once, which spares transactions that finish without one; a wait before the first
//! lock wounds no transaction (D6).

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
