//! The one error type. Each variant says what happened, to what, and what to do about it.

use std::{fmt, io, panic::Location, path::PathBuf, sync::Arc};

use crate::{DeadlockCycle, LockConflict, LogKeeper, PageId, TxnId};

/// `ENFILE` and `EMFILE` of Linux: the system's file table, or the process's, is full.
const NO_FILE_DESCRIPTOR: [i32; 2] = [23, 24];

/// `Result` with the engine's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong.
///
/// [`Error::is_retryable`] tells the errors after which the same transaction may simply run
/// again; [`Error::is_outcome_unknown`] tells the only error after which nobody knows, before the
/// database is opened again, whether the transaction took place.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file operation failed.
    Io {
        /// The operation, as a verb: "read", "sync", "rename".
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: Arc<io::Error>,
    },
    /// The file system or the quota is full. Free space and try again; nothing is lost.
    DiskFull {
        /// The file that could not grow.
        path: PathBuf,
    },
    /// The process, or the system, has no free file descriptor, so a file could not be opened.
    /// Close files, or raise the limit (`ulimit -n`), and try again; nothing is lost.
    NoFileDescriptor {
        /// The file that could not be opened.
        path: PathBuf,
    },
    /// The log has no room, and no checkpoint makes any: the oldest open transaction, or a backup,
    /// keeps it from being recycled. End that one, or raise the log's capacity. The operation has
    /// changed nothing, and the transaction is still active.
    LogFull {
        /// Bytes that were asked for.
        wanted_bytes: u64,
        /// Bytes the log may occupy.
        capacity_bytes: u64,
        /// What keeps the log; `None` if that ended meanwhile, or nothing does and the log is too
        /// small for what runs at once.
        keeper: Option<Arc<LogKeeper>>,
    },
    /// The directory holds no database.
    NotADatabase {
        /// The directory.
        path: PathBuf,
        /// What was found instead.
        detail: String,
    },
    /// The database was written by a newer version of Clearway. Open it with that version.
    FormatTooNew {
        /// Version found.
        found: u32,
        /// Newest version this program reads.
        supported: u32,
    },
    /// Another process, or another handle of this one, has the directory open; or it was closed
    /// while a transaction, a backup or a check ran, which has not ended yet
    /// ([`Error::StillInUse`]); or a child that was forked while it was open still lives and has
    /// not called `exec`: see `Database`.
    AlreadyOpen {
        /// The directory.
        path: PathBuf,
        /// The id of the process, as far as known. It can be this one's own.
        process: Option<u32>,
    },
    /// A backup into the database's own directory, or into a directory below it. Choose one
    /// outside; nothing was written.
    BackupIntoItself {
        /// Where the copy was to go.
        path: PathBuf,
    },
    /// The database is closed, all that was acknowledged is on disk, and yet something that began
    /// before still runs and keeps the directory locked. End or drop it; the next opening undoes
    /// what has not committed.
    StillInUse {
        /// The directory.
        path: PathBuf,
        /// Transactions that are still open.
        transactions: u64,
        /// Backups, checks, and calls that create or drop a table, still running.
        others: u32,
    },
    /// Stored bytes are damaged. Restore a backup, or copy out what can still be read.
    Corrupt {
        /// What is damaged: "superblock", "page", "log record", "tree".
        what: &'static str,
        /// Where and how.
        detail: String,
    },
    /// The log beside the data belongs to another database, or to a copy of this one that was
    /// opened separately. Nothing was replayed from it. Put the log that belongs to the data in its
    /// place, or restore a backup.
    ForeignLog {
        /// The log file.
        path: PathBuf,
        /// Whose it is, as far as it says.
        detail: String,
    },
    /// A data page is damaged.
    CorruptPage {
        /// The page.
        page: PageId,
        /// How it is damaged.
        detail: String,
    },
    /// The transaction was chosen as the victim of a deadlock and rolled back. Run it again.
    Deadlock {
        /// The victim.
        txn: TxnId,
        /// Who waited for what; `None` if it died by a rule, such as a limit, and not for a cycle.
        cycle: Option<Arc<DeadlockCycle>>,
    },
    /// A lock was not granted within the limit that the program has set. The transaction is still
    /// active; nothing runs it again by itself, for that would multiply the limit.
    LockTimeout {
        /// The limit, in microseconds.
        waited_us: u64,
        /// The lock, and who held it.
        conflict: Option<Arc<LockConflict>>,
    },
    /// The caller asked not to wait for a lock, and the lock is held. The transaction is still
    /// active.
    WouldBlock {
        /// The lock, and who held it.
        conflict: Option<Arc<LockConflict>>,
    },
    /// The wait was cancelled by its owner.
    Cancelled,
    /// `insert` found the key present.
    DuplicateKey,
    /// `update` or `delete` found the key absent; also free for use by closures.
    NotFound,
    /// The key is longer than this database allows.
    KeyTooLarge {
        /// Its length in bytes.
        len: usize,
        /// The longest allowed.
        max: usize,
    },
    /// The value is longer than [`VALUE_LEN_MAX`](crate::VALUE_LEN_MAX).
    ValueTooLarge {
        /// Its length in bytes.
        len: usize,
        /// The longest allowed.
        max: usize,
    },
    /// The table name is empty or too long.
    BadTableName {
        /// The name.
        name: String,
    },
    /// There is no such table.
    UnknownTable {
        /// The name.
        name: String,
    },
    /// The table exists already.
    TableExists {
        /// The name.
        name: String,
    },
    /// The table of this name was dropped, but not all of its pages could be freed. Its contents
    /// are gone; its name is free once a drop or a creation of the name succeeds in freeing them.
    DropUnfinished {
        /// The name.
        name: String,
        /// What kept the pages from being freed.
        cause: Arc<Error>,
    },
    /// An option has a value that cannot work.
    BadOption {
        /// The option.
        option: &'static str,
        /// Why it cannot work.
        detail: String,
    },
    /// The transaction has ended (committed, rolled back or failed); begin a new one.
    TransactionEnded,
    /// A pipeline takes no more transactions for now: as many wait for an agent as its backlog
    /// takes. Submit it again later.
    BacklogFull {
        /// The backlog.
        waiting: u64,
    },
    /// As many transactions run as can run at once: end some.
    TooManyTransactions {
        /// How many that is.
        max: u32,
    },
    /// The savepoint is not one of this transaction's, or a rollback passed it.
    UnknownSavepoint,
    /// The closure asked for the transaction to be rolled back.
    Aborted {
        /// The closure's reason.
        reason: String,
    },
    /// The closure panicked; the transaction was rolled back and its locks are free.
    Panicked {
        /// The panic's message.
        message: String,
    },
    /// A write or sync failed earlier and the engine stopped. Nothing further is acknowledged;
    /// reopen the database to recover it.
    Poisoned {
        /// The failure that stopped the engine.
        cause: Arc<Error>,
    },
    /// The engine has found its own memory in a state that it never is in: a bug of the engine, or
    /// of the machine. Every database of the process stops, and none can be opened: end the
    /// process, and report what the error says.
    BrokenInvariant {
        /// The invariant that did not hold.
        what: &'static str,
        /// Where in the engine's source that was found.
        place: &'static Location<'static>,
    },
    /// The log could not be made durable after the commit was requested: whether the transaction
    /// took place is known only after the database is opened again.
    OutcomeUnknown {
        /// The failure.
        cause: Arc<Error>,
    },
    /// The database was closed.
    Closed,
    /// This process is the child of a `fork` during which its parent had a database open. Only the
    /// parent may use that, and the child can open no other. Fork before the first database is
    /// opened, or let the child call `exec`.
    Forked,
}

impl Error {
    /// Wraps an I/O error; a full disk becomes [`Error::DiskFull`], and a full file table
    /// [`Error::NoFileDescriptor`].
    pub fn io(operation: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Error {
        if source.raw_os_error().is_some_and(|code| NO_FILE_DESCRIPTOR.contains(&code)) {
            return Error::NoFileDescriptor { path: path.into() };
        }
        match source.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Error::DiskFull { path: path.into() },
            _ => Error::Io { operation, path: path.into(), source: Arc::new(source) },
        }
    }

    /// A damaged structure.
    pub fn corrupt(what: &'static str, detail: impl Into<String>) -> Error {
        Error::Corrupt { what, detail: detail.into() }
    }

    /// An invariant that did not hold, and where it was checked.
    pub fn broken_invariant(what: &'static str, place: &'static Location<'static>) -> Error {
        Error::BrokenInvariant { what, place }
    }

    /// Whether the same transaction may simply run again: it lost a deadlock, or a pipeline had no
    /// room for it. Not a lock wait that was too long: the program has set its limit, and decides
    /// whether it waits once more.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Error::Deadlock { .. } | Error::BacklogFull { .. })
    }

    /// Whether nobody knows, before the next opening, if the transaction took place.
    pub fn is_outcome_unknown(&self) -> bool {
        matches!(self, Error::OutcomeUnknown { .. })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use Error::*;
        match self {
            Io { operation, path, source } => {
                write!(f, "cannot {operation} {}: {source}", path.display())
            }
            DiskFull { path } => write!(f, "no space left for {}", path.display()),
            NoFileDescriptor { path } => write!(
                f,
                "no file descriptor is free to open {}: close files or raise the limit (ulimit -n)",
                path.display()
            ),
            LogFull { wanted_bytes, capacity_bytes, keeper } => {
                write!(f, "the log is full ({wanted_bytes} bytes wanted, of {capacity_bytes}): ")?;
                match keeper {
                    Some(keeper) => write!(f, "{keeper} Options::log_capacity"),
                    None => write!(f, "write less at a time, or raise Options::log_capacity"),
                }
            }
            NotADatabase { path, detail } => {
                write!(f, "{} is not a Clearway database: {detail}", path.display())
            }
            FormatTooNew { found, supported } => write!(
                f,
                "format version {found} is newer than the newest this program reads, {supported}"
            ),
            AlreadyOpen { path, process } => match process {
                Some(id) if *id == std::process::id() => write!(
                    f,
                    "{} is in use by this process: another handle has it open, or a transaction, \
                     backup or check that has not ended since it was closed",
                    path.display()
                ),
                Some(id) => write!(f, "{} is in use by process {id}", path.display()),
                // Its opener has left no name, or has taken it back.
                None => write!(
                    f,
                    "{} is in use by a process that is opening or closing it just now, or by a \
                     child that was forked while it was open and has neither ended nor called exec",
                    path.display()
                ),
            },
            BackupIntoItself { path } => write!(
                f,
                "cannot back up to {}: it is the database's own directory or lies in it",
                path.display()
            ),
            StillInUse { path, transactions, others } => write!(
                f,
                "{} is closed and stays locked until {transactions} open transactions and {others} \
                 other calls have ended",
                path.display()
            ),
            Corrupt { what, detail } => write!(f, "damaged {what}: {detail}"),
            ForeignLog { path, detail } => write!(
                f,
                "the log file {} does not belong to this database's data: {detail}; nothing was \
                 replayed from it: put the log that belongs to the data in its place, or restore a \
                 backup",
                path.display()
            ),
            CorruptPage { page, detail } => write!(f, "damaged page {page}: {detail}"),
            Deadlock { cycle, .. } => {
                write!(f, "deadlock: the transaction was chosen as the victim")?;
                cycle.iter().try_for_each(|cycle| write!(f, ": {cycle}"))
            }
            LockTimeout { waited_us, conflict } => {
                write!(f, "lock not granted within {}", Micros(*waited_us))?;
                conflict.iter().try_for_each(|conflict| write!(f, ": {conflict}"))
            }
            WouldBlock { conflict } => {
                write!(f, "the lock is held and the caller asked not to wait")?;
                conflict.iter().try_for_each(|conflict| write!(f, ": {conflict}"))
            }
            Cancelled => write!(f, "the wait was cancelled"),
            DuplicateKey => write!(f, "the key exists already"),
            NotFound => write!(f, "the key does not exist"),
            KeyTooLarge { len, max } => write!(f, "key of {len} bytes, at most {max} allowed"),
            ValueTooLarge { len, max } => write!(f, "value of {len} bytes, at most {max} allowed"),
            BadTableName { name } => write!(f, "bad table name {name:?}"),
            UnknownTable { name } => write!(f, "there is no table {name:?}"),
            TableExists { name } => write!(f, "the table {name:?} exists already"),
            DropUnfinished { name, cause } => {
                write!(f, "the table {name:?} was dropped, but its pages cannot be freed: {cause}")
            }
            BadOption { option, detail } => write!(f, "bad option {option}: {detail}"),
            TransactionEnded => write!(f, "the transaction has ended"),
            BacklogFull { waiting } => write!(
                f,
                "the pipeline's backlog of {waiting} transactions is full; submit again later"
            ),
            TooManyTransactions { max } => {
                write!(f, "{max} transactions are open already; end some")
            }
            UnknownSavepoint => write!(f, "unknown savepoint"),
            Aborted { reason } => write!(f, "aborted: {reason}"),
            Panicked { message } => write!(f, "the transaction's closure panicked: {message}"),
            Poisoned { cause } => {
                write!(f, "the engine stopped after a failure ({cause}); reopen the database")
            }
            BrokenInvariant { what, place } => write!(
                f,
                "the engine has found an error of its own ({what}, {place}); end the process and \
                 report this"
            ),
            OutcomeUnknown { cause } => {
                write!(f, "the outcome is unknown until the database is opened again: {cause}")
            }
            Closed => write!(f, "the database is closed"),
            Forked => write!(
                f,
                "this process was forked from one that had a database open, and cannot use \
                 databases: fork before opening the first, or exec in the child"
            ),
        }
    }
}

/// A time for people: "3 ms", "1.5 s".
struct Micros(u64);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            us @ ..1_000 => write!(f, "{us} µs"),
            us @ ..1_000_000 => write!(f, "{} ms", us as f64 / 1e3),
            us => write!(f, "{} s", us as f64 / 1e6),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } => Some(source.as_ref()),
            Error::Poisoned { cause }
            | Error::OutcomeUnknown { cause }
            | Error::DropUnfinished { cause, .. } => Some(cause.as_ref()),
            _ => None,
        }
    }
}
