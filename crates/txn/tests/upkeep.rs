//! Upkeep forgets nothing: once it is idle there is no ghost, whatever left it.

mod rig;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use clearway_disk::MemoryDisk;
use clearway_txn::{Engine, EngineOptions, Table, VerifyReport};

use rig::{commit, contents, open, open_with, options, put, start};

/// Rows in front of the one that stays.
const ROWS: u32 = 5_000;

fn with_threads() -> EngineOptions {
    EngineOptions { background: true, ..options() }
}

fn key(n: u32) -> [u8; 4] {
    n.to_be_bytes()
}

/// A database whose process died in a transaction that had inserted `ROWS` rows in front of one.
fn with_a_loser() -> MemoryDisk {
    let (disk, engine, table) = start();
    put(&engine, &table, "z", "stays");
    let mut loser = engine.begin();
    (0..ROWS).for_each(|n| loser.insert(&table, &key(n), &[7; 20]).unwrap());
    engine.log().force(engine.log().end()).unwrap();
    let killed = disk.fork();
    drop(loser);
    killed
}

/// Everything pending is done on this thread, as often as it takes.
fn maintain(engine: &Engine) {
    for _ in 0..10 {
        engine.maintain().unwrap();
    }
}

/// Waits until the background thread has nothing to do.
fn until_idle(engine: &Engine) {
    let end = Instant::now() + Duration::from_secs(20);
    let pending = || {
        let stats = engine.stats();
        (stats.upkeep_leaves, stats.upkeep_walks)
    };
    while pending() != (0, 0) {
        assert!(Instant::now() < end, "upkeep does not end: {:?}", pending());
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn ghosts(report: &VerifyReport) -> u64 {
    report.tables.iter().map(|table| table.report.ghosts).sum()
}

/// No ghost, and a look at the table's head meets its row in the first leaf or the second.
fn check_tidy(engine: &Arc<Engine>) {
    let report = engine.verify().unwrap();
    assert_eq!(ghosts(&report), 0);
    let table = report.tables.iter().find(|table| table.name == "t").unwrap();
    assert!(table.report.pages.len() <= 8, "{} pages for one row", table.report.pages.len());
    let table = engine.open_table("t").unwrap();
    assert_eq!(contents(engine, &table).len(), 1);
}

#[test]
fn ghosts_of_a_loser_go_once_recovery_has_undone_it() {
    let disk = with_a_loser();
    let engine = open(&disk);
    maintain(&engine);
    check_tidy(&engine);
    drop(engine);
    check_tidy(&open(&disk));
}

#[test]
fn ghosts_of_a_loser_go_in_the_background() {
    let disk = with_a_loser();
    let engine = open_with(disk.clone(), with_threads());
    until_idle(&engine);
    check_tidy(&engine);
    drop(engine);
    let engine = open_with(disk, with_threads());
    assert_eq!(engine.stats().upkeep_walks, 0, "nothing was left to look for");
    check_tidy(&engine);
}

/// However often upkeep finds it: the ghosts of those rows that a reader has found absent.
#[test]
fn ghosts_that_are_locked_for_long_go_when_the_locks_do() {
    let (_disk, engine, table) = start();
    put(&engine, &table, "z", "stays");
    let reader = delete_under_a_reader(&engine, &table);
    for _ in 0..40 {
        engine.maintain().unwrap();
    }
    assert!(ghosts(&engine.verify().unwrap()) >= 500, "a reader of their absence has them locked");
    commit(&engine, reader);
    maintain(&engine);
    check_tidy(&engine);
}

/// Inserts and deletes 500 rows, and has a transaction read that they are not there.
fn delete_under_a_reader(engine: &Arc<Engine>, table: &Table) -> clearway_txn::Transaction {
    let mut writer = engine.begin();
    (0..500).for_each(|n| writer.insert(table, &key(n), &[7; 20]).unwrap());
    commit(engine, writer);
    let mut writer = engine.begin();
    (0..500).for_each(|n| writer.delete(table, &key(n)).unwrap());
    commit(engine, writer);
    let mut reader = engine.begin();
    assert_eq!(rig::read_all(&mut reader, table).unwrap().len(), 1);
    reader
}

#[test]
fn what_is_pending_when_the_engine_ends_is_done_after_the_next_opening() {
    let (disk, engine, table) = start();
    put(&engine, &table, "z", "stays");
    let reader = delete_under_a_reader(&engine, &table);
    engine.maintain().unwrap();
    let killed = disk.fork();
    drop((reader, engine));
    for disk in [killed, disk] {
        let engine = open(&disk);
        maintain(&engine);
        check_tidy(&engine);
    }
}

#[test]
fn a_walk_that_a_close_interrupts_is_taken_up_by_the_next_opening() {
    let disk = with_a_loser();
    for _ in 0..5 {
        // Each close finishes the leaves that are quick to finish; the walk waits its turn.
        drop(open_with(disk.clone(), with_threads()));
    }
    let engine = open_with(disk, with_threads());
    until_idle(&engine);
    check_tidy(&engine);
}

#[test]
fn a_database_that_was_closed_in_order_and_tidy_is_not_walked() {
    let (disk, engine, table) = start();
    put(&engine, &table, "z", "stays");
    maintain(&engine);
    let killed = disk.fork();
    drop(engine);
    assert_eq!(open(&disk).stats().upkeep_walks, 0);
    // Here it might be untidy: who knows what the process had still to do.
    let engine = open(&killed);
    assert_eq!(engine.stats().upkeep_walks, 2, "the table and the catalogue");
    maintain(&engine);
    assert_eq!((engine.stats().upkeep_leaves, engine.stats().upkeep_walks), (0, 0));
}
