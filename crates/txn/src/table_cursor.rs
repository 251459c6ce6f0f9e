//! A position in a key range of a table, for a transaction as its user sees it.

use std::ops::Bound;

use clearway_base::{Error, Result, TxnId};
use clearway_lock::IntentMode;
use clearway_tree::{Direction, ReadIntent};

use crate::{
    staging::{FetchStage, MergedCursor, run_to_end},
    table::Table,
    transaction::{Transaction, intent_mode},
};

/// A position in a key range of a table. It does not borrow its transaction.
pub struct TableCursor {
    pub(crate) table: Table,
    opening: u64,
    txn: TxnId,
    pub(crate) position: CursorPosition,
}

/// The part of a cursor that its steps change.
pub(crate) struct CursorPosition {
    pub(crate) mode: IntentMode,
    pub(crate) inner: clearway_tree::Cursor,
    /// The part that the cursor of a fetch stage has besides `inner`, from its first step there.
    merged: Option<Box<MergedCursor>>,
}

impl Transaction {
    /// A cursor over the keys between two bounds. Before its first step only the intent locks on
    /// the table and on the database are taken.
    pub fn cursor(
        &mut self,
        table: &Table,
        lower: Bound<Vec<u8>>,
        upper: Bound<Vec<u8>>,
        direction: Direction,
        intent: ReadIntent,
    ) -> Result<TableCursor> {
        let mode = intent_mode(intent);
        let entered = self.run(table, mode, |_, _| Ok(()));
        self.or_fetch(entered, |stage| stage.lock_table(table))?;
        Ok(self.cursor_at(table, lower, upper, direction, intent))
    }

    pub(crate) fn cursor_at(
        &self,
        table: &Table,
        lower: Bound<Vec<u8>>,
        upper: Bound<Vec<u8>>,
        direction: Direction,
        intent: ReadIntent,
    ) -> TableCursor {
        let mode = intent_mode(intent);
        let inner = table.tree().cursor(lower, upper, direction, intent);
        let (table, opening) = (table.clone(), self.opening);
        let position = CursorPosition { mode, inner, merged: None };
        TableCursor { table, opening, txn: self.id, position }
    }
}

impl TableCursor {
    /// The next entry, or `None` at the end of the range.
    ///
    /// # Errors
    /// [`Error::TransactionEnded`] if `txn` is not the transaction that made the cursor; and those
    /// of every read.
    #[allow(clippy::should_implement_trait)] // It needs the transaction.
    pub fn next(&mut self, txn: &mut Transaction) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let found = self.advance(txn)?;
        let CursorPosition { inner, merged, .. } = &mut self.position;
        Ok(found.then(|| match merged {
            None => inner.take_entry(),
            Some(merged) => merged.take_entry(inner),
        }))
    }

    /// As [`next`](Self::next), but leaves the entry in the cursor, in memory that the next step
    /// uses again. Returns true if there is an entry; [`entry`](Self::entry) then returns it.
    ///
    /// # Errors
    /// Those of `next`.
    #[inline]
    pub fn advance(&mut self, txn: &mut Transaction) -> Result<bool> {
        if !self.is_of(txn) {
            return Err(Error::TransactionEnded);
        }
        if txn.state.is_none() {
            return self.advance_fetching(txn);
        }
        let TableCursor { table, position, .. } = self;
        let inner = &mut position.inner;
        let advanced = txn.run(table, position.mode, |state, _| {
            let found = inner.advance(table.tree(), state);
            if state.is_optimistic() {
                state.note_touched(inner.leaf());
            }
            found
        });
        match advanced {
            Ok(found) => Ok(found),
            Err(_) if txn.is_fetching() => self.advance_fetching(txn),
            Err(error) => Err(error),
        }
    }

    /// Goes to the next entry in a fetch stage, which may have begun after the cursor.
    #[cold]
    fn advance_fetching(&mut self, txn: &mut Transaction) -> Result<bool> {
        let TableCursor { table, position, .. } = self;
        txn.fetch(|stage| match position.advance_at_once(stage, table)? {
            Some(found) => Ok(found),
            None => run_to_end(position.go_on(stage, table)),
        })
    }

    /// Key and value of the entry that the last [`advance`](Self::advance) came to. Meaningful only
    /// if that returned `true`.
    #[inline]
    pub fn entry(&self) -> (&[u8], &[u8]) {
        match &self.position.merged {
            None => self.position.inner.entry(),
            Some(merged) => merged.entry(&self.position.inner),
        }
    }

    /// Returns a cursor over the part of the range that was not passed yet, from its other end.
    pub fn opposite(&self) -> TableCursor {
        let CursorPosition { mode, inner, merged } = &self.position;
        let tree = self.table.tree();
        let inner = match merged.as_ref().and_then(|merged| merged.rest_of_range()) {
            Some(rest) => inner.opposite_over(tree, rest),
            None => inner.opposite(tree),
        };
        let position = CursorPosition { mode: *mode, inner, merged: None };
        TableCursor { table: self.table.clone(), position, ..*self }
    }

    /// Goes forward: the next step comes to the first entry at `key` or behind it, in the order of
    /// the cursor's direction. Does nothing if the cursor is there or behind it already.
    pub fn seek(&mut self, key: &[u8]) {
        let CursorPosition { inner, merged, .. } = &mut self.position;
        match merged {
            None => inner.seek(key),
            Some(merged) => merged.seek(key, inner),
        }
    }

    /// The order of the steps.
    pub fn direction(&self) -> Direction {
        self.position.inner.direction()
    }

    /// Returns true if the cursor was made by `txn`.
    #[inline]
    pub(crate) fn is_of(&self, txn: &Transaction) -> bool {
        (txn.opening, txn.id) == (self.opening, self.txn)
    }

    /// From here on the cursor returns only records that can be locked without waiting, passes over
    /// the others, and locks the returned records and nothing else. It waits only for the intent
    /// locks on the table and on the database.
    pub fn skip_locked(&mut self) {
        self.position.inner.skip_locked();
    }
}

impl CursorPosition {
    /// Goes to the next entry in a fetch stage, for a task.
    pub(crate) async fn advance_fetching(
        &mut self,
        stage: &mut FetchStage,
        table: &Table,
    ) -> Result<bool> {
        match self.advance_at_once(stage, table)? {
            Some(found) => Ok(found),
            None => self.go_on(stage, table).await,
        }
    }

    /// Goes to the next entry in a fetch stage. Returns `None` if a page is absent: then it goes on
    /// by [`go_on`](CursorPosition::go_on).
    fn advance_at_once(&mut self, stage: &mut FetchStage, table: &Table) -> Result<Option<bool>> {
        let CursorPosition { inner, merged, .. } = self;
        let merged = merged.get_or_insert_with(|| Box::new(MergedCursor::continuing(inner)));
        merged.advance_at_once(stage, table, inner)
    }

    #[cold]
    async fn go_on(&mut self, stage: &mut FetchStage, table: &Table) -> Result<bool> {
        let CursorPosition { inner, merged, .. } = self;
        let merged = merged.get_or_insert_with(|| Box::new(MergedCursor::continuing(inner)));
        merged.go_on(stage, table, inner).await
    }
}

impl std::fmt::Debug for TableCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableCursor").field("table", &self.table).finish_non_exhaustive()
    }
}
