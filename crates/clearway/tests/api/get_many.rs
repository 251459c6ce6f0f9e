//! Reads of several keys that are known together: their pages are read at the same time, and the
//! answers and the locks are those of single reads.

use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use clearway::{Database, Error, LockWait, Options, Result, Staging, StagingStats, Table};
use clearway_disk::{Disk, MemoryDisk};
use clearway_sync::block_on;
use clearway_testkit::disk::{HeldReads, HeldReadsDisk};

const ROWS: u32 = 20_000;

/// Keys of rows in different leaves, none in the first.
fn far_apart(count: u32) -> Vec<[u8; 4]> {
    (0..count).map(|n| (n * (ROWS / count) + 300).to_be_bytes()).collect()
}

/// A database on the disk that `wrap` makes. All rows are on the disk only; the branches are in
/// memory.
fn cold<D: Disk + 'static>(
    cache: u64,
    policy: Staging,
    wrap: impl FnOnce(MemoryDisk) -> D,
) -> (Database, Table) {
    let options = || Options::new().cache_size(cache).staging(policy);
    let disk = MemoryDisk::new();
    let db = options().on_disk(Arc::new(disk.clone())).open("").unwrap();
    let table = db.table("t").unwrap();
    for rows in (0..ROWS).collect::<Vec<_>>().chunks(100) {
        let mut tx = db.begin();
        rows.iter().for_each(|row| tx.insert(&table, row.to_be_bytes(), [7; 300]).unwrap());
        tx.commit().unwrap();
    }
    db.close().unwrap();
    let db = options().on_disk(Arc::new(wrap(disk))).open("").unwrap();
    let table = db.table("t").unwrap();
    db.begin().get(&table, 0u32.to_be_bytes()).unwrap();
    (db, table)
}

fn stats(db: &Database, name: &str) -> StagingStats {
    let types = db.type_stats();
    types.into_iter().find(|stats| stats.name == name).map(|stats| stats.staging).unwrap()
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Driver {
    Thread,
    Task,
}

const DRIVERS: [Driver; 2] = [Driver::Thread, Driver::Task];

/// Reads `keys` in a closure of type `many`, after a prefetch or with `get_many`. Returns the
/// number of those that are present.
fn read(
    db: &Database,
    table: &Table,
    driver: Driver,
    keys: &[[u8; 4]],
    prefetches: bool,
) -> Result<usize> {
    match driver {
        Driver::Thread => db.transact("many", |tx| {
            if prefetches {
                tx.prefetch(table, keys)?;
            }
            Ok(tx.get_many(table, keys)?.iter().flatten().count())
        }),
        Driver::Task => block_on(db.transact_async("many", async |mut tx| {
            if prefetches {
                tx.prefetch(table, keys).await?;
            }
            Ok(tx.get_many(table, keys).await?.iter().flatten().count())
        })),
    }
}

#[test]
fn pages_of_keys_that_are_known_together_are_read_at_the_same_time() {
    let policies = [Staging::Conventional, Staging::TwoStage, Staging::Optimistic];
    for policy in policies {
        for (driver, prefetches) in DRIVERS.into_iter().flat_map(|of| [(of, false), (of, true)]) {
            let reads = HeldReads::new(1);
            let wrap = |disk| HeldReadsDisk::new(disk, reads.clone());
            let (db, table) = cold(16 << 20, policy, wrap);
            let keys = far_apart(32);
            // Brings the branches into memory, by other leaves.
            for key in &keys {
                let other = u32::from_be_bytes(*key) + 200;
                db.begin().get(&table, other.to_be_bytes()).unwrap();
            }
            let together = thread::scope(|scope| {
                let reader = scope.spawn(|| read(&db, &table, driver, &keys, prefetches));
                while reads.count() < keys.len() && !reader.is_finished() {
                    thread::yield_now();
                }
                let together = reads.count();
                while !reader.is_finished() {
                    reads.complete_all();
                    thread::yield_now();
                }
                assert_eq!(reader.join().unwrap().unwrap(), keys.len());
                together
            });
            assert_eq!(together, keys.len(), "{policy:?} {driver:?}");
            let counted = stats(&db, "many");
            let has_fetched = policy != Staging::Conventional;
            assert_eq!(counted.fetches, u64::from(has_fetched), "{policy:?} {driver:?}");
            assert_eq!((counted.mis_prefetches, counted.operates), (0, counted.fetches));
        }
    }
}

/// Keys that are present, absent, own, deleted, large, too large, and some of them twice.
fn keys_of_all_kinds() -> Vec<Vec<u8>> {
    let rows = [5u32, 19_000, 7, 7, 40_000, 9_000, 5, 12_000];
    let mut keys: Vec<Vec<u8>> = rows.iter().map(|row| row.to_be_bytes().to_vec()).collect();
    keys.extend(["own", "gone", "large", "none", "", "own"].map(|key| key.as_bytes().to_vec()));
    keys
}

#[test]
fn answers_are_those_of_single_reads_in_both_stages() {
    let policies = [Staging::Conventional, Staging::TwoStage, Staging::Optimistic];
    for (policy, driver) in policies.into_iter().flat_map(|of| DRIVERS.map(|driver| (of, driver))) {
        let (db, table) = cold(4 << 20, policy, |disk| disk);
        let large = vec![3; 100_000];
        let mut first = db.begin();
        first.put(&table, "large", &large).unwrap();
        first.put(&table, "gone", "soon").unwrap();
        first.commit().unwrap();
        let keys = keys_of_all_kinds();
        let runs = RefCell::new(Vec::new());
        match driver {
            Driver::Thread => db.transact("all", |tx| {
                tx.put(&table, "own", "mine")?;
                tx.delete(&table, "gone")?;
                tx.delete(&table, 7u32.to_be_bytes())?;
                tx.prefetch(&table, &keys)?;
                let many = tx.get_many(&table, &keys)?;
                let single: Result<Vec<_>> = keys.iter().map(|key| tx.get(&table, key)).collect();
                runs.borrow_mut().push((many, single?));
                assert_eq!(tx.get_many(&table, &[[0; 4]; 0])?, []);
                let too_large = tx.get_many(&table, &[vec![1], vec![1; 100_000]]);
                assert!(matches!(too_large, Err(Error::KeyTooLarge { .. })), "{too_large:?}");
                tx.prefetch(&table, &[[0; 4]; 0])
            }),
            Driver::Task => block_on(db.transact_async("all", async |mut tx| {
                tx.put(&table, "own", "mine").await?;
                tx.delete(&table, "gone").await?;
                tx.delete(&table, 7u32.to_be_bytes()).await?;
                tx.prefetch(&table, &keys).await?;
                let many = tx.get_many(&table, &keys).await?;
                let mut single = Vec::new();
                for key in &keys {
                    single.push(tx.get(&table, key).await?);
                }
                runs.borrow_mut().push((many, single));
                assert_eq!(tx.get_many(&table, &[[0; 4]; 0]).await?, []);
                let too_large = tx.get_many(&table, &[vec![1], vec![1; 100_000]]).await;
                assert!(matches!(too_large, Err(Error::KeyTooLarge { .. })), "{too_large:?}");
                tx.prefetch(&table, &[[0; 4]; 0]).await
            })),
        }
        .unwrap();
        let runs = runs.into_inner();
        assert_eq!(runs.len(), if policy == Staging::Conventional { 1 } else { 2 });
        for (many, single) in runs {
            assert_eq!(many, single, "{policy:?} {driver:?}");
            let lengths: Vec<_> = many.iter().map(|value| value.as_ref().map(Vec::len)).collect();
            let row = Some(300);
            let rows = [row, row, None, None, None, row, row, row];
            let others = [Some(4), None, Some(100_000), None, None, Some(4)];
            assert_eq!(lengths, [&rows[..], &others].concat());
        }
    }
}

#[test]
fn many_keys_are_locked_as_single_ones_and_a_prefetch_locks_nothing() {
    let (db, table) = cold(4 << 20, Staging::Conventional, |disk| disk);
    let keys = far_apart(40);
    let locked = |key: [u8; 4]| {
        let mut other = db.begin();
        other.lock_wait(LockWait::Never);
        match other.put(&table, key, "other") {
            Ok(_) => false,
            Err(Error::WouldBlock { .. }) => true,
            Err(error) => panic!("{error}"),
        }
    };
    let readable = |key: [u8; 4]| {
        let mut other = db.begin();
        other.lock_wait(LockWait::Never);
        other.get(&table, key).is_ok()
    };
    let mut tx = db.begin();
    tx.prefetch(&table, &keys).unwrap();
    let reads = db.stats().engine.pool.reads;
    assert!(!keys.iter().any(|key| locked(*key)));
    assert_eq!(db.stats().engine.pool.reads, reads, "they are in memory");
    tx.get_many(&table, &keys).unwrap();
    assert!(keys.iter().all(|key| locked(*key) && readable(*key)));
    drop(tx);
    let mut task = db.begin_async("task");
    block_on(task.prefetch(&table, &keys)).unwrap();
    assert!(!keys.iter().any(|key| locked(*key)));
    block_on(task.get_many(&table, &keys)).unwrap();
    assert!(keys.iter().all(|key| locked(*key) && readable(*key)));
}

#[test]
fn thousands_of_keys_are_read_through_a_small_cache_by_several_at_a_time() {
    let policies = [Staging::Conventional, Staging::TwoStage, Staging::Optimistic];
    for policy in policies {
        let (db, table) = cold(1 << 20, policy, |disk| disk);
        let keys: Vec<_> = (0..5000u32).map(|n| (n * 7919 % ROWS).to_be_bytes()).collect();
        thread::scope(|scope| {
            for driver in [Driver::Thread, Driver::Task, Driver::Thread, Driver::Task] {
                let (db, table, keys) = (&db, &table, &keys);
                scope.spawn(move || {
                    assert_eq!(read(db, table, driver, keys, true).unwrap(), keys.len());
                });
            }
        });
        assert_eq!(db.stats().engine.pool.fetched_pages, 0);
        assert_eq!(db.stats().engine.active, 0);
    }
}

#[test]
fn prefetch_fills_a_part_of_the_cache_only() {
    for driver in DRIVERS {
        let (db, table) = cold(1 << 20, Staging::Conventional, |disk| disk);
        let before = db.stats().engine.pool.reads;
        let keys = far_apart(500);
        let mut tx = db.begin_async("ahead");
        match driver {
            Driver::Thread => db.begin().prefetch(&table, &keys).unwrap(),
            Driver::Task => block_on(tx.prefetch(&table, &keys)).unwrap(),
        }
        let read = db.stats().engine.pool.reads - before;
        assert!((20..64).contains(&read), "{read} of 128 pages");
    }
}

#[test]
fn prefetch_for_a_table_that_was_dropped_or_a_database_that_was_closed_fails() {
    let (db, table) = cold(4 << 20, Staging::Conventional, |disk| disk);
    let gone = db.table("gone").unwrap();
    db.drop_table("gone").unwrap();
    let keys = ["a", "b"];
    let mut tx = db.begin();
    assert!(matches!(tx.prefetch(&gone, &keys), Err(Error::UnknownTable { .. })));
    assert!(matches!(tx.get_many(&gone, &keys), Err(Error::UnknownTable { .. })));
    drop(tx);
    let mut task = db.begin_async("task");
    assert!(matches!(block_on(task.prefetch(&gone, &keys)), Err(Error::UnknownTable { .. })));
    drop(task);
    db.close().unwrap();
    assert!(matches!(db.begin().prefetch(&table, &keys), Err(Error::Closed)));
    let mut late = db.begin_async("late");
    assert!(matches!(block_on(late.get_many(&table, &keys)), Err(Error::Closed)));
}

/// A task that is dropped while its pages are read leaves no pin.
#[test]
fn task_that_is_dropped_in_a_prefetch_keeps_nothing() {
    use clearway_testkit::polled_once;
    for policy in [Staging::Conventional, Staging::TwoStage, Staging::Optimistic] {
        let reads = HeldReads::new(1);
        let wrap = |disk| HeldReadsDisk::new(disk, reads.clone());
        let (db, table) = cold(16 << 20, policy, wrap);
        let keys = far_apart(20);
        let many = db.transact_async("many", async |mut tx| tx.get_many(&table, &keys).await);
        assert!(block_on(polled_once(many)).is_none());
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    reads.complete_all();
                    thread::yield_now();
                }
            });
            let pool = db.stats().engine.pool;
            assert_eq!((db.stats().engine.active, pool.fetched_pages), (0, 0), "{policy:?}");
            let rows = db.begin().get_many(&table, &keys).unwrap();
            assert_eq!(rows.iter().flatten().count(), keys.len());
            is_over.store(true, Ordering::Relaxed);
        });
    }
}
