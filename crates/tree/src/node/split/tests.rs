//! Splits of nodes of every size: both halves fit, few splits make room, and sequences are seen.

use std::collections::BTreeSet;

use clearway_base::{PAGE_SIZE, PageId, TreeId};
use clearway_testkit::Random;

use super::super::layout::{RECORD_OVERHEAD, SLOTS};
use super::super::{Division, Image, Limits, Node, NodeMut, NodeRecord};

const TREE: TreeId = TreeId(7);

type Page = [u8; PAGE_SIZE];

fn empty(level: u8, node_bytes: usize, low: &[u8], high: Option<&[u8]>) -> Page {
    let mut page = [0; PAGE_SIZE];
    assert!(NodeMut::format(&mut page, level, TREE, node_bytes, low, high));
    page
}

/// Inserts a record of `value_len` bytes in a leaf; whether it fits.
fn insert(page: &mut Page, key: &[u8], value_len: usize) -> bool {
    let mut node = NodeMut::new(page);
    let slot = node.read().find(key).unwrap_err();
    node.insert(slot, key, NodeRecord { value: &vec![7; value_len], ghost: false, overflow: false })
}

/// Splits `page`; the upper half, and its low fence.
fn split(page: &mut Page, insert_at: usize, division: Division) -> (Page, Vec<u8>) {
    let node = Node::new(&page[..]);
    let slot = node.split_slot(insert_at, division).expect("a full node can be split");
    let (separator, mut image) = (node.key(slot), Vec::new());
    assert!(node.upper_image_into(slot, &mut image), "the upper half fits");
    let upper = Image::parse(&image).unwrap().to_page();
    assert!(NodeMut::new(page).truncate(slot, PageId(9), &separator), "the lower half fits");
    for half in [&page[..], &upper[..]] {
        assert_eq!(Node::new(half).check(), Ok(()));
        assert!(Node::new(half).count() > 0);
    }
    (*upper, separator)
}

/// Splits until a record fits, as a writer that needs room does; how many splits that took.
fn splits_for(mut page: Page, key: &[u8], value_len: usize, by_pattern: usize) -> usize {
    for splits in 0.. {
        let node = Node::new(&page[..]);
        let Err(slot) = node.find(key) else { panic!("the key is new") };
        if node.fits(key.len(), value_len) {
            return splits;
        }
        let is_pattern = splits < by_pattern;
        let division = if is_pattern { Division::ByPattern } else { Division::Even };
        let (upper, separator) = split(&mut page, slot, division);
        if key >= &separator[..] {
            page = upper;
        }
    }
    unreachable!()
}

fn below(random: &mut Random, bound: usize) -> usize {
    random.below(bound as u64) as usize
}

/// Draws a short key, any, or one of the longest, out of few letters: keys share prefixes.
fn draw_key(random: &mut Random, max: usize) -> Vec<u8> {
    let lengths = [below(random, 8.min(max)), below(random, max), max, max];
    let len = random.pick(&lengths);
    let mut letter = || random.pick(b"aby");
    let mut key: Vec<u8> = (0..len.min(6)).map(|_| letter()).collect();
    key.resize(len, letter());
    key
}

fn draw_node_bytes(random: &mut Random) -> usize {
    let choices = [256 + below(random, 768), 256 + below(random, PAGE_SIZE - 256), PAGE_SIZE];
    random.pick(&choices)
}

/// Fences that the keys lie between: none, the longest, or two of the longest that differ in
/// their last byte only.
fn fences(which: usize, max: usize) -> (Vec<u8>, Option<Vec<u8>>) {
    let long = |last: u8| [vec![b'a'; max - 1], vec![last]].concat();
    match which {
        0 => (Vec::new(), None),
        1 => (Vec::new(), Some(vec![b'z'; max])),
        _ => (long(b'a'), Some(long(b'z'))),
    }
}

#[test]
fn full_leaf_is_split_wherever_room_is_wanted() {
    let mut splits_seen = [0; 5];
    for seed in 0..600 {
        let mut random = Random::new(seed);
        let node_bytes = draw_node_bytes(&mut random);
        let limits = Limits::of(node_bytes);
        let (max, which, by_pattern) =
            (limits.key_len_max, below(&mut random, 3), below(&mut random, 3));
        let (low, high) = fences(which, max);
        let mut page = empty(0, node_bytes, &low, high.as_deref());
        for _ in 0..900 {
            let mut key = draw_key(&mut random, max);
            if which == 2 {
                key = [&low[..max - 1], &[b'b' + key.len() as u8 % 20]].concat();
            }
            if Node::new(&page[..]).find(&key).is_ok() {
                continue;
            }
            let room = limits.record_len_max - key.len();
            let value_len = [0, room / 8, room][below(&mut random, 3)];
            if Node::new(&page[..]).fits(key.len(), value_len) {
                assert!(insert(&mut page, &key, value_len));
                continue;
            }
            let splits = splits_for(page, &key, value_len, by_pattern);
            assert!(splits <= by_pattern + 2, "seed {seed}: {splits} splits");
            splits_seen[splits] += 1;
            if random.one_in(20) {
                break; // Else go on: what is smaller makes the node fuller.
            }
        }
    }
    assert!(splits_seen[1] > 1000 && splits_seen[2] > 50, "{splits_seen:?}");
}

#[test]
fn full_branch_is_split_wherever_a_child_is_adopted() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let node_bytes = draw_node_bytes(&mut random);
        let max = Limits::of(node_bytes).key_len_max;
        let mut page = empty(1, node_bytes, b"", Some(&vec![b'z'; max]));
        NodeMut::new(&mut page).insert_child(0, b"", PageId(1));
        let mut keys: Vec<Vec<u8>> = (0..700).map(|_| draw_key(&mut random, max)).collect();
        match random.below(3) {
            0 => keys.sort_unstable(),
            1 => keys.sort_unstable_by(|a, b| b.cmp(a)),
            _ => {}
        }
        for key in &keys {
            let Err(slot) = Node::new(&page[..]).find(key) else { continue };
            if !NodeMut::new(&mut page).insert_child(slot, key, PageId(2)) {
                let splits = splits_for(page, key, 4, 2);
                assert!(splits <= 4, "seed {seed}: {splits} splits");
                break;
            }
        }
    }
}

#[test]
fn largest_record_is_as_large_as_the_proof_says() {
    for node_bytes in 256..=PAGE_SIZE {
        let limits = Limits::of(node_bytes);
        let (capacity, key) = (node_bytes - SLOTS, limits.key_len_max);
        let record = limits.record_len_max + RECORD_OVERHEAD;
        assert!(3 * key + 4 * record <= capacity, "{node_bytes}");
        assert!(record >= key + 26, "{node_bytes}: half a node outweighs a fence");
        assert!(record >= RECORD_OVERHEAD + key + 16, "{node_bytes}: overflow reference");
        assert!(record >= RECORD_OVERHEAD + key + 4, "{node_bytes}: child");
        assert!((capacity + 3 * record) / 4 < 3 * record, "{node_bytes}: two splits make room");
    }
}

#[test]
fn split_whose_upper_half_would_not_fit_is_made_elsewhere() {
    // A short key, six of 1,024 bytes, and a record of 1,001 bytes in front of them.
    let mut page = empty(0, PAGE_SIZE, b"", None);
    assert!(insert(&mut page, b"a", 200));
    for letter in b"bcdefg" {
        assert!(insert(&mut page, &vec![*letter; 1024], 200));
    }
    assert_eq!(splits_for(page, b"A", 1000, 2), 1);
}

/// Inserts the keys that `keys` gives until one finds no room; the slot that it wants.
fn fill(page: &mut Page, keys: impl Iterator<Item = u64>) -> usize {
    for key in keys {
        let key = key.to_be_bytes();
        if !insert(page, &key, 60) {
            return Node::new(&page[..]).find(&key).unwrap_err();
        }
    }
    panic!("there is room for all of them");
}

/// The slot that a leaf is split at which holds `old`, by a split, and then takes `new` until one
/// finds no room; and the slot that this one wants.
fn split_after(old: std::ops::Range<u64>, new: impl Iterator<Item = u64>) -> (usize, usize) {
    let mut page = empty(0, PAGE_SIZE, b"", None);
    for key in old {
        assert!(insert(&mut page, &key.to_be_bytes(), 60));
    }
    NodeMut::new(&mut page).compact();
    let wanted = fill(&mut page, new);
    (Node::new(&page[..]).split_slot(wanted, Division::ByPattern).unwrap(), wanted)
}

#[test]
fn sequence_at_an_end_leaves_the_other_half_nearly_full() {
    let count = 8136 / 78;
    let (slot, wanted) = split_after(0..10, 10..);
    assert_eq!((slot * 100 / count, wanted), (93, count));
    let (slot, wanted) = split_after(5000..5010, (0..5000).rev());
    assert_eq!((slot * 100 / count, wanted), (5, 0));
}

#[test]
fn sequence_before_or_behind_other_rows_gets_a_leaf_of_its_own() {
    // Rising in front of 30 rows, of two, and of none that it could see.
    assert_eq!(split_after(5000..5030, 0..), (74, 74));
    assert_eq!(split_after(5000..5002, 0..), (102, 102));
    // Falling behind two rows, then behind 30: there the last of them goes along.
    assert_eq!(split_after(0..2, (0..5000).rev()), (2, 2));
    assert_eq!(split_after(0..30, (0..5000).rev()), (29, 30));
}

#[test]
fn sequences_that_meet_leave_the_larger_side_behind() {
    let both_ways = |n: u64| if n.is_multiple_of(2) { 1000 + n } else { 4000 - n };
    assert_eq!(split_after(0..40, (0..).map(both_ways)), (71, 72));
    assert_eq!(split_after(5000..5040, (0..).map(both_ways)), (32, 32));
}

#[test]
fn chance_is_no_sequence() {
    let mut uneven = 0;
    for seed in 0..500u64 {
        let mut random = Random::new(seed);
        let keys = std::iter::repeat_with(|| random.next_u64());
        let mut seen = BTreeSet::new();
        let keys = keys.filter(|key| seen.insert(*key));
        let (slot, _) = split_after(0..0, keys);
        uneven += usize::from(!(45..=59).contains(&slot));
    }
    assert!(uneven < 100, "{uneven} of 500 splits are uneven");
}

#[test]
fn lower_half_has_room_for_a_long_foster_key() {
    let (low, high) = ([b'a'; 40], [&[b'a'; 40][..], b"z"].concat());
    let mut page = empty(0, 512, &low, Some(&high));
    let key = |i: u8| [&low[..], &[b'b', i]].concat();
    let count = (0..40).take_while(|i| insert(&mut page, &key(*i), 0)).count();
    let slot = Node::new(&page[..]).split_slot(count, Division::ByPattern).unwrap();
    let separator = key(slot as u8);
    assert!(slot > count / 2 && NodeMut::new(&mut page).truncate(slot, PageId(9), &separator));
}
