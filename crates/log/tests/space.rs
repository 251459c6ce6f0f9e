//! Claims, truncation and the reuse of segments.

mod scenario;

use std::{
    io::ErrorKind,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use clearway_base::{Epoch, Error, Lsn};
use clearway_disk::{Disk, Faults, FaultyDisk, Lasting, MemoryDisk, Operation};
use clearway_log::{Log, LogOptions};
use scenario::*;

fn files(disk: &Arc<dyn Disk>) -> Vec<String> {
    disk.list("log").unwrap()
}

#[test]
fn a_claim_beyond_the_capacity_fails_and_leaves_nothing_claimed() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let log = start_new(&disk);
    let used = log.used_bytes();
    let wanted = log.capacity_bytes() + 1;
    assert!(matches!(log.claim(wanted), Err(Error::LogFull { .. })));
    assert_eq!(log.used_bytes(), used);
    log.claim(1000).unwrap();
    assert_eq!(log.used_bytes(), used + 1000);
    log.unclaim(1000);
    assert_eq!(log.used_bytes(), used);
}

#[test]
fn claims_are_backed_by_files_before_they_are_granted() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let log = start_new(&disk);
    for count in 1..10 {
        log.claim(SEGMENT).unwrap();
        let segments = files(&disk).iter().filter(|name| !name.starts_with("spare")).count();
        assert!(segments as u64 * SEGMENT >= count * SEGMENT, "{count} segments claimed");
    }
}

#[test]
fn claimed_bytes_can_be_inserted_whatever_happens_to_the_disk() {
    let memory = MemoryDisk::new();
    let disk: Arc<dyn Disk> = Arc::new(memory.clone());
    let log = start_new(&disk);
    let room = 5 * SEGMENT;
    log.claim(room).unwrap();
    memory.set_capacity(memory.used_bytes());
    let mut left = room;
    let mut number = 0;
    while left > 2000 {
        let body = body(number, 1000);
        let (txn, prev) = (clearway_base::TxnId(number), Lsn(number));
        let record = clearway_log::Record { kind: 1, txn, prev, body: &[&body] };
        let span = log.insert(&record).unwrap();
        left -= span.end.0 - span.start.0;
        number += 1;
    }
    log.wait_durable(log.end()).unwrap();
    assert!(matches!(log.claim(3 * SEGMENT), Err(Error::DiskFull { .. })));
    assert_eq!(read_all(&disk, Lsn::ZERO).unwrap().0.len() as u64, number);
    memory.set_capacity(u64::MAX);
    log.claim(3 * SEGMENT).expect("room again, nothing lost");
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
            assert_eq!(log.keep_from(), keep);
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
    assert!(log.keep_from() <= log.durable(), "what is not durable is never given back");
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
fn a_claim_waits_for_the_checkpoint_that_it_asked_for() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let options = LogOptions { capacity_bytes: 4 * SEGMENT, ..options() };
    let log = Log::start(disk, options, Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap();
    let asked = Arc::new(AtomicU64::new(0));
    log.set_space_waker(Box::new({
        let asked = asked.clone();
        move || asked.store(1, Ordering::SeqCst)
    }));
    let durable = Arc::new(AtomicU64::new(0));
    std::thread::scope(|scope| {
        let (log, asked, durable) = (&log, &asked, &durable);
        // The checkpointer truncates when asked, to what the committer has left behind.
        let checkpointer = scope.spawn(move || {
            while log.health().is_ok() {
                if asked.swap(0, Ordering::SeqCst) > 0 {
                    log.truncate(Lsn(durable.load(Ordering::SeqCst))).unwrap();
                }
                std::thread::yield_now();
            }
        });
        for i in 0..2000 {
            let span = commit(log, i, 900);
            durable.store(span.start.0, Ordering::SeqCst);
        }
        log.close().unwrap();
        checkpointer.join().unwrap();
    });
}

#[test]
fn concurrent_claims_never_exceed_what_is_there() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let log = start_new(&disk);
    let used = log.used_bytes();
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let log = &log;
            scope.spawn(move || {
                for i in 0..2000 {
                    let bytes = 100 + (i * 37 + thread) % 20_000;
                    log.claim(bytes).unwrap();
                    log.unclaim(bytes);
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
        LogOptions { flushes_in_flight: 0, ..options() },
    ];
    for options in bad {
        let started = Log::start(disk.clone(), options, Lsn::ZERO, Epoch(1), Lsn::ZERO);
        assert!(matches!(started.err(), Some(Error::BadOption { .. })));
    }
}
