//! Two-stage execution of asynchronous closures: they have the stages of the blocking ones, keep no
//! thread while a fetch stage waits for a page, and leave nothing if they are dropped there.

use std::{
    cell::{Cell, RefCell},
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
    thread,
    time::{Duration, Instant},
};

use clearway::{
    Database, Direction, Error, LentTransaction, LockWait, Options, PipelineOptions, Result, Stage,
    Staging, StagingStats, Table, TypeStats,
};
use clearway_disk::{Disk, MemoryDisk};
use clearway_sync::block_on;
use clearway_testkit::{
    disk::{HeldReads, HeldReadsDisk, QueueingDisk, ReadServers},
    polled_once,
};
use tokio::{runtime::Builder, task::JoinSet};

pub(super) const ACCOUNTS: u64 = 20_000;

pub(super) fn key(account: u64) -> [u8; 8] {
    account.to_be_bytes()
}

/// Options for a cache in which an eighth of the accounts fits.
pub(super) fn options(policy: Staging) -> Options {
    Options::new().cache_size(1 << 20).staging(policy).time_one_in(1)
}

/// A database of accounts on the disk that `wrap` makes. All pages are on the disk.
pub(super) fn accounts_on<D: Disk + 'static>(
    options: Options,
    wrap: impl FnOnce(MemoryDisk) -> D,
) -> (Database, Table) {
    let disk = MemoryDisk::new();
    let db = options.clone().on_disk(Arc::new(disk.clone())).open("").unwrap();
    let table = db.table("accounts").unwrap();
    for rows in (0..ACCOUNTS).collect::<Vec<_>>().chunks(100) {
        let mut tx = db.begin();
        rows.iter().for_each(|row| tx.put(&table, key(*row), [1; 400]).unwrap());
        tx.commit().unwrap();
    }
    db.close().unwrap();
    let db = options.on_disk(Arc::new(wrap(disk))).open("").unwrap();
    let table = db.table("accounts").unwrap();
    (db, table)
}

pub(super) fn accounts(policy: Staging) -> (Database, Table) {
    accounts_on(options(policy), |disk| disk)
}

fn of_type(db: &Database, name: &str) -> TypeStats {
    db.type_stats().into_iter().find(|stats| stats.name == name).unwrap()
}

fn stats(db: &Database, name: &str) -> StagingStats {
    of_type(db, name).staging
}

fn poll<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Repeats `step` until it returns true.
pub(super) fn repeat(what: &str, mut step: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !step() {
        assert!(Instant::now() < until, "{what}");
        thread::yield_now();
    }
}

pub(super) fn assert_nothing_is_held(db: &Database) {
    repeat("a transaction is active", || db.stats().engine.active == 0);
    assert_eq!(db.stats().engine.pool.fetched_pages, 0);
    assert_eq!(db.verify().unwrap().unreachable_pages, 0);
}

#[test]
fn asynchronous_closure_runs_in_both_stages_and_the_second_counts() {
    let (db, table) = accounts(Staging::TwoStage);
    let stages = RefCell::new(Vec::new());
    let sum = block_on(db.transact_async("sum", async |mut tx| {
        stages.borrow_mut().push(tx.stage());
        let run = stages.borrow().len() as u8;
        tx.put(&table, "a", [run]).await?;
        Ok(tx.get(&table, "a").await?.unwrap()[0])
    }));
    assert_eq!(sum.unwrap(), 2);
    assert_eq!(*stages.borrow(), [Stage::Fetch, Stage::Operate]);
    assert_eq!(db.begin().get(&table, "a").unwrap().unwrap(), [2]);
    let counted = of_type(&db, "sum");
    assert_eq!((counted.commits, counted.rollbacks), (1, 0));
    assert_eq!((counted.staging.fetches, counted.staging.operates), (1, 1));
    assert_nothing_is_held(&db);
}

/// Uses each operation, and writes down all answers.
async fn use_all(tx: &mut LentTransaction, table: &Table, seen: &mut Vec<String>) -> Result<()> {
    let mut note = |answer: &dyn std::fmt::Debug| seen.push(format!("{answer:?}"));
    note(&tx.get(table, key(5)).await);
    note(&tx.get_for_update(table, key(4000)).await);
    note(&tx.get(table, "absent").await);
    note(&tx.put(table, key(4000), "own").await);
    note(&tx.put(table, "large", vec![7; 50_000]).await);
    note(&tx.get(table, "large").await.map(|value| value.map(|value| value.len())));
    note(&tx.insert(table, key(4000), "again").await.is_err());
    note(&tx.update(table, "none", "v").await.is_err());
    note(&tx.get(table, vec![7; 100_000]).await.is_err());
    let before = tx.savepoint().await?;
    note(&tx.delete(table, key(8001)).await);
    note(&tx.delete(table, key(8001)).await.is_err());
    note(&tx.update(table, key(8002), "undone").await);
    note(&tx.get(table, key(8002)).await);
    let mut across = tx.scan(table, &key(7990)[..]..&key(8010)[..]).await?;
    while let Some((found, value)) = across.next().await? {
        note(&(found, value));
    }
    tx.rollback_to(&before).await?;
    note(&tx.get(table, key(8002)).await);
    let range = &key(3990)[..]..&key(4010)[..];
    let mut cursor = tx.cursor(table, range, Direction::Descending).await?;
    while let Some((found, value)) = tx.next(&mut cursor).await? {
        note(&(&found, value));
        if found == key(4003) {
            note(&tx.insert(table, [&key(4001)[..], b"x"].concat(), "in the way").await);
        }
    }
    let for_update = tx.scan_for_update(table, &key(12_000)[..]..&key(12_100)[..]).await?;
    note(&for_update.skip_locked().count().await);
    note(&tx.scan_descending(table, "l".."m").await?.count().await);
    tx.lock_table(table, clearway::AbsoluteMode::Shared).await?;
    tx.lock_database(clearway::AbsoluteMode::Shared).await?;
    Ok(())
}

#[test]
fn answers_of_both_stages_are_equal_and_no_page_is_awaited_under_locks() {
    for policy in [Staging::TwoStage, Staging::Optimistic] {
        let (db, table) = accounts(policy);
        let runs = RefCell::new(Vec::new());
        block_on(db.transact_async("all", async |mut tx| {
            let mut seen = Vec::new();
            let used = use_all(&mut tx, &table, &mut seen).await;
            runs.borrow_mut().push(seen);
            used
        }))
        .unwrap();
        let runs = runs.into_inner();
        assert_eq!(runs.len(), 2, "{policy:?}");
        assert!(runs[0].len() > 50, "{}", runs[0].len());
        let other = runs[0].iter().zip(&runs[1]).find(|(fetch, operate)| fetch != operate);
        assert_eq!((other, runs[0].len()), (None, runs[1].len()), "{policy:?}");
        let counted = stats(&db, "all");
        assert_eq!((counted.fetches, counted.operates, counted.mis_prefetches), (1, 1, 0));
        assert_eq!((counted.operate_waits, counted.fetches_cut_short), (0, 0));
        assert!(counted.fetch_waits > 5, "{counted:?}");
        assert_eq!(counted.conversions, u64::from(policy == Staging::Optimistic));
        assert_nothing_is_held(&db);
    }
}

#[test]
fn error_and_panic_of_an_asynchronous_fetch_stage_are_dropped() {
    for policy in [Staging::TwoStage, Staging::Optimistic] {
        let (db, table) = accounts(policy);
        for round in 0..3 {
            let runs = Cell::new(0);
            let result = block_on(db.transact_async("fails at first", async |mut tx| {
                runs.set(runs.get() + 1);
                tx.put(&table, key(round * 7000), "v").await?;
                match (runs.get(), round) {
                    (1, 0) => Err(Error::not_found()),
                    (1, 1) => panic!("in the fetch stage"),
                    (run, _) => Ok(run),
                }
            }));
            assert_eq!(result.unwrap(), 2, "{policy:?}");
        }
        let counted = stats(&db, "fails at first");
        assert_eq!((counted.fetches, counted.fetch_panics, counted.operates), (3, 1, 3));
        let panicked: Result<()> =
            block_on(db.transact_async("panics", async |_| panic!("in both")));
        assert!(matches!(panicked, Err(Error::Panicked { .. })));
        assert_nothing_is_held(&db);
    }
}

#[test]
fn optimistic_task_is_converted_at_its_first_absent_page_and_sees_what_it_has_written() {
    let (db, table) = accounts(Staging::Optimistic);
    let (runs, other) = (Cell::new(0), RefCell::new(None));
    let moved = block_on(db.transact_async("pay", async |mut tx| {
        runs.set(runs.get() + 1);
        tx.put(&table, "hot", [runs.get()]).await?;
        let before = tx.savepoint().await?;
        tx.put(&table, "hot", [9]).await?;
        tx.rollback_to(&before).await?;
        for account in (0..ACCOUNTS).step_by(4000) {
            tx.put(&table, key(account), [runs.get()]).await?;
            assert_eq!(tx.get(&table, "hot").await?.unwrap(), [runs.get()]);
        }
        if runs.get() == 1 {
            // Its locks are released.
            let mut free = db.begin();
            free.lock_wait(LockWait::Never);
            free.put(&table, "hot", "other").unwrap();
            free.commit().unwrap();
            *other.borrow_mut() = tx.get(&table, "hot").await?;
        }
        Ok(tx.get(&table, "hot").await?.unwrap()[0])
    }));
    assert_eq!((moved.unwrap(), other.into_inner()), (2, Some(vec![1])));
    let counted = of_type(&db, "pay");
    assert_eq!((counted.commits, counted.rollbacks, counted.retries), (1, 0, 0));
    let counted = counted.staging;
    assert_eq!((counted.fetches, counted.conversions, counted.operates), (1, 1, 1));
    assert_eq!((counted.mis_prefetches, counted.fetches_with_reads), (0, 1));
    // All is in memory now.
    runs.set(0);
    block_on(db.transact_async("pay", async |mut tx| {
        runs.set(runs.get() + 1);
        tx.get(&table, key(4000)).await
    }))
    .unwrap();
    assert_eq!(runs.get(), 1);
    assert_nothing_is_held(&db);
}

#[test]
fn optimistic_task_that_knows_its_stage_stays_in_it() {
    let (db, table) = accounts(Staging::Optimistic);
    let stages = RefCell::new(Vec::new());
    block_on(db.transact_async("knows", async |mut tx| {
        stages.borrow_mut().push(tx.stage());
        tx.put(&table, key(1), "v").await
    }))
    .unwrap();
    assert_eq!(*stages.borrow(), [Stage::Operate]);
    assert_eq!(stats(&db, "knows").fetches, 0);
}

/// A database whose reads a test completes, and what it holds.
fn held_accounts(policy: Staging) -> (Database, Table, HeldReads) {
    let reads = HeldReads::new(1);
    let (db, table) = accounts_on(options(policy), |disk| HeldReadsDisk::new(disk, reads.clone()));
    // The row `hot` is in memory: threads read their pages themselves.
    let mut warm = db.begin();
    warm.put(&table, "hot", "old").unwrap();
    warm.commit().unwrap();
    (db, table, reads)
}

/// Completes all reads while `body` runs.
pub(super) fn reading<T>(reads: &HeldReads, body: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                reads.complete_all();
                thread::yield_now();
            }
        });
        let done = catch_unwind(AssertUnwindSafe(body));
        is_over.store(true, Ordering::Relaxed);
        done.unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// Drives all accounts out of the cache, but not the row `hot`.
fn drive_out(db: &Database, table: &Table) {
    drop(db.begin().scan(table, ..).count());
    db.begin().get(table, "hot").unwrap();
}

#[test]
fn tasks_of_a_thread_go_on_while_one_waits_in_its_fetch_stage() {
    for policy in [Staging::TwoStage, Staging::Optimistic] {
        let (db, table, reads) = held_accounts(policy);
        let pay = |account: u64| {
            let (db, table) = (&db, &table);
            async move {
                db.transact_async("pay", async |mut tx| {
                    tx.put(table, "hot", key(account)).await?;
                    tx.put(table, key(account), "paid").await
                })
                .await
            }
        };
        let mut waits = Box::pin(pay(4000));
        repeat("it reads nothing", || {
            assert!(poll(waits.as_mut()).is_pending());
            reads.count() > 0
        });
        // All others want the row that it will write.
        for round in 0..10 {
            block_on(db.transact_async("others", async |mut tx| {
                tx.lock_wait(LockWait::Never);
                tx.put(&table, "hot", [round]).await
            }))
            .unwrap();
        }
        repeat("it does not end", || {
            reads.complete_all();
            poll(waits.as_mut()).is_ready()
        });
        assert_eq!(db.begin().get(&table, "hot").unwrap().unwrap(), key(4000));
        let counted = stats(&db, "pay");
        assert_eq!((counted.fetches, counted.operates, counted.mis_prefetches), (1, 1, 0));
        assert_eq!(counted.conversions, u64::from(policy == Staging::Optimistic));
        reading(&reads, || assert_nothing_is_held(&db));
    }
}

#[test]
fn future_that_is_dropped_in_its_fetch_stage_leaves_neither_pin_nor_lock() {
    for policy in [Staging::TwoStage, Staging::Optimistic] {
        let (db, table, reads) = held_accounts(policy);
        for pages in 1..6 {
            let mut fetches = Box::pin(db.transact_async("fetch", async |mut tx| {
                tx.put(&table, "hot", "dropped").await?;
                let from = pages * 3000;
                let mut scan = tx.scan(&table, &key(from)[..]..&key(from + 100)[..]).await?;
                while scan.next().await?.is_some() {}
                for page in 0..10 {
                    tx.get(&table, key(from + 1000 + 100 * page)).await?;
                }
                std::future::pending::<Result<()>>().await
            }));
            repeat("it reads nothing", || {
                assert!(poll(fetches.as_mut()).is_pending());
                reads.count() > 0
            });
            let before = reads.completed();
            repeat("it reads no more", || {
                reads.complete_one();
                assert!(poll(fetches.as_mut()).is_pending());
                reads.completed() > before + pages
            });
            assert!(db.stats().engine.pool.fetched_pages > 0);
            drop(fetches);
            assert_eq!(db.stats().engine.pool.fetched_pages, 0, "{policy:?}");
            repeat("the run is active", || db.stats().engine.active == 0);
            let mut next = db.begin();
            next.lock_wait(LockWait::Never);
            assert_eq!(next.get_for_update(&table, "hot").unwrap().unwrap(), b"old");
            drop(next);
            reads.complete_all();
        }
        reading(&reads, || assert_nothing_is_held(&db));
    }
}

/// The operation that comes to the absent page is dropped while a thread of the engine undoes what
/// the run has written.
#[test]
fn operation_that_is_dropped_during_the_conversion_leaves_its_run_in_the_fetch_stage() {
    let (db, table, reads) = held_accounts(Staging::Optimistic);
    for ends_at_once in [false, true] {
        let runs = Cell::new(0);
        let mut pays = pin!(db.transact_async("pay", async |mut tx| {
            runs.set(runs.get() + 1);
            tx.put(&table, "hot", [runs.get()]).await?;
            let dropped = polled_once(tx.get(&table, key(4000))).await;
            if !ends_at_once || runs.get() > 1 {
                assert_eq!(tx.get(&table, "hot").await?.unwrap(), [runs.get()]);
                let before = tx.savepoint().await?;
                tx.put(&table, "hot", "undone").await?;
                tx.rollback_to(&before).await?;
                assert_eq!(tx.get(&table, "hot").await?.unwrap(), [runs.get()]);
                tx.get(&table, key(4000)).await?;
            }
            Ok(dropped.is_none())
        }));
        repeat("it does not end", || {
            reads.complete_all();
            let polled = poll(pays.as_mut());
            if let Poll::Ready(ended) = &polled {
                assert!(ends_at_once || !ended.as_ref().unwrap(), "the page is in memory");
            }
            polled.is_ready()
        });
        assert_eq!(runs.get(), 2);
        assert_eq!(db.begin().get(&table, "hot").unwrap().unwrap(), [2]);
        reading(&reads, || {
            assert_nothing_is_held(&db);
            drive_out(&db, &table);
        });
    }
    let counted = stats(&db, "pay");
    assert_eq!((counted.fetches, counted.conversions, counted.operates), (2, 2, 2));
}

#[test]
fn transaction_that_is_dropped_during_its_conversion_is_undone() {
    let (db, table, reads) = held_accounts(Staging::Optimistic);
    for _ in 0..20 {
        let mut pays = Box::pin(db.transact_async("pay", async |mut tx| {
            tx.put(&table, "hot", "new").await?;
            tx.get(&table, key(4000)).await
        }));
        assert!(poll(pays.as_mut()).is_pending());
        drop(pays);
        reading(&reads, || {
            assert_nothing_is_held(&db);
            assert_eq!(db.begin().get(&table, "hot").unwrap().unwrap(), b"old");
            drive_out(&db, &table);
        });
    }
}

/// Transfers of several tasks, on one thread or two.
#[test]
fn money_is_kept_by_staged_tasks_whatever_the_policy() {
    use Staging::{Conventional, Hybrid, Optimistic, TwoStage};
    for (policy, threads) in
        [(TwoStage, 1), (TwoStage, 2), (Optimistic, 1), (Optimistic, 2), (Hybrid, 2)]
            .into_iter()
            .chain([(Conventional, 2)])
    {
        let (db, table) = accounts(policy);
        let runtime = Builder::new_multi_thread().worker_threads(threads).build().unwrap();
        runtime.block_on(async {
            let mut tasks = JoinSet::new();
            for task in 0..4u64 {
                let (db, table) = (db.clone(), table.clone());
                tasks.spawn(async move {
                    for round in 0..50 {
                        let (from, to) = (round % 3, (task * 7919 + round * 104_729) % ACCOUNTS);
                        transfer(&db, &table, from, to).await.unwrap();
                    }
                });
            }
            while let Some(ended) = tasks.join_next().await {
                ended.unwrap();
            }
        });
        let mut tx = db.begin();
        let total: u64 = tx.scan(&table, ..).map(|entry| u64::from(entry.unwrap().1[0])).sum();
        assert_eq!(total, ACCOUNTS, "{policy:?}");
        drop(tx);
        assert_eq!(stats(&db, "transfer").fetches > 0, policy != Conventional);
        assert_nothing_is_held(&db);
    }
}

async fn transfer(db: &Database, table: &Table, from: u64, to: u64) -> Result<()> {
    db.transact_async("transfer", async |mut tx| {
        // In an order that deadlocks.
        let (first, second) = if (from + to).is_multiple_of(2) { (from, to) } else { (to, from) };
        let mut one = tx.get_for_update(table, key(first)).await?.unwrap();
        let mut two = tx.get_for_update(table, key(second)).await?.unwrap();
        if from != to && one[0] > 0 && two[0] < 255 {
            (one[0], two[0]) = (one[0] - 1, two[0] + 1);
            tx.put(table, key(first), &one).await?;
            tx.put(table, key(second), &two).await?;
        }
        Ok(())
    })
    .await
}

#[test]
fn hybrid_chooses_for_tasks_as_for_threads() {
    let (db, table) = accounts(Staging::Hybrid);
    let run = |account: u64| {
        block_on(db.transact_async("pay", async |mut tx| tx.put(&table, key(account), "v").await))
            .unwrap();
        stats(&db, "pay")
    };
    assert_eq!(run(0).current, Staging::TwoStage);
    (0..64).for_each(|_| _ = run(0));
    assert_eq!(run(0).current, Staging::Optimistic);
    let mut runs = 0;
    while run(runs * 7919 % ACCOUNTS).current == Staging::Optimistic {
        runs += 1;
        assert!(runs < 400);
    }
    let settled = run(0);
    assert!(settled.current == Staging::TwoStage && settled.conversions > 5, "{settled:?}");
}

#[test]
fn tasks_fetch_by_default_once_they_wait_behind_reads() {
    let servers = ReadServers::new(4, Duration::from_millis(1));
    let (db, table) =
        accounts_on(options(Staging::Automatic), |disk| QueueingDisk::new(disk, servers.clone()));
    drop(db.begin().scan(&table, ..).count());
    db.begin().get(&table, key(0)).unwrap();
    servers.set_on(true);
    let runtime = Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let pay = |tasks: u64, accounts: u64| {
        runtime.block_on(async {
            let mut all = JoinSet::new();
            for task in 0..tasks {
                let (db, table) = (db.clone(), table.clone());
                all.spawn(async move {
                    for round in 0..400 {
                        let account = (task * 7919 + round * 104_729) % accounts;
                        db.transact_async("pay", async |mut tx| {
                            tx.put(&table, "branch", [task as u8]).await?;
                            tx.put(&table, key(account), [round as u8; 400]).await
                        })
                        .await
                        .unwrap();
                    }
                });
            }
            while let Some(ended) = all.join_next().await {
                ended.unwrap();
            }
        });
        stats(&db, "pay").current
    };
    // They wait, but not for reads.
    assert_eq!(pay(4, 2), Staging::Conventional);
    assert_eq!(stats(&db, "pay").fetches, 0);
    assert_ne!(pay(4, ACCOUNTS), Staging::Conventional);
    assert!(stats(&db, "pay").fetches > 100);
}

#[test]
fn asynchronous_closures_of_a_pipeline_fetch_too() {
    let (db, table) = accounts(Staging::TwoStage);
    let pipeline = PipelineOptions::new().agents(1).start(&db).unwrap();
    let tickets: Vec<_> = (0..50)
        .map(|round| {
            let table = table.clone();
            let pay = async move |mut tx: LentTransaction| {
                tx.put(&table, "hot", [round as u8]).await?;
                tx.put(&table, key(round * 350), "paid").await?;
                Ok(tx.stage())
            };
            pipeline.submit_async("pay", pay).unwrap()
        })
        .collect();
    assert!(tickets.into_iter().all(|ticket| ticket.wait().unwrap() == Stage::Operate));
    let counted = of_type(&db, "pay");
    assert_eq!((counted.commits, counted.staging.fetches), (50, 50));
    pipeline.close();
    assert_nothing_is_held(&db);
}

#[test]
fn fetch_stage_of_a_task_whose_key_was_taken_meanwhile_is_repeated() {
    let (db, table) = accounts(Staging::TwoStage);
    db.transact("first", |tx| tx.put(&table, "next", [1])).unwrap();
    let runs = Cell::new(0);
    block_on(db.transact_async("order", async |mut tx| {
        runs.set(runs.get() + 1);
        let number = tx.get_for_update(&table, "next").await?.unwrap()[0];
        tx.put(&table, "next", [number + 1]).await?;
        tx.get(&table, key(1)).await?;
        if runs.get() == 1 {
            let mut other = db.begin();
            other.insert(&table, [b'o', number], "other").unwrap();
            other.put(&table, "next", [number + 1]).unwrap();
            other.commit().unwrap();
        }
        tx.insert(&table, [b'o', number], "mine").await
    }))
    .unwrap();
    assert_eq!(runs.get(), 3);
    let counted = stats(&db, "order");
    assert_eq!((counted.fetches, counted.operates, counted.mis_prefetches), (2, 1, 0));
}

#[test]
fn fetch_stage_of_a_closed_database_reports_the_close_to_its_task() {
    let (db, _) = accounts(Staging::TwoStage);
    db.close().unwrap();
    let late = block_on(db.transact_async("late", async |_| Ok(())));
    assert!(matches!(late, Err(Error::Closed)));
}
