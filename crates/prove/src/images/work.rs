//! What a script does in its transactions.

use clearway_base::{Error, Lsn, Result};
use clearway_lock::WaitLimit;
use clearway_txn::{Savepoint, Table, Transaction};

use super::play::{Play, Played};
use crate::{
    cases::Held,
    oracles::{Change, Oracle, Violation},
};

/// A transaction and what it has changed.
pub(super) struct Work {
    txn: Held<Transaction>,
    changes: Vec<Change>,
}

/// A point to come back to.
pub(super) struct Mark(Savepoint, usize);

impl Play {
    /// A transaction.
    pub(super) fn begin(&mut self) -> Work {
        let mut txn = self.engine().begin();
        txn.set_wait_limit(WaitLimit::NoWait);
        Work { txn: Held::new(txn), changes: Vec::new() }
    }

    fn operate<T>(
        &mut self,
        work: &mut Work,
        what: &str,
        table: &str,
        call: impl Fn(&mut Transaction, &Table) -> Result<T>,
    ) -> Played<T> {
        let handle = self.tables.get(table).expect("scripts use tables that are there").clone();
        let work = std::cell::RefCell::new(work);
        self.attempt(what, |_| call(&mut work.borrow_mut().txn, &handle))
    }

    /// Adds a key.
    pub(super) fn insert(&mut self, w: &mut Work, table: &str, key: &[u8], value: &[u8]) -> Played {
        self.operate(w, "insert", table, |txn, handle| txn.insert(handle, key, value))?;
        w.changes.push(Change::put(table, key, value));
        Ok(())
    }

    /// Sets a key.
    pub(super) fn put(&mut self, w: &mut Work, table: &str, key: &[u8], value: &[u8]) -> Played {
        self.operate(w, "put", table, |txn, handle| txn.put(handle, key, value))?;
        w.changes.push(Change::put(table, key, value));
        Ok(())
    }

    /// Changes a key.
    pub(super) fn update(&mut self, w: &mut Work, table: &str, key: &[u8], value: &[u8]) -> Played {
        self.operate(w, "update", table, |txn, handle| txn.update(handle, key, value))?;
        w.changes.push(Change::put(table, key, value));
        Ok(())
    }

    /// Removes a key.
    pub(super) fn delete(&mut self, w: &mut Work, table: &str, key: &[u8]) -> Played {
        self.operate(w, "delete", table, |txn, handle| txn.delete(handle, key))?;
        w.changes.push(Change::delete(table, key));
        Ok(())
    }

    /// What would be put if there were room: `false` if there is none.
    pub(super) fn try_put(
        &mut self,
        w: &mut Work,
        table: &str,
        key: &[u8],
        value: &[u8],
    ) -> Played<bool> {
        let handle = self.tables.get(table).expect("scripts use tables that are there").clone();
        match w.txn.put(&handle, key, value) {
            Ok(_) => w.changes.push(Change::put(table, key, value)),
            Err(Error::DiskFull { .. } | Error::LogFull { .. }) => return Ok(false),
            Err(error) => {
                self.meet("put", &error)?;
                return Ok(false);
            }
        }
        self.note();
        Ok(true)
    }

    /// A state to come back to.
    pub(super) fn mark(&mut self, work: &mut Work) -> Mark {
        Mark(work.txn.savepoint().expect("it runs"), work.changes.len())
    }

    /// Comes back to it.
    pub(super) fn back_to(&mut self, work: &mut Work, mark: &Mark) -> Played {
        match work.txn.rollback_to(&mark.0) {
            Ok(()) => work.changes.truncate(mark.1),
            Err(error) => return self.must_have_stopped("rollback to a savepoint", &error),
        }
        self.note();
        Ok(())
    }

    /// Commits, and does not wait.
    pub(super) fn commit(&mut self, work: Work) -> Played<Lsn> {
        self.set_under_way(usize::from(!work.changes.is_empty()));
        let committed = work.txn.into_inner().commit();
        self.under_way = 0;
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
                self.must_have_stopped("commit", &error)?;
                Ok(Lsn::ZERO)
            }
        }
    }

    /// Ends a transaction as if it had not been.
    pub(super) fn roll_back(&mut self, work: Work) -> Played {
        match work.txn.into_inner().rollback() {
            Ok(_) => self.note(),
            Err(error) => self.must_have_stopped("rollback", &error)?,
        }
        Ok(())
    }

    /// Only a stopped engine may fail here.
    fn must_have_stopped(&mut self, what: &str, error: &Error) -> Played {
        self.meet(what, error)?;
        Err(Violation::unexpected(&format!("{what}, and the engine goes on"), error).into())
    }

    /// A commit that is waited for.
    pub(super) fn commit_durably(&mut self, work: Work) -> Played {
        let ack = self.commit(work)?;
        self.attempt("wait", |play| play.engine().log().wait_durable(ack))
    }

    /// A transaction that reads some keys; its answer is shown as soon as it may be (O3).
    pub(super) fn read(&mut self, table: &str, keys: &[Vec<u8>]) -> Played {
        let mut work = self.begin();
        let mut rests_on = 0;
        for key in keys {
            let found =
                self.operate(&mut work, "get", table, |txn, handle| txn.get(handle, key))?;
            let row = self.history.state().row(table, key);
            rests_on = rests_on.max(row.map_or(0, |row| row.writer));
            if found.as_deref() != row.and_then(|row| row.value.as_deref()) {
                let detail = format!("{table}/{} reads wrong", key.escape_ascii());
                return Err(Violation::new(Oracle::Serializable, detail).into());
            }
        }
        let ack = self.commit(work)?;
        let durable = self.engine().log().durable();
        self.history.check_reader(rests_on, ack, durable)?;
        if ack <= durable {
            self.history.acknowledge_commit(rests_on);
        }
        self.note();
        Ok(())
    }
}
