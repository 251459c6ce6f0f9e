//! Newtypes for every id, so that no two of them can be confused.

use std::fmt;

/// A log sequence number: a byte position in an endless log.
///
/// "Durable up to `lsn`" always means that every byte *before* `lsn` is durable, so a record is
/// durable when the durable LSN has reached the record's **end**.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lsn(pub u64);

impl Lsn {
    /// Before every record. The page LSN of a page that was never changed.
    pub const ZERO: Lsn = Lsn(0);
    /// After every record.
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

/// Where a record stands in the log: the bytes `start..end`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LsnSpan {
    /// Position of the record's first byte.
    pub start: Lsn,
    /// Position after the record's last byte: the LSN that must be durable for the record to be.
    pub end: Lsn,
}

/// The number of a page of the data file; the page stands at byte `id × PAGE_SIZE`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PageId(pub u32);

impl PageId {
    /// "No page": pages 0 and 1 hold the superblock, so 0 is never a tree's page.
    pub const NONE: PageId = PageId(0);
}

impl fmt::Display for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A transaction. Unique over the life of a database directory within one epoch of the log.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TxnId(pub u64);

impl TxnId {
    /// "No transaction": the writer of system transactions and of the log's own records.
    pub const NONE: TxnId = TxnId(0);
}

/// A tree, that is a table or the catalogue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TreeId(pub u32);

impl TreeId {
    /// The catalogue: table name → tree id and root page.
    pub const CATALOGUE: TreeId = TreeId(1);
}

/// One opening of the database. Raised durably before the first log write of each opening.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Epoch(pub u32);

/// Names a database for its whole life: drawn at random when it is created, shared by its copies
/// and backups.
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

/// Names one opening of one database: drawn at random by each opening, so that two copies of a
/// database, which share its id and may share an epoch's number, differ in it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Salt(pub u64);

impl Salt {
    /// No salt: an epoch of format version 1, or no epoch.
    pub const NONE: Salt = Salt(0);
}
