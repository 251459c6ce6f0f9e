//! Pages whose LSN is beyond the end of the log: damage that no checksum reveals.

use std::sync::Arc;

use clearway_base::{Error, PAGE_SIZE};
use clearway_disk::{Disk, MemoryDisk, OpenMode};
use clearway_testkit::disk::forge_page;
use clearway_txn::Engine;

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
