//! The tools that the tests of all layers share: the generator of random numbers, the generator of
//! key and value patterns, the disks that delay, fail and crash, the kill of a process at a
//! failpoint, the operations of a transaction program, and a bank. The crate depends on the shared
//! types, the synchronization and the files of the engine (`base`, `sync`, `disk`) and on no layer
//! above them, so every crate above can use it in its unit tests. Those three crates use it in
//! `tests/` only: a unit test would link two copies of its own crate.
//!
//! Applications insert keys in patterns: counters, newest-first indexes, queues. Random keys find
//! other bugs than these patterns do, and tests should not each choose a few of their own. So there
//! is one generator:
//!
//! ```text
//!   Pattern = order × lengths × values × removal, and a seed
//!      ├── key(n), value(n)      the n-th key to be inserted, and its value
//!      ├── steps(count)          a whole run: inserts, and the deletions of the pattern
//!      └── table_name(n)         the same orders and lengths as names of tables
//!   Drawn   = how often a run has drawn each choice, for its summary
//! ```
//!
//! Everything is a function of the pattern: the same seed gives the same bytes on every machine.

pub mod bank;
pub mod disk;
mod drawn;
pub mod errors;
pub mod failpoint;
mod lengths;
mod order;
mod pattern;
mod polled_once;
pub mod program;
mod random;
mod steps;
mod values;

pub use drawn::Drawn;
pub use lengths::{Lengths, Limits};
pub use order::Order;
pub use pattern::Pattern;
pub use polled_once::polled_once;
pub use random::{Random, mix};
pub use steps::{Removal, Step, Steps};
pub use values::Values;
