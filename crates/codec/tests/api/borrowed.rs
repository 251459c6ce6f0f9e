//! Borrowed forms: for a search, and as the result of decoding.

use std::{borrow::Cow, cmp::Reverse};

use clearway_codec::{AsKey, Key};

use crate::{bytes, hold, text};

#[test]
fn borrowed_forms_have_the_encoding_of_the_owned_ones() {
    type Owned = (String, Vec<u8>, Option<Reverse<String>>, String);
    hold((text(), bytes()), |(text, bytes)| {
        let owned = (text.clone(), bytes.clone(), Some(Reverse(text.clone())), text.clone());
        let (t, b) = (text.as_str(), bytes.as_slice());
        let expected = Owned::encode(&owned);
        assert_eq!(Owned::encode(&(t, b, Some(Reverse(t)), t)), expected);
        let copied = (Cow::Borrowed(t), Cow::Borrowed(b), Some(Reverse(&text)), &&text);
        assert_eq!(Owned::encode(&copied), expected);
        type Borrowed = (&'static str, &'static [u8], Option<Reverse<&'static str>>, &'static str);
        assert_eq!(Borrowed::encode(&owned), expected);
        assert_eq!(String::encode(t), text.as_bytes());
    });
}

#[test]
fn array_is_encoded_as_the_key_type_says() {
    assert_eq!(<([u8; 2], u8)>::encode(&([0, 7], 9)), [0, 7, 9]);
    assert_eq!(<(Vec<u8>, u8)>::encode(&([0, 7], 9)), [1, 1, 7, 0, 9]);
    assert_eq!(Vec::<u8>::encode(b"ab"), b"ab");
}

#[test]
fn strings_without_escaped_bytes_are_borrowed() {
    let key = <(&str, &[u8], &str)>::encode(&("anna", b"\x02\xFF", "x\0y"));
    let (name, tag, rest) = <(&str, &[u8], &str)>::decode(&key).unwrap();
    assert!(matches!(name, Cow::Borrowed("anna")));
    assert!(matches!(tag, Cow::Borrowed(b"\x02\xFF")));
    assert_eq!(rest, "x\0y");
    let key = <(&str, u8)>::encode(&("x\0y\u{1}", 0));
    assert!(matches!(<(&str, u8)>::decode(&key).unwrap().0, Cow::Owned(s) if s == "x\0y\u{1}"));
}

#[test]
fn encoding_appends_to_what_the_buffer_holds() {
    let mut buffer = b"before".to_vec();
    AsKey::<(Reverse<String>, u8)>::encode_key(&(Reverse("a"), 7), &mut buffer);
    assert_eq!(buffer, b"before\x9E\xFF\x07");
}
