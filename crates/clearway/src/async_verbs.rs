//! The operations of [`verbs`](crate::verbs) for asynchronous transactions (VERBS-1).

use clearway_base::{Error, Result};
use clearway_lock::AbsoluteMode;
use clearway_tree::{Direction, ReadIntent};

use crate::{AsyncScan, AsyncTransaction, Cursor, Entry, KeyRange, Table};

impl AsyncTransaction {
    /// Returns true if there is such a key, like
    /// [`Transaction::contains_key`](crate::Transaction::contains_key).
    ///
    /// # Errors
    /// Those of [`Transaction::get`](crate::Transaction::get).
    pub async fn contains_key(&mut self, table: &Table, key: impl AsRef<[u8]>) -> Result<bool> {
        Ok(self.get(table, key).await?.is_some())
    }

    /// Returns the entry with the smallest key of a range, like
    /// [`Transaction::first`](crate::Transaction::first).
    ///
    /// # Errors
    /// Those of [`Transaction::get`](crate::Transaction::get).
    pub async fn first(&mut self, table: &Table, range: impl KeyRange) -> Result<Option<Entry>> {
        self.scan(table, range).await?.next().await
    }

    /// Returns the entry with the largest key of a range, like
    /// [`Transaction::last`](crate::Transaction::last).
    ///
    /// # Errors
    /// Those of [`Transaction::get`](crate::Transaction::get).
    pub async fn last(&mut self, table: &Table, range: impl KeyRange) -> Result<Option<Entry>> {
        self.scan_descending(table, range).await?.next().await
    }

    /// Returns the number of entries of a range, like
    /// [`Transaction::count`](crate::Transaction::count).
    ///
    /// # Errors
    /// Those of [`Transaction::get`](crate::Transaction::get).
    pub async fn count(&mut self, table: &Table, range: impl KeyRange) -> Result<u64> {
        self.scan(table, range).await?.count().await
    }

    /// Changes the value of a key in place, like
    /// [`Transaction::modify`](crate::Transaction::modify).
    ///
    /// # Errors
    /// Those of [`Transaction::put`](crate::Transaction::put).
    pub async fn modify<R>(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        change: impl FnOnce(&mut Vec<u8>) -> R,
    ) -> Result<Option<R>> {
        let Some(mut value) = self.get_for_update(table, key.as_ref()).await? else {
            return Ok(None);
        };
        let result = change(&mut value);
        self.update(table, key, value).await?;
        Ok(Some(result))
    }

    /// Sets the value of a key, and returns the value that it had, like
    /// [`Transaction::replace`](crate::Transaction::replace).
    ///
    /// # Errors
    /// Those of [`Transaction::put`](crate::Transaction::put).
    pub async fn replace(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Result<Option<Vec<u8>>> {
        let before = self.get_for_update(table, key.as_ref()).await?;
        self.put(table, key, value).await?;
        Ok(before)
    }

    /// Removes a key, and returns the value that it had, like
    /// [`Transaction::take`](crate::Transaction::take).
    ///
    /// # Errors
    /// Those of [`Transaction::put`](crate::Transaction::put).
    pub async fn take(&mut self, table: &Table, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        let before = self.get_for_update(table, key.as_ref()).await?;
        if before.is_some() {
            self.delete(table, key).await?;
        }
        Ok(before)
    }

    /// Inserts a key if it is absent, and otherwise returns the value that it has, like
    /// [`Transaction::insert_or_get`](crate::Transaction::insert_or_get).
    ///
    /// # Errors
    /// Those of [`Transaction::put`](crate::Transaction::put).
    pub async fn insert_or_get(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Result<Option<Vec<u8>>> {
        match self.insert(table, key.as_ref(), value).await {
            Ok(()) => Ok(None),
            Err(Error::DuplicateKey { .. }) => self.get_for_update(table, key).await,
            Err(error) => Err(error),
        }
    }

    /// Sets the contents of a key to `new` if they are `expected`, like
    /// [`Transaction::compare_and_set`](crate::Transaction::compare_and_set).
    ///
    /// # Errors
    /// Those of [`Transaction::put`](crate::Transaction::put).
    pub async fn compare_and_set(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<bool> {
        let present = self.get_for_update(table, key.as_ref()).await?;
        if present.as_deref() != expected {
            return Ok(false);
        }
        match new {
            Some(new) => self.put(table, key, new).await?,
            None if present.is_some() => self.delete(table, key).await?,
            None => {}
        }
        Ok(true)
    }

    /// Removes all keys of a range, like
    /// [`Transaction::delete_range`](crate::Transaction::delete_range).
    ///
    /// # Errors
    /// Those of [`Transaction::put`](crate::Transaction::put).
    pub async fn delete_range(&mut self, table: &Table, range: impl KeyRange) -> Result<u64> {
        let mut cursor = self.cursor_for_update(table, range, Direction::Ascending).await?;
        let mut count = 0;
        while self.advance(&mut cursor).await? {
            self.delete(table, cursor.inner.entry().0).await?;
            count += 1;
        }
        Ok(count)
    }

    /// Removes all entries of a table, like [`Transaction::clear`](crate::Transaction::clear).
    ///
    /// # Errors
    /// Those of [`Transaction::put`](crate::Transaction::put).
    pub async fn clear(&mut self, table: &Table) -> Result<u64> {
        self.lock_table(table, AbsoluteMode::Exclusive).await?;
        self.delete_range(table, ..).await
    }

    /// Begins a scan that locks each entry as a write does, largest key first, like
    /// [`Transaction::scan_for_update_descending`](crate::Transaction::scan_for_update_descending).
    ///
    /// # Errors
    /// Those of [`Transaction::cursor`](crate::Transaction::cursor).
    pub async fn scan_for_update_descending(
        &mut self,
        table: &Table,
        range: impl KeyRange,
    ) -> Result<AsyncScan<'_>> {
        self.open_scan(table, range, Direction::Descending, ReadIntent::Update).await
    }

    /// Returns a cursor that locks each entry as a write does, like
    /// [`Transaction::cursor_for_update`](crate::Transaction::cursor_for_update).
    ///
    /// # Errors
    /// Those of [`Transaction::cursor`](crate::Transaction::cursor).
    pub async fn cursor_for_update(
        &mut self,
        table: &Table,
        range: impl KeyRange,
        direction: Direction,
    ) -> Result<Cursor> {
        self.open_cursor(table, range, direction, ReadIntent::Update).await
    }
}
