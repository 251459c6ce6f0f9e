//! Closing while other threads work: a transaction that ends during a close is there completely or
//! not at all, the directory stays locked until no thread can write to it any more, and each caller
//! gets the result that the next opening confirms.

use std::{collections::BTreeSet, io::ErrorKind, sync::Arc, thread, time::Duration};

use clearway::{Database, Error, LentTransaction, Options, Table};
use clearway_disk::{Disk, MemoryDisk};
use clearway_testkit::disk::{
    DelayedDisk, Faults, FaultyDisk, HeldWrites, HeldWritesDisk, Lasting, Operation,
};

/// Options for a database on `disk`, whose contents outlive the database.
fn options(disk: &MemoryDisk) -> Options {
    Options::new().on_disk(Arc::new(disk.clone())).cache_size(8 << 20).log_capacity(8 << 20)
}

/// As [`options`], on a disk whose log takes `millis` for each flush.
fn slow(disk: &MemoryDisk, millis: u64) -> Options {
    let delayed = DelayedDisk::new(disk.clone(), Duration::from_millis(millis));
    options(disk).on_disk(Arc::new(delayed))
}

fn start(options: Options) -> (Database, Table) {
    let db = options.open("x").unwrap();
    let table = db.table("t").unwrap();
    (db, table)
}

/// Closes on another thread, and returns when the close has begun.
fn close_meanwhile(db: &Database) -> thread::JoinHandle<Result<(), Error>> {
    let closing = db.clone();
    let closer = thread::spawn(move || closing.close());
    while db.health().is_ok() {
        thread::yield_now();
    }
    closer
}

fn entries(disk: &MemoryDisk) -> Vec<(Vec<u8>, Vec<u8>)> {
    let (db, table) = start(options(disk));
    db.verify().unwrap();
    db.transact("read", |tx| tx.scan(&table, ..).collect::<Result<Vec<_>, _>>()).unwrap()
}

#[test]
fn what_is_dropped_while_closing_is_undone_by_the_next_opening() {
    let disk = MemoryDisk::new();
    let (db, table) = start(slow(&disk, 200));
    db.transact("put", |tx| tx.put(&table, b"a", b"1")).unwrap();
    let mut tx = db.begin();
    tx.put(&table, b"a", b"uncommitted").unwrap();
    tx.put(&table, b"b", b"uncommitted").unwrap();
    let closer = close_meanwhile(&db);
    drop(tx);
    closer.join().unwrap().unwrap();
    drop((table, db));
    assert_eq!(entries(&disk), [(b"a".to_vec(), b"1".to_vec())]);
}

#[test]
fn what_fails_to_commit_while_closing_is_undone_by_the_next_opening() {
    let disk = MemoryDisk::new();
    let (db, table) = start(slow(&disk, 200));
    db.transact("between", |tx| tx.put(&table, b"m", b"1")).unwrap();
    let (mut committed, mut rolled_back) = (db.begin(), db.begin());
    committed.put(&table, b"c", b"half").unwrap();
    rolled_back.put(&table, b"r", b"half").unwrap();
    let closer = close_meanwhile(&db);
    assert!(matches!(committed.commit(), Err(Error::Closed)));
    assert!(matches!(rolled_back.rollback(), Err(Error::Closed)));
    closer.join().unwrap().unwrap();
    drop((table, db));
    assert_eq!(entries(&disk), [(b"m".to_vec(), b"1".to_vec())]);
}

#[test]
fn no_round_of_transactions_that_end_during_a_close_leaves_halves() {
    let disk = MemoryDisk::new();
    let mut acknowledged = Vec::new();
    for round in 0..40u64 {
        let (db, table) = start(slow(&disk, round % 3));
        let workers: Vec<_> = (0..4u64)
            .map(|worker| {
                let (db, table) = (db.clone(), table.clone());
                thread::spawn(move || work(&db, &table, round << 8 | worker))
            })
            .collect();
        thread::sleep(Duration::from_micros(round * 331 % 5000));
        db.close().unwrap();
        for worker in workers {
            acknowledged.extend(worker.join().unwrap());
        }
        drop((table, db));
        let found: BTreeSet<_> = entries(&disk).into_iter().map(|(key, _)| key).collect();
        for key in &acknowledged {
            assert!(found.contains(key), "round {round}: {key:?} was acknowledged");
        }
        for key in &found {
            let mut other = key.clone();
            *other.last_mut().unwrap() ^= 1;
            assert!(found.contains(&other), "round {round}: {key:?} is half a transaction");
            assert_ne!(key[0], b'r', "round {round}: {key:?} was rolled back");
        }
        acknowledged = found.into_iter().collect();
    }
}

/// Commits, rolls back and drops pairs of puts until the database is closed. Returns the
/// acknowledged keys.
fn work(db: &Database, table: &Table, seed: u64) -> Vec<Vec<u8>> {
    let mut acknowledged = Vec::new();
    for n in 0u64.. {
        let kind = [b'c', b'r', b'r', b'p'][n as usize % 4];
        let keys = [0, 1].map(|half| {
            let number = (seed << 32 | n << 1 | half).to_be_bytes();
            [&[kind][..], &number].concat()
        });
        let mut tx = db.begin();
        let put = keys.iter().try_for_each(|key| tx.put(table, key, b"v").map(drop));
        let ended = match (put, n % 4) {
            (Err(error), _) => Err(error),
            (Ok(()), 0) => tx.commit(),
            (Ok(()), 1) => tx.rollback(),
            (Ok(()), 2) => {
                drop(tx);
                continue;
            }
            (Ok(()), _) => tx.commit_pipelined().and_then(|pending| pending.wait()),
        };
        match ended {
            Ok(()) if kind != b'r' => acknowledged.extend(keys),
            Ok(()) => {}
            Err(Error::Closed) => return acknowledged,
            Err(error) => panic!("{error}"),
        }
    }
    unreachable!("the database is closed some time")
}

#[test]
fn the_directory_stays_locked_until_close_has_finished() {
    let disk = MemoryDisk::new();
    let (db, table) = start(slow(&disk, 200));
    let pending = db.submit("put", |tx| tx.put(&table, b"a", b"1")).unwrap();
    let idle = db.begin();
    let closer = close_meanwhile(&db);
    // It has begun to write by then.
    thread::sleep(Duration::from_millis(60));
    drop(idle);
    drop(db.begin());
    let second = options(&disk).open("x");
    assert!(!closer.is_finished(), "the test was too slow");
    assert!(matches!(second, Err(Error::AlreadyOpen { .. })), "two engines on one directory");
    closer.join().unwrap().unwrap();
    pending.wait().unwrap();
    options(&disk).open("x").unwrap();
}

#[test]
fn the_directory_stays_locked_while_a_transaction_is_open() {
    let disk = MemoryDisk::new();
    let (db, table) = start(options(&disk));
    let mut tx = db.begin();
    tx.put(&table, b"a", b"1").unwrap();
    let refused = db.close().unwrap_err();
    assert!(matches!(refused, Error::StillInUse { transactions: 1, others: 0, .. }), "{refused}");
    let expected = "stays locked until 1 open transactions and 0 other calls have ended";
    assert!(refused.to_string().ends_with(expected), "{refused}");
    assert!(matches!(db.health(), Err(Error::Closed)), "it is closed all the same");
    let second = options(&disk).open("x").unwrap_err();
    assert!(matches!(second, Error::AlreadyOpen { .. }));
    assert!(second.to_string().contains("that began before has not ended"), "{second}");
    drop(tx);
    db.close().unwrap();
    assert_eq!(entries(&disk), []);
}

#[test]
fn a_close_waits_for_transactions_that_are_about_to_end() {
    let disk = MemoryDisk::new();
    let (db, table) = start(options(&disk));
    let mut tx = db.begin();
    tx.put(&table, b"a", b"1").unwrap();
    let closer = close_meanwhile(&db);
    thread::sleep(Duration::from_millis(100));
    assert!(!closer.is_finished(), "it has not waited");
    drop(tx);
    closer.join().unwrap().unwrap();
    options(&disk).open("x").unwrap();
}

#[test]
fn dropping_the_last_handle_does_not_wait() {
    let disk = MemoryDisk::new();
    let (db, table) = start(options(&disk));
    let mut tx = db.begin();
    tx.put(&table, b"a", b"1").unwrap();
    let begun = std::time::Instant::now();
    drop((table, db));
    assert!(begun.elapsed() < Duration::from_millis(900));
    assert!(matches!(options(&disk).open("x"), Err(Error::AlreadyOpen { .. })));
    drop(tx);
    options(&disk).open("x").unwrap();
}

#[test]
fn a_second_close_waits_for_the_first_and_gives_its_result() {
    let (disk, faults) = (MemoryDisk::new(), Faults::new());
    let failing = FaultyDisk::new(disk, faults.clone());
    let (db, _) = start(Options::new().on_disk(Arc::new(failing)).cache_size(8 << 20));
    faults.watch(|event| {
        let is_log = event.operation == Operation::Sync && event.name.starts_with("log/");
        is_log.then(|| {
            thread::sleep(Duration::from_millis(200));
            ErrorKind::Other
        })
    });
    let first = close_meanwhile(&db);
    let second = db.close();
    assert!(first.is_finished() || second.is_err(), "the second did not wait");
    assert!(first.join().unwrap().is_err());
    assert!(second.is_err(), "a close that failed is not reported as good");
}

#[test]
fn reading_after_a_close_is_closed() {
    let disk = MemoryDisk::new();
    let (db, table) = start(options(&disk));
    db.transact("put", |tx| tx.put(&table, b"a", b"1")).unwrap();
    let mut tx = db.begin();
    tx.get(&table, b"a").unwrap();
    assert!(matches!(db.close(), Err(Error::StillInUse { transactions: 1, .. })));
    assert!(matches!(tx.get(&table, b"a"), Err(Error::Closed)));
    assert!(matches!(tx.get_for_update(&table, b"a"), Err(Error::Closed)));
    assert!(matches!(tx.rollback(), Ok(())));
    assert!(matches!(db.begin().get(&table, b"a"), Err(Error::Closed)));
}

#[test]
fn an_error_reveals_nothing_that_a_close_has_left_uncommitted() {
    let disk = MemoryDisk::new();
    let (db, table) = start(options(&disk));
    let mut writer = db.begin();
    writer.put(&table, b"a", b"uncommitted").unwrap();
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            db.transact("reader", |tx| -> Result<(), Error> {
                let read = tx.get(&table, b"a")?;
                tx.abort(format!("it has read {read:?}"))
            })
        });
        while db.stats().engine.lock.waiting == 0 {
            thread::yield_now();
        }
        assert!(matches!(db.close(), Err(Error::StillInUse { transactions: 2, .. })));
        assert!(matches!(writer.commit(), Err(Error::Closed)));
        let result = reader.join().unwrap();
        assert!(matches!(result, Err(Error::Closed)), "{result:?}");
    });
}

#[test]
fn frees_that_failed_do_not_keep_the_directory() {
    for (background, forever) in [(false, false), (false, true), (true, false), (true, true)] {
        let small = |disk: Arc<dyn Disk>| {
            let options = Options::new().on_disk(disk).cache_size(1 << 20).log_capacity(32 << 20);
            options.background(background)
        };
        let (disk, faults) = (MemoryDisk::new(), Faults::new());
        let (db, table) = start(small(Arc::new(FaultyDisk::new(disk.clone(), faults.clone()))));
        db.transact("fill", |tx| tx.put(&table, b"big", vec![7; 3 << 20])).unwrap();
        for n in 0..300u32 {
            db.transact("fill", |tx| tx.put(&table, n.to_be_bytes(), [7; 4000])).unwrap();
        }
        db.checkpoint().unwrap();
        let mut tx = db.begin();
        tx.delete(&table, b"big").unwrap();
        faults.fail(Operation::Read, "data", 1, ErrorKind::Interrupted, Lasting::Forever);
        tx.commit().unwrap();
        assert_eq!(db.stats().engine.active, 1, "the frees did not fail");
        if !forever {
            faults.clear();
        }
        db.close().unwrap();
        let again = small(Arc::new(disk.clone())).open("x").unwrap();
        assert_eq!(again.recovery().frees_resumed, u64::from(forever));
        again.verify().unwrap();
    }
}

#[test]
fn an_opening_that_fails_leaves_nothing_behind() {
    let mut kept = Vec::new();
    for recovers in [false, true] {
        for operation in [Operation::Write, Operation::Sync, Operation::Allocate, Operation::Open] {
            for nth in 1..60 {
                let (disk, faults) = (MemoryDisk::new(), Faults::new());
                if recovers {
                    let (db, table) = start(options(&disk));
                    db.transact("put", |tx| tx.put(&table, b"a", b"1")).unwrap();
                    let mut open = db.begin();
                    open.put(&table, b"b", b"1").unwrap();
                    // Close without waiting for the transaction.
                    drop((table, db));
                }
                faults.fail(operation, "", nth, ErrorKind::StorageFull, Lasting::Once);
                let failing = Arc::new(FaultyDisk::new(disk, faults));
                let options = Options::new().on_disk(failing.clone()).cache_size(1 << 20);
                let opened = options.log_capacity(8 << 20).open("x");
                let failed = opened.is_err();
                drop(opened);
                if failed && Arc::strong_count(&failing) > 1 {
                    kept.push((recovers, operation, nth));
                }
                if !failed {
                    break;
                }
            }
        }
    }
    assert!(kept.is_empty(), "the engine is still there: {kept:?}");
}

#[test]
fn one_transaction_too_many_is_an_error_and_breaks_nothing() {
    let disk = MemoryDisk::new();
    let (db, table) = start(options(&disk));
    let open: Vec<_> = (0..65_600).map(|_| db.begin()).collect();
    let mut refused = db.begin();
    let error = refused.put(&table, b"k", b"v").unwrap_err();
    assert!(matches!(error, Error::TooManyTransactions { .. }), "{error}");
    assert!(matches!(refused.commit(), Err(Error::TooManyTransactions { .. })));
    let refused = db.transact("put", |tx| tx.put(&table, b"k", b"v"));
    assert!(matches!(refused, Err(Error::TooManyTransactions { .. })), "{refused:?}");
    let active = db.stats().engine.active;
    assert!(active <= 65_000, "{active}");
    // The engine's own work goes on, and leaves nothing that a user could take from it.
    for n in 0..50 {
        db.create_table(&format!("table {n}")).unwrap();
        db.checkpoint().unwrap();
        let mut refused = db.begin();
        let error = refused.put(&table, b"k", b"v").unwrap_err();
        assert!(matches!(error, Error::TooManyTransactions { .. }), "{error}");
    }
    assert!(db.stats().engine.active <= active);
    drop(open);
    assert_eq!(db.stats().engine.active, 0);
    db.transact("put", |tx| tx.put(&table, b"k", b"v")).unwrap();
    db.close().unwrap();
}

/// A transaction of `spawn`, which a close runs first, needs room in the cache. The disk never
/// completes the write that makes it.
#[test]
fn close_does_not_wait_for_a_write_for_ever() {
    let (disk, writes) = (MemoryDisk::new(), HeldWrites::new());
    let held = HeldWritesDisk::new(disk.clone(), writes.clone());
    let small = options(&disk).on_disk(Arc::new(held)).cache_size(512 << 10);
    // The transaction itself waits for its page, and so for the write, as long as for a lock.
    let small = small.lock_wait_limit(Some(Duration::from_secs(3_600)));
    let limit = Duration::from_millis(100);
    let (db, table) = start(small.engine(|engine| engine.pool.close_wait = limit));
    db.transact("put", |tx| tx.put(&table, b"a", b"1")).unwrap();
    writes.hold();
    let filled = table.clone();
    let spawned = db.spawn("fill", async move |mut tx: LentTransaction| {
        for n in 0..100_000u32 {
            tx.put(&filled, n.to_be_bytes(), [7; 100]).await?;
        }
        Ok(())
    });
    writes.wait();
    let closed = db.close().unwrap_err();
    assert!(matches!(closed, Error::WriteTimeout { waited_us: 100_000, .. }), "{closed}");
    let text = closed.to_string();
    assert!(text.contains("check the device; the directory stays locked until"), "{text}");
    assert!(spawned.unwrap().wait().is_err());
    drop((table, db));
    assert!(matches!(options(&disk).open("x"), Err(Error::AlreadyOpen { .. })));
    writes.let_go();
    assert_eq!(entries(&disk), [(b"a".to_vec(), b"1".to_vec())]);
}
