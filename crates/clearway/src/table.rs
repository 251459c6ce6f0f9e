//! A handle of a table.

/// A table: ordered byte keys and their values. Cheap to clone, usable from every thread.
///
/// A table belongs to the [`Database`](crate::Database) handle (or its clones) that returned it.
/// Using it with another database, or after the table was dropped, is an
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
