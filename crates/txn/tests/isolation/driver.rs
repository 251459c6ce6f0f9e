//! A session's transaction, under each driver.

use std::{ops::Bound, sync::Arc};

use clearway_base::Result;
use clearway_lock::{AbsoluteMode, WaitLimit};
use clearway_testkit::polled_once;
use clearway_tree::{Direction, ReadIntent};
use clearway_txn::{Committed, Engine, Kind, Savepoint, Table, TableCursor, Transaction};

/// The way in which the operations of sessions wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Driver {
    /// Each session has a thread, which blocks.
    Blocking,
    /// All sessions are tasks, which one thread polls when they were woken.
    Task,
    /// As `Task`, but an operation that waits is dropped, and requested again. As no other session
    /// goes on in between, the outcome is the same.
    DroppingTask,
}

impl Driver {
    pub(crate) const ALL: [Driver; 3] = [Driver::Blocking, Driver::Task, Driver::DroppingTask];
}

/// A transaction with its driver. Under [`Driver::Blocking`] the futures of its methods are ready
/// at their first poll.
pub(crate) struct DrivenTransaction {
    txn: Transaction,
    driver: Driver,
}

/// Runs one of two calls of the same operation, by the driver.
macro_rules! drive {
    ($driver:expr, $blocking:expr, $task:expr) => {
        match $driver {
            Driver::Blocking => $blocking,
            Driver::Task => $task.await,
            Driver::DroppingTask => match polled_once($task).await {
                Some(result) => result,
                None => $task.await,
            },
        }
    };
}

impl DrivenTransaction {
    pub(crate) fn begin(engine: &Arc<Engine>, driver: Driver) -> DrivenTransaction {
        let txn = match driver {
            Driver::Blocking => engine.begin(),
            Driver::Task | Driver::DroppingTask => engine.begin_task(Kind::NONE),
        };
        DrivenTransaction { txn, driver }
    }

    pub(crate) fn set_wait_limit(&mut self, limit: WaitLimit) {
        self.txn.set_wait_limit(limit);
    }

    pub(crate) async fn get(
        &mut self,
        table: &Table,
        key: &[u8],
        intent: ReadIntent,
    ) -> Result<Option<Vec<u8>>> {
        let blocking = |txn: &mut Transaction| match intent {
            ReadIntent::Read => txn.get(table, key),
            ReadIntent::Update => txn.get_for_update(table, key),
        };
        drive!(self.driver, blocking(&mut self.txn), self.txn.get_as_task(table, key, intent))
    }

    pub(crate) async fn insert(&mut self, table: &Table, key: &[u8], value: &[u8]) -> Result<()> {
        let txn = &mut self.txn;
        drive!(self.driver, txn.insert(table, key, value), txn.insert_as_task(table, key, value))
    }

    pub(crate) async fn put(&mut self, table: &Table, key: &[u8], value: &[u8]) -> Result<bool> {
        let txn = &mut self.txn;
        drive!(self.driver, txn.put(table, key, value), txn.put_as_task(table, key, value))
    }

    pub(crate) async fn update(&mut self, table: &Table, key: &[u8], value: &[u8]) -> Result<()> {
        let txn = &mut self.txn;
        drive!(self.driver, txn.update(table, key, value), txn.update_as_task(table, key, value))
    }

    pub(crate) async fn delete(&mut self, table: &Table, key: &[u8]) -> Result<()> {
        let txn = &mut self.txn;
        drive!(self.driver, txn.delete(table, key), txn.delete_as_task(table, key))
    }

    pub(crate) async fn lock_table(&mut self, table: &Table, mode: AbsoluteMode) -> Result<()> {
        let txn = &mut self.txn;
        drive!(self.driver, txn.lock_table(table, mode), txn.lock_table_as_task(table, mode))
    }

    pub(crate) async fn lock_database(&mut self, mode: AbsoluteMode) -> Result<()> {
        let txn = &mut self.txn;
        drive!(self.driver, txn.lock_database(mode), txn.lock_database_as_task(mode))
    }

    pub(crate) async fn cursor(
        &mut self,
        table: &Table,
        (lower, upper): (Bound<Vec<u8>>, Bound<Vec<u8>>),
        direction: Direction,
        intent: ReadIntent,
    ) -> Result<TableCursor> {
        let (txn, ends) = (&mut self.txn, || (lower.clone(), upper.clone()));
        drive!(
            self.driver,
            txn.cursor(table, ends().0, ends().1, direction, intent),
            txn.cursor_as_task(table, ends().0, ends().1, direction, intent)
        )
    }

    /// Returns the cursor's next entry.
    pub(crate) async fn next(
        &mut self,
        cursor: &mut TableCursor,
    ) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let txn = &mut self.txn;
        let is_there = drive!(self.driver, cursor.advance(txn), cursor.advance_as_task(txn))?;
        let (key, value) = cursor.entry();
        Ok(is_there.then(|| (key.to_vec(), value.to_vec())))
    }

    pub(crate) async fn savepoint(&mut self) -> Result<Savepoint> {
        let txn = &mut self.txn;
        drive!(self.driver, txn.savepoint(), txn.savepoint_as_task())
    }

    pub(crate) async fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<()> {
        match self.driver {
            Driver::Blocking => self.txn.rollback_to(savepoint),
            _ => self.txn.rollback_to_as_task(savepoint).await,
        }
    }

    pub(crate) async fn commit(self) -> Result<Committed> {
        match self.driver {
            Driver::Blocking => self.txn.commit(),
            _ => self.txn.commit_as_task().await,
        }
    }

    pub(crate) async fn rollback(self) -> Result<()> {
        match self.driver {
            Driver::Blocking => self.txn.rollback(),
            _ => self.txn.rollback_as_task().await,
        }
        .map(drop)
    }
}
