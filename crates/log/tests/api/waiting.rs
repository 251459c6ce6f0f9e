//! A waiter is woken exactly when its LSN is durable, and a failure is reported to it.

use std::{
    future::poll_fn,
    io::ErrorKind,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, mpsc},
    task::{Context, Wake, Waker},
    time::{Duration, Instant},
};

use clearway_base::{Epoch, Error, Lsn, TxnId};
use clearway_disk::{Disk, MemoryDisk};
use clearway_log::{Log, LogOptions, Record};
use clearway_sync::block_on;
use clearway_testkit::disk::{Lasting, Operation};

use crate::scenario::{
    closing::{eventually, faulty, is_pending, stall},
    *,
};

fn is_unknown(result: Result<(), Error>) -> bool {
    matches!(result, Err(error) if error.is_outcome_unknown())
}

#[test]
fn futures_and_threads_wait_side_by_side() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let log = start_new(&disk);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let log = &log;
            scope.spawn(move || {
                for i in 0..200 {
                    let end = insert(log, thread * 200 + i, 80).unwrap().end;
                    if i % 2 == 0 {
                        block_on(poll_fn(|cx| log.poll_durable(end, cx))).unwrap();
                    } else {
                        log.wait_durable(end).unwrap();
                    }
                    assert!(log.durable() >= end);
                }
            });
        }
    });
    assert_eq!(log.stats().waiting, 0);
    log.close().unwrap();
}

#[test]
fn a_pipeline_of_requests_completes_without_a_waiting_thread() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let log = start_new(&disk);
    for i in 0..100 {
        let end = insert(&log, i, 50).unwrap().end;
        log.request_flush(end);
        while log.durable() < end {
            std::thread::yield_now();
        }
    }
    assert_eq!(log.stats().waits, 0);
}

#[test]
fn nothing_is_durable_while_the_device_stalls_and_all_of_it_afterwards() {
    let (_, faults, disk) = faulty();
    let log = start_new(&disk);
    let durable = log.durable();
    let go = stall(&faults);
    let ends: Vec<_> = (0..20).map(|i| insert(&log, i, 60).unwrap().end).collect();
    assert!(ends.iter().all(|&end| is_pending(&log, end)));
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(log.durable(), durable);
    drop(go);
    ends.iter().for_each(|&end| log.wait_durable(end).unwrap());
}

#[test]
fn a_wait_returns_only_when_its_lsn_is_durable_however_long_it_takes() {
    let (_, faults, disk) = faulty();
    let log = start_new(&disk);
    let go = stall(&faults);
    let lsn = insert(&log, 1, 60).unwrap().end;
    std::thread::scope(|scope| {
        // One thread writes, and the others wait for it.
        let waiters: Vec<_> = (0..3).map(|_| scope.spawn(|| log.wait_durable(lsn))).collect();
        std::thread::sleep(Duration::from_millis(100));
        let returned = waiters.iter().filter(|waiter| waiter.is_finished()).count();
        drop(go);
        assert_eq!(returned, 0);
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap().unwrap());
    });
}

#[test]
fn a_later_flush_that_completes_first_waits_for_the_earlier_one() {
    let (_, faults, disk) = faulty();
    let log = start_new(&disk);
    let durable = log.durable();
    // The first flush stalls; the second passes.
    let (go, stalled) = mpsc::channel::<()>();
    let stalled = Mutex::new(stalled);
    let first_offset = durable.0;
    faults.watch(move |event| {
        if event.operation == Operation::Write && event.offset == first_offset {
            let _ = stalled.lock().unwrap().recv();
        }
        None
    });
    std::thread::scope(|scope| {
        let first = insert(&log, 1, 60).unwrap().end;
        let leader = scope.spawn({
            let log = &log;
            move || log.wait_durable(first)
        });
        let flushed = |count| {
            while log.stats().flushes < count {
                std::thread::yield_now()
            }
        };
        flushed(2);
        let second = insert(&log, 2, 60).unwrap().end;
        // A thread waits for it: otherwise it would not overlap.
        assert!(is_pending(&log, second));
        flushed(3);
        while faults.count(Operation::Sync, "log/") < 3 {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(log.durable(), durable, "the second flush has completed, the first has not");
        drop(go);
        leader.join().unwrap().unwrap();
        log.wait_durable(second).unwrap();
    });
}

/// Stalls a large flush by one thread, and lets another one wait for a small record after it, whose
/// group does not overlap. Then runs `meanwhile`, and then lets the flush continue.
fn wait_behind_a_stalled_flush(options: LogOptions, meanwhile: impl FnOnce(&Log)) {
    let (_, faults, disk) = faulty();
    let log = Log::start(disk, options, Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap();
    let go = stall(&faults);
    std::thread::scope(|scope| {
        let log = &*log;
        let large = insert(log, 1, 2000).unwrap().end;
        let leader = scope.spawn(move || log.wait_durable(large));
        while log.stats().flushes < 2 {
            std::thread::yield_now();
        }
        let small = insert(log, 2, 10).unwrap().end;
        log.request_flush(small);
        let waiter = scope.spawn(move || log.wait_durable(small));
        while log.stats().waits == 0 {
            std::thread::yield_now();
        }
        assert_eq!(log.stats().flushes, 2, "it gathers");
        meanwhile(log);
        drop(go);
        leader.join().unwrap().unwrap();
        waiter.join().unwrap().unwrap();
    });
}

#[test]
fn requests_made_during_a_flush_are_served_when_it_completes() {
    for background in [true, false] {
        wait_behind_a_stalled_flush(LogOptions { background, ..options() }, |_| ());
    }
}

#[test]
fn a_request_without_a_waiter_overlaps_if_it_completes_an_awaited_group() {
    // So long that no flush is slow, and the request is delayed unless something ends the delay.
    let options = LogOptions { group_commit_delay: LONG, ..options() };
    wait_behind_a_stalled_flush(options, |log| {
        log.request_flush(insert(log, 3, 2000).unwrap().end);
        assert!(eventually(|| log.stats().flushes == 3), "it waits for the flush before it");
    });
}

#[test]
fn a_long_stretch_of_records_is_not_delayed() {
    let (_, faults, disk) = faulty();
    let log = Log::start(
        disk,
        LogOptions { group_commit_delay: LONG, ..options() },
        Lsn::ZERO,
        Epoch(1),
        Lsn::ZERO,
    );
    let log = log.unwrap();
    let go = stall(&faults);
    std::thread::scope(|scope| {
        let log = &*log;
        let first = insert(log, 1, 100).unwrap().end;
        let leader = scope.spawn(move || log.wait_durable(first));
        while log.stats().flushes < 2 {
            std::thread::yield_now();
        }
        // An eighth of the ring, without a request; it overlaps only if it is awaited.
        for n in 2..6 {
            insert(log, n, 2000).unwrap();
        }
        assert!(eventually(|| log.stats().flushes == 3), "it is delayed");
        drop(go);
        leader.join().unwrap().unwrap();
    });
}

#[test]
fn a_failed_sync_stops_the_log_for_good() {
    for operation in [Operation::Write, Operation::Sync] {
        let (memory, faults, disk) = faulty();
        let log = start_new(&disk);
        (0..10).for_each(|i| assert!(commit(&log, i, 100).end <= log.durable()));
        let durable = log.durable();
        faults.fail(operation, "log/", 1, ErrorKind::Other, Lasting::Once);
        let lost = insert(&log, 10, 100).unwrap();
        assert!(is_unknown(log.wait_durable(lost.end)));
        // The disk works again, and the log does not try again.
        let writes = faults.count(Operation::Write, "log/");
        assert!(is_unknown(log.wait_durable(lost.end)));
        let record = Record { kind: 1, txn: TxnId(11), prev: Lsn(11), body: &[] };
        assert!(matches!(log.insert(&record), Err(Error::Poisoned { .. })));
        assert!(matches!(log.health(), Err(Error::Poisoned { .. })));
        assert!(matches!(log.reserve_space(1 << 20), Err(Error::Poisoned { .. })));
        assert!(matches!(log.close(), Err(Error::Poisoned { .. })));
        assert_eq!(log.durable(), durable);
        log.wait_durable(durable).expect("what was durable before stays so");
        assert_eq!(faults.count(Operation::Write, "log/"), writes);
        drop(log);
        let disk: Arc<dyn Disk> = Arc::new(memory);
        assert!(read_all(&disk, Lsn::ZERO).unwrap().0.starts_with(&Vec::from_iter(0..10)));
    }
}

#[test]
fn every_waiter_gets_the_failure() {
    let (_, faults, disk) = faulty();
    let log = start_new(&disk);
    let go = stall(&faults);
    std::thread::scope(|scope| {
        let waiters: Vec<_> = (0..12)
            .map(|i| {
                let end = insert(&log, i, 100).unwrap().end;
                let log = &log;
                scope.spawn(move || match i % 2 {
                    0 => log.wait_durable(end),
                    _ => block_on(poll_fn(|cx| log.poll_durable(end, cx))),
                })
            })
            .collect();
        while log.stats().waiting == 0 {
            std::thread::yield_now();
        }
        faults.fail(Operation::Sync, "log/", 1, ErrorKind::Other, Lasting::Forever);
        drop(go);
        assert!(waiters.into_iter().all(|waiter| is_unknown(waiter.join().unwrap())));
    });
}

#[test]
fn a_failure_elsewhere_fails_the_waiters_though_the_log_could_go_on() {
    let (_, faults, disk) = faulty();
    let log = start_new(&disk);
    let durable = log.durable();
    let go = stall(&faults);
    let end = insert(&log, 1, 100).unwrap().end;
    assert!(is_pending(&log, end));
    log.poison(Error::not_found());
    assert!(is_unknown(log.wait_durable(end)));
    drop(go);
    drop(log.close());
    assert_eq!(log.durable(), durable, "a flush that completes later acknowledges nothing");
}

#[test]
fn an_insert_that_waits_for_room_gets_the_failure() {
    let (_, faults, disk) = faulty();
    let log = start_new(&disk);
    let go = stall(&faults);
    std::thread::scope(|scope| {
        let log = &log;
        let inserter =
            scope.spawn(move || (0..100).map(|i| insert(log, i, 1000)).find(Result::is_err));
        while log.stats().ring_waits == 0 {
            std::thread::yield_now();
        }
        log.poison(Error::not_found());
        drop(go);
        let failed = inserter.join().unwrap().expect("the ring is too small for all");
        assert!(matches!(failed, Err(Error::Poisoned { .. })));
    });
}

#[test]
fn an_lsn_that_the_log_never_reached_is_damage_and_no_endless_wait() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let log = start_new(&disk);
    let beyond = Lsn(log.end().0 + 1);
    assert!(matches!(log.wait_durable(beyond), Err(Error::Corrupt { .. })));
    assert!(!is_pending(&log, beyond));
    log.request_flush(beyond);
    commit(&log, 1, 1);
}

#[test]
fn close_makes_everything_durable_and_refuses_more() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    // So large a ring that no insert requests a flush by itself.
    let options = LogOptions { ring_bytes: 1 << 20, ..options() };
    let log = Log::start(disk.clone(), options, Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap();
    let ends: Vec<_> = (0..50).map(|i| insert(&log, i, 200).unwrap().end).collect();
    assert!(is_pending(&log, ends[49]));
    log.close().unwrap();
    log.close().unwrap();
    assert!(ends.iter().all(|&end| log.wait_durable(end).is_ok()));
    let record = Record { kind: 1, txn: TxnId(1), prev: Lsn(1), body: &[] };
    assert!(matches!(log.insert(&record), Err(Error::Closed)));
    assert_eq!(read_all(&disk, Lsn::ZERO).unwrap().0.len(), 50);
}

#[test]
fn a_failed_start_is_an_error_and_no_log() {
    let (_, faults, disk) = faulty();
    faults.fail(Operation::Sync, "log/", 2, ErrorKind::Other, Lasting::Forever);
    let started = Log::start(disk, options(), Lsn::ZERO, Epoch(1), Lsn::ZERO);
    assert!(matches!(started.err(), Some(Error::Io { .. })));
}

#[test]
fn a_record_that_waits_for_room_while_the_log_closes_is_durable_or_refused() {
    closing::a_record_that_waits_for_room_is_durable_or_refused(&options());
}

/// A waker that owns the log, and reports whether dropping it succeeded.
struct Owner(Option<Arc<Log>>, mpsc::Sender<bool>);

impl Wake for Owner {
    fn wake(self: Arc<Self>) {}
}

impl Drop for Owner {
    fn drop(&mut self) {
        let log = self.0.take();
        let _ = self.1.send(catch_unwind(AssertUnwindSafe(|| drop(log))).is_ok());
    }
}

#[test]
fn the_last_handle_may_be_dropped_by_a_waker() {
    let (_, faults, disk) = faulty();
    let log = start_new(&disk);
    let go = stall(&faults);
    let end = insert(&log, 1, 100).unwrap().end;
    let (report, reported) = mpsc::channel();
    let owner = Waker::from(Arc::new(Owner(Some(log.clone()), report)));
    assert!(log.poll_durable(end, &mut Context::from_waker(&owner)).is_pending());
    drop(owner);
    drop(log);
    drop(go);
    assert!(reported.recv().unwrap(), "a thread has tried to join itself");
    assert!(eventually(|| Arc::strong_count(&disk) == 1), "the threads end");
}

/// A waker that panics.
struct Bomb;

impl Wake for Bomb {
    fn wake(self: Arc<Self>) {
        panic!("a waker that panics, as it should");
    }
}

#[test]
fn a_waker_that_panics_ends_no_daemon() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let options = LogOptions { flushes_in_flight: 1, ..options() };
    let log = Log::start(disk, options, Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap();
    for i in 0..3 {
        let end = insert(&log, i, 100).unwrap().end;
        let _ = log.poll_durable(end, &mut Context::from_waker(&Waker::from(Arc::new(Bomb))));
        assert!(eventually(|| log.durable() >= end));
    }
    log.health().unwrap();
    log.close().unwrap();
}

const LONG: Duration = Duration::from_secs(1);

#[test]
fn requests_without_a_waiter_share_groups() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    // So large a ring that no insert requests a flush by itself.
    let options = LogOptions { group_commit_delay: LONG, ring_bytes: 1 << 20, ..options() };
    let log = Log::start(disk, options, Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap();
    let (begun, before) = (Instant::now(), log.stats().flushes);
    let mut end = Lsn::ZERO;
    for i in 0..100 {
        end = insert(&log, i, 100).unwrap().end;
        log.request_flush(end);
    }
    assert!(eventually(|| log.durable() >= end));
    // The first request may start a group at once; after that there is one for each delay.
    let groups = 2 + begun.elapsed().as_secs();
    assert!(log.stats().flushes - before <= groups, "{} groups", log.stats().flushes - before);
    log.close().unwrap();
}

#[test]
fn a_waiter_ends_the_delay_of_all_requests() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let options = LogOptions { group_commit_delay: LONG, ..options() };
    let log = Log::start(disk, options, Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap();
    let begun = Instant::now();
    for i in 0..40 {
        let first = insert(&log, 2 * i, 100).unwrap().end;
        log.request_flush(first);
        let second = insert(&log, 2 * i + 1, 100).unwrap().end;
        if i % 2 == 0 {
            log.wait_durable(second).unwrap();
        } else {
            assert!(is_pending(&log, second) || log.durable() >= second);
            assert!(eventually(|| log.durable() >= second));
        }
    }
    assert!(begun.elapsed() < 10 * LONG, "forty rounds, each shorter than the delay");
    log.close().unwrap();
}
