//! The transaction of the public interface.

use std::sync::Arc;

use clearway_base::{Error, Lsn, Result};
use clearway_lock::{AbsoluteMode, WaitLimit};
use clearway_sync::step;
use clearway_txn::{Committed, Fetched, Kind, RetryContext, Savepoint};

use crate::{
    CommitMode, LockWait, Pending, Stage, Table,
    inner::Inner,
    statistics::{Count, Shard, Uncounted},
    timings::{Began, Timings},
};

/// A transaction: serializable, by two-phase locking of keys and of the gaps between them. Passed
/// to the closures of [`transact`](crate::Database::transact) and
/// [`submit`](crate::Database::submit), or begun with [`begin`](crate::Database::begin).
///
/// An operation that fails has changed no data and leaves the transaction open; locks that it took
/// may stay. There are two exceptions. After [`Error::Deadlock`] the transaction has been rolled
/// back, and every further operation fails with [`Error::TransactionEnded`]. If an undo fails, in a
/// rollback to a savepoint or in that of a deadlock's victim, the engine stops with
/// [`Error::Poisoned`].
///
/// ```
/// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
/// let stock = db.table("stock")?;
/// let mut tx = db.begin();
/// tx.insert(&stock, b"bolt", b"7")?;
/// let before = tx.savepoint()?;
/// tx.update(&stock, b"bolt", b"6")?;
/// tx.rollback_to(&before)?;
/// assert_eq!(tx.get(&stock, b"bolt")?.as_deref(), Some(&b"7"[..]));
/// tx.commit()?;
/// # Ok::<(), clearway::Error>(())
/// ```
#[must_use = "a transaction that is dropped is rolled back"]
pub struct Transaction {
    /// Declared before `uncounted`, so it is dropped first: a transaction that is still open is
    /// rolled back, or left to the engine, and then counted.
    pub(crate) inner: clearway_txn::Transaction,
    uncounted: Uncounted,
    began: Began,
    error_of_scan: Option<Box<ErrorOfScan>>,
}

/// The first error that the iterator of a scan yielded. An adaptor or a loop may have swallowed it,
/// so that the program has read incomplete data. It prevents the commit, unless it is cleared: by a
/// rollback to a savepoint that was set before it, or with `acknowledge_error`.
struct ErrorOfScan {
    error: Error,
    /// The number of the newest savepoint at that time.
    savepoint: u64,
}

/// Restores a transaction's lock wait policy when it is dropped, also by a panic.
struct RestoresWaitLimit<'t> {
    tx: &'t mut Transaction,
    before: WaitLimit,
}

impl Drop for RestoresWaitLimit<'_> {
    fn drop(&mut self) {
        self.tx.inner.set_wait_limit(self.before);
    }
}

impl Transaction {
    #[inline]
    pub(crate) fn begin(database: &Inner, kind: Kind) -> Transaction {
        let shard = database.statistics.shard();
        let began = shard.begin();
        let (inner, uncounted) = (database.engine.begin_as(kind), Uncounted::new(shard, kind));
        Transaction { inner, uncounted, began, error_of_scan: None }
    }

    /// Makes this transaction, which has done nothing yet, one in the fetch stage, which is not
    /// counted. If the closure is run again there, `last` is the state that its last run has left.
    /// Does nothing to a transaction that could not begin.
    #[cold]
    pub(crate) fn begin_fetch(&mut self, last: Option<Fetched>) {
        match last {
            None => self.inner.begin_fetch(),
            Some(last) => self.inner.continue_fetch(last),
        }
        if self.inner.is_fetching() {
            self.uncounted.cancel();
            self.began = None;
        }
    }

    /// Ends the fetch stage, as [`clearway_txn::Transaction::end_fetch`] does. Returns also what
    /// the operate stage takes over from a transaction that was converted.
    #[cold]
    pub(crate) fn end_fetch(mut self) -> Option<(Fetched, RetryContext)> {
        let context = self.inner.take_retry_context();
        let fetched = self.inner.end_fetch()?;
        self.uncounted.cancel();
        Some((fetched, context))
    }

    /// As [`end_fetch`](Transaction::end_fetch), for a task.
    pub(crate) async fn end_fetch_as_task(mut self) -> Option<(Fetched, RetryContext)> {
        // If it fails, there is no fetch stage to end.
        let _ = self.inner.end_conversion().await;
        self.end_fetch()
    }

    /// Returns true if the transaction is timed.
    #[inline]
    pub(crate) fn is_timed(&self) -> bool {
        self.began.is_some()
    }

    /// Returns the stage in which the closure runs. A closure of a type that has a fetch stage (see
    /// [`Staging`](crate::Staging)) can use it to do things once that do not belong to the
    /// transaction, and to leave out, in the fetch stage, work that touches no table. Once this has
    /// returned [`Stage::Operate`], the run stays in the operate stage.
    ///
    /// On a [`Pipeline`](crate::Pipeline) the closure of a `submit` may be run several times in the
    /// fetch stage: when a run needs a page that is not in memory, its operations return
    /// [`Error::Cancelled`], and the next run begins when the page is there. For what a run writes
    /// to the closure's captures, that is as a repetition after a deadlock.
    pub fn stage(&self) -> Stage {
        if self.inner.is_fetching() {
            return Stage::Fetch;
        }
        self.inner.prevent_conversion();
        Stage::Operate
    }

    /// Begins the transaction of a task.
    pub(crate) fn begin_task(database: &Inner, kind: Kind) -> Transaction {
        let shard = database.statistics.shard();
        let began = shard.begin();
        let (inner, uncounted) = (database.engine.begin_task(kind), Uncounted::new(shard, kind));
        Transaction { inner, uncounted, began, error_of_scan: None }
    }

    /// Records an error that the iterator of a scan yields.
    #[cold]
    pub(crate) fn note_of_scan(&mut self, error: &Error) {
        let savepoint = self.inner.last_savepoint();
        let of_scan = || Box::new(ErrorOfScan { error: error.clone(), savepoint });
        // Keep the first error: a savepoint that was set before it was also set before all later
        // ones.
        self.error_of_scan.get_or_insert_with(of_scan);
    }

    /// Takes the error that a scan's iterator yielded, if the program has neither accepted it
    /// ([`acknowledge_error`](Transaction::acknowledge_error)) nor rolled back to a savepoint
    /// before it. Returns `None` for a deadlock's victim, which has ended.
    #[cold]
    fn take_error_of_scan(&mut self) -> Option<Error> {
        let of_scan = self.error_of_scan.take()?;
        self.inner.deadlock().is_none().then_some(of_scan.error)
    }

    /// Returns the value of `key`, or `None` if the key is absent. The key, or the gap that would
    /// contain it, stays locked against writers until the transaction ends.
    ///
    /// # Errors
    /// The errors of every operation on a table:
    /// - [`Error::Deadlock`]: the transaction was the victim of a deadlock and is rolled back;
    /// - [`Error::LockTimeout`] and [`Error::WouldBlock`], if it waits for locks with a limit;
    /// - [`Error::SelfWait`] if the calling thread would wait for itself (see
    ///   [deadlocks](crate#deadlocks));
    /// - [`Error::UnknownTable`] if the table was dropped, or belongs to another database or an
    ///   earlier opening;
    /// - [`Error::KeyTooLarge`];
    /// - [`Error::Cancelled`] in a fetch stage (see [`Staging`](crate::Staging)) that is over
    ///   before its closure: the closure should return it;
    /// - [`Error::TransactionEnded`] after a deadlock, [`Error::TooManyTransactions`] if the
    ///   transaction could not begin;
    /// - [`Error::Io`], [`Error::Corrupt`], [`Error::CorruptPage`] and [`Error::DiskFull`] for a
    ///   page that cannot be read, or for which no room can be made in the cache;
    ///   [`Error::ReadTimeout`] for one that the disk does not deliver in time;
    ///   [`Error::BadOption`] if the cache is too small for the pages that are in use at once;
    /// - [`Error::Closed`], [`Error::Poisoned`].
    pub fn get(&mut self, table: &Table, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        self.inner.get(&table.inner, key.as_ref())
    }

    /// Like [`get`](Transaction::get), but reads into the caller's buffer. Returns false, and
    /// leaves the buffer empty, if there is no such key.
    ///
    /// # Errors
    /// Those of [`get`](Transaction::get); the buffer is empty then.
    #[inline]
    pub fn get_into(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        value: &mut Vec<u8>,
    ) -> Result<bool> {
        let found = self.inner.get_into(&table.inner, key.as_ref(), value);
        if !matches!(found, Ok(true)) {
            value.clear();
        }
        found
    }

    /// Returns the values of `keys`, in their order, as [`get`](Transaction::get) returns each of
    /// them, and locks the keys as `get` does. For keys that are known together: the pages that
    /// lead to them and are not in memory are read together, many at the same time, instead of one
    /// after the other. (The further pages of large values are not.)
    ///
    /// ```
    /// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
    /// let stock = db.table("stock")?;
    /// db.transact("fill", |tx| tx.put(&stock, "bolt", "7"))?;
    /// let counts = db.transact("list", |tx| tx.get_many(&stock, &["nut", "bolt"]))?;
    /// assert_eq!(counts, [None, Some(b"7".to_vec())]);
    /// # Ok::<(), clearway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`get`](Transaction::get), for the first key that cannot be read: the keys before
    /// it are locked.
    pub fn get_many(
        &mut self,
        table: &Table,
        keys: &[impl AsRef<[u8]>],
    ) -> Result<Vec<Option<Vec<u8>>>> {
        self.inner.get_many(&table.inner, keys)
    }

    /// Has the pages that lead to `keys` read, those that are not in memory, many at the same time,
    /// and waits for them. Later operations on these keys then do not wait for the disk one after
    /// the other. Takes no locks and changes nothing. A quarter of the cache is filled at most; the
    /// keys beyond that are left out. A page that cannot be read is left to the operation that
    /// needs it.
    ///
    /// # Errors
    /// - [`Error::UnknownTable`] if the table was dropped, or belongs to another database or an
    ///   earlier opening;
    /// - [`Error::Cancelled`] in a fetch stage that is over before its closure;
    /// - [`Error::TransactionEnded`] after a deadlock, [`Error::TooManyTransactions`] if the
    ///   transaction could not begin;
    /// - [`Error::ReadTimeout`] for a page that the disk does not deliver in time;
    ///   [`Error::DiskFull`] and [`Error::BadOption`] if no room can be made in the cache;
    /// - [`Error::Closed`], [`Error::Poisoned`].
    pub fn prefetch(&mut self, table: &Table, keys: &[impl AsRef<[u8]>]) -> Result<()> {
        self.inner.prefetch(&table.inner, keys)
    }

    /// Returns the value of `key`, and locks the key exclusively, as a write does. Use it to read a
    /// key that will be written: two transactions that both [`get`](Transaction::get) a key and
    /// then both write it deadlock.
    ///
    /// If the key is absent, the call instead locks the gap that would contain it, exclusively.
    /// Until this transaction ends, other transactions wait if they insert a key into that gap,
    /// read an absent key in it or scan across it. (Some absent keys are locked themselves, not the
    /// gap: see [locks](crate#locks).) [`insert`](Transaction::insert) and
    /// [`put`](Transaction::put) lock no gap, so it is better to insert a key that is probably
    /// absent without this call.
    ///
    /// # Errors
    /// Those of [`get`](Transaction::get).
    pub fn get_for_update(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
    ) -> Result<Option<Vec<u8>>> {
        self.inner.get_for_update(&table.inner, key.as_ref())
    }

    /// Like [`get_for_update`](Transaction::get_for_update), but reads into the caller's buffer.
    ///
    /// # Errors
    /// Those of [`get`](Transaction::get); the buffer is empty then.
    #[inline]
    pub fn get_for_update_into(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        value: &mut Vec<u8>,
    ) -> Result<bool> {
        let found = self.inner.get_for_update_into(&table.inner, key.as_ref(), value);
        if !matches!(found, Ok(true)) {
            value.clear();
        }
        found
    }

    /// Like [`get_for_update`](Transaction::get_for_update), but waits for locks according to
    /// `wait` instead of the policy set with [`lock_wait`](Transaction::lock_wait).
    ///
    /// ```
    /// use clearway::{Error, LockWait};
    /// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
    /// let seats = db.table("seats")?;
    /// let (mut mine, mut other) = (db.begin(), db.begin());
    /// other.put(&seats, b"12A", b"taken")?;
    /// let refused = mine.get_for_update_with(&seats, b"12A", LockWait::Never);
    /// assert!(matches!(refused, Err(Error::WouldBlock { .. })));
    /// assert_eq!(mine.get_for_update_with(&seats, b"12B", LockWait::Never)?, None);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::WouldBlock`] for [`LockWait::Never`], [`Error::LockTimeout`] for [`LockWait::For`]:
    /// the transaction stays open and can try another key. The errors of [`get`](Transaction::get)
    /// as well.
    pub fn get_for_update_with(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        wait: LockWait,
    ) -> Result<Option<Vec<u8>>> {
        self.waiting(wait, |tx| tx.get_for_update(table, key))
    }

    /// Runs `body` with the lock wait policy `wait`, and then restores the previous policy:
    /// `tx.waiting(LockWait::Never, |tx| tx.delete(&table, key))`.
    ///
    /// # Errors
    /// The error of `body`.
    pub fn waiting<T>(
        &mut self,
        wait: LockWait,
        body: impl FnOnce(&mut Transaction) -> Result<T>,
    ) -> Result<T> {
        let before = self.inner.set_wait_limit(wait.limit());
        let restores = RestoresWaitLimit { tx: self, before };
        body(restores.tx)
    }

    /// Inserts a key.
    ///
    /// # Errors
    /// [`Error::DuplicateKey`] if the key is present; the key then stays locked exclusively, as
    /// after [`get_for_update`](Transaction::get_for_update). [`Error::ValueTooLarge`].
    /// [`Error::LogFull`] if the log has no room, [`Error::DiskFull`] if the disk has none, and
    /// [`Error::NoFileDescriptor`] if the log needs a new file and none can be opened: the
    /// transaction stays open. Those of [`get`](Transaction::get) as well; [`Error::BadOption`]
    /// also if the database would grow beyond its largest size.
    #[inline]
    pub fn insert(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Result<()> {
        self.inner.insert(&table.inner, key.as_ref(), value.as_ref())
    }

    /// Inserts a key or replaces its value. ([`replace`](Transaction::replace) returns the value
    /// that the key had.)
    ///
    /// # Errors
    /// Those of [`insert`](Transaction::insert) except [`Error::DuplicateKey`].
    #[inline]
    pub fn put(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Result<()> {
        self.inner.put(&table.inner, key.as_ref(), value.as_ref()).map(drop)
    }

    /// Replaces the value of a key.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such key; its absence then stays locked, see
    /// [locks](crate#locks). Those of [`put`](Transaction::put) as well.
    #[inline]
    pub fn update(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Result<()> {
        self.inner.update(&table.inner, key.as_ref(), value.as_ref())
    }

    /// Removes a key.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such key; its absence then stays locked, see
    /// [locks](crate#locks). The errors of [`put`](Transaction::put) as well, except
    /// [`Error::ValueTooLarge`].
    #[inline]
    pub fn delete(&mut self, table: &Table, key: impl AsRef<[u8]>) -> Result<()> {
        self.inner.delete(&table.inner, key.as_ref())
    }

    /// Returns an error with a reason for the caller. A closure that returns it has its transaction
    /// rolled back: `return tx.abort("insufficient funds")`.
    ///
    /// # Errors
    /// Always [`Error::Aborted`].
    pub fn abort<T>(&self, reason: impl Into<String>) -> Result<T> {
        Err(Error::Aborted { reason: reason.into() })
    }

    /// Locks a whole table until the transaction ends. While the lock is shared, no other
    /// transaction writes the table or reads it for update. While it is exclusive, no other
    /// transaction uses the table. The transaction then reads (or, under an exclusive lock, writes)
    /// the table without locks on keys, which costs less time and no memory: use it for large
    /// scans, bulk loads and rewrites. The call waits for transactions that already use the table
    /// in a conflicting way. Transactions that begin later to use it in such a way wait for this
    /// transaction.
    ///
    /// A transaction with a shared lock may write as well, and then locks the keys it writes. If
    /// two such transactions write, that is a deadlock, so a transaction that will write the whole
    /// table should begin with the exclusive lock.
    ///
    /// ```
    /// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
    /// use clearway::AbsoluteMode;
    /// let stars = db.table("stars")?;
    /// db.transact("load", |tx| {
    ///     tx.lock_table(&stars, AbsoluteMode::Exclusive)?;
    ///     (0..1000u32).try_for_each(|n| tx.insert(&stars, n.to_be_bytes(), "a star"))
    /// })?;
    /// # Ok::<(), clearway::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of every operation that waits for a lock: [`Error::Deadlock`],
    /// [`Error::LockTimeout`], [`Error::WouldBlock`], [`Error::SelfWait`]. After the last three the
    /// transaction keeps the locks it had before, and may have an intent lock on the database
    /// besides. [`Error::UnknownTable`], [`Error::TransactionEnded`],
    /// [`Error::TooManyTransactions`], [`Error::Closed`], [`Error::Poisoned`].
    pub fn lock_table(&mut self, table: &Table, mode: AbsoluteMode) -> Result<()> {
        self.inner.lock_table(&table.inner, mode)
    }

    /// Locks the database, and so all tables, in the way [`lock_table`](Transaction::lock_table)
    /// locks one: shared, for a consistent dump or comparison of several tables; exclusively, for
    /// loading or rewriting all of them. [`Database::backup`](crate::Database::backup) needs no
    /// such lock.
    ///
    /// Tables can be created meanwhile, but only this transaction can write to them until the lock
    /// is released. [`drop_table`](crate::Database::drop_table) waits for a transaction with this
    /// lock, shared or exclusive, and [`verify`](crate::Database::verify) for one with an exclusive
    /// lock. So before the transaction ends, its thread must not make a call that waits for it.
    ///
    /// # Errors
    /// Those of [`lock_table`](Transaction::lock_table) except [`Error::UnknownTable`].
    pub fn lock_database(&mut self, mode: AbsoluteMode) -> Result<()> {
        self.inner.lock_database(mode)
    }

    /// Sets a savepoint, to which [`rollback_to`](Transaction::rollback_to) can roll back.
    ///
    /// # Errors
    /// [`Error::TransactionEnded`] after a deadlock; [`Error::TooManyTransactions`] or
    /// [`Error::Closed`] if the transaction could not begin.
    pub fn savepoint(&mut self) -> Result<Savepoint> {
        self.inner.savepoint()
    }

    /// Undoes the changes since the savepoint. The savepoint stays valid; those set after it are
    /// discarded. Locks are kept. An error that a scan yielded after the savepoint no longer
    /// prevents the commit.
    ///
    /// # Errors
    /// [`Error::UnknownSavepoint`] if the savepoint belongs to another transaction or was discarded
    /// by an earlier rollback; [`Error::Closed`] if the database was closed; [`Error::Poisoned`] if
    /// the engine has stopped, or if the undo fails, which stops it; the errors of
    /// [`savepoint`](Transaction::savepoint).
    pub fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<()> {
        self.inner.rollback_to(savepoint)?;
        self.error_of_scan.take_if(|of_scan| savepoint.number() <= of_scan.savepoint);
        Ok(())
    }

    /// Returns the first error that the iterator of a scan has yielded and that is not handled yet,
    /// and clears it: it no longer prevents the commit. See [`Scan`](crate::Scan). For programs
    /// that do not need the entries that the scan did not return.
    ///
    /// ```
    /// use clearway::{Error, LockWait};
    /// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
    /// let stock = db.table("stock")?;
    /// db.transact("fill", |tx| tx.put(&stock, "bolt", "6"))?;
    /// let mut other = db.begin();
    /// other.put(&stock, "bolt", "5")?;
    /// let found = db.transact("look", |tx| {
    ///     tx.lock_wait(LockWait::Never);
    ///     let found = tx.scan(&stock, ..).flatten().next();
    ///     // This program treats a locked entry as an absent one.
    ///     assert!(matches!(tx.acknowledge_error(), Some(Error::WouldBlock { .. })));
    ///     Ok(found)
    /// })?;
    /// assert!(found.is_none());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn acknowledge_error(&mut self) -> Option<Error> {
        self.take_error_of_scan()
    }

    /// Sets how this transaction's further operations wait for locks.
    pub fn lock_wait(&mut self, wait: LockWait) {
        self.inner.set_wait_limit(wait.limit());
    }

    /// Commits, and returns once the transaction and everything that it has read are durable (under
    /// [`CommitMode::Lazy`], at once).
    ///
    /// # Errors
    /// After an error the transaction has not taken effect, with one exception:
    /// [`Error::OutcomeUnknown`] if the log failed before the commit was durable. The other errors
    /// are:
    /// - [`Error::TransactionEnded`] after a deadlock, [`Error::TooManyTransactions`] if the
    ///   transaction could not begin;
    /// - the error that the iterator of a scan yielded, unless the program has accepted it
    ///   ([`acknowledge_error`](Transaction::acknowledge_error)) or rolled back to a savepoint
    ///   before it: see [`Scan`](crate::Scan);
    /// - [`Error::Closed`], [`Error::Poisoned`].
    pub fn commit(self) -> Result<()> {
        self.finish(())?.wait()
    }

    /// Commits, releases the locks, and returns without waiting for the log. The [`Pending`]
    /// becomes ready when [`commit`](Transaction::commit) would return.
    ///
    /// # Errors
    /// Those of [`commit`](Transaction::commit). A failure of the log, and the error of a scan, may
    /// be reported by the [`Pending`] instead of this call.
    pub fn commit_pipelined(self) -> Result<Pending<()>> {
        let pending = self.finish(())?;
        pending.request_flush();
        Ok(pending)
    }

    /// Undoes all changes and ends the transaction.
    ///
    /// The transaction may have read from commits that are not durable yet; this call does not wait
    /// for them, whereas [`commit`](Transaction::commit) does.
    ///
    /// # Errors
    /// For a transaction that has written, [`Error::Closed`] if the database was closed, and
    /// [`Error::Poisoned`] if the engine has stopped, or if the undo fails, which stops it: the
    /// next opening undoes the transaction. [`Error::TooManyTransactions`] or [`Error::Closed`] if
    /// the transaction could not begin. For a deadlock's victim, which has already been rolled
    /// back, the call returns `Ok`.
    pub fn rollback(self) -> Result<()> {
        self.undo(Count::Rollback).map(drop)
    }

    /// Commits and counts the transaction under its type. The `Pending` withholds the value until
    /// the log is durable up to `ack`; under [`CommitMode::Lazy`] it withholds nothing. If an error
    /// of a scan is unhandled, rolls back instead.
    #[inline]
    pub(crate) fn finish<T, E: From<Error>>(mut self, value: T) -> Result<Pending<T, E>, E> {
        if self.error_of_scan.is_some()
            && let Some(error) = self.take_error_of_scan()
        {
            return self.fail(Count::Rollback, error.into());
        }
        let committed = self.inner.commit()?;
        Ok(committed_as(value, committed, self.uncounted, self.began))
    }

    /// As [`finish`](Transaction::finish), for a task, if the commit needs no wait and no error was
    /// recorded. Otherwise returns the arguments, for
    /// [`finish_as_task`](Transaction::finish_as_task).
    #[inline]
    pub(crate) fn finish_at_once<T, E: From<Error>>(
        &mut self,
        value: T,
    ) -> std::result::Result<Result<Pending<T, E>, E>, T> {
        if self.error_of_scan.is_some() {
            return Err(value);
        }
        match self.inner.commit_at_once() {
            Some(Ok(committed)) => {
                Ok(Ok(committed_as(value, committed, self.uncounted.take(), self.began)))
            }
            Some(Err(error)) => {
                drop(self.uncounted.take()); // Counts a rollback.
                Ok(Err(error.into()))
            }
            None => Err(value),
        }
    }

    /// As [`finish`](Transaction::finish), for a task.
    pub(crate) async fn finish_as_task<T, E: From<Error>>(
        mut self,
        value: T,
    ) -> Result<Pending<T, E>, E> {
        if self.error_of_scan.is_some()
            && let Some(error) = self.take_error_of_scan()
        {
            return Box::pin(self.fail_as_task(Count::Rollback, error.into())).await;
        }
        let committed = match self.inner.commit_at_once() {
            Some(committed) => committed?,
            None => Box::pin(step::never_blocking(self.inner.commit_as_task())).await?,
        };
        Ok(committed_as(value, committed, self.uncounted, self.began))
    }

    /// Rolls back and counts the transaction under its type. Returns `error` at once if everything
    /// that the transaction has read is durable, or under [`CommitMode::Lazy`]. Otherwise returns a
    /// `Pending` that withholds `error` until then. If the transaction could not begin, or if the
    /// engine has stopped or is closed, returns the reason in place of `error`: after a stop or a
    /// close, `error` could reveal what was never committed.
    #[cold]
    pub(crate) fn fail<T, E: From<Error>>(
        self,
        count: Count,
        error: E,
    ) -> Result<Pending<T, E>, E> {
        let open = self.inner.check_open();
        let (seen, shard) = self.undo(count)?;
        open?;
        failed_with(error, seen, shard)
    }

    /// As [`fail`](Transaction::fail), for a task.
    pub(crate) async fn fail_as_task<T, E: From<Error>>(
        mut self,
        count: Count,
        error: E,
    ) -> Result<Pending<T, E>, E> {
        let open = step::never_blocking(self.inner.check_open_as_task()).await;
        let (seen, shard) = self.undo_as_task(count).await?;
        open?;
        failed_with(error, seen, shard)
    }

    /// Rolls back and counts the transaction under its type. A transaction that has already ended
    /// is not an error. Returns the LSN up to which the log must be durable before anything that
    /// was read may be revealed, and the transaction's shard.
    pub(crate) fn undo(self, count: Count) -> Result<(Lsn, Arc<Shard>)> {
        let shard = self.uncounted.count(count);
        let seen = self.inner.seen();
        undone(self.inner.rollback(), seen, shard)
    }

    /// As [`undo`](Transaction::undo), for a task.
    pub(crate) async fn undo_as_task(self, count: Count) -> Result<(Lsn, Arc<Shard>)> {
        let shard = self.uncounted.count(count);
        let seen = self.inner.seen();
        let rolled_back = step::never_blocking(self.inner.rollback_as_task()).await;
        undone(rolled_back, seen, shard)
    }
}

/// Counts a commit, and returns the `Pending` of its value.
#[inline(always)] // Each caller has its own copy.
fn committed_as<T, E>(
    value: T,
    mut committed: Committed,
    uncounted: Uncounted,
    began: Began,
) -> Pending<T, E> {
    let timed = Timings::released(uncounted.kind(), began);
    let shard = uncounted.count(Count::Commit);
    if shard.mode() == CommitMode::Lazy {
        shard.log().request_flush(committed.ack);
        committed.ack = Lsn::ZERO;
    }
    Pending::new(value, committed, timed, shard)
}

/// Returns `error`, or a `Pending` that withholds it until the log is durable up to `seen`.
fn failed_with<T, E>(error: E, seen: Lsn, shard: Arc<Shard>) -> Result<Pending<T, E>, E> {
    let is_lazy = shard.mode() == CommitMode::Lazy;
    if is_lazy || shard.log().durable() >= seen {
        return Err(error);
    }
    Ok(Pending::failed(error, seen, shard))
}

/// Returns what `undo` returns for the result of a rollback.
fn undone(result: Result<Lsn>, seen: Lsn, shard: Arc<Shard>) -> Result<(Lsn, Arc<Shard>)> {
    match result {
        // The transaction was a deadlock's victim.
        Err(Error::TransactionEnded) => Ok((seen, shard)),
        result => result.map(|seen| (seen, shard)),
    }
}
