//! What every part of an open engine shares.

use std::sync::{Arc, OnceLock};

use clearway_base::{Epoch, Error, Lsn, Result};
use clearway_disk::Disk;
use clearway_lock::LockTable;
use clearway_log::Log;
use clearway_pool::{Pool, Wal};
use clearway_sync::{
    Mutex, Process,
    atomic::{AtomicBool, Ordering},
};
use clearway_tree::{SpaceMap, Tree, TreeConfig, tree_of_body};

use crate::{
    checkpoint::Checkpoints, claim::Reserve, closing::Directory, contention::Contention,
    kinds::Kinds, log_space::LogSpace, options::EngineOptions, registry::Registry, slot::Slot,
    superblock::SuperblockFile, tables::Tables, upkeep::UpkeepQueue,
};

/// The engine without its background threads. Everything that runs holds a reference.
pub(crate) struct Core {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) options: EngineOptions,
    pub(crate) epoch: Epoch,
    /// The process that opened the database, which alone may use it.
    pub(crate) process: Process,
    /// Tells this opening from every other of the process.
    pub(crate) opening: u64,
    pub(crate) superblock: SuperblockFile,
    pub(crate) log: Arc<Log>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) space: Arc<SpaceMap>,
    pub(crate) locks: LockTable,
    pub(crate) registry: Registry,
    pub(crate) kinds: Arc<Kinds>,
    pub(crate) contention: Contention,
    pub(crate) reserve: Reserve,
    pub(crate) tables: Tables,
    pub(crate) checkpoints: Checkpoints,
    pub(crate) log_space: LogSpace,
    pub(crate) upkeep: UpkeepQueue,
    /// Committed transactions whose deferred frees failed and will be tried again; none once the
    /// engine is closed.
    #[allow(clippy::vec_box)] // slots are handed about as boxes: unboxing one would copy it
    pub(crate) stranded: Mutex<Option<Vec<Box<Slot>>>>,
    /// The engine takes no work any more. Set in `closing.rs`.
    pub(crate) closed: AtomicBool,
    pub(crate) directory: Directory,
}

impl Core {
    /// Refuses a fork of the process that opened the database. To be called before anything is
    /// latched: what another thread held at the fork stays latched for ever.
    ///
    /// # Errors
    /// [`Error::Forked`].
    #[inline]
    pub(crate) fn check_process(&self) -> Result<()> {
        if self.process.is_current() { Ok(()) } else { Err(Error::Forked) }
    }

    /// Whether the engine takes work.
    ///
    /// # Errors
    /// [`Error::Closed`], or [`Error::Poisoned`] after a failure.
    #[inline]
    pub(crate) fn check_open(&self) -> Result<()> {
        // Acquire pairs with the store in `refuse_work`.
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::Closed);
        }
        self.log.health()
    }

    /// Stops the engine because of `cause`: nothing further is acknowledged. Answers the error to
    /// give to whoever met it.
    pub(crate) fn fail(&self, cause: Error) -> Error {
        let cause = match cause {
            Error::Closed => return Error::Closed,
            // The pool or the log has stopped itself; the other has to hear of it.
            Error::Poisoned { cause } | Error::OutcomeUnknown { cause } => cause,
            cause => Arc::new(cause),
        };
        self.log.poison((*cause).clone());
        Error::Poisoned { cause }
    }

    /// Whether the engine was closed, for paths where each instruction counts.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        // Relaxed: nothing is read because of it; who comes a moment too early is refused by what
        // comes later, its commit at the latest (F4).
        self.closed.load(Ordering::Relaxed)
    }

    /// The tree that a logged body belongs to.
    pub(crate) fn tree_of(&self, body: &[u8]) -> Result<Tree> {
        let id = tree_of_body(body)
            .ok_or_else(|| Error::corrupt("log record", "a change that names no tree"))?;
        let table = self.tables.by_id(id).ok_or_else(|| {
            Error::corrupt("log record", format!("a change of the unknown tree {}", id.0))
        })?;
        Ok(table.tree().clone())
    }

    /// How trees of this database are laid out: opening has put the database's own size into the
    /// options. (The superblock knows it too, but a checkpoint latches it across its writes.)
    pub(crate) fn tree_config(&self) -> TreeConfig {
        TreeConfig { node_bytes: self.options.node_bytes }
    }
}

/// The log as the pool sees it, from before the log runs.
///
/// While recovery redoes, everything it reads is durable already (it syncs the segments first), so
/// any page may be written; recovery tells the pool itself where it is.
#[derive(Default)]
pub(crate) struct WalGate {
    log: OnceLock<Arc<Log>>,
}

impl WalGate {
    /// The log runs.
    pub(crate) fn open(&self, log: Arc<Log>) {
        // A second log behind the same gate does not happen: opening makes one of each.
        let _ = self.log.set(log);
    }
}

impl Wal for WalGate {
    fn durable(&self) -> Lsn {
        self.log.get().map_or(Lsn::MAX, |log| log.durable())
    }

    fn make_durable(&self, lsn: Lsn) -> Result<()> {
        self.log.get().map_or(Ok(()), |log| log.force(lsn))
    }

    fn end(&self) -> Lsn {
        self.log.get().map_or(Lsn::MAX, |log| log.end())
    }

    fn health(&self) -> Result<()> {
        self.log.get().map_or(Ok(()), |log| log.health())
    }

    fn fail(&self, cause: &Error) {
        if let Some(log) = self.log.get() {
            log.poison(cause.clone());
        }
    }
}
