//! Log space reservations, truncation and the reuse of segments.

use std::{
    io::ErrorKind,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use clearway_base::{Epoch, Error, Lsn, TxnId};
use clearway_disk::{Disk, MemoryDisk};
use clearway_log::{Log, LogOptions, Record, SpaceOutlook, TRAILER_BYTES_MAX, record_bytes};
use clearway_testkit::disk::{Faults, FaultyDisk, Lasting, Operation};

use crate::scenario::*;

fn files(disk: &Arc<dyn Disk>) -> Vec<String> {
    disk.list("log").unwrap()
}

#[test]
fn a_reservation_beyond_the_capacity_fails_and_leaves_nothing_reserved() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let log = start_new(&disk);
    let used = log.used_bytes();
    let wanted = log.capacity_bytes() + 1;
    assert!(matches!(log.reserve_space(wanted), Err(Error::LogFull { .. })));
    assert_eq!(log.used_bytes(), used);
    log.reserve_space(1000).unwrap();
    assert_eq!(log.used_bytes(), used + 1000);
    log.release_space(1000);
    assert_eq!(log.used_bytes(), used);
}

#[test]
fn space_beyond_the_capacity_is_only_for_the_thread_that_needs_it() {
    let memory = MemoryDisk::new();
    let disk: Arc<dyn Disk> = Arc::new(memory.clone());
    let log = start_small(&disk, Lsn::ZERO);
    while log.reserve_space(100).is_ok() {}
    let used = log.used_bytes();
    memory.set_capacity(memory.used_bytes());
    assert!(
        matches!(log.reserve_beyond_capacity(2 * SEGMENT), Err(Error::DiskFull { .. })),
        "the disk has no room either"
    );
    assert_eq!((log.used_bytes(), log.stats().beyond_bytes), (used, 0), "nothing is reserved");
    memory.set_capacity(u64::MAX);
    log.reserve_beyond_capacity(SEGMENT / 2).unwrap();
    assert_eq!((log.used_bytes(), log.stats().beyond_bytes), (used + SEGMENT / 2, SEGMENT / 2));
    assert!(log.stats().segments > 4);
    assert!(
        matches!(log.reserve_space(1), Err(Error::LogFull { .. })),
        "the rest of the added segment is not for others"
    );
}

#[test]
fn a_log_beyond_its_capacity_is_opened_and_returns_to_it() {
    let memory = MemoryDisk::new();
    let disk: Arc<dyn Disk> = Arc::new(memory.clone());
    let log = start_small(&disk, Lsn::ZERO);
    log.reserve_beyond_capacity(7 * SEGMENT).unwrap();
    let (body, mut last) = (body(1, 900), Lsn::ZERO);
    while log.end().0 < 5 * SEGMENT {
        let record = Record { kind: 1, txn: TxnId(1), prev: Lsn(1), body: &[&body] };
        last = log.insert(&record).unwrap().start;
        log.wait_durable(log.end()).unwrap();
    }
    log.release_space(log.reserved_bytes());
    let crashed: Arc<dyn Disk> = Arc::new(memory.fork());
    let reopened = start_small(&crashed, log.end());
    for log in [log, reopened] {
        assert!(matches!(log.reserve_space(1), Err(Error::LogFull { .. })), "it is too long");
        log.truncate(last).unwrap();
        log.reserve_space(2 * SEGMENT).expect("segments beyond the capacity are within it now");
        assert!(
            matches!(log.reserve_space(2 * SEGMENT), Err(Error::LogFull { .. })),
            "that still holds"
        );
    }
}

/// A log of four segments.
fn start_small(disk: &Arc<dyn Disk>, end: Lsn) -> Arc<Log> {
    let options = LogOptions { capacity_bytes: 4 * SEGMENT, background: false, ..options() };
    Log::start(disk.clone(), options, end, Epoch(1 + u32::from(end > Lsn::ZERO)), Lsn::ZERO)
        .unwrap()
}

#[test]
fn optional_records_get_half_of_the_log_and_no_file() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let options = LogOptions { background: false, ..options() };
    let log = Log::start(disk.clone(), options, Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap();
    let half = log.capacity_bytes() / 2;
    while log.used_bytes() + SEGMENT < half {
        let before = (files(&disk), log.used_bytes());
        let granted = (0..).take_while(|_| log.reserve_optional_space(1000)).count() as u64;
        assert_eq!((files(&disk), log.used_bytes()), (before.0, before.1 + granted * 1000));
        assert!(granted < SEGMENT / 1000, "only what is prepared");
        log.reserve_space(SEGMENT).unwrap();
    }
    log.reserve_space(half - log.used_bytes() - 1000).unwrap();
    assert!(log.reserve_optional_space(1000) && !log.reserve_optional_space(1));
    log.reserve_space(1000).expect("the other half is for the records that are needed");
    assert!(!log.reserve_optional_space(1));
}

#[test]
fn reservations_are_backed_by_files_before_they_are_granted() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let log = start_new(&disk);
    for count in 1..10 {
        log.reserve_space(SEGMENT).unwrap();
        let segments = files(&disk).iter().filter(|name| !name.starts_with("spare")).count();
        assert!(segments as u64 * SEGMENT >= count * SEGMENT, "{count} segments reserved");
    }
}

#[test]
fn reserved_bytes_can_be_inserted_whatever_happens_to_the_disk() {
    let memory = MemoryDisk::new();
    let disk: Arc<dyn Disk> = Arc::new(memory.clone());
    let log = start_new(&disk);
    let room = 5 * SEGMENT;
    log.reserve_space(room).unwrap();
    memory.set_capacity(memory.used_bytes());
    let mut left = room;
    let mut number = 0;
    while left > 2000 {
        let body = body(number, 1000);
        let (txn, prev) = (TxnId(number), Lsn(number));
        let record = Record { kind: 1, txn, prev, body: &[&body] };
        let span = log.insert(&record).unwrap();
        left -= span.end.0 - span.start.0;
        number += 1;
    }
    log.wait_durable(log.end()).unwrap();
    assert!(matches!(log.reserve_space(3 * SEGMENT), Err(Error::DiskFull { .. })));
    assert_eq!(read_all(&disk, Lsn::ZERO).unwrap().0.len() as u64, number);
    memory.set_capacity(u64::MAX);
    log.reserve_space(3 * SEGMENT).expect("room again, nothing lost");
}

#[test]
fn truncated_segments_are_reused_and_the_directory_stays_small() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let options = LogOptions { capacity_bytes: 6 * SEGMENT, ..options() };
    let log = Log::start(disk.clone(), options, Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap();
    let mut keep = Lsn::ZERO;
    for i in 0..3000 {
        let span = commit(&log, i, 900);
        if i % 50 == 49 {
            log.truncate(span.start).unwrap();
            keep = span.start;
            assert_eq!(log.retention_lsn(), keep);
        }
        assert!(log.used_bytes() <= log.capacity_bytes());
    }
    let stats = log.stats();
    assert!(stats.segments_recycled > 40, "{stats:?}");
    assert!(stats.segments_created < 12, "{stats:?}");
    assert!(files(&disk).len() <= 9, "{:?}", files(&disk));
    drop(log);
    let (numbers, _) = read_all(&disk, keep).unwrap();
    assert_eq!(numbers, (2999..3000).collect::<Vec<_>>());
}

#[test]
fn truncation_never_touches_a_segment_that_is_needed() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let log = start_new(&disk);
    let spans: Vec<_> = (0..400).map(|i| commit(&log, i, 800)).collect();
    for i in (0..400).step_by(7) {
        log.truncate(spans[i].start).unwrap();
        let first = i as u64;
        let (numbers, _) = read_all(&disk, spans[i].start).unwrap();
        assert_eq!(numbers, (first..400).collect::<Vec<_>>());
    }
    log.truncate(Lsn::MAX).unwrap();
    assert!(log.retention_lsn() <= log.durable(), "no log that is not durable is freed");
    commit(&log, 400, 800);
}

#[test]
fn old_bytes_of_recycled_segments_are_never_read() {
    let memory = MemoryDisk::new();
    let disk: Arc<dyn Disk> = Arc::new(memory.clone());
    let options = LogOptions { capacity_bytes: 4 * SEGMENT, ..options() };
    let log = Log::start(disk, options, Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap();
    // Each segment is full of good records of this epoch when it is reused. Cut the power after
    // every commit: the tail is exactly there.
    for i in 0..1500 {
        let span = commit(&log, i, 300);
        if i % 40 == 39 {
            log.truncate(span.start).unwrap();
        }
        if i % 11 == 0 {
            let crashed: Arc<dyn Disk> = Arc::new(memory.fork());
            let (numbers, tail) = read_all(&crashed, span.start).unwrap();
            assert_eq!(numbers, [i]);
            assert_eq!(tail, log.durable());
        }
    }
    assert!(log.stats().segments_recycled > 5);
}

#[test]
fn a_reservation_waits_for_the_checkpoint_that_it_requested() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let options = LogOptions { capacity_bytes: 4 * SEGMENT, ..options() };
    let log = Log::start(disk, options, Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap();
    let requested = Arc::new(AtomicU64::new(0));
    log.set_space_waker(Box::new({
        let requested = requested.clone();
        move || requested.store(1, Ordering::SeqCst)
    }));
    let durable = Arc::new(AtomicU64::new(0));
    std::thread::scope(|scope| {
        let (log, requested, durable) = (&log, &requested, &durable);
        // The checkpointer truncates on request, up to the committer's position.
        let checkpointer = scope.spawn(move || {
            while log.health().is_ok() {
                if requested.swap(0, Ordering::SeqCst) > 0 {
                    log.truncate(Lsn(durable.load(Ordering::SeqCst))).unwrap();
                }
                std::thread::yield_now();
            }
        });
        let outlook = || SpaceOutlook::WillFree;
        for i in 0..2000 {
            // What the next call takes, which has no outlook.
            let bytes = record_bytes(900);
            log.reserve_space_if(bytes, &outlook).unwrap();
            log.release_space(bytes);
            let span = commit(log, i, 900);
            durable.store(span.start.0, Ordering::SeqCst);
        }
        log.close().unwrap();
        checkpointer.join().unwrap();
    });
}

#[test]
fn concurrent_reservations_never_exceed_the_log() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let log = start_new(&disk);
    let used = log.used_bytes();
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let log = &log;
            scope.spawn(move || {
                for i in 0..2000 {
                    let bytes = 100 + (i * 37 + thread) % 20_000;
                    log.reserve_space(bytes).unwrap();
                    log.release_space(bytes);
                }
            });
        }
    });
    assert_eq!(log.used_bytes(), used);
}

#[test]
fn a_new_opening_takes_over_prepared_segments_and_drops_old_ones() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let log = start_new(&disk);
    let spans: Vec<_> = (0..400).map(|i| commit(&log, i, 900)).collect();
    log.close().unwrap();
    let before = files(&disk).len();
    let keep = spans[390].start;
    let (_, tail) = read_all(&disk, keep).unwrap();
    let log = Log::start(disk.clone(), options(), tail, Epoch(2), keep).unwrap();
    commit(&log, 400, 900);
    log.close().unwrap();
    assert!(files(&disk).len() <= before + 1);
    let (numbers, _) = read_all(&disk, keep).unwrap();
    assert_eq!(numbers, (390..401).collect::<Vec<_>>());
    let oldest = files(&disk).into_iter().find(|name| !name.starts_with("spare")).unwrap();
    assert_eq!(oldest, format!("{:016x}", keep.0 / SEGMENT * SEGMENT));
}

#[test]
fn a_segment_whose_making_failed_is_no_segment() {
    for operation in
        [Operation::Allocate, Operation::Write, Operation::Sync, Operation::Rename, Operation::Open]
    {
        let memory = MemoryDisk::new();
        let faults = Faults::new();
        let disk: Arc<dyn Disk> = Arc::new(FaultyDisk::new(memory.clone(), faults.clone()));
        faults.fail(operation, "log/", 1, ErrorKind::StorageFull, Lasting::Once);
        let started = Log::start(disk.clone(), options(), Lsn::ZERO, Epoch(1), Lsn::ZERO);
        assert!(started.is_err(), "{operation:?}");
        let log = start_new(&disk);
        commit(&log, 1, 10);
        log.close().unwrap();
        assert_eq!(read_all(&disk, Lsn::ZERO).unwrap().0, [1]);
    }
}

#[test]
fn bad_options_are_refused_by_name() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let bad = [
        LogOptions { ring_bytes: 5000, ..options() },
        LogOptions { ring_bytes: 2048, ..options() },
        LogOptions { segment_bytes: 1000, ..options() },
        LogOptions { segment_bytes: 0, ..options() },
        LogOptions { capacity_bytes: SEGMENT, ..options() },
        LogOptions { segment_bytes: 1 << 63, ..options() },
        LogOptions { flushes_in_flight: 0, ..options() },
        LogOptions { group_commit_delay: Duration::from_secs(2), ..options() },
    ];
    for options in bad {
        let started = Log::start(disk.clone(), options, Lsn::ZERO, Epoch(1), Lsn::ZERO);
        assert!(matches!(started.err(), Some(Error::BadOption { .. })));
    }
}

/// Returns the names of the live segments, without reserved segments.
fn segments(disk: &Arc<dyn Disk>) -> Vec<String> {
    files(disk).into_iter().filter(|name| !name.starts_with("spare")).collect()
}

#[test]
fn a_missing_segment_is_found_before_any_other_is_touched() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let log = start_new(&disk);
    let spans: Vec<_> = (0..400).map(|i| commit(&log, i, 600)).collect();
    drop(log);
    let redo = spans[390].start;
    let (_, tail) = read_all(&disk, redo).unwrap();
    let all = segments(&disk);
    assert!(all.len() > 4);
    // The oldest, one in the middle, the one with the tail: moved away, noticed, put back.
    let with_tail = tail.0 / SEGMENT;
    for index in [0, 2, with_tail] {
        let name = format!("log/{:016x}", index * SEGMENT);
        disk.rename(&name, "saved").unwrap();
        let without = files(&disk);
        let started = Log::start(disk.clone(), options(), tail, Epoch(2), Lsn(100));
        assert!(matches!(started.err(), Some(Error::Corrupt { .. })), "{name}");
        assert_eq!(files(&disk), without, "{name}");
        disk.rename("saved", &name).unwrap();
        assert_eq!(read_all(&disk, Lsn::ZERO).unwrap(), ((0..400).collect(), tail));
    }
    let log = Log::start(disk.clone(), options(), tail, Epoch(2), Lsn(100)).unwrap();
    commit(&log, 400, 600);
}

#[test]
fn commits_that_reserved_their_trailers_never_find_the_disk_full() {
    let memory = MemoryDisk::new();
    let disk: Arc<dyn Disk> = Arc::new(memory.clone());
    let log = start_new(&disk);
    // Reserve space for a thousand small commits and for one long record; then the disk is full,
    // and further reservations take the rest.
    let small = record_bytes(8) + TRAILER_BYTES_MAX;
    log.reserve_space(1000 * small).unwrap();
    log.reserve_space(record_bytes(4000)).unwrap();
    memory.set_capacity(memory.used_bytes());
    let mut rest = 0;
    while log.reserve_space(record_bytes(1000)).is_ok() {
        rest += 1;
    }
    for i in 0..1000 {
        let body = body(i, 8);
        let record = Record { kind: 1, txn: TxnId(i), prev: Lsn(i), body: &[&body] };
        let span = log.insert_with_trailer(&record).unwrap();
        log.wait_durable(span.end).unwrap();
    }
    let numbers = 1000..1001 + rest;
    for (i, len) in numbers.clone().zip([4000].into_iter().chain(std::iter::repeat(1000))) {
        let body = body(i, len);
        let record = Record { kind: 1, txn: TxnId(i), prev: Lsn(i), body: &[&body] };
        log.insert(&record).unwrap();
    }
    log.wait_durable(log.end()).unwrap();
    assert!(log.reserved_bytes() == 0, "{} bytes reserved", log.reserved_bytes());
    log.close().unwrap();
    assert_eq!(read_all(&disk, Lsn::ZERO).unwrap().0, (0..numbers.end).collect::<Vec<_>>());
}

#[test]
fn a_reservation_without_a_trailer_is_refused_before_the_disk_is_full() {
    let memory = MemoryDisk::new();
    let disk: Arc<dyn Disk> = Arc::new(memory.clone());
    let log = start_new(&disk);
    memory.set_capacity(memory.used_bytes());
    let mut i = 0;
    let refused = loop {
        match log.reserve_space(record_bytes(8)) {
            Ok(()) => {}
            Err(error) => break error,
        }
        let body = body(i, 8);
        let record = Record { kind: 1, txn: TxnId(i), prev: Lsn(i), body: &[&body] };
        log.wait_durable(log.insert(&record).unwrap().end).unwrap();
        i += 1;
    };
    assert!(matches!(refused, Error::DiskFull { .. }), "{refused}");
    log.health().unwrap();
}

#[test]
fn a_reservation_that_may_not_wait_adds_segments_and_then_fails_at_once() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let options = LogOptions { capacity_bytes: 4 * SEGMENT, ..options() };
    let log = Log::start(disk, options, Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap();
    let begun = std::time::Instant::now();
    log.try_reserve_space(3 * SEGMENT).unwrap();
    assert!(matches!(log.try_reserve_space(SEGMENT), Err(Error::LogFull { .. })));
    assert!(begun.elapsed().as_secs() < 5, "it must not have waited");
    log.release_space(3 * SEGMENT);
    log.try_reserve_space(SEGMENT).unwrap();
}

#[test]
fn a_truncation_that_frees_nothing_requests_no_checkpoint() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let options = LogOptions { capacity_bytes: 4 * SEGMENT, ..options() };
    let log = Log::start(disk, options, Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap();
    let requested = Arc::new(AtomicU64::new(0));
    log.set_space_waker(Box::new({
        let requested = requested.clone();
        move || {
            requested.fetch_add(1, Ordering::SeqCst);
        }
    }));
    let mut last = Lsn::ZERO;
    while log.used_bytes() < 5 * SEGMENT / 2 {
        last = commit(&log, 1, 900).start;
    }
    let settled = || std::thread::sleep(std::time::Duration::from_millis(50));
    settled();
    let before = requested.load(Ordering::SeqCst);
    assert!(before > 0, "the log is more than half full");
    for _ in 0..5 {
        log.truncate(Lsn(100)).unwrap();
        settled();
    }
    assert_eq!(requested.load(Ordering::SeqCst), before);
    log.truncate(last).unwrap();
}

/// Starts a log with some reserved segments, which grows when the test reserves space.
fn with_reserved_segments(disk: &Arc<dyn Disk>) -> Arc<Log> {
    let log = start_new(disk);
    let spans: Vec<_> = (0..400).map(|i| commit(&log, i, 900)).collect();
    let last = spans[399];
    log.truncate(last.start).unwrap();
    assert!(files(disk).len() > segments(disk).len() + 2, "reserved segments");
    log
}

#[test]
fn a_reserved_segment_whose_renaming_failed_is_used_the_next_time() {
    for operation in [Operation::Rename, Operation::Directory] {
        let faults = Faults::new();
        let disk: Arc<dyn Disk> = Arc::new(FaultyDisk::new(MemoryDisk::new(), faults.clone()));
        let log = with_reserved_segments(&disk);
        std::thread::sleep(std::time::Duration::from_millis(50));
        let (names, created) = (files(&disk), log.stats().segments_created);
        faults.fail(operation, "log", 1, ErrorKind::StorageFull, Lasting::Once);
        let refused = log.reserve_space(2 * SEGMENT);
        assert!(matches!(refused, Err(Error::DiskFull { .. })), "{operation:?}: {refused:?}");
        assert_eq!(files(&disk), names, "{operation:?}");
        log.health().unwrap();
        log.reserve_space(2 * SEGMENT).unwrap();
        let stats = log.stats();
        assert_eq!(stats.segments_created, created, "{operation:?}: the reserved segment is used");
        assert_eq!(stats.segments, segments(&disk).len() as u64);
    }
}

#[test]
fn a_failed_sync_of_the_directory_stops_the_log_and_is_not_tried_again() {
    let faults = Faults::new();
    let disk: Arc<dyn Disk> = Arc::new(FaultyDisk::new(MemoryDisk::new(), faults.clone()));
    let log = with_reserved_segments(&disk);
    std::thread::sleep(std::time::Duration::from_millis(50));
    faults.fail(Operation::Directory, "log", 1, ErrorKind::Other, Lasting::Once);
    assert!(log.reserve_space(2 * SEGMENT).is_err());
    let syncs = faults.count(Operation::Directory, "log");
    assert!(matches!(log.reserve_space(2 * SEGMENT), Err(Error::Poisoned { .. })));
    assert!(matches!(log.health(), Err(Error::Poisoned { .. })));
    assert_eq!(faults.count(Operation::Directory, "log"), syncs);
}

#[test]
fn a_segment_that_cannot_be_freed_stays_live() {
    let faults = Faults::new();
    let disk: Arc<dyn Disk> = Arc::new(FaultyDisk::new(MemoryDisk::new(), faults.clone()));
    let log = start_new(&disk);
    let spans: Vec<_> = (0..400).map(|i| commit(&log, i, 900)).collect();
    let last = spans[399];
    std::thread::sleep(std::time::Duration::from_millis(50));
    faults.fail(Operation::Rename, "log/", 3, ErrorKind::Other, Lasting::Once);
    assert!(log.truncate(last.start).is_err());
    assert_eq!(log.stats().segments, segments(&disk).len() as u64);
    log.truncate(last.start).unwrap();
    assert_eq!(log.stats().segments, segments(&disk).len() as u64);
    assert_eq!(segments(&disk)[0], format!("{:016x}", last.start.0 / SEGMENT * SEGMENT));
}

#[test]
fn a_reader_continues_while_segments_are_freed() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    // Windows of a reader are smaller than these segments, and reach over their borders.
    let segment_bytes = 4 * SEGMENT;
    let options = LogOptions { segment_bytes, ..options() };
    let log = Log::start(disk, options, Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap();
    let spans: Vec<_> = (0..1500).map(|i| commit(&log, i, 600)).collect();
    let first = spans.iter().position(|span| span.start.0 >= 2 * segment_bytes).unwrap();
    let mut reader = log.reader(Lsn::ZERO).unwrap();
    assert_eq!(reader.read_at(spans[1499].start).unwrap().txn, TxnId(1499));
    // A checkpoint: nothing before the first record of the third segment is needed any more.
    log.truncate(spans[first].start).unwrap();
    for i in (first..1500).rev() {
        assert_eq!(reader.read_at(spans[i].start).unwrap().txn, TxnId(i as u64));
    }
}
