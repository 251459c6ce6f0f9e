//! The transactions of tasks: their operations are futures.
//!
//! They keep no thread while they wait for a lock, for a page to be read, or for log space, and
//! need no particular executor: wakers are all they use.

use clearway_base::Result;
use clearway_lock::AbsoluteMode;
use clearway_sync::step;
use clearway_tree::{Direction, ReadIntent};
use clearway_txn::{Kind, Savepoint};

use crate::{
    Cursor, Entry, EntryRef, KeyRange, LockWait, Pending, Stage, Table, Transaction, inner::Inner,
    statistics::Count,
};

/// A transaction whose operations are futures: for sessions of a server, and other tasks that must
/// not block their thread. Begun with [`begin_async`](crate::Database::begin_async), or passed to
/// an asynchronous closure as a [`LentTransaction`](crate::LentTransaction).
///
/// The operations, their guarantees and their errors are those of [`Transaction`].
///
/// # Cancellation
/// - The future of an operation may be dropped before it has completed. The operation then has had
///   no effect on data, and the transaction goes on. Locks that the operation was granted may stay.
///   There are two exceptions. A [`rollback_to`](AsyncTransaction::rollback_to) that was polled
///   takes place all the same. If the operation has made the transaction a deadlock's victim, the
///   next operation reports the deadlock, and a commit fails.
/// - A transaction that is dropped before its commit was requested is rolled back, whether or not
///   the executor still runs. The drop itself does that if there is nothing to undo; otherwise a
///   thread of the database does it. The locks are released by the end of the rollback.
///   [`Database::close`](crate::Database::close) waits for these rollbacks.
/// - If the future of a [`commit`](AsyncTransaction::commit) was polled, dropping it does not
///   prevent the commit.
///
/// A transaction that is passed to [`mem::forget`](std::mem::forget) keeps its locks until the
/// database is closed. The directory then stays locked until the process ends.
///
/// ```
/// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let stock = db.table("stock")?;
/// let mut tx = db.begin_async("adjust");
/// tx.insert(&stock, "bolt", "7").await?;
/// let before = tx.savepoint().await?;
/// tx.update(&stock, "bolt", "6").await?;
/// tx.rollback_to(&before).await?;
/// assert_eq!(tx.get(&stock, "bolt").await?.as_deref(), Some(&b"7"[..]));
/// tx.commit().await?;
/// # Ok::<(), clearway::Error>(())
/// # })?;
/// # Ok::<(), clearway::Error>(())
/// ```
#[must_use = "a transaction that is dropped is rolled back"]
pub struct AsyncTransaction {
    pub(crate) tx: Transaction,
}

impl AsyncTransaction {
    #[inline]
    pub(crate) fn begin(database: &Inner, kind: Kind) -> AsyncTransaction {
        AsyncTransaction { tx: Transaction::begin_task(database, kind) }
    }

    /// Returns the stage in which the closure runs, like [`Transaction::stage`]. A transaction that
    /// was begun with [`begin_async`](crate::Database::begin_async) has no fetch stage.
    pub fn stage(&self) -> Stage {
        self.tx.stage()
    }

    /// Returns the value of `key`, or `None` if the key is absent, like [`Transaction::get`].
    ///
    /// # Errors
    /// Those of [`Transaction::get`].
    #[inline]
    pub fn get(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
    ) -> impl Future<Output = Result<Option<Vec<u8>>>> {
        self.tx.inner.get_as_task(&table.inner, key, ReadIntent::Read)
    }

    /// Returns the values of `keys`, in their order, like [`Transaction::get_many`].
    ///
    /// # Errors
    /// Those of [`Transaction::get_many`].
    pub async fn get_many<K: AsRef<[u8]>>(
        &mut self,
        table: &Table,
        keys: &[K],
    ) -> Result<Vec<Option<Vec<u8>>>> {
        self.tx.inner.get_many_as_task(&table.inner, keys).await
    }

    /// Has the pages that lead to `keys` read, many at the same time, like
    /// [`Transaction::prefetch`].
    ///
    /// # Errors
    /// Those of [`Transaction::prefetch`].
    pub async fn prefetch<K: AsRef<[u8]>>(&mut self, table: &Table, keys: &[K]) -> Result<()> {
        self.tx.inner.prefetch_as_task(&table.inner, keys).await
    }

    /// Returns the value of `key`, and locks the key exclusively, like
    /// [`Transaction::get_for_update`].
    ///
    /// # Errors
    /// Those of [`Transaction::get`].
    #[inline]
    pub fn get_for_update(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
    ) -> impl Future<Output = Result<Option<Vec<u8>>>> {
        self.tx.inner.get_as_task(&table.inner, key, ReadIntent::Update)
    }

    /// Inserts a key, like [`Transaction::insert`].
    ///
    /// # Errors
    /// Those of [`Transaction::insert`].
    #[inline]
    pub fn insert(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> impl Future<Output = Result<()>> {
        self.tx.inner.insert_as_task(&table.inner, key, value)
    }

    /// Inserts a key or replaces its value, like [`Transaction::put`].
    ///
    /// # Errors
    /// Those of [`Transaction::put`].
    #[inline]
    pub fn put(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> impl Future<Output = Result<()>> {
        let put = self.tx.inner.put_as_task(&table.inner, key, value);
        async move { put.await.map(drop) }
    }

    /// Replaces the value of a key, like [`Transaction::update`].
    ///
    /// # Errors
    /// Those of [`Transaction::update`].
    #[inline]
    pub fn update(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> impl Future<Output = Result<()>> {
        self.tx.inner.update_as_task(&table.inner, key, value)
    }

    /// Removes a key, like [`Transaction::delete`].
    ///
    /// # Errors
    /// Those of [`Transaction::delete`].
    #[inline]
    pub fn delete(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
    ) -> impl Future<Output = Result<()>> {
        self.tx.inner.delete_as_task(&table.inner, key)
    }

    /// Begins a scan of a key range, smallest key first, like [`Transaction::scan`].
    ///
    /// ```
    /// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let fruit = db.table("fruit")?;
    /// let mut tx = db.begin_async("list");
    /// for name in ["apple", "pear", "plum", "quince"] {
    ///     tx.put(&fruit, name, "").await?;
    /// }
    /// let mut scan = tx.scan(&fruit, "b"..).await?;
    /// let mut names = Vec::new();
    /// while let Some((name, _)) = scan.next().await? {
    ///     names.push(name);
    /// }
    /// assert_eq!(names, [&b"pear"[..], b"plum", b"quince"]);
    /// # Ok::<(), clearway::Error>(())
    /// # })?;
    /// # Ok::<(), clearway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Transaction::cursor`].
    pub async fn scan(&mut self, table: &Table, range: impl KeyRange) -> Result<AsyncScan<'_>> {
        self.open_scan(table, range, Direction::Ascending, ReadIntent::Read).await
    }

    /// Begins a scan of a key range, largest key first, like [`Transaction::scan_descending`].
    ///
    /// # Errors
    /// Those of [`Transaction::cursor`].
    pub async fn scan_descending(
        &mut self,
        table: &Table,
        range: impl KeyRange,
    ) -> Result<AsyncScan<'_>> {
        self.open_scan(table, range, Direction::Descending, ReadIntent::Read).await
    }

    /// Begins a scan that locks each entry as a write does, like [`Transaction::scan_for_update`].
    ///
    /// # Errors
    /// Those of [`Transaction::cursor`].
    pub async fn scan_for_update(
        &mut self,
        table: &Table,
        range: impl KeyRange,
    ) -> Result<AsyncScan<'_>> {
        self.open_scan(table, range, Direction::Ascending, ReadIntent::Update).await
    }

    pub(crate) async fn open_scan(
        &mut self,
        table: &Table,
        range: impl KeyRange,
        direction: Direction,
        intent: ReadIntent,
    ) -> Result<AsyncScan<'_>> {
        let cursor = self.open_cursor(table, range, direction, intent).await?;
        Ok(AsyncScan { tx: self, cursor })
    }

    /// Returns a cursor over a key range, to be stepped with [`next`](AsyncTransaction::next): for
    /// programs that run other operations between two entries.
    ///
    /// # Errors
    /// Those of [`Transaction::cursor`].
    pub async fn cursor(
        &mut self,
        table: &Table,
        range: impl KeyRange,
        direction: Direction,
    ) -> Result<Cursor> {
        self.open_cursor(table, range, direction, ReadIntent::Read).await
    }

    pub(crate) async fn open_cursor(
        &mut self,
        table: &Table,
        range: impl KeyRange,
        direction: Direction,
        intent: ReadIntent,
    ) -> Result<Cursor> {
        let (lower, upper) = range.bounds();
        let open = self.tx.inner.cursor_as_task(&table.inner, lower, upper, direction, intent);
        Ok(Cursor::new(open.await?))
    }

    /// Returns the next entry of a cursor, or `None` at the end of its range.
    ///
    /// # Errors
    /// Those of [`Cursor::next`].
    pub async fn next(&mut self, cursor: &mut Cursor) -> Result<Option<Entry>> {
        let found = self.advance(cursor).await?;
        Ok(found.then(|| {
            let (key, value) = cursor.inner.entry();
            (key.to_vec(), value.to_vec())
        }))
    }

    pub(crate) async fn advance(&mut self, cursor: &mut Cursor) -> Result<bool> {
        cursor.inner.advance_as_task(&mut self.tx.inner).await
    }

    /// Returns an error with a reason for the caller, like [`Transaction::abort`].
    ///
    /// # Errors
    /// Always [`Error::Aborted`](crate::Error::Aborted).
    pub fn abort<T>(&self, reason: impl Into<String>) -> Result<T> {
        self.tx.abort(reason)
    }

    /// Locks a whole table until the transaction ends, like [`Transaction::lock_table`].
    ///
    /// # Errors
    /// Those of [`Transaction::lock_table`].
    pub async fn lock_table(&mut self, table: &Table, mode: AbsoluteMode) -> Result<()> {
        step::never_blocking(self.tx.inner.lock_table_as_task(&table.inner, mode)).await
    }

    /// Locks the database, and so all tables, like [`Transaction::lock_database`].
    ///
    /// # Errors
    /// Those of [`Transaction::lock_database`].
    pub async fn lock_database(&mut self, mode: AbsoluteMode) -> Result<()> {
        step::never_blocking(self.tx.inner.lock_database_as_task(mode)).await
    }

    /// Sets a savepoint, to which [`rollback_to`](AsyncTransaction::rollback_to) can roll back.
    ///
    /// # Errors
    /// Those of [`Transaction::savepoint`].
    pub async fn savepoint(&mut self) -> Result<Savepoint> {
        step::never_blocking(self.tx.inner.savepoint_as_task()).await
    }

    /// Undoes the changes since the savepoint, like [`Transaction::rollback_to`].
    ///
    /// # Errors
    /// Those of [`Transaction::rollback_to`].
    pub async fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<()> {
        step::never_blocking(self.tx.inner.rollback_to_as_task(savepoint)).await
    }

    /// Sets how this transaction's further operations wait for locks.
    pub fn lock_wait(&mut self, wait: LockWait) {
        self.tx.lock_wait(wait);
    }

    /// Commits, and completes once the transaction and everything that it has read are durable,
    /// like [`Transaction::commit`].
    ///
    /// # Errors
    /// Those of [`Transaction::commit`].
    pub async fn commit(self) -> Result<()> {
        self.commit_pipelined().await?.await
    }

    /// Commits, releases the locks, and completes without waiting for the log, like
    /// [`Transaction::commit_pipelined`].
    ///
    /// # Errors
    /// Those of [`Transaction::commit_pipelined`].
    pub async fn commit_pipelined(self) -> Result<Pending<()>> {
        let pending = self.tx.finish_as_task(()).await?;
        pending.request_flush();
        Ok(pending)
    }

    /// Undoes all changes and ends the transaction, like [`Transaction::rollback`].
    ///
    /// # Errors
    /// Those of [`Transaction::rollback`].
    pub async fn rollback(self) -> Result<()> {
        self.tx.undo_as_task(Count::Rollback).await.map(drop)
    }
}

impl std::fmt::Debug for AsyncTransaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AsyncTransaction").field(&self.tx.inner).finish()
    }
}

/// A scan of a key range by an asynchronous transaction. Made by [`AsyncTransaction::scan`],
/// [`scan_descending`](AsyncTransaction::scan_descending) and
/// [`scan_for_update`](AsyncTransaction::scan_for_update).
///
/// If the future of a step is dropped before it has completed, or if the step fails, the next step
/// continues the scan, and no entry is lost.
pub struct AsyncScan<'tx> {
    tx: &'tx mut AsyncTransaction,
    cursor: Cursor,
}

impl AsyncScan<'_> {
    /// From now on passes over entries that another transaction has locked instead of waiting for
    /// them, like [`Scan::skip_locked`](crate::Scan::skip_locked).
    pub fn skip_locked(mut self) -> Self {
        self.cursor.inner.skip_locked();
        self
    }

    /// Returns the next entry, or `None` at the end of the range.
    ///
    /// # Errors
    /// The errors of every read, including [`Deadlock`](crate::Error::Deadlock)
    /// and [`LockTimeout`](crate::Error::LockTimeout).
    #[allow(clippy::should_implement_trait)] // It is a future.
    pub async fn next(&mut self) -> Result<Option<Entry>> {
        self.tx.next(&mut self.cursor).await
    }

    /// Like [`next`](AsyncScan::next), but borrows the entry from the scan's buffers, which the
    /// next step reuses.
    ///
    /// # Errors
    /// Those of `next`.
    pub async fn next_ref(&mut self) -> Result<Option<EntryRef<'_>>> {
        let found = self.tx.advance(&mut self.cursor).await?;
        Ok(found.then(|| self.cursor.inner.entry()))
    }

    /// Returns the number of remaining entries, and locks them as the scan would.
    ///
    /// # Errors
    /// The first error that the scan meets.
    pub async fn count(mut self) -> Result<u64> {
        let mut count = 0;
        while self.next_ref().await?.is_some() {
            count += 1;
        }
        Ok(count)
    }
}
