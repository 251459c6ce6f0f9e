//! Records what concurrent transactions did to a database, and checks whether that was strictly
//! serializable.
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
//! [`history`] says what a history is, [`mod@format`] how it is written down, [`check`] what is
//! wrong with it, and [`workload`] makes some.

mod rng;

pub mod clock;
pub mod edn;
pub mod format;
pub mod history;
pub mod workload;

mod checker;

pub use checker::{
    Anomaly, Class, Kind, Level, MEMORY_BYTES, Report, Surrender, check, check_level, check_within,
};
pub use rng::Rng;
