//! Transactions: begin, operate, commit, roll back; tables; checkpoints and recovery.
//!
//! ```text
//! Engine ── begin ──► Transaction ── commit ──► Committed { ack } ── Log::wait_durable(ack)
//!   │                     │
//!   │ tables, checkpoint, │ get, put, insert, update, delete, cursor, savepoint
//!   │ backup, verify      ▼
//!   │              TransactionState ── implements ──► clearway_tree::Environment
//!   ▼                     │
//!  Core ◄─────────────────┘  the services: log, locks, pool, tables, log space, checkpoints, …
//! ```
//!
//! `commit` returns when the commit record (of a transaction that has written) stands in the log
//! buffer and the locks are released. It does not request that this record be flushed: the caller
//! waits for `ack` (`Log::wait_durable`, or `Log::poll_durable` as a task), or requests a flush
//! (`Log::request_flush`) and compares `Log::durable` later.
//!
//! | module | contents |
//! | --- | --- |
//! | `engine`, `opening` | the interface of an engine; how it is created or recovered |
//! | `core` | the services of an engine, connected: those of the next lines, log, pool, locks |
//! | `health`, `directory` | whether it takes work; the lock on the directory |
//! | `tables`, `table` | the open handles of tables |
//! | `log_space` | waiting for log space; the transaction or backup that retains log |
//! | `log_reserve`, `log_holds` | the engine's own log space; the log that backups need |
//! | `checkpoints`, `superblock` | where recovery starts |
//! | `upkeep_queue` | the leaves and tables that wait for upkeep |
//! | `task_work` | threads that do what would block a task |
//! | `transaction_table` | the running transactions, as other threads may see them |
//! | `contention` | lock waits: counts, hot keys, the last deadlocks |
//! | `kinds` | types of transactions |
//! | `transaction_state` | a transaction, as the tree's `Environment`; `Transactions` begins them |
//! | `undo`, `space_reservation` | its undo list; its log space |
//! | `deferred` | large values that are freed after its commit |
//! | `transaction`, `table_cursor` | a transaction as its user sees it |
//! | `stage_memory` | what a fetch stage notes: its writes, leaves and locks |
//! | `staging` | the fetch stage: a run of a closure without locks, which reads its pages in |
//! | `task`, `away` | transactions of tasks, which wait without keeping a thread |
//! | `suspended` | the transactions of a thread that cannot go on while it blocks |
//! | `diagnosis` | lock waits and deadlocks in names; the waits that go on |
//! | `finish` | commit and rollback |
//! | `catalogue` | the catalogue on disk; create and drop |
//! | `upkeep` | the upkeep itself |
//! | `record` | the log records of this layer |
//! | `recovery`, `read_ahead` | recovery; reading pages ahead of redo |
//! | `upgrade` | conversion of format version 1 |
//! | `background`, `closing` | the threads; how an engine ends |
//! | `backup`, `verify` | copying and checking a database in use |
//!
//! The dependencies between the modules have no cycles (`cargo xtask tidy` checks that): services
//! below `core`, `core` below `transaction_state`, and what begins transactions above that.
//!
//! Guarantees of the whole crate: commit records stand in the log in the order in which their
//! effects became visible; once the engine has stopped because of a failed write or sync, nothing
//! commits. If the caller delivers a result only when the log is durable up to its `ack`, no
//! acknowledged transaction is lost, and an unacknowledged one takes effect completely or not at
//! all.
//!
//! Latch order: an engine's outcome (`engine`) → `ddl` → the mutex of checkpoints → one of these,
//! under which no other latch is taken: the maps of tables, a free list, the log reserve, the
//! upkeep queue, the mutexes of the directory and of the pending deallocations. Under a page latch
//! no latch of this crate is taken, only latches of the log and of the lock table. (The whole order
//! is in `docs/latch-order.md`.)

mod kinds;
mod options;
mod report;

mod deferred;
mod health;
mod log_holds;
mod log_reserve;
mod log_space;
mod record;
mod space_reservation;
mod stage_memory;
mod superblock;
mod table;
mod tables;
mod transaction_table;
mod undo;
mod upkeep_queue;
mod wait_totals;

mod checkpoints;
mod contention;
mod core;
mod diagnosis;
mod directory;
mod suspended;
mod task_work;
mod transaction_state;

mod away;
mod finish;
pub mod parts;
mod staging;
mod table_cursor;
mod task;
mod transaction;

mod catalogue;
mod upkeep;

mod background;
mod backup;
mod closing;
mod engine;
mod opening;
mod read_ahead;
mod recovery;
mod upgrade;
mod verify;

pub use contention::{DeadlockReport, GrantToPoll, HotKey, LockWaits, WaitCounts, WaitsOf};
pub use diagnosis::{BlockingTransaction, CurrentWait};
pub use engine::Engine;
pub use finish::Committed;
pub use kinds::{KINDS_MAX, Kind, Kinds};
pub use options::{Creation, EngineOptions};
pub use report::{EngineStats, Holdings, RecoveryReport, TableReport, VerifyReport};
pub use staging::Fetched;
pub use suspended::{Closure, RunningClosure, SuspendedTask};
pub use table::Table;
pub use table_cursor::TableCursor;
pub use task_work::TaskJobs;
pub use transaction::{Savepoint, Transaction};
pub use transaction_state::RetryContext;
pub use wait_totals::WaitTotals;
