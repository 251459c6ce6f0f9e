//! The handle of an open database.

use std::{
    fmt,
    path::Path,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use clearway_base::{Error, Result};
use clearway_disk::{Disk, OsDisk};
use clearway_sync::{
    Process,
    plain::{AtomicU64, Ordering},
};
use clearway_txn::{Creation, CurrentWait, Engine, Kind, LockWaits, RecoveryReport, VerifyReport};

use crate::{
    AsyncTransaction, LentTransaction, Options, Pending, Pipeline, PipelineOptions, Staging, Stats,
    Table, Ticket, Transaction, TypeStats, TypeTimings, async_runner,
    inner::Inner,
    options::{Storage, with_public_name},
    runner,
    staging::StagingPolicies,
    statistics::Statistics,
};

/// An open database: cheap to clone, usable from every thread.
///
/// [`close`](Database::close) closes the database, and so does dropping the last handle. A
/// [`Pipeline`](crate::Pipeline) of the database counts as a handle. In the default commit mode, a
/// process that ends without closing a database loses no acknowledged transaction: the next opening
/// recovers the database.
///
/// # After a fork
/// A database belongs to the process that opened it. In a child made by `fork` (also a daemon that
/// forks itself after opening), no call on an inherited handle, or on a [`Transaction`],
/// [`AsyncTransaction`], [`Cursor`](crate::Cursor), [`Pending`], [`Pipeline`](crate::Pipeline) or
/// [`Ticket`](crate::Ticket) of that handle, uses the engine. A call that would use it returns
/// [`Error::Forked`] at once. (Most lists of errors in this documentation leave this error out.) If
/// a call that would use the engine returns no `Result`, it does nothing or returns an empty value,
/// with two exceptions: `is_ready` and `wait_until` return true, and the operations of a
/// transaction that is begun in the child fail with this error. Dropping such values in the child
/// closes nothing, writes nothing and does not wait. The parent's database is unaffected.
///
/// The child cannot open another database either, unless it calls `exec` first. A child can open
/// databases without `exec` if it was forked when its parent had no database open and had dropped
/// all handles of those that it had closed.
///
/// The child inherits the lock on the directory, because a lock of `flock` belongs to the open file
/// and not to a process. A child that calls `exec` releases its copy at once: all descriptors are
/// close-on-exec. As long as a child that was forked while the database was open lives without
/// `exec`, the directory stays locked, even after the parent has closed the database or has ended.
/// Opening the database then fails with [`Error::AlreadyOpen`].
#[derive(Clone)]
pub struct Database {
    pub(crate) inner: Arc<Inner>,
    /// The pipeline that [`spawn`](Database::spawn) uses, which its first call starts. A pipeline
    /// holds `inner`, so `inner` must not hold the pipeline.
    default_pipeline: Arc<OnceLock<Pipeline>>,
}

/// Upper bound on the time for which [`close`](Database::close), once it has closed the engine,
/// waits for transactions and calls that are still running.
const CLOSE_WAIT: Duration = Duration::from_secs(1);

impl Database {
    /// Opens the database in the directory `path` with default [`Options`], creating it if there is
    /// none.
    ///
    /// # Errors
    /// The errors of [`Options::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Database> {
        Options::new().open(path)
    }

    pub(crate) fn start(
        disk: Arc<dyn Disk>,
        directory: Option<Arc<OsDisk>>,
        options: Options,
    ) -> Result<Database> {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        let path = disk.path();
        let (attempts, mode) = (options.attempts, options.mode);
        let staging = StagingPolicies::new(options.staging, options.time_one_in);
        let engine = Engine::open(disk, options.engine)?;
        // Relaxed: only uniqueness matters.
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let statistics =
            Statistics::new(id, engine.log(), engine.kinds(), mode, options.time_one_in);
        let inner = Arc::new(Inner { engine, statistics, staging, attempts, path, directory });
        Ok(Database { inner, default_pipeline: Arc::default() })
    }

    /// Returns the table `name`, and creates it if there is none.
    ///
    /// # Errors
    /// [`Error::BadTableName`] if the name is empty or longer than
    /// [`TABLE_NAME_LEN_MAX`](crate::TABLE_NAME_LEN_MAX) bytes; [`Error::DropUnfinished`] and the
    /// other errors of [`create_table`](Database::create_table) except [`Error::TableExists`].
    pub fn table(&self, name: &str) -> Result<Table> {
        // Two threads may race to create the table; the one that fails opens it. If the table is
        // dropped in between, start over.
        loop {
            match self.open_table(name) {
                Err(Error::UnknownTable { .. }) => {}
                result => return result,
            }
            match self.create_table(name) {
                Err(Error::TableExists { .. }) => {}
                result => return result,
            }
        }
    }

    /// Returns the table `name`.
    ///
    /// # Errors
    /// [`Error::UnknownTable`] if there is none; [`Error::Closed`], [`Error::Poisoned`].
    pub fn open_table(&self, name: &str) -> Result<Table> {
        Ok(Table::new(self.inner.engine.open_table(name)?))
    }

    /// Creates the table `name`. The table is durable when the call returns.
    ///
    /// # Errors
    /// - [`Error::TableExists`], [`Error::BadTableName`];
    /// - [`Error::DropUnfinished`] if a table of this name was dropped and its pages still cannot
    ///   be freed;
    /// - [`Error::LogFull`] and [`Error::DiskFull`] if there is no room for the table,
    ///   [`Error::NoFileDescriptor`], [`Error::TooManyTransactions`];
    /// - [`Error::OutcomeUnknown`] if the log failed before the table was durable;
    /// - [`Error::Io`], [`Error::Corrupt`], [`Error::CorruptPage`] and [`Error::ReadTimeout`] for a
    ///   page that cannot be read; [`Error::BadOption`] if the cache is too small for the pages
    ///   that are in use at once, or if the database would grow beyond its largest size;
    /// - [`Error::Closed`], [`Error::Poisoned`].
    pub fn create_table(&self, name: &str) -> Result<Table> {
        Ok(Table::new(self.inner.engine.create_table(name)?))
    }

    /// Returns the names of all tables, in order.
    pub fn tables(&self) -> Vec<String> {
        self.inner.engine.tables()
    }

    /// Removes the table `name` and everything in it, after waiting until all transactions that
    /// have used it have ended. This wait is limited by [`Options::lock_wait_limit`] and by 10 s,
    /// since one of the transactions may belong to the calling thread. The removal is durable when
    /// the call returns. From then on, using a handle of the table fails with
    /// [`Error::UnknownTable`].
    ///
    /// # Errors
    /// - [`Error::UnknownTable`] if there is none;
    /// - [`Error::LockTimeout`] if transactions that have used the table did not end in time,
    ///   [`Error::Deadlock`] if one of them waits for this call, [`Error::SelfWait`] if the calling
    ///   thread would wait for itself (see [deadlocks](crate#deadlocks)); after these three the
    ///   table is unchanged;
    /// - [`Error::OutcomeUnknown`] if the log failed before the removal was durable;
    /// - [`Error::DropUnfinished`] if the table is dropped, but its pages could not be freed; the
    ///   next drop or creation of a table of this name, and the next opening of the database, try
    ///   again;
    /// - those of [`create_table`](Database::create_table) except [`Error::TableExists`] and
    ///   [`Error::BadTableName`].
    pub fn drop_table(&self, name: &str) -> Result<()> {
        self.inner.engine.drop_table(name)
    }

    /// Runs `body` as a transaction of type `name`, commits the transaction, and returns the value
    /// of `body` once the transaction and everything that it has read are durable (under
    /// [`CommitMode::Lazy`](crate::CommitMode::Lazy), at once).
    ///
    /// `body` may run **more than once**: a transaction that is the victim of a deadlock is rolled
    /// back and, after a short random pause, run again, even if `body` hides the error. `body`
    /// should therefore have no effects other than through the transaction. If `body` returns an
    /// error, the transaction is rolled back and the error is returned. If it panics, the
    /// transaction is rolled back, its locks are released, and the panic is returned as
    /// [`Error::Panicked`]; the database remains usable.
    ///
    /// If a lock wait exceeds its [limit](Options::lock_wait_limit), `body` is not run again:
    /// [`Error::LockTimeout`] is returned like any other error, since a retry would multiply the
    /// limit.
    ///
    /// Returning an error, including [`Error::Panicked`], can take as long as a commit. The error
    /// may reveal what `body` has read ("the key is there"), and that may come from a commit that
    /// is not durable yet. Therefore, in the default commit mode, an error of `body` is returned
    /// only when everything that any attempt has read is durable. If the database is closed or has
    /// stopped, [`Error::Closed`] or [`Error::Poisoned`] is returned at once instead.
    ///
    /// `body` should use the transaction that it is given. A second transaction that it begins, or
    /// runs with another call of this method, is independent of the first. If the second needs a
    /// lock that the first holds, it fails with [`Error::SelfWait`]; in some cases, which
    /// [deadlocks](crate#deadlocks) lists, it waits instead.
    ///
    /// If transactions wait for each other's page reads, and the data do not fit in the cache,
    /// `body` may also run in a *fetch stage*, without locks, to read its pages in, and the result
    /// of that run is dropped: see [`Staging`], which also says what such a run may see.
    ///
    /// `name` groups transactions for statistics; use one name for each kind of transaction.
    /// [`try_transact`](Database::try_transact) is for closures with errors of their own type.
    ///
    /// ```
    /// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
    /// let words = db.table("words")?;
    /// let known = db.transact("learn", |tx| tx.replace(&words, b"lock", b"logical"))?;
    /// assert_eq!(known, None);
    /// # Ok::<(), clearway::Error>(())
    /// ```
    ///
    /// # Errors
    /// - the error that `body` returns;
    /// - [`Error::Deadlock`] if the transaction was a deadlock's victim in each of its attempts
    ///   (see [`Options::attempts`]);
    /// - [`Error::Panicked`];
    /// - the error of a scan that `body` did not handle (see [`Scan`](crate::Scan));
    /// - [`Error::OutcomeUnknown`] if the log failed after the commit was requested;
    /// - [`Error::TooManyTransactions`], [`Error::Closed`], [`Error::Poisoned`].
    pub fn transact<T>(
        &self,
        name: &'static str,
        body: impl FnMut(&mut Transaction) -> Result<T>,
    ) -> Result<T> {
        runner::run(&self.inner, name, body)?.wait()
    }

    /// Reads one value in a transaction of its own, of type `get`. Returns `None` if the key is
    /// absent. (Several reads belong in one transaction, which sees one state of the database.)
    ///
    /// ```
    /// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
    /// let words = db.table("words")?;
    /// assert_eq!(db.get(&words, "lock")?, None);
    /// # Ok::<(), clearway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`transact`](Database::transact) and of [`Transaction::get`].
    pub fn get(&self, table: &Table, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        let key = key.as_ref();
        self.transact("get", |tx| tx.get(table, key))
    }

    /// Runs `body` like [`transact`](Database::transact), but returns without waiting for the log.
    /// The locks are released by then. The value of `body` is in the [`Pending`], which withholds
    /// it until [`transact`](Database::transact) would return it. Meanwhile the thread can run
    /// other transactions, so a few threads can keep many commits in flight.
    ///
    /// The call blocks the thread while `body` waits for a lock, for a page from the disk or for
    /// log space, and between its attempts. [`submit_async`](Database::submit_async) does not.
    ///
    /// Transactions that one thread submits take effect in the order of the calls. Dropping the
    /// [`Pending`] does not undo the transaction.
    ///
    /// ```
    /// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
    /// let events = db.table("events")?;
    /// let pending: Vec<_> = (0u64..100)
    ///     .map(|n| db.submit("event", |tx| tx.insert(&events, &n.to_be_bytes(), b"")))
    ///     .collect::<Result<_, _>>()?;
    /// for result in pending {
    ///     result.wait()?;
    /// }
    /// # Ok::<(), clearway::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`transact`](Database::transact), except that the [`Pending`] reports two kinds of
    /// errors instead of this call:
    /// - a failure of the log after the commit record was inserted, or while an error is withheld
    ///   because what the closure has read is not durable yet;
    /// - an error of the closure, including the [`Error::Deadlock`] of the last attempt and a
    ///   panic, if the closure has read something that is not durable yet, since the error may
    ///   reveal it. Such a `Pending` becomes ready when that is durable.
    pub fn submit<T>(
        &self,
        name: &'static str,
        body: impl FnMut(&mut Transaction) -> Result<T>,
    ) -> Result<Pending<T>> {
        let pending = runner::run(&self.inner, name, body)?;
        pending.request_flush();
        Ok(pending)
    }

    /// Runs `body` like [`transact`](Database::transact), as a future: while the transaction waits
    /// for a lock, for a page, for log space or for the log's flush, the task is suspended, and its
    /// thread is not blocked (see [waiting and async](crate#waiting-and-async)). Needs no
    /// particular executor.
    ///
    /// The closure receives the transaction as a value, a [`LentTransaction`], and gives it back by
    /// dropping it, at its end at the latest. If the future is dropped, the transaction is rolled
    /// back, unless its commit was requested already; see
    /// [`AsyncTransaction`](crate::AsyncTransaction#cancellation).
    ///
    /// ```
    /// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let stock = db.table("stock")?;
    /// let left = db
    ///     .transact_async("take", async |mut tx| {
    ///         let left = tx.get_for_update(&stock, "bolt").await?.map_or(7, |left| left[0]);
    ///         tx.put(&stock, "bolt", [left - 1]).await?;
    ///         Ok(left - 1)
    ///     })
    ///     .await?;
    /// assert_eq!(left, 6);
    /// # Ok::<(), clearway::Error>(())
    /// # })?;
    /// # Ok::<(), clearway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of `transact`; [`Error::TransactionEnded`] if the closure has kept the transaction.
    pub async fn transact_async<T, B, F>(&self, name: &'static str, body: B) -> Result<T>
    where
        B: FnMut(LentTransaction) -> F,
        F: Future<Output = Result<T>>,
    {
        self.submit_async(name, body).await?.await
    }

    /// Runs `body` like [`transact_async`](Database::transact_async), but returns without waiting
    /// for the log, like [`submit`](Database::submit). The [`Pending`] withholds the value in the
    /// same way.
    ///
    /// # Errors
    /// Those of `submit`; [`Error::TransactionEnded`] if the closure has kept the transaction.
    pub async fn submit_async<T, B, F>(&self, name: &'static str, body: B) -> Result<Pending<T>>
    where
        B: FnMut(LentTransaction) -> F,
        F: Future<Output = Result<T>>,
    {
        let pending = async_runner::run(&self.inner, name, body).await?;
        pending.request_flush();
        Ok(pending)
    }

    /// Gives the asynchronous transaction `body` of type `name` to a thread of the database, and
    /// returns a ticket with which a thread or a task can wait for its result. The call works like
    /// [`Pipeline::submit_async`] on a pipeline with the default options. The first call starts
    /// that pipeline.
    ///
    /// ```
    /// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
    /// let events = db.table("events")?;
    /// let log = db.spawn("log", async move |mut tx| tx.put(&events, "now", "it happened").await)?;
    /// log.wait()?; // or log.await
    /// # Ok::<(), clearway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Pipeline::submit_async`]; [`Error::Io`] if a thread cannot be started. After
    /// [`close`](Database::close), this call or the ticket reports [`Error::Closed`].
    pub fn spawn<T, B>(&self, name: &'static str, body: B) -> Result<Ticket<T>>
    where
        T: Send + 'static,
        B: AsyncFnMut(LentTransaction) -> Result<T> + Send + 'static,
    {
        self.default_pipeline()?.submit_async(name, body)
    }

    /// Returns the default pipeline, which the first call starts.
    pub(crate) fn default_pipeline(&self) -> Result<&Pipeline> {
        if let Some(pipeline) = self.default_pipeline.get() {
            return Ok(pipeline);
        }
        let pipeline = PipelineOptions::new().start(self)?;
        // Of two threads that start one, the second ends its own again.
        Ok(self.default_pipeline.get_or_init(|| pipeline))
    }

    /// Begins a transaction of type `name` whose operations are futures. If the transaction cannot
    /// begin, its operations report the reason, like those of [`begin`](Database::begin).
    pub fn begin_async(&self, name: &'static str) -> AsyncTransaction {
        let is_own = self.inner.check_process().is_ok();
        let kind = if is_own { self.inner.statistics.kind(name) } else { Kind::NONE };
        AsyncTransaction::begin(&self.inner, kind)
    }

    /// Waits until every transaction that was committed before this call is durable. Under
    /// [`CommitMode::Lazy`](crate::CommitMode::Lazy) a crash can then no longer lose these commits.
    /// In the default mode, a caller that waits for its results does not need this call.
    ///
    /// # Errors
    /// [`Error::OutcomeUnknown`] if the log failed before that: the last transactions may be lost.
    pub fn sync(&self) -> Result<()> {
        self.inner.check_process()?;
        let log = self.inner.engine.log();
        log.force(log.end())
    }

    /// Begins a transaction that the caller ends: with [`commit`](Transaction::commit),
    /// [`commit_pipelined`](Transaction::commit_pipelined) or [`rollback`](Transaction::rollback).
    /// Dropping it rolls it back. If it is a deadlock's victim, the caller has to run it again: see
    /// [`Error::is_retryable`].
    ///
    /// If the transaction cannot begin, its operations report the reason: [`Error::Closed`], or
    /// [`Error::TooManyTransactions`] if 65,000 transactions run already.
    pub fn begin(&self) -> Transaction {
        Transaction::begin(&self.inner, Kind::NONE)
    }

    /// Begins a transaction of type `name` like [`begin`](Database::begin). Statistics count it
    /// under the type, and errors and reports name it, as for [`transact`](Database::transact).
    pub fn begin_as(&self, name: &'static str) -> Transaction {
        let is_own = self.inner.check_process().is_ok();
        let kind = if is_own { self.inner.statistics.kind(name) } else { Kind::NONE };
        Transaction::begin(&self.inner, kind)
    }

    /// Sets the execution of transactions of type `name` that are run as closures, for those that
    /// begin from now on. `None`: that of [`Options::staging`]. The types after the 63rd share one.
    ///
    /// ```
    /// use clearway::{Stage, Staging};
    /// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
    /// let stock = db.table("stock")?;
    /// db.set_staging("order", Some(Staging::TwoStage));
    /// let mut stages = Vec::new();
    /// db.transact("order", |tx| {
    ///     stages.push(tx.stage());
    ///     tx.put(&stock, "bolt", b"7")
    /// })?;
    /// assert_eq!(stages, [Stage::Fetch, Stage::Operate]);
    /// # Ok::<(), clearway::Error>(())
    /// ```
    pub fn set_staging(&self, name: &'static str, policy: Option<Staging>) {
        if self.inner.check_process().is_ok() {
            self.inner.staging.set(self.inner.statistics.kind(name), policy);
        }
    }

    /// Returns the counters of the engine, and of each type of transaction, since the database was
    /// opened.
    pub fn stats(&self) -> Stats {
        Stats {
            engine: self.inner.engine.stats(),
            types: self.type_stats(),
            lock_waits: self.lock_waits(),
            timings: self.timings(),
        }
    }

    /// Returns the lock waits since the database was opened, by table and by type of transaction,
    /// with the keys that were waited for most often and the last deadlocks. All of this is kept in
    /// memory only.
    ///
    /// A lock that is granted at once is not counted. The waits of a transaction are counted when
    /// it has ended, and before that whenever 64 have accumulated.
    ///
    /// ```
    /// use std::time::Duration;
    /// use clearway::LockWait;
    /// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
    /// let stock = db.table("stock")?;
    /// let (mut buyer, mut clerk) = (db.begin_as("buy"), db.begin_as("count"));
    /// buyer.put(&stock, b"bolt", b"6")?;
    /// let limit = LockWait::For(Duration::from_millis(5));
    /// let late = clerk.get_for_update_with(&stock, b"bolt", limit);
    /// let message = late.unwrap_err().to_string();
    /// let lock = r#"exclusive (XN) on key "bolt" of table "stock", held by "buy""#;
    /// assert!(message.contains(lock));
    /// drop(clerk);
    ///
    /// let waits = db.lock_waits();
    /// assert_eq!(waits.tables[0].name, "stock");
    /// assert_eq!(waits.types[0].name, "count");
    /// assert!(waits.tables[0].counts.wait_us_max >= 5_000);
    /// assert_eq!(waits.hot_keys[0].key.to_string(), "\"bolt\"");
    /// # Ok::<(), clearway::Error>(())
    /// ```
    pub fn lock_waits(&self) -> LockWaits {
        self.inner.engine.lock_waits()
    }

    /// Returns the lock waits that go on at this moment, the longest first: for each, the waiting
    /// transaction, the lock, the mode, the time since the wait began, and transactions that block
    /// it, with their ages as far as these are known. Waits of threads and of tasks are listed
    /// alike, for keys as well as for whole tables and the database. A call that locks a table
    /// itself, such as [`drop_table`](Database::drop_table) or [`verify`](Database::verify), is
    /// listed as a transaction without a type.
    ///
    /// Transactions go on during the call, so the list is not a snapshot of one moment. Each of its
    /// waits went on while it was described. Some may have ended by the time that the call returns,
    /// and others may have begun. A transaction that is listed as blocking held its lock, or stood
    /// in the queue, at some time during the call.
    ///
    /// ```
    /// use std::{thread, time::Duration};
    /// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
    /// let stock = db.table("stock")?;
    /// let mut buyer = db.begin_as("buy");
    /// buyer.put(&stock, b"bolt", b"6")?;
    /// thread::scope(|scope| {
    ///     let clerk = scope.spawn(|| db.transact("count", |tx| tx.get(&stock, b"bolt")));
    ///     let waits = loop {
    ///         match db.waits() {
    ///             none if none.is_empty() => thread::sleep(Duration::from_millis(1)),
    ///             some => break some,
    ///         }
    ///     };
    ///     assert_eq!((waits[0].txn.kind, waits[0].wanted), ("count", "SN"));
    ///     assert_eq!(waits[0].lock.to_string(), "key \"bolt\" of table \"stock\"");
    ///     assert_eq!((waits[0].blockers[0].txn.kind, waits[0].blockers[0].mode), ("buy", "XN"));
    ///     buyer.commit()?;
    ///     clerk.join().unwrap()
    /// })?;
    /// assert!(db.waits().is_empty());
    /// # Ok::<(), clearway::Error>(())
    /// ```
    pub fn waits(&self) -> Vec<CurrentWait> {
        self.inner.engine.waits()
    }

    /// Returns, for each type of transaction, how long transactions ran until their commits had
    /// released their locks, and how long their results then waited for the log, since the database
    /// was opened. One transaction in 16 is timed, or the share set with [`Options::time_one_in`].
    /// A transaction that did not commit, or whose result was not retrieved, is not counted.
    ///
    /// ```
    /// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
    /// let words = db.table("words")?;
    /// for n in 0..100u8 {
    ///     db.transact("learn", |tx| tx.put(&words, [n], b""))?;
    /// }
    /// let timings = db.timings();
    /// let learn = timings.iter().find(|timings| timings.name == "learn").unwrap();
    /// assert!(learn.lock_hold.quantile(0.5) <= learn.latency.quantile(0.5));
    /// # Ok::<(), clearway::Error>(())
    /// ```
    pub fn timings(&self) -> Vec<TypeTimings> {
        let is_own = self.inner.check_process().is_ok();
        if is_own { self.inner.statistics.timings() } else { Vec::new() }
    }

    /// Returns the counters of each type of transaction since the database was opened, by name.
    pub fn type_stats(&self) -> Vec<TypeStats> {
        let is_own = self.inner.check_process().is_ok();
        let Inner { statistics, staging, engine, .. } = &*self.inner;
        if is_own { statistics.types(staging, engine) } else { Vec::new() }
    }

    /// Returns the report of the recovery at opening.
    pub fn recovery(&self) -> &RecoveryReport {
        self.inner.engine.recovery()
    }

    /// Takes a checkpoint now: writes all pages that have changed. Recovery after a crash then
    /// starts approximately here, and earlier log is recycled unless an open transaction or a
    /// backup needs it. Checkpoints are also taken automatically: when enough log was written
    /// ([`Options::checkpoint_every`]), and when the log is short of space.
    ///
    /// # Errors
    /// [`Error::DiskFull`] if a file could not grow, [`Error::NoFileDescriptor`] if one could not
    /// be opened, [`Error::LogFull`] if the log has no room for the checkpoint's own records: the
    /// call may be repeated. [`Error::Poisoned`] if the engine had stopped, or if another failure
    /// of the checkpoint has stopped it; [`Error::Closed`].
    pub fn checkpoint(&self) -> Result<()> {
        self.inner.engine.checkpoint()
    }

    /// Copies the database, while it is in use, to the directory `to`, which must be absent or
    /// empty. The copy opens as a database. It holds every transaction that was acknowledged before
    /// the call, and maybe later ones.
    ///
    /// No log is recycled until the copy ends. What is written meanwhile must fit in the [log's
    /// capacity](Options::log_capacity), or writers fail with [`Error::LogFull`].
    ///
    /// # Errors
    /// - [`Error::BackupIntoItself`] if `to` is the database's own directory or lies below it,
    ///   under any name;
    /// - [`Error::Io`] with [`AlreadyExists`](std::io::ErrorKind::AlreadyExists) if `to` is not
    ///   empty, even if it only contains an empty directory;
    /// - [`Error::AlreadyOpen`] if another backup to `to` begins at the same time;
    /// - [`Error::NotADatabase`] if `to` is a file;
    /// - [`Error::DiskFull`], [`Error::NoFileDescriptor`], [`Error::Io`], and
    ///   [`Error::CorruptPage`] or [`Error::Corrupt`] for a page that cannot be read whole;
    /// - [`Error::Closed`], [`Error::Poisoned`].
    ///
    /// After an error, `to` may hold an incomplete copy. It is not accepted as a database: remove
    /// it.
    pub fn backup(&self, to: impl AsRef<Path>) -> Result<()> {
        self.inner.check_process()?;
        if let Some(directory) = &self.inner.directory
            && directory.contains(to.as_ref())?
        {
            return Err(Error::BackupIntoItself { path: to.as_ref().into() });
        }
        let target = OsDisk::open_dir(to.as_ref(), true)?;
        if let Some(name) = target.any_entry()? {
            let taken = std::io::Error::new(
                std::io::ErrorKind::AlreadyExists,
                format!("the directory is not empty (it holds {name})"),
            );
            return Err(Error::io("back up to", to.as_ref(), taken));
        }
        self.inner.engine.backup(&target)
    }

    /// Checks every table, the catalogue of tables, and the map of the pages that are in use, while
    /// the database is in use. Each page that a table uses is checked; a page that is in the cache
    /// is checked there, and not on disk.
    ///
    /// The call waits for transactions that hold an exclusive lock on a whole table or on the
    /// database. If such a transaction waits for the call in turn (because it locks the database
    /// after a table), that is a deadlock: the transaction, or the call, fails with
    /// [`Error::Deadlock`]. If a closure whose transaction holds such a lock makes the call, the
    /// call fails with [`Error::SelfWait`].
    ///
    /// # Errors
    /// The first damage found: [`Error::Corrupt`] or [`Error::CorruptPage`]. [`Error::Io`] and
    /// [`Error::ReadTimeout`] for a page that cannot be read; [`Error::DiskFull`] and
    /// [`Error::BadOption`] if no room can be made for it in the cache; [`Error::LockTimeout`] if a
    /// lock on a whole table or on the database is held for longer than
    /// [`Options::lock_wait_limit`]; [`Error::TooManyTransactions`], [`Error::Closed`],
    /// [`Error::Poisoned`].
    pub fn verify(&self) -> Result<VerifyReport> {
        self.inner.engine.verify()
    }

    /// Reports whether the database accepts work.
    ///
    /// # Errors
    /// [`Error::Poisoned`] if the engine has stopped after a failure; [`Error::Closed`] after a
    /// close; [`Error::Forked`] in a child of the process that opened it.
    pub fn health(&self) -> Result<()> {
        self.inner.engine.health()
    }

    /// Closes the database cleanly: the next opening has nothing to recover, except that it undoes
    /// the transactions that were still open.
    ///
    /// Transactions that were given to [`spawn`](Database::spawn) before the call are run first,
    /// and rollbacks of [asynchronous transactions](AsyncTransaction#cancellation) that were
    /// dropped before are completed, without a time limit. Then no transaction begins or commits
    /// any more, and operations fail with [`Error::Closed`]. A closure that was given to `spawn`
    /// must not call this method.
    ///
    /// Before this call, end all transactions and close all [pipelines](Pipeline::close).
    /// Transactions that are still open do not take effect, and the next opening undoes them. The
    /// directory stays locked until they have been ended or dropped, and until all running calls of
    /// [`backup`](Database::backup), [`verify`](Database::verify),
    /// [`checkpoint`](Database::checkpoint), [`create_table`](Database::create_table) and
    /// [`drop_table`](Database::drop_table) have ended. This call waits up to a second for that. A
    /// commit that was requested before is made durable, and its [`Pending`] remains valid.
    ///
    /// A second call waits for the first one and returns the same result, with one exception: after
    /// [`Error::StillInUse`] it waits again, and returns `Ok` if the remaining transactions and
    /// calls end in time. Dropping the last handle closes in the same way, but does not wait for
    /// them.
    ///
    /// From the start of the call on, a read or write of a page that the disk does not complete is
    /// waited for no longer than 30 s. (So is one for a transaction that is run first. When the
    /// last handle is dropped, such writes are waited for without a limit until these transactions
    /// have ended.) Other calls of the operating system are not limited, since a thread cannot
    /// leave them: the writes and syncs of the log and the superblock, the syncs of the data file,
    /// the writes of the copies that protect pages from being torn, and reads that a thread does
    /// itself.
    ///
    /// # Errors
    /// The database is closed in any case and, in the default commit mode, nothing acknowledged is
    /// lost:
    /// - [`Error::StillInUse`] if transactions, or some of these calls, have not ended after a
    ///   second. The database was closed cleanly; a new opening is refused until they have ended;
    /// - [`Error::ReadTimeout`] if the disk has not completed a read within 30 s;
    /// - [`Error::WriteTimeout`] if the disk has not completed the write of a page within 30 s. The
    ///   next opening recovers. It is refused until the write has ended, or the process;
    /// - the error that prevented a clean close, [`Error::Poisoned`], [`Error::Io`],
    ///   [`Error::DiskFull`], [`Error::NoFileDescriptor`] or [`Error::LogFull`]: the next opening
    ///   recovers.
    pub fn close(&self) -> Result<()> {
        self.inner.engine.begin_close()?;
        if let Some(pipeline) = self.default_pipeline.get() {
            pipeline.end();
        }
        self.inner.engine.close()?;
        self.inner.engine.wait_for_users(Instant::now() + CLOSE_WAIT)
    }

    /// Returns the path of the database's directory; `:memory:` for a database in memory.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("path", &self.inner.path).finish_non_exhaustive()
    }
}

impl Options {
    /// Opens the database in the directory `path`. Creates it if there is none and
    /// [`create`](Options::create) allows that. A database that was not closed is recovered first.
    ///
    /// # Errors
    /// - [`Error::NotADatabase`] for a directory with other files, for an incomplete backup, and if
    ///   there is no database and none may be created; the opening leaves nothing in such a
    ///   directory;
    /// - [`Error::FormatTooNew`];
    /// - [`Error::AlreadyOpen`];
    /// - [`Error::Corrupt`] and [`Error::CorruptPage`] for damage;
    /// - [`Error::ForeignLog`] for a log that belongs to other data;
    /// - [`Error::BadOption`];
    /// - [`Error::Io`] (with [`AlreadyExists`](std::io::ErrorKind::AlreadyExists) for a database
    ///   where a new one was to be created), [`Error::ReadTimeout`], [`Error::DiskFull`],
    ///   [`Error::NoFileDescriptor`];
    /// - [`Error::Poisoned`] after a failed write, or if an invariant was broken in this process;
    /// - [`Error::Forked`] in the child of a process that had a database open.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Database> {
        if Process::is_ruined() {
            return Err(Error::Forked);
        }
        let (disk, directory) = match &self.storage {
            Storage::Given(disk) => (Arc::clone(disk), None),
            Storage::Directory => {
                let create = self.engine.create != Creation::Never;
                let directory = Arc::new(OsDisk::open_dir(path.as_ref(), create)?);
                (Arc::clone(&directory) as Arc<dyn Disk>, Some(directory))
            }
        };
        Database::start(disk, directory, self).map_err(with_public_name)
    }
}

impl PipelineOptions {
    /// Starts a pipeline of the database, with its agents.
    ///
    /// # Errors
    /// [`Error::BadOption`]; [`Error::Io`] if a thread cannot be started.
    pub fn start(self, database: &Database) -> Result<Pipeline> {
        self.start_for(&database.inner)
    }
}
