//! The tests of the crate's interface that also hunt planted bugs. They are a program without the
//! others, since the lane `mutants` builds it again, optimized.

#[path = "../rig/mod.rs"]
mod rig;

mod staging;
mod tasks;
mod upkeep;
