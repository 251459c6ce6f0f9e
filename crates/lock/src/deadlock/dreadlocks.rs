//! The method that spreads digests: each waiter gathers those of whom it waits for, and who finds
//! itself in one waits for itself.
//!
//! A look of a waiter gathers, for every owner in its way (`Graph::walk`): that owner's fingerprint
//! and, if it waits itself and somebody attends it, its published digest. Then it publishes the sum
//! and its own fingerprint. Along a standing cycle each look carries the fingerprints one owner
//! further, so every member finds itself after at most as many looks of each as the cycle has
//! members. Members that are polled are walked through, as if each look of another were theirs.
//!
//! What is gathered depends on queues that change. Whoever releases a lock *marks* all waiters of
//! it, in the same latch hold: their digests are out of date, and left out by everybody but under
//! [`WaitPolicy::Sleep`], until their owners have gathered fresh ones. So a releaser that goes on
//! to its next transaction does not find itself in the digest of somebody who slept through the
//! release.
//!
//! Invariants:
//! - D9. With `confirm`, a digest is a suspicion only: who finds itself searches the exact graph,
//!   and everything else is as in `search`: nobody dies without a deadlock, each costs one life.
//!   A suspicion that is refuted counts as a false alarm.
//! - D10. Without, the waiter dies at once if it ranks below the owner in whose digest it found
//!   itself: of every cycle at least the lowest finds itself so, and never the highest. Several may
//!   die for one cycle.
//!
//! Marks reach those who waited in the very queue. Whoever has gathered from one of *them* is not
//! told, but what it has gathered of owners with exact bits names their turns, and of a turn that
//! is over nobody takes notice (see `digest`). Owners in the Bloom filter may raise an alarm by
//! such a digest, as in the paper.
//!
//! Algorithm: "Efficient Locking Techniques for Databases on Modern Hardware", section 4.2,
//! algorithm 5. Differences: dependencies are those by which grants are decided here (see `queue`);
//! fingerprints of owners in the way count whether they wait or not, so that the one who waits last
//! finds itself at its first look; exact bits for the first owners; confirmation; polled waiters;
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

/// How often a look gathers again because it was overtaken by a release. After that the digest
/// stays marked until the next look.
const GATHERINGS_MAX: u32 = 3;

pub(super) fn look(table: &LockTable, owner: &mut LockOwner, shape: Digests) -> bool {
    Counters::add(&table.slot(owner).counters.looks, 1);
    let found = refresh(table, owner, shape);
    if shape.confirm {
        let doomed = table.slot(owner).is_doomed();
        return (doomed || found.is_some()) && search::dies(table, owner, found.is_some());
    }
    let Some(other) = found else { return false };
    let policy = table.shared.options.victims;
    let rank = |slot, closes| table.shared.registry.slot(slot).shown.rank(policy, closes);
    // An alarm that a polled waiter's edge raised leads back to this owner itself.
    let is_lower = other == owner.slot || rank(owner.slot, true) < rank(other, false);
    is_lower && table.die_by_rule(owner)
}

/// Gathers and publishes; an owner in whose digest this one found itself.
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

/// Adds what is known of an owner in the way; whether it waits for `me`.
fn gather(table: &LockTable, shape: Digests, me: Member, blocker: u32, sum: &mut Digest) -> bool {
    // A turn that has just begun is a wait that has just ended: then this one is marked.
    sum.insert(shape, member(table, blocker));
    let backoff = table.shared.options.waiting != WaitPolicy::Sleep;
    let slot = table.shared.registry.slot(blocker);
    // A running owner waits for nobody, and its last wait's digest says nothing.
    slot.state().is_waiting() && slot.digest.gather(shape, me, backoff, sum)
}
