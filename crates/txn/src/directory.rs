//! The lock on the database's directory, and what prevents its release.
//!
//! Invariants:
//! - DIRECTORY-1. The engine holds the lock until closing is done, no transaction is active, and no
//!   [`Visit`] is under way; then no thread writes to the directory or reads from it any more. Each
//!   of the three events rechecks the other two under the mutex, so whichever happens last releases
//!   the lock. No transaction and no visit begins once the engine is closed (STATES-1). The thread
//!   that has closed the engine can wait for the release, up to a deadline
//!   ([`Directory::wait_for_users`]).
//! - DIRECTORY-2. The directory is locked as long as any part holds the lock: the opening, the
//!   engine, or a write of pages that no thread waits for any more (WRITES-3).
//!
//! Latch order: the transaction table is read under the mutex, and nothing is latched under it.

use std::{path::PathBuf, sync::Arc, time::Instant};

use clearway_base::{Error, Result};
use clearway_pool::DirectoryLock;
use clearway_sync::{Condvar, Mutex};

use crate::{health::EngineHealth, transaction_table::TransactionTable};

/// See the module.
pub(crate) struct Directory {
    path: PathBuf,
    health: Arc<EngineHealth>,
    transactions: TransactionTable,
    state: Mutex<DirectoryState>,
    /// Signalled when the lock is released.
    is_free: Condvar,
}

#[derive(Default)]
struct DirectoryState {
    lock: Option<DirectoryLock>,
    visits: u32,
    /// Closing is over.
    done: bool,
}

/// Work on the whole database that needs the directory and is no transaction.
pub(crate) struct Visit<'a> {
    directory: &'a Directory,
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        self.directory.state.lock().visits -= 1;
        self.directory.leave();
    }
}

impl Directory {
    /// The directory at `path`, which these transactions use.
    pub(crate) fn new(
        path: PathBuf,
        health: Arc<EngineHealth>,
        transactions: TransactionTable,
    ) -> Directory {
        let (state, is_free) = (Mutex::default(), Condvar::default());
        Directory { path, health, transactions, state, is_free }
    }

    /// Keeps the lock that the opening has taken.
    pub(crate) fn keep(&self, lock: DirectoryLock) {
        self.state.lock().lock = Some(lock);
    }

    /// Begins work that keeps the directory locked until it ends, even if the engine closes
    /// meanwhile.
    ///
    /// # Errors
    /// Those of [`check_open`](EngineHealth::check_open).
    pub(crate) fn visit(&self) -> Result<Visit<'_>> {
        let mut state = self.state.lock();
        self.health.check_open()?;
        state.visits += 1;
        Ok(Visit { directory: self })
    }

    /// Releases the lock if nothing needs it any more (DIRECTORY-1). Called at the end of each
    /// visit, and of each transaction that ends once the engine is closed.
    #[cold]
    pub(crate) fn leave(&self) {
        let mut state = self.state.lock();
        let is_free = state.done && state.visits == 0;
        if is_free && state.lock.is_some() && self.transactions.active() == 0 {
            state.lock = None;
            self.is_free.notify_all();
        }
    }

    /// Waits until the closed engine is no longer used and the lock is released, but no longer than
    /// until `deadline`.
    ///
    /// # Errors
    /// [`Error::StillInUse`].
    pub(crate) fn wait_for_users(&self, deadline: Instant) -> Result<()> {
        let mut state = self.state.lock();
        while state.lock.is_some() {
            if self.is_free.wait_until(&mut state, deadline).timed_out() {
                break;
            }
        }
        if state.lock.is_none() {
            return Ok(());
        }
        let (transactions, others) = (self.transactions.active(), state.visits);
        Err(Error::StillInUse { path: self.path.clone(), transactions, others })
    }

    /// Has the engine refuse further work. Under the mutex, so that a visit is either refused or
    /// counted.
    pub(crate) fn refuse_work(&self) {
        let _state = self.state.lock();
        self.health.close();
    }

    /// From here on the lock is released as soon as nothing needs it.
    pub(crate) fn finish_closing(&self) {
        self.state.lock().done = true;
        self.leave();
    }
}
