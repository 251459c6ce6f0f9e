//! The locks that operations request: they prevent phantoms, at page borders above all.

use std::ops::Bound::{self, Excluded, Included, Unbounded};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use clearway_base::{Error, TreeId};
use clearway_lock::{LockId, Outcome, RangeMode as M, WaitLimit};
use clearway_testkit::Random;
use clearway_tree::{Direction, LeafHint, Locks, ReadIntent, Tree};

use crate::double::{Database, Txn, would_block};

const TREE: u32 = 7;

fn id(key: &[u8]) -> LockId {
    LockId::of(TreeId(TREE), key)
}

/// A tree of one leaf with the records `b`, `d`, `f`.
fn small() -> (Database, Tree) {
    let db = Database::new();
    let tree = db.tree(TREE, 8192);
    let mut txn = db.begin();
    for key in [b"b", b"d", b"f"] {
        txn.insert(&tree, key, b"value").unwrap();
    }
    txn.commit(&tree);
    (db, tree)
}

fn no_wait(db: &Database) -> Txn {
    let mut txn = db.begin();
    txn.limit = WaitLimit::NoWait;
    txn.leaves_upkeep = true;
    txn
}

fn asked(txn: &Txn) -> Vec<(char, M)> {
    let name = |lock: LockId| match "abcdefg".chars().find(|c| id(&[*c as u8]) == lock) {
        Some(key) => key,
        None if lock == id(b"") => '-',
        None => '?',
    };
    txn.asked.iter().map(|&(lock, mode)| (name(lock), mode)).collect()
}

fn scanned(
    lower: Bound<&[u8]>,
    upper: Bound<&[u8]>,
    direction: Direction,
) -> (String, Vec<(char, M)>) {
    let (db, tree) = small();
    let mut txn = no_wait(&db);
    let range = (lower.map(<[u8]>::to_vec), upper.map(<[u8]>::to_vec));
    let found = txn.scan(&tree, range, direction).unwrap();
    let keys = found.iter().map(|(key, _)| key[0] as char).collect();
    (keys, asked(&txn))
}

#[test]
fn ascending_cursors_take_the_modes_of_table_3() {
    use Direction::Ascending as Up;
    let s = |keys: &str, locks: &[(char, M)]| (keys.to_owned(), locks.to_vec());
    // Exact start, included: key and gap. Included end: key only.
    assert_eq!(scanned(Included(b"b"), Included(b"d"), Up), s("bd", &[('b', M::SS), ('d', M::SN)]));
    assert_eq!(scanned(Included(b"b"), Included(b"b"), Up), s("b", &[('b', M::SN)]));
    // Exact start, excluded: gap only. End past the last record returned: nothing more.
    assert_eq!(scanned(Excluded(b"b"), Excluded(b"f"), Up), s("d", &[('b', M::NS), ('d', M::SS)]));
    // Absent start: the gap before it.
    assert_eq!(scanned(Included(b"c"), Included(b"e"), Up), s("d", &[('b', M::NS), ('d', M::SS)]));
    // Absent start below the first record: the low fence's gap.
    assert_eq!(scanned(Excluded(b"a"), Excluded(b"b"), Up), s("", &[('-', M::NS)]));
    // Everything: the low fence is minus infinity, the last gap reaches plus infinity.
    let all = [('-', M::SS), ('b', M::SS), ('d', M::SS), ('f', M::SS)];
    assert_eq!(scanned(Unbounded, Unbounded, Up), s("bdf", &all));
}

#[test]
fn descending_cursors_take_the_modes_of_table_3() {
    use Direction::Descending as Down;
    let s = |keys: &str, locks: &[(char, M)]| (keys.to_owned(), locks.to_vec());
    // Exact start, included: key only; the next has key and gap.
    assert_eq!(
        scanned(Included(b"b"), Included(b"d"), Down),
        s("db", &[('d', M::SN), ('b', M::SS)])
    );
    // Exact start, excluded: nothing. Past the end: the gap that reaches into the range.
    assert_eq!(
        scanned(Excluded(b"b"), Excluded(b"f"), Down),
        s("d", &[('d', M::SS), ('b', M::NS)])
    );
    // Absent start: key and gap of the record before.
    assert_eq!(
        scanned(Included(b"c"), Included(b"e"), Down),
        s("d", &[('d', M::SS), ('b', M::NS)])
    );
    // One absent key.
    assert_eq!(scanned(Included(b"c"), Included(b"c"), Down), s("", &[('b', M::NS)]));
    assert_eq!(scanned(Included(b"a"), Included(b"a"), Down), s("", &[('-', M::NS)]));
    let all = [('f', M::SS), ('d', M::SS), ('b', M::SS), ('-', M::SS)];
    assert_eq!(scanned(Unbounded, Unbounded, Down), s("fdb", &all));
}

#[test]
fn empty_ranges_lock_nothing() {
    for direction in [Direction::Ascending, Direction::Descending] {
        assert_eq!(scanned(Included(b"d"), Excluded(b"d"), direction), (String::new(), vec![]));
        assert_eq!(scanned(Included(b"e"), Included(b"c"), direction), (String::new(), vec![]));
    }
}

#[test]
fn point_operations_take_the_modes_of_algorithms_1_and_2() {
    let (db, tree) = small();
    let mut hint = LeafHint::default();
    let mut locks = |work: &mut dyn FnMut(&mut Txn, &mut LeafHint)| {
        let mut txn = no_wait(&db);
        work(&mut txn, &mut hint);
        let asked = asked(&txn);
        txn.rollback(&tree);
        asked
    };
    let out = &mut Vec::new();
    let mut get = |key: &'static [u8], intent| {
        locks(&mut |txn, hint| {
            tree.get(txn, hint, key, intent, out).unwrap();
        })
    };
    assert_eq!(get(b"b", ReadIntent::Read), [('b', M::SN)]);
    assert_eq!(get(b"c", ReadIntent::Read), [('b', M::NS)]);
    assert_eq!(get(b"a", ReadIntent::Read), [('-', M::NS)]);
    assert_eq!(get(b"b", ReadIntent::Update), [('b', M::XN)]);
    assert_eq!(get(b"c", ReadIntent::Update), [('b', M::NX)]);
    let insert = locks(&mut |txn, _| txn.insert(&tree, b"c", b"").unwrap());
    assert_eq!(insert, [('b', M::NX), ('c', M::XN)]);
    // Rolled back, it stayed as a ghost: no gap is touched any more.
    assert_eq!(locks(&mut |txn, _| txn.insert(&tree, b"c", b"").unwrap()), [('c', M::XN)]);
    let delete = locks(&mut |txn, _| txn.delete(&tree, b"d").unwrap());
    assert_eq!(delete, [('d', M::XN)]);
    let missing = locks(&mut |txn, _| {
        assert!(matches!(txn.delete(&tree, b"e"), Err(Error::NotFound { .. })));
    });
    assert_eq!(missing, [('d', M::NS)]);
    let duplicate = locks(&mut |txn, _| {
        assert!(matches!(txn.insert(&tree, b"d", b""), Err(Error::DuplicateKey { .. })));
    });
    assert_eq!(duplicate, [('d', M::XN)]);
}

#[test]
fn update_read_of_an_absent_key_lets_only_its_reader_insert() {
    let (db, tree) = small();
    let (mut one, mut two) = (no_wait(&db), no_wait(&db));
    let (mut hint, mut out) = (LeafHint::default(), Vec::new());
    assert!(!tree.get(&mut one, &mut hint, b"c", ReadIntent::Update, &mut out).unwrap());
    let second = tree.get(&mut two, &mut hint, b"c", ReadIntent::Update, &mut out);
    assert!(would_block(second));
    assert!(would_block(two.insert(&tree, b"c", b"")));
    one.insert(&tree, b"c", b"1").unwrap();
    one.commit(&tree);
    assert!(matches!(two.insert(&tree, b"c", b""), Err(Error::DuplicateKey { .. })));
}

#[test]
fn insert_into_a_gap_of_ones_own_leaves_both_halves_locked() {
    let (db, tree) = small();
    let (mut one, mut two) = (no_wait(&db), no_wait(&db));
    one.scan(&tree, (Unbounded, Unbounded), Direction::Ascending).unwrap();
    one.insert(&tree, b"c", b"").unwrap();
    for key in [&b"bb"[..], b"cc", b"dd", b"g"] {
        assert!(would_block(two.insert(&tree, key, b"")), "{key:?}");
    }
}

#[test]
fn insert_into_locked_gap_waits_and_keeps_no_more_than_its_key() {
    let (db, tree) = small();
    let mut reader = db.begin();
    assert_eq!(reader.get(&tree, b"c").unwrap(), None);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut txn = db.begin();
            txn.insert(&tree, b"c", b"1").unwrap();
            assert_eq!(txn.owner.held(), 1);
            txn.commit(&tree);
        });
        std::thread::sleep(std::time::Duration::from_millis(30));
        assert!(!writer.is_finished());
        // Meanwhile a nearer neighbour appears: the gap that was waited for is not asked for again.
        reader.insert(&tree, b"bb", b"").unwrap();
        reader.commit(&tree);
    });
    assert_eq!(db.begin().get(&tree, b"c").unwrap().as_deref(), Some(&b"1"[..]));
}

/// Keys 00, 02, … 98 in leaves of a few keys; every third is deleted again, and its ghost
/// reclaimed, so that some fences are no records.
fn bordered() -> (Database, Tree) {
    let db = Database::new();
    let tree = db.tree(TREE, 256);
    let mut txn = db.begin();
    for n in (0..100).step_by(2) {
        txn.insert(&tree, &key(n), b"0123456789012345678901").unwrap();
    }
    txn.commit(&tree);
    let mut txn = db.begin();
    for n in (0..100).step_by(6) {
        txn.delete(&tree, &key(n)).unwrap();
    }
    txn.commit(&tree);
    upkeep(&db, &tree);
    let report = tree.verify().unwrap();
    assert!(report.levels[0].pages > 7 && report.ghosts == 0, "{report:?}");
    (db, tree)
}

fn key(n: u64) -> Vec<u8> {
    format!("{n:02}").into_bytes()
}

fn upkeep(db: &Database, tree: &Tree) {
    for n in 0..100 {
        tree.maintain(&mut db.begin(), &key(n)).unwrap();
    }
}

fn is_inside(n: u64, range: &crate::double::Range) -> bool {
    use std::ops::RangeBounds;
    (range.0.as_ref().map(Vec::as_slice), range.1.as_ref().map(Vec::as_slice)).contains(&key(n)[..])
}

/// Whether `two` can put or remove the key, in any way.
fn can_change(db: &Database, tree: &Tree, n: u64) -> bool {
    let mut two = no_wait(db);
    let could = !would_block(tree.put(&mut two, &mut LeafHint::default(), &key(n), b"x"));
    two.rollback(tree);
    could
}

#[test]
fn scanned_range_keeps_phantoms_out_whatever_the_pages_do() {
    let (db, tree) = bordered();
    let mut random = Random::new(4711);
    for round in 0..60 {
        let mut bound = || match random.below(5) {
            0 => Unbounded,
            1 | 2 => Included(key(random.below(100))),
            _ => Excluded(key(random.below(100))),
        };
        let range = (bound(), bound());
        let direction = if round % 2 == 0 { Direction::Ascending } else { Direction::Descending };
        let mut one = no_wait(&db);
        let before = one.scan(&tree, range.clone(), direction).unwrap();
        if round % 3 == 0 {
            // Others split, merge, adopt and reclaim all around.
            upkeep(&db, &tree);
        }
        let inside: Vec<u64> = (0..100).filter(|&n| is_inside(n, &range)).collect();
        for n in 0..100 {
            if can_change(&db, &tree, n) {
                assert!(!inside.contains(&n), "{n} in {range:?}, {direction:?}");
            } else if let (Some(first), Some(last)) = (inside.first(), inside.last()) {
                // Not more than the neighbours of the range: records are 2 apart, or 4.
                assert!(n + 6 > *first && n < last + 6, "{n} not in {range:?}, {direction:?}");
            } else {
                assert!(range.0 != Unbounded, "nothing in {range:?}");
            }
        }
        assert_eq!(one.scan(&tree, range, direction).unwrap(), before);
        one.commit(&tree);
    }
}

#[test]
fn absent_key_stays_absent_at_every_border() {
    let (db, tree) = bordered();
    for n in 0..100 {
        let mut one = no_wait(&db);
        let found = one.get(&tree, &key(n)).unwrap();
        assert_eq!(found.is_some(), n % 2 == 0 && n % 6 != 0);
        assert!(!can_change(&db, &tree, n), "{n}");
        upkeep(&db, &tree);
        assert!(!can_change(&db, &tree, n), "{n} after upkeep");
        assert_eq!(one.get(&tree, &key(n)).unwrap(), found);
        one.commit(&tree);
    }
}

#[test]
fn merge_keeps_a_fence_that_is_locked() {
    for n in 0..100 {
        let (db, tree) = bordered();
        let mut reader = no_wait(&db);
        let found = reader.get(&tree, &key(n)).unwrap();
        // Everything else goes, and the leaves with it, as far as they can.
        let mut deleter = no_wait(&db);
        for other in (0..100).filter(|&other| other != n) {
            match deleter.delete(&tree, &key(other)) {
                Ok(()) | Err(Error::NotFound { .. } | Error::WouldBlock { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        deleter.commit(&tree);
        upkeep(&db, &tree);
        assert!(tree.verify().unwrap().pages.len() <= 3);
        assert!(!can_change(&db, &tree, n), "{n}");
        assert_eq!(reader.get(&tree, &key(n)).unwrap(), found);
        reader.commit(&tree);
        upkeep(&db, &tree);
        assert!(can_change(&db, &tree, n));
    }
}

#[test]
fn ghost_stays_while_its_lock_is_held() {
    let (db, tree) = small();
    let mut deleter = no_wait(&db);
    deleter.delete(&tree, b"d").unwrap();
    tree.maintain(&mut db.begin(), b"d").unwrap();
    assert_eq!(tree.verify().unwrap().ghosts, 1);
    deleter.rollback(&tree);
    assert_eq!(db.begin().get(&tree, b"d").unwrap().as_deref(), Some(&b"value"[..]));
    let mut deleter = no_wait(&db);
    deleter.delete(&tree, b"d").unwrap();
    deleter.commit(&tree);
    // A reader that found it absent holds it now.
    let mut reader = no_wait(&db);
    assert_eq!(reader.get(&tree, b"d").unwrap(), None);
    tree.maintain(&mut db.begin(), b"d").unwrap();
    assert_eq!(tree.verify().unwrap().ghosts, 1);
    reader.commit(&tree);
    tree.maintain(&mut db.begin(), b"d").unwrap();
    assert_eq!(tree.verify().unwrap().ghosts, 0);
}

#[test]
fn cursors_report_leaves_of_ghosts_once_and_upkeep_sees_what_is_left() {
    let (db, tree) = small();
    let mut deleter = no_wait(&db);
    deleter.delete(&tree, b"b").unwrap();
    assert_eq!(deleter.sparse, [b""], "the leaf's first ghost");
    deleter.commit(&tree);
    let range = || (Unbounded, Unbounded);
    for skips in [false, true] {
        for direction in [Direction::Ascending, Direction::Descending] {
            let mut reader = no_wait(&db);
            let mut cursor = tree.cursor(Unbounded, Unbounded, direction, ReadIntent::Read);
            if skips {
                cursor.skip_locked();
            }
            while cursor.next(&tree, &mut reader).unwrap().is_some() {}
            assert!(reader.sparse.is_empty(), "a third are ghosts");
            reader.commit(&tree);
        }
    }
    let mut deleter = no_wait(&db);
    deleter.delete(&tree, b"d").unwrap();
    deleter.commit(&tree);
    for direction in [Direction::Ascending, Direction::Descending] {
        let mut reader = no_wait(&db);
        assert_eq!(reader.scan(&tree, range(), direction).unwrap().len(), 1);
        assert_eq!(reader.sparse, [b""]);
        let (mut end, key) = (vec![1], b"".as_slice());
        tree.maintain(&mut db.begin(), key).unwrap();
        let survey = tree.survey(key, &mut end).unwrap();
        assert!(survey.ghosts == 2 && survey.is_last && end.is_empty(), "{survey:?}");
        reader.commit(&tree);
    }
    tree.maintain(&mut db.begin(), b"").unwrap();
    assert_eq!(tree.survey(b"", &mut Vec::new()).unwrap().ghosts, 0);
}

/// The check is worth nothing unless the leaf stays latched until the ghost is removed.
#[test]
fn no_transaction_locks_a_ghost_between_the_check_and_its_removal() {
    let (db, tree) = small();
    let mut deleter = no_wait(&db);
    deleter.delete(&tree, b"d").unwrap();
    deleter.commit(&tree);
    let (db, tree) = (Arc::new(db), Arc::new(tree));
    let (results, received) = mpsc::channel();
    let read = {
        let (db, tree) = (db.clone(), tree.clone());
        move || {
            let found = db.begin().get(&tree, b"d");
            results.send(found.unwrap().is_some()).unwrap();
        }
    };
    let got_in = Arc::new(AtomicBool::new(false));
    let mut reclaimer = db.begin();
    reclaimer.after_ghost_is_free = Some(Box::new({
        let (got_in, received) = (got_in.clone(), Mutex::new(received));
        move || {
            thread::spawn(read.clone());
            let result = received.lock().unwrap().recv_timeout(Duration::from_millis(50));
            got_in.fetch_or(result.is_ok(), Ordering::SeqCst);
        }
    }));
    tree.maintain(&mut reclaimer, b"d").unwrap();
    assert!(!got_in.load(Ordering::SeqCst), "a reader came in between");
    assert_eq!(tree.verify().unwrap().ghosts, 0);
}

#[test]
fn tag_of_a_reclaimed_ghost_is_met_by_who_reads_its_absence() {
    let (db, tree) = small();
    let mut deleter = no_wait(&db);
    deleter.delete(&tree, b"d").unwrap();
    deleter.commit(&tree);
    let tag = db.locks.tag(id(b"d"));
    assert!(tag > db.locks.tag(id(b"b")));
    tree.maintain(&mut db.begin(), b"d").unwrap();
    assert_eq!(tree.verify().unwrap().ghosts, 0);
    let mut reader = no_wait(&db);
    assert_eq!(reader.get(&tree, b"d").unwrap(), None);
    assert!(reader.owner.max_tag() >= tag);
    let mut scanner = no_wait(&db);
    let range = (Included(b"c".to_vec()), Included(b"e".to_vec()));
    assert_eq!(scanner.scan(&tree, range, Direction::Descending).unwrap(), vec![]);
    assert!(scanner.owner.max_tag() >= tag);
    let mut inserter = no_wait(&db);
    drop((reader, scanner));
    inserter.insert(&tree, b"d", b"").unwrap();
    assert!(inserter.owner.max_tag() >= tag);
}

#[test]
fn duplicate_and_not_found_take_tags() {
    let (db, tree) = small();
    let tag = db.locks.tag(id(b"d"));
    let mut one = no_wait(&db);
    assert!(one.insert(&tree, b"d", b"").is_err());
    assert!(one.owner.max_tag() >= tag);
    one.rollback(&tree);
    let mut two = no_wait(&db);
    assert!(two.delete(&tree, b"e").is_err());
    assert!(two.owner.max_tag() >= tag);
}

/// A cursor stands before a ghost whose deleter has committed and is not durable.
#[test]
fn cursor_meets_the_tag_of_a_ghost_behind_its_gap() {
    let (db, tree) = small();
    let mut reader = no_wait(&db);
    let range = (Included(b"b".to_vec()), Unbounded);
    let mut cursor = tree.cursor(range.0, range.1, Direction::Ascending, ReadIntent::Read);
    assert_eq!(cursor.next(&tree, &mut reader).unwrap().unwrap().0, b"b");
    let mut deleter = no_wait(&db);
    deleter.delete(&tree, b"d").unwrap();
    deleter.commit(&tree); // Locks are free early: the tag is on "d".
    let tag = db.locks.tag(id(b"d"));
    tree.maintain(&mut db.begin(), b"d").unwrap();
    assert_eq!(cursor.next(&tree, &mut reader).unwrap().unwrap().0, b"f");
    assert!(reader.owner.max_tag() >= tag, "met {} of {tag}", reader.owner.max_tag());
}

#[test]
fn point_read_meets_the_tag_of_a_ghost_behind_its_gap() {
    let (db, tree) = small();
    let mut reader = no_wait(&db);
    assert_eq!(reader.get(&tree, b"c").unwrap(), None); // Locks the gap of "b".
    let mut deleter = no_wait(&db);
    deleter.delete(&tree, b"d").unwrap();
    deleter.commit(&tree);
    let tag = db.locks.tag(id(b"d"));
    tree.maintain(&mut db.begin(), b"d").unwrap();
    assert_eq!(reader.get(&tree, b"d").unwrap(), None); // Reads the deletion.
    assert!(reader.owner.max_tag() >= tag, "met {} of {tag}", reader.owner.max_tag());
}

#[test]
fn ghost_goes_once_its_tag_is_durable_or_its_gap_is_unlocked() {
    for durable in [true, false] {
        let (db, tree) = small();
        let mut reader = no_wait(&db);
        assert_eq!(reader.get(&tree, b"c").unwrap(), None);
        let mut deleter = no_wait(&db);
        deleter.delete(&tree, b"d").unwrap();
        deleter.commit(&tree);
        let tag = db.locks.tag(id(b"d"));
        tree.maintain(&mut db.begin(), b"d").unwrap();
        assert_eq!(tree.verify().unwrap().ghosts, 1);
        let mut keeper = db.begin();
        if durable {
            keeper.acknowledged = tag;
        } else {
            drop(reader);
        }
        tree.maintain(&mut keeper, b"d").unwrap();
        assert_eq!(tree.verify().unwrap().ghosts, 0);
        assert_eq!(db.locks.tag(id(b"b")), tag);
    }
}

#[test]
fn range_below_the_empty_key_is_empty() {
    let (db, tree) = small();
    let mut txn = db.begin();
    txn.insert(&tree, b"", b"x").unwrap();
    txn.commit(&tree);
    for direction in [Direction::Descending, Direction::Ascending] {
        let mut txn = db.begin();
        assert_eq!(txn.scan(&tree, (Unbounded, Excluded(vec![])), direction).unwrap(), vec![]);
        assert_eq!(txn.asked, []);
    }
}

/// Two locks are wanted, the gap and the key: the one that was waited for is not given back while
/// the other is waited for.
#[test]
fn inserter_keeps_the_gap_while_it_waits_for_the_key() {
    let (db, tree) = small();
    let mut reader = db.begin();
    assert_eq!(reader.get(&tree, b"c").unwrap(), None); // Locks the gap of "b".
    let mut holder = db.begin();
    assert_eq!(holder.request(id(b"c"), M::XN), Outcome::Granted);
    let mut other = db.begin();
    std::thread::scope(|scope| {
        let inserter = scope.spawn(|| {
            let mut txn = db.begin();
            txn.insert(&tree, b"c", b"new").unwrap();
            txn
        });
        let waits = |txn: &Txn, key: &[u8]| !db.locks.is_idle_except(&txn.owner, id(key));
        while !waits(&reader, b"b") {
            std::thread::yield_now();
        }
        drop(reader);
        while !waits(&holder, b"c") {
            std::thread::yield_now();
        }
        assert_eq!(other.check(id(b"b"), M::NS), Outcome::Denied, "the gap is kept");
        drop(holder);
        let txn = inserter.join().unwrap();
        assert_eq!(other.check(id(b"b"), M::NS), Outcome::Granted, "and given back in the end");
        txn.commit(&tree);
    });
}
