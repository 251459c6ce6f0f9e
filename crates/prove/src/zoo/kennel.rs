//! Which lanes are sent after which bug, the quickest first.

use clearway_base::zoo::Bug;

/// A lane that can be sent after a bug.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lane {
    Stepped,
    Images,
    /// The images of one script, the creation of a database, and of all its recoveries.
    Creations,
    Flips,
    Specs,
    /// The unit tests of the lock manager.
    Locks,
    /// The lock manager's tests of intent locks.
    Intents,
}

impl Lane {
    pub(super) fn name(self) -> &'static str {
        match self {
            Lane::Stepped => "stepped",
            Lane::Images => "images",
            Lane::Creations => "creations",
            Lane::Flips => "flips",
            Lane::Specs => "specs",
            Lane::Locks => "locks",
            Lane::Intents => "intents",
        }
    }

    /// The arguments that choose a lane's tests, if a lane is the tests of a crate.
    pub(super) fn tests(self) -> Option<&'static str> {
        match self {
            Lane::Specs => Some("-p clearway-txn --test isolation"),
            // The other tests take seconds, and see no more of the bugs.
            Lane::Locks => Some("-p clearway-lock --lib"),
            Lane::Intents => Some("-p clearway-lock --test lock intents::"),
            Lane::Stepped | Lane::Images | Lane::Creations | Lane::Flips => None,
        }
    }
}

/// The lanes for `bug`, in the order in which they are tried.
pub(super) fn lanes_of(bug: Bug) -> &'static [Lane] {
    use Lane::{Creations, Flips, Images, Intents, Locks, Specs, Stepped};
    match bug {
        Bug::DigestFlagClearedEarly | Bug::StaleDigestsNotMarked | Bug::TwoVictims => &[Locks],
        Bug::QueueOrderLeftOut | Bug::ConversionLeftOut => &[Locks, Specs],
        Bug::FirstHolderOnly | Bug::GhostTagDropped | Bug::SplitGapTagForgotten => {
            &[Specs, Stepped]
        }
        Bug::EscalationUnasked => &[Specs],
        Bug::CreationForgotten => &[Creations],
        Bug::UpgradeBlocksItself
        | Bug::WaiterLeftBehind
        | Bug::DescendantTagIgnored
        | Bug::AbsoluteStarved
        | Bug::InheritedNotFlushed => &[Intents, Specs],
        Bug::DamageTakenForTail | Bug::EpochLeftOut => &[Flips, Stepped, Images],
        Bug::DirectoryNotSynced | Bug::DoubleWriteSkipped => &[Stepped, Images, Flips],
        _ => &[Stepped, Specs, Images],
    }
}
