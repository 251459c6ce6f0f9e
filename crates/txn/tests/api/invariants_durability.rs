//! The invariants of durability, one test each, numbered as in `ARCHITECTURE.md`.
//!
//! Each of these was seen to fail with the engine broken on purpose.

mod bad_input;
mod crash_points;
mod rotten_tail;

use std::{
    collections::BTreeMap,
    io::ErrorKind,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

use clearway_base::{Error, Lsn, PAGE_SIZE};
use clearway_disk::MemoryDisk;
use clearway_lock::WaitLimit;
use clearway_log::{Log, LogOptions};
use clearway_pool::PoolOptions;
use clearway_sync::Mutex;
use clearway_testkit::Random;
use clearway_testkit::disk::{DelayedDisk, Event, Faults, FaultyDisk, Operation};
use clearway_txn::{Engine, EngineOptions, Table, Transaction};

use crate::rig::{self, check, commit, contents, open_with, options, put, read_all};

const PAGE: u64 = PAGE_SIZE as u64;
const MILLISECOND: Duration = Duration::from_millis(1);

/// As many flushes at once as there can be, and one segment, so that an image of the log is of one
/// instant.
fn overlapping() -> EngineOptions {
    let log = LogOptions {
        ring_bytes: 1 << 20,
        segment_bytes: 2 << 20,
        capacity_bytes: 16 << 20,
        flushes_in_flight: 8,
        ..options().log
    };
    EngineOptions { log, ..options() }
}

/// The smallest cache, so that pages come and go.
fn tiny_cache(options: EngineOptions) -> EngineOptions {
    let pool = PoolOptions { cache_bytes: 64 * PAGE, batch_pages: 16, ..options.pool };
    EngineOptions { pool, ..options }
}

/// A disk with a table. Engines that open it name the log's segment by its name.
fn with_table() -> MemoryDisk {
    let memory = MemoryDisk::with_crashes();
    open_with(memory.clone(), overlapping()).create_table("t").unwrap();
    memory
}

/// Where in the log a write or sync of one of its segments is.
fn log_position(event: &Event<'_>) -> Option<u64> {
    let segment = u64::from_str_radix(event.name.strip_prefix("log/")?, 16).ok()?;
    Some(segment + event.offset)
}

/// An engine on a memory disk whose log writes stand still while `stall` is up.
struct Stalled {
    engine: Arc<Engine>,
    table: Table,
    stall: Arc<AtomicBool>,
}

impl Stalled {
    fn new() -> Stalled {
        let (faults, stall) = (Faults::new(), Arc::new(AtomicBool::new(false)));
        let held = stall.clone();
        faults.watch(move |event| {
            while held.load(SeqCst) && event.name.starts_with("log/") {
                thread::sleep(MILLISECOND);
            }
            None
        });
        // One segment, so that no thread waits for the next one.
        let log = LogOptions { ring_bytes: 64 << 10, ..overlapping().log };
        let disk = FaultyDisk::new(MemoryDisk::new(), faults);
        let engine = open_with(disk, EngineOptions { log, ..options() });
        let table = engine.create_table("t").unwrap();
        Stalled { engine, table, stall }
    }
}

impl Drop for Stalled {
    /// A test that fails does not leave the engine waiting for its log.
    fn drop(&mut self) {
        self.stall.store(false, SeqCst);
    }
}

/// The highest page LSN in a write to `data` or `doublewrite`; the superblocks are no such pages.
fn highest_page_lsn(event: &Event<'_>) -> Option<u64> {
    let pages = match event.name {
        "data" if event.offset >= 2 * PAGE => event.bytes,
        "doublewrite" => event.bytes.get(4096..)?,
        _ => return None,
    };
    let lsn = |page: &[u8]| u64::from_le_bytes(page[8..16].try_into().unwrap());
    pages.chunks(PAGE_SIZE).map(lsn).max()
}

#[test]
fn invariant_01_wal_a_page_reaches_disk_only_after_its_log() {
    let (faults, log) = (Faults::new(), Arc::new(OnceLock::<Arc<Log>>::new()));
    let (seen, early) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let watched = (log.clone(), seen.clone(), early.clone());
    faults.watch(move |event| {
        let (log, seen, early) = &watched;
        if event.operation == Operation::Write
            && let (Some(log), Some(page_lsn)) = (log.get(), highest_page_lsn(event))
        {
            seen.fetch_add(u64::from(page_lsn > 0), SeqCst);
            early.fetch_add(u64::from(log.durable().0 < page_lsn), SeqCst);
        }
        None
    });
    let slow_log = DelayedDisk::new(MemoryDisk::new(), MILLISECOND);
    let engine = open_with(FaultyDisk::new(slow_log, faults.clone()), tiny_cache(options()));
    assert!(log.set(engine.log().clone()).is_ok());
    let table = engine.create_table("t").unwrap();
    thread::scope(|scope| {
        for worker in 0..4u64 {
            let (engine, table) = (&engine, &table);
            scope.spawn(move || {
                let mut random = Random::new(worker);
                for n in 0..400 {
                    let mut txn = engine.begin();
                    for _ in 0..2 {
                        let key = format!("{worker}/{:04}", random.below(600));
                        txn.put(table, key.as_bytes(), &[n as u8; 60]).unwrap();
                    }
                    // Only the pool asks for durability.
                    txn.commit().unwrap();
                    if n % 50 == 49 {
                        engine.checkpoint().unwrap();
                    }
                }
            });
        }
    });
    faults.clear();
    assert!(engine.stats().pool.evictions > 0, "the cache was not small enough");
    assert!(seen.load(SeqCst) > 50, "{} writes of pages", seen.load(SeqCst));
    assert_eq!(early.load(SeqCst), 0, "writes of pages whose log was not durable");
    check(&engine);
}

/// Increments one row; the value written and the commit's `ack`.
fn increment(engine: &Arc<Engine>, table: &Table) -> (u64, Lsn) {
    let mut txn = engine.begin();
    let old = txn.get_for_update(table, b"n").unwrap().unwrap();
    let new = 1 + u64::from_be_bytes(old.try_into().unwrap());
    txn.put(table, b"n", &new.to_be_bytes()).unwrap();
    (new, txn.commit().unwrap().ack)
}

#[test]
fn invariant_02_order_commit_records_stand_in_order_of_visibility() {
    let (_disk, engine, table) = rig::start();
    let mut txn = engine.begin();
    txn.put(&table, b"n", &0u64.to_be_bytes()).unwrap();
    commit(&engine, txn);
    let run = || (0..6000).map(|_| increment(&engine, &table)).collect::<Vec<_>>();
    let mut acks = thread::scope(|scope| {
        let threads = [scope.spawn(run), scope.spawn(run), scope.spawn(run)];
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    acks.sort_unstable();
    assert!(acks.iter().map(|&(value, _)| value).eq(1..=18_000));
    assert!(acks.windows(2).all(|pair| pair[0].1 < pair[1].1), "a later value, an earlier commit");
}

/// Writes until the log's ring is full and the writer stands still. Answers when it does.
fn fill_ring(engine: &Arc<Engine>, table: &Table, written: &AtomicU64, stall: &AtomicBool) {
    let mut txn = engine.begin();
    while stall.load(SeqCst) {
        let n = written.fetch_add(1, SeqCst);
        txn.put(table, b"filler", &n.to_be_bytes()).unwrap();
    }
}

#[test]
fn invariant_02_order_nothing_is_visible_before_its_commit_record_stands() {
    let s = Stalled::new();
    let filler = s.engine.create_table("filler").unwrap();
    let rows: Vec<_> = (0..24).map(|n| format!("row{n:02}")).collect();
    rows.iter().for_each(|row| put(&s.engine, &s.table, row, "old"));
    s.stall.store(true, SeqCst);
    let writers: Vec<Transaction> = rows
        .iter()
        .map(|row| {
            let mut txn = s.engine.begin();
            txn.update(&s.table, row.as_bytes(), b"new").unwrap();
            txn
        })
        .collect();
    let written = AtomicU64::new(0);
    let seen = thread::scope(|scope| {
        let _open = scope.spawn(|| fill_ring(&s.engine, &filler, &written, &s.stall));
        let mut before = u64::MAX;
        let log = s.engine.log();
        let waiting = || log.end().0 - log.durable().0;
        while before != written.load(SeqCst) || waiting() < 60 << 10 {
            before = written.load(SeqCst);
            thread::sleep(60 * MILLISECOND);
        }
        // Their commit records find no room, but for the first few.
        let commits: Vec<_> = writers.into_iter().map(|txn| scope.spawn(|| txn.commit())).collect();
        thread::sleep(60 * MILLISECOND);
        let mut seen = Vec::new();
        for (row, commit) in rows.iter().zip(&commits) {
            let mut reader = s.engine.begin();
            reader.set_wait_limit(WaitLimit::NoWait);
            let read = reader.get(&s.table, row.as_bytes());
            // Looked at afterwards: an unfinished commit had not finished when it was read.
            seen.push((commit.is_finished(), read));
        }
        s.stall.store(false, SeqCst);
        commits.into_iter().for_each(|commit| assert!(commit.join().unwrap().unwrap().wrote));
        seen
    });
    let waiting: Vec<_> = seen.iter().filter(|(finished, _)| !finished).collect();
    assert!(!waiting.is_empty(), "every commit record found room");
    for (_, read) in waiting {
        assert!(
            matches!(read, Err(Error::WouldBlock { .. })),
            "visible before its record: {read:?}"
        );
    }
}

#[test]
fn invariant_03_safe_results_no_result_before_its_tags_are_durable() {
    let s = Stalled::new();
    ["changed", "deleted"].iter().for_each(|key| put(&s.engine, &s.table, key, "old"));
    s.stall.store(true, SeqCst);
    let mut writer = s.engine.begin();
    writer.update(&s.table, b"changed", b"new").unwrap();
    writer.delete(&s.table, b"deleted").unwrap();
    writer.insert(&s.table, b"inserted", b"new").unwrap();
    let written = writer.commit().unwrap();
    type Work = fn(&mut Transaction, &Table);
    let work: [(&str, Work); 6] = [
        ("point", |txn, t| assert_eq!(txn.get(t, b"changed").unwrap().unwrap(), b"new")),
        ("deleted", |txn, t| assert!(txn.get(t, b"deleted").unwrap().is_none())),
        ("scan", |txn, t| assert_eq!(read_all(txn, t).unwrap().len(), 2)),
        ("update", |txn, t| txn.update(t, b"inserted", b"newer").unwrap()),
        ("reinsert", |txn, t| txn.insert(t, b"deleted", b"newer").unwrap()),
        ("duplicate", |txn, t| {
            assert!(matches!(txn.insert(t, b"changed", b"x"), Err(Error::DuplicateKey { .. })));
        }),
    ];
    let mut acks = vec![written.ack];
    for (what, work) in work {
        let mut txn = s.engine.begin();
        work(&mut txn, &s.table);
        let ack = txn.commit().unwrap().ack;
        assert!(ack >= written.ack, "{what}: acknowledged before the writer it saw");
        acks.push(ack);
    }
    let log = s.engine.log();
    let waits = acks.iter().map(|&ack| {
        let log = log.clone();
        thread::spawn(move || log.wait_durable(ack).map(|()| log.durable() >= ack))
    });
    let waits: Vec<_> = waits.collect();
    thread::sleep(60 * MILLISECOND);
    assert!(log.durable() < written.ack, "durable although the disk stood still");
    assert!(waits.iter().all(|wait| !wait.is_finished()), "a result left too early");
    s.stall.store(false, SeqCst);
    waits.into_iter().for_each(|wait| assert!(wait.join().unwrap().unwrap()));
}

/// The contents of the disk at an instant, and the durable LSN shortly before.
struct Image {
    disk: MemoryDisk,
    durable: Lsn,
}

/// Lets every third log write wait for two others to overtake it, and takes an image then.
fn hold_some(
    memory: &MemoryDisk,
    log: &Arc<OnceLock<Arc<Log>>>,
) -> (Faults, Arc<Mutex<Vec<Image>>>) {
    let (faults, images) = (Faults::new(), Arc::new(Mutex::new(Vec::new())));
    let (memory, log, kept) = (memory.clone(), log.clone(), images.clone());
    let (writes, syncs) = (AtomicUsize::new(0), AtomicUsize::new(0));
    faults.watch(move |event| {
        let (Some(log), Some(_)) = (log.get(), log_position(event)) else { return None };
        match event.operation {
            Operation::Sync => _ = syncs.fetch_add(1, SeqCst),
            Operation::Write if writes.fetch_add(1, SeqCst).is_multiple_of(3) => {
                let (before, until) = (syncs.load(SeqCst), Instant::now() + 4 * MILLISECOND);
                while syncs.load(SeqCst) < before + 3 && Instant::now() < until {
                    thread::yield_now();
                }
                let durable = log.durable();
                kept.lock().push(Image { disk: memory.fork_durable(), durable });
            }
            _ => {}
        }
        None
    });
    (faults, images)
}

#[test]
fn invariant_10_no_gap_the_log_has_no_hole_before_its_end() {
    let (memory, log) = (with_table(), Arc::new(OnceLock::new()));
    let (faults, images) = hold_some(&memory, &log);
    let engine = open_with(FaultyDisk::new(memory.clone(), faults.clone()), overlapping());
    let table = engine.open_table("t").unwrap();
    assert!(log.set(engine.log().clone()).is_ok());
    let commits = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for worker in 0..6u64 {
            let (engine, table, commits) = (&engine, &table, &commits);
            scope.spawn(move || {
                for n in 0..40 {
                    let key = format!("{worker}/{n:03}").into_bytes();
                    let mut txn = engine.begin();
                    txn.put(table, &key, &[7; 100]).unwrap();
                    let ack = txn.commit().unwrap().ack;
                    commits.lock().insert(ack, key);
                    // Two of three wait; the third is pipelined.
                    engine.log().request_flush(ack);
                    if n % 3 != 0 {
                        engine.log().wait_durable(ack).unwrap();
                    }
                }
            });
        }
    });
    faults.clear();
    let (commits, images) = (commits.into_inner(), std::mem::take(&mut *images.lock()));
    let mut cut = 0;
    for image in images.iter().take(80) {
        let recovered = open_with(image.disk.clone(), overlapping());
        let table = recovered.open_table("t").unwrap();
        let found = contents(&recovered, &table);
        let last = commits.iter().rfind(|(_, key)| found.contains_key(*key));
        let last = last.map_or(Lsn::ZERO, |(ack, _)| *ack).max(image.durable);
        let lost = commits.range(..=last).find(|(_, key)| !found.contains_key(*key));
        assert!(lost.is_none(), "{lost:?} is lost, but the log reaches to {last}");
        cut += usize::from(found.len() < commits.len());
    }
    assert!(cut > 20, "{cut} images that end before the last commit");
}

/// Four threads that commit until the engine fails, or long enough. Answers what was acknowledged.
fn commit_until_failure(engine: &Arc<Engine>, table: &Table) -> Vec<(Lsn, Vec<u8>)> {
    let run = |worker: u64| {
        let mut acknowledged = Vec::new();
        for n in 0..1500 {
            let key = format!("{worker}/{n:05}").into_bytes();
            let mut txn = engine.begin();
            let done = txn.put(table, &key, b"v").and_then(|_| txn.commit());
            let outcome = done.and_then(|done| {
                engine.log().wait_durable(done.ack)?;
                Ok(done.ack)
            });
            match outcome {
                Ok(ack) => acknowledged.push((ack, key)),
                Err(Error::Poisoned { .. } | Error::OutcomeUnknown { .. }) => return acknowledged,
                Err(other) => panic!("{other}"),
            }
        }
        acknowledged
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|worker| scope.spawn(move || run(worker))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn invariant_12_fail_stop_after_a_failed_sync_nothing_is_acknowledged() {
    for (operation, file) in
        [(Operation::Sync, "log/"), (Operation::Write, "log/"), (Operation::Sync, "data")]
    {
        let (memory, faults) = (with_table(), Faults::new());
        let engine = open_with(FaultyDisk::new(memory.clone(), faults.clone()), overlapping());
        let table = engine.open_table("t").unwrap();
        let (failed_at, at) = (Arc::new(AtomicU64::new(u64::MAX)), AtomicUsize::new(0));
        let failed = failed_at.clone();
        // One failure: a second attempt would succeed, so none may be made.
        faults.watch(move |event| {
            let counts = event.operation == operation && event.name.starts_with(file);
            let fails = counts && at.fetch_add(1, SeqCst) == if file == "data" { 0 } else { 60 };
            if fails {
                failed.store(log_position(event).unwrap_or(u64::MAX), SeqCst);
            }
            fails.then_some(ErrorKind::Other)
        });
        let start = engine.log().durable();
        let acknowledged = thread::scope(|scope| {
            let committers = scope.spawn(|| commit_until_failure(&engine, &table));
            if file == "data" {
                while engine.log().durable() == start {
                    thread::sleep(MILLISECOND);
                }
                assert!(matches!(engine.checkpoint(), Err(Error::Poisoned { .. })));
            }
            committers.join().unwrap()
        });
        let frozen = engine.log().durable();
        assert!(frozen.0 <= failed_at.load(SeqCst), "durable beyond the failure at {failed_at:?}");
        assert_eq!(file == "log/", failed_at.load(SeqCst) < u64::MAX);
        assert!(!acknowledged.is_empty(), "it failed too early");
        assert!(acknowledged.iter().all(|(ack, _)| *ack <= frozen));
        faults.clear();
        assert!(matches!(engine.health(), Err(Error::Poisoned { .. })));
        assert!(matches!(engine.begin().get(&table, b"x"), Err(Error::Poisoned { .. })));
        assert!(matches!(engine.begin().commit(), Err(Error::Poisoned { .. })), "a reader");
        assert!(matches!(engine.checkpoint(), Err(Error::Poisoned { .. })));
        assert!(engine.close().is_err());
        assert_eq!(engine.log().durable(), frozen, "it goes on after the failure");
        let recovered = open_with(memory.fork_durable(), overlapping());
        let found = contents(&recovered, &recovered.open_table("t").unwrap());
        assert!(acknowledged.iter().all(|(_, key)| found.contains_key(key)));
    }
}
