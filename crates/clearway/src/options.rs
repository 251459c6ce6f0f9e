//! Options for opening a database.

use std::{sync::Arc, time::Duration};

use clearway_base::Error;
use clearway_disk::{Disk, IoQueueChoice, MemoryDisk};
use clearway_lock::WaitLimit;
use clearway_txn::{Creation, EngineOptions};

use crate::Staging;

#[cfg(feature = "experiments")]
mod experiments;

/// The default of [`Options::attempts`].
const ATTEMPTS_DEFAULT: u32 = 100;

/// One transaction in this many is timed.
const TIME_ONE_IN_DEFAULT: u32 = 16;

/// Lower bound on the number of log files, so that the log is recycled in small parts.
const LOG_FILES_MIN: u64 = 16;
/// Lower bound on the size of a log file.
const LOG_FILE_MIN: u64 = 64 << 10;
/// Upper bound on the size of a log file.
const LOG_FILE_MAX: u64 = 16 << 20;

/// Options of a database, with defaults that suit most uses: 1 GiB of cache, 1 GiB of log, and
/// every commit durable before it is acknowledged.
///
/// ```
/// use clearway::Options;
/// # let dir = tempfile::tempdir()?;
/// # let dir = dir.path().join("bank");
/// let db = Options::new()
///     .cache_size(64 << 20)
///     .log_capacity(256 << 20)
///     .lock_wait_limit(Some(std::time::Duration::from_secs(5)))
///     .open(&dir)?;
/// # db.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[must_use = "options do nothing until `open`"]
pub struct Options {
    pub(crate) engine: EngineOptions,
    pub(crate) storage: Storage,
    pub(crate) attempts: u32,
    pub(crate) mode: CommitMode,
    pub(crate) time_one_in: u32,
    pub(crate) staging: Staging,
}

/// The time at which a commit is acknowledged. `docs/commit-modes.md` in the repository compares
/// the modes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum CommitMode {
    /// Acknowledge a commit when the transaction and everything that it has read are durable.
    #[default]
    Durable,
    /// Acknowledge a commit at once and write it soon after. **The last acknowledged commits can be
    /// lost** in a crash of the process or of the system, or when the disk fails. If a commit is
    /// lost, all later ones are lost too, so the database remains consistent.
    ///
    /// The *loss window* is the set of commits that a crash can lose: those that are not durable
    /// yet. A commit is durable once the flush that writes its log records, and every earlier
    /// flush, has completed. The window's commits fall within the time of two flushes and two
    /// group-commit delays of 100 µs, less than a millisecond on a fast disk, and their log records
    /// fit into the log buffer, 16 MiB. [`Database::sync`](crate::Database::sync) waits until all
    /// commits before it are durable: none of them is in the window then.
    Lazy,
}

/// The location of the files.
#[derive(Clone)]
pub(crate) enum Storage {
    /// The directory passed to `open`.
    Directory,
    /// This disk; the path passed to `open` is ignored.
    Given(Arc<dyn Disk>),
}

/// The lock wait policy of a transaction; see
/// [`Transaction::lock_wait`](crate::Transaction::lock_wait), and for single calls
/// [`Transaction::get_for_update_with`](crate::Transaction::get_for_update_with) and
/// [`Transaction::waiting`](crate::Transaction::waiting).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum LockWait {
    /// Wait for each lock as long as [`Options::lock_wait_limit`] allows.
    #[default]
    Default,
    /// Wait without a limit.
    Forever,
    /// Wait at most this long for each lock; then fail with
    /// [`Error::LockTimeout`](crate::Error::LockTimeout). For a limit of zero, use `Never`.
    For(Duration),
    /// Do not wait: if the lock is not free, fail with
    /// [`Error::WouldBlock`](crate::Error::WouldBlock).
    Never,
}

impl LockWait {
    pub(crate) fn limit(self) -> WaitLimit {
        match self {
            LockWait::Default => WaitLimit::Default,
            LockWait::Forever => WaitLimit::Forever,
            LockWait::For(limit) => WaitLimit::For(limit),
            LockWait::Never => WaitLimit::NoWait,
        }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options::new()
    }
}

impl Options {
    /// Returns the default options.
    pub fn new() -> Options {
        let mut engine = EngineOptions::default();
        engine.lock.wait_limit = None;
        Options {
            engine,
            storage: Storage::Directory,
            attempts: ATTEMPTS_DEFAULT,
            mode: CommitMode::default(),
            time_one_in: TIME_ONE_IN_DEFAULT,
            staging: Staging::default(),
        }
    }

    /// Returns options for a database in memory, for tests. The path given to
    /// [`open`](Options::open) is ignored. The contents exist as long as these options, their
    /// clones or a database opened from them: opening from a clone after closing finds the
    /// committed data. They do not survive the process.
    ///
    /// ```
    /// let options = clearway::Options::in_memory().cache_size(8 << 20);
    /// options.clone().open("test")?.table("kept")?;
    /// let db = options.open("test")?;
    /// assert_eq!(db.tables(), ["kept"]);
    /// # Ok::<(), clearway::Error>(())
    /// ```
    pub fn in_memory() -> Options {
        Options::new().on_disk(Arc::new(MemoryDisk::new()))
    }

    /// Returns options for a database on the given disk: simulated, failing, observed or delayed.
    #[doc(hidden)]
    pub fn on_disk(mut self, disk: Arc<dyn Disk>) -> Options {
        self.storage = Storage::Given(disk);
        self
    }

    /// Sets the memory for pages in bytes, 512 KiB to 256 GiB. Default 1 GiB. The process uses up
    /// to a tenth more. In addition it uses about 64 MiB for the log buffer, the lock table and
    /// other fixed structures, 4 MiB for each GiB of the database that it has accessed, and what
    /// large transactions need for their locks and their undo.
    pub fn cache_size(mut self, bytes: u64) -> Options {
        self.engine.pool.cache_bytes = bytes;
        self
    }

    /// Sets the bytes that the log may occupy on disk. Default 1 GiB. Checkpoints keep the log well
    /// below this size. However, log that the oldest open transaction may need for its rollback
    /// cannot be recycled. If a transaction stays open while this much log is written, by itself or
    /// by others, further writes fail with [`Error::LogFull`](crate::Error::LogFull) until it ends.
    /// The error names the transaction.
    ///
    /// A write that finds the log full waits for the checkpoint that will make room. If an open
    /// transaction or a backup keeps the log from being recycled, it waits at most 100 ms, or not
    /// at all if its own transaction is the oldest. Only recovery, rollbacks, the checkpoints that
    /// make room and, rarely, a flush may exceed the capacity, slightly and temporarily.
    ///
    /// The log's files are of about a sixteenth of this size, but at least 64 KiB and at most 16
    /// MiB each. A database keeps the file size that it was created with. The capacity must hold at
    /// least two files.
    pub fn log_capacity(mut self, bytes: u64) -> Options {
        self.engine.log.capacity_bytes = bytes;
        let file = (bytes / LOG_FILES_MIN).clamp(LOG_FILE_MIN, LOG_FILE_MAX);
        self.engine.log.segment_bytes = file.next_multiple_of(LOG_FILE_MIN);
        self
    }

    /// Sets the time at which commits are acknowledged. Default [`CommitMode::Durable`]. Read the
    /// documentation of [`CommitMode::Lazy`] before choosing that.
    pub fn commit_mode(mut self, mode: CommitMode) -> Options {
        self.mode = mode;
        self
    }

    /// Sets the share of transactions that are timed for
    /// [`Database::timings`](crate::Database::timings): about one in `count` of those that a thread
    /// begins, or none if `count` is 0, so that [`Staging::Automatic`] has nothing to go by.
    /// Default 16.
    pub fn time_one_in(mut self, count: u32) -> Options {
        self.time_one_in = count;
        self
    }

    /// Sets the execution of transactions that are run as closures, for all types for which
    /// [`Database::set_staging`](crate::Database::set_staging) sets nothing else. Default
    /// [`Staging::Automatic`].
    pub fn staging(mut self, policy: Staging) -> Options {
        self.staging = policy;
        self
    }

    /// Sets the limit of a wait for a lock, after which an operation fails with
    /// [`Error::LockTimeout`](crate::Error::LockTimeout). Default `None`, no limit: deadlocks are
    /// detected without one. The error names the lock and, for a lock on a key, transactions that
    /// held it. [`transact`](crate::Database::transact) does not run a closure again after this
    /// error. The limit also holds for a wait for a page that the disk is reading: see
    /// [`Error::ReadTimeout`].
    pub fn lock_wait_limit(mut self, limit: Option<Duration>) -> Options {
        self.engine.lock.wait_limit = limit;
        self
    }

    /// Sets the threshold of lock escalation: a transaction that has taken more than this many
    /// locks on the keys of one table tries to lock the table as a whole. Default `None`: no
    /// escalation.
    ///
    /// If the transaction has only read from the table, without a read for update, it requests a
    /// shared lock. Under that lock it takes no more locks on the keys that it reads. Otherwise it
    /// requests an exclusive lock, under which it takes no more locks on keys of the table. If it
    /// cannot have the exclusive lock, it requests one that covers its reads only, and goes on
    /// locking the keys that it writes.
    ///
    /// The transaction does not wait for the table's lock. While other transactions hold
    /// conflicting locks, it goes on with locks on keys, and tries again after the same number of
    /// further locks.
    ///
    /// Escalation bounds the memory of large transactions, but can make other transactions wait. A
    /// transaction that is known to be large should call
    /// [`lock_table`](crate::Transaction::lock_table) at its start instead.
    pub fn escalate_after(mut self, locks: Option<usize>) -> Options {
        self.engine.escalate_after = locks;
        self
    }

    /// Sets whether opening may, or must, create the database. Default [`Creation::IfMissing`].
    pub fn create(mut self, policy: Creation) -> Options {
        self.engine.create = policy;
        self
    }

    /// Sets the maximum number of times that a call such as [`transact`](crate::Database::transact)
    /// or [`submit`](crate::Database::submit) runs a closure. If the transaction is a deadlock's
    /// victim in the last attempt, the result is [`Error::Deadlock`]. Default 100; 0 counts as 1.
    pub fn attempts(mut self, attempts: u32) -> Options {
        self.attempts = attempts.max(1);
        self
    }

    /// Sets the bytes of log after which a checkpoint starts: this number, or a quarter of
    /// [`log_capacity`](Options::log_capacity) if that is less. Default 256 MiB; 0 is refused.
    /// Recovery after a crash reads up to about twice this much log, because a checkpoint of this
    /// kind writes only pages that had changed before the previous checkpoint. Redo may therefore
    /// have to begin at the previous checkpoint.
    pub fn checkpoint_every(mut self, log_bytes: u64) -> Options {
        self.engine.checkpoint_log_bytes = log_bytes;
        self
    }

    /// Sets the implementation of the queue through which pages are read for tasks, for scans and
    /// by recovery, and written back. Default [`IoQueueChoice::Auto`]: the kernel, through
    /// io_uring, if it lets the process read through one when the database is opened, and threads
    /// otherwise. With [`IoQueueChoice::Uring`] the opening fails instead. A database in memory
    /// ignores it. [`PoolStats::io_queue`](crate::PoolStats::io_queue), in
    /// [`Database::stats`](crate::Database::stats), says which one is used.
    pub fn io_queue(mut self, choice: IoQueueChoice) -> Options {
        self.engine.pool.io.choice = choice;
        self
    }
}

/// Translates the name of a refused option from the engine's internal name to the method that sets
/// it.
pub(crate) fn with_public_name(error: Error) -> Error {
    let Error::BadOption { option, detail } = error else { return error };
    let option = match option {
        "cache_bytes" | "max_bytes" | "batch_pages" => "cache_size",
        "capacity_bytes" | "segment_bytes" => "log_capacity",
        "checkpoint_log_bytes" => "checkpoint_every",
        option => option,
    };
    Error::BadOption { option, detail }
}
