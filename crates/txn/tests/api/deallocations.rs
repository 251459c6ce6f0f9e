//! Values that a transaction has deleted are freed after its commit: the result does not wait for
//! it, and what reports or reuses space does.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
    thread,
    time::{Duration, Instant},
};

use clearway_disk::MemoryDisk;
use clearway_sync::block_on;
use clearway_testkit::disk::{Faults, FaultyDisk, Operation};
use clearway_txn::{Engine, EngineOptions, Kind, Table, TaskJobs};

use crate::rig::{check, commit, open, open_with, options};

/// Options of an engine whose deallocations wait until they are run, or needed.
fn late() -> EngineOptions {
    EngineOptions { simulated_jobs: true, ..options() }
}

/// The length of a large value: some 5 pages.
const BYTES: usize = 40_000;

/// Adds `count` large values to a new table.
fn fill(engine: &Arc<Engine>, name: &str, count: u32) -> Table {
    let table = engine.create_table(name).unwrap();
    let mut txn = engine.begin();
    for n in 0..count {
        txn.insert(&table, &n.to_be_bytes(), &[7; BYTES]).unwrap();
    }
    commit(engine, txn);
    table
}

/// Deletes one of the values.
fn delete(engine: &Arc<Engine>, table: &Table, n: u32) {
    let mut txn = engine.begin();
    txn.delete(table, &n.to_be_bytes()).unwrap();
    commit(engine, txn);
}

/// Returns the transactions whose deallocations wait, and all that have not ended.
fn waiting(engine: &Engine) -> (usize, u64) {
    (engine.task_jobs(TaskJobs::Deallocations), engine.holdings().transactions)
}

#[test]
fn result_does_not_wait_for_the_deallocation() {
    let engine = open_with(MemoryDisk::new(), late());
    let table = fill(&engine, "t", 1);
    delete(&engine, &table, 0);
    assert_eq!(waiting(&engine), (1, 1));
    assert!(!engine.holdings().locks);
    // The key is free for others.
    let mut txn = engine.begin();
    txn.insert(&table, &0u32.to_be_bytes(), &[8; BYTES]).unwrap();
    commit(&engine, txn);
    assert!(engine.run_task_job(TaskJobs::Deallocations));
    assert_eq!(waiting(&engine), (0, 0));
    assert!(!engine.run_task_job(TaskJobs::Deallocations));
    check(&engine);
    let mut reader = engine.begin();
    assert_eq!(reader.get(&table, &0u32.to_be_bytes()).unwrap(), Some(vec![8; BYTES]));
}

#[test]
fn commit_of_a_task_does_not_wait_for_the_deallocation() {
    let engine = open_with(MemoryDisk::new(), late());
    let table = fill(&engine, "t", 1);
    let mut txn = engine.begin_task(Kind::NONE);
    block_on(txn.delete_as_task(&table, &0u32.to_be_bytes())).unwrap();
    let mut committed = pin!(txn.commit_as_task());
    let mut cx = Context::from_waker(Waker::noop());
    assert!(committed.as_mut().poll(&mut cx).is_pending(), "a job commits");
    assert_eq!(waiting(&engine), (0, 1));
    assert!(engine.run_task_job(TaskJobs::Blocking));
    assert!(matches!(committed.as_mut().poll(&mut cx), Poll::Ready(Ok(_))));
    assert_eq!(waiting(&engine), (1, 1));
    check(&engine);
    assert_eq!(waiting(&engine), (0, 0));
}

#[test]
fn transactions_free_their_values_themselves_while_many_wait() {
    let engine = open_with(MemoryDisk::new(), late());
    let table = fill(&engine, "t", 60);
    let mut most = 0;
    for n in 0..60 {
        delete(&engine, &table, n);
        let (pending, unfinished) = waiting(&engine);
        assert_eq!(pending as u64, unfinished, "the others are done");
        most = most.max(pending);
    }
    assert!((1..=20).contains(&most), "{most} of 60 wait");
    // One that is done makes room for another one.
    assert!(engine.run_task_job(TaskJobs::Deallocations));
    assert_eq!(waiting(&engine).0, most - 1);
    let mut txn = engine.begin();
    txn.insert(&table, b"more", &[7; 20_000]).unwrap();
    txn.delete(&table, b"more").unwrap();
    commit(&engine, txn);
    assert_eq!(waiting(&engine).0, most);
    check(&engine);
}

/// A call that reports or reuses space.
type Call = (&'static str, fn(&Arc<Engine>));

#[test]
fn calls_that_report_or_reuse_space_finish_pending_deallocations() {
    let calls: [Call; 6] = [
        ("verify", |engine| assert_eq!(engine.verify().unwrap().unreachable_pages, 0)),
        ("checkpoint", |engine| engine.checkpoint().unwrap()),
        ("checkpoint_lightly", |engine| engine.checkpoint_lightly().unwrap()),
        ("maintain", |engine| engine.maintain().unwrap()),
        ("backup", |engine| {
            let copy = MemoryDisk::new();
            engine.backup(&copy).unwrap();
            assert_eq!(open(&copy).recovery().frees_resumed, 0);
        }),
        ("drop_table", |engine| engine.drop_table("t").unwrap()),
    ];
    for (name, call) in calls {
        let engine = open_with(MemoryDisk::new(), late());
        let table = fill(&engine, "t", 3);
        (0..3).for_each(|n| delete(&engine, &table, n));
        assert_eq!(waiting(&engine), (3, 3), "{name}");
        call(&engine);
        assert_eq!(waiting(&engine), (0, 0), "{name}");
        check(&engine);
    }
}

#[test]
fn close_finishes_pending_deallocations_and_recovery_those_of_a_crash() {
    let disk = MemoryDisk::new();
    let engine = open_with(disk.clone(), late());
    let table = fill(&engine, "t", 3);
    (0..3).for_each(|n| delete(&engine, &table, n));
    let crashed = disk.fork();
    assert_eq!(waiting(&engine), (3, 3));
    engine.close().unwrap();
    for (disk, resumed) in [(disk, 0), (crashed, 3)] {
        let engine = open(&disk);
        assert_eq!(engine.recovery().frees_resumed, resumed);
        check(&engine);
    }
}

/// Reads of the data file that wait.
#[derive(Clone, Default)]
struct SlowReads {
    has_begun: Arc<AtomicBool>,
    is_over: Arc<AtomicBool>,
    /// A read has ended.
    has_ended: Arc<AtomicBool>,
}

impl SlowReads {
    /// Has each read by a thread whose name begins so wait for `is_over`, but at most for `limit`.
    fn begin(faults: &Faults, name: &'static str, limit: Duration) -> SlowReads {
        let reads = SlowReads::default();
        let these = reads.clone();
        faults.watch(move |event| {
            let is_one = event.operation == Operation::Read && event.name == "data";
            if is_one && thread::current().name().is_some_and(|own| own.starts_with(name)) {
                these.has_begun.store(true, Ordering::SeqCst);
                let until = Instant::now() + limit;
                while !these.is_over.load(Ordering::SeqCst) && Instant::now() < until {
                    thread::sleep(Duration::from_millis(1));
                }
                these.has_ended.store(true, Ordering::SeqCst);
            }
            None
        });
        reads
    }

    fn wait_for_the_first(&self) {
        let begun = Instant::now();
        while !self.has_begun.load(Ordering::SeqCst) {
            assert!(
                begun.elapsed() < Duration::from_secs(20),
                "no thread reads what is to be freed"
            );
            thread::yield_now();
        }
    }
}

/// A database with a value whose pages are not in memory, on a disk with faults.
fn stored() -> (FaultyDisk<MemoryDisk>, Faults) {
    let (disk, faults) = (MemoryDisk::new(), Faults::new());
    let engine = open(&disk);
    fill(&engine, "t", 1);
    engine.close().unwrap();
    (FaultyDisk::new(disk, faults.clone()), faults)
}

#[test]
fn result_comes_while_the_engine_reads_what_it_frees() {
    let (disk, faults) = stored();
    let engine = open_with(disk, EngineOptions { background: true, ..options() });
    let table = engine.open_table("t").unwrap();
    let mut txn = engine.begin();
    txn.delete(&table, &0u32.to_be_bytes()).unwrap();
    let reads = SlowReads::begin(&faults, "clearway-", Duration::from_secs(10));
    let committed = txn.commit().unwrap();
    engine.log().wait_durable(committed.ack).unwrap();
    reads.wait_for_the_first();
    assert_eq!(engine.stats().active, 1, "its values are not free");
    reads.is_over.store(true, Ordering::SeqCst);
    assert_eq!(engine.verify().unwrap().unreachable_pages, 0);
    assert_eq!(engine.stats().active, 0);
}

#[test]
fn verify_waits_for_a_deallocation_under_way() {
    let (disk, faults) = stored();
    let engine = open_with(disk, late());
    let table = engine.open_table("t").unwrap();
    delete(&engine, &table, 0);
    let reads = SlowReads::begin(&faults, "frees", Duration::from_millis(300));
    thread::scope(|scope| {
        let frees = || engine.run_task_job(TaskJobs::Deallocations);
        let frees = thread::Builder::new().name("frees".into()).spawn_scoped(scope, frees).unwrap();
        reads.wait_for_the_first();
        let report = engine.verify().unwrap();
        assert!(reads.has_ended.load(Ordering::SeqCst), "verify came first");
        reads.is_over.store(true, Ordering::SeqCst);
        assert_eq!(report.unreachable_pages, 0);
        assert!(frees.join().unwrap());
    });
    assert_eq!(waiting(&engine), (0, 0));
}
