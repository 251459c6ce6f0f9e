//! Variants: the other systems of the papers, to compare the product with.
//!
//! The engine has one of each part. What exists only to be measured against it lives here, complete
//! and tested: the product neither depends on this crate nor names what is in it. The engine's
//! crates offer a seam each, a trait whose default methods are the product's parts; the types here
//! implement it.
//!
//! | module | seam | variants |
//! | --- | --- | --- |
//! | [`log`] | `clearway_log::parts::LogParts` | log insertion, a fixed group commit |
//! | [`lock`] | `clearway_lock::LockParts` | deadlock methods, victims, intent locks |
//! | [`txn`] | `clearway_txn::parts::TxnParts` | range-lock protocols, early lock release |

#![forbid(unsafe_code)]

pub mod lock;
pub mod log;
pub mod txn;
