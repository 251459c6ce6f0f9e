//! The tests of the crate's interface, a file for each subject. They are one program, since each
//! program compiles and links much of the engine again.

#[path = "../rig/mod.rs"]
mod rig;

mod closing;
mod crashes;
mod deallocations;

mod early_release;
mod foreign_log;
mod held_writes;
mod invariants_durability;
mod invariants_isolation;
mod limits;
mod log_space;
mod model;
mod page_lsns;
mod panics;
mod patterns;
mod redo_check;
mod shape;
mod simulation;
mod tables;
mod transactions;
mod version_1;
