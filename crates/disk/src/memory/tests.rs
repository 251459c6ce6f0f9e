//! Tests of the features that only the memory disk has: crash images and a capacity.

use super::*;

fn contents(disk: &MemoryDisk, name: &str) -> Vec<u8> {
    let file = disk.open(name, OpenMode::Existing).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

#[test]
fn clones_share_and_forks_do_not() {
    let disk = MemoryDisk::new();
    let clone = disk.clone();
    let file = disk.open("data", OpenMode::Create).unwrap();
    file.write_at(b"before", 0).unwrap();
    let _guard = disk.lock().unwrap();
    let fork = disk.fork();
    file.write_at(b"after!", 0).unwrap();
    assert_eq!(contents(&clone, "data"), b"after!");
    assert_eq!(contents(&fork, "data"), b"before");
    assert!(clone.lock().is_err(), "the same directory");
    assert!(fork.lock().is_ok(), "another directory");
    assert_eq!(fork.used_bytes(), 6);
}

#[test]
fn crash_keeps_only_what_was_synced() {
    let disk = MemoryDisk::with_crashes();
    let file = disk.open("data", OpenMode::Create).unwrap();
    file.write_at(b"synced", 0).unwrap();
    assert_eq!(contents(&disk.fork_durable(), "data"), b"");
    file.sync_data().unwrap();
    file.write_at(b"lost", 4).unwrap();
    assert_eq!(contents(&disk.fork(), "data"), b"synclost");
    assert_eq!(contents(&disk.fork_durable(), "data"), b"synced");
    file.sync_all().unwrap();
    assert_eq!(contents(&disk.fork_durable(), "data"), b"synclost");
    let again = disk.fork_durable();
    again.open("data", OpenMode::Existing).unwrap().write_at(b"S", 0).unwrap();
    assert_eq!(contents(&again.fork_durable(), "data"), b"synclost");
}

#[test]
fn durable_write_makes_no_other_write_durable() {
    let disk = MemoryDisk::with_crashes();
    let file = disk.open("log", OpenMode::Create).unwrap();
    file.write_at(b"early", 0).unwrap();
    file.write_durable_at(b"durable", 8).unwrap();
    assert_eq!(contents(&disk.fork_durable(), "log"), b"\0\0\0\0\0\0\0\0durable");
    file.sync_data().unwrap();
    assert_eq!(contents(&disk.fork_durable(), "log"), b"early\0\0\0durable");
}

#[test]
fn cut_and_grown_again_is_zeros_after_a_crash_too() {
    let disk = MemoryDisk::with_crashes();
    let file = disk.open("data", OpenMode::Create).unwrap();
    file.write_at(b"abcdef", 0).unwrap();
    file.sync_data().unwrap();
    file.set_len(2).unwrap();
    assert_eq!(contents(&disk.fork_durable(), "data"), b"abcdef");
    file.set_len(4).unwrap();
    file.sync_data().unwrap();
    assert_eq!(contents(&disk.fork_durable(), "data"), b"ab\0\0");
}

#[test]
fn full_disk_refuses_growth_and_loses_nothing() {
    let disk = MemoryDisk::new();
    disk.set_capacity(10);
    let file = disk.open("data", OpenMode::Create).unwrap();
    file.write_at(b"12345678", 0).unwrap();
    for result in [file.write_at(b"xyz", 8), file.allocate(8, 3), file.set_len(11)] {
        assert!(matches!(result, Err(Error::DiskFull { .. })));
    }
    assert_eq!(contents(&disk, "data"), b"12345678");
    file.write_at(b"xy", 8).unwrap();
    let other = disk.open("other", OpenMode::Create).unwrap();
    assert!(other.write_at(b"z", 0).is_err());
    disk.remove("data").unwrap();
    assert!(other.write_at(b"z", 0).is_err(), "an open handle keeps the space");
    drop(file);
    other.write_at(b"z", 0).unwrap();
    assert_eq!(disk.used_bytes(), 1);
}
