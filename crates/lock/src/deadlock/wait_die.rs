//! The method in which only the older may wait: who would wait for an older transaction dies.
//!
//! What remains is older ones waiting for younger ones, which makes no cycle. The oldest
//! transaction never dies, and a victim keeps its age (V3).
//!
//! As in `wound_wait`, edges may come into being after a look, so waiters look again, and judge the
//! edges of polled waiters on the way (G3): those are told by a wound.
//!
//! Source: Rosenkrantz, Stearns and Lewis, "System Level Concurrency Control for Distributed
//! Database Systems" (TODS 1978). Difference: a wait before the first lock kills nobody (D6).

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
