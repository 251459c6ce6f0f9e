//! Reports of the engine about itself: on recovery, on verification, and its counters.

use std::time::Duration;

use clearway_base::{DatabaseId, Epoch, Error, Lsn, PageId, TreeId};
use clearway_lock::LockStats;
use clearway_log::LogStats;
use clearway_pool::PoolStats;
use clearway_tree::TreeReport;

/// The report of an opening: what it found, and what recovery did.
#[derive(Clone, Debug)]
pub struct RecoveryReport {
    /// The database was created by this opening.
    pub created: bool,
    /// The epoch of this opening.
    pub epoch: Epoch,
    /// Where redo began.
    pub redo_from: Lsn,
    /// Where the log ended.
    pub redo_to: Lsn,
    /// Log records read by the forward pass.
    pub records: u64,
    /// Page images in the log with which redo was compared; see `redo_check` of the options.
    pub images: u64,
    /// Unfinished transactions that were rolled back.
    pub losers: u64,
    /// Compensation records written for them.
    pub undone: u64,
    /// Committed transactions for which this opening freed large values that they had replaced or
    /// deleted, because the engine had ended before it had freed all of them.
    pub frees_resumed: u64,
    /// Tables whose drop was completed.
    pub drops_resumed: u64,
    /// One [`Error::DropUnfinished`](clearway_base::Error::DropUnfinished) for each drop that could
    /// not be completed, with the reason. Only the names of these tables cannot be used.
    pub drops_unfinished: Vec<Error>,
    /// The duration of the opening.
    pub took: Duration,
}

/// The result of checking one table, a part of [`VerifyReport`].
#[derive(Clone, Debug)]
pub struct TableReport {
    /// The table's name; the catalogue's is empty.
    pub name: String,
    /// Its tree.
    pub tree: TreeId,
    /// Its root page.
    pub root: PageId,
    /// The report of the tree's own check.
    pub report: TreeReport,
}

/// The report of a verification that found no damage. Damage is returned as an error instead.
#[derive(Clone, Debug, Default)]
pub struct VerifyReport {
    /// One entry for each table, the catalogue first.
    pub tables: Vec<TableReport>,
    /// Pages that the data file holds.
    pub pages: u32,
    /// Pages that are marked as in use and belong to no table: those that are left when a crash or
    /// an error interrupts storing or freeing a large value, or creating a table; and those that an
    /// unfinished drop has not freed. They cost space and nothing else. A page is counted only if
    /// at least two walks over all trees did not reach it; the number is still an estimate if
    /// tables are dropped or large values stored meanwhile.
    pub unreachable_pages: u64,
}

/// The resources that are held at a moment: none if no transaction runs and no result is awaited.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Holdings {
    /// Transactions that have not ended.
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

/// Counters since the engine was opened.
#[derive(Clone, Debug, Default)]
pub struct EngineStats {
    /// The id of the database, which its copies and backups share.
    pub database: DatabaseId,
    /// Commits of transactions that wrote.
    pub commits: u64,
    /// Commits of transactions that only read.
    pub read_only_commits: u64,
    /// Rollbacks, deadlock victims included.
    pub rollbacks: u64,
    /// Transactions that are running now.
    pub active: u64,
    /// Checkpoints completed.
    pub checkpoints: u64,
    /// Leaves visited by upkeep: ghosts reclaimed, sparse leaves merged, foster children adopted.
    pub maintenance_passes: u64,
    /// Leaves that wait for such a visit, or for another one: a ghost that a transaction has locked
    /// stays until that transaction has ended.
    pub upkeep_leaves: u64,
    /// Tables, the catalogue included, that are marked for a walk over all of their leaves: because
    /// the database was not closed with its upkeep done, or because too many leaves wait. Upkeep is
    /// idle when this and `upkeep_leaves` are zero.
    pub upkeep_walks: u64,
    /// Tables that are dropped but could not be freed so far.
    pub drops_unfinished: u64,
    /// Log bytes from where recovery would start to the end of the log.
    pub redo_bytes: u64,
    /// The log's counters.
    pub log: LogStats,
    /// The lock table's counters.
    pub lock: LockStats,
    /// The pool's counters.
    pub pool: PoolStats,
}
