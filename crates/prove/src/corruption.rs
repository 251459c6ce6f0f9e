//! Corruption injection: changes bits and sectors of every file of a database, and compares what
//! the engine then reports with the contents of the undamaged database.
//!
//! The databases were closed in order or killed. Three results are allowed: the same contents; an
//! error that reports the damage; and a history that ends at the damage, if that is in the last
//! groups of a log that was not closed in order and no group trailer proves them to have been
//! durable. Wrong contents, a panic, a hang, and a history that is shorter for any other reason are
//! findings.
//!
//! | module | contents |
//! | --- | --- |
//! | `original` | the undamaged databases, which the scenarios of the images lane leave |
//! | `inject` | one change to a file |
//! | `trailers` | the positions up to which the group trailers of a log prove it durable |
//! | `exchange` | the log of another copy beside the data |
//! | `judge` | the judgement of one case |
//! | `other_tables` | the examination of the tables that were not damaged |
//! | `lane` | the selection of the cases |

mod exchange;
mod inject;
mod judge;
mod lane;
mod original;
mod other_tables;
mod trailers;

pub use lane::{Choice, run};
