//! The engine: opening (which is recovery), tables, transactions, checkpoints, closing.

use std::{sync::Arc, time::Instant};

use clearway_base::{Error, Result, TreeId};
use clearway_disk::{Disk, LOCK_FILE};
use clearway_log::Log;
use clearway_pool::DirectoryLock;
use clearway_sync::{Mutex, Process, Stay};

use crate::{
    background::Background,
    backup, catalogue,
    checkpoints::Cleaning,
    closing,
    contention::LockWaits,
    core::Core,
    diagnosis::CurrentWait,
    finish,
    kinds::{Kind, Kinds},
    opening::{self, LockedDisk},
    options::{Creation, EngineOptions},
    report::{EngineStats, Holdings, RecoveryReport, VerifyReport},
    superblock::{self, FoundDatabase, VERSION_1},
    table::Table,
    task_work::TaskJobs,
    transaction::Transaction,
    transaction_state::Transactions,
    upgrade::upgrade,
    upkeep, verify,
    wait_totals::WaitTotals,
};

/// A transactional storage engine over one database directory.
///
/// Dropping the engine closes it.
pub struct Engine {
    pub(crate) core: Arc<Core>,
    transactions: Arc<Transactions>,
    background: Mutex<Option<Background>>,
    /// The result of the close; `None` before it. Latched while the close goes on.
    outcome: Mutex<Option<Result<()>>>,
    recovery: RecoveryReport,
    /// As long as this exists, a fork of the process can open no engine.
    _stay: Stay,
}

impl Engine {
    /// Opens the database on `disk`, recovering it if it was not closed in order.
    ///
    /// # Errors
    /// [`Error::NotADatabase`], [`Error::FormatTooNew`], [`Error::AlreadyOpen`],
    /// [`Error::Corrupt`], [`Error::CorruptPage`] and [`Error::ForeignLog`] for what is on the
    /// disk; [`Error::BadOption`]; [`Error::Forked`]; [`Error::Poisoned`] after a failed write, or
    /// if an invariant was broken in this process; the errors of the disk. A failed opening loses
    /// nothing.
    pub fn open(disk: Arc<dyn Disk>, options: EngineOptions) -> Result<Arc<Engine>> {
        options.check()?;
        let stay = Process::enter().ok_or(Error::Forked)?;
        let begun = Instant::now();
        // Once without the lock: a directory of other things is refused without a trace, and so is
        // an empty one in which nothing may be created. (If the lock's file exists, another process
        // may be creating a database there just now.)
        let found = match superblock::find(&*disk) {
            // It may be in use: another process writes a backup to it, for example.
            Err(error) if disk.exists(LOCK_FILE)? => disk.lock().and(Err(error)),
            found => found,
        };
        let is_empty = matches!(found?, FoundDatabase::Nothing);
        if is_empty && options.create == Creation::Never && !disk.exists(LOCK_FILE)? {
            return Err(empty(&*disk));
        }
        let directory: DirectoryLock = Arc::from(disk.lock()?);
        let locked = LockedDisk { disk: disk.clone(), lock: directory.clone() };
        let (mut opening, mut recovery) = match superblock::find(&*disk)? {
            FoundDatabase::Database(_) if options.create == Creation::New => {
                return Err(taken(&*disk));
            }
            FoundDatabase::Database(block) if block.version == VERSION_1 => {
                upgrade(locked, options, block)?
            }
            FoundDatabase::Database(block) => opening::recover(locked, options, block)?,
            FoundDatabase::Nothing if options.create == Creation::Never => {
                return Err(empty(&*disk));
            }
            FoundDatabase::Unfinished { .. } if options.create == Creation::Never => {
                let (path, detail) = (disk.path(), "its creation was interrupted".into());
                return Err(Error::NotADatabase { path, detail });
            }
            FoundDatabase::Nothing => opening::create(locked, options, 1)?,
            FoundDatabase::Unfinished { sequence } => {
                opening::create(locked, options, sequence + 1)?
            }
        };
        opening.start_background()?;
        recovery.took = begun.elapsed();
        let (transactions, background) = opening.ready();
        let core = transactions.core.clone();
        core.directory.keep(directory);
        core.upkeep.start();
        let (background, outcome) = (Mutex::new(background), Mutex::new(None));
        let _stay = stay;
        Ok(Arc::new(Engine { core, transactions, background, outcome, recovery, _stay }))
    }

    #[cfg(test)]
    pub(crate) fn transactions(&self) -> &Arc<Transactions> {
        &self.transactions
    }

    #[cfg(test)]
    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// The report of the recovery that the opening made.
    pub fn recovery(&self) -> &RecoveryReport {
        &self.recovery
    }

    /// Begins a transaction. If that is not possible, each of its operations returns the reason:
    /// [`Error::Closed`], [`Error::Forked`], or [`Error::TooManyTransactions`] when 65,000 run at
    /// once.
    #[inline]
    pub fn begin(self: &Arc<Self>) -> Transaction {
        self.begin_as(Kind::NONE)
    }

    /// As [`begin`](Engine::begin), for a transaction of a type: its lock waits are counted under
    /// it, and errors name it.
    #[inline]
    pub fn begin_as(self: &Arc<Self>, kind: Kind) -> Transaction {
        let process = self.core.process;
        if !process.is_current() {
            return Transaction::new(process, Err(Error::Forked));
        }
        Transaction::new(process, self.transactions.begin_for_user(kind))
    }

    /// The process that opened the database, which alone may use it.
    #[inline]
    pub fn process(&self) -> Process {
        self.core.process
    }

    /// The types of transactions.
    pub fn kinds(&self) -> &Arc<Kinds> {
        &self.core.kinds
    }

    /// Lock waits by table and type, the hottest keys, the last deadlocks.
    pub fn lock_waits(&self) -> LockWaits {
        if self.core.check_process().is_err() {
            return LockWaits::default();
        }
        self.core.lock_waits()
    }

    /// Returns true if pages have been evicted from the cache, since the data did not fit.
    pub fn has_evicted(&self) -> bool {
        self.core.pool.has_evicted()
    }

    /// The waits of the transactions of a type.
    pub fn wait_totals(&self, kind: Kind) -> WaitTotals {
        if self.core.check_process().is_err() {
            return WaitTotals::default();
        }
        self.core.wait_counters.of(kind)
    }

    /// The number of jobs that wait in a queue; see [`EngineOptions::simulated_jobs`].
    pub fn task_jobs(&self, jobs: TaskJobs) -> usize {
        match self.core.task_work.queue(jobs) {
            Some(queue) => queue.count(),
            None => self.transactions.deallocations.count(),
        }
    }

    /// Runs the first job of a queue, in place of the engine's thread; see
    /// [`EngineOptions::simulated_jobs`]. Returns false if there is none.
    pub fn run_task_job(&self, jobs: TaskJobs) -> bool {
        match self.core.task_work.queue(jobs) {
            Some(queue) => queue.run_one(),
            None => finish::free_next(&self.transactions),
        }
    }

    /// The lock waits that go on at this moment, the longest first.
    pub fn waits(&self) -> Vec<CurrentWait> {
        if self.core.check_process().is_err() {
            return Vec::new();
        }
        self.core.current_waits()
    }

    /// Creates a table. It is durable when this returns.
    ///
    /// # Errors
    /// [`Error::BadTableName`], [`Error::TableExists`]; [`Error::DropUnfinished`] if a table of
    /// this name was dropped and still cannot be freed.
    pub fn create_table(&self, name: &str) -> Result<Table> {
        let _visit = self.core.visit()?;
        catalogue::create(&self.transactions, name)
    }

    /// The table of this name.
    ///
    /// # Errors
    /// [`Error::UnknownTable`].
    pub fn open_table(&self, name: &str) -> Result<Table> {
        self.core.check_process()?;
        self.core.health.check_open()?;
        let unknown = || Error::UnknownTable { name: name.into() };
        self.core.tables.by_name(name).ok_or_else(unknown)
    }

    /// Drops a table with its contents, once all transactions that use it have ended. The drop is
    /// durable when this returns; from the moment it is bound to happen, handles of the table are
    /// [`Error::UnknownTable`].
    ///
    /// # Errors
    /// [`Error::UnknownTable`]; [`Error::LockTimeout`] if its users do not end within the limit of
    /// lock waits, or within 10 s, and [`Error::Deadlock`], and then nothing has happened;
    /// [`Error::DropUnfinished`] if it is dropped but could not be freed: drop it again, or create
    /// a table of this name, to try again.
    pub fn drop_table(&self, name: &str) -> Result<()> {
        let _visit = self.core.visit()?;
        catalogue::drop(&self.transactions, name)
    }

    /// Names of all tables, in order.
    pub fn tables(&self) -> Vec<String> {
        if self.core.check_process().is_err() {
            return Vec::new();
        }
        self.core.tables.names()
    }

    /// The log, to wait for what [`Transaction::commit`] returned.
    #[inline]
    pub fn log(&self) -> &Arc<Log> {
        &self.core.log
    }

    /// Writes all dirty pages, and moves the start of recovery forward to approximately now.
    pub fn checkpoint(&self) -> Result<()> {
        let _visit = self.core.visit()?;
        finish::finish_deallocations(&self.transactions);
        self.core.checkpoints.take(Cleaning::All)
    }

    /// Moves the start of recovery forward as an engine with background threads does by itself from
    /// time to time: writes only what was dirty at the checkpoint before already.
    pub fn checkpoint_lightly(&self) -> Result<()> {
        let _visit = self.core.visit()?;
        finish::finish_deallocations(&self.transactions);
        self.core.checkpoints.take(Cleaning::Old)
    }

    /// Does the upkeep that is pending, on this thread: does the deferred deallocations; visits
    /// every leaf that was reported, once, reclaims its ghosts, merges what is sparse and adopts
    /// foster children; then walks the tables that are marked as a whole. What it cannot finish,
    /// because a ghost is locked or a visit fails, stays pending (`upkeep_leaves` and
    /// `upkeep_walks` of [`stats`](Engine::stats)). An engine with background threads does it all
    /// by itself, a little later.
    ///
    /// # Errors
    /// The first visit that failed; the others were made.
    pub fn maintain(&self) -> Result<()> {
        let _visit = self.core.visit()?;
        upkeep::visit_all(&self.transactions)
    }

    /// Copies the database, while it is in use, to the empty directory `to`. If the engine is
    /// closed meanwhile, the backup fails, and the directory stays locked until the backup has
    /// ended.
    ///
    /// None of the log is recycled until the copy ends: while it lasts, the database can write as
    /// much as the log's capacity has room for, and then fails with [`Error::LogFull`].
    ///
    /// # Errors
    /// A failed copy is not a database: opening it is refused.
    pub fn backup(&self, to: &dyn Disk) -> Result<()> {
        let _visit = self.core.visit()?;
        // The copy then has nothing of them to do, and needs less log.
        finish::finish_deallocations(&self.transactions);
        backup::copy(&self.core, to)
    }

    /// Checks all pages, trees and the space map, while they are in use.
    ///
    /// # Errors
    /// The first damage found.
    pub fn verify(&self) -> Result<VerifyReport> {
        let _visit = self.core.visit()?;
        verify::all(&self.transactions)
    }

    /// Returns the low fences of the leaves that contain ghosts and that upkeep does not know, by
    /// tree; there must be none. For tests: no transaction may run, and no background thread.
    ///
    /// # Errors
    /// `CorruptPage`, and what the disk returns.
    #[doc(hidden)]
    pub fn ghosts_unknown_to_upkeep(&self) -> Result<Vec<(TreeId, Vec<u8>)>> {
        let _visit = self.core.visit()?;
        upkeep::unreported(&self.core)
    }

    /// Counters.
    pub fn stats(&self) -> EngineStats {
        let core = &self.core;
        if core.check_process().is_err() {
            return EngineStats::default();
        }
        let (commits, read_only_commits, rollbacks) = core.transactions.totals();
        let end = core.log.end().0;
        let (leaves, walks) = core.upkeep.pending();
        let block = core.superblock.get();
        EngineStats {
            database: block.identity.database,
            commits,
            read_only_commits,
            rollbacks,
            active: core.transactions.active(),
            checkpoints: core.checkpoints.count(),
            maintenance_passes: core.upkeep.visits(),
            upkeep_leaves: leaves,
            upkeep_walks: walks,
            drops_unfinished: core.tables.unfinished().len() as u64,
            redo_bytes: end.saturating_sub(block.redo.0),
            log: core.log.stats(),
            lock: core.locks.stats(),
            pool: core.pool.stats(),
        }
    }

    /// The resources that are held now. Visits every lock and every page in memory.
    pub fn holdings(&self) -> Holdings {
        let core = &self.core;
        if core.check_process().is_err() {
            return Holdings::default();
        }
        Holdings {
            transactions: core.transactions.active(),
            locks: !core.locks.is_quiescent(),
            pages: core.pool.held_pages(),
            waiters: core.log.stats().waiting,
            log_reserved_bytes: core
                .log
                .reserved_bytes()
                .saturating_sub(core.log_space.engine_reserve().held()),
        }
    }

    /// Checks that the engine takes work.
    ///
    /// # Errors
    /// [`Error::Poisoned`] after a write, a sync or an undo has failed, or an invariant was broken;
    /// [`Error::Closed`] after a close; [`Error::Forked`] in a fork of the process that opened the
    /// database.
    pub fn health(&self) -> Result<()> {
        self.core.check_process()?;
        self.core.health.check_open()?;
        self.core.pool.health()
    }

    /// Notes that the engine will be closed, before a wait for transactions that come first: from
    /// now on, no thread waits for the write of a page without a limit
    /// ([`Pool::begin_close`](clearway_pool::Pool::begin_close)).
    ///
    /// # Errors
    /// [`Error::Forked`].
    pub fn begin_close(&self) -> Result<()> {
        self.core.check_process()?;
        self.core.pool.begin_close();
        Ok(())
    }

    /// Closes the database: what was committed is durable, and the next opening has nothing to
    /// redo. It undoes the transactions that are still active at the close. Every further call
    /// returns [`Error::Closed`]. The directory stays locked until these transactions, and all
    /// running calls of `backup`, `verify`, `checkpoint`, `maintain`, `create_table` and
    /// `drop_table`, have ended, and until no page is being written any more.
    ///
    /// A second close waits for the first, and returns the same result.
    ///
    /// # Errors
    /// What kept it from closing in order; it is closed all the same, and recovery does the rest.
    pub fn close(&self) -> Result<()> {
        self.core.check_process()?;
        let mut outcome = self.outcome.lock();
        let close = || closing::close(&self.transactions, self.background.lock().take());
        outcome.get_or_insert_with(close).clone()
    }
}

impl Engine {
    /// Waits until nothing that began before the [`close`](Engine::close) runs any more, and the
    /// directory can be opened again, but no longer than until `deadline`.
    ///
    /// # Errors
    /// [`Error::StillInUse`].
    pub fn wait_for_users(&self, deadline: Instant) -> Result<()> {
        self.core.directory.wait_for_users(deadline)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if self.core.check_process().is_err() {
            // The parent's database goes on: nothing of it is closed, written or waited for, and
            // the threads do not exist here. What the child has inherited stays in its memory.
            std::mem::forget((self.transactions.clone(), self.background.get_mut().take()));
            return;
        }
        // There is no caller to report an error to; recovery does what was not done here.
        let _ = self.close();
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("path", &self.core.disk.path()).finish_non_exhaustive()
    }
}

fn empty(disk: &dyn Disk) -> Error {
    Error::NotADatabase { path: disk.path(), detail: "it is empty".into() }
}

fn taken(disk: &dyn Disk) -> Error {
    let source = std::io::Error::new(std::io::ErrorKind::AlreadyExists, "it is a database");
    Error::io("create a database in", disk.path(), source)
}
