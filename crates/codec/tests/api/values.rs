//! Round trips of values.

use std::fmt::Debug;

use clearway_codec::{AsValue, Reader, Value};
use proptest::prelude::*;

use crate::{bytes, hold, text};

/// A value type that is decoded as itself.
trait OwnedValue: for<'a> Value<Decoded<'a> = Self> + AsValue<Self> + Debug + PartialEq {}
impl<V: for<'a> Value<Decoded<'a> = V> + AsValue<V> + Debug + PartialEq> OwnedValue for V {}

/// Checks that values come back in both forms, and that the end of a part is found.
fn come_back<V: OwnedValue>(values: impl Strategy<Value = V>) {
    hold(values, |value| {
        assert_eq!(V::decode(&V::encode(&value)).unwrap(), value);
        let mut part = Vec::new();
        value.encode_value_part(&mut part);
        let len = part.len();
        part.extend([0xFF, 0]);
        let mut from = Reader::new(&part);
        assert_eq!(V::read_part(&mut from).unwrap(), value);
        assert_eq!(from.at(), len, "the end of the part {value:?}");
    });
}

#[test]
fn numbers_and_characters_come_back() {
    come_back(any::<u8>());
    come_back(any::<u16>());
    come_back(any::<u32>());
    come_back(any::<u64>());
    come_back(any::<u128>());
    come_back(any::<i8>());
    come_back(any::<i16>());
    come_back(any::<i32>());
    come_back(any::<i64>());
    come_back(any::<i128>());
    come_back(any::<f32>());
    come_back(any::<f64>());
    come_back(any::<bool>());
    come_back(any::<char>());
    come_back(Just(()));
}

#[test]
fn strings_bytes_options_and_tuples_come_back() {
    come_back(text());
    come_back(any::<Vec<u8>>());
    come_back(any::<[u8; 5]>());
    come_back(prop::option::of(text()));
    come_back((text(), bytes(), any::<u8>()));
    come_back((prop::option::of((bytes(), text())), any::<i16>(), text()));
    let small = || any::<bool>();
    come_back((small(), bytes(), small(), text(), small(), bytes(), small(), text()));
}

#[test]
fn lengths_of_one_two_and_three_bytes_come_back() {
    for (len, bytes) in [(127, 1), (128, 2), (16_383, 2), (16_384, 3)] {
        let value = (vec![7; len], 9_u8);
        let encoded = <(Vec<u8>, u8) as Value>::encode(&value);
        assert_eq!(encoded.len(), bytes + len + 1);
        assert_eq!(<(Vec<u8>, u8) as Value>::decode(&encoded).unwrap(), value);
    }
}

#[test]
fn borrowed_values_have_the_encoding_of_the_owned_ones() {
    type Owned = (String, Vec<u8>, Option<String>);
    type Borrowed = (&'static str, &'static [u8], Option<&'static str>);
    hold((text(), bytes()), |(text, bytes)| {
        let owned = (text.clone(), bytes.clone(), Some(text.clone()));
        let borrowed = (text.as_str(), bytes.as_slice(), Some(text.as_str()));
        let encoded = Owned::encode(&borrowed);
        assert_eq!(encoded, Owned::encode(&owned));
        assert_eq!(encoded, Borrowed::encode(&owned));
        assert_eq!(Borrowed::decode(&encoded).unwrap(), borrowed);
    });
}
