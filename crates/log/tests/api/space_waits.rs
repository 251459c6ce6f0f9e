//! The waits for log space: their length and their causes.

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
use clearway_log::{
    Log, LogOptions,
    SpaceOutlook::{self, CannotFree, MayFree, WillFree},
};

use crate::scenario::*;

/// Longer than a bounded wait, on a busy machine too.
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

/// Several times as long as a bounded wait.
const LATE: Duration = Duration::from_millis(400);

/// Reserves a segment's bytes. Returns the result and the time it took.
fn reserve(log: &Log, outlook: &dyn Fn() -> SpaceOutlook) -> (Result<()>, Duration) {
    let begun = Instant::now();
    let result = log.reserve_space_if(SEGMENT, outlook);
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
    let (result, took) = reserve(&log, &|| MayFree);
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
        let reserving = scope.spawn(|| reserve(&log, &|| MayFree));
        thread::sleep(LATE);
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
        let reserving = scope.spawn(|| reserve(&log, &|| MayFree));
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
        assert!(matches!(reserve(&log, &|| CannotFree).0, Err(Error::LogFull { .. })));
    }
    assert!(begun.elapsed() < SOON, "that is no wait of 100 ms each");
    assert!(!requested.load(Ordering::SeqCst), "a checkpoint would not help");
}

#[test]
fn a_reservation_fails_with_the_checkpoint_after_which_none_can_help() {
    let (log, _) = full();
    let is_over = AtomicBool::new(false);
    let outlook = || if is_over.load(Ordering::SeqCst) { CannotFree } else { WillFree };
    let checkpoint = log.report_checkpoint(true);
    thread::scope(|scope| {
        let reserving = scope.spawn(|| reserve(&log, &outlook));
        thread::sleep(Duration::from_millis(50));
        is_over.store(true, Ordering::SeqCst);
        drop(checkpoint);
        let (result, took) = reserving.join().unwrap();
        assert!(matches!(result, Err(Error::LogFull { .. })), "{result:?}");
        assert!(took < SOON, "{took:?}");
    });
}

/// The checkpointer gets no processor for long: it has the request, and begins late.
#[test]
fn a_reservation_waits_for_a_checkpoint_that_begins_late() {
    let (log, last) = full();
    thread::scope(|scope| {
        let reserving = scope.spawn(|| reserve(&log, &|| WillFree));
        thread::sleep(LATE);
        assert!(!reserving.is_finished(), "it was refused before the checkpoint has begun");
        let checkpoint = log.report_checkpoint(true);
        log.truncate(last).unwrap();
        drop(checkpoint);
        let (result, _) = reserving.join().unwrap();
        assert!(result.is_ok(), "{result:?}");
    });
}

/// The request comes during a checkpoint that frees nothing, so only the next one counts.
#[test]
fn a_reservation_waits_for_the_checkpoint_after_the_one_that_frees_nothing() {
    let (log, last) = full();
    let useless = log.report_checkpoint(false);
    thread::scope(|scope| {
        let reserving = scope.spawn(|| reserve(&log, &|| WillFree));
        thread::sleep(LATE);
        drop(useless);
        thread::sleep(LATE);
        assert!(!reserving.is_finished(), "that checkpoint says nothing about the next one");
        let checkpoint = log.report_checkpoint(true);
        log.truncate(last).unwrap();
        drop(checkpoint);
        let (result, _) = reserving.join().unwrap();
        assert!(result.is_ok(), "{result:?}");
    });
}

/// A transaction or backup ends while a reservation waits, and no event says so.
#[test]
fn a_reservation_asks_again_before_it_gives_up() {
    let (log, last) = full();
    let asked = AtomicU64::new(0);
    let outlook = || if asked.fetch_add(1, Ordering::SeqCst) == 0 { MayFree } else { WillFree };
    thread::scope(|scope| {
        let reserving = scope.spawn(|| reserve(&log, &outlook));
        thread::sleep(LATE);
        assert!(!reserving.is_finished(), "it gave up, although a checkpoint has become useful");
        log.truncate(last).unwrap();
        let (result, _) = reserving.join().unwrap();
        assert!(result.is_ok(), "{result:?}");
    });
}

/// The thread itself gets no processor, between its attempt and the wait: the checkpoint begins and
/// ends meanwhile.
#[test]
fn a_reservation_finds_the_room_that_was_made_before_it_slept() {
    let (log, last) = full();
    let asked = AtomicU64::new(0);
    let outlook = || {
        if asked.fetch_add(1, Ordering::SeqCst) == 0 {
            let checkpoint = log.report_checkpoint(true);
            log.truncate(last).unwrap();
            drop(checkpoint);
            thread::sleep(LATE);
        }
        MayFree
    };
    let (result, _) = reserve(&log, &outlook);
    assert!(result.is_ok(), "{result:?}");
    assert_eq!(asked.into_inner(), 1, "the next attempt succeeds");
}

/// The first request is lost: the thread that would take it has not begun to listen.
#[test]
fn a_reservation_repeats_its_request() {
    let (log, last) = full();
    let requested = Arc::new(AtomicU64::new(0));
    let counter = requested.clone();
    log.set_space_waker(Box::new(move || _ = counter.fetch_add(1, Ordering::SeqCst)));
    thread::scope(|scope| {
        let reserving = scope.spawn(|| reserve(&log, &|| WillFree));
        let begun = Instant::now();
        while requested.load(Ordering::SeqCst) < 2 && begun.elapsed() < SOON {
            thread::yield_now();
        }
        let requests = requested.load(Ordering::SeqCst);
        log.truncate(last).unwrap();
        assert!(reserving.join().unwrap().0.is_ok());
        assert!(requests >= 2, "{requests} requests");
    });
}

/// A checkpoint that was to free a segment has failed, and so may each that follows.
#[test]
fn a_reservation_does_not_wait_long_after_a_failed_checkpoint() {
    let (log, last) = full();
    let checkpoint = log.report_checkpoint(true);
    thread::scope(|scope| {
        let reserving = scope.spawn(|| reserve(&log, &|| WillFree));
        thread::sleep(LATE);
        assert!(!reserving.is_finished());
        drop(checkpoint);
        let failed = Instant::now();
        while !reserving.is_finished() && failed.elapsed() < SOON {
            thread::sleep(Duration::from_millis(1));
        }
        let is_over = reserving.is_finished();
        // So that the test ends whatever it finds.
        log.truncate(last).unwrap();
        let (result, _) = reserving.join().unwrap();
        assert!(is_over, "it waits for ever");
        assert!(matches!(result, Err(Error::LogFull { .. })), "{result:?}");
    });
}

/// A failure before the wait does not count.
#[test]
fn a_reservation_is_not_refused_for_an_old_failure() {
    let (log, last) = full();
    drop(log.report_checkpoint(true));
    thread::scope(|scope| {
        let reserving = scope.spawn(|| reserve(&log, &|| WillFree));
        thread::sleep(LATE);
        assert!(!reserving.is_finished());
        log.truncate(last).unwrap();
        let (result, _) = reserving.join().unwrap();
        assert!(result.is_ok(), "{result:?}");
    });
}

#[test]
fn waiting_reservations_end_when_the_log_is_closed() {
    let (log, _) = full();
    thread::scope(|scope| {
        let reserving = scope.spawn(|| reserve(&log, &|| WillFree));
        thread::sleep(LATE);
        assert!(!reserving.is_finished());
        log.close().unwrap();
        let (result, _) = reserving.join().unwrap();
        assert!(matches!(result, Err(Error::Closed)), "{result:?}");
    });
}
