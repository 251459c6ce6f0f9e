//! Futures of transactions that are dropped while they wait for something other than the locks and
//! pages of their first attempt: each is rolled back, and keeps nothing.

use std::{
    cell::Cell,
    io,
    sync::{Arc, Condvar, Mutex},
    task::Waker,
    thread,
    time::{Duration, Instant},
};

use clearway_disk::MemoryDisk;
use clearway_sync::block_on;
use clearway_testkit::disk::{Faults, FaultyDisk, Operation};
use clearway_txn::Holdings;

use super::*;
use crate::{Database, LockWait, Options, PipelineOptions, Table};

/// In a log of this size the engine keeps no reservation for the next transaction.
fn small_log(options: Options) -> Options {
    options.cache_size(8 << 20).log_capacity(48 << 20)
}

fn open() -> (Database, Table) {
    let db = small_log(Options::in_memory()).open("").unwrap();
    let table = db.table("t").unwrap();
    (db, table)
}

fn poll_once<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Repeats `step` until it returns true.
fn repeat(what: &str, mut step: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !step() {
        assert!(Instant::now() < until, "{what}");
        thread::yield_now();
    }
}

/// Waits until a thread of the engine has rolled back what was dropped, and checks that nothing is
/// held and that the database is sound.
fn assert_nothing_is_held(db: &Database) {
    let until = Instant::now() + Duration::from_secs(20);
    while db.inner.engine.holdings() != Holdings::default() {
        assert!(Instant::now() < until, "{:?}", db.inner.engine.holdings());
        thread::yield_now();
    }
    assert_eq!(db.verify().unwrap().unreachable_pages, 0);
}

/// Writes rows without a wait for a lock.
fn write_at_once(db: &Database, table: &Table, keys: &[&str], value: &str) {
    db.transact("next", |tx| {
        tx.lock_wait(LockWait::Never);
        keys.iter().try_for_each(|key| tx.put(table, key, value).map(drop))
    })
    .unwrap();
}

/// Holds up the thread that lengthens the data file for tasks.
#[derive(Default)]
struct Gate {
    state: Mutex<GateState>,
    opened: Condvar,
}

#[derive(Default)]
struct GateState {
    is_closed: bool,
    /// True once a thread has come to the gate.
    is_reached: bool,
    /// The number of growths that fail before one is held up.
    spared: u32,
    fails: bool,
}

impl Gate {
    /// Passes the gate as the thread that lengthens the file.
    fn pass(&self) -> Option<io::ErrorKind> {
        let mut state = self.state.lock().unwrap();
        if thread::current().name() != Some("clearway-tasks") {
            return None;
        }
        if state.spared > 0 {
            state.spared -= 1;
            return Some(io::ErrorKind::StorageFull);
        }
        while state.is_closed {
            state.is_reached = true;
            state = self.opened.wait(state).unwrap();
        }
        state.fails.then_some(io::ErrorKind::StorageFull)
    }

    fn close(&self, spared: u32, fails: bool) {
        let is_closed = true;
        *self.state.lock().unwrap() = GateState { is_closed, spared, fails, is_reached: false };
    }

    fn open(&self) {
        self.state.lock().unwrap().is_closed = false;
        self.opened.notify_all();
    }
}

/// A growth that goes on while its task is gone ends well or fails; it is the first one, or follows
/// a failed one. With large rows it is the first operation that waits, with small ones a later one.
#[test]
fn transaction_that_is_dropped_while_the_file_grows_keeps_nothing() {
    for bytes in [3_000_000, 50_000] {
        for (spared, fails) in [(0, false), (0, true), (1, false), (1, true)] {
            drop_while_the_file_grows(bytes, spared, fails);
        }
    }
}

fn drop_while_the_file_grows(bytes: usize, spared: u32, fails: bool) {
    let (gate, faults) = (Arc::new(Gate::default()), Faults::new());
    let watched = gate.clone();
    faults.watch(move |event| {
        let grows = event.operation == Operation::Allocate && event.name == "data";
        grows.then(|| watched.pass()).flatten()
    });
    let disk = Arc::new(FaultyDisk::new(MemoryDisk::new(), faults));
    let db = small_log(Options::new()).on_disk(disk).open("").unwrap();
    let table = db.table("t").unwrap();
    let rows = |db: &Database| db.begin().scan(&table, ..).count().unwrap();
    db.transact("fill", |tx| (0..4u8).try_for_each(|n| tx.insert(&table, [n], "old"))).unwrap();
    gate.close(spared, fails);
    let value = vec![7; bytes];
    let mut grows = Box::pin(db.transact_async("grow", async |mut tx| {
        for n in 0..=u8::MAX {
            tx.put(&table, [n], &value).await?;
        }
        Ok(())
    }));
    repeat("the file never grows", || {
        let polled = poll_once(grows.as_mut());
        assert!(polled.is_pending(), "{bytes} {spared} {fails}: {polled:?}");
        gate.state.lock().unwrap().is_reached
    });
    drop(grows);
    gate.open();
    assert_nothing_is_held(&db);
    assert_eq!(rows(&db), 4);
    gate.close(0, false);
    gate.open();
    let next = |tx: &mut Transaction| -> Result<()> {
        (0..8u8).try_for_each(|n| tx.put(&table, [n], &value).map(drop))
    };
    db.transact("next", next).unwrap();
    assert_eq!(rows(&db), 8);
    assert_nothing_is_held(&db);
    db.close().unwrap();
}

/// The state of a lost attempt's successor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Retry {
    /// It waits until it may begin.
    Pauses,
    /// It waits for a lock that the lost attempt needed.
    AwaitsLock,
    /// The closure runs again.
    Runs,
}

/// A deadlock's victim before its second attempt.
struct Victim<'d> {
    future: Pin<Box<dyn Future<Output = Result<()>> + 'd>>,
    runs: &'d Cell<u32>,
}

impl<'d> Victim<'d> {
    /// Begins a transaction that is to lose in its first attempt, against one that holds row `b`.
    fn begin(
        db: &'d Database,
        table: &'d Table,
        runs: &'d Cell<u32>,
        other: &'d Cell<Option<AsyncTransaction>>,
    ) -> Victim<'d> {
        let mut holder = db.begin_async("other");
        block_on(holder.put(table, "b", "other")).unwrap();
        runs.set(0);
        other.set(Some(holder));
        let future = db.transact_async("victim", async move |mut tx| {
            runs.set(runs.get() + 1);
            tx.put(table, "a", "victim").await?;
            if let Some(mut holder) = other.take() {
                let mut waits = Box::pin(holder.put(table, "a", "other"));
                assert!(poll_once(waits.as_mut()).is_pending());
                let lost = tx.put(table, "b", "victim").await;
                assert!(matches!(lost, Err(Error::Deadlock { .. })), "{lost:?}");
                waits.await?;
                other.set(Some(holder));
                lost?;
            }
            tx.put(table, "b", "victim").await.map(drop)
        });
        Victim { future: Box::pin(future), runs }
    }

    /// Polls until the first attempt is lost, and on to the given state. Returns false if it does
    /// not come there: no pause was drawn.
    fn reach(&mut self, db: &Database, wanted: Retry) -> bool {
        let lost = || {
            let types = db.type_stats();
            types.iter().find(|of| of.name == "victim").map_or(0, |of| of.retries)
        };
        let (before, mut reached) = (lost(), Retry::Pauses);
        repeat("it is not run again", || {
            let polled = poll_once(self.future.as_mut());
            assert!(polled.is_pending(), "{polled:?}");
            reached = match (db.inner.engine.waits().len(), self.runs.get()) {
                (0, 1) => Retry::Pauses,
                (_, 1) => Retry::AwaitsLock,
                _ => Retry::Runs,
            };
            lost() > before && (reached == wanted || reached != Retry::Pauses)
        });
        reached == wanted
    }
}

/// A victim's future is dropped in the pause before its second attempt, or while that waits for the
/// locks of the lost one: before its grant and after it.
#[test]
fn victim_that_is_dropped_before_its_next_attempt_keeps_nothing() {
    let (db, table) = open();
    let (runs, other) = (Cell::new(0), Cell::new(None));
    for (wanted, is_granted) in
        [(Retry::Pauses, false), (Retry::AwaitsLock, false), (Retry::AwaitsLock, true)]
    {
        let mut dropped = 0;
        repeat("the state is never reached", || {
            let mut victim = Victim::begin(&db, &table, &runs, &other);
            let is_there = victim.reach(&db, wanted);
            let holder = other.take().expect("it has its locks");
            if !is_there {
                drop(victim);
                block_on(holder.rollback()).unwrap();
                assert_nothing_is_held(&db);
                return false;
            }
            drop_victim(&db, &table, victim, holder, is_granted);
            assert_eq!(runs.get(), 1, "the closure is not run again");
            dropped += 1;
            dropped == 10
        });
    }
}

fn drop_victim(
    db: &Database,
    table: &Table,
    victim: Victim<'_>,
    holder: AsyncTransaction,
    is_granted: bool,
) {
    // It stands behind the victim, if that waits.
    let mut behind = db.begin_async("behind");
    let mut waits = Box::pin(behind.put(table, "a", "behind"));
    assert!(poll_once(waits.as_mut()).is_pending());
    if is_granted {
        block_on(holder.commit()).unwrap();
        drop(victim);
    } else {
        drop(victim);
        assert_eq!(db.inner.engine.waits().len(), 1, "the victim's wait is withdrawn");
        block_on(holder.commit()).unwrap();
    }
    repeat("the lock is not passed on", || poll_once(waits.as_mut()).is_ready());
    drop(waits);
    block_on(behind.rollback()).unwrap();
    write_at_once(db, table, &["a", "b"], "next");
    assert_nothing_is_held(db);
}

/// The tasks of a pipeline that closes wait for a lock of a future. Once that is dropped, they go
/// on, and the close ends.
#[test]
fn future_that_is_dropped_while_a_pipeline_closes_lets_its_tasks_go_on() {
    const TASKS: usize = 20;
    let (db, table) = open();
    for agents in [1, 2] {
        let mut holder = Box::pin(db.transact_async("holder", async |mut tx| {
            tx.put(&table, "n", "holder").await?;
            std::future::pending().await
        }));
        let polled: Poll<Result<()>> = poll_once(holder.as_mut());
        assert!(polled.is_pending());
        let pipeline = Arc::new(PipelineOptions::new().agents(agents).start(&db).unwrap());
        let tickets: Vec<_> = (0..TASKS)
            .map(|_| {
                let table = table.clone();
                let put = async move |mut tx: LentTransaction| tx.put(&table, "n", "task").await;
                pipeline.submit_async("put", put).unwrap()
            })
            .collect();
        repeat("the tasks do not wait", || db.inner.engine.waits().len() == TASKS);
        let closing = pipeline.clone();
        let closes = thread::spawn(move || closing.end());
        repeat("it does not close", || {
            matches!(pipeline.submit("late", |_| Ok(())), Err(Error::Closed))
        });
        assert!(!tickets.iter().any(crate::Ticket::is_ready) && !closes.is_finished());
        drop(holder);
        repeat("the close does not end", || closes.is_finished());
        closes.join().unwrap();
        assert!(tickets.into_iter().all(|ticket| ticket.wait().is_ok()));
        write_at_once(&db, &table, &["n"], "next");
        assert_nothing_is_held(&db);
    }
}
