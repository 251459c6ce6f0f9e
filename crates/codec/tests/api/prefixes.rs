//! Ranges of keys with the same first components.

use std::{
    cmp::Reverse,
    ops::{Bound, RangeBounds},
};

use clearway_codec::{Key, KeyPrefix, prefix_of};
use proptest::prelude::*;

use crate::{bytes, hold, text};

fn contains<K: Key>(prefix: &impl KeyPrefix<K>, key: &K) -> bool {
    prefix_of::<K, _>(prefix).contains(&K::encode(key))
}

#[test]
fn key_is_in_the_range_exactly_if_its_strings_begin_so() {
    type Triple = (String, Vec<u8>, String);
    hold(((text(), bytes(), text()), text(), bytes()), |(key, a, b)| {
        let key: Triple = key;
        assert!(contains::<Triple>(&(), &key));
        assert_eq!(contains(&(a.as_str(),), &key), key.0 == a);
        assert_eq!(contains(&(&a, b.as_slice()), &key), key.0 == a && key.1 == b);
        // The prefixes of the key itself, for equal components are rare above.
        assert!(contains(&(&key.0,), &key) && contains(&(&key.0, &key.1), &key));
    });
}

#[test]
fn key_is_in_the_range_exactly_if_its_options_and_reverses_begin_so() {
    type Key4 = (Option<Vec<u8>>, Reverse<Vec<u8>>, (u8, Option<bool>), u8);
    let option = || prop::option::of(bytes());
    let pair = || (254..=255_u8, prop::option::of(any::<bool>()));
    let reverse = || bytes().prop_map(Reverse);
    let keys = (option(), reverse(), pair(), any::<u8>());
    hold((keys, option(), reverse(), pair()), |(key, a, b, c)| {
        let key: Key4 = key;
        let equal = (key.0 == a, key.1 == b, key.2 == c);
        assert_eq!(contains::<Key4>(&(a.clone(),), &key), equal.0);
        assert_eq!(contains::<Key4>(&(a.clone(), b.clone()), &key), equal.0 && equal.1);
        let own = (key.0.clone(), key.1.clone(), c);
        assert_eq!(contains::<Key4>(&own, &key), equal.2);
        assert!(contains::<Key4>(&(key.0.clone(), key.1.clone(), key.2), &key));
    });
}

#[test]
fn range_of_numbers_holds_at_the_largest_ones() {
    let of = |a, b| prefix_of::<(u8, u8, u8), _>(&(a, b));
    assert_eq!(of(1, 2), (Bound::Included(vec![1, 2]), Bound::Excluded(vec![1, 3])));
    assert_eq!(of(1, 255), (Bound::Included(vec![1, 255]), Bound::Excluded(vec![2])));
    assert_eq!(of(255, 255), (Bound::Included(vec![255, 255]), Bound::Unbounded));
    hold((any::<(i8, bool)>(), any::<i8>()), |(key, a)| {
        assert_eq!(contains(&(a,), &key), key.0 == a);
        assert!(contains(&(key.0,), &key));
    });
}

#[test]
fn prefix_may_be_all_but_one_of_eight_components() {
    type Key8 = (u8, u8, u8, u8, u8, u8, u8, String);
    let prefix = (1, 2, 3, 4, 5, 6, 7);
    assert!(contains::<Key8>(&prefix, &(1, 2, 3, 4, 5, 6, 7, "\u{FF}".to_string())));
    assert!(!contains::<Key8>(&prefix, &(1, 2, 3, 4, 5, 6, 8, String::new())));
}
