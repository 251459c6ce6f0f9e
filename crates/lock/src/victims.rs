//! Victim selection, and the guarantee that a retried victim eventually succeeds.
//!
//! Invariants:
//! - VICTIM-1. Of any set of waiting owners exactly one has the lowest rank, and every detector
//!   that ranks them finds the same one: the inputs of a rank do not change while its owner waits.
//!   (There is one exception: under the product's policy the owner that closed the cycle, which
//!   computes the ranks, ranks itself below the other owners that have not been victims, unless it
//!   has been one itself. It computes them under the `confirmation` mutex.)
//! - VICTIM-2. An owner that has been a victim before ranks above all that have not; among those
//!   that have, the older ranks above the younger, by the age of the *first* attempt.
//! - VICTIM-3. Ages are unique, and a transaction keeps its age through all attempts.
//!
//! # Why no transaction starves
//! By VICTIM-2 and VICTIM-3 the oldest of all former victims is never chosen again. It keeps its
//! locks, each cycle that it is in is broken by another member, and it needs finitely many locks,
//! so it finishes. Then the next one is the oldest. A transaction dies at most once without having
//! been a victim before. Afterwards it dies only in cycles whose other members are all older former
//! victims. There are at most as many of those as concurrent transactions, and after each such
//! death one of them no longer waits for the victim. The number of retries alone would not suffice
//! as the rank: two victims could alternate for ever, each with the higher number for a while.
//!
//! Of owners that have never been victims, the one that closes the cycle ranks lowest: no other
//! owner has to be woken for it. A policy of the table's parts ([`crate::parts::Victims`]) ranks
//! them otherwise.
//!
//! Source: "Efficient Locking Techniques for Databases on Modern Hardware", section 4.3.
//! Differences: the paper compares pipelines, which need no rank here, since locks are released
//! before the flush; former victims have priority.

use clearway_sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::parts::Victims;

/// The priority that a transaction keeps when it has to start over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RetryPriority {
    pub(crate) retries: u32,
    /// A number that is drawn, in increasing order, when the transaction first waits for a lock, or
    /// at its begin if the table's parts require that; 0 before. Of two transactions, the one with
    /// the lower number is the *older*.
    pub(crate) age: u64,
}

impl RetryPriority {
    /// Returns the number of lost attempts.
    pub fn retries(self) -> u32 {
        self.retries
    }

    /// Returns the priority for the next attempt.
    #[must_use]
    pub fn after_loss(self) -> RetryPriority {
        RetryPriority { retries: self.retries.saturating_add(1), ..self }
    }
}

/// The priority of a waiting owner as detectors see it: written by the owner before it publishes
/// its wait, and not again before the wait is over.
#[derive(Default)]
pub(crate) struct PublishedPriority {
    age: AtomicU64,
    pipeline: AtomicU64,
    retries: AtomicU32,
}

// Relaxed everywhere: the wait is published by a SeqCst store that follows, and read by a load that
// comes before. Where ages are published when a transaction begins, reading an old one leads to an
// unnecessary death, never to a cycle that is not judged: waiters repeat the check.
impl PublishedPriority {
    pub(crate) fn publish(&self, priority: RetryPriority, pipeline: u64) {
        self.publish_age(priority.age);
        self.pipeline.store(pipeline, Ordering::Relaxed);
        self.retries.store(priority.retries, Ordering::Relaxed);
    }

    pub(crate) fn publish_age(&self, age: u64) {
        self.age.store(age, Ordering::Relaxed);
    }

    pub(crate) fn age(&self) -> u64 {
        self.age.load(Ordering::Relaxed)
    }

    /// Returns the rank of this owner under a policy of the table's parts, or the product's;
    /// `closes` is set if it closed the cycle.
    pub(crate) fn rank(&self, policy: Option<&dyn Victims>, closes: bool) -> Rank {
        let seniority = !self.age();
        let pipeline = self.pipeline.load(Ordering::Relaxed);
        let was_victim = self.retries.load(Ordering::Relaxed) > 0;
        let by_policy = match policy {
            _ if was_victim => 0,
            None => u64::from(!closes),
            Some(policy) => policy.rank(pipeline),
        };
        Rank { was_victim, by_policy, seniority }
    }
}

/// A rank, compared field by field. The lowest rank of a cycle dies (VICTIM-1, VICTIM-2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Rank {
    was_victim: bool,
    by_policy: u64,
    /// Higher for the older.
    seniority: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The owner with the shortest pipeline dies.
    struct ByPipeline;

    impl Victims for ByPipeline {
        fn rank(&self, completed: u64) -> u64 {
            completed
        }
    }

    const POLICIES: [Option<&dyn Victims>; 2] = [None, Some(&ByPipeline)];

    fn rank(
        age: u64,
        retries: u32,
        pipeline: u64,
        policy: Option<&dyn Victims>,
        closes: bool,
    ) -> Rank {
        let published = PublishedPriority::default();
        published.publish(RetryPriority { retries, age }, pipeline);
        published.rank(policy, closes)
    }

    #[test]
    fn each_policy_picks_its_victim() {
        // An old transaction with a short pipeline, and a young one with a long pipeline.
        let dies = |policy, old_closes| {
            let old = rank(5, 0, 1, policy, old_closes);
            let young = rank(6, 0, 9, policy, !old_closes);
            assert_ne!(old, young);
            if old < young { "old" } else { "young" }
        };
        assert_eq!((dies(None, true), dies(None, false)), ("old", "young"));
        assert_eq!(dies(Some(&ByPipeline), false), "old");
    }

    #[test]
    fn former_victims_outrank_all_policies_and_then_age_decides() {
        for (which, policy) in POLICIES.into_iter().enumerate() {
            for closes in [false, true] {
                for (fresh, former) in [((1, 9), (7, 1)), ((7, 1), (1, 9))] {
                    let fresh = rank(fresh.0, 0, fresh.1, policy, !closes);
                    let former = rank(former.0, 1, former.1, policy, closes);
                    assert!(fresh < former, "{which}");
                }
                // More retries alone do not help (VICTIM-2).
                let older = rank(1, 1, 9, policy, closes);
                let younger = rank(2, 8, 1, policy, !closes);
                assert!(younger < older, "{which}");
            }
        }
    }
}
