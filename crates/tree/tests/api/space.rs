//! Pages: reused after deletion, freed by destruction, whatever crashes in between.

use std::ops::Bound::Unbounded;

use clearway_base::Error;
use clearway_testkit::Random;
use clearway_tree::{Direction, Goal, LeafHint, Tree};

use crate::double::Database;

fn key(n: u64) -> Vec<u8> {
    n.to_be_bytes().to_vec()
}

/// Inserts `keys` in transactions of a hundred records.
fn insert_all(db: &Database, tree: &Tree, keys: impl Iterator<Item = u64>) {
    let keys: Vec<u64> = keys.collect();
    for batch in keys.chunks(100) {
        let mut txn = db.begin();
        let mut hint = LeafHint::default();
        for &n in batch {
            tree.insert(&mut txn, &mut hint, &key(n), &[n as u8; 20]).unwrap();
        }
        txn.commit(tree);
    }
}

fn delete_all(db: &Database, tree: &Tree, keys: impl Iterator<Item = u64>) {
    let mut txn = db.begin();
    for n in keys {
        txn.delete(tree, &key(n)).unwrap();
    }
    txn.commit(tree);
}

#[test]
fn space_is_reused_after_mass_deletion() {
    let db = Database::new();
    let tree = db.tree(7, 1024);
    insert_all(&db, &tree, 0..5_000);
    let full = db.verify_only(&tree).pages.len();
    let file = db.pool.page_count();
    for round in 1..4 {
        delete_all(&db, &tree, (round - 1) * 10_000..(round - 1) * 10_000 + 5_000);
        let report = db.verify_only(&tree);
        assert_eq!(report.records, 0);
        assert!(report.pages.len() * 20 < full, "{} of {full} pages", report.pages.len());
        // Other keys: pages have to be freed to be of use to them.
        insert_all(&db, &tree, round * 10_000..round * 10_000 + 5_000);
        let report = db.verify_only(&tree);
        assert_eq!(report.records, 5_000);
        assert!(report.pages.len() <= full + full / 10, "{} of {full}", report.pages.len());
    }
    assert_eq!(db.pool.page_count(), file, "the file has not grown");
}

#[test]
fn ascending_insertion_fills_pages() {
    // Full to fifteen sixteenths when split; then the prefix of the new fences saves some bytes.
    let db = Database::new();
    let tree = db.tree(7, 4096);
    insert_all(&db, &tree, 0..10_000);
    let leaves = db.verify_only(&tree).levels[0];
    assert!(leaves.used_bytes * 10 > leaves.pages * 4096 * 7, "{leaves:?}");
}

#[test]
fn foster_chains_stay_short() {
    let db = Database::new();
    let tree = db.tree(7, 512);
    let mut random = Random::new(5);
    let keys: std::collections::BTreeSet<u64> = (0..5_000).map(|_| random.below(1 << 40)).collect();
    let mut shuffled: Vec<u64> = keys.into_iter().collect();
    random.shuffle(&mut shuffled);
    insert_all(&db, &tree, shuffled.into_iter());
    let report = db.verify_only(&tree);
    assert!(report.levels.len() >= 3);
    for level in &report.levels {
        assert!(level.foster_children * 3 <= level.pages, "{report:?}");
    }
}

/// The code of an adoption's record.
const ADOPT: u8 = 37;

/// Returns a database with a tree in which one leaf begins a chain of more than forty foster
/// children, of which upkeep does not know.
fn chain_of_leaves() -> (Database, Tree) {
    let db = Database::new();
    let tree = db.tree(7, 256);
    let mut txn = db.begin();
    txn.refused_system = Some(ADOPT);
    txn.leaves_upkeep = true;
    (100..700).rev().for_each(|n| txn.insert(&tree, &key(n), b"value").unwrap());
    txn.commit(&tree);
    let longest = db.verify_only(&tree).chain_max();
    assert!(longest > 40, "{longest}");
    (db, tree)
}

/// Visits the reported keys, and those that the visits report, until none is left; then no leaf may
/// be left in a chain.
fn check_all_are_reported(db: &Database, tree: &Tree, reported: Vec<Vec<u8>>, what: &str) {
    let mut txn = db.begin();
    txn.sparse = reported;
    for _ in 0..100 {
        txn.visit_reported(tree);
    }
    assert_eq!(txn.sparse, [[0; 0]; 0], "{what}: reported again and again");
    let longest = db.verify_only(tree).chain_max();
    assert_eq!(longest, 0, "{what}: foster children that nothing leads upkeep to");
}

/// An adoption takes the front of a chain away: a descent to a key before it no longer meets the
/// rest. So a writer that adopts a part of a chain reports the rest under a key of its own.
#[test]
fn rest_of_a_chain_is_reported_wherever_a_writer_stops() {
    let mut partly = 0;
    for accepted in 0..45 {
        let (db, tree) = chain_of_leaves();
        let mut txn = db.begin();
        txn.leaves_upkeep = true;
        (txn.refused_system, txn.accepted_first) = (Some(ADOPT), accepted);
        // Has no room: the leaf is split, and the chain behind it adopted.
        txn.insert(&tree, &key(99), &[7; 80]).unwrap();
        let is_left = db.verify_only(&tree).chain_max() > 0;
        partly += u32::from(is_left && db.log.count_of(ADOPT) > 0);
        let reported = std::mem::take(&mut txn.sparse);
        txn.commit(&tree);
        check_all_are_reported(&db, &tree, reported, &format!("{accepted} adoptions"));
    }
    assert!(partly > 20, "only {partly} writers stopped within the chain");
}

/// The code of a split's record.
const SPLIT: u8 = 36;

/// An insertion that has split its leaf may be dropped while it waits for log space or a page, and
/// before it has had the new leaf adopted.
#[test]
fn rest_of_a_chain_is_reported_by_an_insertion_that_is_dropped() {
    let mut dropped = 0;
    for seed in 0..50 {
        let db = Database::new();
        let tree = db.tree(7, 256);
        insert_all(&db, &tree, (0..100).map(|n| 10 * n));
        let before = db.verify_only(&tree).chain_max();
        let mut txn = db.begin();
        txn.leaves_upkeep = true;
        txn.denials = Some(Random::new(seed));
        let splits = db.log.count_of(SPLIT);
        let mut hint = LeafHint::default();
        for n in 1..10 {
            let key = key(10 * (seed % 90) + n);
            let mut insert = tree.store_operation(&key, &[7; 20], Goal::Insert).unwrap();
            while tree.step(&mut insert, &mut txn, &mut hint).is_err() {
                if db.log.count_of(SPLIT) > splits {
                    break;
                }
            }
            if db.log.count_of(SPLIT) > splits {
                break;
            }
        }
        txn.denials = None;
        let left = db.verify_only(&tree).chain_max();
        dropped += u32::from((before, left) == (0, 1));
        let reported = std::mem::take(&mut txn.sparse);
        txn.commit(&tree);
        check_all_are_reported(&db, &tree, reported, &format!("seed {seed}"));
    }
    assert!(dropped > 5, "only {dropped} insertions were dropped before the adoption");
}

#[test]
fn rest_of_a_chain_is_reported_wherever_upkeep_stops() {
    let mut stopped = 0;
    for accepted in 0..45 {
        let (db, tree) = chain_of_leaves();
        let mut txn = db.begin();
        txn.leaves_upkeep = true;
        (txn.refused_system, txn.accepted_first) = (Some(ADOPT), accepted);
        let visited = tree.maintain(&mut txn, &key(100));
        stopped += u32::from(visited.is_err());
        // What fails is visited again.
        let mut reported = std::mem::take(&mut txn.sparse);
        visited.is_err().then(|| reported.push(key(100)));
        drop(txn);
        check_all_are_reported(&db, &tree, reported, &format!("{accepted} adoptions"));
    }
    assert!(stopped > 20, "only {stopped} visits failed");
}

#[test]
fn destruction_goes_on_after_a_crash_at_any_record() {
    let db = Database::new();
    let tree = db.tree(7, 256);
    let mut txn = db.begin();
    let mut hint = LeafHint::default();
    for n in 0..60 {
        let value = vec![n as u8; if n % 20 == 0 { 30_000 } else { 20 }];
        tree.put(&mut txn, &mut hint, &key(n * 7 % 60), &value).unwrap();
    }
    txn.commit(&tree);
    let before = db.log.len();
    tree.destroy(&mut db.begin()).unwrap();
    assert_eq!(db.space.allocated_count().unwrap(), 1);
    for records in before..=db.log.len() {
        let again = db.replayed(records);
        let tree = again.open(&tree, 256);
        for _ in 0..2 {
            tree.destroy(&mut again.begin()).unwrap();
            assert_eq!(again.space.allocated_count().unwrap(), 1);
        }
    }
}

#[test]
fn undo_finds_room_that_others_have_taken() {
    let db = Database::new();
    let tree = db.tree(7, 512);
    let mut one = db.begin();
    for n in [1, 2, 3] {
        one.insert(&tree, &key(n * 100), &[7; 80]).unwrap();
    }
    one.commit(&tree);
    let mut one = db.begin();
    let mut hint = LeafHint::default();
    for n in [1, 2, 3] {
        tree.update(&mut one, &mut hint, &key(n * 100), b"").unwrap();
    }
    insert_all(&db, &tree, 101..110);
    one.rollback(&tree);
    let all = db.begin().scan(&tree, (Unbounded, Unbounded), Direction::Ascending).unwrap();
    assert_eq!(all.len(), 12);
    assert_eq!(all.iter().filter(|(_, value)| value[..] == [7; 80]).count(), 3);
    db.verify_only(&tree);
}

#[test]
fn large_values_come_and_go() {
    let db = Database::new();
    let tree = db.tree(7, 8192);
    let large = |n: u8| vec![n; 100_000];
    let mut one = db.begin();
    one.insert(&tree, b"k", &large(1)).unwrap();
    assert_eq!(one.get(&tree, b"k").unwrap(), Some(large(1)));
    one.commit(&tree);
    let pages = db.verify_only(&tree).pages.len();
    // Replaced and rolled back: the old chain is still there, the new one is freed.
    let mut two = db.begin();
    tree.put(&mut two, &mut LeafHint::default(), b"k", &large(2)).unwrap();
    two.rollback(&tree);
    assert_eq!(db.verify_only(&tree).pages.len(), pages);
    assert_eq!(db.begin().get(&tree, b"k").unwrap(), Some(large(1)));
    // Refused: no chain is left behind.
    let mut three = db.begin();
    assert!(matches!(three.insert(&tree, b"k", &large(3)), Err(Error::DuplicateKey { .. })));
    three.commit(&tree);
    assert_eq!(db.verify_only(&tree).pages.len(), pages);
    let mut four = db.begin();
    four.delete(&tree, b"k").unwrap();
    four.commit(&tree);
    assert_eq!(db.verify_only(&tree).pages.len(), 1);
}

#[test]
fn keys_and_values_that_are_too_large_are_refused() {
    let db = Database::new();
    let tree = db.tree(7, 8192);
    let mut txn = db.begin();
    let refused = txn.insert(&tree, &[0; 1025], b"");
    assert!(matches!(refused, Err(Error::KeyTooLarge { len: 1025, max: 1024 })));
    let refused = txn.insert(&tree, b"k", &vec![0; (16 << 20) + 1]);
    assert!(matches!(refused, Err(Error::ValueTooLarge { .. })));
    assert_eq!(txn.undo.len(), 0);
    // The longest of both go in, and out.
    for n in 0..8 {
        txn.insert(&tree, &[n; 1024], &[n; 200]).unwrap();
        txn.insert(&tree, &[n + 100; 1024], &[n; 2000]).unwrap();
    }
    let all = txn.scan(&tree, (Unbounded, Unbounded), Direction::Descending).unwrap();
    assert_eq!(all.len(), 16);
    txn.rollback(&tree);
    assert_eq!(db.verify_only(&tree).records, 0);
}
