//! The tests of the crate's interface, a file for each subject. They are one program, since each
//! program compiles and links much of the engine again.

mod async_statistics;
mod bad_input;
mod bank;
mod closing;
mod commit_modes;
mod contention;
mod documented_errors;
mod error_names;
mod failing_disk;
mod get_many;
mod model;
mod old_files;
mod orders;
mod own_errors;
mod patterns;
mod read_waits;
mod self_waits;
mod serializable;
mod small_cache;
mod statistics;
mod storm;
mod transactions;
mod verbs;
mod waits;
