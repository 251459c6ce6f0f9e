//! Clearway: a durable, serializable, embeddable transaction engine in which no transaction holds
//! locks while it waits for its commit to become durable.
//!
//! A database is a directory (or, for tests, in memory). It holds tables: ordered byte keys and
//! byte values. Any number of threads read and write them in transactions. Every transaction is
//! serializable, but for scans that skip locked entries. In the default commit mode, a result is
//! delivered only when its transaction is durable ([`CommitMode::Lazy`] gives this up).
//!
//! ```
//! use clearway::{Database, Error, Result};
//!
//! fn withdraw(db: &Database, amount: u64) -> Result<u64> {
//!     let accounts = db.table("accounts")?; // ordered byte keys → byte values
//!
//!     // Runs the closure, again if it is a deadlock's victim, and returns once it is durable.
//!     db.transact("withdraw", |tx| {
//!         let row = tx.get_for_update(&accounts, b"alice")?.ok_or_else(Error::not_found)?;
//!         let balance = u64::from_be_bytes(row.try_into().unwrap_or_default());
//!         if balance < amount {
//!             return tx.abort("insufficient funds");
//!         }
//!         tx.put(&accounts, b"alice", (balance - amount).to_be_bytes())?;
//!         Ok(balance - amount)
//!     })
//! }
//!
//! # let dir = tempfile::tempdir().unwrap();
//! # let directory = dir.path().join("bank");
//! let db = Database::open(&directory)?;
//! let accounts = db.table("accounts")?;
//!
//! // Pipelined: returns when the locks are released. The result cannot be seen before it is
//! // durable.
//! let opened = db.submit("open", |tx| tx.put(&accounts, b"alice", 150u64.to_be_bytes()))?;
//! opened.wait()?; // or opened.await
//!
//! assert_eq!(withdraw(&db, 100)?, 50);
//! assert!(matches!(withdraw(&db, 100), Err(Error::Aborted { .. })));
//! db.close()?;
//! # Ok::<(), Error>(())
//! ```
//!
//! # Guarantees
//! - **Serializable.** Every transaction, including read-only ones. Phantoms do not occur. There is
//!   no weaker isolation level. The one exception is a scan with [`Scan::skip_locked`] or
//!   [`AsyncScan::skip_locked`]: the entries that it passes over, and the gaps between entries, are
//!   not locked.
//! - **Durable.** In the default commit mode, [`transact`](Database::transact), [`Pending::wait`]
//!   and `.await` return a value only when the log is on disk up to the commit record of the
//!   transaction *and* up to the commit record of every transaction whose work it has read. An
//!   acknowledged transaction survives a crash of the process, of the machine, and of recovery
//!   itself. [`CommitMode::Lazy`] gives this up: it returns values at once. In either mode, an
//!   unacknowledged transaction takes effect completely or not at all. (Within a transaction,
//!   operations such as [`get`](Transaction::get) return what they read at once, even if the commit
//!   that wrote it is not durable yet. The result of the transaction is then withheld until it is.)
//! - **Fail stop.** After a write or sync of the log has failed, no result is acknowledged in the
//!   default mode that was not durable before. A result that is withheld at that time fails with
//!   [`Error::OutcomeUnknown`], or with [`Error::Poisoned`] if its transaction wrote nothing or was
//!   rolled back. Later commits fail with [`Error::Poisoned`]. So do operations that write to the
//!   log, and the first operation of a transaction on a table. A transaction can go on reading
//!   tables that it has used before, but cannot commit. After a failed write or sync of pages, no
//!   page is written any more, and the engine stops in the same way as soon as its checkpointer
//!   notices, as a rule within 50 ms; commits that succeed until then are durable. Opening the
//!   database again recovers it. A failed sync of log records or pages is never retried. If the
//!   engine finds its own memory in an impossible state ([`Error::BrokenInvariant`]), every
//!   database of the process stops in the same way, and none can be opened until the process ends.
//! - **Checked.** Pages, log records and the superblock carry checksums. Those of pages and log
//!   records cover their location, too. Damage causes an error, as a rule [`Error::Corrupt`] or
//!   [`Error::CorruptPage`], and not a wrong result. Two kinds of damage can go unnoticed: an older
//!   version of a whole page, left by a device that loses writes, and damage to the very end of a
//!   log that was not closed. (The README states the limits of both under "Guarantees".)
//!
//! # Locks
//! Locks are taken on keys and on the gaps between them, separately. A lock on key *A* can cover
//! *A*, the open gap between *A* and the next key, or both. A mode is a pair of a key part and a
//! gap part, each N (nothing), S (shared) or X (exclusive). Two modes are compatible if both parts
//! are, by this table:
//!
//! | held ↓ requested → | N | S | X |
//! | --- | --- | --- | --- |
//! | **N** | yes | yes | yes |
//! | **S** | yes | yes | no |
//! | **X** | yes | no | no |
//!
//! | operation | key part | gap part |
//! | --- | --- | --- |
//! | [`get`](Transaction::get) of a present key | S | N |
//! | [`get`](Transaction::get) of an absent key | N | S, of the gap that would contain it |
//! | [`get_for_update`](Transaction::get_for_update) of a present key | X | N |
//! | [`get_for_update`](Transaction::get_for_update) of an absent key | N | X, of that gap |
//! | [`update`](Transaction::update) of a present key | X | N |
//! | [`update`](Transaction::update) of an absent key | N | S, of that gap |
//! | [`delete`](Transaction::delete) | as `update` | as `update` |
//! | [`insert`](Transaction::insert), [`put`](Transaction::put) | X | N |
//! | [`scan`](Transaction::scan) | S | S, of each gap it passes |
//! | [`scan_for_update`](Transaction::scan_for_update) | X | S |
//! | … with [`skip_locked`](Scan::skip_locked), of each entry it returns | S or X, as above | N |
//!
//! A key that is deleted, or whose insertion is rolled back, leaves a *ghost* in the table. A
//! thread of the engine removes the ghost, usually within seconds, once no transaction holds or
//! awaits a lock on it. Three kinds of absent keys are locked as if they were present, the key and
//! not the gap: those that have a ghost, those at which a page of the table begins, and the empty
//! key. So if two transactions `update` a key that was just deleted, the second waits for the
//! first, although both find the key absent.
//!
//! An insert checks that the gap it goes into is free, but does not lock it: inserts into one gap
//! do not wait for each other. (Graefe, Kimura: "Orthogonal key-value locking".) If the transaction
//! itself has locked the gap, both parts of the gap stay locked, below the new key and above it.
//! Tables, and the database above them, are locked with intent locks. These are stored as counters,
//! which compatible transactions share without a queue. (If a database has had more than a thousand
//! tables, two of them can share an intent lock. A lock on one of the two as a whole then makes the
//! users of the other wait, too.)
//!
//! A transaction that reads or writes most of a table may lock it as a whole instead of each key:
//! [`lock_table`](Transaction::lock_table), and for all tables
//! [`lock_database`](Transaction::lock_database). With [`Options::escalate_after`], transactions
//! that hold many locks on one table try this automatically.
//!
//! A transaction keeps the locks that its operations need until it commits or is rolled back. A
//! commit releases them **before** it is durable. A transaction that then acquires a lock which the
//! committed transaction held exclusively receives the position of that commit in the log. Its own
//! result is withheld until the log is durable up to that position (in the default commit mode).
//! The same holds for a transaction that locks a whole table in which the committed transaction has
//! written.
//!
//! # Deadlocks
//! A transaction that begins to wait for a lock, and holds others, searches for a cycle of waits
//! through itself. In this way every deadlock of transactions that wait for each other's locks is
//! found when it arises. One member of the cycle, usually the one that finds it, is rolled back
//! with [`Error::Deadlock`]. [`transact`](Database::transact), [`submit`](Database::submit) and the
//! other calls that run a closure run it again after a short random pause; [`Options::attempts`]
//! limits the number of its runs, the first one included. An interactive transaction must be run
//! again by its caller. Most deadlocks are avoided if a key that will be written is read with
//! [`get_for_update`](Transaction::get_for_update).
//!
//! A transaction waits for a lock without a time limit unless [`Options::lock_wait_limit`] or
//! [`Transaction::lock_wait`] sets one. A wait that exceeds its limit fails with
//! [`Error::LockTimeout`]. A closure is not run again then, since retries would multiply the limit.
//!
//! [`Error::Deadlock`] names each member of the cycle, the lock it held and the lock it waited for;
//! see [finding hot rows](#finding-hot-rows).
//!
//! A thread can also come to wait for itself: a closure runs a second transaction, and an operation
//! of the second needs a lock that the first holds. That operation fails at once with
//! [`Error::SelfWait`]. On an agent of a [`Pipeline`], the same happens to a closure of
//! [`Pipeline::submit`] that needs a lock of an asynchronous closure of the same agent. The engine
//! does not recognize other cases, such as the following. There, the wait goes on until the
//! transaction that holds the lock ends, or until the limit of the wait:
//! - The lock is held by an interactive transaction ([`begin`](Database::begin),
//!   [`begin_async`](Database::begin_async)), or by an asynchronous closure that an executor runs
//!   on this thread and is not polling now. The engine does not know that they depend on the
//!   thread.
//! - The second transaction is asynchronous, and the closure blocks its thread until that has
//!   ended.
//! - The lock is on a whole table or on the database. Of the holders of such a lock, the engine
//!   recognizes only those that have locked the whole table or database, and those that wait for a
//!   lock themselves. So a closure that uses a table, and then has a second transaction lock the
//!   whole of it, waits for itself.
//!
//! # Not waiting
//! A single call can have a different wait limit:
//! [`get_for_update_with`](Transaction::get_for_update_with) and [`waiting`](Transaction::waiting)
//! take a [`LockWait`]. [`Scan::skip_locked`] passes over entries that other transactions have
//! locked. So workers that take jobs from one table with [`Transaction::scan_for_update`] do not
//! wait for each other's jobs, and no two of them have the same job at a time. See
//! `examples/job_queue.rs`.
//!
//! # Finding hot rows
//! [`Database::lock_waits`], also a part of [`Database::stats`], reports the number and length of
//! lock waits by table and by type of transaction, at most 64 keys (those with the most waits), and
//! the last 16 deadlocks: each member, the lock it held, its mode, and the lock it waited for. The
//! type is the name given to [`transact`](Database::transact), [`submit`](Database::submit),
//! [`begin_as`](Database::begin_as) or another call that takes one. The counters are always on.
//! Only waits are counted, so a lock that is granted at once costs nothing more. Errors give the
//! same information for a single case: [`Error::LockTimeout`] and [`Error::WouldBlock`] name the
//! lock, the mode and, for a lock on a key, transactions that hold it; [`Error::Deadlock`] names
//! the members of the cycle. (The key is named for diagnosis only: it may not be committed yet.)
//!
//! [`Database::waits`] lists the waits that go on at this moment: which transaction waits for which
//! lock, since when, and which transactions block it. Use it if a database makes no progress.
//!
//! # Where the time goes
//! [`Database::timings`], also a part of [`Database::stats`], has three histograms for each type of
//! transaction: how long it ran until its commit had released its locks, how long its result then
//! waited for the log, and the sum of both. Without early release, locks would be held for the sum.
//! One transaction in 16 is timed (see [`Options::time_one_in`]).
//!
//! A released lock is granted to the next waiter directly. It counts as held from that grant on,
//! even before the task that was waiting for it is polled. [`WaitCounts::grant_to_poll`], by table
//! and type, has the time from the grant to the poll. If it is long, the executor polls late, and
//! delays all others that wait for the lock. [`TypeStats::long_steps`] counts the times that a
//! closure, or one poll of an asynchronous one, kept an agent of a [`Pipeline`] for longer than 10
//! ms.
//!
//! # Limits
//! | | |
//! | --- | --- |
//! | key | [`KEY_LEN_MAX`] bytes; the empty key is a key |
//! | value | [`VALUE_LEN_MAX`] bytes (16 MiB); large values go to pages of their own |
//! | table name | [`TABLE_NAME_LEN_MAX`] bytes of UTF-8, not empty |
//! | transactions | 65,000 at a time |
//! | database | 256 GiB, or twice its size at its opening; at most 32 TiB (2³² pages of 8 KiB) |
//! | one process | a directory is open in one process at a time; [forks](Database#after-a-fork) |
//!
//! An opening reserves address space for the database: for 256 GiB, or for twice the database's
//! present size if that is more. If the system does not grant that, the opening reserves less: at
//! least twice the present size, and at least the size of the cache. Until the database is opened
//! again, it cannot grow beyond what was reserved.
//!
//! # Sizing
//! - [`Options::cache_size`]: should hold what is read often. The database may be far larger:
//!   memory stays within 1.1 times the cache size, plus about 64 MiB for fixed structures (such as
//!   the log buffer and the lock table), plus 4 MiB for each GiB of the database that was accessed
//!   since it was opened. The locks and the undo of large transactions are not included.
//! - [`Options::log_capacity`]: at least four times what the largest transaction writes, because
//!   log that an open transaction could still need for its rollback cannot be recycled. When the
//!   log is full, [`Error::LogFull`] names the transaction or the backup that prevents recycling.
//! - Locks: each lock on a key takes 24 bytes, 16 in the lock table and 8 in its transaction's
//!   list. Both grow by doubling and are therefore partly empty: averaged over all locks, at most
//!   about 40 bytes are allocated for one. The lock table keeps a part of its memory for later
//!   transactions: 170 MB after a transaction with six million locks. Scan millions of rows in
//!   parts, or under a [lock on the table](Transaction::lock_table), which makes locks on its keys
//!   unnecessary.
//! - Commits: many [`submit`](Database::submit)s in flight on few threads cost least. Threads that
//!   block until their commits are durable share flushes too, but each of them may have to be
//!   woken.
//!
//! # Waiting and async
//! What waits, and for what:
//!
//! | call | thread | future |
//! | --- | --- | --- |
//! | [`transact`](Database::transact) | locks, pages, log space, flush | |
//! | [`submit`](Database::submit) | locks, pages, log space | flush |
//! | [`Pipeline::submit`] | | an agent, locks, pages, log space, flush |
//! | [`Pipeline::submit_async`] | | an agent, locks, pages, log space, flush |
//! | [`spawn`](Database::spawn) | | an agent, locks, pages, log space, flush |
//! | [`transact_async`](Database::transact_async) | | locks, pages, log space, flush |
//! | [`submit_async`](Database::submit_async) | | locks, pages, log space; then flush |
//!
//! The second column lists what the call waits for in its own thread, the third what its future
//! waits for. That future is a [`Pending`], a [`Ticket`], or the call itself. (The future of
//! `submit_async` returns a [`Pending`], which waits for the flush.) A closure of
//! [`Pipeline::submit`] keeps its agent while it waits for a lock, a page or log space, but not
//! for a page of its fetch stage ([`Staging`]); the agent of an asynchronous closure runs other
//! transactions meanwhile. [`begin_async`](Database::begin_async) begins an interactive transaction
//! whose operations are futures.
//!
//! The futures need no particular executor, and may be dropped at any time:
//! [`AsyncTransaction`](AsyncTransaction#cancellation) says what then happens. A poll does not
//! block for what the third column lists. It can block for a latch or a mutex, and for a write of
//! the log if the log buffer (16 MiB) is full. Calls on the whole database block their thread
//! ([`open`](Database::open), creating and dropping tables, [`sync`](Database::sync), checkpoints,
//! backups, [`verify`](Database::verify), [`close`](Database::close)), and so do
//! [`Pipeline::close`] and dropping the last handle. Make them where that is allowed.
//!
//! A granted lock counts as held from the grant, even if the task that has it is polled late. So an
//! executor that polls late makes others wait for the row.

mod database;
mod inner;
mod lending;
mod options;
mod own_errors;
mod staging;
mod table;

mod async_transaction;
mod async_verbs;
mod pending;
mod pipeline;
mod transaction;
mod verbs;

mod range;
mod scan;

mod async_runner;
mod automatic;
mod run_stats;
mod runner;
mod staged_run;
mod statistics;
mod timings;

pub use async_transaction::{AsyncScan, AsyncTransaction};
pub use clearway_base::{
    DatabaseId, DeadlockCycle, DeadlockMember, Epoch, Error, ErrorKind, Histogram, KEY_LEN_MAX,
    KEY_SAMPLE_LEN, KeySample, LockConflict, LockName, LogKeeper, Lsn, PageId, Result,
    TABLE_NAME_LEN_MAX, TableKey, TreeId, TxnId, TxnName, VALUE_LEN_MAX,
};
pub use clearway_lock::{AbsoluteMode, LockStats};
pub use clearway_log::LogStats;
pub use clearway_pool::{IoQueueChoice, IoQueueKind, PoolStats};
pub use clearway_tree::{Direction, LevelReport, TreeReport};
pub use clearway_txn::{
    BlockingTransaction, Creation, CurrentWait, DeadlockReport, EngineStats, GrantToPoll, HotKey,
    LockWaits, RecoveryReport, Savepoint, TableReport, VerifyReport, WaitCounts, WaitTotals,
    WaitsOf,
};
pub use database::Database;
pub use lending::LentTransaction;
pub use options::{CommitMode, LockWait, Options};
pub use pending::Pending;
pub use pipeline::{Pipeline, PipelineOptions, PipelineStats, Ticket};
pub use range::{KeyRange, Prefix, prefix};
pub use run_stats::RunStats;
pub use scan::{Cursor, Entry, EntryRef, Scan};
pub use staging::{Stage, Staging, StagingStats};
pub use statistics::{Stats, TypeStats};
pub use table::Table;
pub use timings::TypeTimings;
pub use transaction::Transaction;

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
