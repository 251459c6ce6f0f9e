//! Invariants 2 (WAL) and 3 (torn and damaged pages), and the behaviour with a failing disk.

use std::{
    io::ErrorKind,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use clearway_base::{Error, Lsn, PAGE_SIZE, PageId};
use clearway_disk::{Disk, MemoryDisk, OpenMode};
use clearway_pool::{Pool, PoolOptions, Wal};
use clearway_testkit::disk::{Event, Faults, FaultyDisk, Lasting, Operation};

use crate::support::*;

fn overwrite(disk: &MemoryDisk, name: &str, at: u64, bytes: &[u8]) {
    disk.open(name, OpenMode::Existing).unwrap().write_at(bytes, at).unwrap();
}

fn place(page: u32) -> u64 {
    u64::from(page) * PAGE_SIZE as u64
}

/// The page LSNs in a write to the data file or the double-write file.
fn page_lsns<'a>(event: &Event<'a>) -> impl Iterator<Item = Lsn> + use<'a> {
    let skipped = if event.name == "doublewrite" { 4096 } else { 0 };
    let pages = event.bytes.get(skipped..).unwrap_or(&[]).chunks_exact(PAGE_SIZE);
    pages.map(|page| Lsn(u64::from_le_bytes(page[8..16].try_into().unwrap())))
}

#[test]
fn wal_rule_holds_for_every_byte_written() {
    let (wal, faults) = (CountingWal::new(), Faults::new());
    let disk = FaultyDisk::new(MemoryDisk::new(), faults.clone());
    let options = PoolOptions { background_cleaner: true, batch_pages: 16, ..small() };
    let (seen, broken) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let (watched, pages, violated) = (wal.clone(), seen.clone(), broken.clone());
    faults.watch(move |event| {
        if event.operation == Operation::Write {
            for page_lsn in page_lsns(event) {
                pages.fetch_add(1, Ordering::Relaxed);
                violated.fetch_or(page_lsn > watched.durable(), Ordering::Relaxed);
            }
        }
        None
    });
    let pool = open(&disk, &wal, options);
    populate(&pool, &wal, 0..300);
    for id in (0..300).chain(100..200) {
        write(&wal, &mut pool.exclusive(PageId(id)).unwrap(), 2);
    }
    pool.close().unwrap();
    // Each page at least once in each file.
    assert!(seen.load(Ordering::Relaxed) >= 600);
    assert!(!broken.load(Ordering::Relaxed), "a page overtook its log");
}

#[test]
fn page_torn_in_place_is_repaired_when_the_pool_opens() {
    let (wal, faults, memory) = (CountingWal::new(), Faults::new(), MemoryDisk::new());
    let pool = open(&FaultyDisk::new(memory.clone(), faults.clone()), &wal, small());
    populate(&pool, &wal, 10..20);
    pool.clean_all().unwrap();
    for id in 10..20 {
        write(&wal, &mut pool.exclusive(PageId(id)).unwrap(), 2);
    }
    // The process dies between the double-write and the in-place write …
    faults.fail(Operation::Write, "data", 1, ErrorKind::Other, Lasting::Forever);
    pool.clean_all().unwrap_err();
    let after = memory.fork();
    // … which has reached half of page 13, and the header of page 15.
    overwrite(&after, "data", place(13) + 4096, &[0x55; 4096]);
    overwrite(&after, "data", place(15), &[0x55; 24]);
    let pool = open(&after, &wal, small());
    assert_eq!(pool.stats().pages_repaired, 2);
    for id in 10..20 {
        let expected = if id == 13 || id == 15 { 2 } else { 1 };
        assert_eq!(check(PageId(id), &pool.shared(PageId(id)).unwrap()), expected);
    }
    // Repaired for good, not in memory only.
    assert_eq!(open(&after.fork(), &wal, small()).stats().pages_repaired, 0);
}

#[test]
fn torn_double_write_leaves_the_data_file_alone() {
    let (wal, faults, memory) = (CountingWal::new(), Faults::new(), MemoryDisk::new());
    let pool = open(&FaultyDisk::new(memory.clone(), faults.clone()), &wal, small());
    populate(&pool, &wal, 10..20);
    pool.clean_all().unwrap();
    write(&wal, &mut pool.exclusive(PageId(12)).unwrap(), 2);
    faults.fail(Operation::Sync, "doublewrite", 1, ErrorKind::Other, Lasting::Once);
    pool.clean_all().unwrap_err();
    assert_eq!(faults.count(Operation::Write, "data"), 1, "only the first round's");
    let after = memory.fork();
    overwrite(&after, "doublewrite", 600, &[0xaa; 512]);
    let pool = open(&after, &wal, small());
    assert_eq!(check(PageId(12), &pool.shared(PageId(12)).unwrap()), 1);
}

/// A closed pool's disk with pages 0..20 of counter 1.
fn written_disk(wal: &Arc<CountingWal>) -> MemoryDisk {
    let disk = MemoryDisk::new();
    let pool = open(&disk, wal, small());
    populate(&pool, wal, 0..20);
    // A second batch, of page 0 alone, so that the double-write area knows no other page.
    pool.clean_all().unwrap();
    write(wal, &mut pool.exclusive(PageId(0)).unwrap(), 2);
    pool.close().unwrap();
    disk
}

fn corrupt_detail(pool: &Pool, page: u32) -> String {
    match pool.shared(PageId(page)).unwrap_err() {
        Error::CorruptPage { page: found, detail } if found == PageId(page) => detail,
        other => panic!("{other}"),
    }
}

#[test]
fn damaged_page_is_an_error_for_its_reader_only() {
    let wal = CountingWal::new();
    let disk = written_disk(&wal);
    overwrite(&disk, "data", place(5) + 5000, b"rot");
    let pool = open(&disk, &wal, small());
    assert!(corrupt_detail(&pool, 5).contains("checksum"));
    assert!(pool.optimistic(PageId(5)).is_err() && pool.exclusive(PageId(5)).is_err());
    assert!(!pool.try_resident(PageId(5)));
    assert_eq!(check(PageId(6), &pool.shared(PageId(6)).unwrap()), 1);
    assert_eq!(pool.resident_bytes(), PAGE_SIZE as u64);
    // Redo that brings a full image does not read it.
    write(&wal, &mut pool.format(PageId(5)).unwrap(), 9);
    assert_eq!(check(PageId(5), &pool.shared(PageId(5)).unwrap()), 9);
}

#[test]
fn misdirected_page_is_found_by_its_id() {
    let wal = CountingWal::new();
    let disk = written_disk(&wal);
    let mut page = vec![0; PAGE_SIZE];
    let file = disk.open("data", OpenMode::Existing).unwrap();
    file.read_at(&mut page, place(5)).unwrap();
    file.write_at(&page, place(6)).unwrap();
    let pool = open(&disk, &wal, small());
    assert!(corrupt_detail(&pool, 6).contains("page 5 stands in its place"));
}

#[test]
fn failed_read_is_tried_again_by_the_next_reader() {
    let (wal, faults) = (CountingWal::new(), Faults::new());
    let disk = FaultyDisk::new(written_disk(&wal), faults.clone());
    let pool = open(&disk, &wal, small());
    faults.fail(Operation::Read, "data", 1, ErrorKind::Other, Lasting::Once);
    assert!(matches!(pool.shared(PageId(3)), Err(Error::Io { operation: "read", .. })));
    assert_eq!(check(PageId(3), &pool.shared(PageId(3)).unwrap()), 1);
}

#[test]
fn page_never_written_reads_as_zeros() {
    let pool = open(&MemoryDisk::new(), &CountingWal::new(), small());
    assert_eq!(check(PageId(900), &pool.shared(PageId(900)).unwrap()), 0);
    assert!(matches!(pool.shared(PageId(u32::MAX)), Err(Error::CorruptPage { .. })));
}

#[test]
fn full_disk_is_met_by_the_allocation_and_not_by_the_cleaner() {
    let (wal, disk) = (CountingWal::new(), MemoryDisk::new());
    let pool = open(&disk, &wal, small());
    pool.ensure_len(PageId(0)).unwrap();
    let pages = pool.page_count();
    // Room for two of the smallest steps, not for the generous one.
    disk.set_capacity(disk.used_bytes() + (2 << 20));
    pool.ensure_len(PageId(pages)).unwrap();
    pool.ensure_len(PageId(pages + 128)).unwrap();
    let last = pool.page_count();
    assert!(matches!(pool.ensure_len(PageId(last)), Err(Error::DiskFull { .. })));
    assert_eq!(pool.page_count(), last);
    // What exists can be used.
    write(&wal, &mut pool.format(PageId(last - 1)).unwrap(), 4);
    pool.clean_all().unwrap();
    disk.set_capacity(u64::MAX);
    pool.ensure_len(PageId(last)).unwrap();
}

#[test]
fn failed_sync_stops_writing_for_good_and_loses_nothing() {
    let (wal, faults) = (CountingWal::new(), Faults::new());
    let disk = FaultyDisk::new(MemoryDisk::new(), faults.clone());
    let pool = open(&disk, &wal, small());
    populate(&pool, &wal, 0..64);
    faults.fail(Operation::Sync, "data", 1, ErrorKind::Other, Lasting::Once);
    let redo_start = pool.redo_start();
    assert!(matches!(pool.clean_all(), Err(Error::Poisoned { .. })));
    assert!(matches!(pool.health(), Err(Error::Poisoned { .. })));
    // The second sync would report a false success. It is never requested.
    let syncs = faults.count(Operation::Sync, "data");
    assert!(matches!(pool.clean_all(), Err(Error::Poisoned { .. })));
    assert_eq!(faults.count(Operation::Sync, "data"), syncs);
    assert_eq!((pool.redo_start(), pool.stats().dirty_pages), (redo_start, 64));
    // Resident pages can be read; a page that needs a dirty page's slot cannot.
    assert_eq!(check(PageId(9), &pool.shared(PageId(9)).unwrap()), 1);
    assert!(matches!(pool.shared(PageId(100)), Err(Error::Poisoned { .. })));
}

#[test]
fn log_that_cannot_flush_keeps_pages_dirty_until_it_can() {
    let wal = CountingWal::new();
    let pool = open(&MemoryDisk::new(), &wal, small());
    populate(&pool, &wal, 0..5);
    wal.break_now(true);
    assert!(matches!(pool.clean_all(), Err(Error::Closed)));
    assert_eq!(pool.stats().dirty_pages, 5);
    pool.health().unwrap();
    wal.break_now(false);
    pool.clean_all().unwrap();
    assert_eq!(pool.stats().dirty_pages, 0);
}

#[test]
fn formatted_page_without_a_finished_change_is_what_it_was() {
    let wal = CountingWal::new();
    let disk = written_disk(&wal);
    let pool = open(&disk, &wal, small());
    let give_up = |begin: bool| {
        let mut formatted = pool.format(PageId(5)).unwrap();
        assert_eq!((check(PageId(5), &formatted), formatted.page_lsn()), (0, Lsn::ZERO));
        if begin {
            formatted.begin_change(); // And the log refuses the record.
            formatted[100] = 1;
        }
    };
    let found = || check(PageId(5), &pool.shared(PageId(5)).unwrap());
    for begin in [false, true] {
        // Absent, clean, pinned, dirty.
        give_up(begin);
        assert_eq!((found(), pool.redo_start()), (1, None));
        give_up(begin);
        assert_eq!((found(), pool.redo_start()), (1, None));
        let pin = pool.pin(PageId(5)).unwrap();
        give_up(begin);
        drop(pin);
        assert_eq!((found(), pool.redo_start()), (1, None));
        let span = write(&wal, &mut pool.exclusive(PageId(5)).unwrap(), 2);
        give_up(begin);
        assert_eq!((found(), pool.redo_start()), (2, Some(span.start)));
        pool.clean_all().unwrap();
        write(&wal, &mut pool.exclusive(PageId(5)).unwrap(), 1);
        pool.clean_all().unwrap();
    }
    // One that the file never had.
    drop(pool.shared(PageId(300)).unwrap());
    pool.format(PageId(300)).unwrap().begin_change();
    pool.exclusive(PageId(301)).unwrap().begin_change();
    let written = pool.stats().pages_written;
    pool.clean_all().unwrap();
    assert_eq!((pool.redo_start(), pool.stats().pages_written), (None, written), "no record");
}

#[test]
fn nothing_is_written_once_the_log_has_failed() {
    let wal = CountingWal::new();
    let disk = written_disk(&wal);
    let pool = open(&disk, &wal, small());
    let span = write(&wal, &mut pool.exclusive(PageId(5)).unwrap(), 2);
    wal.make_durable(span.end).unwrap();
    wal.fail_for_good();
    assert!(pool.clean_all().is_err());
    assert!(pool.close().is_err());
    assert_eq!((pool.stats().pages_written, pool.redo_start()), (0, Some(span.start)));
}
