//! Closing and backups as the engine's own user sees them.

use std::{
    io::ErrorKind,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use clearway_base::Error;
use clearway_disk::MemoryDisk;
use clearway_testkit::disk::{Faults, FaultyDisk, Operation};
use clearway_txn::{Engine, EngineOptions};

#[test]
fn a_backup_across_a_close_is_refused_and_keeps_the_directory() {
    let disk = MemoryDisk::new();
    let options = || EngineOptions { node_bytes: 512, ..EngineOptions::default() };
    let engine = Engine::open(Arc::new(disk.clone()), options()).unwrap();
    let table = engine.create_table("t").unwrap();
    for n in 0..10_000u32 {
        let mut txn = engine.begin();
        txn.put(&table, &n.wrapping_mul(2_654_435_761).to_be_bytes(), &[1; 40]).unwrap();
        txn.commit().unwrap();
    }
    // The copy of the pages stalls at its second batch.
    let (faults, stalls) = (Faults::new(), Arc::new(AtomicBool::new(true)));
    let (held, reached) = (stalls.clone(), Arc::new(AtomicBool::new(false)));
    let at = reached.clone();
    faults.watch(move |event| {
        if event.operation == Operation::Write && event.name == "data" && event.offset > 1 << 14 {
            at.store(true, Ordering::SeqCst);
            while held.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(1));
            }
        }
        None
    });
    let copy = MemoryDisk::new();
    let target = FaultyDisk::new(copy.clone(), faults);
    let backup = {
        let engine = engine.clone();
        thread::spawn(move || engine.backup(&target))
    };
    while !reached.load(Ordering::SeqCst) {
        thread::sleep(Duration::from_millis(1));
    }
    engine.close().unwrap();
    let reopened = Engine::open(Arc::new(disk.clone()), options());
    stalls.store(false, Ordering::SeqCst);
    let result = backup.join().unwrap();
    assert!(matches!(reopened, Err(Error::AlreadyOpen { .. })), "opened under a backup");
    assert!(matches!(result, Err(Error::Closed)), "{result:?}");
    assert!(Engine::open(Arc::new(copy), options()).is_err(), "a copy without an end opens");
    Engine::open(Arc::new(disk), options()).unwrap();
}

#[test]
fn a_full_disk_under_the_database_does_not_fail_its_backup() {
    let faults = Faults::new();
    let failing = FaultyDisk::new(MemoryDisk::new(), faults.clone());
    let options = EngineOptions { background: false, ..EngineOptions::default() };
    let engine = Engine::open(Arc::new(failing), options.clone()).unwrap();
    let table = engine.create_table("t").unwrap();
    let mut txn = engine.begin();
    txn.put(&table, b"k", b"v").unwrap();
    let ack = txn.commit().unwrap().ack;
    engine.log().wait_durable(ack).unwrap();
    // The superblock, with which a checkpoint ends.
    faults.watch(|event| {
        let is_superblock = event.operation == Operation::Write && event.name == "data";
        (is_superblock && event.offset < 1 << 14).then_some(ErrorKind::StorageFull)
    });
    assert!(matches!(engine.checkpoint(), Err(Error::DiskFull { .. })));
    let copy = MemoryDisk::new();
    engine.backup(&copy).unwrap();
    let copy = Engine::open(Arc::new(copy), options).unwrap();
    let table = copy.open_table("t").unwrap();
    assert_eq!(copy.begin().get(&table, b"k").unwrap().as_deref(), Some(&b"v"[..]));
}
