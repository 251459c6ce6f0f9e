//! Inserted records are read back: both strategies, many threads, ring and segments wrapping.

mod scenario;

use std::sync::Arc;

use clearway_base::{Epoch, Lsn, SECTOR_SIZE, TxnId};
use clearway_disk::{Disk, MemoryDisk, OsDisk};
use clearway_log::{GroupPolicy, Log, LogOptions, LogReader, Record};
use scenario::*;

fn memory() -> Arc<dyn Disk> {
    Arc::new(MemoryDisk::new())
}

#[test]
fn records_of_all_sizes_come_back_in_order() {
    for strategy in ALL {
        let disk = memory();
        let options = LogOptions { strategy, ..options() };
        let log = Log::start(disk.clone(), options, Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap();
        let spans: Vec<_> =
            (0..600).map(|i| insert(&log, i, (i as usize * 37) % 4000).unwrap()).collect();
        assert!(spans.windows(2).all(|pair| pair[0].end <= pair[1].start));
        log.close().unwrap();
        let (numbers, tail) = read_all(&disk, Lsn::ZERO).unwrap();
        assert_eq!(numbers, (0..600).collect::<Vec<_>>());
        assert_eq!(tail, log.durable());
    }
}

#[test]
fn concurrent_committers_find_all_their_records() {
    const THREADS: u64 = 6;
    const EACH: u64 = 400;
    for strategy in ALL {
        for flushes_in_flight in [1, 2, 4] {
            let disk = memory();
            let options = LogOptions { strategy, flushes_in_flight, ..options() };
            let log = Log::start(disk.clone(), options, Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap();
            std::thread::scope(|scope| {
                for thread in 0..THREADS {
                    let log = &log;
                    scope.spawn(move || {
                        for i in 0..EACH {
                            let number = thread * EACH + i;
                            let span = insert(log, number, (i * 13 % 700) as usize).unwrap();
                            match i % 3 {
                                0 => log.wait_durable(span.end).unwrap(),
                                1 => log.request_flush(span.end),
                                _ => {}
                            }
                        }
                    });
                }
            });
            log.close().unwrap();
            let (mut numbers, _) = read_all(&disk, Lsn::ZERO).unwrap();
            numbers.sort_unstable();
            assert_eq!(numbers, (0..THREADS * EACH).collect::<Vec<_>>());
        }
    }
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
fn a_lone_committer_writes_one_sealed_group_a_commit_and_never_waits() {
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
        assert_eq!(stats.records - before.records, 100, "each with its seal");
        assert!(stats.waits <= waits_max, "{} waits", stats.waits);
    }
}

#[test]
fn records_stay_unwritten_until_somebody_asks() {
    let disk = memory();
    let log = start_new(&disk);
    let durable = log.durable();
    insert(&log, 1, 100).unwrap();
    assert_eq!(log.durable(), durable);
    drop(log);
    assert!(read_all(&disk, Lsn::ZERO).unwrap().0.is_empty());
}

#[test]
fn fixed_policy_gathers_until_its_first_limit() {
    let time = std::time::Duration::from_secs(3600);
    let group = GroupPolicy::Fixed { commits: 8, bytes: 1 << 30, time };
    let disk = memory();
    let options = LogOptions { group, ..options() };
    let log = Log::start(disk.clone(), options, Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap();
    let before = log.stats().flushes;
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let log = &log;
            scope.spawn(move || {
                for i in 0..5 {
                    commit(log, thread * 5 + i, 64);
                }
            });
        }
    });
    assert_eq!(log.stats().flushes - before, 5, "eight commits in each group");
    log.close().unwrap();
    assert_eq!(read_all(&disk, Lsn::ZERO).unwrap().0.len(), 40);
}

#[test]
fn fixed_policy_gives_up_gathering_when_its_time_is_over() {
    let time = std::time::Duration::from_millis(2);
    let group = GroupPolicy::Fixed { commits: 1000, bytes: 1 << 30, time };
    let disk = memory();
    let options = LogOptions { group, ..options() };
    let log = Log::start(disk, options, Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap();
    for i in 0..5 {
        commit(&log, i, 64);
    }
    log.close().unwrap();
}

#[test]
fn fixed_policy_does_not_stop_an_insert_that_needs_room() {
    let time = std::time::Duration::from_secs(3600);
    let group = GroupPolicy::Fixed { commits: 1000, bytes: 1 << 30, time };
    let disk = memory();
    let options = LogOptions { group, ..options() };
    let log = Log::start(disk.clone(), options, Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap();
    for i in 0..200 {
        insert(&log, i, 1000).unwrap();
    }
    assert!(log.stats().ring_waits > 0);
    log.close().unwrap();
    assert_eq!(read_all(&disk, Lsn::ZERO).unwrap().0.len(), 200);
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
