//! Strings. Their order is that of their UTF-8 bytes.
//!
//! 1. At the top level, a string is its UTF-8 bytes. Elsewhere in a key it is encoded as
//!    `escape.rs` describes, elsewhere in a value as `length.rs` does.
//! 2. `String` and `&str` have the same encoding; they differ in what is decoded.

use std::{borrow::Cow, str};

use crate::{AsKey, AsValue, DecodeError, Key, Reader, Value, escape, length};

const UTF_8: &str = "UTF-8 text";

fn read_plain<'a>(from: &mut Reader<'a>) -> Result<&'a str, DecodeError> {
    let error = from.error(UTF_8);
    str::from_utf8(from.rest()).map_err(|_| error)
}

fn read_escaped<'a>(from: &mut Reader<'a>) -> Result<Cow<'a, str>, DecodeError> {
    let error = from.error(UTF_8);
    match escape::read(from)? {
        Cow::Borrowed(bytes) => str::from_utf8(bytes).map(Cow::Borrowed).map_err(|_| error),
        Cow::Owned(bytes) => String::from_utf8(bytes).map(Cow::Owned).map_err(|_| error),
    }
}

fn read_counted<'a>(from: &mut Reader<'a>) -> Result<&'a str, DecodeError> {
    let error = from.error(UTF_8);
    str::from_utf8(length::read(from)?).map_err(|_| error)
}

impl AsKey<&'static str> for str {
    fn encode_key_part(&self, to: &mut Vec<u8>) {
        escape::push(self.as_bytes(), to);
    }

    fn encode_key(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(self.as_bytes());
    }
}

impl AsKey<String> for str {
    fn encode_key_part(&self, to: &mut Vec<u8>) {
        AsKey::<&str>::encode_key_part(self, to);
    }

    fn encode_key(&self, to: &mut Vec<u8>) {
        AsKey::<&str>::encode_key(self, to);
    }
}

impl<K> AsKey<K> for String
where
    str: AsKey<K>,
{
    fn encode_key_part(&self, to: &mut Vec<u8>) {
        str::encode_key_part(self, to);
    }

    fn encode_key(&self, to: &mut Vec<u8>) {
        str::encode_key(self, to);
    }
}

impl Key for &'static str {
    type Decoded<'a> = &'a str;
    type Part<'a> = Cow<'a, str>;

    fn read<'a>(from: &mut Reader<'a>) -> Result<&'a str, DecodeError> {
        read_plain(from)
    }

    fn read_part<'a>(from: &mut Reader<'a>) -> Result<Cow<'a, str>, DecodeError> {
        read_escaped(from)
    }

    fn layout() -> String {
        "str".to_string()
    }
}

impl Key for String {
    type Decoded<'a> = String;
    type Part<'a> = String;

    fn read<'a>(from: &mut Reader<'a>) -> Result<String, DecodeError> {
        read_plain(from).map(str::to_string)
    }

    fn read_part<'a>(from: &mut Reader<'a>) -> Result<String, DecodeError> {
        read_escaped(from).map(Cow::into_owned)
    }

    fn layout() -> String {
        <&str as Key>::layout()
    }
}

impl AsValue<&'static str> for str {
    fn encode_value_part(&self, to: &mut Vec<u8>) {
        length::push(self.as_bytes(), to);
    }

    fn encode_value(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(self.as_bytes());
    }
}

impl AsValue<String> for str {
    fn encode_value_part(&self, to: &mut Vec<u8>) {
        AsValue::<&str>::encode_value_part(self, to);
    }

    fn encode_value(&self, to: &mut Vec<u8>) {
        AsValue::<&str>::encode_value(self, to);
    }
}

impl<V> AsValue<V> for &str
where
    str: AsValue<V>,
{
    fn encode_value_part(&self, to: &mut Vec<u8>) {
        str::encode_value_part(self, to);
    }

    fn encode_value(&self, to: &mut Vec<u8>) {
        str::encode_value(self, to);
    }
}

impl<V> AsValue<V> for String
where
    str: AsValue<V>,
{
    fn encode_value_part(&self, to: &mut Vec<u8>) {
        str::encode_value_part(self, to);
    }

    fn encode_value(&self, to: &mut Vec<u8>) {
        str::encode_value(self, to);
    }
}

impl Value for &'static str {
    type Decoded<'a> = &'a str;

    fn read_part<'a>(from: &mut Reader<'a>) -> Result<&'a str, DecodeError> {
        read_counted(from)
    }

    fn read<'a>(from: &mut Reader<'a>) -> Result<&'a str, DecodeError> {
        read_plain(from)
    }

    fn layout() -> String {
        "str".to_string()
    }
}

impl Value for String {
    type Decoded<'a> = String;

    fn read_part<'a>(from: &mut Reader<'a>) -> Result<String, DecodeError> {
        read_counted(from).map(str::to_string)
    }

    fn read<'a>(from: &mut Reader<'a>) -> Result<String, DecodeError> {
        read_plain(from).map(str::to_string)
    }

    fn layout() -> String {
        <&str as Value>::layout()
    }
}
