//! Which lanes are sent after which bug, the quickest first.

use clearway_base::zoo::Bug;

/// A lane that can be sent after a bug.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lane {
    Stepped,
    Images,
    Flips,
    Specs,
    /// The tests of the lock manager.
    Locks,
}

impl Lane {
    pub(super) fn name(self) -> &'static str {
        match self {
            Lane::Stepped => "stepped",
            Lane::Images => "images",
            Lane::Flips => "flips",
            Lane::Specs => "specs",
            Lane::Locks => "locks",
        }
    }
}

/// The lanes for `bug`, in the order in which they are tried.
pub(super) fn lanes_of(bug: Bug) -> &'static [Lane] {
    use Lane::{Flips, Images, Locks, Specs, Stepped};
    match bug {
        Bug::DigestFlagClearedEarly | Bug::StaleDigestsNotMarked | Bug::TwoVictims => &[Locks],
        Bug::QueueOrderLeftOut | Bug::ConversionLeftOut => &[Locks, Specs],
        Bug::FirstHolderOnly | Bug::GhostTagDropped | Bug::SplitGapTagForgotten => {
            &[Specs, Stepped]
        }
        Bug::DamageTakenForTail | Bug::EpochLeftOut => &[Flips, Stepped, Images],
        Bug::DirectoryNotSynced | Bug::DoubleWriteSkipped => &[Stepped, Images, Flips],
        _ => &[Stepped, Specs, Images],
    }
}
