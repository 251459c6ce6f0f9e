//! Transactions of tasks: what the interface accepts, and what they do beside each other.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use clearway::{Database, Error, LockWait, Options, Result, Table};
use tokio::runtime::{Builder, Runtime};

fn threads(count: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(count).enable_time().build().unwrap()
}

fn database() -> (Database, Table) {
    let db = Options::in_memory().cache_size(16 << 20).open("").unwrap();
    let table = db.table("t").unwrap();
    (db, table)
}

/// The closures that programs write most often must compile: tasks that a runtime moves between
/// threads, with borrowed and with owned captures.
#[test]
fn closures_of_tasks_that_move_between_threads_compile() {
    let (db, table) = database();
    threads(2).block_on(async {
        // The captures of the closure are borrowed from the task.
        let (name, other) = (String::from("borrowed"), db.clone());
        let borrowed = table.clone();
        let first = tokio::spawn(async move {
            let key = name.as_str();
            let db = &other;
            db.transact_async("x", async |mut tx| {
                tx.put(&borrowed, key, "1").await?;
                tx.get(&borrowed, &name).await
            })
            .await
        });
        // They are owned by each attempt.
        let (other, owned) = (db.clone(), table.clone());
        let second = tokio::spawn(async move {
            other
                .transact_async("x", move |mut tx| {
                    let (owned, key) = (owned.clone(), vec![7u8]);
                    async move {
                        tx.put(&owned, &key, "2").await?;
                        let mut scan = tx.scan(&owned, ..).await?;
                        scan.next().await?;
                        tx.get(&owned, key).await
                    }
                })
                .await
        });
        assert_eq!(first.await.unwrap().unwrap(), Some(b"1".to_vec()));
        assert_eq!(second.await.unwrap().unwrap(), Some(b"2".to_vec()));
        // A named function, and a session.
        let session = tokio::spawn(session(db.clone(), table.clone()));
        assert_eq!(session.await.unwrap().unwrap(), 3);
    });
}

async fn session(db: Database, table: Table) -> Result<u64> {
    let mut tx = db.begin_async("session");
    tx.insert(&table, "session", "3").await?;
    let count = tx.scan(&table, ..).await?.count().await?;
    tx.commit().await?;
    Ok(count)
}

#[test]
fn every_operation_does_what_the_blocking_one_does() {
    let (db, table) = database();
    threads(1).block_on(async {
        let mut tx = db.begin_async("all");
        tx.insert(&table, "a", "1").await.unwrap();
        assert!(matches!(tx.insert(&table, "a", "2").await, Err(Error::DuplicateKey { .. })));
        assert_eq!(tx.replace(&table, "a", "2").await.unwrap(), Some(b"1".to_vec()));
        tx.put(&table, "b", vec![7; 100_000]).await.unwrap();
        assert!(matches!(tx.update(&table, "c", "1").await, Err(Error::NotFound { .. })));
        let before = tx.savepoint().await.unwrap();
        tx.delete(&table, "a").await.unwrap();
        tx.put(&table, "b", "short").await.unwrap();
        assert_eq!(tx.get(&table, "a").await.unwrap(), None);
        tx.rollback_to(&before).await.unwrap();
        assert_eq!(tx.get_for_update(&table, "b").await.unwrap(), Some(vec![7; 100_000]));
        let mut cursor = tx.cursor(&table, .., clearway::Direction::Descending).await.unwrap();
        let mut keys = Vec::new();
        while let Some((key, _)) = tx.next(&mut cursor).await.unwrap() {
            keys.push(key);
        }
        assert_eq!(keys, [b"b", b"a"]);
        tx.lock_table(&table, clearway::AbsoluteMode::Exclusive).await.unwrap();
        tx.lock_database(clearway::AbsoluteMode::Shared).await.unwrap();
        tx.delete(&table, "b").await.unwrap();
        tx.commit().await.unwrap();
        let gone = db.begin_async("gone");
        gone.rollback().await.unwrap();
    });
    assert_eq!(db.begin().get(&table, "a").unwrap(), Some(b"2".to_vec()));
    assert_eq!(db.verify().unwrap().unreachable_pages, 0);
    assert_eq!(db.stats().engine.active, 0);
}

#[test]
fn waits_end_with_the_grant_or_the_limit() {
    let (db, table) = database();
    threads(2).block_on(async {
        let mut holder = db.begin_async("holder");
        holder.put(&table, "k", "1").await.unwrap();
        let mut hasty = db.begin_async("hasty");
        hasty.lock_wait(LockWait::Never);
        assert!(matches!(hasty.get(&table, "k").await, Err(Error::WouldBlock { .. })));
        // As for a blocking operation: a limit of zero is a limit.
        hasty.lock_wait(LockWait::For(Duration::ZERO));
        assert!(matches!(hasty.get(&table, "k").await, Err(Error::LockTimeout { .. })));
        hasty.lock_wait(LockWait::For(Duration::from_millis(50)));
        let began = Instant::now();
        let late = hasty.get(&table, "k").await.unwrap_err();
        let Error::LockTimeout { waited_us, conflict: Some(conflict) } = late else {
            panic!("{late:?}")
        };
        assert!(waited_us == 50_000 && began.elapsed() >= Duration::from_millis(50));
        assert_eq!(conflict.lock.table, "t");
        // It goes on, and a grant wakes it.
        hasty.lock_wait(LockWait::Forever);
        let table = table.clone();
        let patient = tokio::spawn(async move { hasty.get(&table, "k").await });
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(!patient.is_finished());
        holder.commit().await.unwrap();
        assert_eq!(patient.await.unwrap().unwrap(), Some(b"1".to_vec()));
    });
}

#[test]
fn deadlocks_of_tasks_are_broken_and_retried() {
    let (db, table) = database();
    db.transact("fill", |tx| (0..2u8).try_for_each(|n| tx.insert(&table, [n], [0]))).unwrap();
    threads(2).block_on(async {
        let tasks: Vec<_> = (0..8u8)
            .map(|n| {
                let (db, table) = (db.clone(), table.clone());
                tokio::spawn(async move {
                    for round in 0..50 {
                        let (first, second) = ((n + round) % 2, (n + round + 1) % 2);
                        db.transact_async("both", async |mut tx| {
                            for key in [first, second] {
                                let value = tx.get_for_update(&table, [key]).await?.unwrap();
                                tokio::task::yield_now().await;
                                tx.put(&table, [key], [value[0].wrapping_add(1)]).await?;
                            }
                            Ok(())
                        })
                        .await?;
                    }
                    Ok::<(), Error>(())
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap().unwrap();
        }
    });
    let mut tx = db.begin();
    for key in 0..2u8 {
        assert_eq!(tx.get(&table, [key]).unwrap(), Some(vec![(8 * 50 % 256) as u8]));
    }
}

#[test]
fn panics_and_kept_transactions_are_errors() {
    let (db, table) = database();
    threads(1).block_on(async {
        let early = db.transact_async("early", |_| -> std::future::Ready<Result<()>> {
            panic!("before there is a future")
        });
        assert!(matches!(early.await, Err(Error::Panicked { .. })));
        let late = db.transact_async("late", async |mut tx| {
            tx.put(&table, "k", "1").await?;
            tokio::task::yield_now().await;
            if tx.get(&table, "k").await?.is_some() {
                panic!("between two operations")
            }
            Ok(())
        });
        assert!(matches!(late.await, Err(Error::Panicked { .. })));
        let kept = Arc::new(std::sync::Mutex::new(None));
        let keeps = db.transact_async("keeps", async |mut tx| {
            tx.put(&table, "kept", "1").await?;
            *kept.lock().unwrap() = Some(tx);
            Ok(())
        });
        assert!(matches!(keeps.await, Err(Error::TransactionEnded)));
        drop(kept.lock().unwrap().take());
        let mut tx = db.begin_async("reader");
        for key in ["k", "kept"] {
            assert_eq!(tx.get(&table, key).await.unwrap(), None);
        }
    });
}

/// Of two transactions in one thread the first is dropped while it holds what the second waits for:
/// only the engine can roll it back.
#[test]
fn dropped_transaction_is_rolled_back_by_the_engine() {
    let (db, table) = database();
    Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
        for round in 0..100u8 {
            let mut dropped = db.begin_async("dropped");
            dropped.put(&table, "k", [round]).await.unwrap();
            dropped.put(&table, [round], vec![round; 20_000]).await.unwrap();
            drop(dropped);
            let mut next = db.begin_async("next");
            assert_eq!(next.get_for_update(&table, "k").await.unwrap(), None);
            next.rollback().await.unwrap();
        }
    });
    assert_eq!(db.verify().unwrap().unreachable_pages, 0);
    db.close().unwrap();
}

/// The log is much smaller than what the tasks write, so they wait for checkpoints to free it.
#[test]
fn tasks_wait_for_log_space() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options::new().cache_size(8 << 20).log_capacity(16 << 20);
    let db = options.open(directory.path()).unwrap();
    let table = db.table("t").unwrap();
    threads(2).block_on(async {
        let tasks: Vec<_> = (0..16u8)
            .map(|n| {
                let (db, table) = (db.clone(), table.clone());
                tokio::spawn(async move {
                    for round in 0..60u8 {
                        db.transact_async("write", async |mut tx| {
                            for key in 0..20u8 {
                                tx.put(&table, [n, key], vec![round; 6_000]).await?;
                            }
                            Ok(())
                        })
                        .await?;
                    }
                    Ok::<(), Error>(())
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap().unwrap();
        }
    });
    let written = db.stats().engine.log.flushed_bytes;
    assert!(written > 4 * (16 << 20), "several times the log: {written}");
    assert_eq!(db.verify().unwrap().unreachable_pages, 0);
}

/// An old transaction keeps the log: tasks that find no room get the error that names it, while
/// other tasks go on.
#[test]
fn task_learns_who_keeps_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options::new().cache_size(8 << 20).log_capacity(16 << 20);
    let db = options.open(directory.path()).unwrap();
    let table = db.table("t").unwrap();
    threads(2).block_on(async {
        let mut old = db.begin_async("old");
        old.put(&table, "old", "1").await.unwrap();
        let full = loop {
            let write = db.transact_async("write", async |mut tx| {
                for key in 0..20u8 {
                    tx.put(&table, [key], vec![key; 6_000]).await?;
                    tx.delete(&table, [key]).await?;
                }
                Ok(())
            });
            if let Err(error) = write.await {
                break error;
            }
        };
        let Error::LogFull { keeper: Some(keeper), .. } = full else { panic!("{full:?}") };
        assert!(keeper.to_string().contains("old"), "{keeper}");
        let mut reader = db.begin_async("reader");
        reader.get(&table, "other").await.unwrap();
        old.rollback().await.unwrap();
        db.transact_async("write", async |mut tx| tx.put(&table, "new", "1").await).await.unwrap();
    });
}

/// The data file is lengthened, many times, for tasks that need new pages.
#[test]
fn file_grows_for_tasks() {
    let directory = tempfile::tempdir().unwrap();
    let db = Options::new().cache_size(2 << 20).open(directory.path()).unwrap();
    let table = db.table("t").unwrap();
    threads(2).block_on(async {
        for n in 0..300u32 {
            let key = n.to_be_bytes();
            let grow = db.submit_async("grow", async |mut tx| {
                tx.insert(&table, key, vec![7; 100_000]).await
            });
            drop(grow.await.unwrap());
        }
    });
    db.sync().unwrap();
    assert_eq!(db.begin().scan(&table, ..).count().unwrap(), 300);
    assert_eq!(db.verify().unwrap().unreachable_pages, 0);
}

/// Asynchronous closures of a pipeline: more of them wait for one row than its agents have threads,
/// and none keeps an agent from the one that all wait for.
#[test]
fn tasks_of_a_pipeline_wait_for_each_other_on_one_agent() {
    let (db, table) = database();
    let pipeline = clearway::PipelineOptions::new().agents(1).tasks(100).start(&db).unwrap();
    let mut holder = db.begin();
    holder.put(&table, "n", 0u64.to_le_bytes()).unwrap();
    let tickets: Vec<_> = (0..1_000)
        .map(|_| {
            let table = table.clone();
            let add = async move |mut tx: clearway::LentTransaction| {
                let row = tx.get_for_update(&table, "n").await?.unwrap();
                let count = u64::from_le_bytes(row.try_into().unwrap()) + 1;
                tx.put(&table, "n", count.to_le_bytes()).await?;
                Ok(count)
            };
            pipeline.submit_async("add", add).unwrap()
        })
        .collect();
    // A closure runs beside the tasks that wait.
    std::thread::sleep(Duration::from_millis(20));
    let other = table.clone();
    assert!(!tickets.iter().any(clearway::Ticket::is_ready));
    holder.commit().unwrap();
    let plain = pipeline.submit("plain", move |tx| tx.put(&other, "other", "1")).unwrap();
    let mut counts: Vec<u64> = tickets.into_iter().map(|ticket| ticket.wait().unwrap()).collect();
    plain.wait().unwrap();
    counts.sort_unstable();
    assert!(counts.into_iter().eq(1..=1_000));
    assert_eq!(pipeline.stats().results, 1_001);
    pipeline.close();
    let spawned = db.spawn("last", async move |mut tx| tx.get(&table, "n").await).unwrap();
    db.close().unwrap();
    assert_eq!(
        spawned.wait().unwrap(),
        Some(1_000u64.to_le_bytes().to_vec()),
        "run before the close"
    );
}

/// A scan comes to leaves that are on disk only, in both directions, and meets the same rows.
#[test]
fn task_scans_cold_leaves() {
    let directory = tempfile::tempdir().unwrap();
    let rows = 20_000u32;
    let db = Database::open(directory.path()).unwrap();
    let table = db.table("t").unwrap();
    db.transact("fill", |tx| {
        (0..rows).try_for_each(|n| tx.insert(&table, n.to_be_bytes(), [7; 500]))
    })
    .unwrap();
    db.close().unwrap();
    drop((db, table));
    let db = Options::new().cache_size(4 << 20).open(directory.path()).unwrap();
    let table = db.table("t").unwrap();
    threads(2).block_on(async {
        let mut tx = db.begin_async("scan");
        let mut keys = Vec::new();
        let mut scan = tx.scan(&table, ..).await.unwrap();
        while let Some((key, value)) = scan.next_ref().await.unwrap() {
            assert_eq!(value.len(), 500);
            keys.push(u32::from_be_bytes(key.try_into().unwrap()));
        }
        assert!(keys.iter().copied().eq(0..rows));
        let mut scan = tx.scan_descending(&table, ..).await.unwrap();
        while let Some((key, _)) = scan.next().await.unwrap() {
            assert_eq!(keys.pop().unwrap().to_be_bytes(), key[..]);
        }
        assert!(keys.is_empty());
    });
    let reads = db.stats().engine.pool.reads;
    assert!(reads > u64::from(rows) * 500 / 8192 * 3 / 2, "{reads} pages are read");
}

/// A disk in memory reads at once, in the poll.
#[test]
fn tasks_read_pages_of_a_disk_in_memory() {
    let db = Options::in_memory().cache_size(1 << 20).open("").unwrap();
    let table = db.table("t").unwrap();
    threads(2).block_on(async {
        for n in 0..4_000u32 {
            db.submit_async("fill", async |mut tx| {
                tx.insert(&table, n.to_be_bytes(), [7; 1_000]).await
            })
            .await
            .map(drop)
            .unwrap();
        }
        let mut tx = db.begin_async("read");
        for n in (0..4_000u32).rev() {
            assert!(tx.get(&table, n.to_be_bytes()).await.unwrap().is_some());
        }
        assert_eq!(tx.scan(&table, ..).await.unwrap().count().await.unwrap(), 4_000);
    });
    assert!(db.stats().engine.pool.reads > 400);
}

/// Workers take each job once, while one of them also reads the whole table, with escalation.
#[test]
fn workers_take_each_job_once_beside_a_reader_of_all() {
    const JOBS: u32 = 500;
    let options = Options::in_memory().cache_size(16 << 20).escalate_after(Some(20));
    let db = options.open("").unwrap();
    let table = db.table("jobs").unwrap();
    db.transact("fill", |tx| (0..JOBS).try_for_each(|n| tx.insert(&table, n.to_be_bytes(), "job")))
        .unwrap();
    let left = Arc::new(AtomicU32::new(JOBS));
    threads(2).block_on(async {
        let workers: Vec<_> = (0..8)
            .map(|n| tokio::spawn(work(db.clone(), table.clone(), left.clone(), n == 0)))
            .collect();
        let mut done = 0;
        for worker in workers {
            done += worker.await.unwrap().unwrap();
        }
        assert_eq!(done, JOBS);
    });
}

/// Takes jobs until none is left. Returns the number of jobs taken.
async fn work(db: Database, table: Table, left: Arc<AtomicU32>, reads: bool) -> Result<u32> {
    let mut done = 0;
    while left.load(Ordering::Relaxed) > 0 {
        let has_taken = db
            .transact_async("take", async |mut tx| {
                let mut scan = tx.scan_for_update(&table, ..).await?.skip_locked();
                let Some((job, _)) = scan.next().await? else { return Ok(false) };
                tokio::task::yield_now().await;
                tx.delete(&table, job).await?;
                Ok(true)
            })
            .await?;
        if has_taken {
            done += 1;
            left.fetch_sub(1, Ordering::Relaxed);
        }
        if reads {
            db.transact_async("all", async |mut tx| tx.scan(&table, ..).await?.count().await)
                .await?;
        }
        tokio::task::yield_now().await;
    }
    Ok(done)
}

/// A reader of an absent key waits for the gap that the key is in. An insertion divides the gap
/// meanwhile, so that the reader needs another lock than the one that it has waited for, and
/// releases that one.
#[test]
fn task_releases_a_lock_that_it_needs_no_more_after_the_wait() {
    let (db, table) = database();
    db.transact("fill", |tx| {
        tx.put(&table, "20", "")?;
        tx.put(&table, "30", "")
    })
    .unwrap();
    let mut writer = db.begin();
    assert_eq!(writer.get_for_update(&table, "22").unwrap(), None);
    let mut reader = db.begin_async("reader");
    let mut get = Box::pin(reader.get(&table, "25"));
    let mut context = Context::from_waker(Waker::noop());
    assert!(get.as_mut().poll(&mut context).is_pending(), "the gap is locked");
    writer.insert(&table, "23", "").unwrap();
    writer.commit().unwrap();
    assert!(matches!(get.as_mut().poll(&mut context), Poll::Ready(Ok(None))));
    drop(get);

    let mut other = db.begin();
    other.lock_wait(LockWait::Never);
    other.insert(&table, "21", "").unwrap();
    assert!(matches!(other.insert(&table, "24", ""), Err(Error::WouldBlock { .. })));
}
