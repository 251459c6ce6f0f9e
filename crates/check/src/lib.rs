//! Records the operations of concurrent transactions on a database, and checks whether the history
//! is strictly serializable.
//!
//! ```
//! use clearway_check::{check, format};
//!
//! let text = br#"{"clearway-history":1}
//! {"id":1,"process":0,"type":"invoke","time":10,"ops":[["append",3,7]]}
//! {"id":1,"process":0,"type":"ok","time":20,"ops":[["append",3,7]]}
//! {"id":2,"process":1,"type":"invoke","time":30,"ops":[["list",3]]}
//! {"id":2,"process":1,"type":"ok","time":40,"ops":[["list",3,[]]]}
//! "#;
//! let report = check(&format::read(&text[..])?)?;
//! assert!(!report.is_valid()); // what was acknowledged at 20 must be seen at 30
//! # Ok::<(), format::FormatError>(())
//! ```
//!
//! [`history`] defines a history, [`mod@format`] its file format, [`check`] reports its anomalies,
//! and [`workload`] produces histories.

pub mod clock;
pub mod edn;
pub mod format;
pub mod history;
pub mod workload;

mod checker;

pub use checker::{
    Anomaly, Class, Kind, Level, MEMORY_BYTES, Report, Surrender, check, check_level, check_within,
};
