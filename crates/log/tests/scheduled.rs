//! The log under many schedules: inserters, waiters, daemons, and a close, on shuttle's threads. A
//! lost wake-up is a hang, which shuttle reports with the schedule.
#![cfg(shuttle)]

mod scenario;

use std::{
    io::ErrorKind,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    task::{Context, Wake, Waker},
};

use clearway_base::{Error, Lsn, TxnId};
use clearway_disk::{Disk, MemoryDisk};
use clearway_log::{Log, LogOptions, Record, SpaceOutlook, record_bytes};
use clearway_sync::{schedules::check, thread};
use clearway_testkit::disk::{Faults, FaultyDisk, Lasting, Operation};
use scenario::{
    body, insert,
    wrapping::{SEGMENT, options, read_all, start, wraps_with},
};

/// Counts its wake-ups.
#[derive(Default)]
struct Count(AtomicU64);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn ring_wraps_under_several_writers() {
    check("log wrap", 250, || wraps_with(options()));
}

#[test]
fn queued_commits_complete_once_whatever_waiters_are_dropped() {
    check("completions", 1_500, || {
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        let log = start(&disk, options());
        let threads: Vec<_> = (0..3)
            .map(|thread| {
                let log = log.clone();
                thread::spawn(move || {
                    let count = Arc::new(Count::default());
                    let waker = Waker::from(count.clone());
                    let end = insert(&log, thread, 50).unwrap().end;
                    let polled = log.poll_durable(end, &mut Context::from_waker(&waker));
                    if thread == 0 {
                        // Drops its waiter: waking its entry has no effect.
                        return (count, polled.is_pending());
                    }
                    let end = insert(&log, thread + 10, 50).unwrap().end;
                    log.wait_durable(end).unwrap();
                    (count, polled.is_pending())
                })
            })
            .collect();
        let counts: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        log.close().unwrap();
        for (count, was_pending) in counts {
            assert_eq!(count.0.load(SeqCst), u64::from(was_pending), "woken exactly once");
        }
        assert_eq!(log.stats().waiting, 0);
        assert_eq!(read_all(&disk).len(), 5);
    });
}

/// Only the daemons write: a group without a waiter starts when its group-commit delay is over, for
/// which a daemon must be awake, and a waiter ends the delay.
#[test]
fn requests_without_a_waiter_are_written() {
    check("group-commit delay", 1_500, || {
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        let log = start(&disk, options());
        let threads: Vec<_> = (0..2)
            .map(|thread| {
                let log = log.clone();
                thread::spawn(move || {
                    for n in 0..3 {
                        let end = insert(&log, thread * 10 + n, 50).unwrap().end;
                        log.request_flush(end);
                        if n == thread {
                            log.wait_durable(end).unwrap();
                        }
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let end = log.end();
        while log.durable() < end {
            thread::yield_now();
        }
        log.close().unwrap();
        assert_eq!(read_all(&disk).len(), 6);
    });
}

/// Stalls the first flush until a second one has begun.
fn stall_until_another_flush(faults: &Faults) {
    let writes = AtomicU64::new(0);
    let writes = Arc::new(writes);
    faults.watch(move |event| {
        if event.operation == Operation::Write && event.name.starts_with("log/") {
            let is_first = writes.fetch_add(1, SeqCst) == 0;
            while is_first && writes.load(SeqCst) < 2 {
                thread::yield_now();
            }
        }
        None
    });
}

/// Neither of the two requests after the in-flight flush makes a group that may overlap with it;
/// both together do, and the second one starts it (FLUSH-5).
#[test]
fn the_request_that_completes_a_group_starts_it() {
    check("overlap", 1_500, || {
        let (memory, faults) = (MemoryDisk::new(), Faults::new());
        let disk: Arc<dyn Disk> = Arc::new(FaultyDisk::new(memory.clone(), faults.clone()));
        let log = start(&disk, options());
        stall_until_another_flush(&faults);
        let first = insert(&log, 1, 900).unwrap().end;
        let leader = thread::spawn({
            let log = log.clone();
            move || log.wait_durable(first).unwrap()
        });
        while log.stats().flushes < 2 {
            thread::yield_now();
        }
        let small = insert(&log, 2, 10).unwrap().end;
        let waiter = thread::spawn({
            let log = log.clone();
            move || log.wait_durable(small).unwrap()
        });
        log.request_flush(insert(&log, 3, 900).unwrap().end);
        [leader, waiter].into_iter().for_each(|thread| thread.join().unwrap());
        log.close().unwrap();
    });
}

#[test]
fn close_completes_or_refuses_every_commit() {
    check("close", 1_500, || {
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        let log = start(&disk, options());
        let threads: Vec<_> = (0..2)
            .map(|thread| {
                let log = log.clone();
                thread::spawn(move || {
                    let commit = |n| {
                        let span = insert(&log, n, 100)?;
                        log.wait_durable(span.end)
                    };
                    let results = [thread * 10, thread * 10 + 1].map(|n| (n, commit(n)));
                    results
                        .into_iter()
                        .filter(|(_, result)| result.is_ok())
                        .map(|(n, _)| n)
                        .collect()
                })
            })
            .collect();
        log.close().unwrap();
        let acked: Vec<Vec<u64>> = threads.into_iter().map(|t| t.join().unwrap()).collect();
        let found = read_all(&disk);
        assert!(acked.iter().flatten().all(|n| found.contains(n)), "{acked:?}, {found:?}");
    });
}

#[test]
fn failed_sync_is_reported_to_every_waiter() {
    check("failure", 1_500, || {
        let (memory, faults) = (MemoryDisk::new(), Faults::new());
        let disk: Arc<dyn Disk> = Arc::new(FaultyDisk::new(memory.clone(), faults.clone()));
        let log = start(&disk, options());
        // For ever: the first sync may be one of the preparer, which tries again.
        faults.fail(Operation::Sync, "log/", 1, ErrorKind::Other, Lasting::Forever);
        let threads: Vec<_> = (0..3)
            .map(|thread| {
                let log = log.clone();
                thread::spawn(move || match insert(&log, thread, 100) {
                    Ok(span) => {
                        let result = log.wait_durable(span.end);
                        assert!(matches!(result, Err(Error::OutcomeUnknown { .. })));
                    }
                    Err(error) => assert!(matches!(error, Error::Poisoned { .. })),
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(matches!(log.close(), Err(Error::Poisoned { .. })));
    });
}

/// Reservations that wait for room are woken without the help of a time-out.
#[test]
fn reservations_that_wait_for_room_get_it() {
    check("log space", 1_000, || {
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        let small = LogOptions { capacity_bytes: 2 * SEGMENT, ..options() };
        let log = start(&disk, small);
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let log = log.clone();
                thread::spawn(move || {
                    for _ in 0..2 {
                        // More than half of what there is: one at a time.
                        log.reserve_space(9_000).unwrap();
                        thread::yield_now();
                        log.release_space(9_000);
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        log.close().unwrap();
    });
}

/// Fills a log. Returns it, the position of its last record, and the number of bytes that can be
/// reserved once the log before that record is freed.
fn full_log() -> (Arc<Log>, Lsn, u64) {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let small = LogOptions { capacity_bytes: 2 * SEGMENT, ..options() };
    let log = start(&disk, small);
    let mut last = Lsn::ZERO;
    let body = body(1, 1_000);
    while log.try_reserve_space(record_bytes(body.len())).is_ok() {
        let record = Record { kind: 1, txn: TxnId(1), prev: Lsn(1), body: &[&body] };
        last = log.insert(&record).unwrap().start;
    }
    log.force(log.end()).unwrap();
    (log, last, SEGMENT - 1_000)
}

/// The end of a checkpoint wakes waiting reservations without a time-out: those for which it made
/// room, and those that cannot succeed afterwards.
#[test]
fn reservations_end_with_the_checkpoint_that_they_wait_for() {
    for frees_segment in [true, false] {
        check(&format!("checkpoint, {frees_segment}"), 1_000, move || {
            let (log, last, wanted) = full_log();
            let requested = Arc::new(AtomicU64::new(0));
            let note = requested.clone();
            log.set_space_waker(Box::new(move || _ = note.fetch_add(1, SeqCst)));
            let is_over = Arc::new(AtomicU64::new(0));
            let waiters: Vec<_> = (0..2)
                .map(|_| {
                    let (log, is_over) = (log.clone(), is_over.clone());
                    thread::spawn(move || {
                        let reserved =
                            log.reserve_space_if(wanted, &|| match is_over.load(SeqCst) {
                                0 => SpaceOutlook::WillFree,
                                _ => SpaceOutlook::CannotFree,
                            });
                        // One at a time.
                        reserved.inspect(|()| log.release_space(wanted))
                    })
                })
                .collect();
            while requested.load(SeqCst) == 0 {
                thread::yield_now();
            }
            let checkpoint = log.report_checkpoint(frees_segment);
            thread::yield_now();
            match frees_segment {
                true => log.truncate(last).unwrap(),
                false => is_over.store(1, SeqCst),
            }
            drop(checkpoint);
            for waiter in waiters {
                let reserved = waiter.join().unwrap();
                match frees_segment {
                    true => reserved.unwrap(),
                    false => assert!(matches!(reserved, Err(Error::LogFull { .. }))),
                }
            }
            log.close().unwrap();
        });
    }
}
