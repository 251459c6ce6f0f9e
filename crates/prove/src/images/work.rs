//! The transactions of a scenario.

use clearway_base::{Error, Lsn, Result};
use clearway_lock::WaitLimit;
use clearway_sync::block_on;
use clearway_txn::{Kind, Savepoint, Table, Transaction};

use super::runner::{ScenarioRunner, StepResult};
use crate::{
    cases::Held,
    oracles::{Change, Oracle, Violation},
};

/// A transaction and its changes.
pub(super) struct Work {
    pub(super) txn: Held<Transaction>,
    /// True if its operations are futures.
    is_task: bool,
    pub(super) changes: Vec<Change>,
}

/// A savepoint, and the number of changes before it.
pub(super) struct MarkedState(Savepoint, usize);

impl ScenarioRunner {
    /// Begins a transaction.
    pub(super) fn begin(&mut self) -> Work {
        self.work(self.engine().begin(), false)
    }

    /// Begins the transaction of a task.
    pub(super) fn begin_task(&mut self) -> Work {
        self.work(self.engine().begin_task(Kind::NONE), true)
    }

    fn work(&self, mut txn: Transaction, is_task: bool) -> Work {
        txn.set_wait_limit(WaitLimit::NoWait);
        Work { txn: Held::new(txn), is_task, changes: Vec::new() }
    }

    fn operate<T>(
        &mut self,
        work: &mut Work,
        what: &str,
        table: &str,
        call: impl Fn(&mut Transaction, &Table) -> Result<T>,
    ) -> StepResult<T> {
        let handle = self.tables.get(table).expect("scenarios use tables that are there").clone();
        let work = std::cell::RefCell::new(work);
        self.attempt(what, |_| call(&mut work.borrow_mut().txn, &handle))
    }

    /// Inserts a key.
    pub(super) fn insert(
        &mut self,
        w: &mut Work,
        table: &str,
        key: &[u8],
        value: &[u8],
    ) -> StepResult {
        let is_task = w.is_task;
        self.operate(w, "insert", table, |txn, handle| match is_task {
            true => block_on(txn.insert_as_task(handle, key, value)),
            false => txn.insert(handle, key, value),
        })?;
        w.changes.push(Change::put(table, key, value));
        Ok(())
    }

    /// Sets a key, whether or not it is present.
    pub(super) fn put(
        &mut self,
        w: &mut Work,
        table: &str,
        key: &[u8],
        value: &[u8],
    ) -> StepResult {
        let is_task = w.is_task;
        self.operate(w, "put", table, |txn, handle| match is_task {
            true => block_on(txn.put_as_task(handle, key, value)),
            false => txn.put(handle, key, value),
        })?;
        w.changes.push(Change::put(table, key, value));
        Ok(())
    }

    /// Changes the value of a key.
    pub(super) fn update(
        &mut self,
        w: &mut Work,
        table: &str,
        key: &[u8],
        value: &[u8],
    ) -> StepResult {
        let is_task = w.is_task;
        self.operate(w, "update", table, |txn, handle| match is_task {
            true => block_on(txn.update_as_task(handle, key, value)),
            false => txn.update(handle, key, value),
        })?;
        w.changes.push(Change::put(table, key, value));
        Ok(())
    }

    /// Deletes a key.
    pub(super) fn delete(&mut self, w: &mut Work, table: &str, key: &[u8]) -> StepResult {
        let is_task = w.is_task;
        self.operate(w, "delete", table, |txn, handle| match is_task {
            true => block_on(txn.delete_as_task(handle, key)),
            false => txn.delete(handle, key),
        })?;
        w.changes.push(Change::delete(table, key));
        Ok(())
    }

    /// Sets a key if there is room for it. Returns false if there is none.
    pub(super) fn try_put(
        &mut self,
        w: &mut Work,
        table: &str,
        key: &[u8],
        value: &[u8],
    ) -> StepResult<bool> {
        let handle = self.tables.get(table).expect("scenarios use tables that are there").clone();
        match w.txn.put(&handle, key, value) {
            Ok(_) => w.changes.push(Change::put(table, key, value)),
            Err(Error::DiskFull { .. } | Error::LogFull { .. }) => return Ok(false),
            Err(error) => {
                self.handle_error("put", &error)?;
                return Ok(false);
            }
        }
        self.note();
        Ok(true)
    }

    /// Sets a savepoint.
    pub(super) fn savepoint(&mut self, work: &mut Work) -> MarkedState {
        MarkedState(work.txn.savepoint().expect("it runs"), work.changes.len())
    }

    /// Rolls the transaction back to a savepoint.
    pub(super) fn rollback_to(&mut self, work: &mut Work, mark: &MarkedState) -> StepResult {
        match work.txn.rollback_to(&mark.0) {
            Ok(()) => work.changes.truncate(mark.1),
            Err(error) => return self.expect_stopped("rollback to a savepoint", &error),
        }
        self.note();
        Ok(())
    }

    /// Commits, and does not wait until the commit is durable.
    pub(super) fn commit(&mut self, work: Work) -> StepResult<Lsn> {
        self.set_in_progress(usize::from(!work.changes.is_empty()));
        let (txn, is_task) = (work.txn.into_inner(), work.is_task);
        let committed = if is_task { block_on(txn.commit_as_task()) } else { txn.commit() };
        self.in_progress = 0;
        match committed {
            Ok(done) => {
                if !work.changes.is_empty() {
                    self.history.commit(done.ack, work.changes);
                }
                self.note();
                Ok(done.ack)
            }
            Err(error) => {
                if error.is_outcome_unknown() {
                    self.history.commit(Lsn::MAX, work.changes);
                }
                self.expect_stopped("commit", &error)?;
                Ok(Lsn::ZERO)
            }
        }
    }

    /// Rolls a transaction back.
    pub(super) fn roll_back(&mut self, work: Work) -> StepResult {
        match work.txn.into_inner().rollback() {
            Ok(_) => self.note(),
            Err(error) => self.expect_stopped("rollback", &error)?,
        }
        Ok(())
    }

    /// Drops the transaction of a task: the engine rolls it back.
    pub(super) fn abandon_work(&mut self, work: Work) -> StepResult {
        drop(work.txn.into_inner());
        match self.engine().log().health() {
            Ok(()) => self.note(),
            Err(error) => self.expect_stopped("a drop", &error)?,
        }
        Ok(())
    }

    /// Handles an error that only a stopped engine may return.
    fn expect_stopped(&mut self, what: &str, error: &Error) -> StepResult {
        self.handle_error(what, error)?;
        Err(Violation::unexpected(&format!("{what}, and the engine goes on"), error).into())
    }

    /// Commits, and waits until the commit is durable.
    pub(super) fn commit_durably(&mut self, work: Work) -> StepResult {
        let ack = self.commit(work)?;
        self.attempt("wait", |runner| runner.engine().log().wait_durable(ack))
    }

    /// Runs a transaction that reads some keys. Its result is acknowledged as soon as that is
    /// permitted (ORACLE-3).
    pub(super) fn read(&mut self, table: &str, keys: &[Vec<u8>]) -> StepResult {
        let mut work = self.begin();
        let mut depends_on = 0;
        for key in keys {
            let found =
                self.operate(&mut work, "get", table, |txn, handle| txn.get(handle, key))?;
            let row = self.history.state().row(table, key);
            depends_on = depends_on.max(row.map_or(0, |row| row.writer));
            if found.as_deref() != row.and_then(|row| row.value.as_deref()) {
                let detail = format!("{table}/{} reads wrong", key.escape_ascii());
                return Err(Violation::new(Oracle::Serializable, detail).into());
            }
        }
        let ack = self.commit(work)?;
        let durable = self.engine().log().durable();
        self.history.check_reader(depends_on, ack, durable)?;
        if ack <= durable {
            self.history.acknowledge_commit(depends_on);
        }
        self.note();
        Ok(())
    }
}
