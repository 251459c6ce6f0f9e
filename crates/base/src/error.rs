//! The error type of the engine. Each variant states what failed and, where that helps, on which
//! object and what to do about it.

use std::{fmt, io, panic::Location, path::PathBuf, sync::Arc};

use crate::{DeadlockCycle, KeySample, LockConflict, LogKeeper, PageId, TableKey, TxnId};

/// `ENFILE` and `EMFILE` of Linux: the system's file table, or the process's, is full.
const NO_FILE_DESCRIPTOR: [i32; 2] = [23, 24];

/// The end of the messages of errors after which a transaction goes on with its locks and writes.
const STILL_ACTIVE: &str =
    "; a transaction is still active after this: end it, or roll it back to a savepoint";

/// `Result` with the engine's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error that the engine returns.
///
/// [`Error::is_retryable`] is true for the errors after which the same transaction may simply be
/// run again. [`Error::is_outcome_unknown`] is true for the only error after which it is not known,
/// until the database is opened again, whether a transaction took effect.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// A call of the operating system failed, for a file, a directory or a thread.
    Io {
        /// The operation, as a verb: "read", "sync", "start a thread for".
        operation: &'static str,
        /// The file or directory, or the purpose of the thread.
        path: PathBuf,
        /// The error that the operating system returned.
        source: Arc<io::Error>,
    },
    /// The file system or the quota is full, or a file has reached the largest size that is
    /// allowed. Free space and try again; nothing is lost.
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
    /// The log has no room, and no checkpoint has made any in time. Usually the oldest transaction
    /// that has written, or a backup, keeps the log from being recycled (`keeper`). End it, or
    /// raise the log's capacity. The operation has changed no data, and the transaction, if there
    /// is one, is still active.
    LogFull {
        /// The number of requested bytes.
        wanted_bytes: u64,
        /// The number of bytes that the log may occupy.
        capacity_bytes: u64,
        /// The transaction or backup that needs the oldest part of the log. `None` if there is none
        /// now (it may have ended meanwhile, or the log may be too small for the operations that
        /// run at the same time), and in errors of a checkpoint.
        keeper: Option<Arc<LogKeeper>>,
    },
    /// The directory holds no database.
    NotADatabase {
        /// The directory, or what was found in its place.
        path: PathBuf,
        /// A description of what was found instead.
        detail: String,
    },
    /// The database was written by a newer version of Clearway, in a newer format. Open it with
    /// such a version.
    FormatTooNew {
        /// The version of the format that was found.
        found: u32,
        /// The newest version of the format that this program reads.
        supported: u32,
    },
    /// The directory is in use, for one of four reasons. Another process, or another opening in
    /// this process, has the database open. Or the database was closed, and a transaction or a call
    /// that began before has not ended yet ([`Error::StillInUse`]). Or a child process that was
    /// forked while the database was open still runs and has not called `exec`: see `Database`. Or
    /// a backup to the directory is running.
    AlreadyOpen {
        /// The directory.
        path: PathBuf,
        /// The id of the process that uses it, if known. It can be this process's own id.
        process: Option<u32>,
    },
    /// The target of a backup is the database's own directory, or a directory below it. Choose a
    /// directory outside; nothing was written.
    BackupIntoItself {
        /// The target directory of the backup.
        path: PathBuf,
    },
    /// The database is closed and everything acknowledged is on disk. But a transaction or a call
    /// that began before has not ended, and keeps the directory locked. End or drop it. The next
    /// opening undoes the transactions that have not committed.
    StillInUse {
        /// The directory.
        path: PathBuf,
        /// The number of transactions that are still open.
        transactions: u64,
        /// The number of other calls that are still running: those that back up, verify, take a
        /// checkpoint, or create or drop a table.
        others: u32,
    },
    /// Stored bytes are damaged. Restore a backup, or copy out what can still be read.
    Corrupt {
        /// The damaged structure, for example "superblock", "log record" or "tree".
        what: &'static str,
        /// The place and the kind of the damage.
        detail: String,
    },
    /// The log beside the data belongs to another database, or to a copy of this one that was
    /// opened separately. Nothing was replayed from it. Put the log that belongs to the data in its
    /// place, or restore a backup.
    ForeignLog {
        /// The log file.
        path: PathBuf,
        /// The owner of the log, as far as the log identifies it.
        detail: String,
    },
    /// A data page is damaged.
    CorruptPage {
        /// The page.
        page: PageId,
        /// A description of the damage.
        detail: String,
    },
    /// The transaction was chosen as the victim of a deadlock and rolled back. Run it again.
    Deadlock {
        /// The victim.
        txn: TxnId,
        /// The transactions of the cycle and the locks they waited for. (The deadlock detection of
        /// this engine always reports it. `None` is for methods that choose a victim by a rule, and
        /// not because of a cycle.)
        cycle: Option<Arc<DeadlockCycle>>,
    },
    /// A lock was not granted within the limit that the program has set, or within the 10 s for
    /// which a call that drops a table waits at most. The transaction, if there is one, is still
    /// active. The engine does not run a closure again after this error, because that would
    /// multiply the limit.
    LockTimeout {
        /// The limit, in microseconds.
        waited_us: u64,
        /// The lock, and transactions that held it, as far as known.
        conflict: Option<Arc<LockConflict>>,
    },
    /// The disk has not completed the read of a page in time. The limit is that of the transaction
    /// for lock waits, or 10 s if it has none or does not wait for locks at all; a close waits 30
    /// s. Check the device. The transaction, if there is one, is still active. The page cannot be
    /// used until its read ends; others can.
    ReadTimeout {
        /// The page; after a close, one of those that were not read, or 0.
        page: PageId,
        /// The limit, in microseconds.
        waited_us: u64,
    },
    /// The disk has not completed the write of a page in time, while the database was being closed:
    /// within 30 s of the start of the close, or of the start of the write if that was later.
    /// Nothing is written any more. What was acknowledged is in the log, and the next opening
    /// recovers it. The directory stays locked until the write has ended, since a late write would
    /// replace newer versions of its pages. Check the device; end the process if the write does not
    /// end.
    WriteTimeout {
        /// The page; the write may include the next ones.
        page: PageId,
        /// The limit, in microseconds.
        waited_us: u64,
    },
    /// The caller asked not to wait for a lock, and the lock could not be granted at once. The
    /// transaction is still active, with its locks and what it has written; a savepoint that was
    /// set before takes a part back (`Transaction::rollback_to`).
    WouldBlock {
        /// The lock, and transactions that held it, as far as known.
        conflict: Option<Arc<LockConflict>>,
    },
    /// The wait for a lock would not have ended by itself: the transaction that holds the lock, or
    /// stands before this one in its queue, cannot go on before this call returns. It is the
    /// transaction of a closure that has made this call, directly or through others, or of an
    /// asynchronous closure of the same agent of a pipeline. In the first case, use that closure's
    /// transaction instead of a second one. In the second, use an asynchronous closure, which does
    /// not keep the agent. The transaction that made the call is still active.
    SelfWait {
        /// The lock, and transactions that held it, as far as known.
        conflict: Option<Arc<LockConflict>>,
    },
    /// A lock wait was cancelled by the code that had started it, or the fetch stage of a closure
    /// is over before the closure has returned: the closure should return, and will run again.
    /// Neither is ever the result of a transaction.
    Cancelled,
    /// An insertion (`insert`) found the key present. The transaction is still active.
    DuplicateKey {
        /// The key and its table. The engine always names them.
        at: Option<Arc<TableKey>>,
    },
    /// An `update` or `delete` found the key absent. The transaction is still active. Closures may
    /// return this error too: [`Error::not_found`].
    NotFound {
        /// The key and its table. `None` if a closure has made the error.
        at: Option<Arc<TableKey>>,
    },
    /// The key is longer than this database allows.
    KeyTooLarge {
        /// Its length in bytes.
        len: usize,
        /// The maximum length in bytes.
        max: usize,
    },
    /// The value is longer than [`VALUE_LEN_MAX`](crate::VALUE_LEN_MAX).
    ValueTooLarge {
        /// Its length in bytes.
        len: usize,
        /// The maximum length in bytes.
        max: usize,
    },
    /// The table name is empty or too long.
    BadTableName {
        /// The name.
        name: String,
    },
    /// There is no such table, or the handle of a table belongs to another database or to an
    /// earlier opening.
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
    /// are gone. Its name can be used again once the pages are freed. The next drop or creation of
    /// a table of this name, and the next opening of the database, try to free them again.
    DropUnfinished {
        /// The name.
        name: String,
        /// The error that kept the pages from being freed.
        cause: Arc<Error>,
    },
    /// An option has a value that cannot work, or that has turned out to be too small.
    BadOption {
        /// The option.
        option: &'static str,
        /// The reason why the value cannot work.
        detail: String,
    },
    /// The transaction has ended: as a rule, because it was a deadlock's victim and was rolled
    /// back. Begin a new one. Also returned for a cursor that another transaction has made, and if
    /// an asynchronous closure has kept its transaction.
    TransactionEnded,
    /// The pipeline gave the transaction to an agent whose inbox is full, so it was not accepted.
    /// Submit it again later.
    BacklogFull {
        /// The number of transactions that wait in that inbox: the agent's share of the pipeline's
        /// backlog.
        waiting: u64,
    },
    /// The maximum number of transactions is open already: end some.
    TooManyTransactions {
        /// The maximum number.
        max: u32,
    },
    /// The savepoint does not belong to this transaction, or the transaction was rolled back to an
    /// earlier savepoint since.
    UnknownSavepoint,
    /// The closure requested the rollback of the transaction.
    Aborted {
        /// The closure's reason.
        reason: String,
    },
    /// The closure panicked. The transaction was rolled back and its locks were released. (As the
    /// cause of another error: a thread of the engine, or the code of the disk, panicked.)
    Panicked {
        /// The panic's message, if it is text.
        message: String,
    },
    /// The engine has stopped because of a failure (`cause`): a write, a sync, an undo or a
    /// checkpoint failed, a thread of the engine panicked, or an invariant was broken. It commits
    /// nothing any more. Open the database again to recover it; if the cause is
    /// [`Error::BrokenInvariant`], in a new process.
    Poisoned {
        /// The failure that stopped the engine.
        cause: Arc<Error>,
    },
    /// The engine has found its own memory in a state that violates an invariant: a bug in the
    /// engine, or a fault of the machine. All databases of the process stop, and none can be
    /// opened: end the process, and report the text of the error.
    BrokenInvariant {
        /// The invariant that did not hold.
        what: &'static str,
        /// The place in the engine's source where the invariant was checked.
        place: &'static Location<'static>,
    },
    /// The log failed before the commit that the call has requested was durable (for
    /// `Database::sync`: before an earlier commit was). It is known only after the next opening of
    /// the database whether the transaction took effect.
    OutcomeUnknown {
        /// The failure.
        cause: Arc<Error>,
    },
    /// The database was closed, or the pipeline.
    Closed,
    /// This process is the child of a `fork` at which its parent had a database open. Only the
    /// parent may use that database, and the child cannot open another. Fork before the first
    /// database is opened, or have the child call `exec`.
    Forked,
}

impl Error {
    /// Wraps an I/O error. A full disk or quota, and a file of the largest size, become
    /// [`Error::DiskFull`]; a full file table becomes [`Error::NoFileDescriptor`].
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

    /// Returns the error for a damaged structure.
    pub fn corrupt(what: &'static str, detail: impl Into<String>) -> Error {
        Error::Corrupt { what, detail: detail.into() }
    }

    /// Returns the error for an invariant that did not hold, with the place where it was checked.
    pub fn broken_invariant(what: &'static str, place: &'static Location<'static>) -> Error {
        Error::BrokenInvariant { what, place }
    }

    /// Returns [`Error::NotFound`] without a key, for closures that do not find what they need.
    pub fn not_found() -> Error {
        Error::NotFound { at: None }
    }

    /// Names the key in [`Error::DuplicateKey`] and [`Error::NotFound`] if they name none. Returns
    /// other errors as they are.
    #[cold]
    pub fn at_key(self, table: &str, key: &[u8]) -> Error {
        let name = || {
            let (table, key) = (table.to_owned(), KeySample::of(key));
            Some(Arc::new(TableKey { table, key }))
        };
        match self {
            Error::DuplicateKey { at: None } => Error::DuplicateKey { at: name() },
            Error::NotFound { at: None } => Error::NotFound { at: name() },
            other => other,
        }
    }

    /// Returns true if the same transaction may simply be run again: it was the victim of a
    /// deadlock, or a pipeline had no room for it. Returns false for a lock wait that was too long,
    /// since the program that has set the limit decides whether to wait once more.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Error::Deadlock { .. } | Error::BacklogFull { .. })
    }

    /// Returns true for [`Error::OutcomeUnknown`].
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
                    "{} is in use by this process: another handle has it open, or the \
                     database was closed and a transaction, another call or a write that began \
                     before has not ended",
                    path.display()
                ),
                Some(id) => write!(f, "{} is in use by process {id}", path.display()),
                // The opener has not written its process id yet, or has removed it already.
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
                conflict.iter().try_for_each(|conflict| write!(f, ": {conflict}"))?;
                f.write_str(STILL_ACTIVE)
            }
            ReadTimeout { page, waited_us } => write!(
                f,
                "page {page} was not read within {}, and its read goes on: check the device",
                Micros(*waited_us)
            ),
            WriteTimeout { page, waited_us } => write!(
                f,
                "page {page} was not written within {} while the database was being closed, and \
                 its write goes on: check the device; the directory stays locked until the write \
                 or the process ends, and the next opening recovers what was acknowledged",
                Micros(*waited_us)
            ),
            WouldBlock { conflict } => {
                write!(f, "the lock is held and the caller asked not to wait")?;
                conflict.iter().try_for_each(|conflict| write!(f, ": {conflict}"))?;
                f.write_str(STILL_ACTIVE)
            }
            SelfWait { conflict } => {
                write!(
                    f,
                    "the wait for the lock would never end, because the transaction in the way \
                     cannot go on before this call returns (its closure has made this call, or is \
                     a task of the same agent of a pipeline): use that transaction, or an \
                     asynchronous closure"
                )?;
                conflict.iter().try_for_each(|conflict| write!(f, ": {conflict}"))
            }
            Cancelled => write!(f, "the wait was cancelled"),
            DuplicateKey { at: None } => write!(f, "the key exists already"),
            DuplicateKey { at: Some(at) } => write!(f, "{at} exists already"),
            NotFound { at: None } => write!(f, "the key does not exist"),
            NotFound { at: Some(at) } => write!(f, "{at} does not exist"),
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
                "{waiting} transactions wait for an agent of the pipeline, its share of the \
                 backlog; submit again later"
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

/// A duration that prints in a readable unit: "3 ms", "1.5 s".
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
