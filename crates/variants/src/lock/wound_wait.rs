//! Wound-wait: the older transaction has priority; a transaction that has to wait for a younger one
//! wounds it.
//!
//! A wounded transaction dies when it has to wait, or wakes up and dies if it waits already; one
//! that never waits again finishes unharmed. The remaining waits are of younger transactions for
//! older ones, which form no cycle. The oldest transaction is never wounded, and a victim keeps its
//! age (VICTIM-3).
//!
//! An edge may arise after its waiter has checked (the lock is granted to another owner, or an
//! owner converts), so waiters check again, also for polled waiters (GRAPH-3): every edge of a
//! cycle that persists is judged, by its waiter or by another waiter of the cycle.
//!
//! Source: Rosenkrantz, Stearns and Lewis, "System Level Concurrency Control for Distributed
//! Database Systems" (TODS 1978). Differences: a running transaction notices a wound at its next
//! wait, not at once, which spares transactions that finish without one; a wait before the first
//! lock wounds no transaction (DEADLOCK-2).

use std::time::Duration;

use clearway_lock::parts::{Check, Detector};

use super::wounds::Wounds;

/// The detector.
pub(super) struct WoundWait {
    refresh: Duration,
    wounds: Wounds,
}

impl WoundWait {
    pub(super) fn new(refresh: Duration) -> WoundWait {
        WoundWait { refresh, wounds: Wounds::new() }
    }
}

impl Detector for WoundWait {
    fn check(&self, check: &mut Check<'_>, _first: bool) -> bool {
        if self.wounds.has(check) {
            return check.die();
        }
        let owners = check.owners();
        check.edges(|waiter, blocker| {
            if owners.age(waiter) < owners.age(blocker) {
                self.wounds.wound(owners, blocker);
            }
        });
        // A polled waiter that this one waits for may be the older one.
        self.wounds.has(check) && check.die()
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
