//! The position in bytes that are being decoded.
//!
//! 1. `at <= bytes.len()`: no read goes beyond the end, whatever the bytes are.
//! 2. `mask` is 0xFF within an odd number of nested `Reverse`, and 0 elsewhere. [`Reader::array`]
//!    and [`Reader::byte`] remove it. [`Reader::slice`] and [`Reader::rest`] borrow, so they are
//!    for forms that never stand within `Reverse`: values, and keys at the top level.

use crate::DecodeError;

/// Reads a key or a value from its start to its end.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    mask: u8,
}

impl<'a> Reader<'a> {
    /// Creates a reader at the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, at: 0, mask: 0 }
    }

    /// Returns the offset of the next byte.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Returns the error that `expected` does not stand here.
    pub fn error(&self, expected: &'static str) -> DecodeError {
        DecodeError::new(expected, self.at)
    }

    /// Checks that no byte is left.
    pub fn finish(&self) -> Result<(), DecodeError> {
        if self.at == self.bytes.len() { Ok(()) } else { Err(self.error("the end")) }
    }

    /// Reads `N` bytes.
    pub(crate) fn array<const N: usize>(
        &mut self,
        expected: &'static str,
    ) -> Result<[u8; N], DecodeError> {
        let Some(bytes) = self.bytes[self.at..].first_chunk::<N>() else {
            return Err(self.error(expected));
        };
        self.at += N;
        Ok(bytes.map(|byte| byte ^ self.mask))
    }

    /// Reads one byte.
    pub(crate) fn byte(&mut self, expected: &'static str) -> Result<u8, DecodeError> {
        self.array::<1>(expected).map(|[byte]| byte)
    }

    /// Reads a byte that is 0 or 1, and returns whether it is 1.
    pub(crate) fn flag(&mut self, expected: &'static str) -> Result<bool, DecodeError> {
        let error = self.error(expected);
        match self.byte(expected)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(error),
        }
    }

    /// Borrows the next `len` bytes.
    pub(crate) fn slice(
        &mut self,
        len: usize,
        expected: &'static str,
    ) -> Result<&'a [u8], DecodeError> {
        let Some(slice) = self.bytes[self.at..].get(..len) else {
            return Err(self.error(expected));
        };
        self.at += len;
        Ok(slice)
    }

    /// Borrows all bytes that are left.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.at..];
        self.at = self.bytes.len();
        rest
    }

    /// Returns the bytes that are left if they can be borrowed, that is, outside of `Reverse`.
    pub(crate) fn unmasked(&self) -> Option<&'a [u8]> {
        (self.mask == 0).then(|| &self.bytes[self.at..])
    }

    /// Runs `read` on the complement of the bytes.
    pub(crate) fn complemented<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        self.mask = !self.mask;
        let result = read(self);
        self.mask = !self.mask;
        result
    }
}
