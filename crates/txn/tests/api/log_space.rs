//! Waits for log space: which transactions wait, how long, and what the error reports.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use clearway_base::{Error, LogKeeper, Result};
use clearway_disk::MemoryDisk;
use clearway_log::LogOptions;
use clearway_testkit::disk::{Faults, FaultyDisk, Operation};
use clearway_txn::{Engine, EngineOptions, Table};

use crate::rig::{check, open_with, options};

/// Upper bound on a reservation without a wait for a checkpoint: 100 ms, and what a busy machine
/// adds.
const SOON: Duration = Duration::from_secs(2);

/// A log of half a megabyte, and threads that take checkpoints.
fn small() -> EngineOptions {
    let log = LogOptions { capacity_bytes: 512 << 10, ..options().log };
    EngineOptions { log, background: true, ..options() }
}

/// Commits one row, durably.
fn commit_one(engine: &Arc<Engine>, table: &Table, key: u64) -> Result<()> {
    let mut txn = engine.begin();
    txn.put(table, &key.to_be_bytes(), &[7; 400])?;
    engine.log().wait_durable(txn.commit()?.ack)
}

/// Commits until the log is full: the error, and how long the longest call took.
fn commit_until_full(engine: &Arc<Engine>, table: &Table) -> (Error, Duration) {
    let mut longest = Duration::ZERO;
    for n in 0..100_000 {
        let begun = Instant::now();
        let committed = commit_one(engine, table, n % 50);
        longest = longest.max(begun.elapsed());
        if let Err(error) = committed {
            return (error, longest);
        }
    }
    panic!("the log is never full");
}

#[test]
fn a_transaction_too_large_for_the_log_fails_at_once_and_stops_no_other() {
    let engine = open_with(MemoryDisk::new(), small());
    let table = engine.create_table("t").unwrap();
    let kind = engine.kinds().of_name("load");
    let is_over = AtomicBool::new(false);
    let longest_us = AtomicU64::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0.. {
                if is_over.load(Ordering::SeqCst) {
                    break;
                }
                let begun = Instant::now();
                match commit_one(&engine, &table, n % 50) {
                    Ok(()) | Err(Error::LogFull { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
                longest_us.fetch_max(begun.elapsed().as_micros() as u64, Ordering::SeqCst);
            }
        });
        let mut large = engine.begin_as(kind);
        let mut begun = Instant::now();
        let refused = (1_000u64..).find_map(|n| {
            begun = Instant::now();
            large.put(&table, &n.to_be_bytes(), &[9; 1000]).err()
        });
        let took = begun.elapsed();
        let Some(Error::LogFull { keeper: Some(keeper), .. }) = refused else {
            panic!("{refused:?}")
        };
        let LogKeeper::Transaction { txn, is_own, .. } = &*keeper else { panic!("{keeper}") };
        assert_eq!((txn.id, txn.kind, *is_own), (large.id(), "load", true));
        assert!(took < SOON, "it has waited for itself: {took:?}");
        // For a moment the others share the log with it.
        thread::sleep(Duration::from_millis(300));
        large.rollback().unwrap();
        is_over.store(true, Ordering::SeqCst);
    });
    let longest = Duration::from_micros(longest_us.into_inner());
    assert!(longest < SOON, "another writer has waited: {longest:?}");
    commit_one(&engine, &table, 0).unwrap();
    check(&engine);
}

#[test]
fn a_writer_that_idles_is_named_and_no_other_waits_long_for_it() {
    let engine = open_with(MemoryDisk::new(), small());
    let table = engine.create_table("t").unwrap();
    let mut idle = engine.begin_as(engine.kinds().of_name("idle"));
    idle.put(&table, b"k", b"v").unwrap();
    thread::sleep(Duration::from_millis(200));
    let (full, longest) = commit_until_full(&engine, &table);
    assert!(longest < SOON, "{longest:?}");
    let text = full.to_string();
    let Error::LogFull { keeper: Some(keeper), .. } = full else { panic!("{full}") };
    let LogKeeper::Transaction { txn, age: Some(age), is_own: false } = &*keeper else {
        panic!("{keeper}")
    };
    assert_eq!((txn.id, txn.kind), (idle.id(), "idle"));
    assert!(*age >= Duration::from_millis(100) && *age < Duration::from_secs(60), "{age:?}");
    let expected = format!(
        "\"idle\" (transaction {}), open for {:.1} s, keeps it from being recycled; end it, or \
         raise Options::log_capacity",
        txn.id.0,
        age.as_secs_f64()
    );
    assert!(text.ends_with(&expected), "{text}");
    // By now it is known that waiting is in vain.
    thread::sleep(Duration::from_millis(100));
    let begun = Instant::now();
    for n in 0..50 {
        assert!(matches!(commit_one(&engine, &table, n), Err(Error::LogFull { .. })));
    }
    assert!(begun.elapsed() < SOON, "that is no wait of 100 ms each: {:?}", begun.elapsed());
    idle.rollback().unwrap();
    for n in 0..50 {
        commit_one(&engine, &table, n).unwrap();
    }
    check(&engine);
}

/// Checkpoints are slow, writers are fast, and the log is small: writers wait for checkpoints, each
/// longer than a reservation waits without one, and none is refused.
#[test]
fn writers_wait_for_a_slow_checkpoint_that_makes_room() {
    let faults = Faults::new();
    faults.watch(|event| {
        if event.operation == Operation::Sync && event.name == "data" {
            thread::sleep(Duration::from_millis(250));
        }
        None
    });
    let engine = open_with(FaultyDisk::new(MemoryDisk::new(), faults.clone()), small());
    let table = engine.create_table("t").unwrap();
    // Twice, so that something comes after the first.
    for _ in 0..2 {
        let long = (0..20_000).find(|n| {
            let begun = Instant::now();
            commit_one(&engine, &table, n % 300).unwrap();
            begun.elapsed() > Duration::from_millis(150)
        });
        assert!(long.is_some(), "or it shows nothing");
    }
    faults.clear();
    check(&engine);
}

/// A crash leaves the log full. The opening's checkpoint frees nothing, since redo's pages are not
/// written yet; the first writers wait for the next one.
#[test]
fn writers_wait_after_an_opening_that_found_the_log_full() {
    let memory = MemoryDisk::new();
    let crashed = {
        let engine = open_with(memory.clone(), EngineOptions { background: false, ..small() });
        let table = engine.create_table("t").unwrap();
        let (full, _) = commit_until_full(&engine, &table);
        assert!(matches!(full, Error::LogFull { keeper: None, .. }), "{full}");
        memory.fork()
    };
    let faults = Faults::new();
    faults.watch(|event| {
        if event.operation == Operation::Sync && event.name == "data" {
            thread::sleep(Duration::from_millis(150));
        }
        None
    });
    let engine = open_with(FaultyDisk::new(crashed, faults.clone()), small());
    let table = engine.open_table("t").unwrap();
    for n in 0..100 {
        commit_one(&engine, &table, n % 50).unwrap();
    }
    faults.clear();
    check(&engine);
}

/// Longer than a reservation waits if no checkpoint can make room.
const LATE: Duration = Duration::from_millis(400);

/// A disk on which no sync of the data file ends while the flag is set.
fn held_syncs() -> (FaultyDisk<MemoryDisk>, Faults, Arc<AtomicBool>) {
    let (faults, held) = (Faults::new(), Arc::new(AtomicBool::new(false)));
    let flag = held.clone();
    faults.watch(move |event| {
        while event.operation == Operation::Sync
            && event.name == "data"
            && flag.load(Ordering::SeqCst)
        {
            thread::sleep(Duration::from_millis(1));
        }
        None
    });
    (FaultyDisk::new(MemoryDisk::new(), faults.clone()), faults, held)
}

/// A checkpoint that frees nothing is under way when the log becomes full, and takes long. Writers
/// wait for the one after it.
#[test]
fn writers_wait_for_the_checkpoint_after_one_that_frees_nothing() {
    let (disk, faults, held) = held_syncs();
    // Else the checkpointer would be in such a checkpoint, or not, by chance.
    let engine = open_with(disk, EngineOptions { checkpoint_log_bytes: 1 << 30, ..small() });
    let table = engine.create_table("t").unwrap();
    let committed = AtomicU64::new(0);
    held.store(true, Ordering::SeqCst);
    thread::scope(|scope| {
        let checkpoint = scope.spawn(|| engine.checkpoint_lightly());
        let writer = scope.spawn(|| {
            (0..3_000).try_for_each(|n| {
                committed.store(n, Ordering::SeqCst);
                commit_one(&engine, &table, n % 50)
            })
        });
        let (mut last, mut since) = (u64::MAX, Instant::now());
        while since.elapsed() < LATE && !writer.is_finished() {
            let now = committed.load(Ordering::SeqCst);
            if now != last {
                (last, since) = (now, Instant::now());
            }
            thread::sleep(Duration::from_millis(1));
        }
        let was_waiting = !writer.is_finished();
        held.store(false, Ordering::SeqCst);
        checkpoint.join().unwrap().unwrap();
        let result = writer.join().unwrap();
        assert!(result.is_ok(), "{result:?} after {last} commits");
        assert!(was_waiting, "or it shows nothing");
    });
    faults.clear();
    check(&engine);
}

/// Values are to be freed when the log is full, and the transaction that has deleted them keeps the
/// log: as long as they are not freed, no checkpoint makes room.
#[test]
fn deallocations_that_find_the_log_full_make_room_in_it() {
    for (values, bytes, background) in
        [(200, 300, false), (1, 15 << 20, false), (1, 15 << 20, true)]
    {
        let log = LogOptions { capacity_bytes: 64 << 20, ..options().log };
        let large = EngineOptions { log, background: false, ..options() };
        let memory = MemoryDisk::new();
        {
            let engine = open_with(memory.clone(), large);
            let table = engine.create_table("t").unwrap();
            let mut txn = engine.begin();
            for n in 0..values {
                txn.put(&table, &(1_000 + n as u64).to_be_bytes(), &vec![7; bytes]).unwrap();
            }
            engine.log().wait_durable(txn.commit().unwrap().ack).unwrap();
            engine.close().unwrap();
        }
        let engine = open_with(memory, EngineOptions { background, ..small() });
        let table = engine.open_table("t").unwrap();
        let mut txn = engine.begin();
        for n in 0..values {
            txn.delete(&table, &(1_000 + n as u64).to_be_bytes()).unwrap();
        }
        let (full, _) = commit_until_full(&engine, &table);
        assert!(matches!(full, Error::LogFull { .. }), "{full}");
        engine.log().wait_durable(txn.commit().unwrap().ack).unwrap();
        for n in 0..50 {
            engine.checkpoint().unwrap();
            commit_one(&engine, &table, n).unwrap();
        }
        check(&engine);
    }
}
