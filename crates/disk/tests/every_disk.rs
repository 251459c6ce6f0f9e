//! Tests of every operation, with the same test body on every disk.

use std::{io, os::unix::fs::PermissionsExt, path::Path, time::Duration};

use clearway_base::{Error, Result};
use clearway_disk::{AlignedBuf, Disk, File, MemoryDisk, OpenMode, OsDisk};
use clearway_testkit::disk::{
    DelayedDisk, Faults, FaultyDisk, MetadataMode, QueueingDisk, ReadServers, SimDisk, SimOptions,
};

/// Runs `body` on every disk, those of the test kit included, each empty.
fn on_every_disk(body: impl Fn(&dyn Disk)) {
    let dir = tempfile::tempdir().unwrap();
    let open = |name: &str| OsDisk::open_dir(dir.path().join(name), true).unwrap();
    let delay = Duration::from_micros(1);
    body(&open("direct"));
    body(&open("buffered").buffered());
    body(&MemoryDisk::new());
    body(&MemoryDisk::with_crashes());
    body(&DelayedDisk::new(MemoryDisk::new(), delay));
    let servers = ReadServers::new(1, delay);
    servers.set_on(true);
    body(&QueueingDisk::new(MemoryDisk::new(), servers));
    body(&SimDisk::new(1, SimOptions::default()));
    let metadata = MetadataMode::Ext4Ordered;
    body(&SimDisk::new(2, SimOptions { metadata, ..SimOptions::default() }));
    body(&FaultyDisk::new(std::sync::Arc::new(open("faulty")), Faults::new()));
}

fn kind(result: Result<impl Sized>) -> io::ErrorKind {
    match result {
        Err(Error::Io { source, .. }) => source.kind(),
        Err(error) => panic!("unexpected error {error:?}"),
        Ok(_) => panic!("unexpected success"),
    }
}

fn read(file: &dyn File, offset: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0xEE; len];
    let read = file.read_at(&mut bytes, offset).unwrap();
    bytes.truncate(read);
    bytes
}

#[test]
fn open_modes_require_or_create_files_as_documented() {
    on_every_disk(|disk| {
        assert_eq!(kind(disk.open("f", OpenMode::Existing)), io::ErrorKind::NotFound);
        disk.open("f", OpenMode::Create).unwrap().write_at(b"kept", 0).unwrap();
        assert_eq!(kind(disk.open("f", OpenMode::CreateNew)), io::ErrorKind::AlreadyExists);
        for mode in [OpenMode::Existing, OpenMode::Create] {
            assert_eq!(read(&*disk.open("f", mode).unwrap(), 0, 9), b"kept");
        }
        disk.open("new", OpenMode::CreateNew).unwrap();
        assert_eq!(kind(disk.open("no/such", OpenMode::Create)), io::ErrorKind::NotFound);
        assert_eq!(kind(disk.open("../f", OpenMode::Create)), io::ErrorKind::InvalidInput);
    });
}

#[test]
fn every_disk_draws_other_numbers_each_time() {
    on_every_disk(|disk| {
        let drawn: Vec<u64> = (0..20).map(|_| disk.random().unwrap()).collect();
        assert!((1..20).all(|nth| !drawn[..nth].contains(&drawn[nth])), "{drawn:?}");
    });
    // A copy draws other numbers than the disk from which it was copied.
    let disk = MemoryDisk::new();
    assert_ne!(disk.random().unwrap(), disk.fork().random().unwrap());
}

#[test]
fn unaligned_bytes_read_back() {
    on_every_disk(|disk| {
        let file = disk.open("f", OpenMode::Create).unwrap();
        assert!(file.is_empty().unwrap());
        file.write_at(b"hello", 3).unwrap();
        file.write_durable_at(b"world", 8).unwrap();
        file.write_at(b"", 100).unwrap();
        assert_eq!(file.len().unwrap(), 13);
        assert_eq!(read(&*file, 0, 100), b"\0\0\0helloworld");
        assert_eq!(read(&*file, 8, 2), b"wo");
        assert_eq!(read(&*file, 13, 5), b"");
        assert_eq!(read(&*file, 1 << 40, 5), b"");
        assert!(file.path().ends_with("f"));
    });
}

#[test]
fn aligned_unaligned_and_durable_writes_see_each_other() {
    on_every_disk(|disk| {
        let file = disk.open("log0", OpenMode::Create).unwrap();
        let mut model = vec![0; 64 << 10];
        file.allocate(0, model.len() as u64).unwrap();
        for round in 0..40usize {
            // 0: whole pages, 1: sectors, 2: odd bytes.
            let unit = [4096, 512, 77][round % 3];
            let at = round * 7919 % 100 * unit % (32 << 10);
            let len = unit * (1 + round % 7);
            let mut bytes = AlignedBuf::new(len);
            bytes.fill(round as u8 + 1);
            if round % 2 == 0 {
                file.write_at(&bytes, at as u64).unwrap();
            } else {
                file.write_durable_at(&bytes, at as u64).unwrap();
            }
            model[at..at + len].copy_from_slice(&bytes);
            let mut back = AlignedBuf::new(64 << 10);
            assert_eq!(file.read_at(&mut back, 0).unwrap(), back.len());
            assert!(back[..] == model[..], "round {round}");
            assert_eq!(read(&*file, at as u64 + 1, len), &model[at + 1..at + 1 + len]);
        }
    });
}

#[test]
fn aligned_read_is_short_only_at_the_end() {
    on_every_disk(|disk| {
        let file = disk.open("f", OpenMode::Create).unwrap();
        file.write_at(&[5; 5000], 0).unwrap();
        let mut buf = AlignedBuf::new(8192);
        assert_eq!(file.read_at(&mut buf, 0).unwrap(), 5000);
        assert!(buf[..5000].iter().all(|&byte| byte == 5));
        assert_eq!(file.read_at(&mut buf[..4096], 4096).unwrap(), 904);
        assert!(buf[..904].iter().all(|&byte| byte == 5));
        assert_eq!(file.read_at(&mut buf, 8192).unwrap(), 0);
    });
}

#[test]
fn syncs_succeed_and_keep_the_bytes() {
    on_every_disk(|disk| {
        let file = disk.open("f", OpenMode::Create).unwrap();
        file.write_at(b"bytes", 0).unwrap();
        file.sync_data().unwrap();
        file.sync_all().unwrap();
        disk.sync_dir("").unwrap();
        assert_eq!(read(&*file, 0, 10), b"bytes");
    });
}

#[test]
fn lengths_change_as_asked_and_new_bytes_are_zeros() {
    on_every_disk(|disk| {
        let file = disk.open("f", OpenMode::Create).unwrap();
        file.write_at(b"abcdef", 0).unwrap();
        file.set_len(3).unwrap();
        assert_eq!(read(&*file, 0, 10), b"abc");
        file.set_len(6).unwrap();
        assert_eq!(read(&*file, 0, 10), b"abc\0\0\0");
    });
}

#[test]
fn allocation_extends_and_keeps_what_is_there() {
    on_every_disk(|disk| {
        let file = disk.open("f", OpenMode::Create).unwrap();
        file.write_at(b"abc", 0).unwrap();
        file.allocate(0, 10_000).unwrap();
        assert_eq!(file.len().unwrap(), 10_000);
        file.allocate(0, 100).unwrap();
        file.allocate(20_000, 0).unwrap();
        assert_eq!(file.len().unwrap(), 10_000);
        assert_eq!(read(&*file, 0, 4), b"abc\0");
        assert!(read(&*file, 3, 20_000)[..] == [0; 9_997]);
        file.allocate(10_000, 10_000).unwrap();
        assert_eq!(file.len().unwrap(), 20_000);
    });
}

#[test]
fn allocation_beyond_any_disk_is_disk_full_and_changes_nothing() {
    on_every_disk(|disk| {
        let file = disk.open("f", OpenMode::Create).unwrap();
        file.write_at(b"abc", 0).unwrap();
        for (offset, len) in [(0, u64::MAX), (u64::MAX, 1), (1, u64::MAX), (0, 1 << 62)] {
            let result = file.allocate(offset, len);
            assert!(matches!(result, Err(Error::DiskFull { .. })), "{result:?}");
        }
        assert_eq!(read(&*file, 0, 10), b"abc");
    });
}

#[test]
fn names_are_created_renamed_and_removed() {
    on_every_disk(|disk| {
        assert!(disk.list("log").unwrap().is_empty());
        assert!(disk.sync_dir("log").is_err());
        disk.create_dir("log").unwrap();
        disk.create_dir("log").unwrap();
        assert_eq!(kind(disk.create_dir("no/such")), io::ErrorKind::NotFound);
        assert!(disk.exists("log").unwrap() && !disk.exists("log/1").unwrap());
        for name in ["data", "log/2", "log/1", "log/3"] {
            disk.open(name, OpenMode::Create).unwrap().write_at(name.as_bytes(), 0).unwrap();
        }
        assert_eq!(disk.list("log").unwrap(), ["1", "2", "3"]);
        assert_eq!(disk.list("").unwrap(), ["data"], "files only");
        let held = disk.open("log/3", OpenMode::Existing).unwrap();
        disk.rename("log/1", "log/3").unwrap();
        assert_eq!(disk.list("log").unwrap(), ["2", "3"]);
        assert_eq!(read(&*disk.open("log/3", OpenMode::Existing).unwrap(), 0, 9), b"log/1");
        assert_eq!(
            read(&*held, 0, 9),
            b"log/3",
            "the replaced file stays readable through its handles"
        );
        disk.remove("log/2").unwrap();
        assert_eq!(kind(disk.remove("log/2")), io::ErrorKind::NotFound);
        assert_eq!(kind(disk.rename("log/2", "log/4")), io::ErrorKind::NotFound);
        assert_eq!(kind(disk.rename("data", "no/such")), io::ErrorKind::NotFound);
        assert!(disk.remove("log").is_err(), "a directory is no file");
        assert!(!disk.exists("log/2").unwrap() && !disk.exists("data/x").unwrap());
        disk.sync_dir("log").unwrap();
    });
}

#[test]
fn second_opener_is_refused_until_the_first_unlocks() {
    on_every_disk(|disk| {
        let guard = disk.lock().unwrap();
        assert!(matches!(disk.lock(), Err(Error::AlreadyOpen { .. })));
        drop(guard);
        drop(disk.lock().unwrap());
    });
}

#[test]
fn second_handle_of_a_directory_is_refused_and_reads_the_pid() {
    let dir = tempfile::tempdir().unwrap();
    let first = OsDisk::open_dir(dir.path(), false).unwrap();
    let second = OsDisk::open_dir(dir.path(), false).unwrap();
    let guard = first.lock().unwrap();
    let own = std::process::id();
    let refused = second.lock().map(drop);
    assert!(matches!(refused, Err(Error::AlreadyOpen { process: Some(id), .. }) if id == own));
    let pid = second.open("LOCK", OpenMode::Existing).unwrap();
    assert_eq!(read(&*pid, 0, 99), format!("{}\n", std::process::id()).as_bytes());
    drop(guard);
    second.lock().unwrap();
}

#[test]
fn missing_directory_is_no_database_unless_it_may_be_created() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a/b/c");
    let error = OsDisk::open_dir(&path, false).err().unwrap();
    assert!(matches!(error, Error::NotADatabase { .. }), "{error}");
    assert!(!dir.path().join("a").exists());
    OsDisk::open_dir(&path, true).unwrap().open("data", OpenMode::Create).unwrap();
    OsDisk::open_dir(&path, false).unwrap().open("data", OpenMode::Existing).unwrap();
    for create in [false, true] {
        let error = OsDisk::open_dir(path.join("data"), create).err().unwrap();
        assert!(matches!(error, Error::NotADatabase { .. }), "{error}");
    }
}

#[test]
fn missing_permission_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let disk = OsDisk::open_dir(dir.path(), false).unwrap();
    disk.open("data", OpenMode::Create).unwrap();
    let mode = |path: &Path, bits| {
        std::fs::set_permissions(path, PermissionsExt::from_mode(bits)).unwrap();
    };
    mode(&dir.path().join("data"), 0o000);
    if std::fs::File::open(dir.path().join("data")).is_ok() {
        return; // this user may open any file
    }
    let error = disk.open("data", OpenMode::Existing).err().unwrap();
    assert!(error.to_string().contains("ermission denied"), "{error}");
    assert_eq!(kind(Err::<(), _>(error)), io::ErrorKind::PermissionDenied);
}

#[test]
fn disk_stays_in_its_directory_when_that_is_renamed() {
    let dir = tempfile::tempdir().unwrap();
    let disk = OsDisk::open_dir(dir.path().join("old"), true).unwrap();
    std::fs::rename(dir.path().join("old"), dir.path().join("new")).unwrap();
    disk.open("data", OpenMode::Create).unwrap();
    assert!(dir.path().join("new/data").exists());
}

#[test]
fn a_name_that_is_not_utf8_is_reported_and_not_changed() {
    use std::os::unix::ffi::OsStrExt;
    let dir = tempfile::tempdir().unwrap();
    let disk = OsDisk::open_dir(dir.path(), true).unwrap();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    std::fs::write(dir.path().join(name), b"").unwrap();
    assert!(matches!(disk.list(""), Err(Error::NotADatabase { .. })));
}
