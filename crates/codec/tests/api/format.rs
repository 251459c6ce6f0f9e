//! The format itself, compared with the tables of `docs/key-format.md`.

use std::cmp::Reverse;

use clearway_codec::{AsKey, AsValue, Key, Value};

const PAGE: &str = include_str!("../../../../docs/key-format.md");

fn row(layout: &str, value: &str, whole: &[u8], part: &[u8]) -> String {
    let hex = |bytes: &[u8]| match bytes {
        [] => "none".to_string(),
        _ => {
            format!("`{}`", bytes.iter().map(|b| format!("{b:02X}")).collect::<Vec<_>>().join(" "))
        }
    };
    let part = if whole == part { "the same".to_string() } else { hex(part) };
    format!("| `{layout}` | `{value}` | {} | {part} |", hex(whole))
}

fn key_row<K: Key>(value: &str, key: &impl AsKey<K>) -> String {
    let mut part = Vec::new();
    key.encode_key_part(&mut part);
    row(&K::layout(), value, &K::encode(key), &part)
}

fn value_row<V: Value>(text: &str, value: &impl AsValue<V>) -> String {
    let mut part = Vec::new();
    value.encode_value_part(&mut part);
    row(&V::layout(), text, &V::encode(value), &part)
}

/// A row for each type and value, which is shown as it is written here.
macro_rules! rows {
    ($row:ident: $($type:ty = $($value:expr),+;)*) => {
        vec![$($($row::<$type>(stringify!($value), &$value),)+)*]
    };
}

fn key_rows() -> Vec<String> {
    rows! { key_row:
        u8 = 7;
        u16 = 258;
        u32 = 258;
        u64 = 0, 258, u64::MAX;
        u128 = 258;
        i8 = -1;
        i16 = -2;
        i32 = i32::MIN, -1, 0, 258;
        i64 = -258;
        i128 = -1;
        f32 = -1.5, -0.0, 0.0, 1.5;
        f64 = f64::NEG_INFINITY, -1.5, 1.5, f64::INFINITY;
        bool = false, true;
        char = 'a', '\u{10FFFF}';
        () = ();
        [u8; 3] = [0, 1, 255];
        &str = "", "ab", "a\0b", "\u{1}\u{2}";
        &[u8] = [0, 1, 255];
        Option<u8> = None::<u8>, Some(7);
        Option<&str> = Some("ab");
        Reverse<u16> = Reverse(258);
        Reverse<&str> = Reverse("ab");
        Reverse<&[u8]> = Reverse([0, 1, 255]);
        (u8,) = (7,);
        (&str, u16) = ("ab", 258);
        (u16, &str) = (258, "ab");
        ((u8, &str), bool) = ((7, "ab"), true);
        (Option<&str>, Reverse<u8>, &str) = (Some("a"), Reverse(7), "b");
        (u8, u8, u8, u8, u8, u8, u8, u8) = (1, 2, 3, 4, 5, 6, 7, 8);
    }
}

fn value_rows() -> Vec<String> {
    rows! { value_row:
        u8 = 7;
        u16 = 258;
        u32 = 258;
        u64 = 258;
        u128 = 258;
        i8 = -1;
        i16 = -2;
        i32 = -258;
        i64 = -258;
        i128 = -1;
        f32 = 1.5;
        f64 = -1.5;
        bool = true;
        char = 'a';
        () = ();
        [u8; 3] = [0, 1, 255];
        &str = "", "ab";
        &[u8] = [0, 1, 255];
        Option<u8> = None::<u8>, Some(7);
        Option<&str> = Some("ab");
        (&str, u16) = ("ab", 258);
        (u16, &str) = (258, "ab");
        ((u8, &str), bool) = ((7, "ab"), true);
    }
}

/// Returns the rows of the table below a heading of the page.
fn rows_below(heading: &str) -> Vec<&'static str> {
    let (_, below) = PAGE.split_once(heading).expect("the page has the heading");
    let table = below.lines().skip_while(|line| !line.starts_with("| `"));
    table.take_while(|line| line.starts_with("| `")).collect()
}

#[test]
fn keys_have_the_documented_bytes() {
    let rows = key_rows();
    assert_eq!(rows_below("### Examples of keys"), rows, "\n{}", rows.join("\n"));
}

#[test]
fn values_have_the_documented_bytes() {
    let rows = value_rows();
    assert_eq!(rows_below("### Examples of values"), rows, "\n{}", rows.join("\n"));
}

#[test]
fn layouts_name_the_encodings() {
    assert_eq!(<((String, &[u8]), Option<Reverse<i32>>) as Key>::layout(), {
        "((str,bytes),option<reverse<i32>>)"
    });
    assert_eq!(<(Vec<u8>, [u8; 16], ()) as Key>::layout(), "(bytes,[u8;16],())");
    assert_eq!(<(Vec<u8>, [u8; 16], Option<&str>) as Value>::layout(), {
        "(bytes,[u8;16],option<str>)"
    });
}
