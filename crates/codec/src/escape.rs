//! The encoding of bytes of any length as a part of a key.
//!
//! 1. The byte 0 ends the part, and stands nowhere else in it.
//! 2. The byte 1 is followed by 1, which stands for the byte 0, or by 2, for the byte 1. All other
//!    bytes stand for themselves.
//!
//! So a string comes before every string that it begins (by 1), and a difference in one byte is a
//! difference in the same direction between the encodings: the end 0, then `1 1`, then `1 2`, then
//! the bytes from 2 on.

use std::borrow::Cow;

use crate::{DecodeError, Reader};

const END: u8 = 0;
const ESCAPE: u8 = 1;

const UNENDED: &str = "a byte 0, which ends bytes or a string";

/// Appends `bytes`, escaped and terminated.
pub(crate) fn push(bytes: &[u8], to: &mut Vec<u8>) {
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| *byte <= ESCAPE) {
        to.extend_from_slice(&rest[..at]);
        to.extend_from_slice(&[ESCAPE, rest[at] + 1]);
        rest = &rest[at + 1..];
    }
    to.extend_from_slice(rest);
    to.push(END);
}

/// Reads what [`push`] appended. Borrows it if no byte was escaped, outside of `Reverse`.
pub(crate) fn read<'a>(from: &mut Reader<'a>) -> Result<Cow<'a, [u8]>, DecodeError> {
    if let Some(rest) = from.unmasked()
        && let Some(len) = rest.iter().position(|byte| *byte <= ESCAPE)
        && rest[len] == END
    {
        let bytes = from.slice(len, UNENDED)?;
        from.byte(UNENDED)?;
        return Ok(Cow::Borrowed(bytes));
    }
    let mut bytes = Vec::new();
    loop {
        match from.byte(UNENDED)? {
            END => return Ok(Cow::Owned(bytes)),
            ESCAPE => bytes.push(u8::from(from_escaped(from)?)),
            byte => bytes.push(byte),
        }
    }
}

/// Reads the byte behind [`ESCAPE`], and returns whether it stands for 1.
fn from_escaped(from: &mut Reader<'_>) -> Result<bool, DecodeError> {
    let error = from.error("1 or 2, behind the byte 1");
    match from.byte(error.expected())? {
        1 => Ok(false),
        2 => Ok(true),
        _ => Err(error),
    }
}
