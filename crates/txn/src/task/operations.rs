//! The operations of tasks on tables.
//!
//! Most operations need nothing. They are done by one call (`…_at_once`), which costs about as much
//! as that of the blocking method. If an operation cannot be done at once, the call returns the
//! rest of it as a boxed future: only operations that wait, or fail, take memory.
//!
//! The futures (`…_as_task`) make the call when they are polled for the first time.

use std::{
    future::{Future, ready},
    pin::Pin,
};

use clearway_base::{Error, Result};
use clearway_lock::IntentMode;
use clearway_sync::step;
use clearway_tree::{Incomplete, LeafHint, Need, ReadIntent, Step, Tree};

use crate::{
    Table, TableCursor, Transaction, transaction::intent_mode, transaction_state::TransactionState,
};

/// The rest of an operation whose first step has not completed it. If it is dropped, the operation
/// has had no effect (TASK-2).
pub type OperationRest<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// The value of an operation that was done at once, or the rest of the operation.
pub type AtOnce<'a, T> = std::result::Result<T, OperationRest<'a, T>>;

/// Completes an operation.
#[inline]
async fn complete<T>(first: AtOnce<'_, T>) -> Result<T> {
    match first {
        Ok(done) => Ok(done),
        Err(waiting) => waiting.await,
    }
}

impl Transaction {
    /// Runs the first step of an operation of a task. A deadlock's victim is rolled back before the
    /// rest of the operation returns.
    #[inline]
    fn run_at_once<'a, T, F>(
        &'a mut self,
        table: &'a Table,
        mode: IntentMode,
        operation: impl FnOnce(&Tree) -> Result<F>,
    ) -> AtOnce<'a, T>
    where
        T: Send + 'a,
        F: FnMut(&Tree, &mut TransactionState, &mut LeafHint) -> Step<T> + Send + 'a,
    {
        if let Err(error) = self.check_process() {
            return Err(failed(error));
        }
        let mut operation = match operation(table.tree()) {
            Ok(operation) => operation,
            Err(error) => return Err(failed(error)),
        };
        let first = match self.state.as_deref_mut() {
            Some(state) if !state.has_unlinked() => {
                state.begin_operation(table, mode, &mut operation)
            }
            _ => Err(None),
        };
        first.map_err(|stop| self.rest(table, mode, operation, stop))
    }

    /// Returns the rest of an operation whose first step has stopped, or did not take place.
    #[cold]
    fn rest<'a, T, F>(
        &'a mut self,
        table: &'a Table,
        mode: IntentMode,
        operation: F,
        stop: Option<Incomplete>,
    ) -> OperationRest<'a, T>
    where
        T: Send + 'a,
        F: FnMut(&Tree, &mut TransactionState, &mut LeafHint) -> Step<T> + Send + 'a,
    {
        let rest = async move {
            match stop.map(Incomplete::need).transpose() {
                Ok(need) => self.run_waiting(table, mode, operation, need).await,
                Err(error) => self.after_task(Err(error)).await,
            }
        };
        Box::pin(step::never_blocking(rest))
    }

    /// Runs an operation on from its first step, which has returned `need`, or did not take place.
    async fn run_waiting<T>(
        &mut self,
        table: &Table,
        mode: IntentMode,
        operation: impl FnMut(&Tree, &mut TransactionState, &mut LeafHint) -> Step<T>,
        need: Option<Need>,
    ) -> Result<T> {
        let state = match (&mut self.state, &need) {
            // The chain that it may have begun to write is its own.
            (Some(state), Some(_)) => state,
            _ => self.state_as_task().await?,
        };
        let result = state.operate_as_task(table, mode, operation, need).await;
        self.after_task(result).await
    }

    /// As [`get`](Self::get) and [`get_for_update`](Self::get_for_update), for a task.
    #[inline]
    pub fn get_at_once<'a>(
        &'a mut self,
        table: &'a Table,
        key: &'a [u8],
        intent: ReadIntent,
    ) -> AtOnce<'a, Option<Vec<u8>>> {
        let mode = intent_mode(intent);
        self.run_at_once(table, mode, move |tree| tree.read_operation(key, intent))
    }

    /// As [`get_into`](Self::get_into) and
    /// [`get_for_update_into`](Self::get_for_update_into), for a task.
    pub async fn get_as_task(
        &mut self,
        table: &Table,
        key: &[u8],
        intent: ReadIntent,
        value: &mut Vec<u8>,
    ) -> Result<bool> {
        let mode = intent_mode(intent);
        let first =
            self.run_at_once(table, mode, move |tree| tree.get_operation(key, intent, value));
        complete(first).await
    }

    /// As [`insert`](Self::insert), for a task. The value means nothing.
    #[inline]
    pub fn insert_at_once<'a>(
        &'a mut self,
        table: &'a Table,
        key: &'a [u8],
        value: &'a [u8],
    ) -> AtOnce<'a, bool> {
        self.run_at_once(table, IntentMode::IX, move |tree| tree.insert_operation(key, value))
    }

    /// As [`insert`](Self::insert), for a task.
    pub async fn insert_as_task(&mut self, table: &Table, key: &[u8], value: &[u8]) -> Result<()> {
        complete(self.insert_at_once(table, key, value)).await.map(drop)
    }

    /// As [`put`](Self::put), for a task.
    #[inline]
    pub fn put_at_once<'a>(
        &'a mut self,
        table: &'a Table,
        key: &'a [u8],
        value: &'a [u8],
    ) -> AtOnce<'a, bool> {
        self.run_at_once(table, IntentMode::IX, move |tree| tree.put_operation(key, value))
    }

    /// As [`put_at_once`](Self::put_at_once), to its end.
    pub async fn put_as_task(&mut self, table: &Table, key: &[u8], value: &[u8]) -> Result<bool> {
        complete(self.put_at_once(table, key, value)).await
    }

    /// As [`update`](Self::update), for a task. The value means nothing.
    #[inline]
    pub fn update_at_once<'a>(
        &'a mut self,
        table: &'a Table,
        key: &'a [u8],
        value: &'a [u8],
    ) -> AtOnce<'a, bool> {
        self.run_at_once(table, IntentMode::IX, move |tree| tree.update_operation(key, value))
    }

    /// As [`update`](Self::update), for a task.
    pub async fn update_as_task(&mut self, table: &Table, key: &[u8], value: &[u8]) -> Result<()> {
        complete(self.update_at_once(table, key, value)).await.map(drop)
    }

    /// As [`delete`](Self::delete), for a task.
    #[inline]
    pub fn delete_at_once<'a>(&'a mut self, table: &'a Table, key: &'a [u8]) -> AtOnce<'a, ()> {
        self.run_at_once(table, IntentMode::IX, move |tree| tree.delete_operation(key))
    }

    /// As [`delete_at_once`](Self::delete_at_once), to its end.
    pub async fn delete_as_task(&mut self, table: &Table, key: &[u8]) -> Result<()> {
        complete(self.delete_at_once(table, key)).await
    }
}

impl TableCursor {
    /// As [`advance`](Self::advance), for a task. If the rest is dropped, the position is where it
    /// was.
    #[inline]
    pub fn advance_at_once<'a>(&'a mut self, txn: &'a mut Transaction) -> AtOnce<'a, bool> {
        if !self.is_of(txn) {
            return Err(failed(Error::TransactionEnded));
        }
        let TableCursor { table, mode, inner, .. } = self;
        txn.run_at_once(table, *mode, |_| Ok(inner.advance_operation()))
    }

    /// As [`advance_at_once`](Self::advance_at_once), to its end.
    pub async fn advance_as_task(&mut self, txn: &mut Transaction) -> Result<bool> {
        complete(self.advance_at_once(txn)).await
    }
}

/// Returns the rest of an operation that has failed.
#[cold]
fn failed<'a, T: Send + 'a>(error: Error) -> OperationRest<'a, T> {
    Box::pin(ready(Err(error)))
}
