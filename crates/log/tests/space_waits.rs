//! The waits of claims for log space: their length and their causes.

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

/// Longer than a claim waits without a checkpoint, on a busy machine too, and shorter than it waits
/// in all.
const SOON: Duration = Duration::from_secs(3);

/// A log of four segments that is full, and the last record in it.
fn full() -> (Arc<Log>, Lsn) {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let options = LogOptions { capacity_bytes: 4 * SEGMENT, ..options() };
    let log = Log::start(disk, options, Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap();
    let mut last = Lsn::ZERO;
    while log.try_claim(2 * 1024).is_ok() {
        log.unclaim(2 * 1024);
        last = commit(&log, 1, 900).start;
    }
    (log, last)
}

/// Claims a segment. Returns the result and the time it took.
fn claim(log: &Log, can_help: &dyn Fn() -> bool) -> (Result<()>, Duration) {
    let begun = Instant::now();
    let result = log.claim_if(SEGMENT, can_help);
    (result, begun.elapsed())
}

#[test]
fn without_a_checkpoint_a_claim_waits_a_tenth_of_a_second() {
    let (log, _) = full();
    let asked = Arc::new(AtomicU64::new(0));
    let counter = asked.clone();
    log.set_space_waker(Box::new(move || _ = counter.fetch_add(1, Ordering::SeqCst)));
    // A checkpoint that frees nothing does not count.
    let useless = log.announce_checkpoint(false);
    let (result, took) = claim(&log, &|| true);
    drop(useless);
    assert!(matches!(result, Err(Error::LogFull { .. })), "{result:?}");
    assert!(took >= Duration::from_millis(100) && took < SOON, "{took:?}");
    assert!(asked.load(Ordering::SeqCst) > 0, "it has asked for a checkpoint");
}

#[test]
fn a_claim_waits_as_long_as_the_checkpoint_that_makes_room() {
    let (log, last) = full();
    let begun = Instant::now();
    let checkpoint = log.announce_checkpoint(true);
    thread::scope(|scope| {
        let claimed = scope.spawn(|| claim(&log, &|| true));
        thread::sleep(Duration::from_millis(400));
        assert!(!claimed.is_finished());
        log.truncate(last).unwrap();
        drop(checkpoint);
        let (result, _) = claimed.join().unwrap();
        assert!(result.is_ok(), "{result:?}");
    });
    assert!(begun.elapsed() < SOON);
}

#[test]
fn a_claim_ends_soon_after_a_checkpoint_that_disappointed_it() {
    let (log, _) = full();
    let checkpoint = log.announce_checkpoint(true);
    thread::scope(|scope| {
        let claimed = scope.spawn(|| claim(&log, &|| true));
        thread::sleep(Duration::from_millis(300));
        assert!(!claimed.is_finished());
        drop(checkpoint);
        let (result, took) = claimed.join().unwrap();
        assert!(matches!(result, Err(Error::LogFull { .. })), "{result:?}");
        assert!(took < SOON, "{took:?}");
    });
}

#[test]
fn a_claim_that_nothing_can_help_does_not_wait() {
    let (log, _) = full();
    let asked = Arc::new(AtomicBool::new(false));
    let note = asked.clone();
    log.set_space_waker(Box::new(move || note.store(true, Ordering::SeqCst)));
    let _checkpoint = log.announce_checkpoint(true);
    let begun = Instant::now();
    for _ in 0..100 {
        assert!(matches!(claim(&log, &|| false).0, Err(Error::LogFull { .. })));
    }
    assert!(begun.elapsed() < SOON, "that is no wait of 100 ms each");
    assert!(!asked.load(Ordering::SeqCst), "a checkpoint would be in vain");
}

#[test]
fn a_claim_ends_with_the_checkpoint_after_which_nothing_can_help() {
    let (log, _) = full();
    let can_help = AtomicBool::new(true);
    let checkpoint = log.announce_checkpoint(true);
    thread::scope(|scope| {
        let claimed = scope.spawn(|| claim(&log, &|| can_help.load(Ordering::SeqCst)));
        thread::sleep(Duration::from_millis(50));
        can_help.store(false, Ordering::SeqCst);
        drop(checkpoint);
        let (result, took) = claimed.join().unwrap();
        assert!(matches!(result, Err(Error::LogFull { .. })), "{result:?}");
        assert!(took < SOON, "{took:?}");
    });
}
