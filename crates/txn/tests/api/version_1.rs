//! Databases of format version 1, once closed and once killed: they open with what was in them, and
//! are of version 2 from then on.
//!
//! The files of `tests/version-1` were written by the last program of version 1 (commit 9131bac).
//! The table `rows` had the keys 0 to 159, of which every seventh below 120 was deleted; when the
//! process was killed, a commit had just brought those from 20 to 29 back, and a transaction that
//! had written 150 to 169 and changed two large values had not ended.

use std::sync::Arc;

use clearway_disk::{Disk, MemoryDisk, OpenMode, unpack};
use clearway_txn::{Engine, EngineOptions};

use crate::rig::{self, Contents, check, contents, open, open_with, options, put};

const CLOSED: &[u8] = include_bytes!("../version-1/closed.packed");
const KILLED: &[u8] = include_bytes!("../version-1/killed.packed");

fn old(packed: &[u8]) -> MemoryDisk {
    let disk = MemoryDisk::new();
    unpack(&disk, packed).unwrap();
    assert_eq!(versions(&disk), [1, 1]);
    disk
}

/// The format version in both copies of the superblock.
fn versions(disk: &MemoryDisk) -> [u32; 2] {
    let file = disk.open("data", OpenMode::Existing).unwrap();
    [0, 8192].map(|copy| {
        let mut bytes = [0; 4];
        file.read_at(&mut bytes, copy + 8).unwrap();
        u32::from_le_bytes(bytes)
    })
}

fn row(number: u64) -> (Vec<u8>, Vec<u8>) {
    let value = vec![number as u8; 5 + (number % 40) as usize];
    (format!("key {number:05}").into_bytes(), value)
}

fn large(number: u64) -> (Vec<u8>, Vec<u8>) {
    (row(number).0, vec![number as u8 + 1; 1_000 + number as usize])
}

fn check_contents(engine: &Arc<Engine>, was_killed: bool) {
    let is_there =
        |n: &u64| *n >= 120 || !n.is_multiple_of(7) || (was_killed && (20..30).contains(n));
    let rows: Contents = (0..160).filter(is_there).map(row).collect();
    assert_eq!(engine.tables(), ["large", "rows"]);
    assert_eq!(contents(engine, &engine.open_table("rows").unwrap()), rows);
    let values: Contents = (0..3).map(large).collect();
    assert_eq!(contents(engine, &engine.open_table("large").unwrap()), values);
    check(engine);
}

#[test]
fn old_databases_open_with_their_contents_and_are_converted() {
    for (packed, was_killed) in [(CLOSED, false), (KILLED, true)] {
        let disk = old(packed);
        let engine = open(&disk);
        assert_eq!(engine.recovery().losers, u64::from(was_killed));
        assert!(!engine.recovery().created);
        check_contents(&engine, was_killed);
        assert_eq!(versions(&disk), [2, 2]);
        let killed = disk.fork();
        engine.close().unwrap();
        drop(engine);
        for disk in [disk, killed] {
            let engine = open(&disk);
            assert_eq!(engine.recovery().losers, 0);
            check_contents(&engine, was_killed);
            let table = engine.create_table("new").unwrap();
            put(&engine, &table, "key", "value");
            let again = open(&disk.fork());
            assert_eq!(
                rig::get(&again, &again.open_table("new").unwrap(), "key").unwrap(),
                "value"
            );
        }
    }
}

#[test]
fn an_engine_with_threads_converts_as_well() {
    let disk = old(KILLED);
    let engine = open_with(disk.clone(), EngineOptions { background: true, ..options() });
    check_contents(&engine, true);
    let backup = MemoryDisk::new();
    engine.backup(&backup).unwrap();
    check_contents(&open(&backup), true);
    assert_eq!((versions(&disk), versions(&backup)[1]), ([2, 2], 2));
}

#[test]
fn no_segment_of_the_old_format_stays() {
    let disk = old(KILLED);
    drop(open(&disk));
    for name in disk.list("log").unwrap() {
        let file = disk.open(&format!("log/{name}"), OpenMode::Existing).unwrap();
        assert_eq!(file.len().unwrap(), (16 << 10) + 4096, "{name}");
    }
}

#[test]
fn two_copies_of_an_old_database_get_an_identity_each() {
    let ids = [old(CLOSED), old(CLOSED)].map(|disk| open(&disk).stats().database);
    assert_ne!(ids[0], ids[1]);
}
