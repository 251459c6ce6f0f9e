//! Crashes at every write and sync, of the running engine and of recovery itself.
//!
//! A test runs a fixed sequence of transactions on a disk that keeps an image for each I/O. Each
//! image, as the power failure or the kill would have left it, must recover to the state after the
//! first `m` transactions, where `m` is at least what was acknowledged by then.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use clearway_base::{Error, PAGE_SIZE};
use clearway_disk::{Disk, MemoryDisk, OpenMode};
use clearway_sync::Mutex;
use clearway_testkit::Random;
use clearway_testkit::disk::{Faults, FaultyDisk, Operation};
use clearway_txn::{Engine, Table};

use crate::rig::{Contents, check, commit, contents, open, open_with, options, put, start};

/// An image of the disk and how much had been acknowledged when it was made.
struct Image {
    disk: MemoryDisk,
    acknowledged: usize,
}

/// A disk that keeps images: at every I/O that changes something, each `every`-th time.
fn camera(
    memory: &MemoryDisk,
    acknowledged: &Arc<AtomicUsize>,
    every: usize,
    durable: bool,
) -> (FaultyDisk<MemoryDisk>, Faults, Arc<Mutex<Vec<Image>>>) {
    let (faults, images) = (Faults::new(), Arc::new(Mutex::new(Vec::new())));
    let (memory_too, acknowledged, kept) = (memory.clone(), acknowledged.clone(), images.clone());
    let seen = AtomicUsize::new(0);
    faults.watch(move |event| {
        let changes = matches!(event.operation, Operation::Write | Operation::Sync);
        if changes && seen.fetch_add(1, Ordering::SeqCst).is_multiple_of(every) {
            // What was acknowledged before the image was made must be in it.
            let acknowledged = acknowledged.load(Ordering::SeqCst);
            let disk = if durable { memory_too.fork_durable() } else { memory_too.fork() };
            kept.lock().push(Image { disk, acknowledged });
        }
        None
    });
    (FaultyDisk::new(memory.clone(), faults.clone()), faults, images)
}

/// The `n`-th transaction of the sequence: some writes, a savepoint, sometimes a rollback.
fn step(engine: &Arc<Engine>, table: &Table, n: usize, model: &mut Contents) {
    let mut random = Random::new(n as u64);
    let mut txn = engine.begin();
    let before = model.clone();
    for _ in 0..1 + random.below(6) {
        let key = format!("key{:03}", random.below(60)).into_bytes();
        let len = if random.below(20) == 0 { 3000 } else { random.below(60) as usize };
        let value = vec![random.next_u64() as u8; len];
        match random.below(10) {
            0..3 if model.remove(&key).is_some() => txn.delete(table, &key).unwrap(),
            3 => {
                let savepoint = txn.savepoint().unwrap();
                txn.put(table, &key, b"never seen").unwrap();
                txn.rollback_to(&savepoint).unwrap();
            }
            _ => {
                txn.put(table, &key, &value).unwrap();
                model.insert(key, value);
            }
        }
    }
    if random.below(8) == 0 {
        txn.rollback().unwrap();
        *model = before;
    } else {
        commit(engine, txn);
    }
    if n % 13 == 7 {
        engine.checkpoint().unwrap();
    }
}

/// Runs the sequence and returns the images and the state after each transaction.
fn run(steps: usize, every: usize, durable: bool) -> (Vec<Image>, Vec<Contents>) {
    let memory = MemoryDisk::with_crashes();
    let table = open(&memory).create_table("t");
    drop(table);
    let acknowledged = Arc::new(AtomicUsize::new(0));
    let (disk, faults, images) = camera(&memory, &acknowledged, every, durable);
    let engine = open_with(disk, options());
    let table = engine.open_table("t").unwrap();
    let mut states = vec![Contents::new()];
    // A transaction that is open all the time and never ends.
    let mut loser = engine.begin();
    loser.insert(&table, b"loser", b"unfinished").unwrap();
    for n in 0..steps {
        let mut model = states[n].clone();
        step(&engine, &table, n, &mut model);
        states.push(model);
        acknowledged.store(n + 1, Ordering::SeqCst);
        loser.put(&table, format!("loser{}", n % 5).as_bytes(), &[n as u8; 40]).unwrap();
    }
    faults.clear();
    let images = std::mem::take(&mut *images.lock());
    (images, states)
}

/// Recovers an image and checks what came out. Answers how many transactions survived.
fn judge(disk: &MemoryDisk, acknowledged: usize, states: &[Contents]) -> usize {
    let engine = open(disk);
    let found = contents(&engine, &engine.open_table("t").unwrap());
    // States can repeat (a rollback); the latest that fits is as good as any.
    let survived = states.iter().rposition(|state| *state == found);
    let survived = survived.expect("recovered to a state that never was");
    assert!(survived >= acknowledged, "{survived} survived of {acknowledged} acknowledged");
    engine.verify().unwrap();
    survived
}

#[test]
fn nothing_acknowledged_is_lost_at_any_power_failure() {
    let (images, states) = run(40, 4, true);
    assert!(images.len() > 30, "{} images", images.len());
    for image in &images {
        judge(&image.disk, image.acknowledged, &states);
    }
}

#[test]
fn nothing_acknowledged_is_lost_at_any_kill() {
    let (images, states) = run(40, 5, false);
    for image in &images {
        judge(&image.disk, image.acknowledged, &states);
    }
}

#[test]
fn crash_of_recovery_is_recovered_from() {
    let (images, states) = run(25, 1, true);
    let image = images.last().unwrap();
    // Recovery of the last image, photographed in turn; then recovery of some of those.
    let nothing = Arc::new(AtomicUsize::new(0));
    let memory = image.disk.fork();
    let (disk, faults, nested) = camera(&memory, &nothing, 3, true);
    drop(open_with(disk, options()));
    faults.clear();
    let nested = std::mem::take(&mut *nested.lock());
    assert!(nested.len() > 3, "{} images of recovery", nested.len());
    for again in &nested {
        let third = again.disk.fork();
        judge(&again.disk, image.acknowledged, &states);
        // And once more from the same point, crashed again right after its first opening.
        let engine = open(&third);
        let crashed = third.fork_durable();
        std::mem::drop(engine);
        judge(&crashed, image.acknowledged, &states);
    }
}

#[test]
fn losers_are_undone_once() {
    let (disk, engine, table) = start();
    for n in 0..40 {
        put(&engine, &table, &format!("{n:02}"), "kept");
    }
    let mut loser = engine.begin();
    for n in 0..40 {
        loser.update(&table, format!("{n:02}").as_bytes(), b"lost").unwrap();
    }
    // Half of it is undone before the crash already.
    let savepoint = loser.savepoint().unwrap();
    loser.insert(&table, b"x", b"lost").unwrap();
    loser.rollback_to(&savepoint).unwrap();
    engine.checkpoint().unwrap();
    loser.insert(&table, b"y", b"lost").unwrap();
    put(&engine, &table, "z", "kept");
    let mut image = disk.fork_durable();
    for round in 0..3 {
        let recovered = open(&image);
        let report = recovered.recovery();
        let expected = if round == 0 { (1, 41) } else { (0, 0) };
        assert_eq!((report.losers, report.undone), expected, "round {round}");
        let table = recovered.open_table("t").unwrap();
        let found = contents(&recovered, &table);
        assert_eq!(found.len(), 41);
        assert!(found.values().all(|value| value == b"kept"));
        check(&recovered);
        image = image.fork_durable();
    }
}

#[test]
fn clean_close_leaves_nothing_to_do() {
    let (disk, engine, table) = start();
    for n in 0..300 {
        put(&engine, &table, &format!("{n}"), "v");
    }
    engine.close().unwrap();
    engine.close().unwrap();
    assert!(engine.begin().get(&table, b"1").is_err());
    let again = open(&disk.fork_durable());
    let report = again.recovery();
    assert!(!report.created && report.losers == 0);
    assert!(report.records <= 3, "{} records to read", report.records);
    assert_eq!(contents(&again, &again.open_table("t").unwrap()).len(), 300);
    check(&again);
}

#[test]
fn loser_that_was_rolling_back_is_undone_from_where_it_stopped() {
    let (disk, engine, table) = start();
    put(&engine, &table, "a", "kept");
    let mut loser = engine.begin();
    loser.update(&table, b"a", b"first").unwrap();
    loser.update(&table, b"a", b"second").unwrap();
    let savepoint = loser.savepoint().unwrap();
    for n in 0..10 {
        loser.update(&table, b"a", format!("later {n}").as_bytes()).unwrap();
    }
    // The last thing in the log is a compensation.
    loser.rollback_to(&savepoint).unwrap();
    engine.log().wait_durable(engine.log().end()).unwrap();
    let recovered = open(&disk.fork_durable());
    assert_eq!((recovered.recovery().losers, recovered.recovery().undone), (1, 2));
    let table = recovered.open_table("t").unwrap();
    assert_eq!(contents(&recovered, &table)[&b"a"[..]], b"kept");
}

#[test]
fn old_transaction_keeps_the_log_that_its_undo_needs() {
    let (disk, engine, table) = start();
    put(&engine, &table, "a", "kept");
    let mut old = engine.begin();
    old.update(&table, b"a", b"lost").unwrap();
    // Eight segments of log, with checkpoints that would like to give them back.
    while engine.log().end().0 < 8 * options().log.segment_bytes {
        let mut txn = engine.begin();
        txn.put(&table, b"b", &[1; 200]).unwrap();
        txn.commit().unwrap();
        if engine.log().end().0 % 16 == 0 {
            engine.checkpoint().unwrap();
        }
    }
    engine.checkpoint().unwrap();
    let recovered = open(&disk.fork_durable());
    assert_eq!(recovered.recovery().losers, 1);
    let table = recovered.open_table("t").unwrap();
    assert_eq!(contents(&recovered, &table)[&b"a"[..]], b"kept");
    // Once it has ended, the log goes.
    let used = engine.log().used_bytes();
    old.rollback().unwrap();
    engine.checkpoint().unwrap();
    assert!(engine.log().used_bytes() + 7 * options().log.segment_bytes < used);
}

#[test]
fn deferred_frees_are_completed_after_a_crash() {
    // The log flushes in the middle of the frees if its thread gets a processor then.
    let is_seen = (0..20).any(|_| frees_resumed_after_crashes() > 0);
    assert!(is_seen, "no crash came between the commit and the end of its frees");
}

/// Crashes at each write while a committed transaction's values are freed. Returns the number of
/// times that recovery went on with it.
fn frees_resumed_after_crashes() -> u64 {
    let memory = MemoryDisk::with_crashes();
    drop(open(&memory).create_table("t").unwrap());
    let acknowledged = Arc::new(AtomicUsize::new(0));
    let (disk, faults, images) = camera(&memory, &acknowledged, 1, true);
    let engine = open_with(disk, options());
    let table = engine.open_table("t").unwrap();
    // The frees log 50 KB, and the log flushes by itself every 8.
    let keys: Vec<[u8; 2]> = (0..600u16).map(u16::to_be_bytes).collect();
    let mut txn = engine.begin();
    keys.iter().for_each(|key| txn.insert(&table, key, &[key[1]; 300]).unwrap());
    commit(&engine, txn);
    assert_eq!(engine.verify().unwrap().tables[1].report.overflow_pages, 600);
    images.lock().clear();
    let mut txn = engine.begin();
    keys.iter().for_each(|key| txn.delete(&table, key).unwrap());
    let committed = txn.commit().unwrap();
    engine.log().wait_durable(committed.ack).unwrap();
    drop(engine);
    faults.clear();
    let images = std::mem::take(&mut *images.lock());
    let mut resumed = 0;
    for image in &images {
        let engine = open(&image.disk);
        resumed += engine.recovery().frees_resumed;
        check(&engine);
        let found = contents(&engine, &engine.open_table("t").unwrap());
        assert!(found.len() == 600 || found.is_empty());
    }
    resumed
}

#[test]
fn ddl_is_whole_at_every_crash() {
    let memory = MemoryDisk::with_crashes();
    drop(open(&memory));
    let acknowledged = Arc::new(AtomicUsize::new(0));
    let (disk, faults, images) = camera(&memory, &acknowledged, 1, true);
    let engine = open_with(disk, options());
    let table = engine.create_table("first").unwrap();
    acknowledged.store(1, Ordering::SeqCst);
    for n in 0..50 {
        put(&engine, &table, &format!("{n}"), &"v".repeat(100));
    }
    acknowledged.store(2, Ordering::SeqCst);
    engine.drop_table("first").unwrap();
    acknowledged.store(3, Ordering::SeqCst);
    engine.create_table("second").unwrap();
    acknowledged.store(4, Ordering::SeqCst);
    drop(engine);
    faults.clear();
    for image in images.lock().iter() {
        let engine = open(&image.disk);
        engine.verify().unwrap();
        let tables = engine.tables();
        match image.acknowledged {
            0 => assert!(tables.is_empty() || tables == ["first"]),
            1 => assert_eq!(tables, ["first"]),
            2 => assert!(tables.is_empty() || tables == ["first"]),
            3 => assert!(tables.is_empty() || tables == ["second"]),
            _ => assert_eq!(tables, ["second"]),
        }
        if image.acknowledged == 2 && !tables.is_empty() {
            assert_eq!(contents(&engine, &engine.open_table("first").unwrap()).len(), 50);
        }
        for name in tables {
            engine.drop_table(&name).unwrap();
        }
        engine.create_table("first").unwrap();
    }
}

#[test]
fn creation_can_crash_anywhere() {
    let memory = MemoryDisk::with_crashes();
    let nothing = Arc::new(AtomicUsize::new(0));
    for durable in [true, false] {
        let (disk, faults, images) = camera(&memory.fork(), &nothing, 1, durable);
        drop(open_with(disk, options()));
        faults.clear();
        for image in images.lock().iter() {
            let engine = open(&image.disk);
            let table = engine.create_table("t").unwrap();
            put(&engine, &table, "a", "1");
            check(&engine);
        }
    }
}

/// Redo that begins at an older copy of the superblock takes changes back from pages that it
/// formats, until it comes to the log's end. If it fails before, the newer copy must not count.
#[test]
fn damaged_superblock_is_replaced_even_if_redo_fails() {
    let (disk, engine, table) = start();
    put(&engine, &table, "a", "1");
    let second = engine.log().end().0;
    put(&engine, &table, "b", "2");
    put(&engine, &table, "c", "3");
    put(&engine, &table, "d", "4");
    let image = disk.fork_durable();
    drop(engine);
    let copy = |at: u64| {
        let mut bytes = vec![0; 512];
        image.open("data", OpenMode::Existing).unwrap().read_at(&mut bytes, at).unwrap();
        bytes
    };
    let sequence = |copy: &[u8]| u64::from_le_bytes(copy[24..32].try_into().unwrap());
    let newest = [0, PAGE_SIZE as u64].into_iter().max_by_key(|at| sequence(&copy(*at))).unwrap();
    let flip = |file: &str, at: u64| {
        let file = image.open(file, OpenMode::Existing).unwrap();
        let mut byte = [0];
        file.read_at(&mut byte, at).unwrap();
        file.write_at(&[byte[0] ^ 1], at).unwrap();
    };
    let intact = copy(newest);
    flip("data", newest + 100);
    flip("log/0000000000000000", second + 40);
    let refused = Engine::open(Arc::new(image.clone()), options());
    assert!(matches!(refused, Err(Error::Corrupt { what: "log record", .. })));
    assert!(copy(newest) == intact, "the damaged copy is not what it was");
}
