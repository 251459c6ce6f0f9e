//! What the pool asks of the log. The pool knows no log; it knows this trait.

use clearway_base::{Lsn, Result};

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

    /// A lower bound for the start of every record that is inserted from now on.
    fn end(&self) -> Lsn;
}
