//! The pool's interface to the log. The pool depends on this trait, not on the log.

use clearway_base::{Error, Lsn, Result};

/// The write-ahead log, as the pool uses it.
///
/// The pool calls [`end`](Wal::end) under page latches, so it must not block. It calls
/// [`make_durable`](Wal::make_durable) while a caller may hold latches of *other* pages, so making
/// the log durable must never need a page latch.
pub trait Wal: Send + Sync {
    /// Every byte of the log before this position is durable.
    fn durable(&self) -> Lsn;

    /// Returns once the log is durable up to `lsn`.
    ///
    /// # Errors
    /// The failure of the log; pages that wait for it stay dirty.
    fn make_durable(&self, lsn: Lsn) -> Result<()>;

    /// A lower bound for the start of every record that is inserted from now on. Before the log
    /// runs it may be [`Lsn::MAX`], if the redo position is set
    /// ([`Pool::set_redo_position`](crate::Pool::set_redo_position)).
    fn end(&self) -> Lsn;

    /// Checks that the log accepts records. Once it does not, the pool writes nothing more: a page
    /// may be in a state between two records.
    ///
    /// # Errors
    /// The error that stopped the log.
    fn health(&self) -> Result<()> {
        Ok(())
    }

    /// Stops the log: the pool, or a page's owner, has found that a record is in the log and its
    /// page does not match it. The durable LSN must not move after that. May be called under page
    /// latches.
    fn fail(&self, cause: &Error) {
        let _ = cause;
    }
}

/// For unit tests: a log that is durable beyond every LSN, and does not grow.
#[cfg(test)]
pub(crate) struct DurableLog;

#[cfg(test)]
impl Wal for DurableLog {
    fn durable(&self) -> Lsn {
        Lsn::MAX
    }

    fn make_durable(&self, _: Lsn) -> Result<()> {
        Ok(())
    }

    fn end(&self) -> Lsn {
        Lsn::ZERO
    }
}
