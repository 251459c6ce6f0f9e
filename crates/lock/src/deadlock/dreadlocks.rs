//! The method that spreads digests: each waiter gathers the digests of the owners it waits for, and
//! a waiter that finds itself in one waits for itself.
//!
//! In a deadlock check, a waiter gathers, for every owner that blocks it (`Graph::walk`), that
//! owner's fingerprint and, if the owner waits itself in a blocking wait, its published digest.
//! Then it publishes the sum and its own fingerprint. Along a standing cycle each check carries the
//! fingerprints one owner further, so every member finds itself after at most as many checks of
//! each as the cycle has members. Polled members are walked through, as if each check of another
//! member were theirs.
//!
//! Gathered digests depend on queues that change. An owner that releases a lock *marks* all its
//! waiters, in the same latch hold: their digests are out of date, and are ignored (except under
//! [`WaitPolicy::Sleep`]) until their owners have gathered fresh ones. So an owner that continues
//! with its next transaction does not find itself in the digest of a waiter that slept through the
//! release.
//!
//! Invariants:
//! - D9. With `confirm`, a digest only raises a suspicion: a waiter that finds itself searches the
//!   exact graph, and everything else is as in `search`: no owner dies without a deadlock, and each
//!   deadlock has one victim. A suspicion that is refuted counts as a false alarm.
//! - D10. Without `confirm`, the waiter dies at once if it ranks below the owner in whose digest it
//!   found itself: of every cycle at least the lowest finds itself so, and never the highest.
//!   Several may die for one cycle.
//!
//! Marks reach the waiters of the changed queue. A waiter that has gathered from one of *them* is
//! not marked, but its digest includes the turns of owners with exact bits, and turns that are over
//! are ignored (see `digest`). For owners in the Bloom filter such a digest may raise a false
//! alarm, as in the paper.
//!
//! Algorithm: "Efficient Locking Techniques for Databases on Modern Hardware", section 4.2,
//! algorithm 5. Differences: dependencies are those by which grants are decided here (see `queue`);
//! fingerprints of owners in the way count whether they wait or not, so that the last waiter finds
//! itself at its first check; exact bits for the first owners; confirmation; polled waiters;
//! victims by rank.

#[cfg(test)]
mod tests;

use crate::{
    deadlock::digest::{Digest, Digests, Member},
    deadlock::search,
    owner::LockOwner,
    registry::Counters,
    table::LockTable,
    wait::WaitPolicy,
};

/// Upper bound on how often a check gathers again because a release overtook it. After that the
/// digest stays marked until the next check.
const GATHERINGS_MAX: u32 = 3;

pub(super) fn look(table: &LockTable, owner: &mut LockOwner, shape: Digests) -> bool {
    Counters::add(&table.slot(owner).counters.looks, 1);
    let found = refresh(table, owner, shape);
    if shape.confirm {
        let is_marked = table.slot(owner).is_marked_victim();
        return (is_marked || found.is_some()) && search::dies(table, owner, found.is_some());
    }
    let Some(other) = found else { return false };
    let policy = table.shared.options.victims;
    let rank = |slot, closes| table.shared.registry.slot(slot).shown.rank(policy, closes);
    // An alarm that a polled waiter's edge raised leads back to this owner itself.
    let is_lower = other == owner.slot || rank(owner.slot, true) < rank(other, false);
    is_lower && table.die_by_rule(owner)
}

/// Gathers and publishes. Returns an owner in whose digest this one found itself.
fn refresh(table: &LockTable, owner: &mut LockOwner, shape: Digests) -> Option<u32> {
    let (mut graph, mut digest) =
        (std::mem::take(&mut owner.graph), std::mem::take(&mut owner.digest));
    let mut found = None;
    for _ in 0..GATHERINGS_MAX {
        let noted = table.slot(owner).digest.note();
        digest.clear(shape);
        let me = member(table, owner.slot);
        digest.insert(shape, me);
        found = None;
        graph.walk(table, owner.slot, |_, blocker| {
            if blocker == owner.slot || gather(table, shape, me, blocker, &mut digest) {
                found = Some(blocker);
            }
        });
        if table.slot(owner).digest.publish(noted, &digest) {
            break;
        }
    }
    (owner.graph, owner.digest) = (graph, digest);
    found
}

/// An owner in its present turn.
fn member(table: &LockTable, slot: u32) -> Member {
    Member { slot, turn: table.shared.registry.slot(slot).shown.turn() }
}

/// Adds the information about a blocking owner, and returns whether it waits for `me`.
fn gather(table: &LockTable, shape: Digests, me: Member, blocker: u32, sum: &mut Digest) -> bool {
    // If the turn has just begun, the wait for it has just ended, and this digest is marked.
    sum.insert(shape, member(table, blocker));
    let backoff = table.shared.options.waiting != WaitPolicy::Sleep;
    let slot = table.shared.registry.slot(blocker);
    // A running owner waits for no other owner, and the digest of its last wait is meaningless.
    slot.state().is_waiting() && slot.digest.gather(shape, me, backoff, sum)
}
