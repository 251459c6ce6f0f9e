//! Upkeep forgets nothing: once it is idle there is no ghost, whatever left it.

use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use clearway_disk::MemoryDisk;
use clearway_lock::AbsoluteMode;
use clearway_testkit::disk::{HeldReads, HeldReadsDisk};
use clearway_tree::ReadIntent;
use clearway_txn::{Engine, EngineOptions, Kind, Table, VerifyReport};

use crate::rig::{self, commit, contents, open, open_with, options, put, start};

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

#[test]
fn a_locked_table_is_walked_when_its_lock_is_free() {
    let disk = with_a_loser();
    let engine = open(&disk);
    let table = engine.open_table("t").unwrap();
    let mut holder = engine.begin();
    holder.lock_table(&table, AbsoluteMode::Exclusive).unwrap();
    maintain(&engine);
    let stats = engine.stats();
    assert!(stats.upkeep_leaves > 0 && stats.upkeep_walks == 1, "{stats:?}");
    commit(&engine, holder);
    maintain(&engine);
    check_tidy(&engine);
}

/// A leaf with a locked ghost is merged into one without ghosts, gets a second ghost, loses the
/// first, and is split: the half with the second is still known to upkeep.
#[test]
fn ghosts_of_a_leaf_that_was_merged_and_split_again_go() {
    for deleted in (4..40).step_by(3) {
        for place in 0..deleted {
            merge_and_split(deleted, place);
        }
    }
}

/// Keeps the first `deleted` of 40 rows, and leaves a ghost behind the row at `place`.
fn merge_and_split(deleted: u32, place: u32) {
    let (_disk, engine, table) = start();
    let mut writer = engine.begin();
    (0..40).for_each(|n| writer.insert(&table, &key(10 * n), &[7; 20]).unwrap());
    commit(&engine, writer);
    let mut writer = engine.begin();
    (deleted..40).for_each(|n| writer.delete(&table, &key(10 * n)).unwrap());
    commit(&engine, writer);
    // Locks the last ghost, while the others go and their leaves are merged.
    let mut reader = engine.begin();
    assert_eq!(reader.get(&table, &key(390)).unwrap(), None);
    maintain(&engine);
    commit(&engine, reader);
    // Its own ghost is locked when the insertions make room and split the leaf.
    let mut writer = engine.begin();
    let savepoint = writer.savepoint().unwrap();
    writer.insert(&table, &key(10 * place + 1), &[7; 20]).unwrap();
    writer.rollback_to(&savepoint).unwrap();
    (0..8).for_each(|n| writer.insert(&table, &key(10 * place + 2 + n), &[7; 40]).unwrap());
    commit(&engine, writer);
    maintain(&engine);
    assert_eq!(engine.stats().upkeep_leaves, 0);
    assert_eq!(ghosts(&engine.verify().unwrap()), 0, "{deleted} rows kept, a ghost behind {place}");
}

/// Polls a future, completing the reads that it waits for, until it has waited more than `waits`
/// times. Returns true if it has ended.
fn ends_after(waits: usize, reads: &HeldReads, future: impl Future<Output = ()>) -> bool {
    let mut future = pin!(future);
    for _ in 0..=waits {
        if let Poll::Ready(()) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return true;
        }
        reads.complete_all();
    }
    false
}

/// Insertions split their leaf, and are dropped while they wait for the branch that is to adopt the
/// new one. The next insertion finds the leaf by the hint, and has room in it.
#[test]
fn foster_children_of_dropped_insertions_are_adopted() {
    let mut options = options();
    options.pool.cache_bytes = 64 * 8192;
    let reads = HeldReads::new(1);
    let engine = open_with(HeldReadsDisk::new(MemoryDisk::new(), reads.clone()), options);
    let (table, other) = (engine.create_table("t").unwrap(), engine.create_table("other").unwrap());
    for (table, rows) in [(&table, 0..200), (&table, 400..600), (&other, 0..800)] {
        let mut writer = engine.begin();
        rows.for_each(|n| writer.insert(table, &key(n), &[7; 100]).unwrap());
        commit(&engine, writer);
    }
    let mut task = engine.begin_task(Kind::NONE);
    let mut dropped = 0;
    for n in (300..400).rev() {
        // The branches are evicted, and not the leaf, which the task finds by its hint.
        let mut reader = engine.begin();
        for other_row in 0..800 {
            assert!(reader.get(&other, &key(other_row)).unwrap().is_some());
            let get = task.get_as_task(&table, key(n + 1), ReadIntent::Read);
            assert!(ends_after(10, &reads, async { assert!(get.await.unwrap().is_some()) }));
        }
        commit(&engine, reader);
        let mut insert = |waits| {
            let key = key(n);
            let insert = task.insert_as_task(&table, &key, &[7; 100]);
            ends_after(waits, &reads, async { insert.await.unwrap() })
        };
        if !insert(0) {
            dropped += 1;
            assert!(insert(100));
        }
    }
    commit(&engine, task);
    assert!(dropped > 8, "only {dropped} insertions waited");
    // From here on reads complete by themselves: the check reads nodes ahead.
    let reads = reads.complete_some_at_once(1);
    reads.complete_all();
    maintain(&engine);
    let report = engine.verify().unwrap();
    report.tables.iter().for_each(|table| table.report.check_idle().unwrap());
}
