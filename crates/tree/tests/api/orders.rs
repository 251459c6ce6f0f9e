//! Keys in every order and of every length: nothing is refused, chains stay short, pages are full.

use clearway_base::PAGE_SIZE;
use clearway_testkit::Random;
use clearway_tree::{LeafHint, LevelReport, Tree};

use crate::double::Database;

/// Bytes of a node that fences, slots and records may use.
const CAPACITY: u64 = PAGE_SIZE as u64 - 56;

fn key(n: u64) -> Vec<u8> {
    n.to_be_bytes().to_vec()
}

/// Inserts records in transactions of a hundred.
fn load(db: &Database, tree: &Tree, records: impl Iterator<Item = (Vec<u8>, usize)>) {
    let mut records = records.peekable();
    while records.peek().is_some() {
        let mut txn = db.begin();
        let mut hint = LeafHint::default();
        for (key, len) in records.by_ref().take(100) {
            tree.insert(&mut txn, &mut hint, &key, &vec![7; len]).unwrap();
        }
        txn.commit(tree);
    }
}

/// Per cent of the level's bytes that are in use.
fn fill(level: &LevelReport) -> u64 {
    level.used_bytes * 100 / (level.pages * CAPACITY)
}

/// Loads `records`, checks that every row is found again, and returns the state of each level.
fn loaded(records: impl Iterator<Item = (Vec<u8>, usize)> + Clone) -> Vec<LevelReport> {
    let db = Database::new();
    let tree = db.tree(7, PAGE_SIZE);
    load(&db, &tree, records.clone());
    let report = db.verify_only(&tree);
    let mut txn = db.begin();
    let mut rows = 0;
    for (key, len) in records {
        assert_eq!(txn.get(&tree, &key).unwrap().map(|value| value.len()), Some(len), "{key:02x?}");
        rows += 1;
    }
    assert_eq!(report.records, rows);
    for level in &report.levels {
        assert!(level.foster_children <= 1 + level.pages / 50, "{:?}", report.levels);
    }
    report.levels
}

/// The orders of distinct numbers, by name.
fn orders(count: u64) -> Vec<(&'static str, Vec<u64>)> {
    let mut shuffled: Vec<u64> = (0..count).collect();
    Random::new(5).shuffle(&mut shuffled);
    let sequences = |falling: bool, sequences: u64| -> Vec<u64> {
        let each = count / sequences;
        let place = move |n: u64| if falling { each - 1 - n } else { n };
        (0..each).flat_map(|n| (0..sequences).map(move |s| s * each + place(n))).collect()
    };
    let in_front = |rows: u64| (count - rows..count).chain(0..count - rows).collect();
    let behind = |rows: u64| (0..rows).chain((rows..count).rev()).collect();
    vec![
        ("ascending", (0..count).collect()),
        ("descending", (0..count).rev().collect()),
        ("eight rising", sequences(false, 8)),
        ("eight falling", sequences(true, 8)),
        ("in front of 10", in_front(10)),
        ("in front of 20", in_front(20)),
        ("in front of 30", in_front(30)),
        ("behind 10", behind(10)),
        ("behind 30", behind(30)),
        ("inwards", (0..count / 2).flat_map(|n| [n, count - 1 - n]).collect()),
        ("outwards", (0..count / 2).rev().flat_map(|n| [n, count - 1 - n]).collect()),
        ("random", shuffled),
    ]
}

#[test]
fn pages_are_full_after_a_load_in_any_order() {
    for value_len in [30, 250] {
        let mut poor = Vec::new();
        for (name, numbers) in orders(12_000) {
            let levels = loaded(numbers.into_iter().map(|n| (key(n), value_len)));
            let least = if matches!(name, "random" | "inwards") { 60 } else { 75 };
            let full = levels.iter().filter(|level| level.pages >= 100).map(fill);
            if full.clone().any(|fill| fill < least) {
                poor.push((name, full.collect::<Vec<_>>()));
            }
        }
        assert!(poor.is_empty(), "values of {value_len} bytes: {poor:?}");
    }
}

#[test]
fn branches_are_full_after_a_load_in_any_order() {
    // Few large keys: a branch has about ten children.
    let mut poor = Vec::new();
    for (name, numbers) in orders(6_000) {
        let long = |n: u64| [key(n), vec![b'.'; 700]].concat();
        let levels = loaded(numbers.into_iter().map(|n| (long(n), 10)));
        let fills: Vec<_> = levels.iter().map(|level| (level.pages, fill(level))).collect();
        // Fences take up to a third, and half a record is lost in each node.
        if levels.iter().any(|level| level.pages >= 100 && fill(level) < 60) {
            poor.push((name, fills));
        }
    }
    assert!(poor.is_empty(), "{poor:?}");
}

#[test]
fn no_mixture_of_lengths_is_refused_in_any_order() {
    let all_longest = |_| 1024;
    let some_longest = |n: u64| if n.is_multiple_of(16) { 1024 } else { 12 };
    let alternating = |n: u64| if n.is_multiple_of(2) { 1024 } else { 8 };
    let any = |n: u64| 20 + (n * 7919 % 281) as usize;
    let lens: [fn(u64) -> usize; 4] = [all_longest, some_longest, alternating, any];
    for len in lens {
        for (_, numbers) in orders(1_200) {
            let long = move |n: u64| {
                let mut key = key(n);
                key.resize(len(n).max(8), (n % 5) as u8);
                key
            };
            loaded(numbers.into_iter().map(|n| (long(n), (n % 7) as usize * 30)));
        }
    }
}

#[test]
fn upper_half_that_would_not_fit_is_not_made() {
    let db = Database::new();
    let tree = db.tree(7, PAGE_SIZE);
    let long = (b'b'..=b'g').map(|letter| (vec![letter; 1024], 200));
    let records = [(b"a".to_vec(), 200)].into_iter().chain(long).chain([(b"A".to_vec(), 1000)]);
    load(&db, &tree, records);
    assert_eq!(db.verify_only(&tree).records, 8);
}

#[test]
fn undo_finds_room_where_the_upper_half_would_not_fit() {
    let db = Database::new();
    let tree = db.tree(7, PAGE_SIZE);
    load(&db, &tree, [(b"A".to_vec(), 1000), (b"a".to_vec(), 200)].into_iter());
    load(&db, &tree, (b'b'..=b'f').map(|letter| (vec![letter; 1024], 200)));
    let mut first = db.begin();
    tree.update(&mut first, &mut LeafHint::default(), b"A", b"").unwrap();
    load(&db, &tree, [(vec![b'g'; 1024], 200)].into_iter());
    first.rollback(&tree);
    let report = db.verify_only(&tree);
    assert_eq!((report.records, report.levels.len()), (8, 2));
    assert_eq!(db.begin().get(&tree, b"A").unwrap().map(|value| value.len()), Some(1000));
}

#[test]
fn emptied_tree_comes_back_to_few_pages() {
    let db = Database::new();
    let tree = db.tree(7, PAGE_SIZE);
    for cycle in 0..3u64 {
        // A window of the longest keys slides on, and is empty after each cycle.
        let long = |n: u64| [key(cycle * 2_000 + n), vec![b'.'; 1016]].concat();
        load(&db, &tree, (0..500).map(|n| (long(n), 0)));
        for batch in (0..500).collect::<Vec<u64>>().chunks(100) {
            let mut txn = db.begin();
            batch.iter().for_each(|&n| txn.delete(&tree, &long(n)).unwrap());
            txn.commit(&tree);
        }
        let report = db.verify_only(&tree);
        assert_eq!((report.records, report.ghosts), (0, 0));
        assert!(report.pages.len() <= 8, "cycle {cycle}: {:?}", report.levels);
    }
}

#[test]
fn values_that_shrink_give_their_pages_back() {
    let db = Database::new();
    let tree = db.tree(7, PAGE_SIZE);
    load(&db, &tree, (0..2_000).map(|n| (key(n), 1000)));
    let before = db.verify_only(&tree).pages.len();
    for batch in (0..2_000).collect::<Vec<u64>>().chunks(100) {
        let mut txn = db.begin();
        let mut hint = LeafHint::default();
        for &n in batch {
            tree.update(&mut txn, &mut hint, &key(n), &[1; 10]).unwrap();
        }
        txn.commit(&tree);
    }
    let after = db.verify_only(&tree).pages.len();
    assert!(after * 8 < before, "{after} of {before} pages");
}
