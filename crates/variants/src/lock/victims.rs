//! Policies that choose the victim of a cycle, as long as none of its owners has been a victim
//! before.
//!
//! Source: "Efficient Locking Techniques for Databases on Modern Hardware", section 4.3.
//! Differences: the paper compares pipelines alone; here that is the rank of owners that were never
//! victims.

use clearway_lock::parts::Victims;

/// The policy that chooses the victim of a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum VictimPolicy {
    /// The owner that closes the cycle: the product's. No other owner has to be woken for it.
    #[default]
    Closer,
    /// The one whose pipeline has completed the fewest transactions.
    KillShort,
    /// The one whose pipeline has completed the most: for comparison.
    KillLong,
    /// The transaction that began last.
    KillYoung,
}

impl VictimPolicy {
    /// All policies.
    pub const ALL: [VictimPolicy; 4] = [
        VictimPolicy::Closer,
        VictimPolicy::KillShort,
        VictimPolicy::KillLong,
        VictimPolicy::KillYoung,
    ];
}

impl Victims for VictimPolicy {
    fn rank(&self, completed: u64) -> u64 {
        match self {
            VictimPolicy::KillShort => completed,
            VictimPolicy::KillLong => !completed,
            // By age alone. The table's own policy, `Closer`, does not call this.
            VictimPolicy::Closer | VictimPolicy::KillYoung => 0,
        }
    }

    fn ranks_by_age(&self) -> bool {
        *self == VictimPolicy::KillYoung
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_rank_is_of_the_pipeline_that_the_policy_kills() {
        let rank = |policy: VictimPolicy| [1, 9].map(|completed| policy.rank(completed));
        let [short, long] = rank(VictimPolicy::KillShort);
        assert!(short < long);
        let [short, long] = rank(VictimPolicy::KillLong);
        assert!(long < short);
        let [short, long] = rank(VictimPolicy::KillYoung);
        assert_eq!(short, long, "age decides");
    }
}
