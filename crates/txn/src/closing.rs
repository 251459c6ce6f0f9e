//! The end of an engine: it is closed in good order, or abandoned because its opening failed.
//!
//! ```text
//!   pending leaves visited ─► no more work ─► threads joined ─► no more transactions
//!   ─► frees tried again, or left to recovery ─► pages clean, checkpoint
//!   ─► log closed ─► cleaner joined ─► done ─► directory's lock released
//! ```
//!
//! Invariants:
//! - CLOSING-1. Closing neither commits nor rolls back. The unfinished work of a transaction that
//!   has not committed stays registered (TXN-TABLE-6), so the closing checkpoint lists the
//!   transaction, and the next opening undoes it. A commit record is in the log before the closing
//!   trailer, or is refused.
//! - CLOSING-2. The directory is locked until closing is done, no transaction is active, and no
//!   [`Visit`] is under way; then no thread writes to it or reads from it any more. Each of the
//!   three events rechecks the other two under the directory's mutex, so whichever happens last
//!   releases the lock. No transaction and no visit begins once the engine is closed (TXN-TABLE-7).
//!   The thread that has closed the engine can wait for the release, up to a deadline
//!   ([`Core::wait_for_users`]).
//! - CLOSING-3. A closed engine keeps no transaction state, since each holds a reference to the
//!   core: a state is dropped when its transaction ends, and deallocations that failed are left to
//!   recovery.
//!
//! Latch order: the engine's outcome → a checkpoint's mutex and what comes after it. The
//! directory's mutex is held while the transaction table is read, and nothing is latched under it.

use std::{sync::Arc, time::Instant};

use clearway_base::{
    Error, Result,
    failpoint::{self, Failpoint},
};
use clearway_sync::{Condvar, Mutex, atomic::Ordering};

use crate::{
    background::Background,
    checkpoint::{self, Cleaning},
    core::Core,
    finish, upkeep,
};

/// The directory's lock, and what prevents its release (CLOSING-2).
#[derive(Default)]
pub(crate) struct Directory {
    state: Mutex<ClosingState>,
    /// Signalled when the lock is released.
    is_free: Condvar,
}

#[derive(Default)]
struct ClosingState {
    lock: Option<Box<dyn Send + Sync>>,
    visits: u32,
    /// Closing is over.
    done: bool,
}

impl Directory {
    /// Keeps the lock that the opening has taken.
    pub(crate) fn keep(&self, lock: Box<dyn Send + Sync>) {
        self.state.lock().lock = Some(lock);
    }
}

/// Work on the whole database that needs the directory and is no transaction.
pub(crate) struct Visit<'a> {
    core: &'a Core,
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        self.core.directory.state.lock().visits -= 1;
        self.core.leave_directory();
    }
}

impl Core {
    /// Begins work that needs the directory until its end, whether the engine is closed or not.
    ///
    /// # Errors
    /// Those of [`check_open`](Core::check_open).
    pub(crate) fn visit(&self) -> Result<Visit<'_>> {
        self.check_process()?;
        let mut state = self.directory.state.lock();
        self.check_open()?;
        state.visits += 1;
        Ok(Visit { core: self })
    }

    /// Releases the directory's lock if nothing needs it any more (CLOSING-2). Called at the end of
    /// each visit, and of each transaction that ends once the engine is closed.
    #[cold]
    pub(crate) fn leave_directory(&self) {
        let mut state = self.directory.state.lock();
        let is_free = state.done && state.visits == 0;
        if is_free && state.lock.is_some() && self.transactions.active() == 0 {
            state.lock = None;
            self.directory.is_free.notify_all();
        }
    }

    /// Waits until the closed engine is no longer used and the directory's lock is released, but no
    /// longer than until `deadline`.
    ///
    /// # Errors
    /// [`Error::StillInUse`].
    pub(crate) fn wait_for_users(&self, deadline: Instant) -> Result<()> {
        let mut state = self.directory.state.lock();
        while state.lock.is_some() {
            if self.directory.is_free.wait_until(&mut state, deadline).timed_out() {
                break;
            }
        }
        if state.lock.is_none() {
            return Ok(());
        }
        let (transactions, others) = (self.transactions.active(), state.visits);
        Err(Error::StillInUse { path: self.disk.path(), transactions, others })
    }

    /// Refuses further work. Under the directory's mutex, so that a visit is either refused or
    /// counted.
    fn refuse_work(&self) {
        let _state = self.directory.state.lock();
        // Release pairs with the Acquire in `check_open`.
        self.closed.store(true, Ordering::Release);
    }

    /// From here on the directory's lock is released as soon as nothing needs it.
    fn finish_closing(&self) {
        self.directory.state.lock().done = true;
        self.leave_directory();
    }
}

/// Closes the engine. Called once.
pub(crate) fn close(core: &Arc<Core>, background: Option<Background>) -> Result<()> {
    core.task_work.wait_idle();
    if background.is_some() {
        upkeep::finish_soon(core);
    }
    core.refuse_work();
    core.task_work.stop();
    if let Some(background) = background {
        background.stop(core);
    }
    core.transactions.close();
    finish::finish_deallocations(core);
    let healthy = core.log.health();
    let written = healthy.and_then(|()| {
        core.pool.clean_all()?;
        checkpoint::take(core, Cleaning::All)
    });
    failpoint::pass(Failpoint::LogNotClosed);
    let log = core.log.close();
    // Its cleaner must not outlive the directory's lock. The pages are clean, or stay as they are:
    // the log has failed, or a transaction that the close refuses has changed them meanwhile.
    let reads = core.pool.close().or_else(|error| match error {
        Error::ReadTimeout { .. } => Err(error),
        _ => Ok(()),
    });
    failpoint::pass(Failpoint::LogClosed);
    core.finish_closing();
    written.and(log).and(reads)
}

/// An engine that is being opened. If it does not get [ready](Opening::ready), it is abandoned:
/// its threads end, nothing more is written, and nothing of it stays in memory.
pub(crate) struct Opening {
    pub(crate) core: Arc<Core>,
    pub(crate) background: Option<Background>,
    is_ready: bool,
}

impl Opening {
    pub(crate) fn new(core: Arc<Core>) -> Opening {
        Opening { core, background: None, is_ready: false }
    }

    /// Starts the background threads if they are wanted and do not run yet.
    pub(crate) fn start_background(&mut self) -> Result<()> {
        if self.core.options.background && self.background.is_none() {
            self.background = Some(Background::start(&self.core)?);
        }
        Ok(())
    }

    /// The engine is open.
    pub(crate) fn ready(mut self) -> (Arc<Core>, Option<Background>) {
        self.is_ready = true;
        (self.core.clone(), self.background.take())
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        if self.is_ready {
            return;
        }
        let core = &self.core;
        core.refuse_work();
        if let Some(background) = self.background.take() {
            background.stop(core);
        }
        // The transaction states hold the core (CLOSING-3). The log is stopped and not closed: the
        // next opening recovers, as after a crash.
        core.transactions.close();
        core.log.poison(Error::Closed);
        finish::finish_deallocations(core);
        // It cleans nothing any more, since the log has stopped.
        let _ = core.pool.close();
        core.finish_closing();
    }
}
