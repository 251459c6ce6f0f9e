//! Decoding of arbitrary bytes as typed keys and values; the first byte chooses the type.
//!
//! Must hold: a typed error, or what encodes to the same bytes.

use std::cmp::Reverse;

use clearway_codec::{Key, Value};

use crate::target::Target;

pub(crate) fn target() -> Target {
    Target { name: "typed-key", examples, take, must_fail: false }
}

type Names = (&'static str, Option<&'static [u8]>, Reverse<&'static str>, &'static str);
type Numbers = (u8, i64, Reverse<u16>, f64, bool, char, [u8; 3]);
type Nested = (Option<(&'static str, Reverse<(&'static [u8], u8)>)>, (bool, Option<String>));
type Plain = (&'static str, Option<&'static [u8]>, u32, Option<(char, String)>);

type Take = fn(&[u8]) -> Result<(), String>;

const TYPES: [Take; 4] = [key::<Names>, key::<Numbers>, key::<Nested>, value::<Plain>];

fn examples() -> Vec<Vec<u8>> {
    let names = <Names as Key>::encode(&("an\0na", Some([0, 1, 255]), Reverse("\u{1}b"), "c"));
    let numbers = <Numbers as Key>::encode(&(7, -7, Reverse(258), -1.5, true, 'a', [0, 1, 2]));
    let nested = <Nested as Key>::encode(&(Some(("a", Reverse(([0], 7)))), (true, Some("b"))));
    let plain = <Plain as Value>::encode(&("a", Some([0, 1, 255]), 258, Some(('b', "c"))));
    let all = [names, numbers, nested, plain].into_iter().enumerate();
    all.map(|(index, bytes)| [&[index as u8], &bytes[..]].concat()).collect()
}

fn take(input: &[u8]) -> Result<(), String> {
    let Some((first, bytes)) = input.split_first() else { return Ok(()) };
    TYPES[usize::from(*first) % TYPES.len()](bytes)
}

fn key<K: Key>(bytes: &[u8]) -> Result<(), String> {
    K::decode(bytes).map_or(Ok(()), |key| compare(&K::layout(), bytes, &K::encode(&key)))
}

fn value<V: Value>(bytes: &[u8]) -> Result<(), String> {
    V::decode(bytes).map_or(Ok(()), |value| compare(&V::layout(), bytes, &V::encode(&value)))
}

fn compare(layout: &str, bytes: &[u8], again: &[u8]) -> Result<(), String> {
    if bytes == again {
        return Ok(());
    }
    Err(format!("{layout}: {bytes:02X?} decodes, and encodes to {again:02X?}"))
}
