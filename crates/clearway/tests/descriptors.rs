//! A process without free file descriptors: operations that need one fail, and the engine goes on.
//!
//! The limit applies to the whole process, so each test runs itself again in a child process, and
//! sets the limit there.
#![cfg(not(any(loom, shuttle)))]

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use clearway::{Database, Error, Options, Table};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// The variable with the directory of a child; set only in a child.
const DIRECTORY: &str = "CLEARWAY_DESCRIPTORS_DIRECTORY";
/// `EMFILE` on Linux.
const NO_DESCRIPTOR: i32 = 24;
const VALUE: [u8; 1000] = [7; 1000];

/// Runs `body` with a directory, in a child process that runs only the test `name`.
fn in_child(name: &str, body: impl FnOnce(&Path)) {
    if let Some(directory) = env::var_os(DIRECTORY) {
        return body(&PathBuf::from(directory));
    }
    let root = tempfile::tempdir().unwrap();
    let output = Command::new(env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .env(DIRECTORY, root.path().join("db"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{output:?}");
}

/// Opens a database whose log has sixteen segments of 256 KiB.
fn open(directory: &Path) -> (Database, Table) {
    let database =
        Options::new().cache_size(8 << 20).log_capacity(4 << 20).open(directory).unwrap();
    let table = database.table("t").unwrap();
    (database, table)
}

fn put(database: &Database, table: &Table, row: u32) -> clearway::Result<()> {
    database.transact("put", |tx| tx.put(table, row.to_be_bytes(), VALUE)).map(drop)
}

/// Runs `body` while exactly `free` descriptors are free.
fn with_descriptors<T>(free: usize, body: impl FnOnce() -> T) -> T {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, 200, hard).unwrap();
    let open = || std::fs::File::open("/dev/null");
    let mut taken: Vec<_> = std::iter::from_fn(|| open().ok()).collect();
    assert_eq!(open().unwrap_err().raw_os_error(), Some(NO_DESCRIPTOR));
    taken.truncate(taken.len() - free);
    let result = body();
    setrlimit(Resource::RLIMIT_NOFILE, soft, hard).unwrap();
    result
}

/// Opens the database again and looks for the rows `0..rows`.
fn holds_rows(directory: &Path, rows: u32) {
    let (database, table) = open(directory);
    database.verify().unwrap();
    let count = database.transact("count", |tx| tx.scan(&table, ..).count()).unwrap();
    assert_eq!(count, u64::from(rows));
    database.close().unwrap();
}

#[test]
fn directories_are_synced_without_a_free_descriptor() {
    in_child("directories_are_synced_without_a_free_descriptor", |directory| {
        let (database, table) = open(directory);
        // About six segments, of which the checkpoint recycles all but the last.
        (0..1_000).for_each(|row| put(&database, &table, row).unwrap());
        with_descriptors(0, || {
            database.checkpoint().unwrap();
            database.create_table("another").unwrap();
            // These rows are written to recycled segments.
            (1_000..1_500).for_each(|row| put(&database, &table, row).unwrap());
            database.checkpoint().unwrap();
            database.health().unwrap();
            database.close().unwrap();
        });
        holds_rows(directory, 1_500);
    });
}

/// Writes until a new segment is needed, three times.
fn needs_segments(database: &Database, table: &Table, rows: &mut u32) {
    for _ in 0..3 {
        let failure = loop {
            match put(database, table, *rows) {
                Ok(()) => *rows += 1,
                Err(error) => break error,
            }
            assert!(*rows < 10_000, "no segment was needed");
        };
        assert!(matches!(failure, Error::NoFileDescriptor { .. }), "{failure:?}");
    }
    database.health().unwrap();
    let first = database.transact("read", |tx| tx.get(table, 59u32.to_be_bytes()));
    assert_eq!(first.unwrap().as_deref(), Some(&VALUE[..]));
}

#[test]
fn a_segment_that_cannot_be_made_for_want_of_a_descriptor_stops_nothing() {
    let name = "a_segment_that_cannot_be_made_for_want_of_a_descriptor_stops_nothing";
    in_child(name, |directory| {
        let (database, table) = open(directory);
        let mut rows = 0;
        // A file takes two descriptors: with one, the creation fails and must leave nothing behind.
        for free in [0, 1] {
            let mut interactive = database.begin();
            interactive.put(&table, [0xFF; 4], VALUE).unwrap();
            with_descriptors(free, || {
                needs_segments(&database, &table, &mut rows);
                interactive.rollback().unwrap();
                assert!(database.backup(directory.with_extension("copy")).is_err());
                database.health().unwrap();
            });
            (0..500).for_each(|row| put(&database, &table, rows + row).unwrap());
            rows += 500;
        }
        database.close().unwrap();
        for file in std::fs::read_dir(directory.join("log")).unwrap().map(Result::unwrap) {
            assert!(file.metadata().unwrap().len() > 0, "{:?} is left", file.file_name());
        }
        holds_rows(directory, rows);
    });
}

#[test]
fn checkpoints_and_rollbacks_without_log_space_or_descriptors_stop_nothing() {
    let name = "checkpoints_and_rollbacks_without_log_space_or_descriptors_stop_nothing";
    in_child(name, |directory| {
        let (database, table) = open(directory);
        (0..60).for_each(|row| put(&database, &table, row).unwrap());
        // Prevents that the log is recycled; its rollback splits pages.
        let mut interactive = database.begin();
        for row in 0..40u32 {
            interactive.put(&table, row.to_be_bytes(), b"short").unwrap();
        }
        let mut rows = 60;
        with_descriptors(0, || {
            needs_segments(&database, &table, &mut rows);
            let refused = (0..5_000).find_map(|_| database.checkpoint().err());
            assert!(matches!(refused, Some(Error::NoFileDescriptor { .. })), "{refused:?}");
            database.health().unwrap();
            interactive.rollback().unwrap();
            database.health().unwrap();
        });
        put(&database, &table, rows).unwrap();
        database.close().unwrap();
        holds_rows(directory, rows + 1);
    });
}
