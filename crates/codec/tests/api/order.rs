//! The laws of a key type: order, prefix-freedom, round trip.

use std::{
    cmp::{Ordering, Reverse},
    fmt::Debug,
};

use clearway_codec::{AsKey, Key, Reader};
use proptest::{prelude::*, sample::select};

use crate::{bytes, hold, text};

/// A key type that is decoded as itself.
trait OwnedKey: for<'a> Key<Decoded<'a> = Self, Part<'a> = Self> + Debug + Clone {}
impl<K: for<'a> Key<Decoded<'a> = K, Part<'a> = K> + Debug + Clone> OwnedKey for K {}

fn part_of<K: Key>(key: &impl AsKey<K>) -> Vec<u8> {
    let mut bytes = Vec::new();
    key.encode_key_part(&mut bytes);
    bytes
}

/// Checks all laws on pairs of keys, which `compare` orders.
fn laws_by<K: OwnedKey>(
    keys: impl Strategy<Value = K>,
    compare: impl Fn(&K, &K) -> Ordering + Copy,
) {
    let pairs = prop::collection::vec(keys, 2);
    hold(pairs, |pair| {
        check_pair(&pair[0], &pair[1], compare);
        check_pair(&pair[0], &pair[0], compare);
        pair.iter().for_each(|key| check_round_trip(key, compare));
    });
}

fn check_pair<K: OwnedKey>(a: &K, b: &K, compare: impl Fn(&K, &K) -> Ordering) {
    let order = compare(a, b);
    assert_eq!(K::encode(a).cmp(&K::encode(b)), order, "whole keys: {a:?}, {b:?}");
    let parts = (part_of::<K>(a), part_of::<K>(b));
    assert_eq!(parts.0.cmp(&parts.1), order, "parts: {a:?}, {b:?}");
    let begins = parts.0.starts_with(&parts.1) || parts.1.starts_with(&parts.0);
    assert_eq!(begins, order == Ordering::Equal, "one part begins another: {a:?}, {b:?}");
}

fn check_round_trip<K: OwnedKey>(key: &K, compare: impl Fn(&K, &K) -> Ordering) {
    let decoded = K::decode(&K::encode(key)).unwrap();
    assert_eq!(compare(key, &decoded), Ordering::Equal, "{key:?} became {decoded:?}");
    let part = part_of::<K>(key);
    for behind in [0, 1, 0xFF] {
        let longer = [&part[..], &[behind]].concat();
        let mut from = Reader::new(&longer);
        let decoded = K::read_part(&mut from).unwrap();
        assert_eq!(compare(key, &decoded), Ordering::Equal, "part {key:?} became {decoded:?}");
        assert_eq!(from.at(), part.len(), "the end of the part {key:?}");
    }
}

fn laws<K: OwnedKey + Ord>(keys: impl Strategy<Value = K>) {
    laws_by(keys, K::cmp);
}

#[test]
fn unsigned_integers_keep_their_order() {
    laws(any::<u8>());
    laws(any::<u16>());
    laws(any::<u32>());
    laws(any::<u64>());
    laws(any::<u128>());
    laws(select(&[0, 1, 255, 256, 257, u64::MAX - 1, u64::MAX]));
}

#[test]
fn signed_integers_keep_their_order() {
    laws(any::<i8>());
    laws(any::<i16>());
    laws(any::<i32>());
    laws(any::<i64>());
    laws(any::<i128>());
    laws(select(&[i64::MIN, i64::MIN + 1, -257, -256, -255, -1, 0, 1, 255, 256, i64::MAX]));
}

#[test]
fn floats_keep_the_total_order() {
    laws_by(any::<u32>().prop_map(f32::from_bits), f32::total_cmp);
    laws_by(any::<u64>().prop_map(f64::from_bits), f64::total_cmp);
    let edges =
        [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1.0, -1.0, 5e-324];
    laws_by(select(edges.to_vec()), f64::total_cmp);
    let edges =
        [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0, 1.0, -1.0, 1e-45];
    laws_by(select(edges.to_vec()), f32::total_cmp);
}

#[test]
fn bools_chars_and_the_unit_keep_their_order() {
    laws(any::<bool>());
    laws(any::<char>());
    laws(select(&['\0', '\u{FF}', '\u{100}', '\u{D7FF}', '\u{E000}', '\u{FFFF}', '\u{10FFFF}']));
    laws(Just(()));
}

#[test]
fn strings_and_bytes_keep_their_order() {
    laws(text());
    laws(any::<String>());
    laws(bytes());
    laws(any::<Vec<u8>>());
    laws(any::<[u8; 3]>());
    laws(Just([]));
}

#[test]
fn options_put_none_first() {
    laws(prop::option::of(any::<i16>()));
    laws(prop::option::of(text()));
    laws(prop::option::of(prop::option::of(bytes())));
    laws(prop::option::of(Just(())));
}

#[test]
fn reverse_turns_the_order_around() {
    laws(any::<i32>().prop_map(Reverse));
    laws(text().prop_map(Reverse));
    laws(bytes().prop_map(Reverse));
    laws(bytes().prop_map(Reverse).prop_map(Reverse));
    laws(prop::option::of(text()).prop_map(Reverse));
    laws(prop::option::of(text().prop_map(Reverse)));
    laws((text(), bytes()).prop_map(Reverse));
    laws((text().prop_map(Reverse), bytes()).prop_map(Reverse));
}

#[test]
fn tuples_compare_component_by_component() {
    laws(text().prop_map(|text| (text,)));
    laws((text(), any::<u8>()));
    laws((any::<u8>(), text()));
    laws((bytes(), bytes(), bytes()));
    laws((bytes(), any::<bool>(), Just(()), text()));
    let small = || 0..2_u8;
    laws((small(), small(), small(), small(), small(), small(), small(), small()));
    laws((bytes(), bytes(), small(), bytes(), bytes(), small(), bytes()));
    laws((bytes(), small(), bytes(), small(), bytes(), small()));
    laws((small(), bytes(), small(), bytes(), bytes()));
}

#[test]
fn nested_tuples_options_and_reverses_keep_their_order() {
    laws(((text(), bytes()), (bytes(), text())));
    laws((prop::option::of(bytes()), bytes()));
    laws((bytes().prop_map(Reverse), bytes()));
    laws((prop::option::of((bytes(), prop::option::of(text()))), text()));
    laws(((bytes().prop_map(Reverse), prop::option::of(bytes())).prop_map(Reverse), any::<bool>()));
    let inner = prop::option::of((text(), -1..1_i8).prop_map(Reverse));
    laws((any::<bool>(), inner, ((bytes(), Just(())), 0..2_u16)));
}
