//! The length that stands before a string or bytes within a value.
//!
//! 1. Each byte has 7 bits, the lowest first; its highest bit is set if another byte follows.
//! 2. The last byte is not 0, unless it is the only one: a length has one encoding.

use crate::{DecodeError, Reader};

const MORE: u8 = 0x80;
const LENGTH: &str = "the length of bytes or of a string";

/// Appends `bytes` with their length before them.
pub(crate) fn push(bytes: &[u8], to: &mut Vec<u8>) {
    let mut len = bytes.len() as u64;
    while len >= u64::from(MORE) {
        to.push(len as u8 | MORE);
        len >>= 7;
    }
    to.push(len as u8);
    to.extend_from_slice(bytes);
}

/// Reads what [`push`] appended.
pub(crate) fn read<'a>(from: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
    let error = from.error(LENGTH);
    let mut len = 0_u64;
    for shift in (0..u64::BITS).step_by(7) {
        let byte = from.byte(LENGTH)?;
        let bits = u64::from(byte & !MORE);
        let shifted = bits << shift;
        if shifted >> shift != bits || (byte == 0 && shift > 0) {
            return Err(error);
        }
        len |= shifted;
        if byte & MORE == 0 {
            let len = usize::try_from(len).map_err(|_| error)?;
            return from.slice(len, "as many bytes as the length before them says");
        }
    }
    Err(error)
}
