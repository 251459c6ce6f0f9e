//! Reorders the queries of transactions that are written in C or C++, so that the most contended
//! rows are locked as late as possible ("Leveraging Lock Contention to Improve OLTP Application
//! Performance", the QURO paper).
//!
//! The crate depends on no crate of the engine; it works with any database. Each part is a function
//! from one value to the next, and only the front end knows a compiler:
//!
//! ```text
//!   source ── clang ──▶ IR ── flow, transaction, units ──▶ units ── legality ──▶ constraints
//!                                                            weights ──▶ solve ──▶ order
//!                                                                     restructure ──▶ edits
//! ```
//!
//! - [`transform`], [`rewrite`]: the whole way, with changes of the source and without.
//! - [`compile_commands`]: the flags of a file, as its build has them.
//! - [`source`]: places in the text, and edits.
//! - [`clang`]: makes the IR of a C or C++ file.
//! - [`ir`]: what the tool knows of a source file.
//! - [`api`]: what the functions do that a transaction calls.
//! - [`schema`], [`sql`]: tables, and what a query reads, writes and locks.
//! - [`flow`]: control flow, definitions and uses of a function.
//! - [`rename`]: names of their own for the values of a variable that is used for several.
//! - [`split`]: loops and conditional statements in parts, which can be moved apart.
//! - [`transaction`], [`units`]: the code of a transaction, and the parts that are moved.
//! - [`legality`]: which orders do what the source does.
//! - [`profile`]: what the queries cost when they run.
//! - [`weights`], [`solve`]: which of them costs least.
//! - [`restructure`]: the edits.
//! - [`verify`]: runs original and rewritten code on a mock of the interface.
//! - [`lock_order`]: the order in which transactions lock tables.
//! - [`advice`]: changes of a transaction that no order can replace.
//! - [`explain`]: the reasons, as text and as timelines.

pub mod advice;
pub mod api;
pub mod clang;
pub mod compile_commands;
pub mod explain;
pub mod flow;
pub mod ir;
pub mod legality;
pub mod lock_order;
mod parallel;
pub mod profile;
pub mod rename;
pub mod restructure;
pub mod rewrite;
pub mod schema;
pub mod solve;
pub mod source;
pub mod split;
pub mod sql;
pub mod transaction;
pub mod transform;
pub mod units;
pub mod verify;
pub mod weights;
