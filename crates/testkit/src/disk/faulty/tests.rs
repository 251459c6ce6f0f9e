//! Tests that failures occur as planned.

use std::io::ErrorKind;

use clearway_disk::MemoryDisk;
use clearway_sync::atomic::{AtomicU64, Ordering};

use super::*;

fn disk_with_file(name: &str) -> (MemoryDisk, Faults, Arc<dyn File>) {
    let memory = MemoryDisk::with_crashes();
    let faults = Faults::new();
    let disk = FaultyDisk::new(memory.clone(), faults.clone());
    disk.create_dir("log").unwrap();
    let file = disk.open(name, OpenMode::Create).unwrap();
    (memory, faults, file)
}

#[test]
fn nth_operation_fails_once() {
    let (_, faults, file) = disk_with_file("data");
    faults.fail(Operation::Write, "da", 3, ErrorKind::Other, Lasting::Once);
    let results: Vec<_> = (0..5).map(|_| file.write_at(b"x", 0).is_ok()).collect();
    assert_eq!(results, [true, true, false, true, true]);
    assert_eq!(faults.count(Operation::Write, "data"), 5);
    assert_eq!(faults.count(Operation::Write, "log/"), 0);
}

#[test]
fn permanent_fault_lasts_until_cleared() {
    let (_, faults, file) = disk_with_file("log/0");
    faults.fail(Operation::Sync, "log/", 2, ErrorKind::Other, Lasting::Forever);
    let results: Vec<_> = (0..4).map(|_| file.sync_data().is_ok()).collect();
    assert_eq!(results, [true, false, false, false]);
    faults.clear();
    file.sync_all().unwrap();
}

#[test]
fn faults_affect_only_their_files_and_operations() {
    let (_, faults, file) = disk_with_file("data");
    faults.fail(Operation::Write, "log/", 1, ErrorKind::Other, Lasting::Forever);
    faults.fail(Operation::Read, "data", 1, ErrorKind::Other, Lasting::Forever);
    file.write_at(b"x", 0).unwrap();
    let error = file.read_at(&mut [0], 0).unwrap_err();
    assert!(matches!(error, Error::Io { operation: "read", .. }), "{error}");
}

#[test]
fn full_disk_is_typed() {
    let (_, faults, file) = disk_with_file("data");
    faults.fail(Operation::Allocate, "", 1, ErrorKind::StorageFull, Lasting::Once);
    assert!(matches!(file.allocate(0, 10), Err(Error::DiskFull { .. })));
    assert_eq!(file.len().unwrap(), 0);
}

#[test]
fn failed_sync_of_a_durable_write_leaves_the_bytes_at_risk() {
    let (memory, faults, file) = disk_with_file("log/0");
    faults.fail(Operation::Sync, "log/", 1, ErrorKind::Other, Lasting::Once);
    assert!(file.write_durable_at(b"maybe", 0).is_err());
    assert_eq!(file.len().unwrap(), 5);
    let len = |disk: &MemoryDisk| disk.open("log/0", OpenMode::Existing).unwrap().len().unwrap();
    assert_eq!(len(&memory.fork()), 5);
    assert_eq!(len(&memory.fork_durable()), 0);
    faults.fail(Operation::Write, "log/", 1, ErrorKind::Other, Lasting::Once);
    assert!(file.write_durable_at(b"longer than before", 0).is_err());
    assert_eq!(file.len().unwrap(), 5);
}

#[test]
fn hook_sees_and_fails_operations() {
    let (_, faults, file) = disk_with_file("data");
    let seen = Arc::new(AtomicU64::new(0));
    let counter = seen.clone();
    faults.watch(move |event| {
        if event.operation == Operation::Write && event.bytes == b"bad" {
            assert_eq!((event.name, event.offset), ("data", 7));
            return Some(ErrorKind::InvalidData);
        }
        counter.fetch_add(1, Ordering::SeqCst);
        None
    });
    file.write_at(b"good", 0).unwrap();
    assert!(file.write_at(b"bad", 7).is_err());
    file.sync_data().unwrap();
    assert_eq!(seen.load(Ordering::SeqCst), 2);
}

#[test]
fn directory_operations_fail_as_planned() {
    let faults = Faults::new();
    let disk = FaultyDisk::new(MemoryDisk::new(), faults.clone());
    for operation in [Operation::Open, Operation::Rename, Operation::Remove, Operation::Directory] {
        faults.fail(operation, "", 1, ErrorKind::Other, Lasting::Once);
    }
    assert!(disk.open("a", OpenMode::Create).is_err());
    assert!(disk.rename("a", "b").is_err());
    assert!(disk.remove("a").is_err());
    assert!(disk.sync_dir("").is_err());
    assert!(disk.sync_dir("").is_ok());
}
