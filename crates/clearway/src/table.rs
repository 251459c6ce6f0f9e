//! A handle on a table.

use clearway_base::{Error, Result};

/// A table: ordered byte keys and their values. Cheap to clone, usable from every thread.
///
/// A table belongs to the [`Database`](crate::Database) handle (or its clones) that gave it;
/// used with another, or after it was dropped, it is an [`Error::UnknownTable`].
#[derive(Clone, Debug)]
pub struct Table {
    inner: clearway_txn::Table,
    database: u64,
}

impl Table {
    pub(crate) fn new(inner: clearway_txn::Table, database: u64) -> Table {
        Table { inner, database }
    }

    /// The table's name.
    pub fn name(&self) -> &str {
        self.inner.name()
    }

    /// The engine's table, if this handle is of the opening `database`.
    #[inline]
    pub(crate) fn of(&self, database: u64) -> Result<&clearway_txn::Table> {
        if self.database == database { Ok(&self.inner) } else { Err(self.foreign()) }
    }

    #[cold]
    fn foreign(&self) -> Error {
        Error::UnknownTable { name: self.name().into() }
    }
}
