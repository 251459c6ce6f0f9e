//! The services of an open engine, connected.
//!
//! Each service owns its state, and takes the others that it uses (as the log space takes the log
//! and the transaction table). What runs transactions stands above: it begins them through
//! `Transactions`, which has a `Core`.

use std::sync::{Arc, OnceLock};

use clearway_base::{Epoch, Error, Lsn, Result};
use clearway_disk::Disk;
use clearway_lock::LockTable;
use clearway_log::Log;
use clearway_pool::{Pool, Wal};
use clearway_sync::Process;
use clearway_tree::{SpaceMap, Tree, TreeConfig, tree_of_body};

use crate::{
    checkpoints::Checkpoints,
    contention::Contention,
    directory::{Directory, Visit},
    health::{self, EngineHealth},
    kinds::Kinds,
    log_space::LogSpace,
    options::EngineOptions,
    parts::{CommitRelease, RangeModes},
    superblock::SuperblockFile,
    tables::Tables,
    task_work::TaskWork,
    transaction_table::TransactionTable,
    upkeep_queue::UpkeepQueue,
    wait_totals::WaitCounters,
};

/// See the module.
pub(crate) struct Core {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) options: EngineOptions,
    pub(crate) epoch: Epoch,
    /// The process that opened the database, which alone may use it.
    pub(crate) process: Process,
    /// Distinguishes this opening from all others of the process.
    pub(crate) opening: u64,
    pub(crate) superblock: Arc<SuperblockFile>,
    pub(crate) log: Arc<Log>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) space: Arc<SpaceMap>,
    pub(crate) locks: LockTable,
    /// `None` if locks have the modes that the tree requests.
    pub(crate) range_modes: Option<&'static RangeModes>,
    /// `None` if a commit releases all locks early.
    pub(crate) commit_release: Option<Box<dyn CommitRelease>>,
    pub(crate) transactions: TransactionTable,
    pub(crate) kinds: Arc<Kinds>,
    pub(crate) contention: Contention,
    pub(crate) wait_counters: WaitCounters,
    pub(crate) tables: Tables,
    pub(crate) checkpoints: Checkpoints,
    pub(crate) log_space: Arc<LogSpace>,
    pub(crate) upkeep: Arc<UpkeepQueue>,
    pub(crate) task_work: TaskWork,
    pub(crate) health: Arc<EngineHealth>,
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

    /// Begins work that keeps the directory locked until it ends, even if the engine closes
    /// meanwhile.
    ///
    /// # Errors
    /// [`Error::Forked`], and those of [`Directory::visit`].
    pub(crate) fn visit(&self) -> Result<Visit<'_>> {
        self.check_process()?;
        self.directory.visit()
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

    /// The layout of this database's trees: opening has put the database's own size into the
    /// options. (The superblock knows it too, but a checkpoint latches it across its writes.)
    pub(crate) fn tree_config(&self) -> TreeConfig {
        TreeConfig { node_bytes: self.options.node_bytes }
    }
}

/// The log as the pool uses it. The pool is opened before the log runs.
///
/// While recovery redoes, every record that it reads is durable, since it syncs the segments first.
/// So any page may be written. Recovery itself sets the pool's redo position.
#[derive(Default)]
pub(crate) struct WalGate {
    log: OnceLock<Arc<Log>>,
}

impl WalGate {
    /// Gives the pool the log, which runs now.
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
        self.log.get().map_or(Ok(()), |log| health::make_durable(log, lsn))
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

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::{process::Command, sync::Arc, time::Duration};

    use clearway_disk::OsDisk;
    use clearway_sync::{block_on, broken};
    use clearway_testkit::disk::DelayedDisk;

    use super::*;
    use crate::{Engine, EngineOptions};

    /// Names the directory in the process in which the invariant is broken.
    const DIRECTORY: &str = "CLEARWAY_BROKEN_INVARIANT";
    const THIS: &str = "core::tests::broken_invariant_under_a_leaf_latch_stops_the_engine";

    // A process of its own for what breaks: every engine of a process stops.
    #[test]
    fn broken_invariant_under_a_leaf_latch_stops_the_engine() {
        if let Some(directory) = std::env::var_os(DIRECTORY) {
            return break_an_invariant(OsDisk::open_dir(directory, true).unwrap());
        }
        let place = std::env::temp_dir().join(format!("clearway-broken-{}", std::process::id()));
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", THIS, "--nocapture"]).env(DIRECTORY, &place);
        let output = child.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        // What was acknowledged is there.
        let disk = Arc::new(OsDisk::open_dir(&place, false).unwrap());
        let engine = Engine::open(disk, EngineOptions::default()).unwrap();
        let table = engine.open_table("t").unwrap();
        let mut reader = engine.begin();
        assert_eq!(reader.get(&table, b"kept").unwrap(), Some(b"1".to_vec()));
        drop(reader);
        engine.verify().unwrap();
        engine.close().unwrap();
        std::fs::remove_dir_all(place).unwrap();
    }

    fn break_an_invariant(disk: OsDisk) {
        let disk: Arc<dyn Disk> = Arc::new(DelayedDisk::new(disk, Duration::from_millis(300)));
        let engine = Engine::open(disk, EngineOptions::default()).unwrap();
        let table = engine.create_table("t").unwrap();
        let put = |key: &[u8]| {
            let mut txn = engine.begin();
            txn.put(&table, key, b"1").unwrap();
            txn.commit().unwrap()
        };
        engine.log().wait_durable(put(b"kept").ack).unwrap();
        let unfinished = put(b"lost").ack;
        let core = engine.core();
        let is_poisoned = |error: &Error| {
            let cause = match error {
                Error::Poisoned { cause } | Error::OutcomeUnknown { cause } => &**cause,
                _ => return false,
            };
            matches!(cause, Error::BrokenInvariant { what, .. } if what.starts_with("page change"))
        };
        std::thread::scope(|scope| {
            // Its flush is under way when the invariant breaks.
            let waiter = scope.spawn(|| {
                block_on(std::future::poll_fn(|cx| core.log.poll_durable(unfinished, cx)))
            });
            std::thread::sleep(Duration::from_millis(50));
            let mut leaf = core.pool.exclusive(table.tree().root()).unwrap();
            leaf.begin_change();
            leaf.finish_change(Lsn(1));
            assert!(broken().is_some(), "and it did not unwind");
            let error = core.log.wait_durable(unfinished).unwrap_err();
            assert!(is_poisoned(&error), "{error}");
            drop(leaf);
            let error = waiter.join().unwrap().unwrap_err();
            assert!(is_poisoned(&error), "{error}");
        });
        // The latch is free, so no thread waits for ever.
        drop(core.pool.exclusive(table.tree().root()).unwrap());
        assert!(is_poisoned(&engine.health().unwrap_err()));
        assert!(is_poisoned(&engine.close().unwrap_err()));
        let other: Arc<dyn Disk> = Arc::new(clearway_disk::MemoryDisk::new());
        let error = Engine::open(other, EngineOptions::default()).expect_err("refused");
        assert!(is_poisoned(&error), "{error}");
    }
}
