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
    /// The log's unit tests, and its tests of tails, of those who wait, and of waits for space.
    Log,
    /// The unit tests of the array in which the log's inserters meet: other tests hang when a slot
    /// is taken from somebody who waits in it.
    Slots,
    /// The tree's tests of the locks that it asks for.
    Borders,
    /// The façade's tests of what leaves it: no answer before what it rests on is durable, and no
    /// commit after an error of a scan that nobody has dealt with.
    Answers,
}

/// The lanes that are the tests of a crate.
pub(super) const TESTS: [Lane; 7] =
    [Lane::Specs, Lane::Locks, Lane::Intents, Lane::Log, Lane::Slots, Lane::Borders, Lane::Answers];

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
            Lane::Log => "log",
            Lane::Slots => "slots",
            Lane::Borders => "borders",
            Lane::Answers => "answers",
        }
    }

    /// The arguments that choose a lane's tests, if a lane is the tests of a crate.
    pub(super) fn tests(self) -> Option<&'static str> {
        match self {
            Lane::Specs => Some("-p clearway-txn --test isolation"),
            // The other tests take seconds, and see no more of the bugs.
            Lane::Locks => Some("-p clearway-lock --lib"),
            Lane::Intents => Some("-p clearway-lock --test lock intents::"),
            Lane::Borders => Some("-p clearway-tree --test locks"),
            Lane::Log => {
                Some("-p clearway-log --lib --test waiting --test tail --test space_waits")
            }
            Lane::Slots => Some("-p clearway-log --lib insertion::array::"),
            Lane::Answers => Some("-p clearway --test answers --test scan_errors"),
            Lane::Stepped | Lane::Images | Lane::Creations | Lane::Flips => None,
        }
    }
}

/// The lanes for `bug`, in the order in which they are tried.
pub(super) fn lanes_of(bug: Bug) -> &'static [Lane] {
    use Lane::{
        Answers, Borders, Creations, Flips, Images, Intents, Locks, Log, Slots, Specs, Stepped,
    };
    match bug {
        Bug::DigestFlagClearedEarly
        | Bug::StaleDigestsNotMarked
        | Bug::TwoVictims
        | Bug::TagAfterGrant
        | Bug::VisitedAgain
        | Bug::WokenBeforeGrant
        | Bug::LookedTooEarly => &[Locks],
        Bug::WakeUpLeaked
        | Bug::ImpatientAck
        | Bug::EpochLeftOut
        | Bug::CheckpointEndUntold
        | Bug::LeftAtClosing
        | Bug::HoleFlown
        | Bug::StaleLinkFollowed
        | Bug::StaleDelegation
        | Bug::SealRoomForgotten => &[Log],
        Bug::SlotBytesCut | Bug::SlotFreedEarly | Bug::SlotPlaceForgotten | Bug::BaseToldLate => {
            &[Slots]
        }
        // Keys in patterns find them, and only `stepped` draws many.
        Bug::AdoptionOnlyWhenFollowed | Bug::SplitRightHalfUnchecked => &[Stepped, Images],
        Bug::FailedWriteRepeated | Bug::EpochStartPassedBy => &[Stepped, Log],
        Bug::GhostPeeked => &[Borders],
        Bug::VictimTellsEarly
        | Bug::ConflictToldEarly
        | Bug::AttemptForgetsTags
        | Bug::ScanErrorForgotten => &[Answers],
        Bug::QueueOrderLeftOut | Bug::ConversionLeftOut => &[Locks, Specs],
        Bug::FirstHolderOnly
        | Bug::ConversionForgotten
        | Bug::GhostTagDropped
        | Bug::SplitGapTagForgotten => &[Specs, Stepped],
        Bug::EscalationUnasked
        | Bug::SavepointForgetsTags
        | Bug::ClaimNotLocked
        | Bug::SkippedTagForgotten
        | Bug::NotAskedAgain
        | Bug::WaitsForWaiters => &[Specs],
        Bug::CreationForgotten => &[Creations],
        Bug::GhostHintsForgotten | Bug::UpkeepDoneTooEarly => &[Stepped],
        Bug::UpgradeBlocksItself
        | Bug::WaiterLeftBehind
        | Bug::DescendantTagIgnored
        | Bug::AbsoluteStarved
        | Bug::InheritedNotFlushed => &[Intents, Specs],
        Bug::SaltNotChecked => &[Flips],
        Bug::DamageTakenForTail => &[Flips, Stepped, Images],
        Bug::DirectoryNotSynced | Bug::DoubleWriteSkipped => &[Stepped, Images, Flips],
        _ => &[Stepped, Specs, Images],
    }
}
