//! Reading a range of keys in order.

use clearway_base::{Error, Result};
use clearway_tree::{Direction, ReadIntent};

use crate::{KeyRange, Table, Transaction};

/// A key and its value.
pub type Entry = (Vec<u8>, Vec<u8>);

/// A position in a key range that does not borrow its transaction, so that other operations can
/// come between two steps. Made by [`Transaction::cursor`].
///
/// The keys passed, and the gaps between them, stay locked until the transaction ends: whoever
/// scans again sees the same.
pub struct Cursor {
    inner: clearway_txn::Cursor,
}

impl Cursor {
    pub(crate) fn open(
        tx: &mut Transaction,
        table: &Table,
        range: &impl KeyRange,
        direction: Direction,
        intent: ReadIntent,
    ) -> Result<Cursor> {
        let (lower, upper) = range.bounds();
        let opened = tx.inner.cursor(&table.inner, lower, upper, direction, intent);
        Ok(Cursor { inner: tx.note(opened)? })
    }

    /// The next entry, or `None` at the end of the range.
    ///
    /// # Errors
    /// [`Error::TransactionEnded`] if `tx` is not the transaction that made the cursor; those of
    /// every read, [`Error::Deadlock`] and [`Error::LockTimeout`] among them.
    pub fn next(&mut self, tx: &mut Transaction) -> Result<Option<Entry>> {
        let step = self.inner.next(&mut tx.inner);
        tx.note(step)
    }
}

/// An iterator over the entries of a key range. Made by [`Transaction::scan`] and
/// [`Transaction::scan_descending`]; ends after the first error.
pub struct Scan<'tx> {
    tx: &'tx mut Transaction,
    state: State,
}

enum State {
    Open(Cursor),
    Failed(Error),
    Done,
}

impl<'tx> Scan<'tx> {
    pub(crate) fn new(tx: &'tx mut Transaction, cursor: Result<Cursor>) -> Scan<'tx> {
        Scan { tx, state: cursor.map_or_else(State::Failed, State::Open) }
    }
}

impl Iterator for Scan<'_> {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Result<Entry>> {
        let step = match std::mem::replace(&mut self.state, State::Done) {
            State::Open(mut cursor) => {
                let step = cursor.next(self.tx);
                if matches!(step, Ok(Some(_))) {
                    self.state = State::Open(cursor);
                }
                step
            }
            State::Failed(error) => Err(error),
            State::Done => Ok(None),
        };
        step.transpose()
    }
}

impl std::iter::FusedIterator for Scan<'_> {}
