//! Random operations, with savepoints and rollbacks, against an ordered map. Nodes hold a few keys,
//! so splits, adoptions, merges and overflow happen all the time.

use std::collections::BTreeMap;
use std::ops::Bound;

use clearway_base::{Error, PageId};
use clearway_testkit::Random;
use clearway_tree::{Direction, LeafHint, ReadIntent, Tree};

use crate::double::{Database, Needs, Txn};

/// Pages that stay pinned in a cache of 64, so that only a few can be evicted.
const PINNED: u32 = 54;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

struct Run {
    random: Random,
    hint: LeafHint,
    keys: u64,
    /// Whether the tree is to shrink for the time being.
    shrinking: bool,
    /// Whether requests for locks and log space are denied at random.
    denies: bool,
    /// The needs that all transactions together have met.
    needs: Needs,
}

impl Run {
    fn new(seed: u64, keys: u64) -> Run {
        let (random, hint) = (Random::new(seed), LeafHint::default());
        Run { random, hint, keys, shrinking: false, denies: false, needs: Needs::default() }
    }

    /// Keys with long common prefixes, some of them prefixes of others.
    fn key(&mut self) -> Vec<u8> {
        let n = self.random.below(self.keys);
        let mut key = format!("k{:02}", n / 10).into_bytes();
        key.extend(std::iter::repeat_n((n % 3) as u8, (n % 10) as usize));
        key
    }

    fn value(&mut self) -> Vec<u8> {
        let len = match self.random.below(20) {
            0 => 9_000 + self.random.below(9_000),
            1..4 => 60 + self.random.below(60),
            n => n,
        };
        vec![self.random.below(256) as u8; len as usize]
    }

    fn bound(&mut self) -> Bound<Vec<u8>> {
        match self.random.below(5) {
            0 => Bound::Unbounded,
            1 | 2 => Bound::Included(self.key()),
            _ => Bound::Excluded(self.key()),
        }
    }

    fn write(&mut self, tree: &Tree, txn: &mut Txn, model: &mut Model) {
        let (key, value) = (self.key(), self.value());
        let known = model.contains_key(&key);
        match self.random.below(8) + if self.shrinking { 4 } else { 0 } {
            0..3 => match tree.insert(txn, &mut self.hint, &key, &value) {
                Ok(()) => assert!(model.insert(key, value).is_none()),
                Err(Error::DuplicateKey { .. }) => assert!(known),
                Err(error) => panic!("{error}"),
            },
            3 | 4 => {
                let replaced = tree.put(txn, &mut self.hint, &key, &value).unwrap();
                assert_eq!(replaced, model.insert(key, value).is_some());
            }
            5 => match tree.update(txn, &mut self.hint, &key, &value) {
                Ok(()) => assert!(model.insert(key, value).is_some()),
                Err(Error::NotFound { .. }) => assert!(!known),
                Err(error) => panic!("{error}"),
            },
            _ => match tree.delete(txn, &mut self.hint, &key) {
                Ok(()) => assert!(model.remove(&key).is_some()),
                Err(Error::NotFound { .. }) => assert!(!known),
                Err(error) => panic!("{error}"),
            },
        }
    }

    fn read(&mut self, tree: &Tree, txn: &mut Txn, model: &Model) {
        let (key, mut out) = (self.key(), Vec::new());
        let intent = if self.random.below(2) == 0 { ReadIntent::Read } else { ReadIntent::Update };
        let found = tree.get(txn, &mut self.hint, &key, intent, &mut out).unwrap();
        assert_eq!(found.then_some(&out), model.get(&key));
    }

    fn scan(&mut self, tree: &Tree, txn: &mut Txn, model: &Model) {
        let range = (self.bound(), self.bound());
        let inside = |key: &Vec<u8>| {
            let above = match &range.0 {
                Bound::Included(low) => key >= low,
                Bound::Excluded(low) => key > low,
                Bound::Unbounded => true,
            };
            above
                && match &range.1 {
                    Bound::Included(high) => key <= high,
                    Bound::Excluded(high) => key < high,
                    Bound::Unbounded => true,
                }
        };
        let mut expected: Vec<_> = model
            .iter()
            .filter(|(key, _)| inside(key))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        let direction = match self.random.below(2) {
            0 => Direction::Ascending,
            _ => {
                expected.reverse();
                Direction::Descending
            }
        };
        assert_eq!(txn.scan(tree, range.clone(), direction).unwrap(), expected, "{range:02x?}");
    }

    /// A cursor between whose steps the transaction itself writes: slots move, and leaves split and
    /// merge, under the place that the cursor remembers.
    fn walk(&mut self, tree: &Tree, txn: &mut Txn, model: &mut Model) {
        let is_up = self.random.below(2) == 0;
        let direction = if is_up { Direction::Ascending } else { Direction::Descending };
        let all = (Bound::Unbounded, Bound::Unbounded);
        let mut cursor = tree.cursor(all.0, all.1, direction, ReadIntent::Read);
        if self.random.below(4) == 0 {
            cursor.skip_locked();
            // It would pass over what is denied.
            txn.denials = None;
        }
        let mut at: Option<Vec<u8>> = None;
        loop {
            let expected = match &at {
                None if is_up => model.iter().next(),
                None => model.iter().next_back(),
                Some(at) if is_up => {
                    model.range((Bound::Excluded(at.clone()), Bound::Unbounded)).next()
                }
                Some(at) => model.range(..at.clone()).next_back(),
            };
            // A record of one's own, or one on loan.
            let found = match self.random.below(2) {
                0 => cursor.next(tree, txn).unwrap(),
                _ => {
                    let found = cursor.advance(tree, txn).unwrap();
                    found.then(|| (cursor.entry().0.to_vec(), cursor.entry().1.to_vec()))
                }
            };
            assert_eq!(found.as_ref().map(|(key, value)| (key, value)), expected, "after {at:?}");
            let Some((key, _)) = found else { return };
            if self.random.below(4) == 0 {
                tree.delete(txn, &mut self.hint, &key).unwrap();
                model.remove(&key);
            }
            at = Some(key);
            for _ in 0..self.random.below(3) {
                self.write(tree, txn, model);
            }
        }
    }

    /// One transaction.
    fn transaction(&mut self, db: &Database, tree: &Tree, committed: &mut Model) {
        let (mut txn, mut model) = (db.begin(), committed.clone());
        txn.latches_are_checked = self.random.below(20) == 0;
        txn.denials = self.denies.then(|| Random::new(self.random.next_u64()));
        let mut savepoint = (0, model.clone());
        for _ in 0..1 + self.random.below(12) {
            match self.random.below(17) {
                0..11 => self.write(tree, &mut txn, &mut model),
                11 | 12 => self.read(tree, &mut txn, &model),
                13 => self.scan(tree, &mut txn, &model),
                14 if self.random.below(4) == 0 => self.walk(tree, &mut txn, &mut model),
                14 | 15 => savepoint = (txn.undo.len(), model.clone()),
                _ => {
                    txn.rollback_to(tree, savepoint.0);
                    model = savepoint.1.clone();
                }
            }
        }
        self.needs.locks += txn.needs.locks;
        self.needs.log_space += txn.needs.log_space;
        if self.random.below(4) == 0 {
            txn.rollback(tree);
        } else {
            txn.commit(tree);
            *committed = model;
        }
    }
}

/// Redo of everything, on an empty disk, gives the same pages.
fn assert_replays(db: &Database, tree: &Tree, node_bytes: usize, records: &[(Vec<u8>, Vec<u8>)]) {
    let again = db.replayed(db.log.len());
    assert_eq!(db.difference(&again), None);
    let all = (Bound::Unbounded, Bound::Unbounded);
    let tree = again.open(tree, node_bytes);
    assert_eq!(again.begin().scan(&tree, all, Direction::Ascending).unwrap(), records);
}

/// Deletes everything; upkeep then leaves one empty leaf.
fn empty(db: &Database, tree: &Tree, records: &[(Vec<u8>, Vec<u8>)]) {
    let mut txn = db.begin();
    for (key, _) in records {
        txn.delete(tree, key).unwrap();
    }
    txn.commit(tree);
    // Once more for the borders on which a lock collided, in the small table, with one of ours.
    for (key, _) in records {
        tree.maintain(&mut db.begin(), key).unwrap();
    }
    let report = db.verify_only(tree);
    assert_eq!((report.pages.len(), report.records, report.ghosts), (1, 0, 0), "{report:?}");
}

fn run(seed: u64, node_bytes: usize, keys: u64, transactions: u64) {
    run_in(Database::new(), false, (seed, node_bytes, keys, transactions));
}

/// Returns the needs that were met.
fn run_in(
    db: Database,
    denies: bool,
    (seed, node_bytes, keys, transactions): (u64, usize, u64, u64),
) -> Needs {
    println!("seed {seed}");
    let tree = db.tree(7, node_bytes);
    let mut run = Run::new(seed, keys);
    run.denies = denies;
    let mut model = Model::new();
    for n in 0..transactions {
        run.shrinking = n % 200 >= 120;
        run.transaction(&db, &tree, &mut model);
        if n % 50 == 0 {
            let report = db.verify_only(&tree);
            assert_eq!(report.records, model.len() as u64);
        }
    }
    let records = model.into_iter().collect::<Vec<_>>();
    assert_replays(&db, &tree, node_bytes, &records);
    empty(&db, &tree, &records);
    let counts: Vec<_> = (35..43).map(|code| db.log.count_of(code)).collect();
    assert!(counts.iter().all(|&n| n > 0), "each kind of system transaction: {counts:?}");
    assert_replays(&db, &tree, node_bytes, &[]);
    // Nothing is left when the tree is destroyed.
    tree.destroy(&mut db.begin()).unwrap();
    assert_eq!(db.space.allocated_count().unwrap(), 1);
    run.needs
}

#[test]
fn random_operations_agree_with_a_map() {
    // For long runs by hand.
    let seeds = std::env::var("CLEARWAY_SEEDS").map_or(3, |n| n.parse().expect("a number"));
    for seed in 1..=seeds {
        run(seed * 0x9E37_79B9, 256, 300, 600);
    }
}

#[test]
fn random_operations_agree_with_a_map_in_larger_nodes() {
    run(0xB7E1_5162, 700, 1000, 600);
}

#[test]
fn random_operations_agree_with_a_map_whatever_they_need() {
    let db = Database::small();
    let pool = db.pool.clone();
    let needs = run_in(db, true, (0x02F6_E2B1, 256, 900, 600));
    assert!(needs.locks > 1_000 && needs.log_space > 1_000, "{needs:?}");
    let stats = pool.stats();
    assert!(stats.reads > 1_000 && stats.evictions > 1_000, "{stats:?}");
}

/// All but a few pages of the smallest cache are pinned, so a page is evicted as soon as it is not
/// needed: each operation must go on with the pages that it needed last.
#[test]
fn random_operations_agree_with_a_map_if_few_pages_can_be_evicted() {
    let db = Database::small();
    let pool = db.pool.clone();
    let last = PageId(10_000 + PINNED);
    pool.ensure_len(last).unwrap();
    let pins: Vec<_> = (10_001..=last.0).map(|page| pool.pin(PageId(page)).unwrap()).collect();
    run_in(db, false, (0x3C6E_F372, 256, 900, 300));
    assert_eq!(pins.len() as u32, PINNED);
    let stats = pool.stats();
    assert!(stats.reads > 10_000, "{stats:?}");
}

#[test]
fn long_chains_are_passed_if_few_pages_can_be_evicted() {
    let db = Database::small();
    let pool = db.pool.clone();
    let last = PageId(10_000 + PINNED);
    pool.ensure_len(last).unwrap();
    let tree = db.tree(7, 256);
    let mut txn = db.begin();
    // The log refuses adoptions.
    txn.refused_system = Some(37);
    txn.leaves_upkeep = true;
    let key = |n: u32| format!("{n:05}").into_bytes();
    (0..600).rev().for_each(|n| txn.insert(&tree, &key(n), b"value").unwrap());
    txn.commit(&tree);
    let longest = tree.verify().unwrap().chain_max();
    assert!(longest > 40, "{longest}");
    let pins: Vec<_> = (10_001..=last.0).map(|page| pool.pin(PageId(page)).unwrap()).collect();
    let mut txn = db.begin();
    for n in 0..600 {
        assert_eq!(txn.get(&tree, &key(n)).unwrap().unwrap(), b"value");
        txn.delete(&tree, &key(n)).unwrap();
    }
    assert_eq!(pins.len() as u32, PINNED);
}

#[test]
fn every_prefix_of_the_log_is_a_sound_tree() {
    let db = Database::new();
    let tree = db.tree(7, 256);
    let start = db.log.len();
    let mut run = Run::new(99, 100);
    let mut model = Model::new();
    for _ in 0..30 {
        run.transaction(&db, &tree, &mut model);
    }
    for records in start..db.log.len() {
        let again = db.replayed(records);
        let report = again.open(&tree, 256).verify().unwrap();
        assert_eq!(report.met_twice, []);
    }
}
