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
use clearway_log::{Log, LogOptions, Record, record_bytes};
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
fn queued_commits_complete_once_and_dropped_waiters_harm_nobody() {
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
                        // Gives up: its entry is woken in vain, and no thread depends on it.
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
fn what_nobody_waits_for_is_written_all_the_same() {
    check("linger", 1_500, || {
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

/// A flush that does not complete before another one has begun: the first write passes when there
/// is a second.
fn until_another_flies(faults: &Faults) {
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
fn a_group_overlaps_whoever_completes_it() {
    check("overlap", 1_500, || {
        let (memory, faults) = (MemoryDisk::new(), Faults::new());
        let disk: Arc<dyn Disk> = Arc::new(FaultyDisk::new(memory.clone(), faults.clone()));
        let log = start(&disk, options());
        until_another_flies(&faults);
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
fn failed_sync_is_told_to_everybody_who_waits() {
    check("failure", 1_500, || {
        let (memory, faults) = (MemoryDisk::new(), Faults::new());
        let disk: Arc<dyn Disk> = Arc::new(FaultyDisk::new(memory.clone(), faults.clone()));
        let log = start(&disk, options());
        // For ever: the first to sync may be the preparer of segments, which tries again.
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

/// Claims wait for a truncation without a time-out.
#[test]
fn claims_that_wait_for_room_get_it() {
    check("claims", 1_000, || {
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        let small = LogOptions { capacity_bytes: 2 * SEGMENT, ..options() };
        let log = start(&disk, small);
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let log = log.clone();
                thread::spawn(move || {
                    for _ in 0..2 {
                        // More than half of what there is: one at a time.
                        log.claim(9_000).unwrap();
                        thread::yield_now();
                        log.unclaim(9_000);
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        log.close().unwrap();
    });
}

/// A log without room, the last record in it, and what can be claimed once the rest is given back.
fn full_log() -> (Arc<Log>, Lsn, u64) {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let small = LogOptions { capacity_bytes: 2 * SEGMENT, ..options() };
    let log = start(&disk, small);
    let mut last = Lsn::ZERO;
    let body = body(1, 1_000);
    while log.try_claim(record_bytes(body.len())).is_ok() {
        let record = Record { kind: 1, txn: TxnId(1), prev: Lsn(1), body: &[&body] };
        last = log.insert(&record).unwrap().start;
    }
    log.force(log.end()).unwrap();
    (log, last, SEGMENT - 1_000)
}

/// Claims are notified of a checkpoint's end without a time-out: those for which it made room, and
/// those that cannot succeed afterwards.
#[test]
fn claims_end_with_the_checkpoint_that_they_wait_for() {
    for gives_back in [true, false] {
        check(&format!("checkpoint, {gives_back}"), 1_000, move || {
            let (log, last, wanted) = full_log();
            let asked = Arc::new(AtomicU64::new(0));
            let note = asked.clone();
            log.set_space_waker(Box::new(move || _ = note.fetch_add(1, SeqCst)));
            let is_over = Arc::new(AtomicU64::new(0));
            let claims: Vec<_> = (0..2)
                .map(|_| {
                    let (log, is_over) = (log.clone(), is_over.clone());
                    thread::spawn(move || {
                        let claimed = log.claim_if(wanted, &|| is_over.load(SeqCst) == 0);
                        // One at a time.
                        claimed.inspect(|()| log.unclaim(wanted))
                    })
                })
                .collect();
            while asked.load(SeqCst) == 0 {
                thread::yield_now();
            }
            let checkpoint = log.announce_checkpoint(gives_back);
            thread::yield_now();
            match gives_back {
                true => log.truncate(last).unwrap(),
                false => is_over.store(1, SeqCst),
            }
            drop(checkpoint);
            for claim in claims {
                let claimed = claim.join().unwrap();
                match gives_back {
                    true => claimed.unwrap(),
                    false => assert!(matches!(claimed, Err(Error::LogFull { .. }))),
                }
            }
            log.close().unwrap();
        });
    }
}
