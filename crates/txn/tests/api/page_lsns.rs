//! Pages whose LSN is beyond the end of the log: damage that no checksum reveals.

use std::sync::Arc;

use clearway_base::{Error, PAGE_SIZE};
use clearway_disk::{Disk, MemoryDisk, OpenMode};
use clearway_testkit::disk::forge_page;
use clearway_txn::{Engine, EngineOptions};

use crate::rig::{self, commit, open, options, start};

/// The first page after the superblock.
const FIRST: u32 = 2;

/// Fills a table with enough rows for several leaves.
fn filled() -> (MemoryDisk, Arc<Engine>) {
    let (disk, engine, table) = start();
    let mut txn = engine.begin();
    for row in 0..100u32 {
        txn.put(&table, &row.to_be_bytes(), &[7; 40]).unwrap();
    }
    commit(&engine, txn);
    (disk, engine)
}

fn pages(disk: &MemoryDisk) -> u32 {
    (disk.open("data", OpenMode::Existing).unwrap().len().unwrap() / PAGE_SIZE as u64) as u32
}

/// Opens and reads and writes everything. Returns the first error.
fn open_and_use(disk: &MemoryDisk) -> Result<(), Error> {
    let engine = Engine::open(Arc::new(disk.clone()), options())?;
    let table = engine.open_table("t")?;
    let mut txn = engine.begin();
    for row in 0..120u32 {
        txn.put(&table, &row.to_be_bytes(), &[8; 40])?;
    }
    txn.commit()?;
    engine.verify()?;
    engine.close()
}

/// Gives each page in turn this page LSN. Returns how many of them an error has named.
fn refused(image: &MemoryDisk, page_lsn: u64) -> usize {
    let mut refused = 0;
    for page in FIRST..pages(image) {
        let disk = image.fork();
        let mut is_used = false;
        forge_page(&disk, page, |bytes| {
            is_used = bytes[16] != 0;
            bytes[8..16].copy_from_slice(&page_lsn.to_le_bytes());
        })
        .unwrap();
        match open_and_use(&disk) {
            Err(Error::CorruptPage { page: found, detail }) => {
                assert_eq!(found.0, page, "{detail}");
                assert!(detail.contains("the log ends at"), "{detail}");
                refused += 1;
            }
            result => assert!(!is_used && result.is_ok(), "page {page}: {result:?}"),
        }
        // A broken invariant would have stopped every engine of this process.
        drop(open(&MemoryDisk::new()));
    }
    refused
}

#[test]
fn closed_database_refuses_pages_beyond_its_log() {
    let (disk, engine) = filled();
    let end = engine.log().end();
    engine.close().unwrap();
    drop(engine);
    assert!(refused(&disk, u64::MAX) > 10);
    assert!(refused(&disk, end.0 + (1 << 20)) > 10);
}

#[test]
fn killed_database_refuses_pages_beyond_its_log() {
    let (disk, engine) = filled();
    engine.checkpoint().unwrap();
    let table = engine.open_table("t").unwrap();
    let mut txn = engine.begin();
    for row in 50..150u32 {
        txn.put(&table, &row.to_be_bytes(), &[9; 40]).unwrap();
    }
    commit(&engine, txn);
    // Undo changes these leaves as the first, and redo the others.
    let mut unfinished = engine.begin();
    for row in 0..20u32 {
        unfinished.delete(&table, &row.to_be_bytes()).unwrap();
    }
    rig::put(&engine, &table, "last", "row");
    let image = disk.fork_durable();
    assert!(refused(&image, engine.log().end().0 + (1 << 20)) > 10);
    drop(unfinished);
}

/// Redo leaves out the changes of such a page, and its cache is too small to keep it: the page was
/// read before the end of the log was known, and is not in memory any more when it is.
#[test]
fn page_that_redo_has_evicted_is_refused() {
    let disk = MemoryDisk::with_crashes();
    let small = || {
        let mut options = EngineOptions { background: false, ..options() };
        options.pool.cache_bytes = 64 * PAGE_SIZE as u64;
        options
    };
    let engine = open(&disk);
    let table = engine.create_table("t").unwrap();
    for value in ["v", "w"] {
        engine.checkpoint().unwrap();
        for row in 0..800u32 {
            rig::put(&engine, &table, &format!("{row:05}"), &value.repeat(60));
        }
    }
    let (image, end) = (disk.fork_durable(), engine.log().end().0);
    let mut refused = 0;
    for page in (FIRST..pages(&image)).step_by(17) {
        let disk = image.fork();
        forge_page(&disk, page, |bytes| bytes[8..16].copy_from_slice(&(end + 1).to_le_bytes()))
            .unwrap();
        match Engine::open(Arc::new(disk), small()) {
            Err(Error::CorruptPage { page: found, .. }) => {
                assert_eq!(found.0, page);
                refused += 1;
            }
            // A page that redo formats is not read.
            opened => {
                let engine = opened.unwrap();
                let (table, mut txn) = (engine.open_table("t").unwrap(), engine.begin());
                for row in 0..800u32 {
                    let value = txn.get(&table, format!("{row:05}").as_bytes()).unwrap();
                    assert_eq!(value.unwrap(), "w".repeat(60).as_bytes(), "page {page}");
                }
            }
        }
    }
    assert!(refused > 5, "{refused}");
}

/// The bound is exact: the page that was changed last has the end of the log as its page LSN.
#[test]
fn page_at_the_end_of_the_log_is_accepted() {
    let (disk, engine) = filled();
    let table = engine.open_table("t").unwrap();
    rig::put(&engine, &table, "last", "row");
    engine.checkpoint().unwrap();
    drop(engine);
    open_and_use(&disk).unwrap();
}
