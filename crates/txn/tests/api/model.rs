//! Random operations against an ordered map, with savepoints, rollbacks, checkpoints, clean
//! reopenings and crashes. Pages hold a few keys, so they split, merge and overflow all the time.

use std::{ops::Bound, sync::Arc};

use clearway_base::Error;
use clearway_disk::MemoryDisk;
use clearway_testkit::Random;
use clearway_tree::{Direction, ReadIntent};
use clearway_txn::{Engine, EngineOptions, Table, Transaction};

use crate::rig::{Contents, check, commit, contents, open_with, options, seeds};

struct Model {
    disk: MemoryDisk,
    engine: Arc<Engine>,
    table: Table,
    /// The committed rows.
    contents: Contents,
    random: Random,
    node_bytes: usize,
}

impl Model {
    fn new(seed: u64) -> Model {
        let disk = MemoryDisk::with_crashes();
        let node_bytes = [256, 400, 1024][seed as usize % 3];
        let engine = Model::open(&disk, node_bytes);
        let table = engine.create_table("t").unwrap();
        Model {
            disk,
            engine,
            table,
            contents: Contents::new(),
            random: Random::new(seed),
            node_bytes,
        }
    }

    fn open(disk: &MemoryDisk, node_bytes: usize) -> Arc<Engine> {
        open_with(disk.clone(), EngineOptions { node_bytes, ..options() })
    }

    fn key(&mut self) -> Vec<u8> {
        let n = self.random.below(400);
        let long = if n.is_multiple_of(7) { 4 } else { 1 };
        format!("{n:03}").repeat(long).into_bytes()
    }

    fn value(&mut self) -> Vec<u8> {
        let len = match self.random.below(30) {
            0 => 9000 + self.random.below(9000),
            1..4 => 100 + self.random.below(200),
            _ => self.random.below(40),
        };
        vec![self.random.next_u64() as u8; len as usize]
    }

    fn operate(&mut self, txn: &mut Transaction, model: &mut Contents) {
        let (key, value, table) = (self.key(), self.value(), self.table.clone());
        match self.random.below(12) {
            0..3 => {
                let replaced = txn.put(&table, &key, &value).unwrap();
                assert_eq!(replaced, model.insert(key, value).is_some());
            }
            3..5 => match txn.insert(&table, &key, &value) {
                Ok(()) => assert!(model.insert(key, value).is_none()),
                Err(Error::DuplicateKey { .. }) => assert!(model.contains_key(&key)),
                Err(error) => panic!("{error}"),
            },
            5..7 => match txn.update(&table, &key, &value) {
                Ok(()) => assert!(model.insert(key, value).is_some()),
                Err(Error::NotFound { .. }) => assert!(!model.contains_key(&key)),
                Err(error) => panic!("{error}"),
            },
            7..10 => match txn.delete(&table, &key) {
                Ok(()) => assert!(model.remove(&key).is_some()),
                Err(Error::NotFound { .. }) => assert!(!model.contains_key(&key)),
                Err(error) => panic!("{error}"),
            },
            10 => assert_eq!(txn.get(&table, &key).unwrap().as_ref(), model.get(&key)),
            _ => self.scan(txn, model, key),
        }
    }

    fn scan(&mut self, txn: &mut Transaction, model: &Contents, low: Vec<u8>) {
        let bounds = (Bound::Excluded(low.clone()), Bound::Unbounded);
        let expected: Vec<_> =
            model.range((bounds.0.clone(), bounds.1.clone())).take(9).map(|e| e.0).collect();
        let (order, intent) = (Direction::Ascending, ReadIntent::Read);
        let mut cursor = txn.cursor(&self.table, bounds.0, bounds.1, order, intent).unwrap();
        for expected in expected {
            let found = cursor.next(txn).unwrap();
            assert_eq!(found.as_ref().map(|(key, _)| key), Some(expected));
        }
    }

    /// One transaction. It may end in a commit, a rollback or not at all.
    fn transaction(&mut self) {
        let mut txn = self.engine.begin();
        let mut model = self.contents.clone();
        let mut savepoints = Vec::new();
        for _ in 0..self.random.below(30) {
            match self.random.below(12) {
                0 => savepoints.push((txn.savepoint().unwrap(), model.clone())),
                1 if !savepoints.is_empty() => {
                    let at = self.random.below(savepoints.len() as u64) as usize;
                    savepoints.truncate(at + 1);
                    txn.rollback_to(&savepoints[at].0).unwrap();
                    model = savepoints[at].1.clone();
                }
                2 if self.random.below(8) == 0 => self.engine.checkpoint().unwrap(),
                _ => self.operate(&mut txn, &mut model),
            }
        }
        match self.random.below(8) {
            0 => drop(txn.rollback().unwrap()),
            1 => self.crash(Some(txn)),
            _ => {
                commit(&self.engine, txn);
                self.contents = model;
            }
        }
    }

    /// The process dies; an open transaction dies with it.
    fn crash(&mut self, open: Option<Transaction>) {
        if self.random.below(2) == 0 {
            // What the open transaction has logged is durable.
            self.engine.log().wait_durable(self.engine.log().end()).unwrap();
        }
        let image = self.disk.fork_durable();
        drop(open);
        self.reopen(image);
    }

    fn reopen(&mut self, disk: MemoryDisk) {
        self.engine = Model::open(&disk, self.node_bytes);
        self.disk = disk;
        self.table = self.engine.open_table("t").unwrap();
        assert_eq!(contents(&self.engine, &self.table), self.contents);
    }
}

#[test]
fn engine_agrees_with_an_ordered_map() {
    for seed in seeds(6) {
        println!("seed {seed}");
        let mut model = Model::new(seed);
        for n in 0..60 {
            model.transaction();
            if n % 20 == 19 {
                assert_eq!(contents(&model.engine, &model.table), model.contents);
                model.engine.verify().unwrap();
                model.engine.close().unwrap();
                let disk = model.disk.fork();
                model.reopen(disk);
            }
        }
    }
}

#[test]
fn space_is_used_again_after_mass_deletion() {
    let options = EngineOptions { background: true, ..options() };
    let engine = open_with(MemoryDisk::new(), options);
    let table = engine.create_table("t").unwrap();
    let mut pages = Vec::new();
    for round in 0..4 {
        for batch in 0..20u32 {
            let mut txn = engine.begin();
            for n in 0..100 {
                txn.insert(&table, &(batch * 100 + n).to_be_bytes(), &[round; 60]).unwrap();
            }
            commit(&engine, txn);
        }
        pages.push(engine.verify().unwrap().tables[1].report.pages.len());
        for batch in 0..20u32 {
            let mut txn = engine.begin();
            for n in 0..100 {
                txn.delete(&table, &(batch * 100 + n).to_be_bytes()).unwrap();
            }
            commit(&engine, txn);
        }
        assert!(contents(&engine, &table).is_empty());
    }
    check(&engine);
    assert!(*pages.last().unwrap() < pages[0] * 3 / 2, "{pages:?}");
    // All leaves are merged away but a few, once the maintenance thread gets there.
    let mut left = usize::MAX;
    for _ in 0..100 {
        left = engine.verify().unwrap().tables[1].report.pages.len();
        if left < pages[0] / 4 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("{left} pages left of {pages:?}");
}
