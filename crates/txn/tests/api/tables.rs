//! Creating and dropping tables: while they are in use, while the disk fails, and across crashes.

use std::{
    io::ErrorKind,
    ops::Bound,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use clearway_base::{Error, PAGE_SIZE};
use clearway_disk::{Disk, MemoryDisk, OpenMode};
use clearway_lock::LockOptions;
use clearway_log::LogOptions;
use clearway_testkit::disk::{Faults, FaultyDisk, Lasting, Operation};
use clearway_tree::{Direction, ReadIntent};
use clearway_txn::{Engine, EngineOptions, Table};

use crate::rig::{check, commit, contents, get, open, open_with, options, put, start};

/// A time that is longer than anything here should take.
const TOO_LONG: Duration = Duration::from_secs(20);

/// Lock waits without a limit, so that a deadlock that is not found makes the test hang.
fn patient() -> EngineOptions {
    let lock = LockOptions { wait_limit: None, ..options().lock };
    EngineOptions { lock, ..options() }
}

/// Returns the result of `work`, which must end in time.
fn answer<R: Send + 'static>(what: &str, work: impl FnOnce() -> R + Send + 'static) -> R {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let _ = sender.send(work());
    });
    receiver.recv_timeout(TOO_LONG).unwrap_or_else(|_| panic!("{what} hangs"))
}

#[test]
fn user_of_a_table_that_is_being_dropped_can_create_another() {
    let engine = open_with(MemoryDisk::new(), patient());
    let old = engine.create_table("old").unwrap();
    let mut user = engine.begin();
    user.insert(&old, b"k", b"v").unwrap();
    let dropper = {
        let engine = engine.clone();
        thread::spawn(move || engine.drop_table("old"))
    };
    thread::sleep(Duration::from_millis(100));
    assert!(!dropper.is_finished());
    let creator = engine.clone();
    let new = answer("a creation beside a waiting drop", move || creator.create_table("new"));
    user.insert(&new.unwrap(), b"k", b"v").unwrap();
    commit(&engine, user);
    dropper.join().unwrap().unwrap();
    assert_eq!(engine.tables(), ["new"]);
    check(&engine);
}

#[test]
fn second_of_two_drops_finds_nothing_to_drop() {
    let (_, engine, table) = start();
    let mut user = engine.begin();
    user.insert(&table, b"k", b"v").unwrap();
    let droppers = [0, 1].map(|_| {
        let engine = engine.clone();
        thread::spawn(move || engine.drop_table("t"))
    });
    thread::sleep(Duration::from_millis(50));
    commit(&engine, user);
    let results = droppers.map(|dropper| dropper.join().unwrap());
    let unknown = |result: &Result<(), Error>| matches!(result, Err(Error::UnknownTable { .. }));
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1, "{results:?}");
    assert_eq!(results.iter().filter(|result| unknown(result)).count(), 1, "{results:?}");
    check(&engine);
}

#[test]
fn table_that_shares_an_intent_entry_can_be_dropped() {
    // With four entries every fourth table shares one with the catalogue, and with each other.
    let lock = LockOptions { intents: 4, ..patient().lock };
    let engine = open_with(MemoryDisk::new(), EngineOptions { lock, ..options() });
    for n in 0..16 {
        let table = engine.create_table(&format!("t{n}")).unwrap();
        put(&engine, &table, "k", "v");
    }
    for n in 0..16 {
        let engine = engine.clone();
        answer("a drop", move || engine.drop_table(&format!("t{n}"))).unwrap();
    }
    assert!(engine.tables().is_empty());
    check(&engine);
}

#[test]
fn table_is_unknown_until_its_creation_is_durable() {
    let (faults, stall) = (Faults::new(), Arc::new(AtomicBool::new(false)));
    let held = stall.clone();
    faults.watch(move |event| {
        while held.load(Ordering::SeqCst) && event.name.starts_with("log/") {
            thread::sleep(Duration::from_millis(1));
        }
        None
    });
    let memory = MemoryDisk::with_crashes();
    let engine = open_with(FaultyDisk::new(memory.clone(), faults.clone()), options());
    stall.store(true, Ordering::SeqCst);
    let creators = [0, 1].map(|_| {
        let engine = engine.clone();
        thread::spawn(move || engine.create_table("new"))
    });
    thread::sleep(Duration::from_millis(100));
    let seen = (engine.open_table("new"), engine.tables());
    assert!(creators.iter().all(|creator| !creator.is_finished()));
    let image = memory.fork_durable();
    stall.store(false, Ordering::SeqCst);
    assert!(matches!(seen.0, Err(Error::UnknownTable { .. })), "{seen:?}");
    assert!(seen.1.is_empty());
    let created = creators.map(|creator| creator.join().unwrap());
    assert_eq!(created.iter().filter(|result| result.is_ok()).count(), 1, "{created:?}");
    let exists = |result: &Result<Table, Error>| matches!(result, Err(Error::TableExists { .. }));
    assert_eq!(created.iter().filter(|result| exists(result)).count(), 1, "{created:?}");
    assert_eq!(engine.tables(), ["new"]);
    assert!(open(&image).tables().is_empty(), "a crash undoes what no transaction could see");
}

#[test]
fn table_whose_creation_failed_is_unknown() {
    let (disk, faults) = (MemoryDisk::with_crashes(), Faults::new());
    let engine = open_with(FaultyDisk::new(disk.clone(), faults.clone()), options());
    faults.fail(Operation::Sync, "log/", 1, ErrorKind::Other, Lasting::Forever);
    faults.fail(Operation::Write, "log/", 1, ErrorKind::Other, Lasting::Forever);
    assert!(engine.create_table("new").is_err());
    assert!(engine.tables().is_empty());
    drop(engine);
    let engine = open(&disk.fork_durable());
    assert!(engine.tables().is_empty());
    engine.create_table("new").unwrap();
    check(&engine);
}

/// A closed database with the tables `big` and `other`.
fn two_tables() -> MemoryDisk {
    let disk = MemoryDisk::with_crashes();
    let engine = open(&disk);
    let (big, other) = (engine.create_table("big").unwrap(), engine.create_table("other").unwrap());
    put(&engine, &other, "k", "v");
    for n in 0..400 {
        put(&engine, &big, &format!("{n:04}"), &"v".repeat(200));
    }
    engine.close().unwrap();
    disk
}

/// An engine whose drop of `big` fails after its mark, because a page cannot be read.
fn half_dropped(disk: &MemoryDisk) -> (Arc<Engine>, Faults) {
    let faults = Faults::new();
    let engine = open_with(FaultyDisk::new(disk.clone(), faults.clone()), options());
    faults.fail(Operation::Read, "data", 30, ErrorKind::Interrupted, Lasting::Once);
    let dropped = engine.drop_table("big");
    faults.clear();
    assert!(dropped.is_err());
    engine.health().unwrap();
    assert_eq!(engine.tables(), ["other"]);
    (engine, faults)
}

#[test]
fn drop_that_failed_is_completed_by_the_next_drop() {
    let (engine, _) = half_dropped(&two_tables());
    assert!(matches!(engine.open_table("big"), Err(Error::UnknownTable { .. })));
    engine.drop_table("big").unwrap();
    assert!(matches!(engine.drop_table("big"), Err(Error::UnknownTable { .. })));
    check(&engine);
}

#[test]
fn drop_that_failed_is_completed_by_the_next_creation() {
    let disk = two_tables();
    let (engine, _) = half_dropped(&disk);
    let again = engine.create_table("big").unwrap();
    assert!(contents(&engine, &again).is_empty());
    put(&engine, &again, "k", "v");
    check(&engine);
    drop(engine);
    let engine = open(&disk.fork_durable());
    assert_eq!(get(&engine, &engine.open_table("big").unwrap(), "k").as_deref(), Some("v"));
    check(&engine);
}

/// Damages a page of the half-dropped table that is still in use.
fn damage_what_is_left(disk: &MemoryDisk) {
    let data = disk.open("data", OpenMode::Existing).unwrap();
    let pages = data.len().unwrap() / PAGE_SIZE as u64;
    let doublewrite = disk.open("doublewrite", OpenMode::Existing).unwrap();
    doublewrite.write_at(&vec![0; doublewrite.len().unwrap() as usize], 0).unwrap();
    for page in (6..pages).filter(|page| page % 8 == 0) {
        data.write_at(&[0xAA; 64], page * PAGE_SIZE as u64 + 100).unwrap();
    }
}

#[test]
fn damage_in_a_half_dropped_table_bars_that_name_only() {
    let disk = two_tables();
    let (engine, _) = half_dropped(&disk);
    engine.close().unwrap();
    drop(engine);
    damage_what_is_left(&disk);
    let engine = open(&disk);
    assert_eq!(get(&engine, &engine.open_table("other").unwrap(), "k").as_deref(), Some("v"));
    for attempt in [engine.drop_table("big"), engine.create_table("big").map(drop)] {
        assert!(
            !matches!(
                attempt,
                Ok(()) | Err(Error::UnknownTable { .. } | Error::TableExists { .. })
            ),
            "{attempt:?}"
        );
    }
    engine.health().unwrap();
    let another = engine.create_table("another").unwrap();
    put(&engine, &another, "k", "v");
}

#[test]
fn id_given_out_again_after_a_drop_leads_to_the_new_table_only() {
    let disk = MemoryDisk::with_crashes();
    let engine = open(&disk);
    let old = engine.create_table("old").unwrap();
    for n in 0..100 {
        put(&engine, &old, &format!("{n:03}"), &"old".repeat(30));
    }
    engine.drop_table("old").unwrap();
    // Neither opening closes: all of the log is replayed, the dropped table's records among it.
    let disk = disk.fork_durable();
    let engine = open(&disk);
    let new = engine.create_table("new").unwrap();
    let mut loser = engine.begin();
    for n in 0..60 {
        put(&engine, &new, &format!("{n:03}"), "new");
    }
    for n in 60..120 {
        loser.insert(&new, format!("{n:03}").as_bytes(), b"never").unwrap();
    }
    engine.log().wait_durable(engine.log().end()).unwrap();
    let engine = open(&disk.fork_durable());
    assert_eq!(engine.tables(), ["new"]);
    let found = contents(&engine, &engine.open_table("new").unwrap());
    assert_eq!(found.len(), 60);
    assert!(found.values().all(|value| value == b"new"));
    check(&engine);
}

#[test]
fn cursors_and_savepoints_of_another_database_are_refused() {
    let (_, x, of_x) = start();
    let (_, y, of_y) = start();
    let (mut a, mut b) = (x.begin(), y.begin());
    // The coincidence that makes them dangerous.
    assert_eq!(a.id(), b.id());
    a.insert(&of_x, b"x", b"1").unwrap();
    b.insert(&of_y, b"y", b"1").unwrap();
    let unbounded = || (Bound::Unbounded, Bound::Unbounded);
    let (low, high) = unbounded();
    let mut cursor = a.cursor(&of_x, low, high, Direction::Ascending, ReadIntent::Read).unwrap();
    let stepped = cursor.next(&mut b);
    assert!(matches!(stepped, Err(Error::TransactionEnded)), "{stepped:?}");
    let savepoint = a.savepoint().unwrap();
    b.savepoint().unwrap();
    assert!(matches!(b.rollback_to(&savepoint), Err(Error::UnknownSavepoint)));
    // A table whose id the transaction knows from its own database.
    assert_eq!(of_x.id(), of_y.id());
    for read in [b.get(&of_x, b"x"), b.get_for_update(&of_x, b"x")] {
        assert!(matches!(read, Err(Error::UnknownTable { .. })), "{read:?}");
    }
    assert!(matches!(b.insert(&of_x, b"z", b"1"), Err(Error::UnknownTable { .. })));
    assert_eq!(cursor.next(&mut a).unwrap().unwrap().0, b"x");
    a.rollback_to(&savepoint).unwrap();
}

#[test]
fn verify_finds_a_busy_database_healthy() {
    let log = LogOptions { capacity_bytes: 64 << 20, ..options().log };
    let engine = open_with(MemoryDisk::new(), EngineOptions { log, background: true, ..options() });
    let tables = ["a", "b"].map(|name| engine.create_table(name).unwrap());
    // What takes a walk long enough for the pages to be elsewhere before it is over.
    for (table, n) in tables.iter().flat_map(|table| (0..3000).map(move |n| (table, n))) {
        let mut txn = engine.begin();
        txn.insert(table, format!("{n:04}").as_bytes(), b"stays").unwrap();
        txn.commit().unwrap();
    }
    let stop = AtomicBool::new(false);
    let verified = thread::scope(|scope| {
        // Pages go from one tree to the other and back, all the time.
        scope.spawn(|| {
            let large = vec![7; 4 * PAGE_SIZE];
            while !stop.load(Ordering::Relaxed) {
                for table in &tables {
                    let mut txn = engine.begin();
                    txn.insert(table, b"!large", &large).unwrap();
                    txn.commit().unwrap();
                    thread::sleep(Duration::from_micros(100));
                    let mut txn = engine.begin();
                    txn.delete(table, b"!large").unwrap();
                    txn.commit().unwrap();
                }
            }
        });
        let verified = (0..3000).try_for_each(|_| engine.verify().map(drop));
        stop.store(true, Ordering::Relaxed);
        verified
    });
    verified.unwrap();
    check(&engine);
}
