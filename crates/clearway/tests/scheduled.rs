//! Pipelines under many schedules, on shuttle's threads and over a disk in memory: see
//! `docs/testing-models.md`. A hang is a failure.
#![cfg(shuttle)]

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use clearway::{
    Database, Error, LentTransaction, LockWait, Options, PipelineOptions, Result, Table,
    Transaction,
};
use clearway_sync::{
    block_on,
    schedules::{check, random},
};
use clearway_testkit::polled_once;

fn open() -> (Database, Table) {
    let options = Options::in_memory().cache_size(48 * 8192).time_one_in(0).background(false);
    // As small as possible: the cost of a test is the length of its schedules.
    let options = options.engine(|engine| {
        engine.log.ring_bytes = 64 << 10;
        engine.log.segment_bytes = 32 << 10;
        engine.log.capacity_bytes = 1 << 20;
        engine.pool.max_bytes = 2 << 20;
        engine.pool.batches_in_flight = 1;
        engine.pool.background_cleaner = false;
        (engine.lock.buckets, engine.lock.intents, engine.lock.spins) = (8, 2, 1);
    });
    let db = options.open("scheduled").unwrap();
    let table = db.table("t").unwrap();
    (db, table)
}

fn add_one(tx: &mut Transaction, table: &Table) -> Result<u8> {
    let old = tx.get_for_update(table, b"n")?.map_or(0, |row| row[0]);
    tx.put(table, b"n", [old + 1])?;
    Ok(old + 1)
}

async fn add_one_as_task(mut tx: LentTransaction, table: &Table) -> Result<u8> {
    let old = tx.get_for_update(table, b"n").await?.map_or(0, |row| row[0]);
    tx.put(table, b"n", [old + 1]).await?;
    Ok(old + 1)
}

/// Each client gets its own number, whichever agent delivers it, and the close waits for all. The
/// transactions are closures that block or tasks, and a task beside the agents is dropped while it
/// waits, or with its change.
#[test]
fn each_result_is_delivered_once_and_the_close_waits() {
    check("pipeline", 300, || {
        let (db, table) = open();
        let pipeline = PipelineOptions::new().agents(2).start(&db).unwrap();
        let delivered = Arc::new(AtomicU64::new(0));
        // All of one kind: a closure that blocks must not wait for a task of its agent.
        let are_tasks = random(2) == 0;
        for _ in 0..3 {
            let (table, delivered) = (table.clone(), delivered.clone());
            let done = move |result: Result<u8>| {
                // An atomic of the standard library is not a scheduling point, and need not be.
                delivered.fetch_add(1 << (8 * (result.unwrap() - 1)), Ordering::SeqCst);
            };
            let given = if are_tasks {
                let body = async move |tx| add_one_as_task(tx, &table).await;
                pipeline.submit_async_then("add", body, done)
            } else {
                pipeline.submit_then("add", move |tx| add_one(tx, &table), done)
            };
            given.unwrap();
        }
        block_on(async {
            let mut dropped = db.begin_async("dropped");
            dropped.lock_wait(LockWait::Forever);
            let _ = polled_once(dropped.put(&table, b"n", [100])).await;
        });
        pipeline.close();
        assert_eq!(delivered.load(Ordering::SeqCst), 0x01_01_01);
        db.close().unwrap();
    });
}

/// A client that waits for its ticket is woken. If the database closes first, it gets that error.
#[test]
fn tickets_are_completed_though_the_database_closes() {
    check("pipeline and close", 300, || {
        let (db, table) = open();
        let pipeline = PipelineOptions::new().agents(1).start(&db).unwrap();
        let ticket = pipeline.submit("add", move |tx| add_one(tx, &table)).unwrap();
        let closer = {
            let db = db.clone();
            clearway_sync::thread::spawn(move || db.close().unwrap())
        };
        match ticket.wait() {
            Ok(1) | Err(Error::Closed) => {}
            other => panic!("{other:?}"),
        }
        closer.join().unwrap();
        pipeline.close();
    });
}
