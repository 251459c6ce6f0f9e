//! Reads the contents of a whole database.

use std::{ops::Bound, sync::Arc};

use clearway_base::Result;
use clearway_lock::WaitLimit;
use clearway_sync::block_on;
use clearway_tree::{Direction, ReadIntent};
use clearway_txn::{Engine, Kind};

use super::{Oracle, Row, Rows, State, Verdict, Violation};

/// Returns the contents of all tables, read by transactions that do not wait for locks.
///
/// # Errors
/// An error of the engine.
pub fn read_state(engine: &Arc<Engine>) -> Result<State> {
    state_of(engine, read_table)
}

/// Returns what [`read_state`] returns, read by tasks.
///
/// # Errors
/// An error of the engine.
pub fn read_state_as_task(engine: &Arc<Engine>) -> Result<State> {
    state_of(engine, |engine, name| block_on(read_table_as_task(engine, name)))
}

fn state_of(
    engine: &Arc<Engine>,
    read: impl Fn(&Arc<Engine>, &str) -> Result<Rows>,
) -> Result<State> {
    let mut state = State::new();
    for name in engine.tables() {
        let rows = read(engine, &name)?;
        state.set_table(&name, Some(rows));
    }
    Ok(state)
}

/// Returns the rows of one table, read by a transaction that does not wait for locks.
///
/// # Errors
/// An error of the engine.
pub fn read_table(engine: &Arc<Engine>, name: &str) -> Result<Rows> {
    let table = engine.open_table(name)?;
    let mut txn = engine.begin();
    txn.set_wait_limit(WaitLimit::NoWait);
    let (low, high) = (Bound::Unbounded, Bound::Unbounded);
    let mut cursor = txn.cursor(&table, low, high, Direction::Ascending, ReadIntent::Read)?;
    let mut rows = Rows::new();
    while let Some((key, value)) = cursor.next(&mut txn)? {
        rows.insert(key, Row { value: Some(value), writer: 0 });
    }
    txn.rollback()?;
    Ok(rows)
}

async fn read_table_as_task(engine: &Arc<Engine>, name: &str) -> Result<Rows> {
    let table = engine.open_table(name)?;
    let mut txn = engine.begin_task(Kind::NONE);
    txn.set_wait_limit(WaitLimit::NoWait);
    let (low, high) = (Bound::Unbounded, Bound::Unbounded);
    let opened = txn.cursor_as_task(&table, low, high, Direction::Ascending, ReadIntent::Read);
    let mut cursor = opened.await?;
    let mut rows = Rows::new();
    while cursor.advance_as_task(&mut txn).await? {
        let (key, value) = cursor.entry();
        rows.insert(key.to_vec(), Row { value: Some(value.to_vec()), writer: 0 });
    }
    txn.rollback_as_task().await?;
    Ok(rows)
}

/// ORACLE-5: checks that two recoveries of the same disk give the same contents.
///
/// # Errors
/// If the contents differ.
pub fn check_same(one: &State, other: &State) -> Verdict {
    match one.difference(other) {
        None => Ok(()),
        Some(detail) => Err(Violation::new(Oracle::Idempotent, detail)),
    }
}
