//! The statistics of lock waits that the page reads of others cause, and of transactions that read
//! pages.
//!
//! The times of a read and of the wait behind it are taken at the same moments, so if one contains
//! the other, the statistics are equal, however long both take.

use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    thread,
    time::{Duration, Instant},
};

use clearway::{
    AsyncTransaction, Database, Error, LockWait, Options, RunStats, Staging, Table, Transaction,
};
use clearway_disk::{Disk, MemoryDisk};
use clearway_sync::block_on;
use clearway_testkit::disk::{HeldReads, HeldReadsDisk};

/// Rows whose pages are in memory.
const HOT: [u32; 3] = [0, 1, 2];
/// Rows whose pages are on the disk, each in a page of its own.
const COLD: [u32; 4] = [3_000, 5_000, 7_000, 9_000];

fn options() -> Options {
    Options::new().cache_size(16 << 20)
}

/// A database on the disk that `wrap` makes, of which only the hot pages are in memory.
fn cold<D: Disk + 'static>(wrap: impl FnOnce(MemoryDisk) -> D) -> (Database, Table) {
    let disk = MemoryDisk::new();
    let db = options().on_disk(Arc::new(disk.clone())).open("").unwrap();
    let table = db.table("t").unwrap();
    let fill = |tx: &mut Transaction| {
        (0..10_000u32).try_for_each(|row| tx.insert(&table, row.to_be_bytes(), [7; 100]))
    };
    db.transact("fill", fill).unwrap();
    db.close().unwrap();
    let db = options().on_disk(Arc::new(wrap(disk))).open("").unwrap();
    let table = db.table("t").unwrap();
    let mut warm = db.begin();
    HOT.iter().for_each(|row| drop(warm.get(&table, row.to_be_bytes()).unwrap()));
    (db, table)
}

fn runs(db: &Database, name: &str) -> RunStats {
    let types = db.type_stats();
    types.into_iter().find(|of| of.name == name).map(|of| of.runs).unwrap_or_default()
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Driver {
    Thread,
    Task,
}

/// A transaction whose operations block the thread, or are polled by it.
enum Tx {
    Thread(Transaction),
    Task(AsyncTransaction),
}

impl Tx {
    fn begin(db: &Database, driver: Driver, name: &'static str) -> Tx {
        match driver {
            Driver::Thread => Tx::Thread(db.begin_as(name)),
            Driver::Task => Tx::Task(db.begin_async(name)),
        }
    }

    fn put(&mut self, table: &Table, row: u32) {
        match self {
            Tx::Thread(tx) => tx.put(table, row.to_be_bytes(), [8; 100]).unwrap(),
            Tx::Task(tx) => block_on(tx.put(table, row.to_be_bytes(), [8; 100])).unwrap(),
        };
    }

    fn get(&mut self, table: &Table, row: u32) {
        let value = match self {
            Tx::Thread(tx) => tx.get(table, row.to_be_bytes()).unwrap(),
            Tx::Task(tx) => block_on(tx.get(table, row.to_be_bytes())).unwrap(),
        };
        assert!(value.is_some());
    }

    fn commit(self) {
        match self {
            Tx::Thread(tx) => tx.commit().unwrap(),
            Tx::Task(tx) => block_on(tx.commit()).unwrap(),
        }
    }
}

/// Waits until this number of transactions wait for locks.
fn await_waiters(db: &Database, count: u64) {
    while db.stats().engine.lock.waiting < count {
        thread::yield_now();
    }
}

/// A time passes in which nothing is read.
fn pass() {
    thread::sleep(Duration::from_millis(2));
}

#[test]
fn a_wait_is_behind_reads_for_as_long_as_the_holder_reads() {
    let drivers = [Driver::Thread, Driver::Task];
    let pairs = drivers.map(|holder| drivers.map(|waiter| (holder, waiter)));
    let (db, table) = cold(|disk| disk);
    let names = [("h1", "w1"), ("h2", "w2"), ("h3", "w3"), ("h4", "w4")];
    for (at, (of_holder, of_waiter)) in pairs.into_iter().flatten().enumerate() {
        let (holds, waits) = names[at];
        let mut holder = Tx::begin(&db, of_holder, holds);
        holder.put(&table, 0);
        // Reads of the holder before the wait do not count.
        holder.get(&table, COLD[at] - 1_000);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut waiter = Tx::begin(&db, of_waiter, waits);
                waiter.put(&table, 0);
                waiter.commit();
            });
            await_waiters(&db, 1);
            pass();
            holder.get(&table, COLD[at]);
            holder.commit();
        });
        let (holder, waiter) = (runs(&db, holds), runs(&db, waits));
        assert_eq!(
            (holder.runs, holder.waits.runs_with_reads, holder.waits.lock_wait_ns),
            (1, 1, 0)
        );
        assert_eq!((waiter.runs, waiter.waits.runs_with_reads, waiter.waits.page_waits), (1, 0, 0));
        // The early reads are not in it.
        let (read, behind) = (holder.waits.page_wait_ns, waiter.waits.behind_reads_ns);
        assert!(holder.waits.page_waits >= 2 && behind > 0 && behind < read, "{of_holder:?}");
        assert!(waiter.waits.lock_wait_ns >= behind + 2_000_000, "{waiter:?}");
        assert!(holder.share_with_reads() == 1.0 && waiter.share_with_reads() == 0.0);
        assert!(waiter.behind_reads_share_of_lock_waits() < 1.0);
        let share = waiter.behind_reads_share_of_runs();
        assert!(share > 0.0 && share <= waiter.behind_reads_share_of_lock_waits());
    }
}

#[test]
fn all_reads_of_a_holder_count_that_lie_within_the_wait() {
    let (db, table) = cold(|disk| disk);
    for (round, (holds, waits)) in [("h1", "w1"), ("h2", "w2")].into_iter().enumerate() {
        let driver = [Driver::Thread, Driver::Task][round];
        let mut holder = Tx::begin(&db, driver, holds);
        holder.put(&table, 0);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut waiter = Tx::begin(&db, driver, waits);
                waiter.put(&table, 0);
                waiter.commit();
            });
            await_waiters(&db, 1);
            holder.get(&table, COLD[2 * round]);
            holder.get(&table, COLD[2 * round + 1]);
            holder.commit();
        });
        let (holder, waiter) = (runs(&db, holds).waits, runs(&db, waits).waits);
        assert!(holder.page_waits >= 2 && holder.page_wait_ns > 0);
        assert_eq!(waiter.behind_reads_ns, holder.page_wait_ns);
        let waits_by_type = db.lock_waits().types;
        let counts = &waits_by_type.iter().find(|of| of.name == waits).unwrap().counts;
        assert_eq!(counts.behind_reads_us, waiter.behind_reads_ns / 1000);
        assert!(counts.behind_reads_share() <= 1.0);
    }
}

#[test]
fn waits_behind_a_holder_that_does_not_read_count_nothing() {
    let (db, table) = cold(|disk| disk);
    let mut holder = Tx::begin(&db, Driver::Thread, "holder");
    holder.put(&table, 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut waiter = Tx::begin(&db, Driver::Thread, "waiter");
            waiter.put(&table, 0);
            // Its own reads are no waits for others.
            waiter.get(&table, COLD[1]);
            waiter.commit();
        });
        await_waiters(&db, 1);
        // Of a transaction that holds no lock that is waited for.
        let mut other = Tx::begin(&db, Driver::Task, "other");
        other.put(&table, 1);
        other.get(&table, COLD[0]);
        other.commit();
        holder.commit();
    });
    let waiter = runs(&db, "waiter").waits;
    assert!(waiter.lock_wait_ns > 0 && waiter.page_wait_ns > 0);
    assert_eq!((waiter.behind_reads_ns, waiter.runs_with_reads), (0, 1));
    assert_eq!(runs(&db, "other").waits.runs_with_reads, 1);
}

#[test]
fn a_wait_for_a_holder_that_waits_for_a_reader_is_behind_reads() {
    let (db, table) = cold(|disk| disk);
    let drivers = [(Driver::Thread, Driver::Task), (Driver::Task, Driver::Thread)];
    let names = [("r1", "m1", "l1"), ("r2", "m2", "l2")];
    for (at, (one, other)) in drivers.into_iter().enumerate() {
        let (reads, holds, waits) = names[at];
        let mut reader = Tx::begin(&db, one, reads);
        reader.put(&table, 0);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut middle = Tx::begin(&db, other, holds);
                middle.put(&table, 1);
                middle.put(&table, 0);
                middle.commit();
            });
            await_waiters(&db, 1);
            scope.spawn(|| {
                let mut last = Tx::begin(&db, one, waits);
                last.put(&table, 1);
                last.commit();
            });
            await_waiters(&db, 2);
            reader.get(&table, COLD[at]);
            reader.commit();
        });
        let [reader, middle, last] = [reads, holds, waits].map(|name| runs(&db, name).waits);
        assert!(reader.page_wait_ns > 0 && reader.behind_reads_ns == 0);
        assert_eq!(middle.behind_reads_ns, reader.page_wait_ns);
        assert_eq!(last.behind_reads_ns, reader.page_wait_ns);
    }
}

/// Polls a future once.
fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_read_that_goes_on_counts_until_it_ends_or_is_dropped() {
    let reads = HeldReads::new(1);
    let (db, table) = cold(|disk| HeldReadsDisk::new(disk, reads.clone()));
    for (at, is_dropped) in [false, true].into_iter().enumerate() {
        let (holds, waits) = [("h1", "w1"), ("h2", "w2")][at];
        let mut holder = db.begin_async(holds);
        block_on(holder.put(&table, 0u32.to_be_bytes(), b"1")).unwrap();
        let mut waiter = db.begin_async(waits);
        waiter.lock_wait(LockWait::Forever);
        {
            let mut read = Box::pin(holder.get(&table, COLD[at].to_be_bytes()));
            assert!(poll(read.as_mut()).is_pending() && reads.count() == 1);
            // It began before the wait.
            pass();
            let outer = Instant::now();
            let mut wait = Box::pin(waiter.put(&table, 0u32.to_be_bytes(), b"2"));
            assert!(poll(wait.as_mut()).is_pending());
            let inner = Instant::now();
            pass();
            let min = inner.elapsed();
            match is_dropped {
                true => drop(read),
                false => {
                    reads.complete_all();
                    assert!(matches!(poll(read.as_mut()), Poll::Ready(Ok(Some(_)))));
                    drop(read);
                }
            }
            let max = outer.elapsed();
            pass();
            block_on(holder.commit()).unwrap();
            // What the holder's record does later is not its transaction's.
            pass();
            assert!(matches!(poll(wait.as_mut()), Poll::Ready(Ok(_))));
            let counted = |name| runs(&db, name).waits;
            assert_eq!(counted(waits).lock_wait_ns, 0, "its transaction goes on");
            assert_eq!((counted(holds).runs_with_reads, counted(holds).page_waits), (1, 1));
            assert!(
                counted(holds).page_wait_ns >= (min + Duration::from_millis(2)).as_nanos() as u64
            );
            drop(wait);
            block_on(waiter.commit()).unwrap();
            let behind = Duration::from_nanos(counted(waits).behind_reads_ns);
            assert!(min <= behind && behind <= max, "{min:?} {behind:?} {max:?}");
        }
        reads.complete_all();
    }
}

#[test]
fn waits_that_end_without_the_lock_are_divided_too() {
    let reads = HeldReads::new(1);
    let (db, table) = cold(|disk| HeldReadsDisk::new(disk, reads.clone()));
    let mut holder = db.begin_async("holder");
    block_on(holder.put(&table, 0u32.to_be_bytes(), b"1")).unwrap();
    let mut read = Box::pin(holder.get(&table, COLD[0].to_be_bytes()));
    assert!(poll(read.as_mut()).is_pending());
    let mut waiter = db.begin_as("waiter");
    waiter.lock_wait(LockWait::For(Duration::from_millis(5)));
    let denied = waiter.put(&table, 0u32.to_be_bytes(), b"2");
    assert!(matches!(denied, Err(Error::LockTimeout { .. })));
    waiter.commit().unwrap();
    let mut dropped = db.begin_async("dropped");
    assert!(poll(pin!(dropped.put(&table, 0u32.to_be_bytes(), b"2"))).is_pending());
    drop(dropped);
    let waits_of = |name| runs(&db, name).waits;
    // Its read went on during the whole wait, which is as long as the limit at least.
    assert!(waits_of("waiter").behind_reads_ns >= 5_000_000);
    while waits_of("dropped").lock_wait_ns == 0 {
        thread::yield_now(); // A thread of the engine rolls it back.
    }
    assert!(waits_of("dropped").behind_reads_ns > 0);
    reads.complete_all();
    drop(read);
}

#[test]
fn reads_of_the_fetch_stage_are_none_of_the_run() {
    let (db, table) = cold(|disk| disk);
    db.set_staging("staged", Some(Staging::TwoStage));
    for (name, row) in [("staged", COLD[0]), ("conventional", COLD[1])] {
        let get = |tx: &mut Transaction| tx.get(&table, row.to_be_bytes()).map(drop);
        for _ in 0..4 {
            db.transact(name, get).unwrap();
        }
    }
    let (staged, conventional) = (runs(&db, "staged"), runs(&db, "conventional"));
    assert_eq!((staged.runs, staged.waits.runs_with_reads, staged.waits.page_waits), (4, 0, 0));
    assert_eq!((conventional.runs, conventional.waits.runs_with_reads), (4, 1));
    assert!(conventional.waits.page_waits >= 1 && conventional.waits.page_wait_ns > 0);
    assert_eq!(conventional.share_with_reads(), 0.25);
    let pool = db.stats().engine.pool;
    assert!(pool.reads >= conventional.waits.page_waits);
}
