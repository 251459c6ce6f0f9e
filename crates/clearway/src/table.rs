//! A handle of a table.

/// A table: ordered byte keys and their values. Cheap to clone, usable from every thread.
///
/// A table belongs to the [`Database`](crate::Database) handle that returned it, and to the clones
/// of that handle. Using it with another database, with the same database after it was opened
/// again, or after the table was dropped fails with
/// [`Error::UnknownTable`](crate::Error::UnknownTable).
#[derive(Clone, Debug)]
pub struct Table {
    pub(crate) inner: clearway_txn::Table,
}

impl Table {
    pub(crate) fn new(inner: clearway_txn::Table) -> Table {
        Table { inner }
    }

    /// Returns the table's name.
    pub fn name(&self) -> &str {
        self.inner.name()
    }
}
