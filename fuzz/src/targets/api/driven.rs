//! A transaction whose operations block, or are those of a task.

use std::{
    future::Future,
    ops::Bound,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use clearway_base::Result;
use clearway_lock::WaitLimit;
use clearway_tree::{Direction, ReadIntent};
use clearway_txn::{Committed, Engine, Kind, Savepoint, Table, TableCursor, Transaction};

/// The way in which operations wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Driver {
    Blocking,
    Task,
}

/// A transaction with its driver. Nothing holds what its operations need, so they do not wait.
pub(super) struct DrivenTransaction {
    txn: Transaction,
    driver: Driver,
}

/// Returns the result of an operation of a task that need not wait.
fn at_once<T>(operation: impl Future<Output = T>) -> T {
    match pin!(operation).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("an operation waits, and no other transaction holds anything"),
    }
}

/// Runs one of two calls of the same operation, by the driver.
macro_rules! drive {
    ($driver:expr, $blocking:expr, $task:expr) => {
        match $driver {
            Driver::Blocking => $blocking,
            Driver::Task => at_once($task),
        }
    };
}

impl DrivenTransaction {
    pub(super) fn begin(engine: &Arc<Engine>, driver: Driver) -> DrivenTransaction {
        let mut txn = match driver {
            Driver::Blocking => engine.begin(),
            Driver::Task => engine.begin_task(Kind::NONE),
        };
        if driver == Driver::Task {
            // Without background threads a task that has a limit is woken again and again.
            txn.set_wait_limit(WaitLimit::Forever);
        }
        DrivenTransaction { txn, driver }
    }

    /// The transaction itself, for operations that wait.
    pub(super) fn inner(&mut self) -> &mut Transaction {
        &mut self.txn
    }

    pub(super) fn get(&mut self, table: &Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let txn = &mut self.txn;
        drive!(self.driver, txn.get(table, key), txn.get_as_task(table, key, ReadIntent::Read))
    }

    pub(super) fn insert(&mut self, table: &Table, key: &[u8], value: &[u8]) -> Result<()> {
        let txn = &mut self.txn;
        drive!(self.driver, txn.insert(table, key, value), txn.insert_as_task(table, key, value))
    }

    pub(super) fn put(&mut self, table: &Table, key: &[u8], value: &[u8]) -> Result<bool> {
        let txn = &mut self.txn;
        drive!(self.driver, txn.put(table, key, value), txn.put_as_task(table, key, value))
    }

    pub(super) fn update(&mut self, table: &Table, key: &[u8], value: &[u8]) -> Result<()> {
        let txn = &mut self.txn;
        drive!(self.driver, txn.update(table, key, value), txn.update_as_task(table, key, value))
    }

    pub(super) fn delete(&mut self, table: &Table, key: &[u8]) -> Result<()> {
        let txn = &mut self.txn;
        drive!(self.driver, txn.delete(table, key), txn.delete_as_task(table, key))
    }

    pub(super) fn cursor(
        &mut self,
        table: &Table,
        (lower, upper): (Bound<Vec<u8>>, Bound<Vec<u8>>),
        direction: Direction,
    ) -> Result<TableCursor> {
        let (txn, intent) = (&mut self.txn, ReadIntent::Read);
        match self.driver {
            Driver::Blocking => txn.cursor(table, lower, upper, direction, intent),
            Driver::Task => at_once(txn.cursor_as_task(table, lower, upper, direction, intent)),
        }
    }

    /// Returns the cursor's next entry.
    pub(super) fn next(&mut self, cursor: &mut TableCursor) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let txn = &mut self.txn;
        let is_there = drive!(self.driver, cursor.advance(txn), cursor.advance_as_task(txn))?;
        let (key, value) = cursor.entry();
        Ok(is_there.then(|| (key.to_vec(), value.to_vec())))
    }

    pub(super) fn savepoint(&mut self) -> Result<Savepoint> {
        let txn = &mut self.txn;
        drive!(self.driver, txn.savepoint(), txn.savepoint_as_task())
    }

    pub(super) fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<()> {
        let txn = &mut self.txn;
        drive!(self.driver, txn.rollback_to(savepoint), txn.rollback_to_as_task(savepoint))
    }

    pub(super) fn commit(self) -> Result<Committed> {
        drive!(self.driver, self.txn.commit(), self.txn.commit_as_task())
    }

    pub(super) fn rollback(self) -> Result<()> {
        drive!(self.driver, self.txn.rollback(), self.txn.rollback_as_task()).map(drop)
    }
}

/// An operation of a task, which is polled by hand.
pub(super) struct Polled<F> {
    operation: Pin<Box<F>>,
    woken: Arc<Woken>,
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl<F: Future> Polled<F> {
    pub(super) fn new(operation: F) -> Polled<F> {
        Polled { operation: Box::pin(operation), woken: Arc::new(Woken(AtomicBool::new(true))) }
    }

    /// Polls the operation if it was woken; returns its result if it has one.
    pub(super) fn poll(&mut self) -> Option<F::Output> {
        if !self.woken.0.swap(false, Ordering::SeqCst) {
            return None;
        }
        let waker = Waker::from(self.woken.clone());
        match self.operation.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(result) => Some(result),
            Poll::Pending => None,
        }
    }
}
