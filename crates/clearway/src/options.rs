//! How a database is opened.

use std::{path::Path, sync::Arc, time::Duration};

use clearway_base::{Error, Result};
use clearway_disk::{Disk, MemoryDisk, OsDisk};
use clearway_lock::{LockOptions, RangeProtocol, WaitLimit};
use clearway_log::{Consolidation, GroupPolicy, Strategy};
use clearway_sync::Process;
use clearway_txn::{Creation, EarlyRelease, EngineOptions};

use crate::Database;

/// How often a conflicting transaction is run before its error is returned.
const ATTEMPTS_DEFAULT: u32 = 100;

/// One transaction in so many is timed.
const TIME_ONE_IN_DEFAULT: u32 = 16;

/// The log has at least this many files, so that its tail can be given back in small parts …
const LOG_FILES_MIN: u64 = 16;
/// … of at least 64 KiB …
const LOG_FILE_MIN: u64 = 64 << 10;
/// … and at most 16 MiB.
const LOG_FILE_MAX: u64 = 16 << 20;

/// Options of a database, with defaults that suit most: a gigabyte of cache, a gigabyte of log,
/// every commit durable before it is acknowledged, and all locks released early.
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
    storage: Storage,
    pub(crate) attempts: u32,
    pub(crate) mode: CommitMode,
    pub(crate) time_one_in: u32,
}

/// When a commit is acknowledged. `docs/commit-modes.md` in the repository has the whole table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CommitMode {
    /// When it, and everything that it has read, is on the disk.
    #[default]
    Durable,
    /// At once, and it is written soon after: **what was acknowledged last can be lost** in a crash
    /// of the process, of the system, or when the disk fails. What is lost are always the last
    /// commits, and with each one everything that came after it, so the database is as consistent
    /// as ever.
    ///
    /// The loss window: what was committed since the flush before last began: two flushes' time
    /// and twice the [linger](Options::linger), less than a millisecond on a good disk; with a
    /// fixed [`GroupPolicy`], that policy's limits and one flush. It is never more than the log's
    /// buffer, 16 MiB. [`Database::sync`] ends it.
    Lazy,
}

/// Where the files are.
#[derive(Clone)]
enum Storage {
    /// In the directory that `open` is given.
    Directory,
    /// On this disk; the path that `open` is given is a name for messages only.
    Given(Arc<dyn Disk>),
}

/// How a transaction waits for locks; see
/// [`Transaction::lock_wait`](crate::Transaction::lock_wait), and for single calls
/// [`Transaction::get_for_update_with`](crate::Transaction::get_for_update_with) and
/// [`Transaction::waiting`](crate::Transaction::waiting).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LockWait {
    /// As [`Options::lock_wait_limit`] says.
    #[default]
    Default,
    /// As long as it takes.
    Forever,
    /// At most this long; then [`Error::LockTimeout`](crate::Error::LockTimeout).
    For(Duration),
    /// Not at all: a lock that is not free is [`Error::WouldBlock`](crate::Error::WouldBlock).
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
    /// The defaults.
    pub fn new() -> Options {
        let mut engine = EngineOptions::default();
        engine.lock.wait_limit = None;
        Options {
            engine,
            storage: Storage::Directory,
            attempts: ATTEMPTS_DEFAULT,
            mode: CommitMode::default(),
            time_one_in: TIME_ONE_IN_DEFAULT,
        }
    }

    /// A database in memory, for tests. The path given to [`open`](Options::open) is ignored.
    /// The contents live as long as these options, their clones or a database opened from them:
    /// opening from a clone after closing finds what was committed.
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

    /// A database on any disk: simulated, failing, watched, delayed.
    #[doc(hidden)]
    pub fn on_disk(mut self, disk: Arc<dyn Disk>) -> Options {
        self.storage = Storage::Given(disk);
        self
    }

    /// Bytes of memory for pages. Default 1 GiB. The process uses up to a tenth more, and the
    /// log's ring and the lock table besides (some 64 MiB).
    pub fn cache_size(mut self, bytes: u64) -> Options {
        self.engine.pool.cache_bytes = bytes;
        self
    }

    /// Bytes the log may occupy on disk. Default 1 GiB. Checkpoints keep it well below. Log that
    /// the oldest open transaction may need for its rollback cannot be recycled, though: when a
    /// transaction has stayed open while this much was written, by itself or by others, further
    /// writes fail with [`Error::LogFull`](crate::Error::LogFull), which names it, until it ends.
    ///
    /// A write that finds the log full waits as long as a checkpoint is under way that will make
    /// room, at most 10 s; otherwise at most 100 ms, and not at all if its own transaction is the
    /// oldest. Only recovery, rollbacks and the checkpoints that make room may exceed the capacity,
    /// by little and for a while.
    ///
    /// A database created with a small capacity gets smaller log files, which it keeps for life.
    pub fn log_capacity(mut self, bytes: u64) -> Options {
        self.engine.log.capacity_bytes = bytes;
        let file = (bytes / LOG_FILES_MIN).clamp(LOG_FILE_MIN, LOG_FILE_MAX);
        self.engine.log.segment_bytes = file.next_multiple_of(LOG_FILE_MIN);
        self
    }

    /// When commits are acknowledged. Default: when they are durable. Read
    /// [`CommitMode::Lazy`] before you choose it.
    pub fn commit_mode(mut self, mode: CommitMode) -> Options {
        self.mode = mode;
        self
    }

    /// One transaction in `count` of each thread is timed for [`Database::timings`]; 0: none is.
    /// Default 16, where it costs a few nanoseconds for each transaction.
    pub fn time_one_in(mut self, count: u32) -> Options {
        self.time_one_in = count;
        self
    }

    /// For experts: how threads reserve room in the log buffer.
    pub fn log_strategy(mut self, strategy: Strategy) -> Options {
        self.engine.log.strategy = strategy;
        self
    }

    /// For experts: where threads meet that reserve room in groups, for the strategies
    /// [`Consolidated`](Strategy::Consolidated), [`Hybrid`](Strategy::Hybrid) and
    /// [`Delegated`](Strategy::Delegated).
    pub fn log_consolidation(mut self, sizes: Consolidation) -> Options {
        self.engine.log.consolidation = sizes;
        self
    }

    /// For experts: how long after the start of a flush the next one may start if nobody waits for
    /// it, at most a second. Default 100 µs. A longer time makes fewer, larger flushes for threads
    /// that are busy. Who waits for a [`Pending`](crate::Pending), by thread or by future, ends it
    /// for all. Who only looks now and then, and who waits for the
    /// [`Ticket`](crate::Ticket) of a pipeline whose agents have more to run, may wait for it, and
    /// so do commits of [`CommitMode::Lazy`].
    pub fn linger(mut self, linger: Duration) -> Options {
        self.engine.log.linger = linger;
        self
    }

    /// When the log is flushed: by default as soon as a flush may start, and somebody waits or the
    /// [linger](Options::linger) is over.
    pub fn group_policy(mut self, policy: GroupPolicy) -> Options {
        self.engine.log.group = policy;
        self
    }

    /// Which locks a commit releases before it is durable. Every choice is safe; the others than
    /// [`EarlyRelease::All`] are for measuring what it is worth.
    pub fn early_release(mut self, what: EarlyRelease) -> Options {
        self.engine.early_release = what;
        self
    }

    /// Which modes range locks are taken in. For experiments: every choice is serializable, with
    /// more waits under the others than [`RangeProtocol::Orthogonal`].
    pub fn range_protocol(mut self, protocol: RangeProtocol) -> Options {
        self.engine.range_protocol = protocol;
        self
    }

    /// How long an operation waits for a lock before it fails with
    /// [`Error::LockTimeout`](crate::Error::LockTimeout). Default `None`: as long as it takes;
    /// deadlocks are found, not waited out. The error says which key of which table was waited
    /// for, and who held it. [`transact`](Database::transact) does not run the closure again after
    /// it.
    pub fn lock_wait_limit(mut self, limit: Option<Duration>) -> Options {
        self.engine.lock.wait_limit = limit;
        self
    }

    /// Lock escalation: a transaction that has taken more than so many locks on the keys of one
    /// table tries to lock the table as a whole, shared if it has only read there, and takes no
    /// more on its keys if that succeeds. It never waits for it: while others are in the way it
    /// goes on with keys, and tries again after as many more. Default `None`: never.
    ///
    /// It bounds the memory of large transactions, and makes others wait that would not have: a
    /// transaction that is known to be large does better with
    /// [`lock_table`](crate::Transaction::lock_table) at its beginning.
    pub fn escalate_after(mut self, locks: Option<usize>) -> Options {
        self.engine.escalate_after = locks;
        self
    }

    /// Whether a transaction that lost a deadlock begins its next attempt with the locks it needed
    /// before, in an order that is the same for all. Default: it does; where deadlocks are frequent
    /// that multiplies throughput (`clearway-lab deadlock_retries`), elsewhere it does nothing.
    pub fn retries_lock_first(mut self, lock_first: bool) -> Options {
        self.engine.retries_lock_first = lock_first;
        self
    }

    /// Whether opening may create the database. Default [`Creation::IfMissing`].
    pub fn create(mut self, policy: Creation) -> Options {
        self.engine.create = policy;
        self
    }

    /// How often [`transact`](Database::transact) and [`submit`](Database::submit) run a closure
    /// whose transaction loses deadlocks before they return [`Error::Deadlock`]. Default 100, at
    /// least 1.
    pub fn attempts(mut self, attempts: u32) -> Options {
        self.attempts = attempts.max(1);
        self
    }

    /// A checkpoint starts after this many bytes of log. Default 256 MiB: what recovery after a
    /// crash has to read, about.
    pub fn checkpoint_every(mut self, log_bytes: u64) -> Options {
        self.engine.checkpoint_log_bytes = log_bytes;
        self
    }

    /// For tests of the engine itself: after each change, images of the changed pages are logged
    /// too, and recovery compares them with what redo makes of the change; a difference is
    /// [`Error::CorruptPage`](crate::Error::CorruptPage), and the database stays closed. Slow: the
    /// log becomes many times as long. Images take up to half of the log's capacity and are left
    /// out beyond. Recovery compares whatever images it finds, however it is opened. Default off.
    pub fn redo_check(mut self, on: bool) -> Options {
        self.engine.redo_check = on;
        self
    }

    /// For experiments: how the lock manager waits and what it does about deadlocks.
    #[doc(hidden)]
    pub fn locks(mut self, change: impl FnOnce(&mut LockOptions)) -> Options {
        change(&mut self.engine.lock);
        self
    }

    /// For tests: whatever else the engine below can be told.
    #[doc(hidden)]
    pub fn engine(mut self, change: impl FnOnce(&mut EngineOptions)) -> Options {
        change(&mut self.engine);
        self
    }

    /// Usable bytes of a page, so that tests get deep trees from few keys.
    #[doc(hidden)]
    pub fn node_bytes(mut self, bytes: usize) -> Options {
        self.engine.node_bytes = bytes;
        self
    }

    /// Whether checkpoints and space reclamation run by themselves; off only in tests.
    #[doc(hidden)]
    pub fn background(mut self, on: bool) -> Options {
        self.engine.background = on;
        self
    }

    /// Opens the database in the directory `path`, creating it if the policy allows. Recovers it
    /// first if it was not closed.
    ///
    /// # Errors
    /// - [`Error::NotADatabase`] for a directory with other contents, and for one without a
    ///   database if none may be created; nothing is left in it;
    /// - [`Error::FormatTooNew`];
    /// - [`Error::AlreadyOpen`];
    /// - [`Error::Corrupt`] and [`Error::CorruptPage`] for damage that recovery meets;
    /// - [`Error::ForeignLog`] for a log that belongs to other data;
    /// - [`Error::BadOption`];
    /// - [`Error::Io`] (with [`AlreadyExists`](std::io::ErrorKind::AlreadyExists) for a database
    ///   where a new one was to be created), [`Error::DiskFull`], [`Error::Poisoned`] after a
    ///   failed write.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Database> {
        if Process::is_ruined() {
            return Err(Error::Forked);
        }
        let (disk, directory) = match &self.storage {
            Storage::Given(disk) => (Arc::clone(disk), None),
            Storage::Directory => {
                let create = self.engine.create != Creation::Never;
                let directory = Arc::new(OsDisk::open_dir(path.as_ref(), create)?);
                (Arc::clone(&directory) as Arc<dyn Disk>, Some(directory))
            }
        };
        Database::start(disk, directory, self).map_err(in_users_words)
    }
}

/// A part of the engine names the option that it refuses as it knows it; users know it by the
/// method that sets it.
fn in_users_words(error: Error) -> Error {
    let Error::BadOption { option, detail } = error else { return error };
    let option = match option {
        "cache_bytes" | "max_bytes" | "batch_pages" => "cache_size",
        "capacity_bytes" | "segment_bytes" => "log_capacity",
        "checkpoint_log_bytes" => "checkpoint_every",
        option => option,
    };
    Error::BadOption { option, detail }
}
