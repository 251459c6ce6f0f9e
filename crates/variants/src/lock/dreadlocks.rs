//! The method that spreads digests: each waiter gathers the digests of the owners it waits for, and
//! a waiter that finds itself in one waits for itself.
//!
//! In a deadlock check, a waiter gathers, for every owner that blocks it (`Graph::walk`), that
//! owner's fingerprint and, if the owner waits itself in a blocking wait, its published digest.
//! Then it publishes the sum and its own fingerprint. Along a cycle that persists, each check
//! carries the fingerprints one owner further, so every member finds itself after at most as many
//! checks of each as the cycle has members. Polled members are walked through, as if each check of
//! another member were theirs.
//!
//! Gathered digests depend on queues that change. An owner that releases a lock *marks* all its
//! waiters, in the same latch hold: their digests are out of date, and are ignored (without
//! [`Digests::accepts_marked`]) until their owners have gathered fresh ones. So an owner that
//! continues with its next transaction does not find itself in the digest of a waiter that slept
//! through the release.
//!
//! Invariants:
//! - DREADLOCKS-1. With `confirm`, a digest only raises a suspicion: a waiter that finds itself
//!   searches the exact graph, and everything else is as in `search`: no owner dies without a
//!   deadlock, and each deadlock has one victim. A suspicion that is refuted counts as a false
//!   alarm.
//! - DREADLOCKS-2. Without `confirm`, the waiter dies at once if it ranks below the owner in whose
//!   digest it found itself: of every cycle at least the lowest finds itself so, and never the
//!   highest. Several may die for one cycle.
//!
//! Marks reach the waiters of the changed queue. A waiter that has gathered from one of *them* is
//! not marked, but its digest includes the lock epochs of owners with exact bits, and lock epochs
//! that have ended are ignored (see `digest`). For owners in the Bloom filter such a digest may
//! raise a false alarm, as in the paper.
//!
//! Algorithm: "Efficient Locking Techniques for Databases on Modern Hardware", section 4.2,
//! algorithm 5. Differences: dependencies are those by which grants are decided here (see `queue`);
//! fingerprints of owners in the way count whether they wait or not, so that the last waiter finds
//! itself at its first check; exact bits for the first owners; confirmation; polled waiters;
//! victims by rank.

#[cfg(test)]
mod tests;

use std::time::Duration;

use clearway_lock::parts::{Check, Detector, Owners};
use clearway_sync::{
    SpinLatch,
    atomic::{AtomicU32, Ordering},
};

use super::{
    by_slot::BySlot,
    digest::{Digest, Digests, Member, Published},
};

/// Upper bound on how often a check gathers again because a release overtook it. After that the
/// digest stays marked until the next check.
const GATHERINGS_MAX: u32 = 3;

/// The detector.
pub(super) struct Dreadlocks {
    shape: Digests,
    refresh: Duration,
    slots: BySlot<Slot>,
}

/// The state of one owner.
#[derive(Default)]
struct Slot {
    /// The number of the owner's lock epoch: the time from one release of all its locks to the
    /// next.
    lock_epoch: AtomicU32,
    published: Published,
    /// The memory of the owner's checks, which only the owner takes.
    gathered: SpinLatch<Digest>,
}

impl Dreadlocks {
    pub(super) fn new(shape: Digests, refresh: Duration) -> Dreadlocks {
        Dreadlocks { shape, refresh, slots: BySlot::new() }
    }

    /// Gathers and publishes. Returns an owner in whose digest this one found itself.
    fn refresh(&self, check: &mut Check<'_>) -> Option<u32> {
        let (waiter, owners) = (check.waiter(), check.owners());
        let mine = self.slots.get(waiter);
        let mut digest = std::mem::take(&mut *mine.gathered.lock());
        let mut found = None;
        for _ in 0..GATHERINGS_MAX {
            let noted = mine.published.note();
            digest.clear(self.shape);
            let me = self.member(waiter);
            digest.insert(self.shape, me);
            found = None;
            check.edges(|_, blocker| {
                if blocker == waiter || self.gather(owners, me, blocker, &mut digest) {
                    found = Some(blocker);
                }
            });
            if mine.published.publish(noted, &digest) {
                break;
            }
        }
        *mine.gathered.lock() = digest;
        found
    }

    /// Returns an owner in its present lock epoch.
    fn member(&self, slot: u32) -> Member {
        // Relaxed: if the number is old, the owner had not released the locks of that epoch when
        // the queue was read, or the digest that is being gathered is marked.
        Member { slot, lock_epoch: self.slots.get(slot).lock_epoch.load(Ordering::Relaxed) }
    }

    /// Adds the information about a blocking owner, and returns whether it waits for `me`.
    fn gather(&self, owners: Owners<'_>, me: Member, blocker: u32, sum: &mut Digest) -> bool {
        // If the blocker's lock epoch has just begun, the wait for it has just ended, and this
        // digest is marked.
        sum.insert(self.shape, self.member(blocker));
        // A running owner waits for no other owner, and the digest of its last wait is meaningless.
        owners.is_waiting(blocker) && self.slots.get(blocker).published.gather(self.shape, me, sum)
    }
}

impl Detector for Dreadlocks {
    fn check(&self, check: &mut Check<'_>, _first: bool) -> bool {
        let found = self.refresh(check);
        if self.shape.confirm {
            return (check.is_marked() || found.is_some()) && check.search(found.is_some());
        }
        let Some(other) = found else { return false };
        // An alarm that a polled waiter's edge raised leads back to this owner itself.
        let is_lower = other == check.waiter() || check.ranks_below(other);
        is_lower && check.die()
    }

    fn next_check(&self, _check: &Check<'_>) -> Option<Duration> {
        Some(self.refresh)
    }

    fn follows_transactions(&self) -> bool {
        true
    }

    fn follows_queues(&self) -> bool {
        true
    }

    fn begin_wait(&self, owner: u32) {
        // An owner without a slot has published nothing (BY-SLOT-2).
        if let Some(slot) = self.slots.peek(owner) {
            slot.published.reset();
        }
    }

    fn sources_changed(&self, waiter: u32) {
        // A waiter without a slot has not begun to gather; it will see the queue as it is now.
        if let Some(slot) = self.slots.peek(waiter) {
            slot.published.mark();
        }
    }

    fn released(&self, owner: u32) {
        // Relaxed: see `member`.
        self.slots.get(owner).lock_epoch.fetch_add(1, Ordering::Relaxed);
    }
}
