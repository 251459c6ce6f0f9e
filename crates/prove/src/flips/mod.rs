//! Rot: bits and sectors of every file of clean and of killed databases are changed, and what the
//! engine makes of that is compared with what it makes of the database as it was.
//!
//! Allowed are the same contents, an error that says what is damaged, and, where the damage is in
//! the last groups of a log that was not closed in order and nothing speaks for them, a history
//! that ends there. A wrong answer, a panic, a hang, and a history that is shorter for any other
//! reason are findings.
//!
//! | module | what it is |
//! | --- | --- |
//! | `patient` | the databases, as the images lane's scripts leave them |
//! | `wound` | what is changed |
//! | `seals` | how far a log's own seals speak for it |
//! | `exchange` | the log of a copy, beside the data |
//! | `judge` | what came of it |
//! | `beside` | what became of the tables that were not damaged |
//! | `lane` | many of them |

mod beside;
mod exchange;
mod judge;
mod lane;
mod patient;
mod seals;
mod wound;

pub use lane::{Choice, run};
