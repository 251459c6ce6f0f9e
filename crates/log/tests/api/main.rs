//! The tests of the crate's interface, a file for each subject. They are one program, since each
//! program compiles and links much of the engine again.

#[path = "../scenario/mod.rs"]
mod scenario;

mod format;
mod round_trip;
mod space;
mod space_waits;
mod tail;
mod waiting;
