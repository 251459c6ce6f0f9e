//! The health of an engine: it takes work until it is closed, or has failed.

use std::sync::Arc;

use clearway_base::{Error, Lsn, Result};
use clearway_log::Log;
use clearway_sync::atomic::{AtomicBool, Ordering};

/// Makes everything before `lsn` durable, for work that has requested no commit: if the log fails,
/// no outcome is unknown, but the engine has stopped.
///
/// # Errors
/// Those of [`Log::force`], with [`Error::Poisoned`] in place of [`Error::OutcomeUnknown`].
pub(crate) fn make_durable(log: &Log, lsn: Lsn) -> Result<()> {
    log.force(lsn).map_err(|error| match error {
        Error::OutcomeUnknown { cause } => Error::Poisoned { cause },
        error => error,
    })
}

/// See the module.
pub(crate) struct EngineHealth {
    log: Arc<Log>,
    /// The engine takes no work any more.
    closed: AtomicBool,
}

impl EngineHealth {
    /// An open engine that writes this log.
    pub(crate) fn new(log: Arc<Log>) -> EngineHealth {
        EngineHealth { log, closed: AtomicBool::new(false) }
    }

    /// Checks that the engine takes work.
    ///
    /// # Errors
    /// [`Error::Closed`], or [`Error::Poisoned`] after a failure.
    #[inline]
    pub(crate) fn check_open(&self) -> Result<()> {
        // Acquire pairs with the store in `close`.
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::Closed);
        }
        self.log.health()
    }

    /// Returns true if the engine was closed, for paths where each instruction counts.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        // Relaxed: no other load depends on the result. A caller that does not see the close yet
        // goes on until a later check sees it; the last check is that of its commit (FINISH-4).
        self.closed.load(Ordering::Relaxed)
    }

    /// As [`is_closed`](EngineHealth::is_closed), for a caller that goes on to read what ended
    /// before the close.
    pub(crate) fn has_closed(&self) -> bool {
        // Acquire pairs with the store in `close`.
        self.closed.load(Ordering::Acquire)
    }

    /// Refuses further work.
    pub(crate) fn close(&self) {
        // Release pairs with the Acquire in `check_open` and `has_closed`.
        self.closed.store(true, Ordering::Release);
    }

    /// Stops the engine because of `cause`. Returns the error for the caller. A close is no
    /// failure: [`Error::Closed`] stops nothing.
    pub(crate) fn fail(&self, cause: Error) -> Error {
        let cause = match cause {
            Error::Closed => return Error::Closed,
            // The pool or the log has stopped already. If it was the pool, the log must be stopped
            // too. If it was the log, it keeps its first cause, and the pool notices: it checks the
            // log's health (`Wal::health`) before it writes.
            Error::Poisoned { cause } | Error::OutcomeUnknown { cause } => cause,
            cause => Arc::new(cause),
        };
        self.log.poison((*cause).clone());
        Error::Poisoned { cause }
    }
}
