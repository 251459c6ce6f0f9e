//! The write-ahead log: takes records, returns LSNs, and makes records durable in order.
//!
//! A [`Log`] takes records ([`Log::insert`]), makes them durable in groups, and wakes the waiters
//! ([`Log::wait_durable`], [`Log::poll_durable`]). A [`LogReader`] reads them back after a crash
//! and finds the end of the log. The crate does not depend on pages, trees or transactions.
//!
//! ```
//! use std::sync::Arc;
//!
//! use clearway_base::{Epoch, Lsn, TxnId};
//! use clearway_disk::MemoryDisk;
//! use clearway_log::{Log, LogOptions, LogReader, Record, TRAILER_BYTES_MAX, record_bytes};
//!
//! # fn main() -> clearway_base::Result<()> {
//! let disk = Arc::new(MemoryDisk::new());
//! let options = LogOptions { segment_bytes: 1 << 20, ..LogOptions::default() };
//! let log = Log::start(disk.clone(), options, Lsn::ZERO, Epoch(1), Lsn::ZERO)?;
//!
//! log.reserve_space(record_bytes(5) + TRAILER_BYTES_MAX)?; // room first, before any latch
//! let record = Record { kind: 1, txn: TxnId(7), prev: Lsn::ZERO, body: &[b"hello"] };
//! let span = log.insert_with_trailer(&record)?;
//! log.wait_durable(span.end)?;
//! log.close()?;
//!
//! let mut reader = LogReader::open(disk, 1 << 20, Lsn::ZERO)?;
//! assert_eq!(reader.next()?.expect("one record").body, b"hello");
//! assert!(reader.next()?.is_none());
//! # Ok(())
//! # }
//! ```
//!
//! From the inside out: identity of log files (`identity`), encoding of records (`record`), the log
//! buffer (`ring`), insertion (`insertion`), files (`segments`), log space reservations
//! (`log_space`), waiters (`completion`), flushes (`flush`), the public interface (`log`), and
//! reading (`reader`). `docs/log-format.md` has the format with a worked example.
//!
//! Latch order: the flusher's schedule → an insertion's latch, the preparer's mutex or the space
//! waiters' mutex; the mutex `growth` of the log space → the segments' directory → the segments'
//! state; the space waiters' mutex → the segments' state. The completion queue's mutex is a leaf.
//! Only the segments' directory and `growth` are held across I/O. An insert takes neither for
//! itself. A flush takes only the directory, and only if unpaid trailers used up the reserve.

// Some tests are also compiled into `clearway-variants`, so they refer to this crate by its
// external name.
#[cfg(test)]
extern crate self as clearway_log;

mod checksum;
mod completion;
mod flush;
mod health;
mod identity;
mod insertion;
mod log;
mod log_space;
mod options;
pub mod parts;
mod reader;
mod record;
mod ring;
mod segments;
mod stats;

pub use identity::{EpochMark, Known, Lineage};
pub use log::{Log, LogStart};
pub use log_space::{RunningCheckpoint, SpaceOutlook};
pub use options::LogOptions;
pub use reader::{LogReader, Traced, trace};
pub use record::{
    HEADER_BYTES, KIND_RESERVED, RECORD_ALIGN, Record, RecordView, TRAILER_BYTES_MAX, record_bytes,
};
pub use segments::is_log_file;
pub use stats::LogStats;
