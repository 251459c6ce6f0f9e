//! The bytes on disk are those of `docs/log-format.md`.

use std::sync::Arc;

use clearway_base::{DatabaseId, Epoch, Error, Lsn, Salt, TxnId};
use clearway_disk::{Disk, MemoryDisk};
use clearway_log::{EpochMark, Known, Lineage, Log, LogReader, LogStart, Record, trace};

use crate::scenario::*;

/// The worked example: lines of a hex dump as they stand on the page, zero lines left out.
const PAGE: &str = include_str!("../../../../docs/log-format.md");

/// The example's lines: a position of six hex digits, then bytes.
fn example() -> Vec<(u64, Vec<u8>)> {
    let (_, example) = PAGE.split_once("## Worked example").expect("the page has its example");
    let lines = example.lines().filter_map(|line| {
        let (position, rest) = line.split_once("  ")?;
        let position = (position.len() == 6).then(|| u64::from_str_radix(position, 16).ok())??;
        let bytes = rest.split(' ').map_while(|word| u8::from_str_radix(word, 16).ok());
        Some((position, bytes.collect()))
    });
    lines.collect()
}

/// The database of the example, and its two openings.
const DATABASE: DatabaseId = DatabaseId(*b"clearway example");
const FIRST: EpochMark = EpochMark { epoch: Epoch(1), salt: Salt(0x1111), begin: Lsn::ZERO };
const SECOND: EpochMark = EpochMark { epoch: Epoch(2), salt: Salt(0x2222), begin: Lsn(1024) };

fn start_at(disk: &Arc<dyn Disk>, tail: Lsn, marks: &[EpochMark]) -> Arc<Log> {
    let epoch = marks.last().unwrap().epoch;
    let lineage = Lineage::new(DATABASE, marks.to_vec());
    let start = LogStart { tail, epoch, retention_lsn: Lsn::ZERO, lineage };
    Log::start_as(disk.clone(), options(), start).unwrap()
}

fn reader(disk: &Arc<dyn Disk>) -> LogReader {
    let lineage = Arc::new(Lineage::new(DATABASE, vec![FIRST, SECOND]));
    LogReader::open_as(disk.clone(), SEGMENT, lineage, Lsn::ZERO).unwrap()
}

fn write_example(disk: &Arc<dyn Disk>) {
    let log = start_at(disk, Lsn::ZERO, &[FIRST]);
    let first = Record { kind: 1, txn: TxnId(7), prev: Lsn::ZERO, body: &[b"hello"] };
    let start = log.insert(&first).unwrap().start;
    let second = Record { kind: 2, txn: TxnId(7), prev: start, body: &[] };
    let span = log.insert(&second).unwrap();
    log.wait_durable(span.end).unwrap();
}

#[test]
fn the_worked_example_of_the_format_page_is_exact() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    write_example(&disk);
    let mut reader = reader(&disk);
    while reader.next().unwrap().is_some() {}
    drop(start_at(&disk, reader.tail(), &[FIRST, SECOND]));
    // The log's bytes, and those of the label behind them.
    let mut expected = vec![0; SEGMENT as usize + 4096];
    let lines = example();
    assert!(lines.len() >= 12, "the example was found");
    for (position, bytes) in lines {
        expected[position as usize..][..bytes.len()].copy_from_slice(&bytes);
    }
    let (file, _) = file_at(&disk, 0);
    let mut found = vec![0; expected.len()];
    assert_eq!(file.read_at(&mut found, 0).unwrap() as u64, file.len().unwrap());
    for (at, (found, expected)) in found.chunks(8).zip(expected.chunks(8)).enumerate() {
        assert_eq!(found, expected, "at {:06x}", at * 8);
    }
}

#[test]
fn the_next_epoch_names_the_exact_end_of_a_torn_one() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    write_example(&disk);
    flip(&disk, 552);
    let mut reader = reader(&disk);
    assert_eq!(reader.next().unwrap().unwrap().body, b"hello");
    assert!(reader.next().unwrap().is_none());
    assert_eq!(reader.tail(), Lsn(552));
    drop(start_at(&disk, reader.tail(), &[FIRST, SECOND]));
    let (file, _) = file_at(&disk, 0);
    let mut prev = [0; 8];
    file.read_at(&mut prev, 1024 + 24).unwrap();
    assert_eq!(u64::from_le_bytes(prev), 552);
}

/// The state of the log in the superblock of the example's database.
fn known() -> Known {
    let (database, retention_lsn) = (DATABASE, Lsn::ZERO);
    let oldest_label = (FIRST.epoch, FIRST.salt);
    Known { database, latest: SECOND, begun: FIRST, has_begun: true, retention_lsn, oldest_label }
}

#[test]
fn the_epochs_of_a_log_are_found_and_those_of_another_refused() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    write_example(&disk);
    let not_begun = Known { has_begun: false, ..known() };
    assert_eq!(trace(&disk, SEGMENT, &not_begun).unwrap().begun, FIRST);
    assert!(matches!(trace(&disk, SEGMENT, &known()), Err(Error::Corrupt { .. })));
    drop(start_at(&disk, Lsn(584), &[FIRST, SECOND]));
    for known in [known(), not_begun] {
        let traced = trace(&disk, SEGMENT, &known).unwrap();
        assert_eq!((traced.begun, traced.lineage.marks()), (SECOND, &[FIRST, SECOND][..]));
    }
    let other = |mark: EpochMark| EpochMark { salt: Salt(mark.salt.0 + 1), ..mark };
    let strangers = [
        Known { database: DatabaseId([1; 16]), ..known() },
        Known { latest: other(SECOND), ..known() },
        Known { latest: other(SECOND), has_begun: false, ..known() },
        Known { oldest_label: (FIRST.epoch, Salt(7)), ..known() },
        Known { oldest_label: (Epoch(5), FIRST.salt), ..known() },
    ];
    for known in strangers {
        let traced = trace(&disk, SEGMENT, &known);
        assert!(matches!(traced, Err(Error::ForeignLog { .. })), "{known:?}: {traced:?}");
    }
}

#[test]
fn an_epoch_that_the_lineage_does_not_know_is_foreign_at_the_tail() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    write_example(&disk);
    drop(start_at(&disk, Lsn(584), &[FIRST, SECOND]));
    let lineage = Arc::new(Lineage::new(DATABASE, vec![FIRST]));
    let mut reader = LogReader::open_as(disk, SEGMENT, lineage, Lsn::ZERO).unwrap();
    assert!(reader.next().unwrap().is_some() && reader.next().unwrap().is_some());
    assert!(matches!(reader.next(), Err(Error::ForeignLog { .. })));
}

#[test]
fn segments_of_version_1_have_no_label_and_no_salt() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let (epoch, lineage) = (Epoch(1), Lineage::version_1());
    let start = LogStart { tail: Lsn::ZERO, epoch, retention_lsn: Lsn::ZERO, lineage };
    let log = Log::start_as(disk.clone(), options(), start).unwrap();
    commit(&log, 1, 100);
    drop(log);
    let (file, _) = file_at(&disk, 0);
    assert_eq!(file.len().unwrap(), SEGMENT);
    let mut first = [0; 32];
    file.read_at(&mut first, 0).unwrap();
    // The first record of the example as version 1 had it.
    let expected = [9, 0x19, 0x20, 0x62, 0x20, 0, 0, 0, 1, 0, 0, 0, 0xF1];
    assert_eq!((&first[..13], &first[13..]), (&expected[..], &[0; 19][..]));
}
