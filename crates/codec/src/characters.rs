//! `bool`, `char` and `()`.
//!
//! 1. `bool` is the byte 0 or 1. `()` has no bytes.
//! 2. `char` as a key: its number in 3 bytes, big-endian. As a value: in 4 bytes, little-endian.

use crate::{AsKey, AsValue, DecodeError, Key, Reader, Value};

const BOOL: &str = "0 or 1, a bool";

impl AsKey<bool> for bool {
    fn encode_key_part(&self, to: &mut Vec<u8>) {
        to.push(u8::from(*self));
    }
}

impl Key for bool {
    type Decoded<'a> = bool;
    type Part<'a> = bool;

    fn read<'a>(from: &mut Reader<'a>) -> Result<bool, DecodeError> {
        from.flag(BOOL)
    }

    fn read_part<'a>(from: &mut Reader<'a>) -> Result<bool, DecodeError> {
        from.flag(BOOL)
    }

    fn layout() -> String {
        "bool".to_string()
    }
}

impl AsValue<bool> for bool {
    fn encode_value_part(&self, to: &mut Vec<u8>) {
        to.push(u8::from(*self));
    }
}

impl Value for bool {
    type Decoded<'a> = bool;

    fn read_part<'a>(from: &mut Reader<'a>) -> Result<bool, DecodeError> {
        from.flag(BOOL)
    }

    fn layout() -> String {
        "bool".to_string()
    }
}

impl AsKey<char> for char {
    fn encode_key_part(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&u32::from(*self).to_be_bytes()[1..]);
    }
}

impl Key for char {
    type Decoded<'a> = char;
    type Part<'a> = char;

    fn read<'a>(from: &mut Reader<'a>) -> Result<char, DecodeError> {
        <char as Key>::read_part(from)
    }

    fn read_part<'a>(from: &mut Reader<'a>) -> Result<char, DecodeError> {
        let error = from.error("the 3 bytes of char");
        let [high, middle, low] = from.array(error.expected())?;
        char::from_u32(u32::from_be_bytes([0, high, middle, low])).ok_or(error)
    }

    fn layout() -> String {
        "char".to_string()
    }
}

impl AsValue<char> for char {
    fn encode_value_part(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&u32::from(*self).to_le_bytes());
    }
}

impl Value for char {
    type Decoded<'a> = char;

    fn read_part<'a>(from: &mut Reader<'a>) -> Result<char, DecodeError> {
        let error = from.error("the 4 bytes of char");
        let bytes = from.array(error.expected())?;
        char::from_u32(u32::from_le_bytes(bytes)).ok_or(error)
    }

    fn layout() -> String {
        "char".to_string()
    }
}

impl AsKey<()> for () {
    fn encode_key_part(&self, _to: &mut Vec<u8>) {}
}

impl Key for () {
    type Decoded<'a> = ();
    type Part<'a> = ();

    fn read<'a>(_from: &mut Reader<'a>) -> Result<(), DecodeError> {
        Ok(())
    }

    fn read_part<'a>(_from: &mut Reader<'a>) -> Result<(), DecodeError> {
        Ok(())
    }

    fn layout() -> String {
        "()".to_string()
    }
}

impl AsValue<()> for () {
    fn encode_value_part(&self, _to: &mut Vec<u8>) {}
}

impl Value for () {
    type Decoded<'a> = ();

    fn read_part<'a>(_from: &mut Reader<'a>) -> Result<(), DecodeError> {
        Ok(())
    }

    fn layout() -> String {
        "()".to_string()
    }
}
