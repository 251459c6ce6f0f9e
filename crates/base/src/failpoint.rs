//! Failpoints: the moments at which a crash is most likely to find a mistake, by name, so that the
//! kill tests can end the process exactly there.
//!
//! Without the feature `zoo`, which only the harness turns on, passing a failpoint is nothing, and
//! no trace of any of this is left in the engine. With it, `CLEARWAY_FAILPOINT=name:7` kills the
//! process when it passes that point for the seventh time: with `SIGKILL`, as everybody would who
//! wants it dead, so nothing unwinds, nothing is flushed, and no other thread has a last word.

/// Defines the failpoints, each with its name and what has just happened there.
macro_rules! failpoints {
    ($($point:ident $name:literal $what:literal)*) => {
        /// A place where the process can be killed.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Failpoint {
            $(#[doc = $what] $point,)*
        }

        impl Failpoint {
            /// All of them.
            pub const ALL: &'static [Failpoint] = &[$(Failpoint::$point),*];

            /// The name by which `CLEARWAY_FAILPOINT` asks for it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Failpoint::$point => $name,)*
                }
            }

            /// What has just happened there.
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
        "A segment that nobody needs has lost its name; the directory is not synced."
    GroupSealed "group-sealed"
        "A group has its seal; nothing of it is written."
    GroupHalfWritten "group-half-written"
        "The part of a group that stands in one segment is durable, the part in the next is not."
    GroupWritten "group-written"
        "A group is durable; nobody knows yet."
    GroupLanded "group-landed"
        "The durable LSN has moved; nobody who waited for it has been woken."
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
        "A new table's entry is durable; nobody has been told."
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
    LogUnsealed "log-unsealed"
        "The closing checkpoint is taken; the log has no closing seal."
    LogClosed "log-closed"
        "The log is closed in order; the directory is still locked."
    CreationBlank "creation-blank"
        "The first file of a new database is there, without a superblock."
    CreationLogged "creation-logged"
        "A new database has a log and no catalogue."
    CreationUnmarked "creation-unmarked"
        "A new database is complete; its superblock calls it unfinished."
}

/// Whether this build has failpoints.
pub const ARE_OPEN: bool = cfg!(feature = "zoo");

/// Passes `point`; does not return if the process is to die there, this time.
#[cfg(feature = "zoo")]
pub fn pass(point: Failpoint) {
    armed::pass(point);
}

/// Passes `point`: nothing.
#[cfg(not(feature = "zoo"))]
#[inline(always)]
pub const fn pass(_point: Failpoint) {}

#[cfg(feature = "zoo")]
mod armed {
    use std::sync::{Mutex, OnceLock, PoisonError};

    use rustix::process::{Signal, getpid, kill_process};

    use super::Failpoint;

    /// The point that the environment names, and the passages that are still allowed.
    struct Armed {
        point: Failpoint,
        left: Mutex<u64>,
    }

    impl Armed {
        /// A line that cannot be read ends the process as well, so that no test passes by it.
        fn from_environment() -> Option<Armed> {
            let line = std::env::var("CLEARWAY_FAILPOINT").ok()?;
            let armed = Armed::parse(&line);
            assert!(armed.is_some(), "CLEARWAY_FAILPOINT={line} is not `name:passage`");
            armed
        }

        fn parse(line: &str) -> Option<Armed> {
            let (name, passage) = line.split_once(':')?;
            let point = Failpoint::ALL.iter().copied().find(|point| point.name() == name)?;
            let left = passage.parse().ok().filter(|passage| *passage > 0)?;
            Some(Armed { point, left: Mutex::new(left) })
        }
    }

    pub(super) fn pass(point: Failpoint) {
        static ARMED: OnceLock<Option<Armed>> = OnceLock::new();
        let Some(armed) = ARMED.get_or_init(Armed::from_environment) else { return };
        if armed.point != point {
            return;
        }
        let mut left = armed.left.lock().unwrap_or_else(PoisonError::into_inner);
        *left = left.saturating_sub(1);
        if *left == 0 {
            // The signal is delivered before the call returns; the loop is for the compiler.
            let _ = kill_process(getpid(), Signal::KILL);
            loop {
                std::thread::park();
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_point_and_a_passage_are_read() {
            let armed = Armed::parse("copies-safe:7").unwrap();
            assert_eq!(armed.point, Failpoint::CopiesSafe);
            assert_eq!(armed.left.into_inner().unwrap(), 7);
            for line in ["copies-safe", "copies-safe:0", "copies-safe:x", "nowhere:1", ""] {
                assert!(Armed::parse(line).is_none(), "{line:?}");
            }
        }
    }
}
