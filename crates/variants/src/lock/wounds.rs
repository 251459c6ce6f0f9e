//! Wounds: marks on transactions that must die when they wait.
//!
//! A wound names the transaction by its age, so it does not affect a later one of the same owner
//! (DEADLOCK-3); the attempt that died of it clears it for the next one, which has the same age.

use clearway_lock::parts::{Check, Owners};
use clearway_sync::atomic::{AtomicU64, Ordering};

use super::by_slot::BySlot;

/// The wounds of all owners.
pub(super) struct Wounds {
    /// The age of the wounded transaction; 0 for none.
    ages: BySlot<AtomicU64>,
}

impl Wounds {
    pub(super) fn new() -> Wounds {
        Wounds { ages: BySlot::new() }
    }

    /// Wounds the transaction that runs with an owner now: it dies when it waits.
    pub(super) fn wound(&self, owners: Owners<'_>, owner: u32) {
        // SeqCst, like the load: the owner stores its waker and then checks, the wounding thread
        // wounds and then takes the waker (DEADLOCK-4).
        self.ages.get(owner).store(owners.age(owner), Ordering::SeqCst);
        owners.wake(owner);
    }

    /// Returns true if the waiter's transaction is wounded.
    pub(super) fn has(&self, check: &Check<'_>) -> bool {
        let age = check.owners().age(check.waiter());
        age != 0 && self.ages.get(check.waiter()).load(Ordering::SeqCst) == age
    }

    /// Clears the wound of an owner.
    pub(super) fn clear(&self, owner: u32) {
        self.ages.get(owner).store(0, Ordering::SeqCst);
    }
}
