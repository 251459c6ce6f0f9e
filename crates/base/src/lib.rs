//! The types that every part of the engine shares: ids, limits, checksums and the error type.
//!
//! This crate depends on no other crate of the engine, and all of them except `clearway-sync`
//! depend on it. It holds definitions only: nothing in it does I/O, allocates pages or blocks a
//! thread.

mod checksum;
mod conflict;
mod error;
mod error_kind;
pub mod failpoint;
mod histogram;
mod ids;
mod limits;

pub use checksum::{crc32c, crc32c_append};
pub use conflict::{
    DeadlockCycle, DeadlockMember, KEY_SAMPLE_LEN, KeyName, KeySample, LockConflict, LockName,
    LogKeeper, TableKey, TxnName,
};
pub use error::{Error, Result};
pub use error_kind::ErrorKind;
pub use histogram::{CoarseHistogram, Histogram, LogHistogram};
pub use ids::{DatabaseId, Epoch, Lsn, LsnSpan, PageId, Salt, TreeId, TxnId};
pub use limits::{
    KEY_LEN_MAX, PAGE_SIZE, RECORD_LEN_MAX, SECTOR_SIZE, TABLE_NAME_LEN_MAX, VALUE_LEN_MAX,
};
