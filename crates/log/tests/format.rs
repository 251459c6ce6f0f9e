//! The bytes on disk are those of `docs/log-format.md`.

mod scenario;

use std::sync::Arc;

use clearway_base::{Epoch, Lsn, TxnId};
use clearway_disk::{Disk, MemoryDisk};
use clearway_log::{Log, LogReader, Record};
use scenario::*;

/// The worked example: lines of a hex dump as they stand on the page, zero lines left out.
const PAGE: &str = include_str!("../../../docs/log-format.md");

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

fn write_example(disk: &Arc<dyn Disk>) {
    let log = start_new(disk);
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
    let mut reader = LogReader::open(disk.clone(), SEGMENT, Lsn::ZERO).unwrap();
    while reader.next().unwrap().is_some() {}
    drop(Log::start(disk.clone(), options(), reader.tail(), Epoch(2), Lsn::ZERO).unwrap());
    let mut expected = vec![0; 1536];
    let lines = example();
    assert!(lines.len() >= 12, "the example was found");
    for (position, bytes) in lines {
        expected[position as usize..][..bytes.len()].copy_from_slice(&bytes);
    }
    let (file, _) = file_at(&disk, 0);
    let mut found = vec![0; 1536];
    file.read_at(&mut found, 0).unwrap();
    for (at, (found, expected)) in found.chunks(8).zip(expected.chunks(8)).enumerate() {
        assert_eq!(found, expected, "at {:06x}", at * 8);
    }
}

#[test]
fn the_next_epoch_names_the_exact_end_of_a_torn_one() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    write_example(&disk);
    flip(&disk, 552);
    let mut reader = LogReader::open(disk.clone(), SEGMENT, Lsn::ZERO).unwrap();
    assert_eq!(reader.next().unwrap().unwrap().body, b"hello");
    assert!(reader.next().unwrap().is_none());
    assert_eq!(reader.tail(), Lsn(552));
    drop(Log::start(disk.clone(), options(), reader.tail(), Epoch(2), Lsn::ZERO).unwrap());
    let (file, _) = file_at(&disk, 0);
    let mut prev = [0; 8];
    file.read_at(&mut prev, 1024 + 24).unwrap();
    assert_eq!(u64::from_le_bytes(prev), 552);
}
