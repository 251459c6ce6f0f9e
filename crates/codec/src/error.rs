//! The error of decoding.

use std::fmt;

/// The reason why bytes are not the encoding of a key or value of a type.
///
/// Bytes that this crate encoded decode without an error, with the type that encoded them. So the
/// error means that the table holds another type, or that another program wrote the bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DecodeError {
    expected: &'static str,
    at: usize,
}

impl DecodeError {
    /// Creates the error that `expected` does not stand at the offset `at`.
    pub fn new(expected: &'static str, at: usize) -> DecodeError {
        DecodeError { expected, at }
    }

    /// Returns a noun phrase for the expected bytes, such as `"the 8 bytes of a u64"`.
    pub fn expected(&self) -> &'static str {
        self.expected
    }

    /// Returns the offset of the first of the expected bytes, counted from the start of the key or
    /// value.
    pub fn at(&self) -> usize {
        self.at
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {} at byte {}", self.expected, self.at)
    }
}

impl std::error::Error for DecodeError {}
