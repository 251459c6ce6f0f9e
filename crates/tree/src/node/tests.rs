//! A node against an ordered map, and a node made of nonsense.

use std::collections::BTreeMap;

use clearway_base::{PAGE_SIZE, PageId, TreeId};
use proptest::prelude::*;

use super::layout::{KIND, SLOTS};
use super::{Division, Image, Limits, Node, NodeMut, NodeRecord, PageKind, Place, mark_freed};

const TREE: TreeId = TreeId(7);

type Page = [u8; PAGE_SIZE];
/// Key → value and ghost flag.
type Model = BTreeMap<Vec<u8>, (Vec<u8>, bool)>;

fn empty(level: u8, node_bytes: usize, low: &[u8], high: Option<&[u8]>) -> Page {
    let mut page = [0; PAGE_SIZE];
    assert!(NodeMut::format(&mut page, level, TREE, node_bytes, low, high));
    page
}

fn contents(page: &[u8]) -> Model {
    let node = Node::new(page);
    (0..node.count())
        .map(|slot| (node.key(slot), (node.value(slot).to_vec(), node.is_ghost(slot))))
        .collect()
}

/// Inserts everything that fits and returns it.
fn fill(page: &mut Page, records: &Model) -> Model {
    let mut node = NodeMut::new(page);
    let mut kept = Model::new();
    for (key, (value, ghost)) in records {
        let slot = node.read().find(key).unwrap_err();
        if node.insert(slot, key, NodeRecord { value, ghost: *ghost, overflow: false }) {
            kept.insert(key.clone(), (value.clone(), *ghost));
        }
    }
    kept
}

/// Keys that share prefixes, tie in their heads, and include the empty key and zero bytes.
fn key() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![Just(0u8), Just(1), Just(b'a'), Just(b'b'), Just(255)];
    prop::collection::vec(byte, 0..10)
}

fn record() -> impl Strategy<Value = (Vec<u8>, bool)> {
    (prop::collection::vec(any::<u8>(), 0..30), prop::bool::weighted(0.2))
}

fn node_bytes() -> impl Strategy<Value = usize> {
    prop_oneof![256usize..512, Just(PAGE_SIZE)]
}

#[derive(Clone, Debug)]
enum Step {
    Put(Vec<u8>, Vec<u8>),
    Patch(Vec<u8>, usize, Vec<u8>),
    Ghost(Vec<u8>, bool),
    Remove(Vec<u8>),
    Compact,
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = |max| prop::collection::vec(any::<u8>(), 0..max);
    prop_oneof![
        6 => (key(), bytes(30)).prop_map(|(k, v)| Step::Put(k, v)),
        2 => (key(), 0usize..20, bytes(10)).prop_map(|(k, o, v)| Step::Patch(k, o, v)),
        2 => (key(), any::<bool>()).prop_map(|(k, g)| Step::Ghost(k, g)),
        2 => key().prop_map(Step::Remove),
        1 => Just(Step::Compact),
    ]
}

/// Does a step to the node and, if the node could do it, to the model.
fn run(page: &mut Page, model: &mut Model, step: &Step) {
    let mut node = NodeMut::new(page);
    match step {
        Step::Put(key, value) => match node.read().find(key) {
            Ok(slot) => {
                let fits = node.read().fits_value(slot, value.len());
                assert_eq!(node.set_value(slot, value), fits, "fits_value is right");
                if fits {
                    model.get_mut(key).unwrap().0.clone_from(value);
                }
            }
            Err(slot) => {
                let fits = node.read().fits(key.len(), value.len());
                let record = NodeRecord { value, ghost: false, overflow: false };
                assert_eq!(node.insert(slot, key, record), fits, "fits is right");
                if fits {
                    model.insert(key.clone(), (value.clone(), false));
                }
            }
        },
        Step::Patch(key, offset, bytes) => {
            let Ok(slot) = node.read().find(key) else { return };
            let value = &mut model.get_mut(key).unwrap().0;
            let inside = offset + bytes.len() <= value.len();
            assert_eq!(node.patch_value(slot, *offset, bytes), inside);
            if inside {
                value[*offset..offset + bytes.len()].copy_from_slice(bytes);
            }
        }
        Step::Ghost(key, ghost) => {
            let Ok(slot) = node.read().find(key) else { return };
            node.set_ghost(slot, *ghost);
            model.get_mut(key).unwrap().1 = *ghost;
        }
        Step::Remove(key) => {
            if let Ok(slot) = node.read().find(key) {
                assert!(node.remove(slot));
                model.remove(key);
            }
        }
        Step::Compact => node.compact(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn node_behaves_like_an_ordered_map(
        node_bytes in node_bytes(),
        steps in prop::collection::vec(step(), 0..120),
        probes in prop::collection::vec(key(), 10),
    ) {
        let mut page = empty(0, node_bytes, b"", None);
        let mut model = Model::new();
        for step in &steps {
            run(&mut page, &mut model, step);
            prop_assert_eq!(Node::new(&page[..]).check(), Ok(()));
        }
        prop_assert_eq!(&contents(&page), &model);
        let node = Node::new(&page[..]);
        let keys: Vec<_> = model.keys().cloned().collect();
        for probe in keys.iter().chain(&probes) {
            prop_assert_eq!(node.find(probe), keys.binary_search(probe));
            prop_assert_eq!(node.place(probe), Place::Here);
            for slot in 0..=keys.len() {
                prop_assert_eq!(node.has_key_at(slot, probe), keys.get(slot) == Some(probe));
            }
        }
    }

    #[test]
    fn split_adopt_and_absorb_keep_every_record(
        node_bytes in node_bytes(),
        records in prop::collection::btree_map(key(), record(), 2..60),
        insert_at in prop_oneof![Just(0), Just(usize::MAX), Just(3)],
    ) {
        let high = [b'z'; 3];
        let records: Model = records.into_iter().filter(|(k, _)| k < &high.to_vec()).collect();
        let mut left = empty(0, node_bytes, b"", Some(&high));
        let kept = fill(&mut left, &records);
        let before = left;
        let slot = Node::new(&left[..]).split_slot(insert_at, Division::ByPattern);
        let Some(slot) = slot else { return Ok(()) };
        let separator = Node::new(&left[..]).key(slot);
        let mut image = Vec::new();
        prop_assert!(Node::new(&left[..]).upper_image_into(slot, &mut image));
        let image = Image::parse(&image).unwrap();
        prop_assert_eq!(image.low_fence(), &separator[..]);
        let right = image.to_page();
        prop_assert!(NodeMut::new(&mut left).truncate(slot, PageId(9), &separator));

        let (l, r) = (Node::new(&left[..]), Node::new(&right[..]));
        prop_assert_eq!((l.check(), r.check()), (Ok(()), Ok(())));
        prop_assert_eq!(l.foster_link(), Some((PageId(9), &separator[..])));
        prop_assert_eq!((r.low_fence(), r.high_fence()), (&separator[..], Some(&high[..])));
        for (key, value) in &kept {
            let there = if *key < separator { &left[..] } else { &right[..] };
            let there = contents(there);
            prop_assert_eq!(there.get(key), Some(value));
            let place = if *key < separator { Place::Here } else { Place::Foster(PageId(9)) };
            prop_assert_eq!(Node::new(&left[..]).place(key), place);
        }
        prop_assert_eq!(contents(&left[..]).len() + contents(&right[..]).len(), kept.len());

        // Back again, as a foster child.
        let mut again = left;
        prop_assert!(Node::new(&again[..]).used_absorbed(r, true).is_some());
        prop_assert!(NodeMut::new(&mut again).absorb(r, true));
        let mut expected = before;
        NodeMut::new(&mut expected).compact();
        prop_assert_eq!(&again[KIND..], &expected[KIND..], "absorb takes a split back exactly");

        // Back again after the adoption, when the prefixes have grown.
        prop_assert!(NodeMut::new(&mut left).drop_foster());
        prop_assert_eq!(Node::new(&left[..]).check(), Ok(()));
        prop_assert_eq!(Node::new(&left[..]).place(&separator), Place::Above);
        prop_assert!(NodeMut::new(&mut left).absorb(r, false));
        prop_assert_eq!(&left[KIND..], &expected[KIND..]);
    }

    #[test]
    fn reading_and_changing_nonsense_stays_in_the_page(
        noise in prop::collection::vec(any::<u8>(), PAGE_SIZE),
        header in prop::collection::vec(prop_oneof![Just(0u8), Just(3), Just(255)], SLOTS),
        use_header in any::<bool>(),
        key in key(),
    ) {
        let mut page: Page = noise.try_into().unwrap();
        page[KIND] = 2 + (page[KIND] & 1);
        if use_header {
            page[KIND + 1..SLOTS].copy_from_slice(&header[KIND + 1..]);
        }
        exercise(&mut page, &key);
    }

    #[test]
    fn reading_a_torn_mix_of_two_versions_stays_in_the_page(
        a in prop::collection::btree_map(key(), record(), 0..60),
        b in prop::collection::btree_map(key(), record(), 0..60),
        cuts in prop::collection::vec(0usize..PAGE_SIZE / 8, 1..12),
        key in key(),
    ) {
        let (mut first, mut second) = (empty(0, 512, b"", None), empty(1, 8192, b"a", Some(b"b")));
        fill(&mut first, &a);
        fill(&mut second, &b);
        for cut in cuts {
            first[cut * 8..].swap_with_slice(&mut second[cut * 8..]);
        }
        exercise(&mut first, &key);
        exercise(&mut second, &key);
    }

    #[test]
    fn limits_hold_four_records_and_three_fences(node_bytes in 256usize..=PAGE_SIZE) {
        let limits = Limits::of(node_bytes);
        let long = |byte| {
            let mut key = vec![byte; limits.key_len_max];
            key[0] = byte;
            key
        };
        let mut page = empty(0, node_bytes, b"", None);
        let mut node = NodeMut::new(&mut page);
        let value = vec![1; limits.record_len_max - limits.key_len_max];
        prop_assert!(limits.is_inline(limits.key_len_max, value.len()));
        prop_assert!(limits.is_inline(limits.key_len_max, 16), "an overflow reference fits");
        let record = NodeRecord { value: &value, ghost: false, overflow: false };
        for slot in 0..4 {
            prop_assert!(node.insert(slot, &long(2 + slot as u8), record));
        }
        let mut inner = empty(0, node_bytes, &long(1), Some(&long(9)));
        let mut node = NodeMut::new(&mut inner);
        for slot in 0..4 {
            prop_assert!(node.insert(slot, &long(2 + slot as u8), record));
        }
        let slot = node.read().split_slot(2, Division::ByPattern).unwrap();
        let separator = node.read().key(slot);
        prop_assert!(node.truncate(slot, PageId(5), &separator));
        prop_assert!(node.read().fits(limits.key_len_max, value.len()));
    }
}

/// Calls everything there is. Results mean nothing; that the calls return is the test.
fn exercise(page: &mut Page, key: &[u8]) {
    let node = Node::new(&page[..]);
    let mut out = Vec::new();
    for slot in [0, 1, node.count() / 2, node.count(), 1000, usize::MAX / 16] {
        node.key_into(slot, &mut out);
        let _ = (node.child(slot), node.value(slot), node.suffix(slot), node.is_ghost(slot));
        let _ = (node.compare_key(slot, key), node.fits_value(slot, 10));
        let _ = node.has_key_at(slot, key);
        let _ = node.upper_image_into(slot.min(5000), &mut out);
    }
    let _ = (node.place(key), node.child_for(key), node.check(), node.foster_link());
    let found = node.find(key).unwrap_or_else(|slot| slot);
    assert!(found <= node.count());
    node.low_fence_into(&mut out);
    node.high_fence_into(&mut out);
    node.end_into(&mut out);
    let _ = (
        node.free_bytes(),
        node.used_bytes(),
        node.fits(5, 5),
        node.split_slot(found, Division::ByPattern),
    );
    if node.image_into(&mut out) {
        let copy = Image::parse(&out).map(|image| image.to_page());
        let _ = copy.map(|copy| node.used_absorbed(Node::new(&copy[..]), true));
    }
    let count = node.count();
    for change in 0..12 {
        let mut page = *page;
        let mut node = NodeMut::new(&mut page);
        let slot = count / 2;
        match change {
            0 => drop(node.insert(slot, key, NodeRecord { value: key, ..NodeRecord::default() })),
            1 => drop(node.set_value(slot, &[1; 50])),
            2 => drop(node.set_value(slot, b"")),
            3 => drop(node.patch_value(slot, 3, b"abc")),
            4 => drop(node.remove(slot)),
            5 => node.compact(),
            6 => drop(node.truncate(slot, PageId(3), key)),
            7 => drop(node.drop_foster()),
            8 => drop(node.prune(slot, true)),
            9 => node.set_ghost(slot, true),
            10 => node.set_overflow(slot, true),
            _ => mark_freed(&mut page),
        }
    }
}

#[test]
fn merge_keeps_the_border_as_a_ghost_when_asked() {
    let mut left = empty(0, PAGE_SIZE, b"aa", Some(b"am"));
    let mut right = empty(0, PAGE_SIZE, b"am", Some(b"az"));
    NodeMut::new(&mut left).insert(0, b"ab", NodeRecord::default());
    NodeMut::new(&mut right).insert(0, b"ax", NodeRecord::default());
    let right = Node::new(&right[..]);
    let mut plain = left;
    assert!(NodeMut::new(&mut plain).absorb(right, false));
    assert!(NodeMut::new(&mut left).absorb(right, true));
    let keys = |page: &[u8]| contents(page).into_keys().collect::<Vec<_>>();
    assert_eq!(keys(&plain), [b"ab", b"ax"]);
    assert_eq!(keys(&left), [b"ab", b"am", b"ax"]);
    let node = Node::new(&left[..]);
    assert!(node.is_ghost(1) && node.ghost_count() == 1 && node.check() == Ok(()));
    assert_eq!((node.low_fence(), node.high_fence()), (&b"aa"[..], Some(&b"az"[..])));
}

#[test]
fn branch_routes_by_separator() {
    let mut page = empty(1, PAGE_SIZE, b"b", Some(b"x"));
    let mut node = NodeMut::new(&mut page);
    for (slot, (key, child)) in [(&b"b"[..], 10), (b"f", 11), (b"m", 12)].into_iter().enumerate() {
        assert!(node.insert_child(slot, key, PageId(child)));
    }
    let node = node.read();
    assert_eq!(node.check(), Ok(()));
    for (key, child) in [(&b"b"[..], 10), (b"ez", 10), (b"f", 11), (b"lzz", 11), (b"w", 12)] {
        assert_eq!(node.child_for(key).1, PageId(child));
    }
    assert_eq!(node.place(b"a"), Place::Below);
    assert_eq!(node.place(b"x"), Place::Above);
}

#[test]
fn a_key_is_recognised_by_prefix_and_suffix_of_every_length() {
    let prefix = b"0123456789abcdefghij";
    for (prefix_len, suffix_len) in (0..20).flat_map(|p| (1..20).map(move |s| (p, s))) {
        let low = &prefix[..prefix_len];
        let key: Vec<u8> = low.iter().copied().chain((0..suffix_len).map(|n| b'A' + n)).collect();
        let high: Vec<u8> = low.iter().copied().chain(*b"a").collect();
        let mut page = empty(0, PAGE_SIZE, low, Some(&high));
        let mut node = NodeMut::new(&mut page);
        assert!(node.insert(0, &key, NodeRecord { value: b"v", ghost: false, overflow: false }));
        let node = node.read();
        assert_eq!((node.prefix_len(), node.has_key_at(0, &key)), (prefix_len, true));
        assert!(!node.has_key_at(1, &key));
        assert!(!node.has_key_at(0, &key[..key.len() - 1]));
        for at in 0..key.len() {
            let mut other = key.clone();
            other[at] ^= 1;
            assert!(!node.has_key_at(0, &other), "{other:?} is not {key:?}");
        }
    }
}

#[test]
fn a_node_is_built_without_traces_of_the_one_before() {
    let record = NodeRecord { value: &[0xAA; 40], ghost: false, overflow: false };
    let (mut full, mut twice) = (empty(0, PAGE_SIZE, b"", None), [0xFF; PAGE_SIZE]);
    let mut node = NodeMut::new(&mut full);
    while node.insert(node.read().count(), &node.read().count().to_be_bytes(), record) {}
    node.compact();
    assert!(NodeMut::format(&mut twice, 0, TREE, PAGE_SIZE - 8, b"", None));
    let once = empty(0, PAGE_SIZE - 8, b"", None);
    assert_eq!(once[KIND..], twice[KIND..]);
    assert!(twice[SLOTS..].iter().all(|&byte| byte == 0));
}

#[test]
fn freed_node_is_recognised() {
    let mut page = empty(0, PAGE_SIZE, b"", None);
    mark_freed(&mut page);
    assert_eq!(Node::new(&page[..]).kind(), PageKind::Freed);
    assert_eq!(Node::new(&page[..]).child_for(b"k").1, PageId::NONE);
}
