//! Wait-die: only an older transaction may wait; a transaction that would wait for an older one
//! dies.
//!
//! The remaining waits are of older transactions for younger ones, which form no cycle. The oldest
//! transaction never dies, and a victim keeps its age (VICTIM-3).
//!
//! As in `wound_wait`, edges may arise after a check, so waiters check again, and judge the edges
//! of polled waiters on the path (GRAPH-3), which they notify with a wound.
//!
//! Source: Rosenkrantz, Stearns and Lewis, "System Level Concurrency Control for Distributed
//! Database Systems" (TODS 1978). Difference: a wait before the first lock kills no transaction
//! (DEADLOCK-2).

use std::time::Duration;

use clearway_lock::parts::{Check, Detector};

use super::wounds::Wounds;

/// The detector.
pub(super) struct WaitDie {
    refresh: Duration,
    wounds: Wounds,
}

impl WaitDie {
    pub(super) fn new(refresh: Duration) -> WaitDie {
        WaitDie { refresh, wounds: Wounds::new() }
    }
}

impl Detector for WaitDie {
    fn check(&self, check: &mut Check<'_>, _first: bool) -> bool {
        let (me, owners) = (check.waiter(), check.owners());
        let mut dies = self.wounds.has(check);
        check.edges(|waiter, blocker| {
            let is_younger = owners.age(blocker) < owners.age(waiter);
            if is_younger && waiter == me {
                dies = true;
            } else if is_younger {
                self.wounds.wound(owners, waiter);
            }
        });
        dies && check.die()
    }

    fn next_check(&self, _check: &Check<'_>) -> Option<Duration> {
        Some(self.refresh)
    }

    fn follows_transactions(&self) -> bool {
        true
    }

    fn resumed(&self, owner: u32) {
        self.wounds.clear(owner);
    }
}
