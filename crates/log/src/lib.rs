//! The log: records in, LSNs out, durable in order.
//!
//! A [`Log`] takes records ([`Log::insert`]), makes them durable in groups, and tells who waits
//! ([`Log::wait_durable`], [`Log::poll_durable`]). A [`LogReader`] reads them back after a crash
//! and says where the log ends. The crate knows nothing of pages, trees or transactions.
//!
//! ```
//! use std::sync::Arc;
//!
//! use clearway_base::{Epoch, Lsn, TxnId};
//! use clearway_disk::MemoryDisk;
//! use clearway_log::{Log, LogOptions, LogReader, Record, SEAL_BYTES_MAX, record_bytes};
//!
//! # fn main() -> clearway_base::Result<()> {
//! let disk = Arc::new(MemoryDisk::new());
//! let options = LogOptions { segment_bytes: 1 << 20, ..LogOptions::default() };
//! let log = Log::start(disk.clone(), options, Lsn::ZERO, Epoch(1), Lsn::ZERO)?;
//!
//! log.claim(record_bytes(5) + SEAL_BYTES_MAX)?; // room first, before any latch
//! let record = Record { kind: 1, txn: TxnId(7), prev: Lsn::ZERO, body: &[b"hello"] };
//! let span = log.insert_with_seal(&record)?;
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
//! From the inside out: whose log it is (`identity`), a record's bytes (`record`), the ring they
//! are gathered in (`ring`), the strategies of insertion (`insertion`), the files (`segments`), the
//! promise of room in them (`claims`), who waits (`completion`), who writes and when (`flush`), the
//! face (`log`), and the way back (`reader`). `docs/log-format.md` has the format with a worked
//! example.
//!
//! Latch order: the flusher's schedule → an insertion's latch, the preparer's mutex or the claims'
//! waiting room; the claims' growth → the segments' directory → the segments' state; the claims'
//! waiting room → the segments' state. The completion queue's mutex is a leaf. None of them is held
//! across I/O but the segments' directory and the growth above it, which no insert takes, and a
//! flush takes only the directory, and only if unpaid seals ate the headroom.

mod checksum;
mod claims;
mod completion;
mod flush;
mod health;
mod identity;
mod insertion;
mod log;
mod options;
mod reader;
mod record;
mod ring;
mod segments;
mod stats;

pub use claims::AnnouncedCheckpoint;
pub use identity::{EpochMark, Known, Lineage};
pub use log::{Log, LogStart};
pub use options::{Consolidation, GroupPolicy, LogOptions, Strategy};
pub use reader::{LogReader, Traced, trace};
pub use record::{
    HEADER_BYTES, KIND_RESERVED, RECORD_ALIGN, Record, RecordView, SEAL_BYTES_MAX, record_bytes,
};
pub use segments::is_log_file;
pub use stats::LogStats;
