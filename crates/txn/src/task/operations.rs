//! The operations of tasks on tables.
//!
//! Each operation is first tried by a plain call, which costs about as much as the blocking method.
//! Most complete in it, without a need. Otherwise a boxed future runs the operation from its
//! beginning: only operations that wait, split a leaf, write overflow pages or fail take memory.

use std::future::Future;

use clearway_base::{Error, PageId, Result};
use clearway_lock::IntentMode;
use clearway_sync::step;
use clearway_tree::{Goal, Incomplete, LeafHint, Need, ReadIntent, Step, Tree};

use crate::{
    Table, TableCursor, Transaction,
    staging::{self, FetchStage},
    table_cursor::CursorPosition,
    transaction::{PREFETCHES_MAX, intent_mode},
    transaction_state::TransactionState,
};

/// An operation with its key and value.
trait TaskOperation {
    type Value;

    /// Returns the lock on the table that the operation needs.
    fn mode(&self) -> IntentMode;

    /// Tries the operation without a wait. Returns `None` if more is to be done.
    ///
    /// # Errors
    /// `KeyTooLarge`, `ValueTooLarge`; what the operation needs, or the error with which it has
    /// failed.
    fn attempt(
        &mut self,
        tree: &Tree,
        state: &mut TransactionState,
        hint: &mut LeafHint,
    ) -> Step<Option<Self::Value>>;

    /// Returns the function that runs the operation's steps, from the first.
    ///
    /// # Errors
    /// `KeyTooLarge`, `ValueTooLarge`.
    fn steps(
        &mut self,
        tree: &Tree,
    ) -> Result<impl FnMut(&Tree, &mut TransactionState, &mut LeafHint) -> Step<Self::Value>>;

    /// Runs the operation in a fetch stage.
    async fn fetch(&mut self, stage: &mut FetchStage, table: &Table) -> Result<Self::Value>;

    /// Returns the operation's key, if it has one, for errors.
    fn key(&self) -> Option<&[u8]> {
        None
    }

    /// Returns the leaf that the operation has come to, if its hint does not say it.
    fn leaf(&self) -> Option<PageId> {
        None
    }
}

struct Read<K> {
    key: K,
    intent: ReadIntent,
}

impl<K: AsRef<[u8]>> TaskOperation for Read<K> {
    type Value = Option<Vec<u8>>;

    #[inline]
    fn mode(&self) -> IntentMode {
        intent_mode(self.intent)
    }

    #[inline]
    fn attempt(
        &mut self,
        tree: &Tree,
        state: &mut TransactionState,
        hint: &mut LeafHint,
    ) -> Step<Option<Self::Value>> {
        let mut value = Vec::new();
        let found = tree.try_get(state, hint, self.key.as_ref(), self.intent, &mut value)?;
        Ok(Some(found.then_some(value)))
    }

    #[inline]
    fn steps(
        &mut self,
        tree: &Tree,
    ) -> Result<impl FnMut(&Tree, &mut TransactionState, &mut LeafHint) -> Step<Self::Value>> {
        tree.read_operation(self.key.as_ref(), self.intent, Vec::new())
    }

    async fn fetch(&mut self, stage: &mut FetchStage, table: &Table) -> Result<Self::Value> {
        let mut value = Vec::new();
        let found = stage.get_as_task(table, self.key.as_ref(), self.intent, &mut value).await?;
        Ok(found.then_some(value))
    }
}

struct Put<K, V> {
    key: K,
    value: V,
}

impl<K: AsRef<[u8]>, V: AsRef<[u8]>> TaskOperation for Put<K, V> {
    type Value = bool;

    #[inline]
    fn mode(&self) -> IntentMode {
        IntentMode::IX
    }

    #[inline]
    fn attempt(
        &mut self,
        tree: &Tree,
        state: &mut TransactionState,
        hint: &mut LeafHint,
    ) -> Step<Option<Self::Value>> {
        tree.try_store(state, hint, self.key.as_ref(), self.value.as_ref(), Goal::Put)
    }

    #[inline]
    fn steps(
        &mut self,
        tree: &Tree,
    ) -> Result<impl FnMut(&Tree, &mut TransactionState, &mut LeafHint) -> Step<Self::Value>> {
        tree.store_operation(self.key.as_ref(), self.value.as_ref(), Goal::Put)
    }

    async fn fetch(&mut self, stage: &mut FetchStage, table: &Table) -> Result<Self::Value> {
        let (key, value) = (self.key.as_ref(), self.value.as_ref());
        stage.write_as_task(table, key, Some(value), staging::may_be_present).await
    }
}

/// An insertion or an update.
struct Write<K, V> {
    key: K,
    value: V,
    goal: Goal,
}

impl<K: AsRef<[u8]>, V: AsRef<[u8]>> TaskOperation for Write<K, V> {
    type Value = ();

    fn key(&self) -> Option<&[u8]> {
        Some(self.key.as_ref())
    }

    #[inline]
    fn mode(&self) -> IntentMode {
        IntentMode::IX
    }

    #[inline]
    fn attempt(
        &mut self,
        tree: &Tree,
        state: &mut TransactionState,
        hint: &mut LeafHint,
    ) -> Step<Option<Self::Value>> {
        let (key, value) = (self.key.as_ref(), self.value.as_ref());
        Ok(tree.try_store(state, hint, key, value, self.goal)?.map(drop))
    }

    #[inline]
    fn steps(
        &mut self,
        tree: &Tree,
    ) -> Result<impl FnMut(&Tree, &mut TransactionState, &mut LeafHint) -> Step<Self::Value>> {
        let mut store = tree.store_operation(self.key.as_ref(), self.value.as_ref(), self.goal)?;
        Ok(move |tree: &Tree, state: &mut TransactionState, hint: &mut LeafHint| {
            store(tree, state, hint).map(drop)
        })
    }

    async fn fetch(&mut self, stage: &mut FetchStage, table: &Table) -> Result<Self::Value> {
        let (key, value) = (self.key.as_ref(), self.value.as_ref());
        let check = match self.goal {
            Goal::Insert => staging::must_be_absent,
            Goal::Update => staging::must_be_present,
            Goal::Put => staging::may_be_present,
        };
        stage.write_as_task(table, key, Some(value), check).await.map(drop)
    }
}

struct Deletion<K> {
    key: K,
}

impl<K: AsRef<[u8]>> TaskOperation for Deletion<K> {
    type Value = ();

    fn key(&self) -> Option<&[u8]> {
        Some(self.key.as_ref())
    }

    #[inline]
    fn mode(&self) -> IntentMode {
        IntentMode::IX
    }

    #[inline]
    fn attempt(
        &mut self,
        tree: &Tree,
        state: &mut TransactionState,
        hint: &mut LeafHint,
    ) -> Step<Option<Self::Value>> {
        tree.try_delete(state, hint, self.key.as_ref()).map(Some)
    }

    #[inline]
    fn steps(
        &mut self,
        tree: &Tree,
    ) -> Result<impl FnMut(&Tree, &mut TransactionState, &mut LeafHint) -> Step<Self::Value>> {
        tree.delete_operation(self.key.as_ref())
    }

    async fn fetch(&mut self, stage: &mut FetchStage, table: &Table) -> Result<Self::Value> {
        stage
            .write_as_task(table, self.key.as_ref(), None, staging::must_be_present)
            .await
            .map(drop)
    }
}

impl TaskOperation for &mut CursorPosition {
    type Value = bool;

    #[inline]
    fn mode(&self) -> IntentMode {
        self.mode
    }

    #[inline]
    fn attempt(
        &mut self,
        tree: &Tree,
        state: &mut TransactionState,
        hint: &mut LeafHint,
    ) -> Step<Option<Self::Value>> {
        let found = (self.inner.advance_operation())(tree, state, hint)?;
        if state.is_optimistic() {
            state.note_touched(self.inner.leaf());
        }
        Ok(Some(found))
    }

    #[inline]
    fn steps(
        &mut self,
        _: &Tree,
    ) -> Result<impl FnMut(&Tree, &mut TransactionState, &mut LeafHint) -> Step<Self::Value>> {
        Ok(self.inner.advance_operation())
    }

    async fn fetch(&mut self, stage: &mut FetchStage, table: &Table) -> Result<Self::Value> {
        self.advance_fetching(stage, table).await
    }

    fn leaf(&self) -> Option<PageId> {
        self.inner.leaf()
    }
}

impl Transaction {
    /// Runs an operation of a task. A deadlock's victim is rolled back before the result is
    /// returned.
    ///
    /// Not an `async fn`: that would move its arguments at its first poll.
    #[inline]
    #[allow(clippy::manual_async_fn)]
    fn operation<O: TaskOperation>(
        &mut self,
        table: &Table,
        mut operation: O,
    ) -> impl Future<Output = Result<O::Value>> {
        async move {
            match self.attempt(table, &mut operation) {
                Ok(value) => Ok(value),
                Err(stop) => {
                    let rest = self.operate_as_task(table, operation, stop);
                    Box::pin(step::never_blocking(rest)).await
                }
            }
        }
    }

    /// Tries an operation without a wait. Returns the error `None` if it was not completed for
    /// another reason than a need or an error.
    #[inline]
    fn attempt<O: TaskOperation>(
        &mut self,
        table: &Table,
        operation: &mut O,
    ) -> std::result::Result<O::Value, Option<Incomplete>> {
        if self.check_process().is_err() {
            return Err(None);
        }
        match self.state.as_deref_mut() {
            Some(state) if !state.has_unlinked() => {
                let tree = table.tree();
                state.try_operation(table, operation.mode(), |state, hint| {
                    operation.attempt(tree, state, hint)
                })
            }
            _ => Err(None),
        }
    }

    /// Runs an operation after an attempt that has not completed it; `stop` is the attempt's error
    /// or need, if it had one.
    #[cold]
    async fn operate_as_task<O: TaskOperation>(
        &mut self,
        table: &Table,
        mut operation: O,
        stop: Option<Incomplete>,
    ) -> Result<O::Value> {
        self.check_process()?;
        let result = match stop.map(Incomplete::need).transpose() {
            // The steps request a lock themselves: they release it if they turn out not to need it.
            Ok(need) => {
                let need = need.filter(|need| !matches!(need, Need::Lock { .. }));
                self.run_to_end(table, &mut operation, need).await
            }
            Err(error) => Err(error),
        };
        let result = match (self.after_task(result).await, self.stage()) {
            (Err(_), Some(stage)) => operation.fetch(stage, table).await,
            (result, _) => result,
        };
        result.map_err(|error| match operation.key() {
            Some(key) => error.at_key(table.name(), key),
            None => error,
        })
    }

    async fn run_to_end<O: TaskOperation>(
        &mut self,
        table: &Table,
        operation: &mut O,
        need: Option<Need>,
    ) -> Result<O::Value> {
        let mode = operation.mode();
        let steps = operation.steps(table.tree())?;
        let state = self.state_as_task().await?;
        let value = state.operate_as_task(table, mode, steps, need).await?;
        state.note_touched(operation.leaf());
        Ok(value)
    }

    /// As [`get`](Self::get) and [`get_for_update`](Self::get_for_update), for a task.
    #[inline]
    pub fn get_as_task(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        intent: ReadIntent,
    ) -> impl Future<Output = Result<Option<Vec<u8>>>> {
        self.operation(table, Read { key, intent })
    }

    /// As [`get_many`](Self::get_many), for a task.
    pub async fn get_many_as_task<K: AsRef<[u8]>>(
        &mut self,
        table: &Table,
        keys: &[K],
    ) -> Result<Vec<Option<Vec<u8>>>> {
        let mut values = Vec::with_capacity(keys.len());
        for keys in keys.chunks(table.tree().prefetch_max()) {
            step::never_blocking(self.prefetch_together_as_task(table, keys)).await?;
            for key in keys {
                values.push(self.get_as_task(table, key, ReadIntent::Read).await?);
            }
        }
        Ok(values)
    }

    /// As [`prefetch`](Self::prefetch), for a task.
    pub async fn prefetch_as_task<K: AsRef<[u8]>>(
        &mut self,
        table: &Table,
        keys: &[K],
    ) -> Result<()> {
        let together = table.tree().prefetch_max();
        let mut left = together * PREFETCHES_MAX;
        for keys in keys.chunks(together) {
            let absent = step::never_blocking(self.prefetch_together_as_task(table, keys)).await?;
            left = left.saturating_sub(absent);
            if left == 0 {
                break;
            }
        }
        Ok(())
    }

    async fn prefetch_together_as_task<K: AsRef<[u8]>>(
        &mut self,
        table: &Table,
        keys: &[K],
    ) -> Result<usize> {
        let read = match self.state_as_task().await {
            Ok(state) => state.prefetch_as_task(table, keys).await,
            Err(error) => Err(error),
        };
        match (self.after_task(read).await, self.stage()) {
            (Err(_), Some(stage)) => stage.prefetch(table, keys).await,
            (read, _) => read,
        }
    }

    /// As [`insert`](Self::insert), for a task.
    #[inline]
    pub fn insert_as_task(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> impl Future<Output = Result<()>> {
        self.operation(table, Write { key, value, goal: Goal::Insert })
    }

    /// As [`put`](Self::put), for a task.
    #[inline]
    pub fn put_as_task(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> impl Future<Output = Result<bool>> {
        self.operation(table, Put { key, value })
    }

    /// As [`update`](Self::update), for a task.
    #[inline]
    pub fn update_as_task(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> impl Future<Output = Result<()>> {
        self.operation(table, Write { key, value, goal: Goal::Update })
    }

    /// As [`delete`](Self::delete), for a task.
    #[inline]
    pub fn delete_as_task(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
    ) -> impl Future<Output = Result<()>> {
        self.operation(table, Deletion { key })
    }
}

impl TableCursor {
    /// As [`advance`](Self::advance), for a task. If the future is dropped, the position is where
    /// it was.
    #[inline]
    #[allow(clippy::manual_async_fn)]
    pub fn advance_as_task(&mut self, txn: &mut Transaction) -> impl Future<Output = Result<bool>> {
        async move {
            if !self.is_of(txn) {
                return Err(Error::TransactionEnded);
            }
            let TableCursor { table, position, .. } = self;
            position.inner.begin_advance();
            txn.operation(table, position).await
        }
    }
}
