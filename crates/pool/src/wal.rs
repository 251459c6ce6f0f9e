//! What the pool asks of the log. The pool knows no log; it knows this trait.

use clearway_base::{Error, Lsn, Result};

/// The write-ahead log as the pool sees it.
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
    /// When the log has failed; the pages that waited for it stay dirty.
    fn make_durable(&self, lsn: Lsn) -> Result<()>;

    /// A lower bound for the start of every record that is inserted from now on. Before the log
    /// runs it may be [`Lsn::MAX`], if the redo position is set
    /// ([`Pool::set_redo_position`](crate::Pool::set_redo_position)).
    fn end(&self) -> Lsn;

    /// Whether the log takes records. Once it does not, the pool writes nothing any more: a page
    /// may be half way between two records.
    ///
    /// # Errors
    /// What stopped it.
    fn health(&self) -> Result<()> {
        Ok(())
    }

    /// The pool, or a page's owner, has met something after which nothing may be acknowledged: a
    /// record is in the log, and its page is not what the record says. May be called under page
    /// latches.
    fn fail(&self, cause: &Error) {
        let _ = cause;
    }
}
