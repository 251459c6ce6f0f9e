//! How long a database takes to open after a crash, by megabyte of log.
//!
//! `cargo run --release -p clearway-txn --example recovery_speed [MEGABYTES]`: TPC-B-like
//! transactions fill that much log (256 MB by default) without a checkpoint, on a disk in memory;
//! then a copy of the disk is opened.

use std::{sync::Arc, time::Instant};

use clearway_base::Result;
use clearway_disk::MemoryDisk;
use clearway_txn::{Engine, EngineOptions};

const ACCOUNTS: u64 = 200_000;

fn main() -> Result<()> {
    let megabytes = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(256u64);
    let mut options = EngineOptions { background: false, ..EngineOptions::default() };
    options.log.capacity_bytes = (megabytes + 256) << 20;
    options.pool.background_cleaner = false;
    let disk = MemoryDisk::new();
    let engine = Engine::open(Arc::new(disk.clone()), options.clone())?;
    let table = engine.create_table("accounts")?;
    let history = engine.create_table("history")?;
    for first in (0..ACCOUNTS).step_by(1000) {
        let mut txn = engine.begin();
        for n in first..first + 1000 {
            txn.insert(&table, &n.to_be_bytes(), &[0; 100])?;
        }
        txn.commit()?;
    }
    engine.checkpoint()?;
    let from = engine.log().end().0;
    let (mut n, mut value) = (0u64, Vec::new());
    let begun = Instant::now();
    while engine.log().end().0 < from + (megabytes << 20) {
        let mut txn = engine.begin();
        for step in 1..4 {
            let key = (n.wrapping_mul(0x9E37_79B9_7F4A_7C15 * step) % ACCOUNTS).to_be_bytes();
            txn.get_for_update_into(&table, &key, &mut value)?;
            value[..8].copy_from_slice(&n.to_le_bytes());
            txn.put(&table, &key, &value)?;
        }
        txn.insert(&history, &n.to_be_bytes(), &[1; 50])?;
        txn.commit()?;
        n += 1;
    }
    let took = begun.elapsed();
    println!("{n} transactions, one thread, {:.1} µs each", took.as_secs_f64() * 1e6 / n as f64);
    engine.log().wait_durable(engine.log().end())?;
    let image = disk.fork();
    drop(engine);
    let begun = Instant::now();
    let recovered = Engine::open(Arc::new(image), options)?;
    let took = begun.elapsed();
    let report = recovered.recovery();
    println!(
        "{} MB of log, {} records: {:.2} s, {:.2} µs a record",
        (report.redo_to.0 - report.redo_from.0) >> 20,
        report.records,
        took.as_secs_f64(),
        took.as_secs_f64() * 1e6 / report.records as f64
    );
    Ok(())
}
