//! The tests of the crate's interface that also hunt planted bugs. They are a program without the
//! others, since the lane `mutants` builds it again, optimized.

mod answers;
mod cancelled;
mod scan_errors;
mod staging;
mod tasks;
