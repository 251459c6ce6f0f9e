//! Inserted records are read back: many threads, ring and segments wrapping.

use std::sync::Arc;

use clearway_base::{Epoch, Lsn, SECTOR_SIZE, TxnId};
use clearway_disk::{Disk, MemoryDisk, OsDisk};
use clearway_log::{Log, LogOptions, LogReader, Record};

use crate::scenario::{self, *};

fn memory() -> Arc<dyn Disk> {
    Arc::new(MemoryDisk::new())
}

#[test]
fn records_of_all_sizes_come_back_in_order() {
    scenario::records_of_all_sizes_come_back_in_order(options());
}

#[test]
fn concurrent_committers_find_all_their_records() {
    scenario::concurrent_committers_find_all_their_records(&options());
}

#[test]
fn a_directory_of_the_operating_system_serves_as_well() {
    let dir = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(OsDisk::open_dir(dir.path(), true).unwrap());
    let log = start_new(&disk);
    for i in 0..300 {
        insert(&log, i, 900).unwrap();
    }
    commit(&log, 300, 1);
    drop(log);
    let (numbers, log) = reopen(&disk, 2);
    assert_eq!(numbers, (0..=300).collect::<Vec<_>>());
    commit(&log, 301, 5);
    log.close().unwrap();
    assert_eq!(read_all(&disk, Lsn::ZERO).unwrap().0.len(), 302);
}

#[test]
fn a_lone_committer_writes_one_group_for_each_commit_and_never_waits() {
    // A daemon that is just starting checks once for work, and may be first.
    for (background, waits_max) in [(false, 0), (true, 2)] {
        let options = LogOptions { background, ..options() };
        let log = Log::start(memory(), options, Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap();
        let before = log.stats();
        for i in 0..50 {
            let span = commit(&log, i, 100);
            assert_eq!(log.durable().0 % SECTOR_SIZE as u64, 0);
            assert!(log.durable() >= span.end);
        }
        let stats = log.stats();
        assert_eq!(stats.flushes - before.flushes, 50);
        assert_eq!(stats.records - before.records, 100, "each with its trailer");
        assert!(stats.waits <= waits_max, "{} waits", stats.waits);
    }
}

#[test]
fn records_stay_unwritten_until_a_flush_is_requested() {
    let disk = memory();
    let log = start_new(&disk);
    let durable = log.durable();
    insert(&log, 1, 100).unwrap();
    assert_eq!(log.durable(), durable);
    drop(log);
    assert!(read_all(&disk, Lsn::ZERO).unwrap().0.is_empty());
}

#[test]
fn too_long_a_record_is_refused_and_harms_nothing() {
    let disk = memory();
    let log = start_new(&disk);
    let body = vec![0; 40 << 10];
    let record = Record { kind: 1, txn: TxnId(1), prev: Lsn(0), body: &[&body] };
    assert!(matches!(log.insert(&record), Err(clearway_base::Error::ValueTooLarge { .. })));
    commit(&log, 1, 10);
}

#[test]
fn single_records_are_read_in_any_order() {
    let disk = memory();
    let log = start_new(&disk);
    let spans: Vec<_> = (0..500).map(|i| insert(&log, i, 700).unwrap()).collect();
    log.wait_durable(log.end()).unwrap();
    let mut reader = log.reader(Lsn::ZERO).unwrap();
    let backwards = (0..500).rev();
    let scattered = (0..500).map(|i| (i * 211) % 500);
    for i in backwards.chain(scattered) {
        let record = reader.read_at(spans[i].start).unwrap();
        assert_eq!((record.txn, record.span), (TxnId(i as u64), spans[i]));
        assert_eq!(record.body, body(i as u64, 700));
    }
    let late = commit(&log, 500, 33);
    assert_eq!(reader.read_at(late.start).unwrap().txn, TxnId(500), "newer than the reader");
    for bad in [spans[3].start.0 + 8, spans[3].start.0 + 1, late.end.0, late.end.0 + (1 << 30)] {
        assert!(reader.read_at(Lsn(bad)).is_err(), "no record begins at {bad}");
    }
}

#[test]
fn a_reader_can_begin_at_any_record() {
    let disk = memory();
    let log = start_new(&disk);
    let spans: Vec<_> = (0..100).map(|i| commit(&log, i, 300)).collect();
    let mut reader = LogReader::open(disk.clone(), SEGMENT, spans[40].start).unwrap();
    assert_eq!(reader.next().unwrap().unwrap().txn, TxnId(40));
    reader.seek(spans[90].start);
    let mut count = 0;
    while let Some(record) = reader.next().unwrap() {
        assert_eq!(record.txn, TxnId(90 + count));
        count += 1;
    }
    assert_eq!(count, 10);
}
