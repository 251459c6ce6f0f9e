//! The redo check: with it on, the log has images of all changed pages, and recovery refuses what
//! redo makes of a change if it is not what the change was.

use std::sync::Arc;

use clearway_base::{Error, Lsn, PageId, Result};
use clearway_disk::MemoryDisk;
use clearway_log::{Record, record_bytes};
use clearway_sync::{Mutex, thread};
use clearway_testkit::Random;
use clearway_testkit::disk::{Faults, FaultyDisk, Operation};
use clearway_txn::{Engine, EngineOptions, Table};

use crate::rig::{self, Contents, check, commit, contents, open, open_with, options};

/// The kind of an image's record; see `docs/log-format.md`.
const IMAGE: u8 = 10;

/// A log in which no image is left out.
fn checking() -> EngineOptions {
    let mut options = EngineOptions { redo_check: true, ..options() };
    options.log.capacity_bytes = 256 << 20;
    options
}

fn key(number: u64) -> Vec<u8> {
    format!("key {:05}", number * 37 % 1009).into_bytes()
}

/// A transaction of some writes; whether it is to commit.
fn work(
    engine: &Arc<Engine>,
    table: &Table,
    random: &mut Random,
    model: &mut Contents,
) -> Result<()> {
    let mut txn = engine.begin();
    let (before, mut kept) = (model.clone(), None);
    for number in 0..1 + random.below(12) {
        let key = key(random.below(300));
        let value =
            vec![random.next_u64() as u8; [0, 9, 9, 60, 100, 12_000][random.below(6) as usize]];
        if random.below(2) == 0 && model.remove(&key).is_some() {
            txn.delete(table, &key)?;
        } else {
            txn.put(table, &key, &value)?;
            model.insert(key, value);
        }
        if number == 5 {
            kept = Some((txn.savepoint()?, model.clone()));
        }
    }
    match random.below(4) {
        0 => {
            *model = before;
            txn.rollback()?;
        }
        1 if kept.is_some() => {
            let (savepoint, then) = kept.take().expect("there is one");
            txn.rollback_to(&savepoint)?;
            *model = then;
            commit(engine, txn);
        }
        _ => commit(engine, txn),
    }
    Ok(())
}

/// An engine that has split, merged, rolled back, and dropped a table since its only checkpoint,
/// and left a transaction unfinished.
fn crashed() -> (MemoryDisk, Contents) {
    let disk = MemoryDisk::new();
    let engine = open_with(disk.clone(), checking());
    let (table, gone) = (engine.create_table("t").unwrap(), engine.create_table("gone").unwrap());
    let (mut random, mut model) = (Random::new(3), Contents::new());
    for round in 0..200 {
        work(&engine, &table, &mut random, &mut model).unwrap();
        if round % 20 == 10 {
            work(&engine, &gone, &mut Random::new(round), &mut Contents::new()).unwrap();
            engine.maintain().unwrap();
        }
    }
    drop(gone);
    engine.drop_table("gone").unwrap();
    let mut txn = engine.begin();
    for key in model.keys().take(100) {
        txn.delete(&table, key).unwrap();
    }
    for number in 300..400 {
        txn.put(&table, &key(number), &[7; 90]).unwrap();
    }
    txn.put(&table, b"large", &[7; 30_000]).unwrap();
    engine.log().wait_durable(engine.log().end()).unwrap();
    let image = disk.fork();
    drop(txn);
    (image, model)
}

#[test]
fn redo_is_what_was_done() {
    let (disk, model) = crashed();
    let engine = open(&disk.fork());
    let report = engine.recovery();
    assert!(report.undone >= 200, "{report:?}");
    assert!(report.images > 2000, "{report:?}");
    // Some changes have two pages, or three.
    assert!(report.records < 2 * report.images + 500, "an image for each page: {report:?}");
    assert_eq!(contents(&engine, &engine.open_table("t").unwrap()), model);
    check(&engine);
}

#[test]
fn recovery_is_checked_like_everything_else() {
    let (disk, model) = crashed();
    let (faults, images) = (Faults::new(), Arc::new(Mutex::new(Vec::new())));
    let (memory, kept) = (disk.clone(), images.clone());
    faults.watch(move |event| {
        if event.operation == Operation::Write && event.name == "data" {
            kept.lock().push(memory.fork());
        }
        None
    });
    drop(open_with(FaultyDisk::new(disk.clone(), faults), checking()));
    let again: Vec<_> = images
        .lock()
        .iter()
        .map(|image| {
            let engine = open(image);
            assert_eq!(contents(&engine, &engine.open_table("t").unwrap()), model);
            check(&engine);
            engine.recovery().images
        })
        .collect();
    let first = open(&crashed().0).recovery().images;
    assert!(again.iter().any(|images| *images > first + 100), "first {first}, again {again:?}");
}

#[test]
fn threads_that_share_pages_log_their_images_in_order() {
    let disk = MemoryDisk::new();
    let options = EngineOptions { background: true, ..checking() };
    let engine = open_with(disk.clone(), options);
    let table = engine.create_table("t").unwrap();
    thread::scope(|scope| {
        for number in 0..4u64 {
            let (engine, table) = (&engine, &table);
            scope.spawn(move || {
                let mut random = Random::new(number);
                for _ in 0..150 {
                    let mut txn = engine.begin();
                    let mut keys: Vec<u64> = (0..4).map(|_| random.below(200)).collect();
                    keys.sort_unstable();
                    for n in keys {
                        let value = vec![number as u8; random.below(80) as usize];
                        txn.put(table, &key(n), &value).unwrap();
                    }
                    if random.below(5) == 0 {
                        txn.rollback().unwrap();
                    } else {
                        commit(engine, txn);
                    }
                }
            });
        }
    });
    engine.log().wait_durable(engine.log().end()).unwrap();
    let engine = open(&disk.fork());
    assert!(engine.recovery().images > 500, "{:?}", engine.recovery());
    check(&engine);
}

/// The page, LSN and body of the last image in the log.
fn last_image(engine: &Engine) -> (PageId, Lsn, Vec<u8>) {
    let mut reader = engine.log().reader(Lsn::ZERO).unwrap();
    let mut last = None;
    while let Some(record) = reader.next().unwrap() {
        if record.kind == IMAGE {
            last = Some((record.prev, record.body.to_vec()));
        }
    }
    let (lsn, body) = last.unwrap();
    (PageId(u32::from_le_bytes(body[1..5].try_into().unwrap())), lsn, body)
}

#[test]
fn a_difference_keeps_the_database_closed_and_is_found_again() {
    let disk = MemoryDisk::new();
    let engine = open_with(disk.clone(), checking());
    let table = engine.create_table("t").unwrap();
    rig::put(&engine, &table, "key", "value");
    let (page, lsn, mut body) = last_image(&engine);
    let whole = disk.fork();
    *body.last_mut().unwrap() ^= 1;
    engine.log().reserve_space(record_bytes(body.len())).unwrap();
    let image = Record { kind: IMAGE, txn: clearway_base::TxnId::NONE, prev: lsn, body: &[&body] };
    let span = engine.log().insert(&image).unwrap();
    engine.log().wait_durable(span.end).unwrap();
    let tampered = disk.fork();
    for _ in 0..2 {
        let error = Engine::open(Arc::new(tampered.clone()), options()).unwrap_err();
        let Error::CorruptPage { page: found, detail } = error else { panic!("{error}") };
        assert_eq!(found, page);
        // Operation 1 is an insert; the fences of a root are empty, so its first record ends at
        // the node's end.
        let wanted = format!(
            "redo of operation 1 to {lsn} is not what was done: it differs from byte 511 on"
        );
        assert_eq!(detail, wanted);
    }
    let engine = open(&whole);
    assert_eq!(rig::get(&engine, &engine.open_table("t").unwrap(), "key").unwrap(), "value");
}

#[test]
fn images_are_left_out_where_the_log_has_other_uses() {
    let rounds = |redo_check| {
        let mut small = EngineOptions { redo_check, ..options() };
        small.log.background = false;
        small.log.capacity_bytes = 512 << 10;
        let disk = MemoryDisk::new();
        let engine = open_with(disk.clone(), small);
        let table = engine.create_table("t").unwrap();
        engine.checkpoint().unwrap();
        let mut txn = engine.begin();
        let full = (0..).find(|n| match txn.put(&table, &key(n % 200), &n.to_be_bytes()) {
            Ok(_) => false,
            Err(Error::LogFull { .. }) => true,
            Err(error) => panic!("{error}"),
        });
        txn.rollback().unwrap();
        engine.log().wait_durable(engine.log().end()).unwrap();
        let again = open(&disk.fork());
        assert!(contents(&again, &again.open_table("t").unwrap()).is_empty());
        (full.unwrap(), again.recovery().images)
    };
    let (without, none) = rounds(false);
    let (with, some) = rounds(true);
    assert!(with > without / 3 && with < without, "{with} and {without} puts");
    assert!(none == 0 && some > 100, "{some} images");
}
