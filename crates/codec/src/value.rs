//! Values: types with an encoding that need not keep an order.
//!
//! 1. In the form of a part, a value's end can be found without what follows it.
//! 2. Decoding borrows: nothing is escaped, and the length of a string stands before it.

use crate::{DecodeError, Reader};

/// A type of values.
///
/// A value is never compared, so its encoding is simpler than that of a key: numbers are
/// little-endian, the byte order of most machines. At the top level and last in a tuple there, a
/// string or bytes stand plain; elsewhere their length stands before them, 7 bits in a byte, the
/// lowest first. `docs/key-format.md` has the format of each type.
///
/// In addition, `Fixed` (feature `zerocopy`) reads structures in place, and `Serde` (feature
/// `serde`) stores types that serde can write.
///
/// ```
/// use clearway_codec::Value;
///
/// let bytes = <(u32, Option<&str>)>::encode(&(7, Some("pen")));
/// assert_eq!(bytes, b"\x07\0\0\0\x01pen");
/// assert_eq!(<(u32, Option<&str>)>::decode(&bytes)?, (7, Some("pen")));
/// # Ok::<(), clearway_codec::DecodeError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type of values",
    label = "has no encoding as a value",
    note = "use `u64` instead of `usize` and `i64` instead of `isize`: their size depends on the \
            machine",
    note = "use `String` or `&'static str` for text, `Vec<u8>` or `&'static [u8]` for bytes, and \
            tuples of at most 8 components",
    note = "for a structure use `Serde<{Self}>` (feature `serde`) or `Fixed<{Self}>` (feature \
            `zerocopy`), and implement `Named` for it"
)]
pub trait Value: 'static + Sized {
    /// A value that was decoded, borrowing where it can.
    type Decoded<'a>: AsValue<Self>;

    /// Reads a value in the form of a part, and nothing behind it.
    fn read_part<'a>(from: &mut Reader<'a>) -> Result<Self::Decoded<'a>, DecodeError>;

    /// Reads a value that ends where the bytes end. It may leave bytes, which
    /// [`decode`](Value::decode) refuses.
    fn read<'a>(from: &mut Reader<'a>) -> Result<Self::Decoded<'a>, DecodeError> {
        Self::read_part(from)
    }

    /// Returns the name of the encoding, such as `"option<i32>"`. The name of a key's encoding can
    /// be the same, though the encoding differs.
    fn layout() -> String;

    /// Returns the value of a whole table row.
    ///
    /// It allocates. [`AsValue::encode_value`] appends to a buffer that can be reused.
    fn encode<Q: AsValue<Self> + ?Sized>(value: &Q) -> Vec<u8> {
        let mut bytes = Vec::new();
        value.encode_value(&mut bytes);
        bytes
    }

    /// Decodes the value of a whole table row.
    fn decode(bytes: &[u8]) -> Result<Self::Decoded<'_>, DecodeError> {
        let mut from = Reader::new(bytes);
        let value = Self::read(&mut from)?;
        from.finish()?;
        Ok(value)
    }
}

/// A value that can be encoded as one of type `V`: a `V` itself, or a borrowed form of it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be encoded as a value of type `{V}`",
    label = "is no `{V}`, and no borrowed form of one",
    note = "a value for `Serde<T>` or `Fixed<T>` is a `T`, which implements `Named`",
    note = "`usize` and `isize` are no values: convert them to `u64` and `i64`"
)]
pub trait AsValue<V> {
    /// Appends the encoding of the value within a tuple.
    fn encode_value_part(&self, to: &mut Vec<u8>);

    /// Appends the encoding of the value at the top level. By default that is the encoding as a
    /// part.
    fn encode_value(&self, to: &mut Vec<u8>) {
        self.encode_value_part(to);
    }
}

/// The user's name for a type that `Fixed` or `Serde` stores.
///
/// The name and the version are part of the layout, with which a table is opened. Change the
/// version when the encoding changes, for example with a new field. They need not be unique, but
/// two types with the same name and version can be mistaken for each other.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no name to be stored under",
    note = "implement `clearway_codec::Named` for `{Self}`: a name and a version, which the \
            database keeps with the table"
)]
pub trait Named {
    /// The name of the type in the layout.
    const NAME: &'static str;
    /// The version of the type's encoding.
    const VERSION: u32;
}
