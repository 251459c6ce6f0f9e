//! Decoding of arbitrary bytes: no panic, and one encoding for each key and value.

use std::cmp::Reverse;

use clearway_codec::{AsKey, AsValue, Key, Reader, Value};
use proptest::{prelude::*, sample::select};

use crate::hold;

fn check_key<K: Key>(bytes: &[u8]) -> bool {
    let whole = K::decode(bytes);
    if let Ok(key) = &whole {
        assert_eq!(K::encode(key), bytes, "as {}", K::layout());
    }
    let mut from = Reader::new(bytes);
    if let Ok(key) = K::read_part(&mut from) {
        let mut again = Vec::new();
        key.encode_key_part(&mut again);
        assert_eq!(again, bytes[..from.at()], "as a part, {}", K::layout());
    }
    whole.is_ok()
}

fn check_value<V: Value>(bytes: &[u8]) -> bool {
    let whole = V::decode(bytes);
    if let Ok(value) = &whole {
        assert_eq!(V::encode(value), bytes, "as {}", V::layout());
    }
    let mut from = Reader::new(bytes);
    if let Ok(value) = V::read_part(&mut from) {
        let mut again = Vec::new();
        value.encode_value_part(&mut again);
        assert_eq!(again, bytes[..from.at()], "as a part, {}", V::layout());
    }
    whole.is_ok()
}

type Check = fn(&[u8]) -> bool;

const KEYS: &[Check] = &[
    check_key::<u8>,
    check_key::<u16>,
    check_key::<u128>,
    check_key::<i32>,
    check_key::<f32>,
    check_key::<f64>,
    check_key::<bool>,
    check_key::<char>,
    check_key::<()>,
    check_key::<&str>,
    check_key::<String>,
    check_key::<&[u8]>,
    check_key::<Vec<u8>>,
    check_key::<[u8; 3]>,
    check_key::<Option<&str>>,
    check_key::<Option<Option<bool>>>,
    check_key::<Reverse<u8>>,
    check_key::<Reverse<&str>>,
    check_key::<Reverse<Reverse<String>>>,
    check_key::<(&[u8],)>,
    check_key::<(&[u8], u8)>,
    check_key::<(&str, &str)>,
    check_key::<(u8, Option<&[u8]>, bool)>,
    check_key::<((&str, Reverse<&[u8]>), Option<(bool, &str)>)>,
    check_key::<Reverse<(Option<&[u8]>, Vec<u8>, char)>>,
];

const VALUES: &[Check] = &[
    check_value::<u8>,
    check_value::<i64>,
    check_value::<f32>,
    check_value::<f64>,
    check_value::<bool>,
    check_value::<char>,
    check_value::<()>,
    check_value::<&str>,
    check_value::<String>,
    check_value::<&[u8]>,
    check_value::<Vec<u8>>,
    check_value::<[u8; 3]>,
    check_value::<Option<&str>>,
    check_value::<(&[u8], u8)>,
    check_value::<(&str, String, Option<Vec<u8>>)>,
    check_value::<((&str, bool), (Option<&[u8]>, char))>,
];

/// Bytes of which many are marks of some encoding.
fn marks() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        6 => select(&[0, 1, 2, 3, 0x80, 0x81, 0xFD, 0xFE, 0xFF]),
        1 => any::<u8>(),
    ];
    prop::collection::vec(byte, 0..20)
}

#[test]
fn arbitrary_bytes_decode_to_a_key_only_in_its_one_encoding() {
    hold(marks(), |bytes| KEYS.iter().for_each(|check| _ = check(&bytes)));
}

#[test]
fn arbitrary_bytes_decode_to_a_value_only_in_its_one_encoding() {
    hold(marks(), |bytes| VALUES.iter().for_each(|check| _ = check(&bytes)));
}

#[test]
fn short_byte_strings_decode_only_if_they_are_canonical() {
    let mut decoded = vec![0; KEYS.len() + VALUES.len()];
    let short = (0..=2).flat_map(|len| (0..1 << (8 * len)).map(move |n: u32| (n, len)));
    for (number, len) in short {
        let bytes = &number.to_be_bytes()[4 - len..];
        for (count, check) in decoded.iter_mut().zip(KEYS.iter().chain(VALUES)) {
            *count += u32::from(check(bytes));
        }
    }
    // All of u8, u16, the bytes and the plain strings; of others those that are short enough.
    assert_eq!(decoded[0], 256, "u8");
    assert_eq!(decoded[1], 1 << 16, "u16");
    let strings = 1 + 128 + 128 * 128 + 30 * 64;
    assert_eq!(decoded[9], strings, "&str");
    assert_eq!(decoded[11], 1 + 256 + (1 << 16), "&[u8]");
    assert_eq!(decoded[14], 1 + 1 + 128, "Option<&str>");
    assert_eq!(decoded[15], 2, "Option<Option<bool>>: None and Some(None)");
}
