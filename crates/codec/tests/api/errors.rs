//! Errors of decoding: the expected bytes, and their offset.

use std::{cmp::Reverse, fmt::Debug};

use clearway_codec::{DecodeError, Key, Value};

fn error<T>(result: Result<T, DecodeError>) -> String {
    result.err().expect("it must be refused").to_string()
}

#[test]
fn error_says_what_was_expected_and_where() {
    let ended = "expected a byte 0, which ends bytes or a string at byte";
    for (found, expected) in [
        (error(<u64 as Key>::decode(b"1234567")), "expected the 8 bytes of u64 at byte 0"),
        (error(<u8 as Key>::decode(b"12")), "expected the end at byte 1"),
        (error(<(u8, bool) as Key>::decode(&[7, 2])), "expected 0 or 1, a bool at byte 1"),
        (error(<Option<u8> as Key>::decode(&[2])), "expected 0 or 1, an option at byte 0"),
        (error(<(u8, char) as Key>::decode(&[7, 0, 0xD8, 0])), {
            "expected the 3 bytes of char at byte 1"
        }),
        (error(<(u8, &str) as Key>::decode(b"7\xFF")), "expected UTF-8 text at byte 1"),
        (error(<(&str, u8) as Key>::decode(b"ab\xFF\x007")), "expected UTF-8 text at byte 0"),
        (error(<(&str, u8) as Key>::decode(b"ab")), &*format!("{ended} 2")),
        (error(<Reverse<&str> as Key>::decode(&[!b'a', 0])), &*format!("{ended} 2")),
        (error(<(&str, u8) as Key>::decode(b"a\x01\x03")), {
            "expected 1 or 2, behind the byte 1 at byte 2"
        }),
        (error(<(u8, &str, u8) as Value>::decode(b"7\x05four")), {
            "expected as many bytes as the length before them says at byte 2"
        }),
        (error(<(&str, u8) as Value>::decode(b"\x81\x00a7")), {
            "expected the length of bytes or of a string at byte 0"
        }),
        // The bit that the last byte adds is the 65th.
        (error(<(&str, u8) as Value>::decode(b"\x82\x80\x80\x80\x80\x80\x80\x80\x80\x02ab7")), {
            "expected the length of bytes or of a string at byte 0"
        }),
        (error(<(&str, u8) as Value>::decode(&[0xFF; 12])), {
            "expected the length of bytes or of a string at byte 0"
        }),
    ] {
        assert_eq!(found, expected);
    }
}

#[test]
fn error_is_a_value_with_parts() {
    fn is_error<E: std::error::Error + Clone + Send + Sync + Debug + 'static>(error: E) -> E {
        error
    }
    let error = is_error(<bool as Key>::decode(&[2]).unwrap_err());
    assert_eq!((error.expected(), error.at()), ("0 or 1, a bool", 0));
}
