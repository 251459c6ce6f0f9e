//! Tasks that are dropped, in every state that they can be in: whatever is dropped, the others get
//! what it held, and the database is what the transactions that went on have made of it.

use std::{
    cell::Cell,
    collections::HashMap,
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
    time::Duration,
};

use clearway::{
    AsyncTransaction, Database, Error, IoQueueChoice, IoQueueKind, LockWait, Options, Result,
    Savepoint, Table,
};
use clearway_disk::MemoryDisk;
use clearway_testkit::{
    Random,
    disk::{HeldReads, HeldReadsDisk},
};
use tokio::runtime::{Builder, Runtime};

fn threads(count: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(count).enable_time().build().unwrap()
}

/// Polls a future, and drops it when it has been polled `polls` times and is not ready: `None`.
async fn polled<F: Future>(polls: u32, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(move |cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Polls a future until it waits for the first time, and drops it then.
async fn dropped_while_it_waits<F: Future>(future: F) {
    assert!(polled(1, future).await.is_none(), "it waits");
}

const ACCOUNTS: u32 = 3_000;
const OPENING: u64 = 1_000;

struct Bank {
    db: Database,
    accounts: Table,
    notes: Table,
}

fn key(account: u32) -> [u8; 4] {
    account.to_be_bytes()
}

/// An account takes a kilobyte, so that all of them are several times the cache.
fn row(balance: u64) -> Vec<u8> {
    let mut row = vec![0; 1_000];
    row[..8].copy_from_slice(&balance.to_be_bytes());
    row
}

fn balance(row: &[u8]) -> u64 {
    u64::from_be_bytes(*row.first_chunk().unwrap())
}

impl Bank {
    fn open(directory: &std::path::Path, queue: IoQueueChoice) -> Bank {
        let options = Options::new().cache_size(1 << 20).io_queue(queue);
        let db = options.open(directory).unwrap();
        let (accounts, notes) = (db.table("accounts").unwrap(), db.table("notes").unwrap());
        for first in (0..ACCOUNTS).step_by(100) {
            db.transact("fill", |tx| {
                (first..first + 100).try_for_each(|n| tx.insert(&accounts, key(n), row(OPENING)))
            })
            .unwrap();
        }
        Bank { db, accounts, notes }
    }

    /// Moves an amount, in the order in which the accounts are drawn: deadlocks are part of it.
    /// Each operation may be dropped after a few polls, and is repeated then.
    async fn transfer(&self, tx: &mut AsyncTransaction, rng: &mut Random) -> Result<()> {
        let hot = rng.below(10) < 3;
        let range = if hot { 4 } else { u64::from(ACCOUNTS) };
        let (from, to) = (rng.below(range) as u32, rng.below(u64::from(ACCOUNTS)) as u32);
        if from == to {
            return Ok(());
        }
        let amount = rng.below(50);
        for (account, sign) in [(from, -1i64), (to, 1)] {
            let read = loop {
                let polls = 1 + rng.below(3) as u32;
                let get = tx.get_for_update(&self.accounts, key(account));
                if let Some(read) = polled(polls, get).await {
                    break read?;
                }
                tokio::task::yield_now().await;
            };
            let next = balance(&read.unwrap()).wrapping_add_signed(sign * amount as i64);
            loop {
                let polls = 1 + rng.below(3) as u32;
                let put = tx.put(&self.accounts, key(account), row(next));
                if let Some(put) = polled(polls, put).await {
                    put?;
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        if rng.below(4) == 0 {
            // A value in overflow pages, of which some are dropped half written.
            let note = vec![from as u8; 9_000 + rng.below(30_000) as usize];
            let put = tx.put(&self.notes, key(from), note);
            if let Some(put) = polled(1 + rng.below(6) as u32, put).await {
                put?;
            }
        }
        if rng.below(8) == 0 {
            let savepoint = tx.savepoint().await?;
            tx.put(&self.accounts, key(to), row(0)).await?;
            // It takes place in any case.
            let _ = polled(1, tx.rollback_to(&savepoint)).await;
        }
        Ok(())
    }

    async fn total(&self) -> u64 {
        let mut tx = self.db.begin_async("total");
        let mut scan = tx.scan(&self.accounts, ..).await.unwrap();
        let mut total = 0u64;
        while let Some((_, row)) = scan.next_ref().await.unwrap() {
            total = total.wrapping_add(balance(row)); // A balance may be negative.
        }
        tx.rollback().await.unwrap();
        total
    }
}

/// Transfers by many tasks on data that exceed the cache, while operations, transactions, commits
/// and rollbacks to savepoints are dropped.
#[test]
fn money_is_kept_while_everything_is_dropped() {
    drop_everything(IoQueueChoice::Auto);
}

/// The same where pages are read by threads, as on a machine that does not grant io_uring.
#[test]
fn money_is_kept_while_everything_is_dropped_and_threads_read() {
    let kind = drop_everything(IoQueueChoice::Threads);
    assert_eq!(kind, IoQueueKind::Threads);
}

/// Returns the kind of the I/O queue.
fn drop_everything(queue: IoQueueChoice) -> IoQueueKind {
    let directory = tempfile::tempdir().unwrap();
    let bank = std::sync::Arc::new(Bank::open(directory.path(), queue));
    threads(2).block_on(async {
        let tasks: Vec<_> = (0..64u64)
            .map(|seed| {
                let bank = bank.clone();
                tokio::spawn(async move {
                    let mut rng = Random::new(seed);
                    for _ in 0..20 {
                        let mut tx = bank.db.begin_async("transfer");
                        let steps = 2 + rng.below(40) as u32;
                        let may_end = rng.below(3) > 0;
                        let transfer = bank.transfer(&mut tx, &mut rng);
                        let polls = if may_end { u32::MAX } else { steps };
                        match polled(polls, transfer).await {
                            Some(Ok(())) if rng.below(4) > 0 => {
                                let commit = tx.commit();
                                let polls = if rng.below(3) == 0 { 1 } else { u32::MAX };
                                let committed = polled(polls, commit).await;
                                committed.transpose().unwrap();
                            }
                            Some(Ok(())) => {
                                // Dropped when it was polled, or ended.
                                let _ = polled(rng.below(3) as u32, tx.rollback()).await;
                            }
                            Some(Err(Error::Deadlock { .. })) | None => drop(tx),
                            Some(Err(error)) => panic!("{error}"),
                        }
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(bank.total().await, u64::from(ACCOUNTS) * OPENING);
    });
    let stats = bank.db.stats().engine;
    assert_eq!(stats.active, 0);
    assert!(stats.pool.queued_reads > 1_000, "the data exceed the cache: {:?}", stats.pool);
    let report = bank.db.verify().unwrap();
    assert_eq!(report.unreachable_pages, 0);
    bank.db.close().unwrap();
    let bank = Options::new().open(directory.path()).unwrap();
    assert_eq!(bank.verify().unwrap().unreachable_pages, 0);
    stats.pool.io_queue
}

/// An operation that was dropped has had no effect, and its transaction goes on: it is compared
/// with a map.
#[test]
fn dropped_operation_has_had_no_effect() {
    let directory = tempfile::tempdir().unwrap();
    let bank = Bank::open(directory.path(), IoQueueChoice::Auto);
    threads(1).block_on(async {
        let mut rng = Random::new(1);
        let mut dropped = 0;
        for _ in 0..40 {
            let mut tx = bank.db.begin_async("model");
            let mut model: HashMap<u32, Option<Vec<u8>>> = HashMap::new();
            for _ in 0..40 {
                let account = rng.below(u64::from(ACCOUNTS)) as u32;
                let (polls, value) = (1 + rng.below(2) as u32, row(rng.below(100)));
                let written = match rng.below(3) {
                    0 => {
                        let delete = tx.delete(&bank.accounts, key(account));
                        match polled(polls, delete).await {
                            Some(Ok(())) => Some(None),
                            Some(Err(Error::NotFound { .. })) | None => None,
                            Some(Err(error)) => panic!("{error}"),
                        }
                    }
                    1 => {
                        let value = vec![account as u8; 9_000 + rng.below(20_000) as usize];
                        let put = tx.put(&bank.accounts, key(account), &value);
                        polled(polls, put).await.map(|put| put.map(|_| Some(value)).unwrap())
                    }
                    _ => {
                        let put = tx.put(&bank.accounts, key(account), &value);
                        polled(polls, put).await.map(|put| put.map(|_| Some(value)).unwrap())
                    }
                };
                match written {
                    Some(value) => _ = model.insert(account, value),
                    None => dropped += 1,
                }
            }
            for (account, value) in model {
                assert_eq!(tx.get(&bank.accounts, key(account)).await.unwrap(), value);
            }
            tx.rollback().await.unwrap();
        }
        assert!(dropped > 100, "{dropped}");
        assert_eq!(bank.total().await, u64::from(ACCOUNTS) * OPENING);
    });
    assert_eq!(bank.db.verify().unwrap().unreachable_pages, 0);
}

/// A wait that was dropped no longer keeps others from the lock, on a key, a table or the database.
#[test]
fn dropped_wait_is_withdrawn() {
    let db = Options::in_memory().cache_size(16 << 20).open("").unwrap();
    let table = db.table("t").unwrap();
    threads(1).block_on(async {
        for level in 0..3 {
            let mut reader = db.begin_async("reader");
            reader.get(&table, "k").await.unwrap();
            let mut writer = db.begin_async("writer");
            match level {
                0 => dropped_while_it_waits(writer.put(&table, "k", "1")).await,
                1 => {
                    let mode = clearway::AbsoluteMode::Exclusive;
                    dropped_while_it_waits(writer.lock_table(&table, mode)).await;
                }
                _ => {
                    let mode = clearway::AbsoluteMode::Exclusive;
                    dropped_while_it_waits(writer.lock_database(mode)).await;
                }
            }
            // A second reader would queue up behind the writer.
            let mut second = db.begin_async("second");
            second.lock_wait(LockWait::Never);
            second.get(&table, "k").await.unwrap();
            reader.rollback().await.unwrap();
            second.rollback().await.unwrap();
            // The writer goes on.
            writer.put(&table, "k", "1").await.unwrap();
            writer.rollback().await.unwrap();
        }
    });
}

/// The grant comes after the waiter's last poll: the lock must go to the next one.
#[test]
fn grant_that_is_not_picked_up_is_passed_on() {
    let db = Options::in_memory().cache_size(16 << 20).open("").unwrap();
    let table = db.table("t").unwrap();
    threads(2).block_on(async {
        for _ in 0..200 {
            let mut holder = db.begin_async("holder");
            holder.put(&table, "k", "1").await.unwrap();
            let mut waiter = db.begin_async("waiter");
            let mut wait = Box::pin(async {
                let result = waiter.put(&table, "k", "2").await;
                (waiter, result)
            });
            poll_fn(|cx| {
                assert!(wait.as_mut().poll(cx).is_pending());
                Poll::Ready(())
            })
            .await;
            let (next_db, next_table) = (db.clone(), table.clone());
            let next = tokio::spawn(async move {
                let mut next = next_db.begin_async("next");
                next.put(&next_table, "k", "3").await.unwrap();
                next.rollback().await.unwrap();
            });
            tokio::task::yield_now().await;
            holder.rollback().await.unwrap(); // grants
            drop(wait);
            tokio::time::timeout(Duration::from_secs(20), next).await.expect("granted").unwrap();
        }
    });
    assert_eq!(db.stats().engine.active, 0);
}

/// The limit of waits is set while a thread of the engine still works on a rollback whose future
/// was dropped.
#[test]
fn wait_limit_is_kept_while_a_rollback_goes_on() {
    let db = Options::in_memory().cache_size(16 << 20).open("").unwrap();
    let table = db.table("t").unwrap();
    threads(1).block_on(async {
        let mut holder = db.begin_async("holder");
        holder.put(&table, "k", "1").await.unwrap();
        let mut tx = db.begin_async("tx");
        let savepoint = tx.savepoint().await.unwrap();
        for key in 0..100u8 {
            tx.put(&table, [key, 0], vec![key; 5_000]).await.unwrap();
        }
        let _ = polled(1, tx.rollback_to(&savepoint)).await;
        tx.lock_wait(LockWait::Never);
        assert!(matches!(tx.get(&table, "k").await, Err(Error::WouldBlock { .. })));
        assert_eq!(tx.get(&table, [7, 0]).await.unwrap(), None);
    });
}

/// Rollbacks to savepoints and a commit are dropped after their first poll, each while the engine
/// still works on the one before it: all of them take place, in their order.
#[test]
fn rollbacks_and_commit_take_place_though_all_are_dropped() {
    let db = Options::in_memory().cache_size(16 << 20).open("").unwrap();
    let table = db.table("t").unwrap();
    threads(1).block_on(async {
        for round in 0..20u8 {
            let mut tx = db.begin_async("tx");
            tx.put(&table, [round], "kept").await.unwrap();
            let first = tx.savepoint().await.unwrap();
            for key in 0..100u8 {
                tx.put(&table, [round, key], vec![key; 5_000]).await.unwrap();
            }
            let second = tx.savepoint().await.unwrap();
            for key in 100..200u8 {
                tx.put(&table, [round, key], vec![key; 5_000]).await.unwrap();
            }
            let _ = polled(1, tx.rollback_to(&second)).await;
            let _ = polled(1, tx.rollback_to(&first)).await;
            let flushed = db.stats().engine.log.flushed_bytes;
            // Not after a rollback to an earlier one.
            let third = polled(1, tx.rollback_to(&second)).await;
            assert!(!matches!(third, Some(Ok(()))), "{third:?}");
            let _ = polled(1, tx.commit()).await;
            // It waits for the commit's locks.
            let mut reader = db.begin_async("reader");
            assert_eq!(reader.get(&table, [round]).await.unwrap(), Some(b"kept".to_vec()));
            let mut scan = reader.scan(&table, clearway::prefix([round])).await.unwrap();
            let first = scan.next_ref().await.unwrap().map(|(key, _)| key.to_vec());
            assert_eq!(first, Some(vec![round]), "round {round}");
            assert_eq!(scan.next_ref().await.unwrap(), None, "round {round}");
            reader.rollback().await.unwrap();
            // No other commit, and no one who waits for this one, requests a flush.
            let until = std::time::Instant::now() + Duration::from_secs(20);
            while db.stats().engine.log.flushed_bytes == flushed {
                assert!(std::time::Instant::now() < until, "round {round}: it is never durable");
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    });
    db.verify().unwrap();
}

/// A savepoint past which a rollback went is reported at the first poll.
#[test]
fn unknown_savepoint_is_reported_at_once() {
    let db = Options::in_memory().cache_size(16 << 20).open("").unwrap();
    let table = db.table("t").unwrap();
    threads(1).block_on(async {
        let mut tx = db.begin_async("tx");
        let first = tx.savepoint().await.unwrap();
        tx.put(&table, "k", "1").await.unwrap();
        let second = tx.savepoint().await.unwrap();
        tx.rollback_to(&first).await.unwrap();
        let stale = polled(1, tx.rollback_to(&second)).await;
        assert!(matches!(stale, Some(Err(clearway::Error::UnknownSavepoint))), "{stale:?}");
        tx.commit().await.unwrap();
    });
}

/// The operation that makes a transaction a deadlock's victim is dropped while the engine rolls the
/// transaction back: the next call reports the deadlock, and a closure is run again.
#[test]
fn deadlock_of_a_dropped_operation_is_reported_by_the_next_call() {
    let directory = tempfile::tempdir().unwrap();
    let db = Options::new().cache_size(16 << 20).open(directory.path()).unwrap();
    let table = db.table("t").unwrap();
    threads(1).block_on(async {
        for next in 0..4 {
            let mut other = db.begin_async("other");
            other.put(&table, "b", "1").await.unwrap();
            let mut victim = db.begin_async("victim");
            // Much to undo, so that the operation is dropped before the rollback has ended.
            for key in 0..200u32 {
                victim.put(&table, key.to_be_bytes(), vec![1; 100]).await.unwrap();
            }
            let mut waits = Box::pin(other.put(&table, 0u32.to_be_bytes(), "1"));
            assert!(polled(1, &mut waits).await.is_none(), "it waits");
            match polled(1, victim.put(&table, "b", "2")).await {
                None => {}
                Some(Err(Error::Deadlock { .. })) => continue, // the rollback was faster
                Some(other) => panic!("{other:?}"),
            }
            match next {
                0 => {
                    let result = victim.get(&table, "b").await;
                    assert!(matches!(result, Err(Error::Deadlock { .. })), "{result:?}");
                    let result = victim.get(&table, "b").await;
                    assert!(matches!(result, Err(Error::TransactionEnded)), "{result:?}");
                }
                1 => assert!(matches!(victim.commit().await, Err(Error::TransactionEnded))),
                2 => victim.rollback().await.unwrap(),
                _ => drop(victim),
            }
            waits.await.unwrap();
            other.rollback().await.unwrap();
        }
        // A closure that does not notice is run again.
        let mut other = db.begin_async("other");
        other.put(&table, "b", "1").await.unwrap();
        let (other, runs, table) = (Cell::new(Some(other)), Cell::new(0), &table);
        db.transact_async("closure", async |mut tx| {
            runs.set(runs.get() + 1);
            tx.put(table, "a", vec![1; 100]).await?;
            if let Some(mut other) = other.take() {
                let mut waits = Box::pin(other.put(table, "a", "1"));
                assert!(polled(1, &mut waits).await.is_none(), "it waits");
                let _ = polled(1, tx.put(table, "b", "2")).await;
                waits.await?;
                other.rollback().await?;
            }
            Ok(())
        })
        .await
        .unwrap();
        assert_eq!(runs.get(), 2);
    });
}

/// Makes `victim` a deadlock's victim by an operation that is dropped while the engine rolls the
/// victim back. Returns false if the rollback was faster, so that the operation has reported the
/// deadlock.
async fn drop_losing_operation(
    db: &Database,
    table: &Table,
    victim: &mut AsyncTransaction,
) -> bool {
    let mut other = db.begin_async("other");
    other.put(table, "b", "1").await.unwrap();
    // Much to undo, so that the operation is dropped before the rollback has ended.
    for key in 0..200u32 {
        victim.put(table, key.to_be_bytes(), vec![1; 100]).await.unwrap();
    }
    let mut waits = Box::pin(other.put(table, 0u32.to_be_bytes(), "1"));
    assert!(polled(1, &mut waits).await.is_none(), "it waits");
    let lost = polled(1, victim.put(table, "b", "2")).await;
    waits.await.unwrap();
    other.rollback().await.unwrap();
    match lost {
        None => true,
        Some(Err(Error::Deadlock { .. })) => false,
        Some(other) => panic!("{other:?}"),
    }
}

/// The calls whose report of a deadlock is tested.
#[derive(Clone, Copy, Debug)]
enum NextCall {
    Savepoint,
    RollbackTo,
}

impl NextCall {
    async fn make(self, tx: &mut AsyncTransaction, savepoint: &Savepoint) -> Result<()> {
        match self {
            NextCall::Savepoint => tx.savepoint().await.map(drop),
            NextCall::RollbackTo => tx.rollback_to(savepoint).await,
        }
    }
}

/// Runs `lose`, for each of the calls, until it has returned true: a losing operation was dropped.
fn lose_with_each_call(lose: impl AsyncFn(&Database, &Table, NextCall) -> bool) {
    let directory = tempfile::tempdir().unwrap();
    let db = Options::new().cache_size(16 << 20).open(directory.path()).unwrap();
    let table = db.table("t").unwrap();
    let rounds = async {
        for call in [NextCall::Savepoint, NextCall::RollbackTo] {
            while !lose(&db, &table, call).await {}
        }
    };
    let in_time = async { tokio::time::timeout(Duration::from_secs(60), rounds).await };
    threads(1).block_on(in_time).expect("no call waits for ever");
}

/// A savepoint, or a rollback to one, reports the deadlock of a dropped operation, too.
#[test]
fn savepoints_report_the_deadlock_of_a_dropped_operation() {
    lose_with_each_call(async |db, table, call| {
        let mut victim = db.begin_async("victim");
        let savepoint = victim.savepoint().await.unwrap();
        let was_dropped = drop_losing_operation(db, table, &mut victim).await;
        if was_dropped {
            let result = call.make(&mut victim, &savepoint).await;
            assert!(matches!(result, Err(Error::Deadlock { .. })), "{call:?}: {result:?}");
        }
        let result = call.make(&mut victim, &savepoint).await;
        assert!(matches!(result, Err(Error::TransactionEnded)), "{call:?}: {result:?}");
        was_dropped
    });
}

/// A closure is run again if only a savepoint, or a rollback to one, has reported the deadlock, and
/// the closure ignores the error.
#[test]
fn closure_is_run_again_after_a_deadlock_that_a_savepoint_reports() {
    lose_with_each_call(async |db, table, call| {
        let (runs, was_dropped) = (Cell::new(0), Cell::new(false));
        let ended = db.transact_async("closure", async |mut tx| {
            runs.set(runs.get() + 1);
            let savepoint = tx.savepoint().await?;
            if runs.get() == 1 {
                was_dropped.set(drop_losing_operation(db, table, &mut tx).await);
                let _ = call.make(&mut tx, &savepoint).await;
            }
            Ok(())
        });
        let result = ended.await;
        assert!(matches!((&result, runs.get()), (Ok(()), 2)), "{call:?}: {result:?}, {runs:?}");
        was_dropped.get()
    });
}

/// A transaction that is never dropped keeps its locks, and nothing else stops.
#[test]
fn forgotten_transaction_keeps_its_locks_until_the_close() {
    let db = Options::in_memory().cache_size(16 << 20).open("").unwrap();
    let table = db.table("t").unwrap();
    threads(1).block_on(async {
        let mut forgotten = db.begin_async("forgotten");
        forgotten.put(&table, "k", "1").await.unwrap();
        std::mem::forget(forgotten);
        let mut other = db.begin_async("other");
        other.lock_wait(LockWait::For(Duration::from_millis(20)));
        assert!(matches!(other.get(&table, "k").await, Err(Error::LockTimeout { .. })));
        other.put(&table, "other", "1").await.unwrap();
        other.commit().await.unwrap();
    });
    assert!(matches!(db.close(), Err(Error::StillInUse { transactions: 1, .. })));
}

/// Tasks that wait for a page which the disk never delivers give up at their limit, and others go
/// on; once the disk delivers it, the page can be used.
#[test]
fn page_that_the_disk_never_delivers_ends_the_wait_at_the_limit() {
    let disk = MemoryDisk::new();
    let options = Options::new().cache_size(16 << 20);
    let db = options.clone().on_disk(std::sync::Arc::new(disk.clone())).open("").unwrap();
    let table = db.table("t").unwrap();
    db.transact("fill", |tx| {
        (0..10_000u32).try_for_each(|n| tx.insert(&table, n.to_be_bytes(), [7; 100]))
    })
    .unwrap();
    db.close().unwrap();
    drop((db, table));
    let reads = HeldReads::new(1);
    let held = HeldReadsDisk::new(disk, reads.clone());
    let db = options.on_disk(std::sync::Arc::new(held)).open("").unwrap();
    // The reads of the opening are made by its thread.
    let table = db.table("t").unwrap();
    assert!(db.begin().get(&table, 0u32.to_be_bytes()).unwrap().is_some());
    threads(1).block_on(async {
        let mut late = db.begin_async("late");
        late.lock_wait(LockWait::For(Duration::from_millis(50)));
        let error = late.get(&table, 9_000u32.to_be_bytes()).await.unwrap_err();
        assert!(matches!(error, Error::ReadTimeout { waited_us: 50_000, .. }), "{error}");
        // The transaction goes on, with a page that is in memory.
        assert!(late.get(&table, 1u32.to_be_bytes()).await.unwrap().is_some());
        // A cursor of a thread meets the same page.
        let mut thread = db.begin();
        thread.lock_wait(LockWait::For(Duration::from_millis(50)));
        let error = thread.scan(&table, 9_000u32.to_be_bytes()..).count().unwrap_err();
        assert!(matches!(error, Error::ReadTimeout { .. }), "{error}");
        thread.rollback().unwrap();
        reads.complete_all();
        assert!(late.get(&table, 9_000u32.to_be_bytes()).await.unwrap().is_some());
        late.commit().await.unwrap();
    });
    db.close().unwrap();
}

/// The only operation of a transaction is dropped while it writes a large value: no page of that
/// stays allocated, although there is no change to undo.
#[test]
fn large_value_of_a_dropped_transaction_leaves_no_pages() {
    let directory = tempfile::tempdir().unwrap();
    let db = Options::new().cache_size(1 << 20).open(directory.path()).unwrap();
    let table = db.table("t").unwrap();
    let value = vec![7; 3_000_000];
    let mut dropped = 0;
    threads(1).block_on(async {
        // The last ones are dropped: no later transaction may clear up behind them.
        for polls in (1..=20).rev() {
            let mut tx = db.begin_async("large");
            let put = polled(polls, tx.put(&table, "k", &value)).await;
            dropped += u32::from(put.is_none());
            if polls % 2 == 0 {
                tx.rollback().await.unwrap();
            } else {
                drop(tx);
            }
        }
    });
    assert!(dropped > 1, "{dropped}");
    db.close().unwrap();
    let db = Options::new().open(directory.path()).unwrap();
    assert_eq!(db.verify().unwrap().unreachable_pages, 0);
}

/// A transaction has written a large value, and its next operation is dropped while it writes
/// another one: the rollback frees the pages of both.
#[test]
fn large_values_of_a_change_and_of_a_dropped_operation_leave_no_pages() {
    let directory = tempfile::tempdir().unwrap();
    let db = Options::new().cache_size(1 << 20).open(directory.path()).unwrap();
    let table = db.table("t").unwrap();
    let (first, second) = (vec![6; 50_000], vec![7; 3_000_000]);
    let mut dropped = 0;
    threads(1).block_on(async {
        for polls in 1..=20 {
            let mut tx = db.begin_async("large");
            tx.put(&table, "a", &first).await.unwrap();
            dropped += u32::from(polled(polls, tx.put(&table, "b", &second)).await.is_none());
            tx.rollback().await.unwrap();
            assert_eq!(db.verify().unwrap().unreachable_pages, 0, "after {polls} polls");
        }
    });
    assert!(dropped > 1, "{dropped}");
}
