//! Transactions: begin, operate, commit, roll back; tables; checkpoints and recovery.
//!
//! ```text
//! Engine ── begin ──► Transaction ── commit ──► Committed { ack } ── Log::wait_durable(ack)
//!   │                     │
//!   │ tables, checkpoint, │ get, put, insert, update, delete, cursor, savepoint
//!   │ backup, verify      ▼
//!   │              TransactionState ── implements ──► clearway_tree::Environment
//!   ▼                     │
//!  Core ◄─────────────────┘  log, locks, pool, space map, transaction table, superblock
//! ```
//!
//! `commit` returns when the commit record stands in the log buffer and the locks are released. It
//! neither flushes nor requests a flush: the caller waits for `ack` (`Log::wait_durable`), or
//! requests a flush (`Log::request_flush`) and polls later (`Log::poll_durable`).
//!
//! | module | contents |
//! | --- | --- |
//! | `engine`, `core` | the interface of an engine; the state that all parts share |
//! | `transaction` | a transaction as its user sees it |
//! | `transaction_state` | its locks, undo list and log space; the tree's `Environment` |
//! | `transaction_table` | the running transactions, as other threads may see them |
//! | `kinds` | types of transactions |
//! | `contention` | lock waits: counts, hot keys, the last deadlocks, the waits that go on |
//! | `suspended` | the transactions of a thread that cannot go on while it blocks |
//! | `finish` | commit and rollback |
//! | `task` | transactions of tasks, which wait without keeping a thread |
//! | `undo`, `space_reservation` | the undo list; the log space reservation |
//! | `log_space` | waiting for log space; the transaction or backup that retains log |
//! | `deferred` | large values that are freed after the commit |
//! | `upkeep` | the leaves and tables that wait for upkeep; the upkeep itself |
//! | `table`, `tables` | handles; the catalogue, create and drop |
//! | `record` | the log records of this layer |
//! | `checkpoint`, `superblock`, `recovery` | where recovery starts, and what it does |
//! | `read_ahead`, `upgrade` | reading pages ahead of redo; conversion of format version 1 |
//! | `background`, `closing` | the threads; how an engine ends |
//! | `backup`, `verify` | copying and checking a database in use |
//!
//! Guarantees of the whole crate: commit records stand in the log in the order in which their
//! effects became visible; once the engine has stopped because of a failed write or sync, nothing
//! commits. If the caller delivers a result only when the log is durable up to its `ack`, no
//! acknowledged transaction is lost, and an unacknowledged one takes effect completely or not at
//! all.
//!
//! Latch order: an engine's outcome (`closing`) → `ddl` → a checkpoint's mutex → one of the leaves:
//! the maps of tables, a free list, the log reserve, the upkeep queue, the mutexes of the directory
//! and of the failed deallocations. No other latch is taken under a leaf. Under a page latch no
//! latch of this crate is taken, only latches of the log and of the lock table. (The whole order is
//! in `docs/latch-order.md`.)

mod kinds;
mod options;
mod report;

mod deferred;
mod log_space;
mod record;
mod space_reservation;
mod superblock;
mod transaction_table;
mod undo;

mod contention;
mod core;
mod suspended;
mod transaction_state;

mod finish;
pub mod parts;
mod task;
mod transaction;

mod table;
mod tables;
mod upkeep;

mod background;
mod backup;
mod checkpoint;
mod closing;
mod engine;
mod read_ahead;
mod recovery;
mod upgrade;
mod verify;

pub use contention::{
    BlockingTransaction, CurrentWait, DeadlockReport, GrantToPoll, HotKey, LockWaits, WaitCounts,
    WaitsOf,
};
pub use engine::Engine;
pub use finish::Committed;
pub use kinds::{KINDS_MAX, Kind, Kinds};
pub use options::{Creation, EngineOptions};
pub use report::{EngineStats, Holdings, RecoveryReport, TableReport, VerifyReport};
pub use suspended::{Closure, RunningClosure, SuspendedTask};
pub use table::Table;
pub use task::{AtOnce, OperationRest};
pub use transaction::{Savepoint, TableCursor, Transaction};
pub use transaction_state::RetryContext;
