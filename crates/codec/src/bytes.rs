//! Bytes of any length (`Vec<u8>`, `&[u8]`), and arrays of bytes of a fixed length.
//!
//! 1. At the top level, bytes are themselves. Elsewhere in a key they are encoded as `escape.rs`
//!    describes, elsewhere in a value as `length.rs` does.
//! 2. An array `[u8; N]` is its bytes, in both forms. `Vec<u8>` and `&[u8]` have another encoding,
//!    as which an array can be encoded, too: the key type chooses.

use std::borrow::Cow;

use crate::{AsKey, AsValue, DecodeError, Key, Reader, Value, escape, length};

impl AsKey<&'static [u8]> for [u8] {
    fn encode_key_part(&self, to: &mut Vec<u8>) {
        escape::push(self, to);
    }

    fn encode_key(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(self);
    }
}

impl AsKey<Vec<u8>> for [u8] {
    fn encode_key_part(&self, to: &mut Vec<u8>) {
        AsKey::<&[u8]>::encode_key_part(self, to);
    }

    fn encode_key(&self, to: &mut Vec<u8>) {
        AsKey::<&[u8]>::encode_key(self, to);
    }
}

impl<K> AsKey<K> for Vec<u8>
where
    [u8]: AsKey<K>,
{
    fn encode_key_part(&self, to: &mut Vec<u8>) {
        <[u8]>::encode_key_part(self, to);
    }

    fn encode_key(&self, to: &mut Vec<u8>) {
        <[u8]>::encode_key(self, to);
    }
}

impl<const N: usize> AsKey<&'static [u8]> for [u8; N] {
    fn encode_key_part(&self, to: &mut Vec<u8>) {
        AsKey::<&[u8]>::encode_key_part(self.as_slice(), to);
    }

    fn encode_key(&self, to: &mut Vec<u8>) {
        AsKey::<&[u8]>::encode_key(self.as_slice(), to);
    }
}

impl<const N: usize> AsKey<Vec<u8>> for [u8; N] {
    fn encode_key_part(&self, to: &mut Vec<u8>) {
        AsKey::<&[u8]>::encode_key_part(self.as_slice(), to);
    }

    fn encode_key(&self, to: &mut Vec<u8>) {
        AsKey::<&[u8]>::encode_key(self.as_slice(), to);
    }
}

impl<const N: usize> AsKey<[u8; N]> for [u8; N] {
    fn encode_key_part(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(self);
    }
}

impl Key for &'static [u8] {
    type Decoded<'a> = &'a [u8];
    type Part<'a> = Cow<'a, [u8]>;

    fn read<'a>(from: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
        Ok(from.rest())
    }

    fn read_part<'a>(from: &mut Reader<'a>) -> Result<Cow<'a, [u8]>, DecodeError> {
        escape::read(from)
    }

    fn layout() -> String {
        "bytes".to_string()
    }
}

impl Key for Vec<u8> {
    type Decoded<'a> = Vec<u8>;
    type Part<'a> = Vec<u8>;

    fn read<'a>(from: &mut Reader<'a>) -> Result<Vec<u8>, DecodeError> {
        Ok(from.rest().to_vec())
    }

    fn read_part<'a>(from: &mut Reader<'a>) -> Result<Vec<u8>, DecodeError> {
        escape::read(from).map(Cow::into_owned)
    }

    fn layout() -> String {
        <&[u8] as Key>::layout()
    }
}

impl<const N: usize> Key for [u8; N] {
    type Decoded<'a> = [u8; N];
    type Part<'a> = [u8; N];

    fn read<'a>(from: &mut Reader<'a>) -> Result<[u8; N], DecodeError> {
        from.array("the bytes of an array")
    }

    fn read_part<'a>(from: &mut Reader<'a>) -> Result<[u8; N], DecodeError> {
        from.array("the bytes of an array")
    }

    fn layout() -> String {
        format!("[u8;{N}]")
    }
}

impl AsValue<&'static [u8]> for [u8] {
    fn encode_value_part(&self, to: &mut Vec<u8>) {
        length::push(self, to);
    }

    fn encode_value(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(self);
    }
}

impl AsValue<Vec<u8>> for [u8] {
    fn encode_value_part(&self, to: &mut Vec<u8>) {
        AsValue::<&[u8]>::encode_value_part(self, to);
    }

    fn encode_value(&self, to: &mut Vec<u8>) {
        AsValue::<&[u8]>::encode_value(self, to);
    }
}

impl<V> AsValue<V> for &[u8]
where
    [u8]: AsValue<V>,
{
    fn encode_value_part(&self, to: &mut Vec<u8>) {
        <[u8]>::encode_value_part(self, to);
    }

    fn encode_value(&self, to: &mut Vec<u8>) {
        <[u8]>::encode_value(self, to);
    }
}

impl<V> AsValue<V> for Vec<u8>
where
    [u8]: AsValue<V>,
{
    fn encode_value_part(&self, to: &mut Vec<u8>) {
        <[u8]>::encode_value_part(self, to);
    }

    fn encode_value(&self, to: &mut Vec<u8>) {
        <[u8]>::encode_value(self, to);
    }
}

impl<const N: usize> AsValue<&'static [u8]> for [u8; N] {
    fn encode_value_part(&self, to: &mut Vec<u8>) {
        AsValue::<&[u8]>::encode_value_part(self.as_slice(), to);
    }

    fn encode_value(&self, to: &mut Vec<u8>) {
        AsValue::<&[u8]>::encode_value(self.as_slice(), to);
    }
}

impl<const N: usize> AsValue<Vec<u8>> for [u8; N] {
    fn encode_value_part(&self, to: &mut Vec<u8>) {
        AsValue::<&[u8]>::encode_value_part(self.as_slice(), to);
    }

    fn encode_value(&self, to: &mut Vec<u8>) {
        AsValue::<&[u8]>::encode_value(self.as_slice(), to);
    }
}

impl<const N: usize> AsValue<[u8; N]> for [u8; N] {
    fn encode_value_part(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(self);
    }
}

impl Value for &'static [u8] {
    type Decoded<'a> = &'a [u8];

    fn read_part<'a>(from: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
        length::read(from)
    }

    fn read<'a>(from: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
        Ok(from.rest())
    }

    fn layout() -> String {
        "bytes".to_string()
    }
}

impl Value for Vec<u8> {
    type Decoded<'a> = Vec<u8>;

    fn read_part<'a>(from: &mut Reader<'a>) -> Result<Vec<u8>, DecodeError> {
        length::read(from).map(<[u8]>::to_vec)
    }

    fn read<'a>(from: &mut Reader<'a>) -> Result<Vec<u8>, DecodeError> {
        Ok(from.rest().to_vec())
    }

    fn layout() -> String {
        <&[u8] as Value>::layout()
    }
}

impl<const N: usize> Value for [u8; N] {
    type Decoded<'a> = [u8; N];

    fn read_part<'a>(from: &mut Reader<'a>) -> Result<[u8; N], DecodeError> {
        from.array("the bytes of an array")
    }

    fn layout() -> String {
        format!("[u8;{N}]")
    }
}
