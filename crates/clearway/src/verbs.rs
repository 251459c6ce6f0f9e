//! Operations that are made of others: what programs would otherwise write themselves, often with a
//! lock too few.
//!
//! Invariant: VERBS-1. An operation that reads a key and then writes it locks the key, or the gap
//! that would contain it, for the write before it reads. So what it returns is what it has
//! replaced, and two of them on one key do not deadlock.

use std::cell::Cell;

use clearway_base::{Error, Result};
use clearway_lock::AbsoluteMode;
use clearway_tree::{Direction, ReadIntent};

use crate::{Cursor, Entry, KeyRange, Scan, Table, Transaction};

/// Memory for a value that is kept between calls, at most.
const KEPT_BYTES_MAX: usize = 64 << 10;

thread_local! {
    /// The memory in which [`Lent`] values lie.
    static VALUE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The thread's memory for a value. A call within another one gets memory of its own.
struct Lent(Vec<u8>);

impl Lent {
    fn take() -> Lent {
        Lent(VALUE.take())
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if self.0.capacity() <= KEPT_BYTES_MAX {
            // A thread that is ending has no place for it any more.
            let _ = VALUE.try_with(|value| value.set(std::mem::take(&mut self.0)));
        }
    }
}

impl Transaction {
    /// Passes the value of `key` to `read`, and returns what that returns, or `None` if the key is
    /// absent. Allocates no memory for the value. Locks as [`get`](Transaction::get) does.
    ///
    /// ```
    /// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
    /// let words = db.table("words")?;
    /// let len = db.transact("len", |tx| {
    ///     tx.put(&words, "key", "value")?;
    ///     tx.get_with(&words, "key", |value| value.len())
    /// })?;
    /// assert_eq!(len, Some(5));
    /// # Ok::<(), clearway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`get`](Transaction::get).
    pub fn get_with<R>(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>> {
        let mut value = Lent::take();
        Ok(self.get_into(table, key, &mut value.0)?.then(|| read(&value.0)))
    }

    /// Returns true if there is such a key. Locks as [`get`](Transaction::get) does.
    ///
    /// # Errors
    /// Those of [`get`](Transaction::get).
    pub fn contains_key(&mut self, table: &Table, key: impl AsRef<[u8]>) -> Result<bool> {
        Ok(self.get_with(table, key, |_| ())?.is_some())
    }

    /// Returns the entry with the smallest key of a range, or `None` if the range is empty. Locks
    /// that key and what lies before it in the range.
    ///
    /// ```
    /// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
    /// let fruit = db.table("fruit")?;
    /// db.transact("ends", |tx| {
    ///     for name in ["apple", "pear", "plum"] {
    ///         tx.put(&fruit, name, "")?;
    ///     }
    ///     assert_eq!(tx.first(&fruit, "b"..)?.unwrap().0, b"pear");
    ///     assert_eq!(tx.last(&fruit, ..)?.unwrap().0, b"plum");
    ///     assert_eq!(tx.count(&fruit, .."pl")?, 2);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), clearway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`get`](Transaction::get).
    pub fn first(&mut self, table: &Table, range: impl KeyRange) -> Result<Option<Entry>> {
        self.end_of(table, &range, Direction::Ascending)
    }

    /// Returns the entry with the largest key of a range, or `None` if the range is empty. Locks
    /// that key and what lies behind it in the range: while the transaction is open, no other one
    /// can append to a range without an upper bound.
    ///
    /// # Errors
    /// Those of [`get`](Transaction::get).
    pub fn last(&mut self, table: &Table, range: impl KeyRange) -> Result<Option<Entry>> {
        self.end_of(table, &range, Direction::Descending)
    }

    fn end_of(
        &mut self,
        table: &Table,
        range: &impl KeyRange,
        direction: Direction,
    ) -> Result<Option<Entry>> {
        Cursor::open(self, table, range, direction, ReadIntent::Read)?.next(self)
    }

    /// Returns the number of entries of a range. Reads and locks all of them.
    ///
    /// # Errors
    /// Those of [`get`](Transaction::get).
    pub fn count(&mut self, table: &Table, range: impl KeyRange) -> Result<u64> {
        self.scan(table, range).count()
    }

    /// Changes the value of a key in place: `change` gets the value and may replace, cut or extend
    /// it. Returns what `change` returns, or `None`, without calling it, if the key is absent.
    /// Locks as [`get_for_update`](Transaction::get_for_update) does; the write finds the leaf that
    /// the read has found.
    ///
    /// ```
    /// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
    /// let stock = db.table("stock")?;
    /// db.transact("count", |tx| tx.insert(&stock, "bolt", 7u64.to_be_bytes()))?;
    /// let left = db.transact("take one", |tx| {
    ///     let left = tx.modify(&stock, "bolt", |row| {
    ///         let left = u64::from_be_bytes(row[..].try_into().unwrap()) - 1;
    ///         row.copy_from_slice(&left.to_be_bytes());
    ///         left
    ///     })?;
    ///     left.ok_or_else(clearway::Error::not_found)
    /// })?;
    /// assert_eq!(left, 6);
    /// # Ok::<(), clearway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`put`](Transaction::put).
    pub fn modify<R>(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        change: impl FnOnce(&mut Vec<u8>) -> R,
    ) -> Result<Option<R>> {
        let (key, mut value) = (key.as_ref(), Lent::take());
        if !self.get_for_update_into(table, key, &mut value.0)? {
            return Ok(None);
        }
        let result = change(&mut value.0);
        self.update(table, key, &value.0)?;
        Ok(Some(result))
    }

    /// Sets the value of a key, and returns the value that it had, or `None` if the key was absent.
    /// Locks as [`get_for_update`](Transaction::get_for_update) does;
    /// [`put`](Transaction::put) locks no gap, and reads nothing.
    ///
    /// # Errors
    /// Those of [`put`](Transaction::put).
    pub fn replace(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Result<Option<Vec<u8>>> {
        let before = self.get_for_update(table, key.as_ref())?;
        self.put(table, key, value)?;
        Ok(before)
    }

    /// Removes a key, and returns the value that it had, or `None` if it was absent. Locks as
    /// [`get_for_update`](Transaction::get_for_update) does.
    ///
    /// # Errors
    /// Those of [`put`](Transaction::put).
    pub fn take(&mut self, table: &Table, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        let before = self.get_for_update(table, key.as_ref())?;
        if before.is_some() {
            self.delete(table, key)?;
        }
        Ok(before)
    }

    /// Inserts a key if it is absent. Returns `None` then, and otherwise the value that it has. The
    /// key is locked exclusively in either case, and no gap is.
    ///
    /// ```
    /// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
    /// let users = db.table("users")?;
    /// db.transact("join", |tx| {
    ///     assert_eq!(tx.insert_or_get(&users, "ann", "1")?, None);
    ///     assert_eq!(tx.insert_or_get(&users, "ann", "2")?, Some(b"1".to_vec()));
    ///     Ok(())
    /// })?;
    /// # Ok::<(), clearway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`put`](Transaction::put).
    pub fn insert_or_get(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Result<Option<Vec<u8>>> {
        match self.insert(table, key.as_ref(), value) {
            Ok(()) => Ok(None),
            Err(Error::DuplicateKey { .. }) => self.get_for_update(table, key),
            Err(error) => Err(error),
        }
    }

    /// Sets the contents of a key to `new` if they are `expected`; `None` stands for an absent key.
    /// Returns true if they were. Locks as [`get_for_update`](Transaction::get_for_update) does.
    ///
    /// ```
    /// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
    /// let leases = db.table("leases")?;
    /// db.transact("lease", |tx| {
    ///     assert!(tx.compare_and_set(&leases, "job", None, Some(b"ann"))?);
    ///     assert!(!tx.compare_and_set(&leases, "job", None, Some(b"bob"))?);
    ///     assert!(tx.compare_and_set(&leases, "job", Some(b"ann"), None)?);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), clearway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`put`](Transaction::put).
    pub fn compare_and_set(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<bool> {
        let (key, mut value) = (key.as_ref(), Lent::take());
        let is_present = self.get_for_update_into(table, key, &mut value.0)?;
        if is_present.then_some(&value.0[..]) != expected {
            return Ok(false);
        }
        match new {
            Some(new) => self.put(table, key, new)?,
            None if is_present => self.delete(table, key)?,
            None => {}
        }
        Ok(true)
    }

    /// Removes all keys of a range, and returns their number. Reads and locks the range as
    /// [`scan_for_update`](Transaction::scan_for_update) does, one entry after the other: the
    /// memory, the log and the locks that it takes are those of that many deletions, and a range
    /// that is too large for [`Options::log_capacity`](crate::Options::log_capacity) is to be
    /// removed in several transactions. [`clear`](Transaction::clear) takes no locks on keys.
    ///
    /// # Errors
    /// Those of [`put`](Transaction::put).
    pub fn delete_range(&mut self, table: &Table, range: impl KeyRange) -> Result<u64> {
        let mut cursor = self.cursor_for_update(table, range, Direction::Ascending)?;
        let mut count = 0;
        while let Some((key, _)) = cursor.next_ref(self)? {
            self.delete(table, key)?;
            count += 1;
        }
        Ok(count)
    }

    /// Removes all entries of a table, and returns their number. Locks the whole table exclusively
    /// until the transaction ends. Its log is that of as many deletions. (If the table may be
    /// emptied outside of a transaction, dropping and creating it costs far less.)
    ///
    /// # Errors
    /// Those of [`put`](Transaction::put).
    pub fn clear(&mut self, table: &Table) -> Result<u64> {
        self.lock_table(table, AbsoluteMode::Exclusive)?;
        self.delete_range(table, ..)
    }

    /// Iterates over the entries of a key range, largest key first, and locks each as a write does.
    /// Otherwise like [`scan_for_update`](Transaction::scan_for_update).
    pub fn scan_for_update_descending(&mut self, table: &Table, range: impl KeyRange) -> Scan<'_> {
        let cursor = Cursor::open(self, table, &range, Direction::Descending, ReadIntent::Update);
        Scan::new(self, cursor)
    }

    /// Returns a cursor that locks each entry as a write does: for loops that change what they
    /// read. Otherwise like [`cursor`](Transaction::cursor).
    ///
    /// ```
    /// use clearway::Direction;
    /// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
    /// let stock = db.table("stock")?;
    /// db.transact("sell out", |tx| {
    ///     tx.put(&stock, "nuts", "80")?;
    ///     let mut cursor = tx.cursor_for_update(&stock, .., Direction::Ascending)?;
    ///     while let Some((name, _)) = cursor.next_ref(tx)? {
    ///         tx.update(&stock, name, "0")?;
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok::<(), clearway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`get`](Transaction::get).
    pub fn cursor_for_update(
        &mut self,
        table: &Table,
        range: impl KeyRange,
        direction: Direction,
    ) -> Result<Cursor> {
        Cursor::open(self, table, &range, direction, ReadIntent::Update)
    }
}
