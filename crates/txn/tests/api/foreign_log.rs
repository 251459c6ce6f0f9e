//! The log of one database beside the data of another: refused, and nothing is lost by it.

use std::{path::Path, sync::Arc};

use clearway_base::{Epoch, Error};
use clearway_disk::{Disk, MemoryDisk, OpenMode};
use clearway_txn::{Engine, EngineOptions};

use crate::rig::{self, check, get, open_with, put};

/// Without threads, so that one program writes the same log twice.
fn options() -> EngineOptions {
    let mut options = rig::options();
    options.log.background = false;
    options
}

fn open(disk: &MemoryDisk) -> Arc<Engine> {
    open_with(disk.clone(), options())
}

/// A new database with a row.
fn new() -> (MemoryDisk, Arc<Engine>) {
    let disk = MemoryDisk::new();
    let engine = open(&disk);
    let table = engine.create_table("t").unwrap();
    put(&engine, &table, "first", "shared");
    (disk, engine)
}

/// Writes `rows` rows, each with the name of the database that has them.
fn use_it(engine: &Arc<Engine>, name: &str, rows: u32) {
    let table = engine.open_table("t").unwrap();
    for number in 0..rows {
        put(engine, &table, &format!("row {number}"), name);
    }
}

fn copy_file(from: &MemoryDisk, to: &MemoryDisk, name: &str) {
    let source = from.open(name, OpenMode::Existing).unwrap();
    let mut bytes = vec![0; source.len().unwrap() as usize];
    source.read_at(&mut bytes, 0).unwrap();
    let target = to.open(name, OpenMode::Create).unwrap();
    target.set_len(bytes.len() as u64).unwrap();
    target.write_at(&bytes, 0).unwrap();
}

/// The data of one, and the log of another.
fn with_log_of(data: &MemoryDisk, log: &MemoryDisk) -> MemoryDisk {
    let disk = data.fork();
    for name in disk.list("log").unwrap() {
        disk.remove(&format!("log/{name}")).unwrap();
    }
    for name in log.list("log").unwrap() {
        copy_file(log, &disk, &format!("log/{name}"));
    }
    disk
}

fn all_bytes(disk: &MemoryDisk) -> Vec<u8> {
    clearway_disk::pack(disk).unwrap()
}

/// Opening the database is refused, for this reason, and changes nothing.
fn assert_foreign(disk: &MemoryDisk, what: &str) {
    let before = all_bytes(disk);
    match Engine::open(Arc::new(disk.clone()), options()) {
        Ok(engine) => {
            let table = engine.open_table("t").unwrap();
            panic!("{what}: it opens, and row 0 is {:?}", get(&engine, &table, "row 0"));
        }
        Err(Error::ForeignLog { path, detail }) => {
            assert!(path.starts_with(Path::new(":memory:/log")), "{what}: {}", path.display());
            assert!(!detail.is_empty());
        }
        // Where nothing whole stands that says whose it is, it may be damage as well.
        Err(error) => {
            let is_open = error.to_string().contains("a copy or an earlier state");
            assert!(is_open && what == "many epochs", "{what}: {error}");
        }
    }
    assert!(all_bytes(disk) == before, "{what}: the refused opening has changed something");
}

/// Each log beside the other's data is refused; beside its own, the database is whole.
fn assert_exchange_refused(a: &MemoryDisk, b: &MemoryDisk, what: &str) {
    let (a, b) = (a.fork(), b.fork());
    assert_foreign(&with_log_of(&a, &b), what);
    assert_foreign(&with_log_of(&b, &a), what);
    for (disk, name) in [(a, "a"), (b, "b")] {
        let again = with_log_of(&with_log_of(&disk, &disk), &disk);
        let engine = open(&again);
        assert_eq!(
            get(&engine, &engine.open_table("t").unwrap(), "row 0").unwrap(),
            name,
            "{what}"
        );
        check(&engine);
    }
}

#[test]
fn two_databases_filled_by_one_program() {
    let (a, on_a) = new();
    let (b, on_b) = new();
    use_it(&on_a, "a", 30);
    use_it(&on_b, "b", 30);
    assert_eq!(on_a.log().end(), on_b.log().end(), "or it shows little");
    assert_exchange_refused(&a, &b, "killed");
    on_a.close().unwrap();
    on_b.close().unwrap();
    assert_exchange_refused(&a, &b, "closed");
}

#[test]
fn two_copies_of_a_closed_database() {
    let (a, engine) = new();
    engine.close().unwrap();
    drop(engine);
    let b = a.fork();
    let (on_a, on_b) = (open(&a), open(&b));
    assert_eq!(on_a.stats().database, on_b.stats().database);
    use_it(&on_a, "a", 30);
    use_it(&on_b, "b", 30);
    assert_eq!(on_a.log().end(), on_b.log().end(), "or it shows little");
    assert_exchange_refused(&a, &b, "killed");
    on_a.close().unwrap();
    on_b.close().unwrap();
    assert_exchange_refused(&a, &b, "closed");
    drop((on_a, on_b));
    // One of them has been open more often.
    let on_a = open(&a);
    use_it(&on_a, "a", 1);
    assert_exchange_refused(&a, &b, "opened again");
}

#[test]
fn two_copies_of_a_killed_database() {
    let (disk, engine) = new();
    use_it(&engine, "a", 3);
    let (a, b) = (disk.fork(), disk.fork());
    drop(engine);
    let (on_a, on_b) = (open(&a), open(&b));
    use_it(&on_a, "a", 30);
    use_it(&on_b, "b", 30);
    assert_exchange_refused(&a, &b, "killed");
}

#[test]
fn a_copy_that_was_used_beside_one_that_was_not() {
    for is_closed in [false, true] {
        let (a, engine) = new();
        use_it(&engine, "a", 5);
        if is_closed {
            engine.close().unwrap();
        }
        let a = if is_closed { a } else { a.fork() };
        drop(engine);
        let b = a.fork();
        let on_b = open(&b);
        use_it(&on_b, "b", 30);
        assert_exchange_refused(&a, &b, "unused");
        on_b.close().unwrap();
        assert_exchange_refused(&a, &b, "unused, closed");
    }
}

#[test]
fn segments_of_a_copy_among_ones_own() {
    let mut small = options();
    small.log.segment_bytes = 16 << 10;
    let (a, b) = (MemoryDisk::new(), MemoryDisk::new());
    let engines = [&a, &b].map(|disk| open_with(disk.clone(), small.clone()));
    for (engine, name) in engines.iter().zip(["a", "b"]) {
        engine.create_table("t").unwrap();
        use_it(engine, name, 200);
    }
    let names = a.list("log").unwrap();
    assert!(names.len() > 4, "{names:?}");
    let last_needed = engines[0].log().end().0 / (16 << 10);
    for name in names.iter().filter(|name| !name.starts_with("spare")) {
        let first = u64::from_str_radix(name, 16).unwrap();
        if first / (16 << 10) <= last_needed {
            let mixed = a.fork();
            copy_file(&b, &mixed, &format!("log/{name}"));
            assert_foreign(&mixed, name);
        }
    }
}

#[test]
fn a_backup_and_its_original() {
    let (a, on_a) = new();
    let b = MemoryDisk::new();
    on_a.backup(&b).unwrap();
    let unused = b.fork();
    let on_b = open(&b);
    assert_eq!(on_a.stats().database, on_b.stats().database, "a backup shares the id");
    use_it(&on_a, "a", 30);
    use_it(&on_b, "b", 30);
    assert_exchange_refused(&a, &b, "killed");
    // The original has gone on in the opening that made the backup, which knows of no other.
    let engine = open(&unused);
    assert_eq!(get(&engine, &engine.open_table("t").unwrap(), "first").unwrap(), "shared");
}

#[test]
fn crashes_in_recovery_add_epochs_and_recovery_knows_them_all() {
    let (disk, engine) = new();
    let table = engine.open_table("t").unwrap();
    let mut loser = engine.begin();
    for number in 0..40 {
        loser.put(&table, format!("lost {number}").as_bytes(), &[7; 50]).unwrap();
    }
    put(&engine, &table, "row 0", "a");
    let mut image = disk.fork();
    loser.rollback().unwrap();
    drop(engine);
    let mut others = Vec::new();
    for round in 0..12u32 {
        others.push(image.fork());
        let faults = clearway_testkit::disk::Faults::new();
        let faulty = clearway_testkit::disk::FaultyDisk::new(image.clone(), faults.clone());
        // The epoch's first group passes; of the recovery's others, none does.
        let passes = 1 + u64::from(round % 2);
        let (operation, kind) =
            (clearway_testkit::disk::Operation::Sync, std::io::ErrorKind::Other);
        let lasting = clearway_testkit::disk::Lasting::Forever;
        faults.fail(operation, "log/0000000000000000", passes + 1, kind, lasting);
        let opened = Engine::open(Arc::new(faulty), options());
        assert!(opened.is_err(), "round {round}");
        drop(opened);
        image = image.fork();
    }
    // A copy from before some of the openings, whose log goes on otherwise.
    let copy = others.swap_remove(6);
    let on_copy = open(&copy);
    use_it(&on_copy, "b", 3);
    assert_exchange_refused(&image, &copy, "many epochs");
    let engine = open(&image);
    assert!(engine.log().epoch() > Epoch(13));
    let table = engine.open_table("t").unwrap();
    assert_eq!(get(&engine, &table, "row 0").unwrap(), "a");
    assert_eq!(get(&engine, &table, "lost 0"), None);
}

#[test]
fn logs_of_another_format_or_size() {
    let (data, on_data) = new();
    on_data.close().unwrap();
    let old = MemoryDisk::new();
    clearway_disk::unpack(&old, include_bytes!("../version-1/killed.packed")).unwrap();
    let mut small = options();
    small.log.segment_bytes = 32 << 10;
    let other = MemoryDisk::new();
    let engine = open_with(other.clone(), small);
    engine.create_table("t").unwrap();
    use_it(&engine, "a", 3);
    assert_foreign(&with_log_of(&data, &other), "other segments");
    assert_foreign(&with_log_of(&old, &other), "a new log beside old data");
}
