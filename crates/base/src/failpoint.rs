//! Failpoints: the moments at which a crash is most likely to reveal a mistake, by name, so that
//! the kill tests can end the process exactly there.
//!
//! The engine passes each failpoint and knows nothing about what happens there. A passage calls the
//! handler that the process has installed; without one it is a load and a branch that is not taken.
//! The handler that kills is in the crate `clearway-testkit`.

use std::sync::OnceLock;

/// Defines the failpoints, each with its name and what has just happened there.
macro_rules! failpoints {
    ($($point:ident $name:literal $what:literal)*) => {
        /// A place where a test can do something to the process.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Failpoint {
            $(#[doc = $what] $point,)*
        }

        impl Failpoint {
            /// All of them.
            pub const ALL: &'static [Failpoint] = &[$(Failpoint::$point),*];

            /// The name by which tests ask for it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Failpoint::$point => $name,)*
                }
            }

            /// Returns what has just happened there.
            pub fn what(self) -> &'static str {
                match self {
                    $(Failpoint::$point => $what,)*
                }
            }
        }
    };
}

failpoints! {
    SegmentFilled "segment-filled"
        "A file for the log is full of durable zeros and has no segment's name yet."
    SegmentNamed "segment-named"
        "A segment has its name, which is not durable."
    SegmentGivenBack "segment-given-back"
        "A segment that is not needed any more has lost its name; the directory is not synced."
    GroupFormed "group-formed"
        "A group has its trailer; nothing of it is written."
    GroupHalfWritten "group-half-written"
        "The part of a group that stands in one segment is durable, the part in the next is not."
    GroupWritten "group-written"
        "A group is durable; no waiter has been notified."
    GroupCompleted "group-completed"
        "The durable LSN has moved; no waiter has been woken."
    CommitLogged "commit-logged"
        "A commit record is in the log buffer; the locks are still held."
    CommitReleased "commit-released"
        "The locks of a commit are free; nothing of what it deferred is done."
    FreeBegun "free-begun"
        "A step of a deferred free is logged; the pages are not free yet."
    ChangeUndone "change-undone"
        "One change of a rollback is undone; others may follow."
    LoserChangeUndone "loser-change-undone"
        "Recovery has undone one change of a loser; others may follow."
    StructureLogged "structure-logged"
        "A system transaction (a split, an adoption, a merge) is logged; no page has changed."
    CopiesSafe "copies-safe"
        "A batch of pages is durable in the double-write file; nothing is written in place."
    PagesHalfWritten "pages-half-written"
        "Some of a batch's pages are written in place."
    PagesWritten "pages-written"
        "All pages of a batch are written in place and none is synced."
    PagesSynced "pages-synced"
        "A batch is durable in place; its pages still count as dirty."
    PagesRepaired "pages-repaired"
        "An opening has repaired torn pages and not synced them."
    CheckpointBegun "checkpoint-begun"
        "The record that begins a checkpoint is in the log buffer."
    CheckpointListed "checkpoint-listed"
        "The running transactions are listed; the checkpoint has no end."
    CheckpointEnded "checkpoint-ended"
        "A checkpoint is durable in the log; the superblock names the one before."
    SuperblockOnce "superblock-once"
        "One copy of the superblock is new and the other old."
    LogNotTruncated "log-not-truncated"
        "The superblock names the new checkpoint; the log is as long as before."
    TableRooted "table-rooted"
        "A new table has its root page and no entry in the catalogue."
    TableEntered "table-entered"
        "A new table's entry is durable; the caller has no result yet."
    DropMarked "drop-marked"
        "A table is marked as dropped; all of its pages are there."
    DropPruned "drop-pruned"
        "Some pages of a dropped table are free."
    DropEmptied "drop-emptied"
        "All pages of a dropped table are free; its entry is there."
    ChangeRedone "change-redone"
        "Redo has repeated one change."
    LogAnalysed "log-analysed"
        "Redo is done and the losers are known; the superblock names the opening before."
    EpochRaised "epoch-raised"
        "The superblock names the opening, with its epoch; the log does not run yet."
    EpochBegun "epoch-begun"
        "The new epoch's first record is durable; nothing is undone."
    LosersUndone "losers-undone"
        "All losers are undone; no checkpoint says so."
    LogNotClosed "log-not-closed"
        "The closing checkpoint is taken; the log has no closing trailer."
    LogClosed "log-closed"
        "The log is closed in order; the directory is still locked."
    CreationBlank "creation-blank"
        "The first file of a new database is there, without a superblock."
    CreationLogged "creation-logged"
        "A new database has a log and no catalogue."
    CreationUnmarked "creation-unmarked"
        "A new database is complete; its superblock calls it unfinished."
}

static HANDLER: OnceLock<fn(Failpoint)> = OnceLock::new();

/// Calls the installed handler, which need not return; does nothing if there is none.
#[inline]
pub fn pass(point: Failpoint) {
    if let Some(handler) = HANDLER.get() {
        handle(*handler, point);
    }
}

#[cold]
fn handle(handler: fn(Failpoint), point: Failpoint) {
    handler(point);
}

/// Installs the handler that each later passage calls, in the thread that passes the failpoint and
/// under whatever latches that thread holds.
///
/// # Panics
/// If the process has a handler already.
pub fn install(handler: fn(Failpoint)) {
    assert!(HANDLER.set(handler).is_ok(), "failpoints have a handler already");
}
