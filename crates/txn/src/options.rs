//! Options of an engine.

use std::sync::Arc;

use clearway_base::{Error, PAGE_SIZE, RECORD_LEN_MAX, Result};
use clearway_lock::LockOptions;
use clearway_log::LogOptions;
use clearway_pool::PoolOptions;

use crate::parts::{ProductTxnParts, TxnParts};

/// The choice whether an opening may, or must, create the database.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Creation {
    /// Open the database. If there is none, create it in the directory, which must be absent or
    /// hold no files.
    #[default]
    IfMissing,
    /// Open an existing database. If there is none, the opening fails.
    Never,
    /// Create a new database in the directory, which must be absent or hold no files.
    New,
}

/// Options of an engine. The options of the parts below are documented there.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// The log: ring, segments, capacity, group-commit delay.
    pub log: LogOptions,
    /// The buffer pool: cache size.
    pub pool: PoolOptions,
    /// The lock table: buckets, default wait limit.
    pub lock: LockOptions,
    /// The modes of range locks, and the release of locks at a commit. Parts other than the
    /// product's exist to be compared with them.
    pub parts: Arc<dyn TxnParts>,
    /// Usable bytes of a tree node. Fixed when the database is created (an existing database keeps
    /// its own); tests shrink it so that a few keys fill a page. Default: a whole page.
    pub node_bytes: usize,
    /// A transaction that has taken more than this number of range locks on one table tries to lock
    /// the table as a whole, without waiting. If it succeeds, it takes no more range locks there
    /// for its reads and, under X, none at all. Default: never.
    pub escalate_after: Option<usize>,
    /// Whether a deadlock's victim takes the locks it needed in canonical order first when it is
    /// run again (`transaction_state::retry`).
    pub retries_lock_first: bool,
    /// The choice whether opening may, or must, create the database.
    pub create: Creation,
    /// A checkpoint starts after this many bytes of log. It is clipped to a quarter of the log's
    /// capacity, so that truncation always comes in time. Default 256 MiB.
    pub checkpoint_log_bytes: u64,
    /// Threads that checkpoint and reclaim in the background, and that read ahead in recovery. Off
    /// only in tests that place every checkpoint by hand.
    pub background: bool,
    /// Without `background`: true if the jobs that threads do for tasks, and the deferred
    /// deallocations of all transactions, wait until
    /// [`run_task_job`](crate::Engine::run_task_job) runs them. Otherwise the thread that brings
    /// them about does them at once. Only for simulations. Default off.
    pub simulated_jobs: bool,
    /// Whether images of the changed pages are logged after each change. An image is left out if
    /// the log would be more than half full with it, or if the prepared segments have no room for
    /// it. Every recovery that meets some compares them with what redo has made. For tests of the
    /// engine: the log becomes many times as long. Default off.
    pub redo_check: bool,
}

impl Default for EngineOptions {
    fn default() -> EngineOptions {
        EngineOptions {
            log: LogOptions::default(),
            pool: PoolOptions::default(),
            lock: LockOptions::default(),
            parts: Arc::new(ProductTxnParts),
            node_bytes: PAGE_SIZE,
            escalate_after: None,
            retries_lock_first: true,
            create: Creation::IfMissing,
            checkpoint_log_bytes: 256 << 20,
            background: true,
            simulated_jobs: false,
            redo_check: false,
        }
    }
}

impl EngineOptions {
    /// Options of an engine without any thread of its own: everything happens on the thread that
    /// calls, in an order that depends on the calls alone. Such an engine cleans and checkpoints
    /// when a caller requests it; what would wait for a background thread fails at once.
    pub fn simulation() -> EngineOptions {
        let mut options = EngineOptions { background: false, ..EngineOptions::default() };
        options.log.background = false;
        options.pool.background_cleaner = false;
        options
    }

    /// Refuses what cannot work. The parts below check their own options when they start.
    pub(crate) fn check(&self) -> Result<()> {
        let refuse = |option, detail: &str| Err(Error::BadOption { option, detail: detail.into() });
        if self.node_bytes > PAGE_SIZE || self.node_bytes < NODE_BYTES_MIN {
            return refuse("node_bytes", "must lie between 256 and 8192");
        }
        if self.log.ring_bytes < 2 * RECORD_LEN_MAX {
            return refuse("ring_bytes", "must hold two of the longest records: at least 64 KiB");
        }
        if self.checkpoint_log_bytes == 0 {
            return refuse("checkpoint_log_bytes", "must be positive");
        }
        Ok(())
    }
}

/// The smallest node the tree's tests use; the tree itself refuses what it cannot lay out.
const NODE_BYTES_MIN: usize = 256;
