//! The policies that are compared.

use clearway::Staging;

/// A policy, and what is claimed of it.
#[derive(Clone, Copy)]
pub(in super::super) struct Policy {
    pub(in super::super) name: &'static str,
    pub(in super::super) staging: Staging,
    /// True if it must gain where locks are held during reads, and must not lose elsewhere.
    pub(in super::super) is_claimed: bool,
    /// True if every closure runs twice, also if all its pages are in memory.
    pub(in super::super) always_fetches: bool,
}

/// All policies. The first is the baseline.
pub(in super::super) const POLICIES: &[Policy] = &[
    Policy {
        name: "conventional",
        staging: Staging::Conventional,
        is_claimed: false,
        always_fetches: false,
    },
    Policy {
        name: "two-stage",
        staging: Staging::TwoStage,
        is_claimed: true,
        always_fetches: true,
    },
    Policy {
        name: "optimistic",
        staging: Staging::Optimistic,
        is_claimed: false,
        always_fetches: false,
    },
    Policy { name: "hybrid", staging: Staging::Hybrid, is_claimed: true, always_fetches: false },
];

/// The position of the baseline.
pub(in super::super) const CONVENTIONAL: usize = 0;

/// Returns the policies as the variants of a grid.
pub(in super::super) fn variants() -> impl Iterator<Item = (&'static str, Policy)> {
    POLICIES.iter().map(|policy| (policy.name, *policy))
}

/// Returns the policies other than the baseline with their positions.
pub(in super::super) fn staged() -> impl Iterator<Item = (usize, &'static Policy)> {
    POLICIES.iter().enumerate().skip(CONVENTIONAL + 1)
}

/// Returns the policies of which gains are claimed, with their positions.
pub(in super::super) fn claimed() -> impl Iterator<Item = (usize, &'static Policy)> {
    staged().filter(|(_, policy)| policy.is_claimed)
}
