//! Wait-die: only an older transaction may wait; a transaction that would wait for an older one
//! dies.
//!
//! The remaining waits are of older transactions for younger ones, which form no cycle. The oldest
//! transaction never dies, and a victim keeps its age (V3).
//!
//! As in `wound_wait`, edges may arise after a check, so waiters check again, and judge the edges
//! of polled waiters on the path (G3), which they notify with a wound.
//!
//! Source: Rosenkrantz, Stearns and Lewis, "System Level Concurrency Control for Distributed
//! Database Systems" (TODS 1978). Difference: a wait before the first lock kills no transaction
//! (D6).

use crate::{owner::LockOwner, table::LockTable};

pub(super) fn look(table: &LockTable, owner: &mut LockOwner) -> bool {
    let age = |slot| table.shared.registry.slot(slot).shown.age();
    let me = owner.slot;
    let mut dies = table.slot(owner).is_wounded();
    let mut graph = std::mem::take(&mut owner.graph);
    graph.walk(table, me, |waiter, blocker| {
        let is_younger = age(blocker) < age(waiter);
        if is_younger && waiter == me {
            dies = true;
        } else if is_younger {
            table.wound(waiter);
        }
    });
    owner.graph = graph;
    dies && table.die_by_rule(owner)
}
