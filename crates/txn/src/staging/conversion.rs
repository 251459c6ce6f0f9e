//! The conversion of the optimistic run of a closure into a fetch stage, at the run's first absent
//! page.
//!
//! ```text
//!   operation: page absent ──► newest change: read, then undone ──► … ──► locks released
//!     ──► fetch stage: overlay = the undone changes, pins = the leaves it came to
//!     ──► the same operation again, and the rest of the closure
//! ```
//!
//! Invariants:
//! - CONVERSION-1. Afterwards the transaction holds no lock, and the database is as if it had
//!   rolled back. The closure notices nothing: the overlay says what the transaction had written,
//!   and savepoints and cursors stay valid.
//! - CONVERSION-2. Each change in the overlay has the position of the change in the undo list, so
//!   the position of a savepoint is the same in both.
//! - CONVERSION-3. No page is awaited while locks are held, besides those that the undo needs. If
//!   what was written cannot be read without waiting, the stage is over at once (STAGING-3).
//! - CONVERSION-4. The closure remembers what it has read, so the operate stage takes over the
//!   highest tag (RETRY-5). Its priority among victims is the same as before.
//!
//! Algorithm
//! : "High-Performance Transaction Processing in Charm", section 3.2 (OTSTE).
//!
//! Differences
//! : The paper pins the pages when they are touched. Here they are noted, and pinned at the
//!   conversion. The paper does not say what the closure sees of its undone writes.

use std::task::{Context, Poll};

use clearway_base::{Result, TreeId};
use clearway_tree::{LeafHint, ReadIntent, changed_key};

use super::FetchStage;
use crate::{
    finish,
    stage_memory::{Overlay, Unlocked},
    task_work::Reply,
    transaction_state::{RetryContext, TransactionState},
};

/// A change of a transaction: tree, key, and the value after it; `None` if the key is absent then.
type ChangedKey = (TreeId, Vec<u8>, Option<Vec<u8>>);

/// Converts a transaction, into a fetch stage in the state `next`. Also returns what the operate
/// stage takes over. The caller calls [`FetchStage::keep_touched`]. Blocks, unless there is nothing
/// to undo.
///
/// # Errors
/// As for [`Transaction::rollback`](crate::Transaction::rollback).
#[cold]
pub(crate) fn convert(
    mut state: Box<TransactionState>,
    mut next: Box<TransactionState>,
    is_of_task: bool,
) -> (Result<FetchStage>, RetryContext) {
    let (context, mut touched) = (state.conversion_context(), state.take_touched());
    next.limit = state.limit;
    let mut stage = FetchStage::new(next, is_of_task);
    (stage.savepoints, stage.savepoint_serial) = (state.savepoints.clone(), state.savepoint_serial);
    match undo_and_leave(state) {
        Ok((changes, is_whole)) => {
            stage.memory.overlay = overlay_of(&changes);
            stage.is_over = !is_whole;
            touched.reverse();
            stage.touched = touched;
            (Ok(stage), context)
        }
        Err(error) => {
            drop(stage.end());
            (Err(error), context)
        }
    }
}

/// The result of a task's conversion, and what the operate stage takes over.
pub(crate) type Converted = (Result<ConvertedStage>, RetryContext);

/// A fetch stage on its way to its transaction. If that does not take it, the stage ends.
pub(crate) struct ConvertedStage(Option<Box<FetchStage>>);

impl ConvertedStage {
    pub(crate) fn take(mut self) -> Option<Box<FetchStage>> {
        self.0.take()
    }
}

impl Drop for ConvertedStage {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(|stage| drop(stage.end()));
    }
}

/// A conversion that a thread of the engine makes for a task.
pub(crate) struct Conversion(Reply<Converted>);

impl Conversion {
    /// Hands the conversion over.
    pub(crate) fn begin(state: Box<TransactionState>, next: Box<TransactionState>) -> Conversion {
        let blocking = state.core.task_work.blocking.clone();
        state.entry().hand_over();
        Conversion(blocking.call(move || convert_for_task(state, next)))
    }

    /// Returns the result once it is there.
    ///
    /// # Errors
    /// [`Error::Panicked`](clearway_base::Error::Panicked) if the thread has panicked.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Converted>> {
        self.0.poll(cx)
    }
}

/// As [`convert`], for a task.
pub(crate) fn convert_for_task(
    state: Box<TransactionState>,
    next: Box<TransactionState>,
) -> Converted {
    let (stage, context) = convert(state, next, true);
    (stage.map(|stage| ConvertedStage(Some(Box::new(stage)))), context)
}

/// Undoes all changes and ends the transaction. Returns the changes, oldest first, and whether
/// their values are all there (CONVERSION-3).
fn undo_and_leave(mut state: Box<TransactionState>) -> Result<(Vec<ChangedKey>, bool)> {
    if let Err(error) = state.core.health.check_open() {
        finish::abandon(state);
        return Err(error);
    }
    match undo(&mut state) {
        Ok(undone) => finish::rollback(state).map(|_| undone),
        Err(error) => {
            // As in a rollback: recovery undoes the rest.
            let error = state.core.health.fail(error);
            finish::abandon(state);
            Err(error)
        }
    }
}

/// Undoes all changes; see [`undo_and_leave`].
fn undo(state: &mut TransactionState) -> Result<(Vec<ChangedKey>, bool)> {
    let (mut changes, mut is_whole) = (Vec::new(), true);
    let mut body = Vec::new();
    while state.newest_change(&mut body) {
        if let Some((tree, key)) = changed_key(&body) {
            let value = present_value(state, tree, key);
            is_whole &= value.is_some();
            changes.push((tree, key.to_vec(), value.flatten()));
        }
        state.undo_newest()?;
    }
    changes.reverse();
    Ok((changes, is_whole))
}

/// Returns the value of a key that the transaction has locked; `None` if a page is absent.
fn present_value(state: &TransactionState, tree: TreeId, key: &[u8]) -> Option<Option<Vec<u8>>> {
    let table = state.core.tables.by_id(tree)?;
    let tree = table.tree();
    let mut read = tree.read_operation(key, ReadIntent::Read, Vec::new()).ok()?;
    tree.step(&mut read, &mut Unlocked::default(), &mut LeafHint::default()).ok()
}

fn overlay_of(changes: &[ChangedKey]) -> Overlay {
    let mut overlay = Overlay::recorded(); // CONVERSION-2
    for (tree, key, value) in changes {
        overlay.set(*tree, key, value.as_deref());
    }
    overlay
}
