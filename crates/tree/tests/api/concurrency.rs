//! Threads against each other, in a tree with nodes of a few keys, while others verify it.

use std::ops::Bound::Unbounded;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use clearway_base::{Error, Result};
use clearway_testkit::Random;
use clearway_tree::{Cursor, Direction, LeafHint, ReadIntent, Tree};

use crate::double::{Database, Txn};

fn key(n: u64) -> Vec<u8> {
    format!("{n:04}").into_bytes()
}

/// Runs a transaction until it is no victim; the answer says whether it committed.
fn transact(db: &Database, tree: &Tree, mut work: impl FnMut(&mut Txn) -> Result<bool>) -> bool {
    loop {
        let mut txn = db.begin();
        match work(&mut txn) {
            Ok(true) => {
                txn.commit(tree);
                return true;
            }
            Ok(false) => {
                txn.rollback(tree);
                return false;
            }
            Err(error) if error.is_retryable() => txn.rollback(tree),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Counts the records of the whole tree, in either direction.
fn count(txn: &mut Txn, tree: &Tree, direction: Direction) -> Result<usize> {
    let mut cursor: Cursor = tree.cursor(Unbounded, Unbounded, direction, ReadIntent::Read);
    let mut count = 0;
    while cursor.next(tree, txn)?.is_some() {
        count += 1;
    }
    Ok(count)
}

#[test]
fn moving_records_are_never_counted_twice_or_missed() {
    const RECORDS: usize = 60;
    let db = Database::new();
    let tree = db.tree(7, 256);
    let mut txn = db.begin();
    for n in 0..RECORDS as u64 {
        txn.insert(&tree, &key(n * 5), b"a value of some length").unwrap();
    }
    txn.commit(&tree);
    let (done, scans) = (AtomicBool::new(false), AtomicU64::new(0));
    let mover = |seed: u64| {
        let mut random = Random::new(seed);
        let mut moved = 0;
        // Until there were scans enough; a scan of everything may be a victim many times.
        for n in 0..50_000 {
            if n >= 400 && scans.load(Relaxed) >= 20 {
                break;
            }
            let (from, to) = (random.below(300), random.below(300));
            let rolls_back = random.below(5) == 0;
            moved += u64::from(transact(&db, &tree, |txn| {
                match txn.delete(&tree, &key(from)) {
                    Err(Error::NotFound { .. }) => return Ok(false),
                    result => result?,
                }
                match txn.insert(&tree, &key(to), b"moved") {
                    Err(Error::DuplicateKey { .. }) => return Ok(false),
                    result => result?,
                }
                Ok(!rolls_back)
            }));
        }
        moved
    };
    std::thread::scope(|scope| {
        let movers: Vec<_> = (1..4)
            .map(|n| {
                let mover = &mover;
                scope.spawn(move || mover(n * 77))
            })
            .collect();
        for direction in [Direction::Ascending, Direction::Descending] {
            let (db, tree, done, scans) = (&db, &tree, &done, &scans);
            scope.spawn(move || {
                while !done.load(Relaxed) {
                    transact(db, tree, |txn| {
                        assert_eq!(count(txn, tree, direction)?, RECORDS);
                        Ok(true)
                    });
                    scans.fetch_add(1, Relaxed);
                }
            });
        }
        let verifier = scope.spawn(|| {
            while !done.load(Relaxed) {
                tree.verify().unwrap();
            }
        });
        let moved: u64 = movers.into_iter().map(|mover| mover.join().unwrap()).sum();
        assert!(moved > 0);
        done.store(true, Relaxed);
        verifier.join().unwrap();
    });
    assert!(scans.load(Relaxed) >= 20, "scans are starved");
    assert_eq!(db.verify_only(&tree).records, RECORDS as u64);
    assert_eq!(db.difference(&db.replayed(db.log.len())), None);
}

#[test]
fn counters_add_up() {
    const KEYS: u64 = 40;
    let db = Database::new();
    let tree = db.tree(7, 256);
    let worker = |seed: u64| {
        let mut random = Random::new(seed);
        let mut sum = 0;
        for _ in 0..500 {
            // Sorted, so that most transactions wait and few are victims.
            let mut keys = [random.below(KEYS), random.below(KEYS), random.below(KEYS)];
            keys.sort_unstable();
            let len = random.below(40) as usize;
            let committed = transact(&db, &tree, |txn| {
                let mut hint = LeafHint::default();
                for n in keys {
                    let mut value = Vec::new();
                    tree.get(txn, &mut hint, &key(n), ReadIntent::Update, &mut value)?;
                    let old = value.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
                    let mut new = (old + 1).to_le_bytes().to_vec();
                    new.resize(8 + len, 0);
                    tree.put(txn, &mut hint, &key(n), &new)?;
                }
                Ok(!len.is_multiple_of(7))
            });
            sum += if committed { keys.len() as u64 } else { 0 };
        }
        sum
    };
    let expected: u64 = std::thread::scope(|scope| {
        let workers: Vec<_> = (1..5).map(|n| scope.spawn(move || worker(n * 31))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    let records = db.begin().scan(&tree, (Unbounded, Unbounded), Direction::Ascending).unwrap();
    let found: u64 =
        records.iter().map(|(_, v)| u64::from_le_bytes(*v.first_chunk().unwrap())).sum();
    assert_eq!(found, expected);
    db.verify_only(&tree);
    assert_eq!(db.difference(&db.replayed(db.log.len())), None);
}

#[test]
fn threads_grow_and_empty_a_tree_together() {
    let db = Database::new();
    let tree = db.tree(7, 512);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (db, tree) = (&db, &tree);
            scope.spawn(move || {
                for round in 0..3 {
                    // Interleaved keys: every leaf is everybody's.
                    for batch in 0..10 {
                        transact(db, tree, |txn| {
                            let mut hint = LeafHint::default();
                            for n in batch * 40..batch * 40 + 40 {
                                let n = n * 4 + thread;
                                tree.insert(txn, &mut hint, &key(n), &[round; 30])?;
                            }
                            Ok(true)
                        });
                    }
                    for batch in 0..10 {
                        transact(db, tree, |txn| {
                            for n in batch * 40..batch * 40 + 40 {
                                txn.delete(tree, &key(n * 4 + thread))?;
                            }
                            Ok(true)
                        });
                    }
                }
            });
        }
    });
    let report = db.verify_only(&tree);
    assert_eq!(report.records, 0);
    for n in (0..1600).rev() {
        tree.maintain(&mut db.begin(), &key(n)).unwrap();
    }
    assert_eq!(db.verify_only(&tree).pages.len(), 1);
}

/// A writer that is stopped while it holds a branch's latch keeps each other writer from adoptions.
#[test]
fn writer_that_cannot_adopt_splits_one_leaf_only() {
    let db = Database::new();
    let tree = db.tree(7, 256);
    let load = |keys: std::ops::Range<u64>| {
        let mut txn = db.begin();
        for n in keys.rev() {
            txn.insert(&tree, &key(n), b"a value of some length").unwrap();
        }
        txn.commit(&tree);
    };
    load(1000..1020);
    assert_eq!(db.verify_only(&tree).levels.len(), 2, "the root is the only branch");
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let root = db.pool.shared(tree.root()).unwrap();
        scope.spawn(|| {
            load(900..1000);
            is_done.store(true, Relaxed);
        });
        // Time enough for all of it, if the writer did not wait.
        for _ in 0..50 {
            std::thread::sleep(std::time::Duration::from_millis(2));
            assert!(!is_done.load(Relaxed), "the writer has split leaves without adoptions");
        }
        let report = tree.verify().unwrap();
        drop(root);
        assert!(report.chain_max() <= 1, "{:?}", report.levels);
    });
    assert_eq!(db.verify_only(&tree).records, 120);
}
