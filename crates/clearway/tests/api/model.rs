//! Random operations, savepoints, rollbacks, checkpoints and reopenings, compared with an ordered
//! map, on pages of a few keys.
//!
//! A failing run is reduced to the operations that the failure needs before it is printed.

use std::{
    collections::BTreeMap,
    fmt,
    ops::{Bound, RangeBounds},
    panic::{AssertUnwindSafe, catch_unwind},
};

use clearway::{Database, Entry, Error, Options, Savepoint, Table, Transaction};
use clearway_testkit::Random;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// Bytes of a page: large enough for the longest key here, small enough for a few.
const NODE_BYTES: usize = 512;
/// Operations of one run.
const OPERATIONS: usize = 400;
/// Number of runs; each has its own seed.
const RUNS: u64 = 24;

#[derive(Clone, Debug)]
enum Op {
    Insert(Key, Value),
    Put(Key, Value),
    Update(Key, Value),
    Delete(Key),
    DeleteRange(Key, u8),
    Get(Key),
    Scan(Bound<Key>, Bound<Key>, bool),
    Savepoint,
    RollbackTo(usize),
    Commit,
    Rollback,
    Checkpoint,
    Reopen,
}

/// A key that prints as text.
#[derive(Clone)]
struct Key(Vec<u8>);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

/// A value: one byte, repeated.
#[derive(Clone, Debug)]
struct Value {
    len: usize,
    byte: u8,
}

impl Value {
    fn bytes(&self) -> Vec<u8> {
        vec![self.byte; self.len]
    }
}

/// Draws operations. The seed determines the run.
struct Operations {
    random: Random,
}

impl Operations {
    /// Returns keys that repeat often, with common prefixes and lengths from 0 to 40.
    fn key(&mut self) -> Key {
        let mut key = match self.random.below(4) {
            0 => Vec::new(),
            1 => b"common/prefix/".to_vec(),
            2 => b"common/prefiy/".to_vec(),
            _ => vec![b'k'; self.random.below(30) as usize],
        };
        let (number, skipped) = (self.random.below(120) as u16, self.random.below(2) as usize);
        key.extend_from_slice(&number.to_be_bytes()[skipped..]);
        Key(key)
    }

    /// Returns values from empty to several pages of this size.
    fn value(&mut self) -> Value {
        let len = match self.random.below(10) {
            0 => 0,
            1 => 100 + self.random.below(400),
            2 => 1_000 + self.random.below(4_000),
            _ => self.random.below(60),
        };
        Value { len: len as usize, byte: self.random.below(256) as u8 }
    }

    fn bound(&mut self) -> Bound<Key> {
        match self.random.below(3) {
            0 => Bound::Unbounded,
            1 => Bound::Included(self.key()),
            _ => Bound::Excluded(self.key()),
        }
    }

    fn op(&mut self) -> Op {
        match self.random.below(100) {
            0..25 => Op::Insert(self.key(), self.value()),
            25..40 => Op::Put(self.key(), self.value()),
            40..50 => Op::Update(self.key(), self.value()),
            50..62 => Op::Delete(self.key()),
            62..65 => Op::DeleteRange(self.key(), self.random.below(60) as u8),
            65..72 => Op::Get(self.key()),
            72..80 => Op::Scan(self.bound(), self.bound(), self.random.below(2) == 0),
            80..84 => Op::Savepoint,
            84..87 => Op::RollbackTo(self.random.below(4) as usize),
            87..94 => Op::Commit,
            94..97 => Op::Rollback,
            97..99 => Op::Checkpoint,
            _ => Op::Reopen,
        }
    }
}

/// The database, and the map that it is compared with.
struct Run {
    options: Options,
    db: Database,
    table: Table,
    tx: Option<Transaction>,
    committed: Map,
    current: Map,
    savepoints: Vec<(Savepoint, Map)>,
}

impl Run {
    fn new() -> Run {
        let options = Options::in_memory()
            .cache_size(2 << 20)
            .log_capacity(16 << 20)
            .checkpoint_every(1 << 20)
            .node_bytes(NODE_BYTES);
        let db = options.clone().open("model").unwrap();
        let table = db.table("t").unwrap();
        let (tx, savepoints) = (None, Vec::new());
        Run { options, db, table, tx, committed: Map::new(), current: Map::new(), savepoints }
    }

    fn tx(&mut self) -> (&mut Transaction, &Table) {
        let db = &self.db;
        (self.tx.get_or_insert_with(|| db.begin()), &self.table)
    }

    fn apply(&mut self, op: &Op) {
        match op {
            Op::Insert(key, value) => self.insert(&key.0, value.bytes()),
            Op::Put(key, value) => self.put(&key.0, value.bytes()),
            Op::Update(key, value) => self.update(&key.0, value.bytes()),
            Op::Delete(key) => self.delete(&key.0),
            Op::DeleteRange(from, count) => {
                let keys = self.current.range(from.0.clone()..).take(usize::from(*count));
                let keys: Vec<_> = keys.map(|(key, _)| key.clone()).collect();
                keys.iter().for_each(|key| self.delete(key));
            }
            Op::Get(key) => {
                let (tx, table) = self.tx();
                let found = tx.get(table, &key.0).unwrap();
                assert_eq!(found.as_ref(), self.current.get(&key.0), "get");
            }
            Op::Scan(lower, upper, descending) => {
                let bytes = |bound: &Bound<Key>| bound.as_ref().map(|key| key.0.clone());
                self.scan((bytes(lower), bytes(upper)), *descending);
            }
            Op::Savepoint => {
                let savepoint = self.tx().0.savepoint().unwrap();
                self.savepoints.push((savepoint, self.current.clone()));
            }
            Op::RollbackTo(back) => self.rollback_to(*back),
            Op::Commit | Op::Rollback => self.end(matches!(op, Op::Commit)),
            Op::Checkpoint => self.db.checkpoint().unwrap(),
            Op::Reopen => self.reopen(),
        }
    }

    fn insert(&mut self, key: &[u8], value: Vec<u8>) {
        let present = self.current.contains_key(key);
        let (tx, table) = self.tx();
        match tx.insert(table, key, &value) {
            Err(Error::DuplicateKey { .. }) => assert!(present, "insert found what is not there"),
            result => {
                result.unwrap();
                assert!(!present, "insert overwrote");
                self.current.insert(key.to_vec(), value);
            }
        }
    }

    fn put(&mut self, key: &[u8], value: Vec<u8>) {
        let (tx, table) = self.tx();
        match value.len() % 2 {
            0 => {
                let replaced = tx.replace(table, key, &value).unwrap();
                assert_eq!(replaced, self.current.insert(key.to_vec(), value), "replace");
            }
            _ => {
                tx.put(table, key, &value).unwrap();
                self.current.insert(key.to_vec(), value);
            }
        }
    }

    fn update(&mut self, key: &[u8], value: Vec<u8>) {
        let present = self.current.contains_key(key);
        let (tx, table) = self.tx();
        match tx.update(table, key, &value) {
            Err(Error::NotFound { .. }) => assert!(!present, "update missed what is there"),
            result => {
                result.unwrap();
                assert!(present, "update of what is not there");
                self.current.insert(key.to_vec(), value);
            }
        }
    }

    fn delete(&mut self, key: &[u8]) {
        let (tx, table) = self.tx();
        match tx.delete(table, key) {
            Err(Error::NotFound { .. }) => assert!(!self.current.contains_key(key), "delete"),
            result => {
                result.unwrap();
                assert!(self.current.remove(key).is_some(), "delete of what is not there");
            }
        }
    }

    fn scan(&mut self, range: (Bound<Vec<u8>>, Bound<Vec<u8>>), descending: bool) {
        let inside = self.current.iter().filter(|(key, _)| range.contains(*key));
        let mut want: Vec<_> = inside.map(|(key, value)| (key.clone(), value.clone())).collect();
        let (tx, table) = self.tx();
        let got: Result<Vec<_>, _> = if descending {
            want.reverse();
            tx.scan_descending(table, range).collect()
        } else {
            tx.scan(table, range).collect()
        };
        let got = got.unwrap();
        let keys = |rows: &[Entry]| {
            rows.iter().map(|(key, _)| key.escape_ascii().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(keys(&got), keys(&want), "scan's keys");
        assert!(got == want, "scan's values");
    }

    fn rollback_to(&mut self, back: usize) {
        let Some(at) = self.savepoints.len().checked_sub(1 + back) else { return };
        // The savepoint stays; those after it are gone.
        self.savepoints.truncate(at + 1);
        let (savepoint, map) = self.savepoints.pop().unwrap();
        self.tx().0.rollback_to(&savepoint).unwrap();
        self.current = map.clone();
        self.savepoints.push((savepoint, map));
    }

    fn end(&mut self, commit: bool) {
        self.savepoints.clear();
        let Some(tx) = self.tx.take() else { return };
        if commit {
            tx.commit().unwrap();
            self.committed = self.current.clone();
        } else {
            tx.rollback().unwrap();
            self.current = self.committed.clone();
        }
    }

    fn reopen(&mut self) {
        self.end(false);
        self.db.close().unwrap();
        // Both names go, so that the old engine is gone before the new one opens.
        self.db = Options::in_memory().cache_size(1 << 20).open("placeholder").unwrap();
        self.db = self.options.clone().open("model").unwrap();
        self.table = self.db.open_table("t").unwrap();
        self.check_all();
    }

    fn check_all(&mut self) {
        self.db.verify().unwrap();
        self.scan((Bound::Unbounded, Bound::Unbounded), false);
        self.scan((Bound::Unbounded, Bound::Unbounded), true);
    }
}

/// Runs all operations, then checks, commits, and reopens the database.
fn run(ops: &[Op]) {
    let mut run = Run::new();
    ops.iter().for_each(|op| run.apply(op));
    run.check_all();
    run.apply(&Op::Commit);
    run.reopen();
}

/// Removes operations that the failure does not need, in groups whose size is halved.
fn shrink(mut ops: Vec<Op>) -> Vec<Op> {
    let fails = |ops: &[Op]| catch_unwind(AssertUnwindSafe(|| run(ops))).is_err();
    let mut step = ops.len() / 2;
    while step > 0 {
        let mut at = 0;
        while at < ops.len() {
            let mut fewer = ops.clone();
            fewer.drain(at..(at + step).min(ops.len()));
            if fails(&fewer) {
                ops = fewer;
            } else {
                at += step;
            }
        }
        step /= 2;
    }
    ops
}

#[test]
fn random_operations_match_an_ordered_map() {
    // To choose the runs:
    // CLEARWAY_MODEL_SEED=7 CLEARWAY_MODEL_RUNS=1 cargo test -p clearway --test api model
    let setting = |name: &str, default: u64| {
        std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
    };
    let first = setting("CLEARWAY_MODEL_SEED", 1);
    for seed in first..first + setting("CLEARWAY_MODEL_RUNS", RUNS) {
        let mut operations = Operations { random: Random::new(seed) };
        let ops: Vec<_> = (0..OPERATIONS).map(|_| operations.op()).collect();
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(&ops))) {
            eprintln!("seed {seed} fails; shrinking");
            let ops = shrink(ops);
            eprintln!("these {} operations are enough:", ops.len());
            ops.iter().for_each(|op| eprintln!("  {op:?}"));
            std::panic::resume_unwind(panic);
        }
    }
}
