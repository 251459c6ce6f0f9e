//! The engine: opening (which is recovery), tables, transactions, checkpoints, closing.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use clearway_base::{Epoch, Error, Lsn, PAGE_SIZE, PageId, Result, TreeId};
use clearway_disk::Disk;
use clearway_lock::LockTable;
use clearway_log::Log;
use clearway_pool::Pool;
use clearway_sync::{
    Mutex,
    atomic::{AtomicBool, AtomicU64, Ordering},
};
use clearway_tree::{SpaceMap, Tree, TreeConfig};

use crate::{
    background::Background,
    backup,
    checkpoint::{self, Checkpoints, Cleaning},
    claim::Reserve,
    core::{Core, WalGate},
    finish,
    ghosts::{self, GhostQueue},
    options::{Creation, EngineOptions},
    recovery,
    registry::Registry,
    report::{EngineStats, RecoveryReport, VerifyReport},
    slot::Slot,
    superblock::{self, Found, Superblock, SuperblockFile},
    table::Table,
    tables::{self, Tables},
    transaction::Transaction,
    verify,
};

/// A transactional storage engine over one database directory.
///
/// Dropping the engine closes it.
pub struct Engine {
    core: Arc<Core>,
    background: Mutex<Option<Background>>,
    recovery: RecoveryReport,
}

/// The catalogue's nodes are whole pages whatever the tables' are: names have their own limit.
const CATALOGUE_CONFIG: TreeConfig = TreeConfig { node_bytes: PAGE_SIZE };

/// What has to be there before transactions can run.
struct Parts {
    core: Arc<Core>,
    background: Option<Background>,
    recovery: RecoveryReport,
}

impl Engine {
    /// Opens the database on `disk`, recovering it if it was not closed in order.
    ///
    /// # Errors
    /// [`Error::NotADatabase`], [`Error::FormatTooNew`], [`Error::AlreadyOpen`],
    /// [`Error::Corrupt`] and [`Error::CorruptPage`] for what is on the disk;
    /// [`Error::BadOption`]; and what the disk says. A failed opening loses nothing.
    pub fn open(disk: Arc<dyn Disk>, options: EngineOptions) -> Result<Arc<Engine>> {
        options.check()?;
        let begun = Instant::now();
        // Once without the lock: a directory of other things is refused without a trace.
        superblock::find(&*disk)?;
        let directory = disk.lock()?;
        let mut parts = match superblock::find(&*disk)? {
            Found::Database(_) if options.create == Creation::New => return Err(taken(&*disk)),
            Found::Database(block) => recover(disk, options, block)?,
            Found::Nothing if options.create == Creation::Never => {
                let (path, detail) = (disk.path(), "it is empty".into());
                return Err(Error::NotADatabase { path, detail });
            }
            Found::Unfinished if options.create == Creation::Never => {
                let (path, detail) = (disk.path(), "its creation was interrupted".into());
                return Err(Error::NotADatabase { path, detail });
            }
            Found::Nothing | Found::Unfinished => create(disk, options)?,
        };
        *parts.core.directory.lock() = Some(directory);
        parts.recovery.took = begun.elapsed();
        let background = match parts.background {
            None if parts.core.options.background => Some(Background::start(&parts.core)?),
            background => background,
        };
        Ok(Arc::new(Engine {
            core: parts.core,
            background: Mutex::new(background),
            recovery: parts.recovery,
        }))
    }

    /// What the opening found and did.
    pub fn recovery(&self) -> &RecoveryReport {
        &self.recovery
    }

    /// Begins a transaction.
    ///
    /// # Panics
    /// When 65,535 transactions run at once.
    #[inline]
    pub fn begin(self: &Arc<Self>) -> Transaction {
        Transaction::new(Slot::begin(&self.core))
    }

    /// Creates a table. It is durable when this returns.
    ///
    /// # Errors
    /// [`Error::BadTableName`], [`Error::TableExists`].
    pub fn create_table(&self, name: &str) -> Result<Table> {
        tables::create(&self.core, name)
    }

    /// The table of this name.
    ///
    /// # Errors
    /// [`Error::UnknownTable`].
    pub fn open_table(&self, name: &str) -> Result<Table> {
        self.core.check_open()?;
        let unknown = || Error::UnknownTable { name: name.into() };
        self.core.tables.by_name(name).ok_or_else(unknown)
    }

    /// Drops a table with its contents, once all transactions that use it have ended. The drop is
    /// durable when this returns; from the moment it is bound to happen, handles of the table are
    /// [`Error::UnknownTable`].
    ///
    /// # Errors
    /// [`Error::UnknownTable`]; [`Error::LockTimeout`] and [`Error::Deadlock`] if its users do not
    /// end, and then nothing has happened.
    pub fn drop_table(&self, name: &str) -> Result<()> {
        tables::drop(&self.core, name)
    }

    /// Names of all tables, in order.
    pub fn tables(&self) -> Vec<String> {
        self.core.tables.names()
    }

    /// The log, to wait for what [`Transaction::commit`] returned.
    #[inline]
    pub fn log(&self) -> &Arc<Log> {
        &self.core.log
    }

    /// Writes what is dirty and moves the start of recovery up to now.
    pub fn checkpoint(&self) -> Result<()> {
        self.core.check_open()?;
        finish::retry_stranded(&self.core);
        checkpoint::take(&self.core, Cleaning::All)
    }

    /// Visits every leaf that has become sparse, once, on this thread: reclaims ghosts and merges
    /// what is left. An engine with background threads does it by itself, a little later.
    ///
    /// # Errors
    /// The first visit that failed; the others were made.
    pub fn maintain(&self) -> Result<()> {
        self.core.check_open()?;
        ghosts::visit_all(&self.core)
    }

    /// Copies the database, while it is in use, to the empty directory `to`.
    ///
    /// # Errors
    /// A failed copy is not a database: opening it is refused.
    pub fn backup(&self, to: &dyn Disk) -> Result<()> {
        self.core.check_open()?;
        backup::copy(&self.core, to)
    }

    /// Checks all pages, trees and the space map, while they are in use.
    ///
    /// # Errors
    /// The first damage found.
    pub fn verify(&self) -> Result<VerifyReport> {
        self.core.check_open()?;
        verify::all(&self.core)
    }

    /// Counters.
    pub fn stats(&self) -> EngineStats {
        let core = &self.core;
        let (commits, read_only_commits, rollbacks) = core.registry.totals();
        let end = core.log.end().0;
        EngineStats {
            commits,
            read_only_commits,
            rollbacks,
            active: core.registry.active(),
            checkpoints: core.checkpoints.count(),
            maintenance_passes: core.ghosts.passes(),
            redo_bytes: end.saturating_sub(core.superblock.get().redo.0),
            log: core.log.stats(),
            lock: core.locks.stats(),
            pool: core.pool.stats(),
        }
    }

    /// Whether the engine takes work.
    ///
    /// # Errors
    /// [`Error::Poisoned`] after a failed write or sync, [`Error::Closed`] after a close.
    pub fn health(&self) -> Result<()> {
        self.core.check_open()?;
        self.core.pool.health()
    }

    /// Closes the database in good order: what was committed is durable, the next opening has
    /// nothing to do. Transactions that are still active are left for that opening to undo; every
    /// further call gives [`Error::Closed`]. A second close does nothing.
    ///
    /// # Errors
    /// What kept it from closing in order; it is closed all the same, and recovery does the rest.
    pub fn close(&self) -> Result<()> {
        let core = &self.core;
        // AcqRel: one closer; pairs with the Acquire in `Core::check_open`.
        if core.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        if let Some(background) = self.background.lock().take() {
            background.stop(core);
        }
        core.registry.close();
        let stranded = std::mem::take(&mut *core.stranded.lock());
        drop(stranded);
        let healthy = core.log.health();
        let written = match healthy {
            Ok(()) => core.pool.clean_all().and_then(|()| checkpoint::take(core, Cleaning::All)),
            Err(error) => Err(error),
        };
        let log = core.log.close();
        // Its cleaner must not outlive the directory's lock; pages are clean, or the log failed.
        let _ = core.pool.close();
        core.leave_directory();
        written.and(log)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Nobody is left to be told: what was not written is recovery's.
        let _ = self.close();
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("path", &self.core.disk.path()).finish_non_exhaustive()
    }
}

fn taken(disk: &dyn Disk) -> Error {
    let source = std::io::Error::new(std::io::ErrorKind::AlreadyExists, "it is a database");
    Error::io("create a database in", disk.path(), source)
}

/// Creates a database. Until the superblock says that it is complete, an opening starts over.
fn create(disk: Arc<dyn Disk>, options: EngineOptions) -> Result<Parts> {
    // Of an interrupted creation: `find` has seen its superblock, or that there is nothing.
    for name in disk.list("log")?.iter().filter(|name| clearway_log::is_log_file(name)) {
        disk.remove(&format!("log/{name}"))?;
    }
    if disk.exists("doublewrite")? {
        disk.remove("doublewrite")?;
    }
    let first = Superblock {
        node_bytes: options.node_bytes as u32,
        epoch: Epoch(1),
        sequence: 1,
        checkpoint: Lsn::ZERO,
        redo: Lsn::ZERO,
        keep_from: Lsn::ZERO,
        segment_bytes: options.log.segment_bytes,
        catalogue_root: PageId::NONE,
        creating: true,
        copying: false,
    };
    let block = SuperblockFile::create(&*disk, first)?;
    let gate = Arc::new(WalGate::default());
    let pool = Pool::open(&*disk, gate.clone(), options.pool.clone())?;
    let log = Log::start(disk.clone(), options.log.clone(), Lsn::ZERO, Epoch(1), Lsn::ZERO)?;
    gate.open(log.clone());
    let space = SpaceMap::open(pool.clone());
    let root = OnceLock::new();
    let core = assemble(disk, options, block, (log, pool, space), |core| {
        let mut slot = Slot::begin(core);
        core.space.create(&mut *slot)?;
        let (pool, space) = (core.pool.clone(), core.space.clone());
        let catalogue = Tree::create(pool, space, TreeId::CATALOGUE, CATALOGUE_CONFIG, &mut *slot)?;
        let _ = root.set(catalogue.root());
        finish::leave(slot);
        Ok(catalogue)
    })?;
    checkpoint::take(&core, Cleaning::All)?;
    let root = root.get().copied().unwrap_or(PageId::NONE);
    core.superblock.update(|block| {
        block.catalogue_root = root;
        block.creating = false;
    })?;
    let end = core.log.end();
    let recovery = report(true, Epoch(1), (Lsn::ZERO, end), recovery::Undone::default());
    Ok(Parts { core, background: None, recovery })
}

/// Opens an existing database.
fn recover(disk: Arc<dyn Disk>, mut options: EngineOptions, block: Superblock) -> Result<Parts> {
    options.log.segment_bytes = block.segment_bytes;
    options.node_bytes = block.node_bytes as usize;
    let file = SuperblockFile::open(&*disk, block)?;
    // Durable before this opening writes any log.
    let block = file.update(|block| block.epoch = Epoch(block.epoch.0 + 1))?;
    let gate = Arc::new(WalGate::default());
    let pool = Pool::open(&*disk, gate.clone(), options.pool.clone())?;
    let pass = recovery::forward(&disk, &pool, &options, &block)?;
    let log = options.log.clone();
    let log = Log::start(disk.clone(), log, pass.tail, block.epoch, block.keep_from)?;
    gate.open(log.clone());
    let space = SpaceMap::open(pool.clone());
    let core = assemble(disk, options, file, (log, pool, space), |core| {
        let (pool, space) = (core.pool.clone(), core.space.clone());
        Ok(Tree::open(pool, space, TreeId::CATALOGUE, block.catalogue_root, CATALOGUE_CONFIG))
    })?;
    let losers = recovery::adopt(&core, &pass.owed)?;
    // Losers' trees must be known, those of uncommitted creations included.
    tables::load(&core)?;
    // From here on checkpoints may be needed to make room in the log.
    let background = match core.options.background {
        true => Some(Background::start(&core)?),
        false => None,
    };
    let finished = recovery::backward(&core, losers).and_then(|undone| {
        let dropping = tables::load(&core)?;
        tables::resume_drops(&core, &dropping)?;
        // Without a background nobody would clean later.
        let cleaning = if background.is_some() { Cleaning::Nothing } else { Cleaning::All };
        checkpoint::take(&core, cleaning)?;
        Ok((undone, dropping.len() as u64))
    });
    let (undone, drops) = match finished {
        Ok(finished) => finished,
        Err(error) => {
            background.into_iter().for_each(|background| background.stop(&core));
            core.registry.close();
            return Err(error);
        }
    };
    let mut recovery = report(false, block.epoch, (block.redo, pass.tail), undone);
    recovery.records = pass.records;
    recovery.drops_resumed = drops;
    Ok(Parts { core, background, recovery })
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
        losers: undone.losers,
        undone: undone.changes,
        frees_resumed: undone.frees,
        drops_resumed: 0,
        took: std::time::Duration::ZERO,
    }
}

/// Puts the parts together. `catalogue` runs with everything in place but the tables.
fn assemble(
    disk: Arc<dyn Disk>,
    options: EngineOptions,
    superblock: SuperblockFile,
    (log, pool, space): (Arc<Log>, Arc<Pool>, Arc<SpaceMap>),
    catalogue: impl FnOnce(&Arc<Core>) -> Result<Tree>,
) -> Result<Arc<Core>> {
    static OPENINGS: AtomicU64 = AtomicU64::new(1);
    let block = superblock.get();
    let core = Arc::new(Core {
        disk,
        epoch: block.epoch,
        // Relaxed: only uniqueness matters.
        opening: OPENINGS.fetch_add(1, Ordering::Relaxed),
        superblock,
        locks: LockTable::new(options.lock.clone()),
        registry: Registry::new(),
        reserve: Reserve::open(&log)?,
        tables: Tables::default(),
        checkpoints: Checkpoints::new(block.checkpoint),
        ghosts: GhostQueue::default(),
        stranded: Mutex::new(Vec::new()),
        closed: AtomicBool::new(false),
        directory: Mutex::new(None),
        options,
        log,
        pool,
        space,
    });
    let tree = catalogue(&core);
    let tree = tree.inspect_err(|_| core.registry.close())?;
    core.tables.set_catalogue(Table::new(String::new(), tree, core.opening));
    Ok(core)
}
