//! The tests of the crate's interface, a file for each subject. They are one program, since each
//! program compiles and links much of the engine again.

mod durability;
mod eviction;
mod held_writes;
mod latches;
mod load;
mod rec_lsn;
mod support;
