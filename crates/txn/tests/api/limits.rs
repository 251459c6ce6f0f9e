//! Requests that an engine refuses, and failures that it survives: full logs and disks, damage,
//! other openers.

use std::sync::Arc;

use clearway_base::{Error, PAGE_SIZE};
use clearway_disk::{Disk, MemoryDisk, OpenMode};
use clearway_log::LogOptions;
use clearway_testkit::disk::{Faults, FaultyDisk, Lasting, Operation};
use clearway_txn::{Creation, Engine, EngineOptions, Table};

use crate::rig::{check, commit, contents, get, open, open_with, options, put, start};

fn try_open(disk: &MemoryDisk, options: EngineOptions) -> Result<Arc<Engine>, Error> {
    Engine::open(Arc::new(disk.clone()), options)
}

#[test]
fn second_opener_is_refused() {
    let (disk, engine, table) = start();
    put(&engine, &table, "a", "1");
    assert!(matches!(try_open(&disk, options()), Err(Error::AlreadyOpen { .. })));
    engine.close().unwrap();
    let again = open(&disk);
    assert_eq!(get(&again, &again.open_table("t").unwrap(), "a").as_deref(), Some("1"));
}

#[test]
fn creation_follows_the_option() {
    let disk = MemoryDisk::new();
    let never = EngineOptions { create: Creation::Never, ..options() };
    assert!(matches!(try_open(&disk, never.clone()), Err(Error::NotADatabase { .. })));
    drop(open(&disk));
    let new = EngineOptions { create: Creation::New, ..options() };
    assert!(matches!(try_open(&disk, new), Err(Error::Io { .. })));
    assert!(try_open(&disk, never).is_ok());
}

#[test]
fn foreign_directory_is_refused_and_left_alone() {
    let disk = MemoryDisk::new();
    disk.open("diary.txt", OpenMode::Create).unwrap().write_at(b"dear", 0).unwrap();
    assert!(matches!(try_open(&disk, options()), Err(Error::NotADatabase { .. })));
    assert_eq!(disk.list("").unwrap(), ["diary.txt"]);
}

#[test]
fn damage_is_reported_and_not_repaired_over() {
    let (disk, engine, table) = start();
    for n in 0..200 {
        put(&engine, &table, &format!("{n}"), &"v".repeat(100));
    }
    engine.close().unwrap();
    drop(engine);
    // One superblock copy may go, both may not.
    let damaged = disk.fork();
    let data = damaged.open("data", OpenMode::Existing).unwrap();
    data.write_at(&[0xAA; 64], 16).unwrap();
    drop(try_open(&damaged.fork(), options()).unwrap());
    data.write_at(&[0xAA; 64], PAGE_SIZE as u64 + 16).unwrap();
    let error = try_open(&damaged, options()).unwrap_err();
    assert!(matches!(error, Error::Corrupt { what: "superblock", .. }), "{error}");
    // A page.
    let damaged = disk.fork();
    let data = damaged.open("data", OpenMode::Existing).unwrap();
    data.write_at(&[0xAA; 64], 5 * PAGE_SIZE as u64 + 100).unwrap();
    let engine = try_open(&damaged, options()).unwrap();
    assert!(matches!(engine.verify(), Err(Error::CorruptPage { .. })));
}

#[test]
fn node_size_is_the_databases() {
    let (disk, engine, table) = start();
    put(&engine, &table, "a", "1");
    drop((table, engine));
    let other = EngineOptions { node_bytes: 4096, ..options() };
    let engine = try_open(&disk, other).unwrap();
    let table = engine.open_table("t").unwrap();
    for n in 0..100 {
        put(&engine, &table, &format!("{n}"), "v");
    }
    check(&engine);
}

#[test]
fn long_transaction_that_fills_the_log_can_roll_back() {
    let disk = MemoryDisk::new();
    let log = LogOptions { capacity_bytes: 512 << 10, ..options().log };
    let engine = open_with(disk, EngineOptions { log, background: true, ..options() });
    let table = engine.create_table("t").unwrap();
    put(&engine, &table, "before", "v");
    let before = contents(&engine, &table);
    let mut long = engine.begin();
    let mut error = None;
    for n in 0..20_000u32 {
        if let Err(e) = long.put(&table, format!("k{:05}", n % 3000).as_bytes(), &[n as u8; 50]) {
            error = Some(e);
            break;
        }
    }
    assert!(matches!(error, Some(Error::LogFull { .. })), "{error:?}");
    assert!(long.is_active());
    long.rollback().unwrap();
    assert_eq!(contents(&engine, &table), before);
    assert_eq!(engine.stats().log.beyond_bytes, 0, "its room was kept (TXN-SPACE-2)");
    // And the service goes on.
    for n in 0..500 {
        put(&engine, &table, &format!("{n}"), "after");
    }
    assert_eq!(contents(&engine, &table).len(), 501);
    check(&engine);
}

/// Small durable commits until one is refused, and why.
fn fill_the_log(engine: &Arc<Engine>, table: &Table) -> Option<Error> {
    (0..100_000u32).find_map(|n| {
        let mut filler = engine.begin();
        let put = filler.put(table, b"filler", &n.to_be_bytes().repeat(2));
        let ack = put.and_then(|_| filler.commit());
        ack.and_then(|committed| engine.log().wait_durable(committed.ack)).err()
    })
}

#[test]
fn rollback_that_has_to_split_pages_goes_beyond_a_full_log() {
    let disk = MemoryDisk::new();
    let log = LogOptions { capacity_bytes: 512 << 10, background: false, ..options().log };
    let engine = open_with(disk, EngineOptions { log, node_bytes: 4096, ..options() });
    let table = engine.create_table("t").unwrap();
    let key = |n: u32, suffix: &str| format!("{n:03}{suffix}");
    for n in 0..120 {
        put(&engine, &table, &key(n, ""), &"long".repeat(125));
    }
    engine.checkpoint().unwrap();
    // Others take the room that its shorter values have left in the pages, and then all of the log.
    let mut txn = engine.begin();
    for n in 0..120 {
        txn.put(&table, key(n, "").as_bytes(), b"short").unwrap();
    }
    for n in 0..120 {
        put(&engine, &table, &key(n, "x"), &"other".repeat(100));
    }
    let full = fill_the_log(&engine, &table);
    assert!(matches!(full, Some(Error::LogFull { .. })), "{full:?}");
    let drained = (0..1_000).find_map(|_| engine.checkpoint().err());
    assert!(matches!(drained, Some(Error::LogFull { .. })), "{drained:?}");
    txn.rollback().unwrap();
    let rows = contents(&engine, &table);
    assert_eq!(rows.len(), 241);
    assert_eq!(rows[b"042".as_slice()], "long".repeat(125).into_bytes());
    assert!(engine.stats().log.beyond_bytes > 0, "or it shows nothing");
    // The reserve is gone as well, and a checkpoint brings the log back below its capacity.
    engine.checkpoint().unwrap();
    assert!(engine.log().used_bytes() < 256 << 10);
    put(&engine, &table, "after", "v");
    check(&engine);
}

#[test]
fn rollback_on_a_full_disk_makes_do_with_what_was_kept_for_it() {
    let (faults, memory) = (Faults::new(), MemoryDisk::new());
    let log = LogOptions { background: false, ..options().log };
    let roomy = EngineOptions { log, node_bytes: PAGE_SIZE, ..options() };
    let engine = open_with(FaultyDisk::new(memory, faults.clone()), roomy);
    let table = engine.create_table("t").unwrap();
    for n in 0..60u8 {
        put(&engine, &table, &format!("{n:02}"), &"long".repeat(250));
    }
    engine.checkpoint().unwrap();
    faults.fail(Operation::Allocate, "", 1, std::io::ErrorKind::StorageFull, Lasting::Forever);
    // Others take what is prepared of the log, while a transaction keeps it from being given back.
    let mut txn = engine.begin();
    for n in 0..20u8 {
        txn.put(&table, format!("{n:02}").as_bytes(), b"short").unwrap();
    }
    let full = fill_the_log(&engine, &table);
    assert!(matches!(full, Some(Error::DiskFull { .. })), "{full:?}");
    let drained = (0..1_000).find_map(|_| engine.checkpoint().err());
    assert!(matches!(drained, Some(Error::DiskFull { .. })), "{drained:?}");
    txn.rollback().unwrap();
    engine.checkpoint().unwrap();
    put(&engine, &table, "after", "v");
    assert_eq!(get(&engine, &table, "07"), Some("long".repeat(250)));
    check(&engine);
}

#[test]
fn a_log_without_a_byte_to_spare_is_recovered() {
    let disk = MemoryDisk::new();
    let log = LogOptions { capacity_bytes: 512 << 10, background: false, ..options().log };
    let options = EngineOptions { log, ..options() };
    let engine = open_with(disk.clone(), options.clone());
    let table = engine.create_table("t").unwrap();
    put(&engine, &table, "before", "v");
    // Keeps the log from being truncated, while others fill it and checkpoints use up the reserve.
    let mut long = engine.begin();
    long.put(&table, b"long", b"v").unwrap();
    let fill = (0..100_000u32).find_map(|n| {
        let mut txn = engine.begin();
        let put = txn.put(&table, format!("{n}").as_bytes(), &[7; 50]);
        put.and_then(|_| txn.commit()).err()
    });
    assert!(matches!(fill, Some(Error::LogFull { .. })), "{fill:?}");
    let full = (0..1_000).find_map(|_| engine.checkpoint().err());
    assert!(matches!(full, Some(Error::LogFull { .. })), "{full:?}");
    engine.log().wait_durable(engine.log().end()).unwrap();
    let crashed = disk.fork();
    std::mem::forget(long);
    let engine = open_with(crashed.clone(), options.clone());
    let table = engine.open_table("t").unwrap();
    assert_eq!(get(&engine, &table, "before").as_deref(), Some("v"));
    assert_eq!(get(&engine, &table, "long"), None);
    check(&engine);
    // From here on the capacity holds again.
    let used = |disk: &MemoryDisk| -> u64 {
        let names = disk.list("log").unwrap();
        let len = |name| disk.open(&format!("log/{name}"), OpenMode::Existing).unwrap().len();
        names.iter().map(|name| len(name).unwrap()).sum()
    };
    for n in 0..3_000 {
        put(&engine, &table, &format!("{n}"), "after");
        if n % 500 == 0 {
            engine.checkpoint().unwrap();
        }
    }
    assert!(used(&crashed) <= 512 << 10, "{} bytes of log", used(&crashed));
}

#[test]
fn a_full_disk_is_opened_again_and_again() {
    let (faults, mut memory) = (Faults::new(), MemoryDisk::new());
    let full = std::io::ErrorKind::StorageFull;
    let mut kept = 0;
    for round in 0..40 {
        // Of the opening before, nothing is left but what it wrote.
        memory = memory.fork();
        let disk = FaultyDisk::new(memory.clone(), faults.clone());
        let log = LogOptions { background: false, ..options().log };
        let engine = open_with(disk, EngineOptions { log, ..options() });
        let table = match round {
            0 => engine.create_table("t").unwrap(),
            _ => engine.open_table("t").unwrap(),
        };
        assert_eq!(contents(&engine, &table).len(), kept, "round {round}");
        // From the first round on there is no byte more than the files have.
        faults.fail(Operation::Allocate, "", 1, full, Lasting::Forever);
        let refused = (0..100_000).find_map(|n| {
            let mut txn = engine.begin();
            let put = txn.put(&table, format!("{round} {n}").as_bytes(), &[7; 50]);
            let ack = put.and_then(|_| txn.commit());
            let durable = ack.and_then(|committed| engine.log().wait_durable(committed.ack));
            kept += usize::from(durable.is_ok());
            durable.err()
        });
        let is_full = matches!(refused, Some(Error::DiskFull { .. } | Error::LogFull { .. }));
        assert!(is_full, "round {round}: {refused:?}");
        // A transaction that will not have ended when the process dies.
        let mut loser = engine.begin();
        let _ = loser.put(&table, b"0 0", b"never committed");
        std::mem::forget(loser);
    }
}

#[test]
fn log_is_recycled_while_transactions_run() {
    let disk = MemoryDisk::new();
    let log = LogOptions { capacity_bytes: 512 << 10, ..options().log };
    let engine = open_with(disk.clone(), EngineOptions { log, background: true, ..options() });
    let table = engine.create_table("t").unwrap();
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let (engine, table) = (&engine, &table);
            scope.spawn(move || {
                for n in 0..1500 {
                    let mut txn = engine.begin();
                    txn.put(table, format!("{thread}/{:03}", n % 300).as_bytes(), &[7; 200])
                        .unwrap();
                    txn.commit().unwrap();
                }
            });
        }
    });
    engine.log().wait_durable(engine.log().end()).unwrap();
    assert!(engine.log().end().0 > 1 << 20, "the log went round");
    assert!(engine.stats().checkpoints > 2);
    let image = disk.fork();
    drop(engine);
    let recovered = open(&image);
    assert_eq!(contents(&recovered, &recovered.open_table("t").unwrap()).len(), 900);
    check(&recovered);
}

#[test]
fn full_disk_fails_the_transaction_and_nothing_else() {
    let (faults, memory) = (Faults::new(), MemoryDisk::new());
    let engine = open_with(FaultyDisk::new(memory.clone(), faults.clone()), options());
    let table = engine.create_table("t").unwrap();
    put(&engine, &table, "a", "1");
    let full = std::io::ErrorKind::StorageFull;
    faults.fail(Operation::Allocate, "", 1, full, Lasting::Forever);
    let mut txn = engine.begin();
    let result =
        (0..100_000u32).try_for_each(|n| txn.put(&table, &n.to_be_bytes(), &[1; 60]).map(drop));
    assert!(matches!(result, Err(Error::DiskFull { .. })), "{result:?}");
    assert_eq!(get(&engine, &table, "a").as_deref(), Some("1"));
    txn.rollback().unwrap();
    faults.clear();
    put(&engine, &table, "b", "2");
    assert_eq!(contents(&engine, &table).len(), 2);
    check(&engine);
}

#[test]
fn rollback_on_a_full_disk_has_its_pages_though_a_crash_has_shortened_the_file() {
    let mut roomy = options();
    roomy.log.segment_bytes = 1 << 20;
    let disk = MemoryDisk::new();
    let engine = open_with(disk.clone(), roomy.clone());
    let table = engine.create_table("t").unwrap();
    let mut txn = engine.begin();
    for number in 0..60u8 {
        txn.insert(&table, &[number], &[7; 60]).unwrap();
    }
    commit(&engine, txn);
    engine.checkpoint().unwrap();
    // What the power leaves of the file: all that was written, and no room behind it.
    let crashed = disk.fork();
    let data = crashed.open("data", OpenMode::Existing).unwrap();
    let mut bytes = vec![0; data.len().unwrap() as usize];
    data.read_at(&mut bytes, 0).unwrap();
    let last = bytes.chunks(PAGE_SIZE).rposition(|page| page.iter().any(|byte| *byte != 0));
    data.set_len((last.unwrap() as u64 + 1) * PAGE_SIZE as u64).unwrap();
    let engine = open_with(crashed.clone(), roomy);
    let table = engine.open_table("t").unwrap();
    let before = contents(&engine, &table);
    crashed.set_capacity(crashed.used_bytes());
    // All pages are in use but those that are kept.
    let mut filler = engine.begin();
    let stored = (0..200u8).try_for_each(|n| filler.put(&table, &[99, n], &[7; 7000]).map(drop));
    assert!(matches!(stored, Err(Error::DiskFull { .. })), "{stored:?}");
    filler.commit().unwrap();
    // Values make room, others take it, and there is no page for more.
    let (mut txn, mut other) = (engine.begin(), engine.begin());
    for number in 0..60u8 {
        txn.put(&table, &[number], &[]).unwrap();
    }
    let full = (0..60u8).filter(|number| {
        let stored = (0..9).try_for_each(|n| other.put(&table, &[*number, n], &[7; 9]).map(drop));
        matches!(stored, Err(Error::DiskFull { .. }))
    });
    assert!(full.count() > 10);
    other.commit().unwrap();
    txn.rollback().unwrap();
    engine.health().unwrap();
    let after = contents(&engine, &table);
    assert!(before.iter().all(|(key, value)| after.get(key) == Some(value)));
}

#[test]
fn failed_data_write_stops_the_engine_and_loses_nothing() {
    let (faults, memory) = (Faults::new(), MemoryDisk::with_crashes());
    let engine = open_with(FaultyDisk::new(memory.clone(), faults.clone()), options());
    let table = engine.create_table("t").unwrap();
    put(&engine, &table, "a", "1");
    faults.fail(Operation::Sync, "data", 1, std::io::ErrorKind::Other, Lasting::Once);
    assert!(matches!(engine.checkpoint(), Err(Error::Poisoned { .. })));
    assert!(matches!(engine.begin().get(&table, b"a"), Err(Error::Poisoned { .. })));
    let recovered = open(&memory.fork_durable());
    assert_eq!(get(&recovered, &recovered.open_table("t").unwrap(), "a").as_deref(), Some("1"));
}

#[test]
fn closed_engine_says_so() {
    let (_, engine, table) = start();
    let mut txn = engine.begin();
    txn.put(&table, b"a", b"lost").unwrap();
    engine.close().unwrap();
    assert!(matches!(txn.commit(), Err(Error::Closed)));
    assert!(matches!(engine.begin().get(&table, b"a"), Err(Error::Closed)));
    assert!(matches!(engine.open_table("t"), Err(Error::Closed)));
    assert!(matches!(engine.create_table("u"), Err(Error::Closed)));
    assert!(matches!(engine.checkpoint(), Err(Error::Closed)));
}

#[test]
fn transaction_open_at_close_is_undone_by_the_next_opening() {
    let (disk, engine, table) = start();
    put(&engine, &table, "a", "kept");
    let mut txn = engine.begin();
    txn.update(&table, b"a", b"lost").unwrap();
    engine.close().unwrap();
    drop(txn);
    let again = open(&disk);
    assert_eq!(again.recovery().losers, 1);
    assert_eq!(get(&again, &again.open_table("t").unwrap(), "a").as_deref(), Some("kept"));
}

#[test]
fn backup_is_a_database_as_of_its_end() {
    let (_, engine, table) = start();
    for n in 0..300 {
        put(&engine, &table, &format!("{n:03}"), "first");
    }
    let mut open_one = engine.begin();
    open_one.update(&table, b"000", b"unfinished").unwrap();
    let target = MemoryDisk::new();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for n in 1..300 {
                put(&engine, &table, &format!("{n:03}"), "second");
            }
        });
        engine.backup(&target).unwrap();
        writer.join().unwrap();
    });
    assert!(engine.backup(&target).is_err(), "a backup overwrites nothing");
    commit(&engine, open_one);
    let copy = open(&target);
    let found = contents(&copy, &copy.open_table("t").unwrap());
    assert_eq!(found.len(), 300);
    assert_eq!(found[&b"000"[..]], b"first");
    // One writer in order: what is second is a prefix.
    let seconds = found.values().skip(1).take_while(|value| *value == b"second").count();
    assert!(found.values().skip(1 + seconds).all(|value| value == b"first"));
    check(&copy);
}

#[test]
fn small_commits_on_a_full_disk_are_durable_or_refused() {
    let disk = MemoryDisk::new();
    let mut options = options();
    // So large that transactions keep reservations for the ones after them, in the smallest
    // segments.
    options.log.capacity_bytes = 64 << 20;
    let engine = open_with(disk.clone(), options);
    let table = engine.create_table("t").unwrap();
    let mut value = 0u64;
    let mut round = |may_be_refused: bool| {
        // All at once, so that each has a slot, and a reservation, of its own.
        let txns: Vec<_> = (0..32).map(|_| engine.begin()).collect();
        let mut refused = 0;
        for mut txn in txns {
            value += 1;
            match txn.put(&table, b"key", &value.to_be_bytes()) {
                Ok(_) => commit(&engine, txn),
                Err(error) => {
                    assert!(may_be_refused && matches!(error, Error::DiskFull { .. }), "{error}");
                    txn.rollback().unwrap();
                    refused += 1;
                }
            }
        }
        refused
    };
    round(false);
    disk.set_capacity(disk.used_bytes());
    while round(true) < 32 {}
    engine.health().unwrap();
    disk.set_capacity(u64::MAX);
    round(false);
    engine.close().unwrap();
}

#[test]
fn one_idle_transaction_does_not_keep_the_checkpointer_busy() {
    let disk = MemoryDisk::new();
    let mut options = EngineOptions { background: true, ..options() };
    options.log.capacity_bytes = 1 << 20;
    let engine = open_with(disk, options);
    let table = engine.create_table("t").unwrap();
    let mut idle = engine.begin();
    idle.put(&table, b"idle", b"value").unwrap();
    let mut n = 0;
    while engine.log().used_bytes() < 640 << 10 {
        put(&engine, &table, &format!("{}", n % 50), &"v".repeat(300));
        n += 1;
    }
    std::thread::sleep(std::time::Duration::from_millis(500));
    let before = engine.stats().checkpoints;
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let taken = engine.stats().checkpoints - before;
    assert!(taken <= 1, "{taken} checkpoints for nothing");
    // Once it has ended there is room again, although the test requests no checkpoint.
    idle.rollback().unwrap();
    for n in 0..3000 {
        put(&engine, &table, &format!("{}", n % 50), &"v".repeat(300));
    }
    engine.close().unwrap();
}
