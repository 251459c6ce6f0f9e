//! The opening of an engine: a database is created, or recovered; the services are connected.

use std::sync::{Arc, OnceLock};

use clearway_base::{
    Epoch, Error, Lsn, PAGE_SIZE, PageId, Result, TreeId,
    failpoint::{self, Failpoint},
};
use clearway_disk::Disk;
use clearway_lock::{LockTable, Participants};
use clearway_log::{EpochMark, Lineage, Log, LogStart};
use clearway_pool::{DirectoryLock, Pool};
use clearway_sync::{Process, atomic::Ordering, plain};
use clearway_tree::{SpaceMap, Tree, TreeConfig};

use crate::{
    background::Background,
    catalogue,
    checkpoints::{CheckpointParts, Checkpoints, Cleaning},
    contention::Contention,
    core::{Core, WalGate},
    directory::Directory,
    finish,
    health::EngineHealth,
    kinds::Kinds,
    log_space::LogSpace,
    options::EngineOptions,
    recovery::{self, Pass},
    report::RecoveryReport,
    superblock::{self, FORMAT_VERSION, Identity, Superblock, SuperblockFile, VERSION_1},
    table::Table,
    tables::Tables,
    task_work::TaskWork,
    transaction_state::Transactions,
    transaction_table::TransactionTable,
    upkeep,
    upkeep_queue::UpkeepQueue,
    wait_totals::WaitCounters,
};

/// The catalogue's nodes are whole pages whatever the tables' are: names have their own limit.
const CATALOGUE_CONFIG: TreeConfig = TreeConfig { node_bytes: PAGE_SIZE };

/// The disk of an engine that is being opened, and the lock on its directory.
#[derive(Clone)]
pub(crate) struct LockedDisk {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) lock: DirectoryLock,
}

/// An engine that is being opened. If it does not get [ready](Opening::ready), it is abandoned:
/// its threads end, nothing more is written, and nothing of it stays in memory.
pub(crate) struct Opening {
    pub(crate) transactions: Arc<Transactions>,
    pub(crate) background: Option<Background>,
    is_ready: bool,
}

impl Opening {
    pub(crate) fn new(transactions: Arc<Transactions>) -> Opening {
        Opening { transactions, background: None, is_ready: false }
    }

    /// Starts the background threads if they are wanted and do not run yet.
    pub(crate) fn start_background(&mut self) -> Result<()> {
        if self.transactions.core.options.background && self.background.is_none() {
            self.background = Some(Background::start(&self.transactions)?);
        }
        Ok(())
    }

    /// The engine is open.
    pub(crate) fn ready(mut self) -> (Arc<Transactions>, Option<Background>) {
        self.is_ready = true;
        (self.transactions.clone(), self.background.take())
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        if self.is_ready {
            return;
        }
        let transactions = &self.transactions;
        let core = &transactions.core;
        core.pool.begin_close();
        core.directory.refuse_work();
        if let Some(background) = self.background.take() {
            background.stop(core);
        }
        // The transaction states hold the core (STATES-2). The log is stopped and not closed: the
        // next opening recovers, as after a crash.
        transactions.close();
        core.log.poison(Error::Closed);
        finish::close_deallocations(transactions);
        // It cleans nothing any more, since the log has stopped.
        let _ = core.pool.close();
        core.directory.finish_closing();
    }
}

/// Creates a database. Until the superblock says that it is complete, an opening starts over, with
/// the next `sequence`.
pub(crate) fn create(
    LockedDisk { disk, lock }: LockedDisk,
    options: EngineOptions,
    sequence: u64,
) -> Result<(Opening, RecoveryReport)> {
    // Of an interrupted creation: `find` has seen its superblock, or that there is nothing.
    for name in disk.list("log")?.iter().filter(|name| clearway_log::is_log_file(name)) {
        disk.remove(&format!("log/{name}"))?;
    }
    if disk.exists("doublewrite")? {
        disk.remove("doublewrite")?;
    }
    let epoch = Epoch(1);
    let first = Superblock {
        version: FORMAT_VERSION,
        node_bytes: options.node_bytes as u32,
        epoch,
        sequence,
        checkpoint: Lsn::ZERO,
        redo: Lsn::ZERO,
        retention_lsn: Lsn::ZERO,
        segment_bytes: options.log.segment_bytes,
        catalogue_root: PageId::NONE,
        creating: true,
        copying: false,
        upkeep_done: false,
        log_empty: false,
        identity: Identity::draw(&*disk, epoch, Lsn::ZERO)?,
    };
    let lineage = Lineage::new(first.identity.database, vec![first.latest()]);
    let block = SuperblockFile::create(&*disk, first)?;
    let gate = Arc::new(WalGate::default());
    let pool = Pool::open(&*disk, gate.clone(), options.pool.clone())?;
    pool.hold_directory(&lock);
    let start = LogStart { tail: Lsn::ZERO, epoch, retention_lsn: Lsn::ZERO, lineage };
    let log = Log::start_as(disk.clone(), options.log.clone(), start)?;
    failpoint::pass(Failpoint::CreationLogged);
    gate.open(log.clone());
    let space = SpaceMap::open(pool.clone());
    let root = OnceLock::new();
    let opening = assemble(disk, options, block, (log, pool, space), |transactions| {
        let core = &transactions.core;
        let mut state = transactions.begin()?;
        core.space.create(&mut *state)?;
        let (pool, space) = (core.pool.clone(), core.space.clone());
        let catalogue =
            Tree::create(pool, space, TreeId::CATALOGUE, CATALOGUE_CONFIG, &mut *state)?;
        let _ = root.set(catalogue.root());
        finish::leave(state);
        Ok(catalogue)
    })?;
    let core = &opening.transactions.core;
    core.checkpoints.take(Cleaning::All)?;
    failpoint::pass(Failpoint::CreationUnmarked);
    let root = root.get().copied().unwrap_or(PageId::NONE);
    core.superblock.update(|block| {
        block.catalogue_root = root;
        block.creating = false;
    })?;
    let end = core.log.end();
    let recovery = report(true, epoch, (Lsn::ZERO, end), recovery::Undone::default());
    Ok((opening, recovery))
}

/// Opens an existing database, in the format that it has.
pub(crate) fn recover(
    LockedDisk { disk, lock }: LockedDisk,
    mut options: EngineOptions,
    block: Superblock,
) -> Result<(Opening, RecoveryReport)> {
    options.log.segment_bytes = block.segment_bytes;
    options.node_bytes = block.node_bytes as usize;
    let needs_full_upkeep = upkeep::needs_full_upkeep(&block);
    // Before anything is written.
    let traced = recovery::identify(&disk, &block)?;
    let file = SuperblockFile::open(&*disk, block)?;
    file.replace_damaged()?;
    let block = file.get();
    let gate = Arc::new(WalGate::default());
    let pool = Pool::open(&*disk, gate.clone(), options.pool.clone())?;
    pool.hold_directory(&lock);
    let pass = recovery::forward(&disk, &pool, &options, &block, traced)?;
    failpoint::pass(Failpoint::LogAnalysed);
    let block = raise_epoch(&*disk, &file, &pass)?;
    failpoint::pass(Failpoint::EpochRaised);
    let log = Log::start_as(disk.clone(), options.log.clone(), log_start(&block, &pass))?;
    failpoint::pass(Failpoint::EpochBegun);
    // Whatever the crash has left of the log's capacity, an opening does not fail for it.
    log.lift_capacity(true);
    gate.open(log.clone());
    // Not before: what the cleaner copies without a log would count as newer than everything.
    pool.set_redo_position(None);
    let space = SpaceMap::open(pool.clone());
    space.make_room_for_undo();
    let mut opening = assemble(disk, options, file, (log, pool, space), |transactions| {
        let core = &transactions.core;
        let (pool, space) = (core.pool.clone(), core.space.clone());
        Ok(Tree::open(pool, space, TreeId::CATALOGUE, block.catalogue_root, CATALOGUE_CONFIG))
    })?;
    let transactions = opening.transactions.clone();
    let core = &transactions.core;
    if block.log_empty {
        // Before anything is changed (SUPERBLOCK-4).
        core.checkpoints.take(Cleaning::Nothing)?;
    }
    let losers = recovery::adopt(&transactions, &pass.unfinished)?;
    // Losers' trees must be known, those of uncommitted creations included.
    catalogue::load(&transactions)?;
    // From here on checkpoints may be needed to make room in the log.
    opening.start_background()?;
    let undone = recovery::backward(core, losers)?;
    failpoint::pass(Failpoint::LosersUndone);
    catalogue::load(&transactions)?;
    let (drops_resumed, drops_unfinished) = catalogue::resume_drops(&transactions)?;
    // Without background threads, no thread would clean later.
    let cleaning = if opening.background.is_some() { Cleaning::Nothing } else { Cleaning::All };
    core.checkpoints.take(cleaning)?;
    core.log.lift_capacity(false);
    if needs_full_upkeep {
        upkeep::mark_all(core);
    }
    let mut recovery = report(false, block.epoch, (block.redo, pass.tail), undone);
    (recovery.records, recovery.images) = (pass.records, pass.images);
    recovery.drops_resumed = drops_resumed;
    recovery.drops_unfinished = drops_unfinished;
    Ok((opening, recovery))
}

/// Makes the epoch of this opening durable, before it writes any log (SUPERBLOCK-3, ID-1).
fn raise_epoch(disk: &dyn Disk, file: &SuperblockFile, pass: &Pass) -> Result<Superblock> {
    let salt = superblock::draw_salt(disk)?;
    file.update(|block| {
        block.epoch = Epoch(block.epoch.0 + 1);
        block.upkeep_done = false;
        if block.version > VERSION_1 {
            block.identity.salt = salt;
            block.identity.begin = LogStart::begin_behind(pass.tail);
            block.identity.begun = pass.epochs.last().copied().unwrap_or(EpochMark::NONE);
        }
    })
}

/// Returns the position and the identity with which the log continues after what the pass has read.
fn log_start(block: &Superblock, pass: &Pass) -> LogStart {
    let lineage = if block.version == VERSION_1 {
        Lineage::version_1()
    } else {
        let epochs = pass.epochs.iter().copied().chain([block.latest()]);
        Lineage::new(block.identity.database, epochs.collect())
    };
    LogStart { tail: pass.tail, epoch: block.epoch, retention_lsn: block.retention_lsn, lineage }
}

fn report(
    created: bool,
    epoch: Epoch,
    (redo_from, redo_to): (Lsn, Lsn),
    undone: recovery::Undone,
) -> RecoveryReport {
    RecoveryReport {
        created,
        epoch,
        redo_from,
        redo_to,
        records: 0,
        images: 0,
        losers: undone.losers,
        undone: undone.changes,
        frees_resumed: undone.frees,
        drops_resumed: 0,
        drops_unfinished: Vec::new(),
        took: std::time::Duration::ZERO,
    }
}

/// Connects the services. `catalogue` runs with everything in place but the tables.
fn assemble(
    disk: Arc<dyn Disk>,
    options: EngineOptions,
    superblock: SuperblockFile,
    (log, pool, space): (Arc<Log>, Arc<Pool>, Arc<SpaceMap>),
    catalogue: impl FnOnce(&Arc<Transactions>) -> Result<Tree>,
) -> Result<Opening> {
    static OPENINGS: plain::AtomicU64 = plain::AtomicU64::new(1);
    let block = superblock.get();
    let superblock = Arc::new(superblock);
    let participants = Arc::new(Participants::new());
    let transactions = TransactionTable::new(participants.clone());
    let health = Arc::new(EngineHealth::new(log.clone()));
    let kinds: Arc<Kinds> = Arc::default();
    let upkeep: Arc<UpkeepQueue> = Arc::default();
    let log_space = Arc::new(LogSpace::open(
        log.clone(),
        options.log.segment_bytes,
        health.clone(),
        transactions.clone(),
        kinds.clone(),
    )?);
    let parts = CheckpointParts {
        log: log.clone(),
        pool: pool.clone(),
        superblock: superblock.clone(),
        health: health.clone(),
        transactions: transactions.clone(),
        log_space: log_space.clone(),
        upkeep: upkeep.clone(),
    };
    let core = Core {
        epoch: block.epoch,
        process: Process::current(),
        // Relaxed: only uniqueness matters.
        opening: OPENINGS.fetch_add(1, Ordering::Relaxed),
        superblock,
        locks: LockTable::with_participants(options.lock.clone(), participants),
        range_modes: options.parts.range_modes(),
        commit_release: options.parts.commit_release(),
        directory: Directory::new(disk.path(), health.clone(), transactions.clone()),
        transactions,
        kinds,
        contention: Contention::default(),
        wait_counters: WaitCounters::default(),
        tables: Tables::default(),
        checkpoints: Checkpoints::new(parts, block.checkpoint),
        log_space,
        upkeep,
        task_work: TaskWork::default(),
        health,
        disk,
        options,
        log,
        pool,
        space,
    };
    let opening = Opening::new(Transactions::new(Arc::new(core)));
    let tree = catalogue(&opening.transactions)?;
    let core = &opening.transactions.core;
    core.tables.set_catalogue(Table::new(String::new(), tree, core.opening));
    Ok(opening)
}
