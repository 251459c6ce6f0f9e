//! Keys that keep their order, and values, as bytes.
//!
//! [`Key`] encodes numbers, strings, bytes, tuples, `Option` and `Reverse` such that the order of
//! the bytes is the order of the values. [`prefix_of`] returns the range of the tuples that begin
//! with the same components. [`Value`] encodes what need not be ordered. A type's layout, such as
//! `(str,u64)`, names its encoding.
//!
//! Decoding takes any bytes: it returns a [`DecodeError`] for those that are no encoding, and does
//! not panic. `docs/key-format.md` specifies the format.
//!
//! This crate depends on no other crate of the engine.

#![forbid(unsafe_code)]

mod error;
mod reader;

mod key;
mod prefix;
mod value;

mod escape;
mod length;

mod bytes;
mod characters;
mod floats;
mod integers;
mod text;
mod tuples;
mod wrappers;

#[cfg(feature = "zerocopy")]
mod fixed;
#[cfg(feature = "serde")]
mod serde;

pub use error::DecodeError;
#[cfg(feature = "zerocopy")]
pub use fixed::Fixed;
pub use key::{AsKey, Key};
pub use prefix::{KeyPrefix, prefix_of};
pub use reader::Reader;
#[cfg(feature = "serde")]
pub use serde::Serde;
pub use value::{AsValue, Named, Value};
