//! Invariant 14: bad input is a clear error, and loses nothing.

use std::sync::Arc;

use clearway_base::{Error, KEY_LEN_MAX, VALUE_LEN_MAX, crc32c};
use clearway_disk::{Disk, MemoryDisk, OpenMode};
use clearway_txn::Engine;

use super::PAGE;
use crate::rig::{check, commit, contents, get, open, options, put, read_all};

fn try_open(disk: &MemoryDisk) -> Result<Arc<Engine>, Error> {
    Engine::open(Arc::new(disk.clone()), options())
}

const ROWS: usize = 100;

/// Whether all rows are there.
fn is_whole(disk: &MemoryDisk) -> bool {
    let engine = open(disk);
    let rows = contents(&engine, &engine.open_table("t").unwrap());
    engine.verify().unwrap();
    rows.len() == ROWS && rows.values().all(|value| *value == [b'v'; 100])
}

/// Changes bytes of a file, looks at what opening and reading everything says, and undoes the
/// damage; then nothing may be lost.
fn with_damage(disk: &MemoryDisk, name: &str, at: u64, change: impl Fn(&mut [u8])) -> Error {
    let file = disk.open(name, OpenMode::Existing).unwrap();
    let mut bytes = vec![0; 512];
    assert_eq!(file.read_at(&mut bytes, at).unwrap(), 512);
    let mut damaged = bytes.clone();
    change(&mut damaged);
    file.write_at(&damaged, at).unwrap();
    let outcome = try_open(disk).and_then(|engine| {
        let table = engine.open_table("t")?;
        read_all(&mut engine.begin(), &table)?;
        engine.verify()
    });
    file.write_at(&bytes, at).unwrap();
    assert!(is_whole(disk), "{name} at {at}");
    outcome.expect_err("the damage was not noticed")
}

#[test]
fn invariant_14_bad_input_is_a_clear_error_and_loses_nothing() {
    let memory = MemoryDisk::with_crashes();
    let engine = open(&memory);
    let table = engine.create_table("t").unwrap();
    (0..ROWS).for_each(|n| put(&engine, &table, &format!("{n:03}"), &"v".repeat(100)));
    // The middle of the log, of which recovery needs all: no checkpoint was taken.
    let (killed, middle) = (memory.fork(), engine.log().durable().0 / 1024 * 512);
    let segment = options().log.segment_bytes;
    assert!(middle < segment, "the middle is in the first segment");
    let error = with_damage(&killed, "log/0000000000000000", middle, |b| b[40..140].fill(0xAA));
    assert!(matches!(error, Error::Corrupt { .. }), "{error}");
    // The second opener, while there is a first; and then a newer version, and a damaged page.
    assert!(matches!(try_open(&memory), Err(Error::AlreadyOpen { .. })));
    engine.close().unwrap();
    drop((engine, table));
    let file = memory.open("doublewrite", OpenMode::Existing).unwrap();
    file.write_at(&vec![0; file.len().unwrap() as usize], 0).unwrap();
    let newer = memory.fork();
    let set_newer = |bytes: &mut [u8]| {
        bytes[8..12].copy_from_slice(&99u32.to_le_bytes());
        let checksum = crc32c(&bytes[..508]);
        bytes[508..].copy_from_slice(&checksum.to_le_bytes());
    };
    for slot in [0, PAGE] {
        let error = with_damage(&newer, "data", slot, set_newer);
        assert!(matches!(error, Error::FormatTooNew { found: 99, .. }), "{error}");
    }
    let (data, mut pages) = (memory.open("data", OpenMode::Existing).unwrap(), 0);
    for page in 2..data.len().unwrap() / PAGE {
        let mut kind = [0];
        data.read_at(&mut kind, page * PAGE + 16).unwrap();
        if kind != [0] {
            let error = with_damage(&memory.fork(), "data", page * PAGE, |b| b[64] ^= 0x10);
            let is_clear = matches!(error, Error::CorruptPage { .. } | Error::Corrupt { .. });
            assert!(is_clear, "page {page}: {error}");
            pages += 1;
        }
    }
    assert!(pages > 10, "{pages} pages in use");
}

#[test]
fn invariant_14_bad_input_refused_requests_leave_everything_as_it_was() {
    // A directory with another program's file.
    let disk = MemoryDisk::new();
    disk.open("diary.txt", OpenMode::Create).unwrap().write_at(b"dear", 0).unwrap();
    assert!(matches!(try_open(&disk), Err(Error::NotADatabase { .. })));
    assert_eq!((disk.list("").unwrap(), disk.used_bytes()), (vec!["diary.txt".to_string()], 4));
    // Too large a key or value: the transaction goes on.
    let disk = MemoryDisk::new();
    let engine = open(&disk);
    let table = engine.create_table("t").unwrap();
    let mut txn = engine.begin();
    txn.put(&table, b"kept", b"1").unwrap();
    let refused = txn.put(&table, &[7; KEY_LEN_MAX + 1], b"v");
    assert!(matches!(refused, Err(Error::KeyTooLarge { len, .. }) if len == KEY_LEN_MAX + 1));
    let refused = txn.put(&table, b"big", &vec![7; VALUE_LEN_MAX + 1]);
    assert!(matches!(refused, Err(Error::ValueTooLarge { .. })));
    commit(&engine, txn);
    // A full disk: the transaction can be rolled back, and there is room again.
    disk.set_capacity(disk.used_bytes());
    let mut txn = engine.begin();
    let result = (0..200_000u32).try_for_each(|n| txn.insert(&table, &n.to_be_bytes(), &[1; 200]));
    assert!(matches!(result, Err(Error::DiskFull { .. })), "{result:?}");
    txn.rollback().unwrap();
    assert_eq!(get(&engine, &table, "kept").as_deref(), Some("1"));
    disk.set_capacity(u64::MAX);
    put(&engine, &table, "after", "2");
    assert_eq!(contents(&engine, &table).len(), 2);
    drop((engine, table));
    let engine = open(&disk);
    assert_eq!(contents(&engine, &engine.open_table("t").unwrap()).len(), 2);
    check(&engine);
}
