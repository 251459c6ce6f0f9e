//! Shared parts of this crate's tests: small engines on memory disks, and a way to look at them.
#![allow(dead_code)] // Each test program uses a part of it.

use std::{
    collections::BTreeMap,
    ops::Bound,
    sync::{Arc, Barrier},
    thread,
};

use clearway_base::Result;
use clearway_disk::{Disk, MemoryDisk};
use clearway_lock::LockOptions;
use clearway_log::LogOptions;
use clearway_pool::PoolOptions;
use clearway_tree::{Direction, ReadIntent};
use clearway_txn::{Engine, EngineOptions, RetryContext, Table, Transaction};

pub(crate) type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

/// Nodes of a few keys, a small log, no threads but the log's.
pub(crate) fn options() -> EngineOptions {
    EngineOptions {
        node_bytes: 512,
        background: false,
        log: LogOptions {
            ring_bytes: 64 << 10,
            segment_bytes: 64 << 10,
            capacity_bytes: 8 << 20,
            ..LogOptions::default()
        },
        pool: PoolOptions {
            cache_bytes: 4 << 20,
            max_bytes: 256 << 20,
            background_cleaner: false,
            ..PoolOptions::default()
        },
        lock: LockOptions { buckets: 1 << 10, ..LockOptions::default() },
        ..EngineOptions::default()
    }
}

pub(crate) fn open(disk: &MemoryDisk) -> Arc<Engine> {
    open_with(disk.clone(), options())
}

pub(crate) fn open_with(disk: impl Disk + 'static, options: EngineOptions) -> Arc<Engine> {
    Engine::open(Arc::new(disk), options).unwrap()
}

/// A new engine with one table.
pub(crate) fn start() -> (MemoryDisk, Arc<Engine>, Table) {
    let disk = MemoryDisk::with_crashes();
    let engine = open(&disk);
    let table = engine.create_table("t").unwrap();
    (disk, engine, table)
}

/// Commits and waits.
pub(crate) fn commit(engine: &Engine, txn: Transaction) {
    let committed = txn.commit().unwrap();
    engine.log().wait_durable(committed.ack).unwrap();
}

/// Commits one put and waits.
pub(crate) fn put(engine: &Arc<Engine>, table: &Table, key: &str, value: &str) {
    let mut txn = engine.begin();
    txn.put(table, key.as_bytes(), value.as_bytes()).unwrap();
    commit(engine, txn);
}

pub(crate) fn get(engine: &Arc<Engine>, table: &Table, key: &str) -> Option<String> {
    let mut txn = engine.begin();
    let value = txn.get(table, key.as_bytes()).unwrap();
    value.map(|value| String::from_utf8(value).unwrap())
}

pub(crate) fn read_all(txn: &mut Transaction, table: &Table) -> Result<Contents> {
    let (low, high) = (Bound::Unbounded, Bound::Unbounded);
    let mut cursor = txn.cursor(table, low, high, Direction::Ascending, ReadIntent::Read)?;
    let mut contents = Contents::new();
    while let Some((key, value)) = cursor.next(txn)? {
        assert!(contents.last_key_value().is_none_or(|(last, _)| *last < key));
        contents.insert(key, value);
    }
    Ok(contents)
}

pub(crate) fn contents(engine: &Arc<Engine>, table: &Table) -> Contents {
    read_all(&mut engine.begin(), table).unwrap()
}

/// Everything `verify` can find fault with, and nothing unreachable.
pub(crate) fn check(engine: &Arc<Engine>) {
    // While the maintenance thread moves pages, a look may be wrong; not twenty in a row.
    for _ in 0..20 {
        let report = engine.verify().unwrap();
        let twice = report.tables.iter().any(|table| !table.report.met_twice.is_empty());
        if !twice && report.unreachable_pages == 0 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("pages that are met twice, or not at all");
}

/// The seeds that a test tries: `CLEARWAY_SEEDS` of them, or as many as are quick.
pub(crate) fn seeds(quick: u64) -> std::ops::Range<u64> {
    let wanted = std::env::var("CLEARWAY_SEEDS").ok().and_then(|text| text.parse().ok());
    0..wanted.unwrap_or(quick)
}

/// A transaction that has lost a deadlock for "a" and "b", and has been rolled back.
pub(crate) fn loser(engine: &Arc<Engine>, table: &Table) -> RetryContext {
    let barrier = Barrier::new(2);
    let run = |first: &'static [u8], second: &'static [u8]| {
        let mut txn = engine.begin();
        txn.update(table, first, b"1").unwrap();
        barrier.wait();
        let lost = txn.update(table, second, b"1").is_err().then(|| txn.take_retry_context());
        drop(txn);
        lost
    };
    thread::scope(|scope| {
        let one = scope.spawn(|| run(b"a", b"b"));
        let two = scope.spawn(|| run(b"b", b"a"));
        one.join().unwrap().or(two.join().unwrap()).expect("one of them lost")
    })
}
