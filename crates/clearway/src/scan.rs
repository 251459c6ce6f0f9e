//! Reading a range of keys in order.
//!
//! Each step exists in two forms: one returns the entry in two new vectors, and one lends it from
//! the cursor's buffers until the next step. Both take the same locks and can be mixed.

use clearway_base::{Error, Result};
use clearway_tree::{Direction, ReadIntent};

use crate::{KeyRange, Table, Transaction};

/// A key and its value.
pub type Entry = (Vec<u8>, Vec<u8>);

/// A key and its value, borrowed until the next step.
pub type EntryRef<'a> = (&'a [u8], &'a [u8]);

/// A position in a key range that does not borrow its transaction, so that other operations can
/// come between two steps. Made by [`Transaction::cursor`] and
/// [`AsyncTransaction::cursor`](crate::AsyncTransaction::cursor).
///
/// The keys passed, and the gaps between them, stay locked until the transaction ends: a second
/// scan of the transaction sees the same entries, except for what the transaction itself has
/// changed.
pub struct Cursor {
    pub(crate) inner: clearway_txn::TableCursor,
}

impl Cursor {
    pub(crate) fn new(inner: clearway_txn::TableCursor) -> Cursor {
        Cursor { inner }
    }

    pub(crate) fn open(
        tx: &mut Transaction,
        table: &Table,
        range: &impl KeyRange,
        direction: Direction,
        intent: ReadIntent,
    ) -> Result<Cursor> {
        let (lower, upper) = range.bounds();
        tx.inner.cursor(&table.inner, lower, upper, direction, intent).map(Cursor::new)
    }

    /// Returns the next entry, or `None` at the end of the range.
    ///
    /// # Errors
    /// [`Error::TransactionEnded`] if `tx` is not the transaction that made the cursor; the errors
    /// of every read, including [`Error::Deadlock`] and [`Error::LockTimeout`].
    pub fn next(&mut self, tx: &mut Transaction) -> Result<Option<Entry>> {
        self.inner.next(&mut tx.inner)
    }

    /// Like [`next`](Cursor::next), but borrows the entry from the cursor's buffers, which the next
    /// step reuses, so that a long scan does not allocate memory for each entry. The entry borrows
    /// the cursor and not the transaction, which can write meanwhile.
    ///
    /// ```
    /// use clearway::Direction;
    /// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
    /// let (stock, orders) = (db.table("stock")?, db.table("orders")?);
    /// db.transact("reorder", |tx| {
    ///     tx.put(&stock, "nails", b"3")?;
    ///     tx.put(&stock, "nuts", b"80")?;
    ///     let mut cursor = tx.cursor(&stock, "n"..="o", Direction::Ascending)?;
    ///     while let Some((name, count)) = cursor.next_ref(tx)? {
    ///         if count.len() < 2 {
    ///             tx.put(&orders, name, b"100")?;
    ///         }
    ///     }
    ///     Ok(())
    /// })?;
    /// assert_eq!(db.begin().get(&orders, "nails")?.as_deref(), Some(&b"100"[..]));
    /// # Ok::<(), clearway::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of `next`.
    #[inline]
    pub fn next_ref(&mut self, tx: &mut Transaction) -> Result<Option<EntryRef<'_>>> {
        let found = self.advance(tx)?;
        Ok(found.then(|| self.inner.entry()))
    }

    /// Goes forward: the next step returns the first entry at `key` or behind it, in the order of
    /// the cursor's direction. Does nothing if the cursor is there or behind it already. What lies
    /// between is neither read nor locked.
    ///
    /// ```
    /// use clearway::Direction;
    /// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
    /// let orders = db.table("orders")?;
    /// db.transact("one of each", |tx| {
    ///     for key in ["ann/1", "ann/2", "bob/1", "eve/1", "eve/2"] {
    ///         tx.put(&orders, key, "")?;
    ///     }
    ///     let mut cursor = tx.cursor(&orders, .., Direction::Ascending)?;
    ///     let mut seen = Vec::new();
    ///     while let Some((key, _)) = cursor.next(tx)? {
    ///         let user = key.split(|byte| *byte == b'/').next().unwrap_or_default();
    ///         cursor.seek([user, b"0"].concat()); // '0' follows '/'
    ///         seen.push(user.to_vec());
    ///     }
    ///     assert_eq!(seen, [b"ann", b"bob", b"eve"]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), clearway::Error>(())
    /// ```
    pub fn seek(&mut self, key: impl AsRef<[u8]>) {
        self.inner.seek(key.as_ref());
    }

    #[inline]
    fn advance(&mut self, tx: &mut Transaction) -> Result<bool> {
        self.inner.advance(&mut tx.inner)
    }
}

/// An iterator over the entries of a key range, from either end. Made by [`Transaction::scan`],
/// [`Transaction::scan_descending`] and [`Transaction::scan_for_update`]. It ends after the first
/// error.
///
/// # Errors of the iterator
/// Adaptors such as `flatten`, and loops, can ignore an error, so that the entries after it are
/// missing from their result. Therefore an error that the *iterator* yields prevents the commit:
/// the transaction is rolled back instead, and [`commit`](Transaction::commit) or
/// [`transact`](crate::Database::transact) returns the error, unless the program
/// - rolls back to a [savepoint](Transaction::savepoint) that was set before the error, or
/// - takes the error with [`Transaction::acknowledge_error`].
///
/// [`count`](Scan::count), [`last`](Scan::last), [`nth`](Scan::nth) and
/// [`next_ref`](Scan::next_ref) are methods of the scan itself that return errors as a `Result`;
/// such an error does not prevent the commit.
///
/// ```
/// use clearway::{Error, LockWait};
/// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
/// let seats = db.table("seats")?;
/// db.transact("fill", |tx| ["1A", "1B", "1C"].iter().try_for_each(|s| tx.insert(&seats, s, "")))?;
/// let mut other = db.begin();
/// other.put(&seats, "1B", "taken")?;
/// let count = db.transact("count", |tx| {
///     tx.lock_wait(LockWait::Never);
///     Ok(tx.scan(&seats, ..).flatten().count()) // one, and an error that is lost
/// });
/// assert!(matches!(count, Err(Error::WouldBlock { .. })));
/// # Ok::<(), Error>(())
/// ```
pub struct Scan<'tx> {
    tx: &'tx mut Transaction,
    state: ScanState,
    /// The other end, once an entry was taken from there.
    back: Option<Box<Back>>,
}

/// The other end of a scan from which entries are taken from both ends.
struct Back {
    cursor: Cursor,
    /// The key of the last entry from the front, since the back is in use.
    front_key: Option<Vec<u8>>,
    /// The key of the last entry from the back.
    key: Option<Vec<u8>>,
}

impl Back {
    /// Returns true if the two ends have met.
    fn has_met(&self) -> bool {
        let (Some(front), Some(back)) = (&self.front_key, &self.key) else { return false };
        match self.cursor.inner.direction() {
            Direction::Ascending => front <= back,
            Direction::Descending => back <= front,
        }
    }
}

#[allow(clippy::large_enum_variant)] // One for each scan, which does not move.
enum ScanState {
    Open(Cursor),
    Failed(Error),
    Done,
}

impl<'tx> Scan<'tx> {
    pub(crate) fn new(tx: &'tx mut Transaction, cursor: Result<Cursor>) -> Scan<'tx> {
        let state = cursor.map_or_else(ScanState::Failed, ScanState::Open);
        Scan { tx, state, back: None }
    }

    /// From now on passes over entries that another transaction has locked, instead of waiting for
    /// them, and locks only the entries it returns. Intended for
    /// [`scan_for_update`](Transaction::scan_for_update) and workers that take jobs from one table.
    ///
    /// Guarantees:
    /// - *Returned once.* An entry is returned only with its key locked, and the lock is kept until
    ///   the transaction ends. In a [`scan_for_update`](Transaction::scan_for_update) the lock is
    ///   exclusive: if several transactions scan in this way at the same time, only one of them
    ///   gets the entry.
    /// - *Not lost.* Passing over an entry does not change it. If the transaction that has locked
    ///   it ends without deleting it, a later scan can return it.
    /// - *No wait* for the lock of an entry. The only locks that the scan waits for are its intent
    ///   locks on the table and on the database. These can conflict with a drop of the table, and
    ///   with a lock on the whole table or database that another transaction holds
    ///   ([`lock_table`](Transaction::lock_table), [`lock_database`](Transaction::lock_database),
    ///   [`escalate_after`](crate::Options::escalate_after)).
    /// - *Durable.* In the default commit mode, everything that was returned is durable before this
    ///   transaction is acknowledged, as for every read. So is the deletion of each entry that the
    ///   scan found deleted.
    ///
    /// Serializability is not guaranteed, by design. Gaps, and entries that are passed over or
    /// deleted, are **not** locked: entries may appear in the part of the range that the scan has
    /// passed, and a second scan may find more or fewer entries than the first. An empty result
    /// does not mean that the range is empty. A scan for update also passes over entries that
    /// another transaction has only read. So workers that read the whole table whenever they find
    /// no entry may keep each other from finding one.
    ///
    /// Locks: the key of each entry returned, exclusively in a scan for update and otherwise
    /// shared; no gap. An entry for which another transaction waits in a conflicting mode counts as
    /// locked by it.
    ///
    /// ```
    /// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
    /// let jobs = db.table("jobs")?;
    /// db.transact("fill", |tx| {
    ///     ["a", "b", "c"].iter().try_for_each(|job| tx.insert(&jobs, job, ""))
    /// })?;
    /// let (mut one, mut two) = (db.begin(), db.begin());
    /// let first = one.scan_for_update(&jobs, ..).skip_locked().next().transpose()?;
    /// let second = two.scan_for_update(&jobs, ..).skip_locked().next().transpose()?;
    /// assert_eq!((first.unwrap().0, second.unwrap().0), (b"a".to_vec(), b"b".to_vec()));
    /// # Ok::<(), clearway::Error>(())
    /// ```
    pub fn skip_locked(mut self) -> Scan<'tx> {
        if let ScanState::Open(cursor) = &mut self.state {
            cursor.inner.skip_locked();
        }
        self
    }

    /// Returns the next entry, borrowed from the scan's buffers, which the next step reuses, so
    /// that a long scan does not allocate memory for each entry. Returns `None` at the end of the
    /// range, and after an error was returned. This method and the iterator can be mixed.
    ///
    /// ```
    /// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
    /// let words = db.table("words")?;
    /// let longest = db.transact("longest", |tx| {
    ///     ["so", "such", "some"].iter().try_for_each(|word| tx.insert(&words, word, ""))?;
    ///     let (mut longest, mut scan) = (0, tx.scan(&words, ..));
    ///     while let Some((word, _)) = scan.next_ref()? {
    ///         longest = longest.max(word.len());
    ///     }
    ///     Ok(longest)
    /// })?;
    /// assert_eq!(longest, 4);
    /// # Ok::<(), clearway::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of every read, as for the iterator.
    #[inline]
    pub fn next_ref(&mut self) -> Result<Option<EntryRef<'_>>> {
        let found = self.step(Cursor::advance, |found| *found)?;
        if found == Some(true) && self.back.is_some() {
            self.meet_back();
        }
        Ok(match &self.state {
            ScanState::Open(cursor) if found == Some(true) => Some(cursor.inner.entry()),
            _ => None,
        })
    }

    /// Ends the scan if the front, which has come to an entry, has met the back.
    #[cold]
    fn meet_back(&mut self) {
        if let (ScanState::Open(cursor), Some(back)) = (&self.state, &mut self.back) {
            back.front_key = Some(cursor.inner.entry().0.to_vec());
            if back.has_met() {
                self.state = ScanState::Done;
            }
        }
    }

    /// Returns the next entry.
    fn next_entry(&mut self) -> Result<Option<Entry>> {
        if self.back.is_some() {
            return Ok(self.next_ref()?.map(|(key, value)| (key.to_vec(), value.to_vec())));
        }
        Ok(self.step(Cursor::next, Option::is_some)?.flatten())
    }

    /// Returns the next entry from the back.
    fn next_back_entry(&mut self) -> Result<Option<Entry>> {
        let ScanState::Open(front) = &self.state else { return self.next_entry() };
        let back = self.back.get_or_insert_with(|| {
            let cursor = Cursor::new(front.inner.opposite());
            Box::new(Back { cursor, front_key: None, key: None })
        });
        let found = back.cursor.next(self.tx);
        if let Ok(Some((key, _))) = &found {
            back.key = Some(key.clone());
        }
        if !matches!(found, Ok(Some(_))) || back.has_met() {
            self.state = ScanState::Done;
            return found.map(|_| None);
        }
        found
    }

    /// Returns the number of remaining entries. Keeps none of them in memory, but locks them as the
    /// scan would, and the locks take memory.
    ///
    /// ```
    /// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
    /// # let words = db.table("words")?;
    /// let count = db.transact("count", |tx| tx.scan(&words, "a".."c").count())?;
    /// assert_eq!(count, 0);
    /// # Ok::<(), clearway::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first error that the scan meets.
    pub fn count(mut self) -> Result<u64> {
        let mut count = 0;
        while self.next_ref()?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    /// Returns the last entry, or `None` if there is none left. Reads and locks all entries before
    /// it. (To read the largest key of a range alone, use
    /// [`scan_descending`](Transaction::scan_descending), which returns it first.)
    ///
    /// # Errors
    /// The first error that the scan meets.
    pub fn last(mut self) -> Result<Option<Entry>> {
        let mut last: Option<Entry> = None;
        while let Some((key, value)) = self.next_ref()? {
            let (last_key, last_value) = last.get_or_insert_default();
            last_key.clear();
            last_key.extend_from_slice(key);
            last_value.clear();
            last_value.extend_from_slice(value);
        }
        Ok(last)
    }

    /// Skips `n` entries and returns the next one, or `None` if there is none.
    ///
    /// # Errors
    /// The first error that the scan meets.
    pub fn nth(&mut self, n: usize) -> Result<Option<Entry>> {
        for _ in 0..n {
            if self.next_ref()?.is_none() {
                return Ok(None);
            }
        }
        self.next_entry()
    }

    /// Takes a step with the cursor, and ends the scan unless it `goes_on`. Returns `None` after
    /// the end.
    #[inline]
    fn step<T>(
        &mut self,
        step: impl FnOnce(&mut Cursor, &mut Transaction) -> Result<T>,
        goes_on: impl FnOnce(&T) -> bool,
    ) -> Result<Option<T>> {
        // Do not move the cursor: it is large, and an entry may be borrowed from it.
        if let ScanState::Open(cursor) = &mut self.state {
            let found = step(cursor, self.tx);
            if !found.as_ref().is_ok_and(goes_on) {
                self.state = ScanState::Done;
            }
            return found.map(Some);
        }
        match std::mem::replace(&mut self.state, ScanState::Done) {
            ScanState::Failed(error) => Err(error),
            ScanState::Open(_) | ScanState::Done => Ok(None),
        }
    }
}

impl Iterator for Scan<'_> {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Result<Entry>> {
        let found = self.next_entry().transpose();
        if let Some(Err(error)) = &found {
            self.tx.note_of_scan(error);
        }
        found
    }
}

/// Entries can be taken from both ends in turn. What was passed from either end is locked.
impl DoubleEndedIterator for Scan<'_> {
    fn next_back(&mut self) -> Option<Result<Entry>> {
        let found = self.next_back_entry().transpose();
        if let Some(Err(error)) = &found {
            self.tx.note_of_scan(error);
        }
        found
    }
}

impl std::iter::FusedIterator for Scan<'_> {}

impl Transaction {
    /// Returns a cursor over a key range, for programs that run other operations between two
    /// entries. The cursor sees what this transaction writes ahead of it.
    ///
    /// # Errors
    /// Those of [`get`](Transaction::get).
    pub fn cursor(
        &mut self,
        table: &Table,
        range: impl KeyRange,
        direction: Direction,
    ) -> Result<Cursor> {
        Cursor::open(self, table, &range, direction, ReadIntent::Read)
    }

    /// Iterates over the entries of a key range, smallest key first. The part of the range that has
    /// been read is locked completely: until this transaction ends, no other transaction can
    /// insert, change or delete a key in it.
    ///
    /// The iterator can yield the errors of [`get`](Transaction::get). An error that it has yielded
    /// prevents the commit of the transaction unless the program handles it: see [`Scan`].
    ///
    /// While the iterator exists, nothing else can use the transaction. A loop that reads or writes
    /// within it takes a [`cursor`](Transaction::cursor), or a
    /// [`cursor_for_update`](Transaction::cursor_for_update):
    /// `while let Some((key, value)) = cursor.next(tx)? { … }`.
    ///
    /// ```
    /// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
    /// let fruit = db.table("fruit")?;
    /// let names = db.transact("list", |tx| {
    ///     for name in ["apple", "pear", "plum", "quince"] {
    ///         tx.put(&fruit, name, "")?;
    ///     }
    ///     tx.scan(&fruit, "b"..).take(2).map(|entry| Ok(entry?.0)).collect::<Result<Vec<_>, _>>()
    /// })?;
    /// assert_eq!(names, [b"pear", b"plum"]);
    /// # Ok::<(), clearway::Error>(())
    /// ```
    pub fn scan(&mut self, table: &Table, range: impl KeyRange) -> Scan<'_> {
        let cursor = Cursor::open(self, table, &range, Direction::Ascending, ReadIntent::Read);
        Scan::new(self, cursor)
    }

    /// Iterates over the entries of a key range, largest key first. Otherwise like
    /// [`scan`](Transaction::scan).
    pub fn scan_descending(&mut self, table: &Table, range: impl KeyRange) -> Scan<'_> {
        let cursor = Cursor::open(self, table, &range, Direction::Descending, ReadIntent::Read);
        Scan::new(self, cursor)
    }

    /// Iterates over the entries of a key range, smallest key first, and locks each as a write
    /// does. Otherwise like [`scan`](Transaction::scan). With [`skip_locked`](Scan::skip_locked),
    /// it returns only entries that no other transaction has locked, so that workers can take jobs
    /// from one table without waiting for each other.
    pub fn scan_for_update(&mut self, table: &Table, range: impl KeyRange) -> Scan<'_> {
        let cursor = Cursor::open(self, table, &range, Direction::Ascending, ReadIntent::Update);
        Scan::new(self, cursor)
    }
}
