//! The bug zoo: bugs that others have had in the engine's techniques, planted in the places where
//! it could have them, so that the proof harness can show that it finds them.
//!
//! Without the feature `zoo`, which only the harness turns on, the question for a bug is the
//! constant `false`, and no trace of any of this is left in the engine. With it, one bug at a time
//! can live in a process: the one that the environment variable `CLEARWAY_BUG` names.

/// Defines the bugs, each with its name in the zoo and what it does.
macro_rules! bugs {
    ($($bug:ident $name:literal $what:literal)*) => {
        /// A bug that can be planted.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Bug {
            $(#[doc = $what] $bug,)*
        }

        impl Bug {
            /// All of them.
            pub const ALL: &'static [Bug] = &[$(Bug::$bug),*];

            /// The name by which `CLEARWAY_BUG` asks for it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Bug::$bug => $name,)*
                }
            }

            /// What it does.
            pub fn what(self) -> &'static str {
                match self {
                    $(Bug::$bug => $what,)*
                }
            }
        }
    };
}

bugs! {
    ReadOnlyWaitSkipped "read-only-wait-skipped"
        "A read-only transaction is acknowledged before those it has read from are durable."
    GapTagForgotten "gap-tag-forgotten"
        "Who locks a gap alone does not take the tag: not-found and scans forget it."
    AckAtRecordStart "ack-at-record-start"
        "A commit is acknowledged when the start of its record is durable, not its end."
    GhostTagDropped "ghost-tag-dropped"
        "A ghost that is reclaimed takes its tag with it."
    SplitGapTagForgotten "split-gap-tag-forgotten"
        "A key that is inserted does not inherit the tag of the gap that it splits."
    TagAfterGrant "tag-after-grant"
        "A release grants whoever waits first, and raises the tag afterwards."
    EmptyBucketForgets "empty-bucket-forgets"
        "A bucket of the lock table that holds no lock any more loses its tag."
    SavepointForgetsTags "savepoint-forgets-tags"
        "Who has set a savepoint is acknowledged before those it has read from are durable."
    VictimTellsEarly "victim-tells-early"
        "The panic of a deadlock's victim is told before what the victim has read is durable."
    ConflictToldEarly "conflict-told-early"
        "The conflict of the last attempt is told before what the attempts have read is durable."
    AttemptForgetsTags "attempt-forgets-tags"
        "The next attempt of a deadlock's victim forgets what the victim has read."
    ScanErrorForgotten "scan-error-forgotten"
        "An error that the iterator of a scan yields does not keep its transaction from committing."
    LocksBeforeRecord "locks-before-record"
        "A commit releases its locks before its record has a place in the log."
    WakeUpLeaked "wake-up-leaked"
        "Of those whose commits a flush has made durable only the first is woken."
    ImpatientAck "impatient-ack"
        "Who has waited for the log for some time is told that all is durable."
    FailureAcknowledged "failure-acknowledged"
        "Waiters are told that all is well when the log has failed."
    AckBeforeFlush "ack-before-flush"
        "A commit is acknowledged when it is in the log buffer."
    SyncErrorIgnored "sync-error-ignored"
        "A failed write or sync of the log counts as done."
    FailedWriteRepeated "failed-write-repeated"
        "A write of the log that has failed is tried again, and counts if it succeeds then."
    CheckpointEndUntold "checkpoint-end-untold"
        "Claims that wait for log space do not hear that the checkpoint has ended."
    LeftAtClosing "left-at-closing"
        "Closing the log does not wait until what was inserted is durable."
    HoleFlown "hole-flown"
        "A group is written before all of its records are filled."
    StaleLinkFollowed "stale-link-followed"
        "A link that an earlier lap left in the ring counts as one of this lap."
    StaleDelegation "stale-delegation"
        "A release that an earlier lap has delegated counts as one of this lap."
    SealRoomForgotten "seal-room-forgotten"
        "Records may fill the ring up to the place that the next seal needs."
    SlotBytesCut "slot-bytes-cut"
        "The length of a group of inserters is counted in 16 bits."
    SlotFreedEarly "slot-freed-early"
        "The first member of a group that is through frees the slot, not the last."
    SlotPlaceForgotten "slot-place-forgotten"
        "A slot that has gone round counts as standing in the place it had at first."
    BaseToldLate "base-told-late"
        "The members of a group are told that it has a place before that place is written down."
    EpochStartPassedBy "epoch-start-passed-by"
        "Reading ends at a torn tail, without a look for the opening that went on behind it."
    EpochLeftOut "epoch-left-out"
        "Records of an earlier opening, left over in a recycled segment, pass for new ones."
    PositionLeftOut "position-left-out"
        "A record's checksum does not cover its position: leftovers pass in the wrong place."
    SaltNotChecked "salt-not-checked"
        "Nothing of a log says whose it is: neither labels nor salts are compared."
    DirectoryNotSynced "directory-not-synced"
        "A new log segment's name is not made durable."
    DamageTakenForTail "damage-taken-for-tail"
        "A damaged record in the middle of the log ends it."
    TruncatedTooFar "truncated-too-far"
        "A checkpoint gives log back that a running transaction may still need."
    UndoNotReserved "undo-not-reserved"
        "No log space is kept for rollback."
    CreationForgotten "creation-forgotten"
        "Starting a creation over begins with giving up what says that it has not finished."
    CompensationWithoutNext "compensation-without-next"
        "A compensation does not say where undo goes on: a crash in a rollback undoes twice."
    PageBeforeLog "page-before-log"
        "The cleaner writes pages without waiting for their log."
    RecoveryLsnTooHigh "recovery-lsn-too-high"
        "A page's recovery LSN is that of its last change, not its first."
    DoubleWriteSkipped "double-write-skipped"
        "Pages are written in place without a copy elsewhere."
    RedoWithoutPageLsn "redo-without-page-lsn"
        "Redo applies what a page already has."
    RedoDiffers "redo-differs"
        "Redo of a deletion takes the ghost's value away, which the deletion itself left."
    AbsentKeyNotLocked "absent-key-not-locked"
        "Reading an absent key locks nothing."
    GapNotChecked "gap-not-checked"
        "An insert does not look whether somebody has locked the gap."
    ScanGapNotLocked "scan-gap-not-locked"
        "A scan locks the records it meets and not the gaps between them."
    LockedGhostReclaimed "locked-ghost-reclaimed"
        "Reclaiming does not ask whether somebody holds the ghost's lock."
    GhostPeeked "ghost-peeked"
        "Reclaiming asks whether a ghost is free before it has the latch of its leaf."
    NotAskedAgain "not-asked-again"
        "An insert that has waited for a gap does not ask again which gap it needs now."
    DuplicateNotLocked "duplicate-not-locked"
        "An insert that meets its key is refused without a lock on it."
    ResumedBySlot "resumed-by-slot"
        "A descending cursor goes on from the slot where it was, not from its key."
    ClaimNotLocked "claim-not-locked"
        "A scan that skips what is locked returns what is free without locking it."
    SkippedTagForgotten "skipped-tag-forgotten"
        "A scan that passes over a deletion is acknowledged before that is durable."
    ConversionForgotten "conversion-forgotten"
        "Who holds a lock shared is given it exclusively at once."
    FirstHolderOnly "first-holder-only"
        "The deadlock detector follows the first of several holders only."
    DigestFlagClearedEarly "digest-flag-cleared-early"
        "A waiter takes the out-of-date flag off its digest before it has a fresh one."
    StaleDigestsNotMarked "stale-digests-not-marked"
        "A release does not mark the digests of those who go on waiting."
    QueueOrderLeftOut "queue-order-left-out"
        "The wait-for graph leaves out whoever waits ahead in the queue."
    ConversionLeftOut "conversion-left-out"
        "The wait-for graph leaves out what holders are waiting to convert to."
    VisitedAgain "visited-again"
        "The deadlock search does not mark whom it has visited."
    WaitsForWaiters "waits-for-waiters"
        "Who holds a lock and wants more of it queues up behind those who wait for it."
    WokenBeforeGrant "woken-before-grant"
        "A release wakes the waiter first, and grants the lock afterwards."
    LookedTooEarly "looked-too-early"
        "A waiter looks for its grant first, and leaves its waker afterwards."
    TwoVictims "two-victims"
        "Whoever finds a deadlock dies of it, without looking whether somebody else has already."
    UpgradeBlocksItself "upgrade-blocks-itself"
        "Who has an intent lock and wants an absolute one waits for itself."
    WaiterLeftBehind "waiter-left-behind"
        "A request for an absolute lock that is given up keeps its place in the queue."
    DescendantTagIgnored "descendant-tag-ignored"
        "Who reads a whole table does not take the tag of those who wrote parts of it."
    AbsoluteStarved "absolute-starved"
        "Intent locks are granted while somebody waits for an absolute one."
    InheritedNotFlushed "inherited-not-flushed"
        "An absolute request leaves others' inherited intent locks in its way."
    EscalationUnasked "escalation-unasked"
        "Who may not lock the table instead of its keys goes on as if it did."
    AdoptionOnlyWhenFollowed "adoption-only-when-followed"
        "A descent notes a foster child for adoption only when it goes on to it."
    SplitRightHalfUnchecked "split-right-half-unchecked"
        "A split looks only at whether the lower half has room for its new fence."
    FosterIgnored "foster-ignored"
        "A search does not go on to the foster child."
    SavepointForgotten "savepoint-forgotten"
        "Rolling back to a savepoint leaves the newest change in place."
    GhostHintsForgotten "ghost-hints-forgotten"
        "Upkeep visits a leaf once, whether or not it could reclaim the ghosts there."
    UpkeepDoneTooEarly "upkeep-done-too-early"
        "Closing says that no upkeep is pending, without a look at the queue."
    DirtyRead "dirty-read"
        "A reader that is denied a lock reads all the same."
}

/// Whether this build can plant bugs.
pub const IS_OPEN: bool = cfg!(feature = "zoo");

/// Whether `bug` is to be planted here and now.
#[cfg(feature = "zoo")]
pub fn has(bug: Bug) -> bool {
    use std::sync::OnceLock;
    static PLANTED: OnceLock<Option<Bug>> = OnceLock::new();
    let planted = PLANTED.get_or_init(|| {
        let name = std::env::var("CLEARWAY_BUG").ok()?;
        Bug::ALL.iter().copied().find(|bug| bug.name() == name)
    });
    *planted == Some(bug)
}

/// Whether `bug` is to be planted here and now: never.
#[cfg(not(feature = "zoo"))]
#[inline(always)]
pub const fn has(_bug: Bug) -> bool {
    false
}
