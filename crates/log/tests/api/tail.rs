//! The end of the log after a crash: torn tails, damage in the middle, left-over records.

use std::{
    ops::Range,
    sync::{Arc, Mutex, mpsc},
};

use clearway_base::{Epoch, Error, Lsn, LsnSpan, SECTOR_SIZE, TxnId};
use clearway_disk::{Disk, MemoryDisk, OpenMode};
use clearway_log::{HEADER_BYTES, Log, LogOptions, LogReader, Record};
use clearway_testkit::Random;
use clearway_testkit::disk::{Faults, FaultyDisk, Operation};

use crate::scenario::*;

const SECTOR: u64 = SECTOR_SIZE as u64;

/// A log of ten commits in groups of their own, and then one group of 30 records over several
/// sectors, not closed. Returns the spans of the last group's records.
fn log_with_large_last_group() -> (MemoryDisk, Vec<LsnSpan>) {
    let memory = MemoryDisk::new();
    let disk: Arc<dyn Disk> = Arc::new(memory.clone());
    // A large ring, so that no insert requests a flush by itself.
    let options = LogOptions { ring_bytes: 1 << 20, ..options() };
    let log = Log::start(disk, options, Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap();
    for i in 0..10 {
        commit(&log, i, 100);
    }
    let spans: Vec<_> = (10..40).map(|i| insert(&log, i, 200).unwrap()).collect();
    log.wait_durable(log.end()).unwrap();
    (memory, spans)
}

fn commit_many(log: &Log, count: u64) {
    for i in 0..count {
        commit(log, i, 600);
    }
}

fn is_corrupt(result: Result<impl Sized, Error>) -> bool {
    matches!(result, Err(Error::Corrupt { .. }))
}

#[test]
fn a_log_torn_at_any_sector_ends_before_the_first_lost_record() {
    let (memory, spans) = log_with_large_last_group();
    let (first, last) = (spans[0].start.0, spans[29].end.0);
    let sectors = (first / SECTOR..=last / SECTOR).map(|sector| sector * SECTOR);
    for torn in sectors {
        let disk: Arc<dyn Disk> = Arc::new(memory.fork());
        overwrite(&disk, torn, &[0; SECTOR_SIZE]);
        let (numbers, tail) = read_all(&disk, Lsn::ZERO).unwrap();
        let whole = spans.iter().take_while(|span| span.end.0 <= torn).count();
        assert_eq!(numbers, (0..10 + whole as u64).collect::<Vec<_>>(), "torn at {torn}");
        let expected = if torn == first { torn } else { spans[..whole].last().unwrap().end.0 };
        assert_eq!(tail.0, expected);

        // The next opening goes on behind the torn record, and both parts stay readable.
        let (again, log) = reopen(&disk, 2);
        assert_eq!(again, numbers);
        commit(&log, 1000, 50);
        drop(log);
        let (after, _) = read_all(&disk, Lsn::ZERO).unwrap();
        assert_eq!(after, [numbers, vec![1000]].concat());
    }
}

#[test]
fn every_damaged_byte_of_an_old_record_is_corruption_and_not_the_tail() {
    let (memory, _) = log_with_large_last_group();
    let disk: Arc<dyn Disk> = Arc::new(memory.clone());
    let mut reader = LogReader::open(disk, SEGMENT, Lsn::ZERO).unwrap();
    let mut spans = Vec::new();
    while let Some(record) = reader.next().unwrap() {
        spans.push(record.span);
    }
    // Damage to a record of the first nine groups is detected by the trailers after it.
    for span in &spans[..9] {
        for at in (span.start.0..span.end.0).step_by(7) {
            let disk: Arc<dyn Disk> = Arc::new(memory.fork());
            flip(&disk, at);
            let result = read_all(&disk, Lsn::ZERO);
            let is_padding = at >= span.start.0 + 132;
            assert!(is_corrupt(result) || is_padding, "byte {at} of {span:?}");
        }
    }
}

#[test]
fn the_trailer_of_a_torn_group_proves_what_was_durable_before_it() {
    let (memory, spans) = log_with_large_last_group();
    let (first, trailer) = (spans[0].start.0, spans[29].end.0);
    // The last record of the group before: only the last group's trailer proves it.
    let before = first - SECTOR;
    for torn in (first..trailer - SECTOR).step_by(SECTOR_SIZE) {
        let disk: Arc<dyn Disk> = Arc::new(memory.fork());
        overwrite(&disk, torn, &[0; SECTOR_SIZE]);
        assert!(read_all(&disk, Lsn::ZERO).is_ok(), "a torn tail, torn at {torn}");
        flip(&disk, before + 40);
        assert!(is_corrupt(read_all(&disk, Lsn::ZERO)), "torn at {torn}");
        // Without its trailer nothing proves it.
        overwrite(&disk, trailer, &[0; HEADER_BYTES]);
        assert_eq!(read_all(&disk, Lsn::ZERO).unwrap().1, Lsn(before), "torn at {torn}");
    }
}

#[test]
fn damage_to_the_last_groups_is_known_after_an_orderly_close() {
    let memory = MemoryDisk::new();
    let disk: Arc<dyn Disk> = Arc::new(memory.clone());
    let log = start_new(&disk);
    let spans: Vec<_> = (0..5).map(|i| commit(&log, i, 100)).collect();
    log.close().unwrap();
    for span in spans {
        let disk: Arc<dyn Disk> = Arc::new(memory.fork());
        flip(&disk, span.start.0 + 40);
        assert!(is_corrupt(read_all(&disk, Lsn::ZERO)));
    }
}

/// The log after a crash in which the first of eight overlapping flushes has not reached the disk
/// and the seven others have: a hole of one sector, and seven good groups of one sector each behind
/// it.
fn log_with_a_hole() -> (Arc<dyn Disk>, Lsn) {
    let memory = MemoryDisk::new();
    let faults = Faults::new();
    let disk = Arc::new(FaultyDisk::new(memory.clone(), faults.clone()));
    let options = LogOptions { flushes_in_flight: 8, ..options() };
    let log = Log::start(disk, options, Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap();
    for i in 0..5 {
        commit(&log, i, 100);
    }
    let hole = log.durable();
    let (go, stalled) = mpsc::channel::<()>();
    let stalled = Mutex::new(stalled);
    faults.watch(move |event| {
        if event.operation == Operation::Write && event.offset == hole.0 {
            let _ = stalled.lock().unwrap().recv();
        }
        None
    });
    let crashed = std::thread::scope(|scope| {
        let synced = faults.count(Operation::Sync, "log/");
        for i in 0..8 {
            let end = insert(&log, 5 + i, 100).unwrap().end;
            let flushes = log.stats().flushes;
            let log = &log;
            scope.spawn(move || log.wait_durable(end).unwrap());
            while log.stats().flushes == flushes {
                std::thread::yield_now();
            }
        }
        while faults.count(Operation::Sync, "log/") < synced + 7 {
            std::thread::yield_now();
        }
        // A sync is counted after the bytes were written.
        assert_eq!(log.durable(), hole);
        let crashed = memory.fork();
        drop(go);
        crashed
    });
    (Arc::new(crashed), hole)
}

#[test]
fn a_hole_that_was_never_durable_is_the_tail_whatever_stands_behind_it() {
    let (disk, hole) = log_with_a_hole();
    let mut behind = LogReader::open(disk.clone(), SEGMENT, Lsn(hole.0 + SECTOR)).unwrap();
    assert!(behind.next().unwrap().is_some(), "there is something behind it");
    let (numbers, tail) = read_all(&disk, Lsn::ZERO).unwrap();
    assert_eq!((numbers, tail), (vec![0, 1, 2, 3, 4], hole));
}

#[test]
fn records_left_by_an_earlier_epoch_are_never_read_again() {
    // What stands behind the hole is whole and at the right position, and each new epoch ends
    // exactly where one of the old groups begins.
    let (disk, _) = log_with_a_hole();
    let mut expected = vec![0, 1, 2, 3, 4];
    for epoch in 2..6 {
        let (numbers, log) = reopen(&disk, epoch);
        assert_eq!(numbers, expected);
        if epoch % 2 == 0 {
            commit(&log, 1000 + u64::from(epoch), 64);
            expected.push(1000 + u64::from(epoch));
        }
        drop(log);
        assert_eq!(read_all(&disk, Lsn::ZERO).unwrap().0, expected);
    }
    assert_eq!(read_all(&disk, Lsn::ZERO).unwrap().0, expected);
}

#[test]
fn an_epoch_that_crashed_at_once_leaves_nothing_to_stumble_over() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    for epoch in 1..6 {
        let (numbers, log) = reopen(&disk, epoch);
        assert!(numbers.is_empty());
        drop(log);
    }
    // An epoch whose first record was lost altogether.
    let (_, tail) = read_all(&disk, Lsn::ZERO).unwrap();
    let (_, log) = reopen(&disk, 6);
    drop(log);
    overwrite(&disk, tail.0, &[0; SECTOR_SIZE]);
    let (_, log) = reopen(&disk, 7);
    commit(&log, 1, 10);
    drop(log);
    assert_eq!(read_all(&disk, Lsn::ZERO).unwrap().0, [1]);
}

#[test]
fn damage_before_the_start_of_a_later_epoch_is_corruption() {
    let memory = MemoryDisk::new();
    let disk: Arc<dyn Disk> = Arc::new(memory.clone());
    let log = start_new(&disk);
    let first = insert(&log, 0, 100).unwrap();
    let span = commit(&log, 1, 100);
    drop(log);
    // Acknowledged in epoch 1, proved durable by the start of epoch 2.
    drop(reopen(&disk, 2));
    for at in [first.start.0, span.start.0] {
        let disk: Arc<dyn Disk> = Arc::new(memory.fork());
        flip(&disk, at + 36);
        assert!(is_corrupt(read_all(&disk, Lsn::ZERO)), "{at}");
    }
}

#[test]
fn a_lost_epoch_start_is_corruption_once_its_epoch_acknowledged_work() {
    let memory = MemoryDisk::new();
    let disk: Arc<dyn Disk> = Arc::new(memory.clone());
    drop(start_new(&disk));
    let (_, log) = reopen(&disk, 2);
    let start = log.durable().0 - SECTOR;
    for i in 0..4 {
        commit(&log, i, 100);
    }
    drop(log);
    overwrite(&disk, start, &[0; SECTOR_SIZE]);
    assert!(is_corrupt(read_all(&disk, Lsn::ZERO)));
}

#[test]
fn bytes_in_a_body_that_look_like_records_prove_nothing() {
    // A record whose body holds the log's own bytes, copied from another position.
    let memory = MemoryDisk::new();
    let disk: Arc<dyn Disk> = Arc::new(memory.clone());
    let log = start_new(&disk);
    for i in 0..20 {
        commit(&log, i, 100);
    }
    let (file, offset) = file_at(&disk, 0);
    let mut copied = vec![0; 4096];
    file.read_at(&mut copied, offset).unwrap();
    let record = Record { kind: 1, txn: TxnId(99), prev: Lsn(99), body: &[&copied] };
    let span = log.insert(&record).unwrap();
    log.wait_durable(span.end).unwrap();
    flip(&disk, span.start.0 + 33);
    let (numbers, tail) = read_all(&disk, Lsn::ZERO).unwrap();
    assert_eq!((numbers.len(), tail), (20, span.start));
}

#[test]
fn a_missing_segment_in_the_middle_is_corruption() {
    let memory = MemoryDisk::new();
    let disk: Arc<dyn Disk> = Arc::new(memory.clone());
    let log = start_new(&disk);
    commit_many(&log, 400);
    drop(log);
    for lost in 0..3 {
        let disk: Arc<dyn Disk> = Arc::new(memory.fork());
        disk.remove(&format!("log/{:016x}", lost * SEGMENT)).unwrap();
        assert!(is_corrupt(read_all(&disk, Lsn::ZERO)), "segment {lost}");
    }
    let disk: Arc<dyn Disk> = Arc::new(memory.fork());
    (0..3).for_each(|i| disk.remove(&format!("log/{:016x}", i * SEGMENT)).unwrap());
    assert!(is_corrupt(read_all(&disk, Lsn(600))), "the start is gone");
    for name in disk.list("log").unwrap() {
        disk.remove(&format!("log/{name}")).unwrap();
    }
    assert!(is_corrupt(read_all(&disk, Lsn(600))), "everything is gone");
    assert_eq!(read_all(&disk, Lsn::ZERO).unwrap().1, Lsn::ZERO, "a log that never began");
}

#[test]
fn a_shortened_segment_is_corruption() {
    let memory = MemoryDisk::new();
    let disk: Arc<dyn Disk> = Arc::new(memory.clone());
    let log = start_new(&disk);
    commit_many(&log, 300);
    let (_, tail) = read_all(&disk, Lsn::ZERO).unwrap();
    drop(log);
    for len in [0, 512, 5000, SEGMENT - 1] {
        let disk: Arc<dyn Disk> = Arc::new(memory.fork());
        let name = format!("log/{SEGMENT:016x}");
        disk.open(&name, OpenMode::Existing).unwrap().set_len(len).unwrap();
        assert!(is_corrupt(read_all(&disk, Lsn::ZERO)), "cut to {len}");
        let started = Log::start(disk, options(), tail, Epoch(2), Lsn::ZERO);
        assert!(is_corrupt(started), "cut to {len}");
    }
}

/// The bounds that `docs/log-format.md` states, "What damage at the end can cost".
#[test]
fn damage_to_one_group_costs_the_last_groups_and_damage_to_all_later_ones_costs_all() {
    let memory = MemoryDisk::new();
    let disk: Arc<dyn Disk> = Arc::new(memory.clone());
    let log = start_new(&disk);
    let spans: Vec<LsnSpan> = (0..300).map(|i| commit(&log, i, 600)).collect();
    drop(log);
    let damaged = |record: usize, trailers: Range<usize>| {
        let disk: Arc<dyn Disk> = Arc::new(memory.fork());
        flip(&disk, spans[record].start.0 + 40);
        trailers.for_each(|group| flip(&disk, spans[group].end.0 + 1));
        read_all(&disk, Lsn::ZERO).map(|(numbers, _)| numbers.len())
    };
    // One group: noticed, or among the last ones.
    for group in 280..300 {
        match damaged(group, 0..0) {
            Ok(left) => assert!(left == group && 300 - left <= options().flushes_in_flight),
            result => assert!(is_corrupt(result), "group {group}"),
        }
    }
    // The trailers of all groups behind it are bad: none proves it. A single good one does.
    assert_eq!(damaged(273, 274..300).unwrap(), 273);
    assert!(is_corrupt(damaged(273, 274..299)));

    let last = spans[299].end.0 / SEGMENT;
    assert!(last >= 3);
    for segment in 0..last {
        let disk: Arc<dyn Disk> = Arc::new(memory.fork());
        let files = [segment, last].map(|index| file_at(&disk, index * SEGMENT).0);
        let contents = files.each_ref().map(|file| {
            let mut bytes = vec![0; SEGMENT as usize];
            file.read_at(&mut bytes, 0).unwrap();
            bytes
        });
        files[0].write_at(&contents[1], 0).unwrap();
        files[1].write_at(&contents[0], 0).unwrap();
        let result = read_all(&disk, Lsn::ZERO);
        if segment + 1 < last {
            assert!(is_corrupt(result), "segment {segment}");
        } else {
            // Both segments' commits, and nothing before them.
            let whole = spans.iter().take_while(|span| span.end.0 <= segment * SEGMENT).count();
            assert_eq!(result.unwrap().0.len(), whole);
            assert!(300 - whole > 64, "more than a segment's");
        }
    }
}

#[test]
fn records_may_lie_across_segments() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let log = start_new(&disk);
    let mut crossing = 0;
    for i in 0..60 {
        let span = insert(&log, i, 15_000).unwrap();
        crossing += u64::from(span.start.0 / SEGMENT != (span.end.0 - 1) / SEGMENT);
    }
    log.close().unwrap();
    assert!(crossing > 5);
    assert_eq!(read_all(&disk, Lsn::ZERO).unwrap().0.len(), 60);
}

#[test]
fn damaged_bytes_never_make_the_reader_panic_or_return_a_changed_record() {
    let (memory, spans) = log_with_large_last_group();
    let end = spans[29].end.0;
    let mut random = Random::new(1);
    for _ in 0..300 {
        let disk: Arc<dyn Disk> = Arc::new(memory.fork());
        for _ in 0..3 {
            let at = random.below(end);
            overwrite(&disk, at, &[random.next_u64() as u8]);
        }
        // `read_all` checks each body; any prefix or an error is right.
        if let Ok((numbers, _)) = read_all(&disk, Lsn::ZERO) {
            assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
        }
    }
}
