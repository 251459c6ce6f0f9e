//! The waits for log space: their length and their causes.

mod scenario;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use clearway_base::{Epoch, Error, Lsn, Result};
use clearway_disk::{Disk, MemoryDisk};
use clearway_log::{Log, LogOptions};
use scenario::*;

/// Longer than a reservation waits without a checkpoint, on a busy machine too, and shorter than it
/// waits in all.
const SOON: Duration = Duration::from_secs(3);

/// Fills a log of four segments, and returns it with the position of its last record.
fn full() -> (Arc<Log>, Lsn) {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let options = LogOptions { capacity_bytes: 4 * SEGMENT, ..options() };
    let log = Log::start(disk, options, Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap();
    let mut last = Lsn::ZERO;
    while log.try_reserve_space(2 * 1024).is_ok() {
        log.release_space(2 * 1024);
        last = commit(&log, 1, 900).start;
    }
    (log, last)
}

/// Reserves a segment's bytes. Returns the result and the time it took.
fn reserve(log: &Log, can_help: &dyn Fn() -> bool) -> (Result<()>, Duration) {
    let begun = Instant::now();
    let result = log.reserve_space_if(SEGMENT, can_help);
    (result, begun.elapsed())
}

#[test]
fn without_a_checkpoint_a_reservation_waits_a_tenth_of_a_second() {
    let (log, _) = full();
    let requested = Arc::new(AtomicU64::new(0));
    let counter = requested.clone();
    log.set_space_waker(Box::new(move || _ = counter.fetch_add(1, Ordering::SeqCst)));
    // A checkpoint that frees nothing does not count.
    let useless = log.report_checkpoint(false);
    let (result, took) = reserve(&log, &|| true);
    drop(useless);
    assert!(matches!(result, Err(Error::LogFull { .. })), "{result:?}");
    assert!(took >= Duration::from_millis(100) && took < SOON, "{took:?}");
    assert!(requested.load(Ordering::SeqCst) > 0, "it has requested a checkpoint");
}

#[test]
fn a_reservation_waits_as_long_as_the_checkpoint_that_makes_room() {
    let (log, last) = full();
    let begun = Instant::now();
    let checkpoint = log.report_checkpoint(true);
    thread::scope(|scope| {
        let reserving = scope.spawn(|| reserve(&log, &|| true));
        thread::sleep(Duration::from_millis(400));
        assert!(!reserving.is_finished());
        log.truncate(last).unwrap();
        drop(checkpoint);
        let (result, _) = reserving.join().unwrap();
        assert!(result.is_ok(), "{result:?}");
    });
    assert!(begun.elapsed() < SOON);
}

#[test]
fn a_reservation_fails_soon_after_a_checkpoint_that_made_no_room() {
    let (log, _) = full();
    let checkpoint = log.report_checkpoint(true);
    thread::scope(|scope| {
        let reserving = scope.spawn(|| reserve(&log, &|| true));
        thread::sleep(Duration::from_millis(300));
        assert!(!reserving.is_finished());
        drop(checkpoint);
        let (result, took) = reserving.join().unwrap();
        assert!(matches!(result, Err(Error::LogFull { .. })), "{result:?}");
        assert!(took < SOON, "{took:?}");
    });
}

#[test]
fn a_reservation_that_no_checkpoint_can_help_does_not_wait() {
    let (log, _) = full();
    let requested = Arc::new(AtomicBool::new(false));
    let note = requested.clone();
    log.set_space_waker(Box::new(move || note.store(true, Ordering::SeqCst)));
    let _checkpoint = log.report_checkpoint(true);
    let begun = Instant::now();
    for _ in 0..100 {
        assert!(matches!(reserve(&log, &|| false).0, Err(Error::LogFull { .. })));
    }
    assert!(begun.elapsed() < SOON, "that is no wait of 100 ms each");
    assert!(!requested.load(Ordering::SeqCst), "a checkpoint would not help");
}

#[test]
fn a_reservation_fails_with_the_checkpoint_after_which_none_can_help() {
    let (log, _) = full();
    let can_help = AtomicBool::new(true);
    let checkpoint = log.report_checkpoint(true);
    thread::scope(|scope| {
        let reserving = scope.spawn(|| reserve(&log, &|| can_help.load(Ordering::SeqCst)));
        thread::sleep(Duration::from_millis(50));
        can_help.store(false, Ordering::SeqCst);
        drop(checkpoint);
        let (result, took) = reserving.join().unwrap();
        assert!(matches!(result, Err(Error::LogFull { .. })), "{result:?}");
        assert!(took < SOON, "{took:?}");
    });
}
