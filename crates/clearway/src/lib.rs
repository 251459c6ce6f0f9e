//! Clearway: a durable, serializable, embeddable transaction engine in which a commit releases its
//! locks before it is flushed.
//!
//! A database is a directory. It holds tables: ordered byte keys and byte values. Any number of
//! threads read and write them in transactions. Every transaction is serializable (but for scans
//! that skip locked entries), and in the default commit mode its result cannot be seen before it is
//! durable ([`CommitMode::Lazy`] gives this up).
//!
//! ```
//! use clearway::{Database, Error, Result};
//!
//! fn withdraw(db: &Database, amount: u64) -> Result<u64> {
//!     let accounts = db.table("accounts")?; // ordered byte keys → byte values
//!
//!     // Runs the closure, again if it is a deadlock's victim, and returns once it is durable.
//!     db.transact("withdraw", |tx| {
//!         let row = tx.get_for_update(&accounts, b"alice")?.ok_or(Error::NotFound)?;
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
//!   no weaker isolation level. Only a scan with [`Scan::skip_locked`] gives this up: it locks the
//!   entries that it returns, but neither gaps nor the entries that it passes over.
//! - **Durable.** In the default commit mode, [`transact`](Database::transact), [`Pending::wait`]
//!   and `.await` return a value only when the log is on disk up to its own commit record *and* up
//!   to the commit record of every transaction whose work it read. ([`CommitMode::Lazy`] gives this
//!   up: it returns values at once.) In the default mode, an acknowledged transaction survives a
//!   crash of the process, of the machine, and of recovery itself. An unacknowledged transaction
//!   takes effect completely or not at all.
//! - **Fail stop.** After a write or sync of the log has failed, no result is acknowledged that was
//!   not durable before. A pending one fails with [`Error::OutcomeUnknown`], or with
//!   [`Error::Poisoned`] if its transaction wrote nothing or was rolled back. Later commits and
//!   writes fail with [`Error::Poisoned`], and so do the first operations of new transactions; a
//!   transaction that was open may go on reading. Opening the database again recovers it. A failed
//!   sync is never retried. If the engine finds its own memory in an impossible state
//!   ([`Error::BrokenInvariant`]), every database of the process stops in the same way until the
//!   process ends.
//! - **Checked.** Pages, log records and the superblock carry checksums, those of pages and log
//!   records with their location; damage causes an error ([`Error::Corrupt`],
//!   [`Error::CorruptPage`]) and not a wrong result, with two exceptions that go unnoticed: a stale
//!   copy of a whole page, left by a device that loses writes, and damage to the very end of a log
//!   that was not closed (README, "Guarantees").
//!
//! # Locks
//! Locks are taken on keys and on the gaps between them, separately. A lock on key *A* can cover
//! *A*, the open gap up to the next key, or both. A mode is a pair of a key part and a gap part,
//! each N (nothing), S (shared) or X (exclusive). Two modes are compatible if both parts are, by
//! this table:
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
//! | … with [`skip_locked`](Scan::skip_locked), of each entry it returns | X | N |
//!
//! Some absent keys are locked as if they were present, the key and not the gap: those whose
//! *ghost* is still in the table, those at which a page of the table begins, and the empty key. A
//! key that is deleted, or whose insertion is rolled back, leaves a ghost. The ghost is removed in
//! the background, usually within seconds, once no transaction holds or awaits a lock on it. So the
//! second of two `update`s of a key that was just deleted waits for the first, although both find
//! the key absent.
//!
//! An insert checks that the gap it goes into is free, but does not keep it locked: inserts into
//! one gap do not wait for each other. (Graefe, Kimura: "Orthogonal key-value locking".) Tables,
//! and the database above them, are locked with intent locks. These are stored as counters, which
//! compatible transactions share without a queue.
//!
//! A transaction that reads or writes most of a table may lock it as a whole instead of each key:
//! [`lock_table`](Transaction::lock_table), and for all tables
//! [`lock_database`](Transaction::lock_database). [`Options::escalate_after`] does this
//! automatically for transactions that hold many locks on one table.
//!
//! All locks are kept until commit and released **before** the commit is flushed. A transaction
//! that then acquires a lock which the committed transaction held exclusively receives the position
//! of that commit in the log, and is not acknowledged before the log is durable up to that
//! position. So does one that locks a whole table in which the committed transaction has written.
//!
//! # Deadlocks
//! Every deadlock is found while its members wait: each waiter searches for a cycle through itself.
//! One member of a cycle, usually the waiter that finds it, is rolled back with
//! [`Error::Deadlock`]. [`transact`](Database::transact) and [`submit`](Database::submit) run the
//! closure again after a short random pause; [`Options::attempts`] limits the number of its runs,
//! the first one included. An interactive transaction must be run again by its caller. Using
//! [`get_for_update`](Transaction::get_for_update) to read a key that will be written avoids most
//! deadlocks. Waiting has no limit unless [`Options::lock_wait_limit`] or
//! [`Transaction::lock_wait`] sets one; a wait that exceeds it fails with [`Error::LockTimeout`],
//! which is returned to the caller without a retry, since retries would multiply the limit.
//!
//! [`Error::Deadlock`] names each member of the cycle, the lock it held and the lock it waited for;
//! see [finding hot rows](#finding-hot-rows).
//!
//! A thread can also come to wait for itself: a closure runs a second transaction, and an operation
//! of the second needs a lock that the first holds. That operation fails at once with
//! [`Error::SelfWait`]. So does a closure on an agent of a [`Pipeline`] that needs a lock of an
//! asynchronous closure of the same agent. For an interactive transaction
//! ([`begin`](Database::begin)) the engine does not know which thread will end it, so a wait for a
//! lock of such a transaction is never recognized as a self-wait: it ends with that transaction, or
//! at the limit. When a lock on a whole table is denied, the engine recognizes as its holders only
//! transactions that have locked the whole table, or that wait for a lock themselves. So if a
//! closure uses a table and then has another transaction lock the whole of it, that call does not
//! fail with `SelfWait` either: it waits until the limit, or for ever if none is set.
//!
//! # Not waiting
//! A single call can have a different wait limit:
//! [`get_for_update_with`](Transaction::get_for_update_with) and [`waiting`](Transaction::waiting)
//! take a [`LockWait`]. [`Scan::skip_locked`] passes over entries that other transactions have
//! locked: workers that take jobs from one table with [`Transaction::scan_for_update`] do not wait
//! for each other's jobs, and no two of them have the same job at a time. `examples/job_queue.rs`
//! shows it.
//!
//! # Finding hot rows
//! [`Database::lock_waits`], also a part of [`Database::stats`], reports the number and length of
//! lock waits for each table and each type of transaction, at most 64 keys (those with the most
//! waits), and the last 16 deadlocks: each member, the lock it held, its mode, and the lock it
//! waited for. The type is the name given to [`transact`](Database::transact),
//! [`submit`](Database::submit) or [`begin_as`](Database::begin_as). The counters are always on:
//! only waits are counted, so a lock that is granted at once costs nothing more. Errors give the
//! same information for a single case: [`Error::LockTimeout`] and [`Error::WouldBlock`] name the
//! lock, the mode and, for a lock on a key, transactions that hold it; [`Error::Deadlock`] names
//! the members of the cycle. (The key is named for diagnosis only: it may not be committed yet.)
//!
//! [`Database::waits`] lists the waits that go on at this moment: who waits for which lock, since
//! when, and which transactions are in the way. It is the call for a database that seems to stand
//! still.
//!
//! # Where the time goes
//! [`Database::timings`], also a part of [`Database::stats`], has three histograms for each type of
//! transaction: how long it ran until its locks were released, how long its result then waited for
//! the log, and the sum of both. Without early release, locks would be held for the sum. One
//! transaction in 16 is timed (see [`Options::time_one_in`]).
//!
//! A released lock is granted to the next waiter directly. It counts as held from that grant on,
//! even before the task that was waiting for it is polled. [`WaitCounts::grant_to_poll`], by table
//! and type, has the time from the grant to the poll; if it is long, the executor polls late, and
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
//! | database | 256 GiB, or twice its size at its opening; at most 32 TiB (2³² pages of 8 KiB) |
//! | one process | a directory is open in one process at a time; [forks](Database#after-a-fork) |
//!
//! An opening reserves address space for the database: for 256 GiB, or for twice the database's
//! present size if that is more (for less than 256 GiB if the system grants less). Until the
//! database is opened again it cannot grow beyond that.
//!
//! # Sizing
//! - [`Options::cache_size`]: should hold what is read often. The database may be far larger:
//!   memory stays within 1.1 times the cache size, plus about 64 MiB for fixed structures (such as
//!   the log buffer and the lock table), plus 4 MiB for each GiB of the database that was accessed
//!   since it was opened. The locks and the undo of large transactions are not included.
//! - [`Options::log_capacity`]: at least four times what the largest transaction writes; log that
//!   an open transaction could still need for its rollback cannot be recycled. When the log is
//!   full, [`Error::LogFull`] names the transaction that prevents recycling.
//! - Locks: each lock on a key takes 24 bytes, 16 in the lock table and 8 in its transaction's
//!   list. Both grow by doubling and are therefore partly empty: averaged over all locks, at most
//!   about 40 bytes are allocated for one. The lock table keeps a part of its memory for later
//!   transactions: 170 MB after a transaction with six million locks. Scan millions of rows in
//!   parts, or under a [lock on the table](Transaction::lock_table), which makes locks on its keys
//!   unnecessary.
//! - Commits: many [`submit`](Database::submit)s in flight on few threads cost least. Blocking
//!   threads share flushes too, but each commit wakes a thread.
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
//!
//! The second column says for what the call waits in its thread, the third for what its future
//! waits: a [`Pending`], a [`Ticket`], or the call itself. A closure of [`Pipeline::submit`] keeps
//! its agent while it waits for a lock, a page or log space; the agent of an asynchronous closure
//! runs other transactions meanwhile. [`begin_async`](Database::begin_async) begins an interactive
//! transaction whose operations are futures.
//!
//! The futures need no particular executor, and may be dropped at any time:
//! [`AsyncTransaction`](AsyncTransaction#cancellation) says what then happens. Calls on the whole
//! database (creating and dropping tables, checkpoints, backups, [`verify`](Database::verify),
//! [`close`](Database::close)) block their thread: call them where that is allowed.
//!
//! A granted lock counts as held from the grant, even if the task that has it is polled late: an
//! executor that is slow to poll keeps others from the row.

mod database;
mod inner;
mod options;
mod table;

mod async_transaction;
mod pending;
mod pipeline;
mod transaction;

mod range;
mod scan;

mod async_runner;
mod runner;
mod statistics;
mod timings;

pub use async_transaction::{AsyncScan, AsyncTransaction, LentTransaction};
pub use clearway_base::{
    DatabaseId, DeadlockCycle, DeadlockMember, Epoch, Error, Histogram, KEY_LEN_MAX,
    KEY_SAMPLE_LEN, KeySample, LockConflict, LockName, LogKeeper, Lsn, PageId, Result,
    TABLE_NAME_LEN_MAX, TreeId, TxnId, TxnName, VALUE_LEN_MAX,
};
pub use clearway_lock::{AbsoluteMode, LockStats};
pub use clearway_log::LogStats;
pub use clearway_pool::{PoolStats, ReadQueueKind};
pub use clearway_tree::{Direction, LevelReport, TreeReport};
pub use clearway_txn::{
    BlockingTransaction, Creation, CurrentWait, DeadlockReport, EngineStats, GrantToPoll, HotKey,
    LockWaits, RecoveryReport, Savepoint, TableReport, VerifyReport, WaitCounts, WaitsOf,
};
pub use database::Database;
pub use options::{CommitMode, LockWait, Options};
pub use pending::Pending;
pub use pipeline::{Pipeline, PipelineOptions, PipelineStats, Ticket};
pub use range::{KeyRange, Prefix, prefix};
pub use scan::{Cursor, Entry, EntryRef, Scan};
pub use statistics::{Stats, TypeStats};
pub use table::Table;
pub use timings::TypeTimings;
pub use transaction::Transaction;

/// Compiles the README's example. The example above is the same and is also run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
