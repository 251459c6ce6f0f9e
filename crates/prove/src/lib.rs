//! The proof harness: runs the engine under power cuts, failing disks, corrupted files and planted
//! bugs, and checks the database that each of them leaves.
//!
//! | lane | what runs |
//! | --- | --- |
//! | [`simulation`] | deterministic simulation: one thread, several transactions, one seed |
//! | [`images`] | scenarios, with a power cut and with a failure at each of their operations |
//! | [`mutants`] | planted bugs, each of which another lane must detect |
//! | [`corruption`] | corruption injection: changed bits and sectors in the scenarios' databases |
//!
//! All lanes use the same [`oracles`] to judge a run, and the same [`workloads`] to generate
//! transactions. For each failure a lane prints one command line that reproduces it.

mod cases;

pub mod corruption;
pub mod images;
pub mod mutants;
pub mod oracles;
pub mod shards;
pub mod simulation;
pub mod workloads;
