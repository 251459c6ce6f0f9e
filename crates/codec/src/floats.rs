//! Floating-point numbers, in the total order of IEEE 754 (`f64::total_cmp`).
//!
//! 1. As a key: the bits big-endian; of a number without a sign bit, that bit is set, of one with
//!    it, all bits are inverted. So negative numbers come first, the larger magnitudes before the
//!    smaller ones. -0 comes before 0. NaN with a sign bit is the first of all, NaN without it the
//!    last.
//! 2. As a value: the bits, little-endian.
//! 3. Both forms keep every bit of a NaN.

use crate::{AsKey, AsValue, DecodeError, Key, Reader, Value};

const SIGN_32: u32 = 1 << 31;
const SIGN_64: u64 = 1 << 63;

fn ordered_32(bits: u32) -> u32 {
    if bits & SIGN_32 == 0 { bits | SIGN_32 } else { !bits }
}

fn unordered_32(ordered: u32) -> u32 {
    if ordered & SIGN_32 == 0 { !ordered } else { ordered ^ SIGN_32 }
}

fn ordered_64(bits: u64) -> u64 {
    if bits & SIGN_64 == 0 { bits | SIGN_64 } else { !bits }
}

fn unordered_64(ordered: u64) -> u64 {
    if ordered & SIGN_64 == 0 { !ordered } else { ordered ^ SIGN_64 }
}

impl AsKey<f32> for f32 {
    fn encode_key_part(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&ordered_32(self.to_bits()).to_be_bytes());
    }
}

impl Key for f32 {
    type Decoded<'a> = f32;
    type Part<'a> = f32;

    fn read<'a>(from: &mut Reader<'a>) -> Result<f32, DecodeError> {
        <f32 as Key>::read_part(from)
    }

    fn read_part<'a>(from: &mut Reader<'a>) -> Result<f32, DecodeError> {
        let ordered = u32::from_be_bytes(from.array("the 4 bytes of f32")?);
        Ok(f32::from_bits(unordered_32(ordered)))
    }

    fn layout() -> String {
        "f32".to_string()
    }
}

impl AsKey<f64> for f64 {
    fn encode_key_part(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&ordered_64(self.to_bits()).to_be_bytes());
    }
}

impl Key for f64 {
    type Decoded<'a> = f64;
    type Part<'a> = f64;

    fn read<'a>(from: &mut Reader<'a>) -> Result<f64, DecodeError> {
        <f64 as Key>::read_part(from)
    }

    fn read_part<'a>(from: &mut Reader<'a>) -> Result<f64, DecodeError> {
        let ordered = u64::from_be_bytes(from.array("the 8 bytes of f64")?);
        Ok(f64::from_bits(unordered_64(ordered)))
    }

    fn layout() -> String {
        "f64".to_string()
    }
}

impl AsValue<f32> for f32 {
    fn encode_value_part(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.to_le_bytes());
    }
}

impl Value for f32 {
    type Decoded<'a> = f32;

    fn read_part<'a>(from: &mut Reader<'a>) -> Result<f32, DecodeError> {
        from.array("the 4 bytes of f32").map(f32::from_le_bytes)
    }

    fn layout() -> String {
        "f32".to_string()
    }
}

impl AsValue<f64> for f64 {
    fn encode_value_part(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.to_le_bytes());
    }
}

impl Value for f64 {
    type Decoded<'a> = f64;

    fn read_part<'a>(from: &mut Reader<'a>) -> Result<f64, DecodeError> {
        from.array("the 8 bytes of f64").map(f64::from_le_bytes)
    }

    fn layout() -> String {
        "f64".to_string()
    }
}
