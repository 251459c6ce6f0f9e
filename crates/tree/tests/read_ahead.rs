//! Cursors over leaves that are not in memory read many of them at a time, and none beyond their
//! range.

mod double;

use std::ops::Bound;

use clearway_tree::{Direction, Tree};
use double::{Database, Range, Records};

const NODE_BYTES: usize = 8192;
const KEYS: u32 = 20_000;

fn key(n: u32) -> Vec<u8> {
    format!("{n:08}").into_bytes()
}

/// A tree whose pages are all on disk and absent, with its number of leaves.
fn cold() -> (Database, Tree, u64) {
    let warm = Database::new();
    let tree = warm.tree(7, NODE_BYTES);
    let mut txn = warm.begin();
    (0..KEYS).for_each(|n| txn.insert(&tree, &key(n), &[7; 100]).unwrap());
    txn.commit(&tree);
    let report = tree.verify().unwrap();
    assert_eq!(report.height(), 2);
    warm.pool.clean_all().unwrap();
    let db = Database::on(warm.log.clone(), warm.disk.clone());
    let tree = db.open(&tree, NODE_BYTES);
    (db, tree, report.levels[0].pages)
}

fn scan(db: &Database, tree: &Tree, range: Range, direction: Direction) -> Records {
    db.begin().scan(tree, range, direction).unwrap()
}

#[test]
fn each_leaf_is_read_once_and_many_are_read_together() {
    for direction in [Direction::Ascending, Direction::Descending] {
        let (db, tree, leaves) = cold();
        let records = scan(&db, &tree, (Bound::Unbounded, Bound::Unbounded), direction);
        let mut keys: Vec<_> = records.into_iter().map(|(key, _)| key).collect();
        if direction == Direction::Descending {
            keys.reverse();
        }
        assert!(keys.into_iter().eq((0..KEYS).map(key)));
        let stats = db.pool.stats();
        assert_eq!(stats.reads, leaves + 1, "{direction:?}: the leaves and the root");
        assert!(stats.queued_reads * 4 < leaves, "{direction:?}: {stats:?}, {leaves} leaves");
    }
}

#[test]
fn leaves_beyond_the_range_are_not_read() {
    for direction in [Direction::Ascending, Direction::Descending] {
        let (db, tree, leaves) = cold();
        // About twenty leaves, in the middle: the needs of 1, 2, 4, 8 and 16 leaves go beyond.
        let range = (Bound::Included(key(10_000)), Bound::Excluded(key(11_300)));
        assert_eq!(scan(&db, &tree, range, direction).len(), 1_300);
        let reads = db.pool.stats().reads;
        let inside = leaves * 1_300 / u64::from(KEYS);
        assert!(reads <= inside + 3, "{direction:?}: {reads} reads, {leaves} leaves");
    }
}

#[test]
fn one_record_takes_one_leaf() {
    let (db, tree, _) = cold();
    let range = (Bound::Included(key(5_000)), Bound::Unbounded);
    let mut cursor =
        tree.cursor(range.0, range.1, Direction::Ascending, clearway_tree::ReadIntent::Read);
    let (found, _) = cursor.next(&tree, &mut db.begin()).unwrap().unwrap();
    assert_eq!(found, key(5_000));
    assert_eq!(db.pool.stats().reads, 2, "the root and the leaf");
}
