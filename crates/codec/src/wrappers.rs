//! `Option`, as a key and as a value, and `Reverse`, as a key.
//!
//! 1. `None` is the byte 0. `Some` is the byte 1, with the encoding of what it contains behind it,
//!    in the same form (top level or part).
//! 2. `Reverse` is the complement of the encoding as a part, in both forms. The plain form does not
//!    reverse the order: `a` comes before `ab`, and so does its complement.

use std::cmp::Reverse;

use crate::{AsKey, AsValue, DecodeError, Key, Reader, Value};

const NONE: u8 = 0;
const SOME: u8 = 1;
const OPTION: &str = "0 or 1, an option";

impl<K, Q: AsKey<K>> AsKey<Option<K>> for Option<Q> {
    fn encode_key_part(&self, to: &mut Vec<u8>) {
        let Some(key) = self else { return to.push(NONE) };
        to.push(SOME);
        key.encode_key_part(to);
    }

    fn encode_key(&self, to: &mut Vec<u8>) {
        let Some(key) = self else { return to.push(NONE) };
        to.push(SOME);
        key.encode_key(to);
    }
}

impl<K: Key> Key for Option<K> {
    type Decoded<'a> = Option<K::Decoded<'a>>;
    type Part<'a> = Option<K::Part<'a>>;

    fn read<'a>(from: &mut Reader<'a>) -> Result<Self::Decoded<'a>, DecodeError> {
        if from.flag(OPTION)? { K::read(from).map(Some) } else { Ok(None) }
    }

    fn read_part<'a>(from: &mut Reader<'a>) -> Result<Self::Part<'a>, DecodeError> {
        if from.flag(OPTION)? { K::read_part(from).map(Some) } else { Ok(None) }
    }

    fn layout() -> String {
        format!("option<{}>", K::layout())
    }
}

impl<K, Q: AsKey<K>> AsKey<Reverse<K>> for Reverse<Q> {
    fn encode_key_part(&self, to: &mut Vec<u8>) {
        let start = to.len();
        self.0.encode_key_part(to);
        for byte in &mut to[start..] {
            *byte = !*byte;
        }
    }
}

impl<K: Key> Key for Reverse<K> {
    type Decoded<'a> = Reverse<K::Part<'a>>;
    type Part<'a> = Reverse<K::Part<'a>>;

    fn read<'a>(from: &mut Reader<'a>) -> Result<Self::Decoded<'a>, DecodeError> {
        Self::read_part(from)
    }

    fn read_part<'a>(from: &mut Reader<'a>) -> Result<Self::Part<'a>, DecodeError> {
        from.complemented(K::read_part).map(Reverse)
    }

    fn layout() -> String {
        format!("reverse<{}>", K::layout())
    }
}

impl<V, Q: AsValue<V>> AsValue<Option<V>> for Option<Q> {
    fn encode_value_part(&self, to: &mut Vec<u8>) {
        let Some(value) = self else { return to.push(NONE) };
        to.push(SOME);
        value.encode_value_part(to);
    }

    fn encode_value(&self, to: &mut Vec<u8>) {
        let Some(value) = self else { return to.push(NONE) };
        to.push(SOME);
        value.encode_value(to);
    }
}

impl<V: Value> Value for Option<V> {
    type Decoded<'a> = Option<V::Decoded<'a>>;

    fn read_part<'a>(from: &mut Reader<'a>) -> Result<Self::Decoded<'a>, DecodeError> {
        if from.flag(OPTION)? { V::read_part(from).map(Some) } else { Ok(None) }
    }

    fn read<'a>(from: &mut Reader<'a>) -> Result<Self::Decoded<'a>, DecodeError> {
        if from.flag(OPTION)? { V::read(from).map(Some) } else { Ok(None) }
    }

    fn layout() -> String {
        format!("option<{}>", V::layout())
    }
}
