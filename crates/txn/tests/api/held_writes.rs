//! An engine whose disk completes the write of a page late, or never.

use std::{sync::Arc, thread, time::Duration};

use clearway_base::{Error, Result};
use clearway_disk::MemoryDisk;
use clearway_testkit::disk::{HeldWrites, HeldWritesDisk};
use clearway_txn::{Engine, EngineOptions, Table};

use crate::rig;

/// Options of an engine with all threads, or with none that cleans and checkpoints.
fn limited(background: bool) -> EngineOptions {
    let mut options = EngineOptions { background, ..rig::options() };
    options.pool.background_cleaner = background;
    options.pool.close_wait = Duration::from_millis(100);
    options
}

/// A reopened engine with a table and an acknowledged row, whose disk holds writes from now on.
fn start(background: bool) -> (MemoryDisk, HeldWrites, Arc<Engine>, Table) {
    let (disk, writes) = (MemoryDisk::with_crashes(), HeldWrites::new());
    let held = HeldWritesDisk::new(disk.clone(), writes.clone());
    let engine = open(&disk).unwrap();
    engine.create_table("t").unwrap();
    engine.close().unwrap();
    let engine = Engine::open(Arc::new(held), limited(background)).unwrap();
    let table = engine.open_table("t").unwrap();
    rig::put(&engine, &table, "k", "1");
    writes.hold();
    (disk, writes, engine, table)
}

fn open(disk: &MemoryDisk) -> Result<Arc<Engine>> {
    Engine::open(Arc::new(disk.clone()), limited(false))
}

/// The directory is locked until the last write has ended; then the next opening recovers.
fn assert_locked_until_written(disk: &MemoryDisk, writes: &HeldWrites) {
    assert!(writes.count() > 0);
    while writes.count() > 0 {
        let refused = open(disk).err();
        assert!(matches!(refused, Some(Error::AlreadyOpen { .. })), "{refused:?}");
        writes.complete_one();
    }
    let engine = open(disk).unwrap();
    let table = engine.open_table("t").unwrap();
    assert_eq!(rig::get(&engine, &table, "k").as_deref(), Some("1"));
    engine.verify().unwrap();
    engine.close().unwrap();
}

#[test]
fn directory_stays_locked_until_a_late_write_has_ended() {
    for background in [false, true] {
        let (disk, writes, engine, table) = start(background);
        let closed = engine.close();
        assert!(matches!(closed, Err(Error::WriteTimeout { .. })), "{closed:?}");
        assert!(matches!(engine.close(), Err(Error::WriteTimeout { .. })), "the same again");
        drop((table, engine));
        assert_locked_until_written(&disk, &writes);
    }
}

#[test]
fn dropped_engine_does_not_wait_for_a_write_for_ever() {
    for background in [false, true] {
        let (disk, writes, engine, table) = start(background);
        drop((table, engine));
        assert_locked_until_written(&disk, &writes);
    }
}

/// A checkpoint waits for a write when the close begins, and gives up.
#[test]
fn checkpoint_gives_up_a_write_in_a_close() {
    let (disk, writes, engine, table) = start(true);
    thread::scope(|scope| {
        let checkpoint = scope.spawn(|| engine.checkpoint());
        writes.wait();
        let closed = engine.close();
        assert!(matches!(closed, Err(Error::WriteTimeout { .. })), "{closed:?}");
        let given_up = checkpoint.join().unwrap();
        assert!(matches!(given_up, Err(Error::Poisoned { .. })), "{given_up:?}");
    });
    drop((table, engine));
    assert_locked_until_written(&disk, &writes);
}

/// The thread that takes checkpoints waits for a write when the close begins, so the close waits
/// for the thread.
#[test]
fn checkpointer_gives_up_a_write_in_a_close() {
    let (disk, writes) = (MemoryDisk::with_crashes(), HeldWrites::new());
    let held = HeldWritesDisk::new(disk.clone(), writes.clone());
    let options = EngineOptions { checkpoint_log_bytes: 1, ..limited(true) };
    let engine = Engine::open(Arc::new(held), options).unwrap();
    let table = engine.create_table("t").unwrap();
    rig::put(&engine, &table, "k", "1");
    writes.hold();
    thread::scope(|scope| {
        let writing = scope.spawn(|| {
            while writes.count() == 0 {
                rig::put(&engine, &table, "other", "1");
            }
        });
        writes.wait();
        writing.join().unwrap();
    });
    let closed = engine.close();
    assert!(matches!(closed, Err(Error::WriteTimeout { .. })), "{closed:?}");
    drop((table, engine));
    assert_locked_until_written(&disk, &writes);
}

/// A transaction that is open across the close needs room in the cache, and so waits for a write.
/// It ends before the write does.
#[test]
fn transaction_that_waits_for_a_write_ends_before_the_write() {
    let (disk, writes) = (MemoryDisk::with_crashes(), HeldWrites::new());
    let held = HeldWritesDisk::new(disk.clone(), writes.clone());
    let mut options = limited(false);
    options.pool.cache_bytes = 512 << 10;
    let engine = Engine::open(Arc::new(held), options).unwrap();
    let table = engine.create_table("t").unwrap();
    rig::put(&engine, &table, "k", "1");
    writes.hold();
    thread::scope(|scope| {
        let filling = scope.spawn(|| {
            let mut txn = engine.begin();
            (0..100_000u32).try_for_each(|n| txn.put(&table, &n.to_be_bytes(), &[7; 100]).map(drop))
        });
        writes.wait();
        let closed = engine.close();
        assert!(matches!(closed, Err(Error::WriteTimeout { .. })), "{closed:?}");
        assert!(filling.join().unwrap().is_err());
    });
    assert_eq!(engine.stats().active, 0);
    drop((table, engine));
    assert_locked_until_written(&disk, &writes);
}
