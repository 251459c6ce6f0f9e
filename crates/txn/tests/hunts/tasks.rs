//! Tasks that are dropped while a thread of the engine works for them, and tasks that wait until
//! they may take pages.

use std::{
    future::Future,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
    thread,
    time::{Duration, Instant},
};

use clearway_base::{Error, PAGE_SIZE, Result};
use clearway_disk::MemoryDisk;
use clearway_lock::AbsoluteMode;
use clearway_log::LogOptions;
use clearway_pool::PoolOptions;
use clearway_testkit::disk::{Faults, FaultyDisk, HeldReads, HeldReadsDisk, Operation};
use clearway_tree::ReadIntent;
use clearway_txn::{Engine, EngineOptions, Holdings, Kind, Table};

use crate::rig::{check, commit, open_with, options};

/// A log of half a megabyte, slow checkpoints, and a busy writer: operations wait for log space.
/// The space that is reserved for those that were dropped meanwhile is given back.
#[test]
fn log_space_of_a_dropped_operation_is_given_back() {
    let faults = Faults::new();
    faults.watch(|event| {
        if event.operation == Operation::Sync && event.name == "data" {
            thread::sleep(Duration::from_millis(50));
        }
        None
    });
    let log = LogOptions { capacity_bytes: 512 << 10, ..options().log };
    let options = EngineOptions { log, background: true, ..options() };
    let engine = open_with(FaultyDisk::new(MemoryDisk::new(), faults), options);
    let table = engine.create_table("t").unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for n in (0..50u64).cycle() {
                if is_over.load(Ordering::SeqCst) {
                    break;
                }
                let mut txn = engine.begin();
                match txn.put(&table, &n.to_be_bytes(), &[7; 40]) {
                    Ok(_) => drop(txn.commit().unwrap()),
                    Err(Error::LogFull { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        });
        let until = Instant::now() + Duration::from_secs(2);
        while Instant::now() < until {
            let mut task = engine.begin_task(Kind::NONE);
            for n in 1_000..1_020u64 {
                let key = n.to_be_bytes();
                let put = pin!(task.put_as_task(&table, &key, &[8; 40]));
                if put.poll(&mut Context::from_waker(Waker::noop())).is_pending() {
                    break;
                }
            }
        }
        is_over.store(true, Ordering::SeqCst);
    });
    check(&engine);
    assert_nothing_is_held(&engine);
    engine.close().unwrap();
}

/// Waits until nothing is held: visits of leaves in the background hold log space, each for a
/// moment.
fn assert_nothing_is_held(engine: &Engine) {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let held = engine.holdings();
        if held == Holdings::default() {
            return;
        }
        assert!(Instant::now() < until, "{held:?}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Rows of the table of [`cold_engine`], of which a leaf has at most eight.
const ROWS: u32 = 200;

/// An engine whose table is on disk only, except its root and its first leaf. In so small a cache
/// two operations may keep pins.
fn cold_engine(reads: &HeldReads) -> (Arc<Engine>, Table) {
    let pool = PoolOptions { cache_bytes: 64 * PAGE_SIZE as u64, ..options().pool };
    let options = EngineOptions { node_bytes: PAGE_SIZE, pool, ..options() };
    let disk = MemoryDisk::new();
    let warm = open_with(disk.clone(), options.clone());
    let table = warm.create_table("t").unwrap();
    let mut txn = warm.begin();
    (0..ROWS).for_each(|row| txn.insert(&table, &row.to_be_bytes(), &[7; 1_000]).unwrap());
    commit(&warm, txn);
    warm.close().unwrap();
    drop((warm, table));
    let engine = open_with(HeldReadsDisk::new(disk, reads.clone()), options);
    let table = engine.open_table("t").unwrap();
    assert!(engine.begin().get(&table, &0u32.to_be_bytes()).unwrap().is_some());
    (engine, table)
}

/// The locks that a task takes before it reads a row.
#[derive(Clone, Copy, Debug)]
enum Holds {
    Nothing,
    Key,
    Table,
    Database,
}

type Reader<'e> = Pin<Box<dyn Future<Output = Result<bool>> + 'e>>;

/// A task that takes locks and then reads a row.
fn reader<'e>(engine: &'e Arc<Engine>, table: &'e Table, holds: Holds, row: u32) -> Reader<'e> {
    Box::pin(async move {
        let mut txn = engine.begin_task(Kind::NONE);
        let read = ReadIntent::Read;
        match holds {
            Holds::Nothing => {}
            Holds::Key => _ = txn.get_as_task(table, [0; 4], read).await?,
            Holds::Table => txn.lock_table_as_task(table, AbsoluteMode::Shared).await?,
            Holds::Database => txn.lock_database_as_task(AbsoluteMode::Shared).await?,
        }
        Ok(txn.get_as_task(table, row.to_be_bytes(), read).await?.is_some())
    })
}

fn poll(reader: &mut Reader<'_>) -> Poll<bool> {
    reader.as_mut().poll(&mut Context::from_waker(Waker::noop())).map(Result::unwrap)
}

/// A transaction that holds a lock on a key, a table or the database, and no other lock, takes its
/// page before one that came earlier and holds none (ADMISSION-4 of the pool).
#[test]
fn tasks_that_hold_any_lock_are_admitted_first() {
    for holds in [Holds::Key, Holds::Table, Holds::Database] {
        let reads = HeldReads::new(7);
        let (engine, table) = cold_engine(&reads);
        let rows =
            [(Holds::Nothing, 40), (Holds::Nothing, 80), (Holds::Nothing, 120), (holds, 160)];
        let [mut first, mut second, mut plain, mut holder] =
            rows.map(|(holds, row)| reader(&engine, &table, holds, row));
        for reader in [&mut first, &mut second, &mut plain, &mut holder] {
            assert_eq!(poll(reader), Poll::Pending, "{holds:?}");
        }
        assert_eq!(reads.count(), 2, "{holds:?}: two are admitted");
        reads.complete_all();
        assert_eq!(poll(&mut first), Poll::Ready(true), "{holds:?}");
        // It has left: one of the two that wait is admitted now, and begins a read.
        let begun = [&mut plain, &mut holder].map(|reader| (poll(reader), reads.count()));
        reads.complete_all();
        assert_eq!(begun, [(Poll::Pending, 0), (Poll::Pending, 1)], "{holds:?}");
        assert_eq!(poll(&mut holder), Poll::Ready(true), "{holds:?}");
        assert_eq!(poll(&mut plain), Poll::Pending, "{holds:?}");
        reads.complete_all();
        assert_eq!([poll(&mut plain), poll(&mut second)], [Poll::Ready(true); 2], "{holds:?}");
    }
}
