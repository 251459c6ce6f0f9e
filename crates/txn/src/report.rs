//! Reports of the engine about itself: on recovery, on verification, and its counters.

use std::time::Duration;

use clearway_base::{DatabaseId, Epoch, Error, Lsn, PageId, TreeId};
use clearway_lock::LockStats;
use clearway_log::LogStats;
use clearway_pool::PoolStats;
use clearway_tree::TreeReport;

/// The report of an opening: what it found, and what recovery did.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecoveryReport {
    /// True if this opening has created the database.
    pub created: bool,
    /// The epoch of this opening.
    pub epoch: Epoch,
    /// The position in the log at which redo, the repetition of logged changes, began.
    pub redo_from: Lsn,
    /// The position at which the log ended.
    pub redo_to: Lsn,
    /// Log records read by redo.
    pub records: u64,
    /// Page images in the log with which the result of redo was compared: see the option
    /// `redo_check` of the feature `experiments`.
    pub images: u64,
    /// Unfinished transactions that were rolled back.
    pub losers: u64,
    /// Changes of these transactions that this opening undid.
    pub undone: u64,
    /// Committed transactions for which this opening freed large values that they had replaced or
    /// deleted, because the engine had ended before it had freed all of them.
    pub frees_resumed: u64,
    /// Tables whose drop this opening completed.
    pub drops_resumed: u64,
    /// One [`Error::DropUnfinished`](clearway_base::Error::DropUnfinished) for each drop that could
    /// not be completed, with the reason. The names of these tables cannot be used until the drops
    /// are completed; all other tables can.
    pub drops_unfinished: Vec<Error>,
    /// The duration of the opening.
    pub took: Duration,
}

/// The result of checking one table, a part of [`VerifyReport`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TableReport {
    /// The table's name; the catalogue's is empty.
    pub name: String,
    /// The id of its tree, the structure in which its entries are stored.
    pub tree: TreeId,
    /// The root page of the tree.
    pub root: PageId,
    /// The report of the tree's check.
    pub report: TreeReport,
}

/// The report of a verification that found no damage. (Damage is an error.)
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct VerifyReport {
    /// One entry for each table, the catalogue (the internal table of tables) first.
    pub tables: Vec<TableReport>,
    /// Pages that the data file holds.
    pub pages: u32,
    /// Pages that are marked as in use and belong to no table: those that are left when a crash or
    /// an error interrupts storing or freeing a large value, or creating a table; and those that an
    /// unfinished drop has not freed. They take space, and are otherwise harmless. A page is
    /// counted only if at least two walks over all tables did not reach it. The number is still an
    /// estimate if tables are created or dropped, or large values stored, meanwhile.
    pub unreachable_pages: u64,
}

/// The resources that are held at a moment: none if no transaction runs and no result is awaited.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Holdings {
    /// Transactions that have not ended, and those that have committed and whose deferred
    /// deallocations are not done.
    pub transactions: u64,
    /// True if an owner holds or awaits a lock.
    pub locks: bool,
    /// Pages that are latched or pinned.
    pub pages: usize,
    /// Wakers that wait for the log to become durable.
    pub waiters: u64,
    /// Log bytes that are reserved and not used, without the engine's own reserve.
    pub log_reserved_bytes: u64,
}

/// Counters of the engine since the database was opened.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct EngineStats {
    /// The id of the database, which its copies and backups share.
    pub database: DatabaseId,
    /// Commits of transactions that wrote, those of the engine's own included (such as the ones
    /// that create a table).
    pub commits: u64,
    /// Commits of transactions that only read.
    pub read_only_commits: u64,
    /// Rollbacks, those of deadlock victims included.
    pub rollbacks: u64,
    /// Transactions that run now, those of the engine's own included, and those that have committed
    /// and whose large values, which they have deleted or replaced, are not freed yet.
    pub active: u64,
    /// Checkpoints completed, those of the opening included.
    pub checkpoints: u64,
    /// Visits of leaves by upkeep, which in the background removes ghosts (records that count as
    /// absent), merges sparse pages, and completes splits.
    pub maintenance_passes: u64,
    /// Leaves that wait for such a visit, or for another one: a ghost that a transaction has locked
    /// stays until that transaction has ended.
    pub upkeep_leaves: u64,
    /// Tables, the catalogue included, that are marked for a walk over all of their leaves: because
    /// the database was not closed with its upkeep done, or because too many leaves wait. If this
    /// and `upkeep_leaves` are zero, no upkeep is left to do.
    pub upkeep_walks: u64,
    /// Tables that are dropped and whose pages are not all freed.
    pub drops_unfinished: u64,
    /// Bytes of log from the position at which redo would begin after a crash now to the end of the
    /// log.
    pub redo_bytes: u64,
    /// The log's counters.
    pub log: LogStats,
    /// The lock table's counters.
    pub lock: LockStats,
    /// The counters of the page cache.
    pub pool: PoolStats,
}
