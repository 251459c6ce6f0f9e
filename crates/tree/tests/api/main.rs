//! The tests of the crate's interface, a file for each subject. They are one program, since each
//! program compiles and links much of the engine again.

mod concurrency;
mod double;
mod failures;
mod locks;
mod model;
mod needs;
mod orders;
mod patterns;
mod read_ahead;
mod space;
mod verify;
