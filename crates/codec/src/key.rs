//! Keys: types with an encoding that keeps their order.
//!
//! For all values `a` and `b` of a key type:
//!
//! 1. `a < b` if and only if the bytes of `a` are less than those of `b`, in both forms.
//! 2. In the form of a part, the bytes of `a` are no prefix of those of `b`, unless they are equal.
//!    So the part's end can be found without a length, and what follows it does not change its
//!    place in the order.
//! 3. The encoding is canonical: bytes that decode without an error are those that encoding the
//!    result gives.

use std::borrow::Cow;

use crate::{DecodeError, Reader};

/// A type of keys: its values are stored in the order that they have themselves.
///
/// A key type names the encoding. A value of another type may be encoded in the same way, if it
/// implements [`AsKey`] for the key type. So a table whose keys are of the type `(String, u64)`
/// is searched for `("anna", 7)`, without an allocation for the string.
///
/// # The two forms
///
/// - The form of the top level ([`encode_key`](AsKey::encode_key)) is that of a whole key, and of
///   the last component of a tuple that is a whole key. A string or bytes stand plain. It is
///   decoded as [`Decoded`](Key::Decoded).
/// - The form of a part ([`encode_key_part`](AsKey::encode_key_part)) is that of other components,
///   and of what `Reverse` contains. A string or bytes are escaped and terminated. It is decoded
///   as [`Part`](Key::Part).
///
/// At the top level a string is nothing but its bytes, so a table with untyped keys can be read as
/// one of strings. Types of fixed length have one form only. `docs/key-format.md` has the format of
/// each type, with examples.
///
/// # Types that are no keys
///
/// `usize` and `isize` have a different size on different machines, and a database file can be
/// moved between machines. Use `u64` and `i64`. `SystemTime` has a resolution and a range that
/// depend on the operating system; use a number of microseconds.
///
/// # A key type of your own
///
/// ```
/// use clearway_codec::{AsKey, DecodeError, Key, Reader};
///
/// struct OrderId(u64);
///
/// impl AsKey<OrderId> for OrderId {
///     fn encode_key_part(&self, to: &mut Vec<u8>) {
///         self.0.encode_key_part(to);
///     }
/// }
///
/// impl Key for OrderId {
///     type Decoded<'a> = OrderId;
///     type Part<'a> = OrderId;
///
///     fn read<'a>(from: &mut Reader<'a>) -> Result<OrderId, DecodeError> {
///         <u64 as Key>::read(from).map(OrderId)
///     }
///
///     fn read_part<'a>(from: &mut Reader<'a>) -> Result<OrderId, DecodeError> {
///         <u64 as Key>::read_part(from).map(OrderId)
///     }
///
///     fn layout() -> String {
///         <u64 as Key>::layout()
///     }
/// }
///
/// let bytes = <(OrderId, &str)>::encode(&(OrderId(7), "pen"));
/// let (order, item) = <(OrderId, &str)>::decode(&bytes)?;
/// assert_eq!((order.0, item), (7, "pen"));
/// # Ok::<(), DecodeError>(())
/// ```
///
/// ```compile_fail
/// fn is_key<K: clearway_codec::Key>() {}
/// is_key::<usize>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type of keys",
    label = "has no encoding that keeps its order",
    note = "use `u64` instead of `usize` and `i64` instead of `isize`: their size depends on the \
            machine",
    note = "use `String` or `&'static str` for text, `Vec<u8>` or `&'static [u8]` for bytes, and \
            tuples of at most 8 components",
    note = "for a type of your own implement `Key` and `AsKey` by those of its fields, as the \
            documentation of `Key` shows"
)]
pub trait Key: AsKey<Self> + 'static + Sized {
    /// A key that was decoded at the top level, or last in a tuple there.
    type Decoded<'a>: AsKey<Self>;
    /// A key that was decoded elsewhere. A string with the bytes 0 or 1 must be copied, for these
    /// are escaped. So the part of a `&str` is a `Cow<str>`, which borrows almost always.
    type Part<'a>: AsKey<Self>;

    /// Reads a key that ends where the bytes end. It may leave bytes, which
    /// [`decode`](Key::decode) refuses. An implementation of [`read_part`](Key::read_part) must not
    /// call it.
    fn read<'a>(from: &mut Reader<'a>) -> Result<Self::Decoded<'a>, DecodeError>;

    /// Reads a key in the form of a part, and nothing behind it.
    fn read_part<'a>(from: &mut Reader<'a>) -> Result<Self::Part<'a>, DecodeError>;

    /// Returns the name of the encoding, such as `"(str,u64)"`. Two types with the same encoding,
    /// such as `String` and `&str`, have the same name.
    fn layout() -> String;

    /// Returns the key of a whole table row.
    ///
    /// It allocates. [`AsKey::encode_key`] appends to a buffer that can be reused.
    fn encode<Q: AsKey<Self> + ?Sized>(key: &Q) -> Vec<u8> {
        let mut bytes = Vec::new();
        key.encode_key(&mut bytes);
        bytes
    }

    /// Decodes the key of a whole table row.
    fn decode(bytes: &[u8]) -> Result<Self::Decoded<'_>, DecodeError> {
        let mut from = Reader::new(bytes);
        let key = Self::read(&mut from)?;
        from.finish()?;
        Ok(key)
    }
}

/// A value that can be encoded as a key of type `K`: a `K` itself, or a borrowed form of it.
///
/// | `K` | implemented by |
/// | --- | --- |
/// | `String`, `&'static str` | `str`, `String`, `Cow<str>` |
/// | `Vec<u8>`, `&'static [u8]` | `[u8]`, `[u8; N]`, `Vec<u8>`, `Cow<[u8]>` |
/// | `Option<A>`, `Reverse<A>`, `(A, B)` | the same of what implements `AsKey<A>`, `AsKey<B>` |
/// | any | references to what implements it |
///
/// Equal values of different types must have the same encoding.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be encoded as a key of type `{K}`",
    label = "is no `{K}`, and no borrowed form of one",
    note = "a tuple is encoded component by component: `(&str, u64)` as a key of type \
            `(String, u64)`",
    note = "`usize` and `isize` are no keys: convert them to `u64` and `i64`"
)]
pub trait AsKey<K> {
    /// Appends the encoding of the key as a part: see [`Key`], the two forms.
    fn encode_key_part(&self, to: &mut Vec<u8>);

    /// Appends the encoding of the key at the top level. By default that is the encoding as a part.
    fn encode_key(&self, to: &mut Vec<u8>) {
        self.encode_key_part(to);
    }
}

impl<K, Q: AsKey<K> + ?Sized> AsKey<K> for &Q {
    fn encode_key_part(&self, to: &mut Vec<u8>) {
        Q::encode_key_part(self, to);
    }

    fn encode_key(&self, to: &mut Vec<u8>) {
        Q::encode_key(self, to);
    }
}

impl<K, Q: AsKey<K> + ToOwned + ?Sized> AsKey<K> for Cow<'_, Q> {
    fn encode_key_part(&self, to: &mut Vec<u8>) {
        Q::encode_key_part(self, to);
    }

    fn encode_key(&self, to: &mut Vec<u8>) {
        Q::encode_key(self, to);
    }
}
