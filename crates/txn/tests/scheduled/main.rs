//! Whole engines under many schedules: real blocking code on shuttle's threads, over a disk in
//! memory. A hang is a failure, which shuttle reports with the schedule. How to run more of them
//! and how to replay one: `docs/testing-models.md`.
#![cfg(shuttle)]

mod closing;
mod commits;
mod log_space;
mod structure;
mod tasks;

use std::{collections::BTreeMap, ops::Bound, sync::Arc};

use clearway_base::{Error, PAGE_SIZE, Result};
use clearway_disk::MemoryDisk;
use clearway_lock::{LockOptions, WaitLimit};
use clearway_log::LogOptions;
use clearway_pool::PoolOptions;
use clearway_sync::thread;
use clearway_tree::{Direction, ReadIntent};
use clearway_txn::{Engine, EngineOptions, Table, Transaction};

type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

/// As small as can be: a schedule's length is what it costs.
fn options() -> EngineOptions {
    EngineOptions {
        node_bytes: 256,
        background: false,
        log: LogOptions {
            ring_bytes: 64 << 10,
            segment_bytes: 32 << 10,
            capacity_bytes: 1 << 20,
            flushes_in_flight: 1,
            ..LogOptions::default()
        },
        pool: PoolOptions {
            cache_bytes: 48 * PAGE_SIZE as u64,
            max_bytes: 2 << 20,
            batches_in_flight: 1,
            background_cleaner: false,
            ..PoolOptions::default()
        },
        lock: LockOptions {
            buckets: 8,
            intents: 2,
            wait_limit: None,
            spins: 1,
            ..LockOptions::default()
        },
        ..EngineOptions::default()
    }
}

/// An engine with one table.
fn start(options: EngineOptions) -> (MemoryDisk, Arc<Engine>, Table) {
    let disk = MemoryDisk::new();
    let engine = Engine::open(Arc::new(disk.clone()), options).unwrap();
    let table = engine.create_table("t").unwrap();
    (disk, engine, table)
}

fn key(n: u64) -> Vec<u8> {
    format!("{n:03}").into_bytes()
}

/// Commits and waits until it is durable.
fn commit(engine: &Engine, txn: Transaction) -> Result<()> {
    let committed = txn.commit()?;
    engine.log().wait_durable(committed.ack)
}

/// Runs a transaction until it is no deadlock's victim, and commits it durably.
fn transact<R>(
    engine: &Arc<Engine>,
    mut work: impl FnMut(&mut Transaction) -> Result<R>,
) -> Result<R> {
    loop {
        let mut txn = engine.begin();
        txn.set_wait_limit(WaitLimit::Forever);
        match work(&mut txn) {
            Ok(value) => return commit(engine, txn).map(|()| value),
            Err(Error::Deadlock { .. }) => thread::yield_now(),
            Err(error) => return Err(error),
        }
    }
}

fn contents(engine: &Arc<Engine>, table: &Table) -> Contents {
    let scan = |txn: &mut Transaction| {
        let (low, high) = (Bound::Unbounded, Bound::Unbounded);
        let mut cursor = txn.cursor(table, low, high, Direction::Ascending, ReadIntent::Read)?;
        let mut contents = Contents::new();
        while let Some((key, value)) = cursor.next(txn)? {
            contents.insert(key, value);
        }
        Ok(contents)
    };
    transact(engine, scan).unwrap()
}

/// Runs `body` on threads numbered from 0 and waits for them.
fn on_threads<R: Send + 'static>(
    count: u64,
    body: impl Fn(u64) -> R + Send + Sync + 'static,
) -> Vec<R> {
    let body = Arc::new(body);
    let threads: Vec<_> = (0..count)
        .map(|n| {
            let body = body.clone();
            thread::spawn(move || body(n))
        })
        .collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}
