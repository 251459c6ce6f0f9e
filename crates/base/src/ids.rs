//! Newtypes for every id, so that no two of them can be confused.

use std::fmt;

/// A log sequence number: a byte position in the log, counted from the creation of the database.
///
/// "Durable up to `lsn`" means that every byte *before* `lsn` is durable. So a record is durable
/// when the durable LSN has reached the record's **end**.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lsn(pub u64);

impl Lsn {
    /// The position before every record, and the page LSN of a page that was never changed.
    pub const ZERO: Lsn = Lsn(0);
    /// The position after every record.
    pub const MAX: Lsn = Lsn(u64::MAX);
}

impl fmt::Debug for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lsn({})", self.0)
    }
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The position of a record in the log: the bytes `start..end`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LsnSpan {
    /// Position of the record's first byte.
    pub start: Lsn,
    /// Position after the record's last byte: the LSN up to which the log must be durable for the
    /// record to be durable.
    pub end: Lsn,
}

/// The number of a page of the data file; the page begins at byte `id × PAGE_SIZE`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PageId(pub u32);

impl PageId {
    /// The value for "no page". Pages 0 and 1 hold the superblock, so no page of a tree has this
    /// number.
    pub const NONE: PageId = PageId(0);
}

impl fmt::Display for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The id of a transaction. No two transactions of one database that run at the same time have the
/// same id. Within one opening of a database an id may be used again after 2³² further
/// transactions, or earlier if more than 65,000 transactions have run at a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TxnId(pub u64);

impl TxnId {
    /// The value for "no transaction": the writer of system transactions and of the log's own
    /// records.
    pub const NONE: TxnId = TxnId(0);
}

/// The id of a tree: a table or the catalogue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TreeId(pub u32);

impl TreeId {
    /// The catalogue: table name → tree id and root page.
    pub const CATALOGUE: TreeId = TreeId(1);
}

/// The number of one opening of the database. Each opening increments it durably before its first
/// log write.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Epoch(pub u32);

/// The permanent identity of a database. It is drawn at random when the database is created (or
/// converted from format version 1), and shared by its copies and backups.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct DatabaseId(pub [u8; 16]);

impl DatabaseId {
    /// No identity: a database of format version 1, or a log that belongs to no database.
    pub const NONE: DatabaseId = DatabaseId([0; 16]);
}

impl fmt::Display for DatabaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for DatabaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseId({self})")
    }
}

/// The identity of one opening of one database. Each opening draws it at random, so that it differs
/// between two copies of a database, which share the id and may share the number of an epoch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Salt(pub u64);

impl Salt {
    /// No salt: an epoch of format version 1, or no epoch.
    pub const NONE: Salt = Salt(0);
}
