use std::collections::{BTreeMap, HashSet};

use super::*;
use crate::Step;

const NODES: [usize; 4] = [256, 512, 1024, 8192];

fn patterns() -> impl Iterator<Item = Pattern> {
    let of =
        |node_bytes| Pattern::all(&mut Random::new(node_bytes as u64), Limits::of_node(node_bytes));
    NODES.into_iter().flat_map(of)
}

#[test]
fn every_order_is_combined_with_every_mixture_of_lengths() {
    let cells: HashSet<_> = patterns().map(|pattern| (pattern.order, pattern.lengths)).collect();
    assert_eq!(cells.len(), Order::ALL.len() * Lengths::ALL.len());
}

#[test]
fn distinct_keys_stay_distinct_and_sort_as_their_places() {
    for pattern in patterns() {
        let by_place: BTreeMap<Place, Vec<u8>> =
            (0..400).map(|n| (pattern.place(n), pattern.key(n))).collect();
        let expected = if pattern.order.is_distinct() { 400 } else { 51 };
        // The empty key may replace one of them.
        assert!(by_place.len().abs_diff(expected) <= 1, "{pattern}: {}", by_place.len());
        let keys: Vec<_> = by_place.into_values().collect();
        assert!(keys.is_sorted_by(|one, next| one < next), "{pattern}");
    }
}

#[test]
fn keys_and_values_keep_to_the_limits_and_reach_them() {
    let (mut shortest, mut longest) = (usize::MAX, 0);
    for pattern in patterns() {
        let max = pattern.limits.key_len_max;
        for n in 0..200 {
            let (key, value) = (pattern.key(n), pattern.value(n));
            assert!(key.len() <= max, "{pattern}: {}", key.len());
            assert_eq!(value.len(), pattern.value_len(n));
            assert!(value.len() <= 20_000);
            shortest = shortest.min(key.len());
            longest = longest.max(key.len());
        }
    }
    assert_eq!((shortest, longest), (0, 1024));
}

#[test]
fn mixtures_match_their_names() {
    let limits = Limits::of_node(8192);
    let lengths = |lengths: Lengths, order: Order| {
        let pattern = Pattern {
            order,
            lengths,
            values: Values::Empty,
            removal: Removal::Nothing,
            has_empty_key: false,
            has_long_prefix: false,
            seed: 5,
            limits,
        };
        (0..1600).map(|n| pattern.key(n).len()).collect::<Vec<_>>()
    };
    let of = |mixture| lengths(mixture, Order::Descending);
    assert!(of(Lengths::Short).iter().all(|len| *len <= 12));
    assert!(of(Lengths::Longest).iter().all(|len| *len == 1024));
    let long = of(Lengths::SomeLongest).iter().filter(|len| **len == 1024).count();
    assert!((60..160).contains(&long), "{long}");
    let turns = of(Lengths::Alternating);
    assert!(turns.windows(2).all(|two| (two[0] == 1024) != (two[1] == 1024)));
    assert!(of(Lengths::Uniform).iter().all(|len| (20..=300).contains(len)));
    assert!(of(Lengths::Any).iter().any(|len| *len > 900));
    let grown = lengths(Lengths::Any, Order::GrowingPrefixes);
    assert_eq!((grown[0], grown[15], grown[16]), (4, 1024, 4));
}

#[test]
fn growing_prefixes_are_prefixes() {
    for pattern in patterns().filter(|pattern| pattern.order == Order::GrowingPrefixes) {
        let pattern = Pattern { has_empty_key: false, ..pattern };
        let pairs = (0..100).map(|n| (pattern.key(n), pattern.key(n + 1)));
        let growing = pairs.filter(|(one, next)| next.starts_with(one)).count();
        assert!(growing >= 88, "{pattern}: {growing}");
    }
}

#[test]
fn names_of_tables_are_distinct_and_as_long_as_they_may_be() {
    for pattern in patterns().filter(|pattern| pattern.order.is_distinct()) {
        let names: HashSet<_> = (0..200).map(|n| pattern.table_name(n, 200)).collect();
        assert_eq!(names.len(), 200, "{pattern}");
        assert!(names.iter().all(|name| (1..=200).contains(&name.len())));
        if pattern.lengths == Lengths::Longest {
            assert!(names.iter().all(|name| name.len() == 200));
        }
    }
}

#[test]
fn steps_delete_only_existing_keys_and_end_as_the_removal_defines() {
    for pattern in patterns() {
        for removal in Removal::ALL {
            let pattern = Pattern { removal, ..pattern };
            let mut there = BTreeMap::new();
            let (mut most, mut steps) = (0, 0);
            for step in pattern.steps(90) {
                match step {
                    Step::Put { key, value } => drop(there.insert(key, value)),
                    Step::Delete { key } => assert!(there.remove(&key).is_some(), "{pattern}"),
                }
                most = most.max(there.len());
                steps += 1;
            }
            assert!(steps >= 90, "{pattern}");
            if pattern.order.is_window() {
                assert!(most <= 24, "{pattern}: {most} keys at once");
            }
            match removal {
                Removal::BothEnds => assert_eq!(there.len(), 0, "{pattern}"),
                Removal::EverySecond => assert_eq!(there.len(), most / 2, "{pattern}"),
                Removal::Nothing | Removal::AllAndRefill => {
                    assert!(there.len() + 1 >= most, "{pattern}: {} of {most}", there.len());
                }
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let draw = || {
        let mut random = Random::new(11);
        let pattern = Pattern::draw(&mut random, Limits::of_node(512));
        pattern.steps(50).collect::<Vec<_>>()
    };
    assert_eq!(draw(), draw());
}

#[test]
fn a_key_determines_its_number_in_simple_orders() {
    let simple = [Order::Ascending, Order::Descending];
    for pattern in patterns().filter(|pattern| simple.contains(&pattern.order)) {
        let pattern = Pattern { has_empty_key: false, ..pattern };
        for n in [0, 1, 7, 500, 70_000] {
            assert_eq!(pattern.number(&pattern.key(n)), n, "{pattern}");
        }
    }
}
