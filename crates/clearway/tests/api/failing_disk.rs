//! A disk that fails: only durable transactions are acknowledged, no acknowledged one is lost, and
//! every failure is reported with its type.

use std::{
    future::{Future, poll_fn},
    io::ErrorKind,
    sync::Arc,
    task::Poll,
    thread,
};

use clearway::{Database, Error, LentTransaction, Options};
use clearway_disk::MemoryDisk;
use clearway_testkit::disk::{Faults, FaultyDisk, Lasting, Operation};

/// Returns a database on a disk that fails as planned, and the options to open what the disk holds.
fn faulty() -> (Database, Faults, Options) {
    let (disk, faults) = (MemoryDisk::new(), Faults::new());
    let small = |options: Options| options.cache_size(4 << 20).log_capacity(8 << 20);
    let failing = FaultyDisk::new(disk.clone(), faults.clone());
    let db = small(Options::new().on_disk(Arc::new(failing))).open("faulty").unwrap();
    (db, faults, small(Options::new().on_disk(Arc::new(disk))))
}

#[test]
fn after_a_failed_sync_nothing_is_acknowledged_and_reopening_recovers() {
    let (db, faults, reopen) = faulty();
    let t = db.table("t").unwrap();
    db.transact("before", |tx| tx.put(&t, b"before", b"1")).unwrap();

    faults.fail(Operation::Sync, "log/", 1, ErrorKind::Other, Lasting::Forever);
    let failed = db.submit("during", |tx| tx.put(&t, b"during", b"1")).unwrap();
    assert!(matches!(failed.wait(), Err(Error::OutcomeUnknown { .. })));
    let refused = db.transact("after", |tx| tx.put(&t, b"after", b"1"));
    assert!(
        matches!(refused, Err(Error::Poisoned { .. } | Error::OutcomeUnknown { .. })),
        "{refused:?}"
    );
    // The disk works again, but the engine stays poisoned until it is reopened.
    faults.clear();
    assert!(matches!(db.health(), Err(Error::Poisoned { .. })));
    let refused = db.transact("after", |tx| tx.put(&t, b"after", b"1"));
    assert!(matches!(refused, Err(Error::Poisoned { .. })), "{refused:?}");
    drop((db, t));

    let db = reopen.open("reopened").unwrap();
    let t = db.open_table("t").unwrap();
    let read = |key: &'static [u8]| db.transact("read", |tx| tx.get(&t, key)).unwrap();
    assert!(read(b"before").is_some());
    assert!(read(b"after").is_none());
    db.verify().unwrap();
}

/// The cache is full of changes whose log records are not durable: an operation that needs room
/// there waits for the log, which fails. It has requested no commit, so nothing is unknown.
#[test]
fn outcome_of_an_operation_that_commits_nothing_is_never_unknown() {
    for _ in 0..10 {
        let (disk, faults) = (MemoryDisk::new(), Faults::new());
        let disk = Arc::new(FaultyDisk::new(disk, faults.clone()));
        let db = Options::new().on_disk(disk).cache_size(512 << 10).open("full cache").unwrap();
        let t = db.table("t").unwrap();
        faults.fail(Operation::Sync, "log/", 1, ErrorKind::Other, Lasting::Forever);
        let mut tx = db.begin();
        let error = (0..4_000u32).find_map(|n| tx.put(&t, n.to_be_bytes(), [7; 1_000]).err());
        assert!(matches!(error, Some(Error::Poisoned { .. })), "{error:?}");
        let backup = tempfile::tempdir().unwrap();
        let error = db.backup(backup.path()).unwrap_err();
        assert!(matches!(error, Error::Poisoned { .. }), "{error:?}");
    }
}

#[test]
fn a_reader_of_undurable_work_is_not_acknowledged_when_the_log_fails() {
    let (db, faults, _) = faulty();
    let t = db.table("t").unwrap();
    faults.fail(Operation::Sync, "log/", 1, ErrorKind::Other, Lasting::Forever);
    let mut writer = db.begin();
    writer.put(&t, b"k", b"v").unwrap();
    let mut reader = db.begin();
    // The writer releases its locks at its commit, before the log fails.
    let writer = writer.commit_pipelined().unwrap();
    match reader.get(&t, b"k") {
        Ok(value) => {
            assert_eq!(value.as_deref(), Some(&b"v"[..]));
            let reader = reader.commit_pipelined();
            let outcome = reader.and_then(|mut pending| {
                loop {
                    if let Some(outcome) = pending.try_take() {
                        break outcome;
                    }
                    thread::yield_now();
                }
            });
            assert!(matches!(outcome, Err(Error::Poisoned { .. })), "{outcome:?}");
        }
        // The log failed before the read.
        Err(error) => assert!(matches!(error, Error::Poisoned { .. }), "{error:?}"),
    }
    assert!(matches!(writer.wait(), Err(Error::OutcomeUnknown { .. })));
}

/// Waits until `count` transactions wait for locks.
fn until_waiting(db: &Database, count: u64) {
    while db.stats().engine.lock.waiting != count {
        thread::yield_now();
    }
}

/// A transaction that the stopped engine can neither commit nor undo releases its locks, and others
/// may read what it has written. Neither an error nor a panic of theirs reveals that.
#[test]
fn errors_of_closures_reveal_nothing_that_a_stopped_transaction_has_written() {
    let (db, faults, _) = faulty();
    let t = db.table("t").unwrap();
    let mut writer = db.begin();
    writer.put(&t, b"k", b"uncommitted").unwrap();
    thread::scope(|scope| {
        // It reads `k` and then closes a cycle with `other`, which holds `b`.
        let victim = scope.spawn(|| {
            db.transact("victim", |tx| -> clearway::Result<()> {
                let read = tx.get_for_update(&t, b"k")?;
                let lost = tx.get_for_update(&t, b"b");
                panic!("it has read {read:?}, then {lost:?}");
            })
        });
        until_waiting(&db, 1);
        let other = scope.spawn(|| {
            let mut other = db.begin();
            other.get_for_update(&t, b"b").unwrap();
            let _ = other.get_for_update(&t, b"k");
        });
        until_waiting(&db, 2);
        let reader = scope.spawn(|| {
            db.transact("reader", |tx| -> clearway::Result<()> {
                let read = tx.get(&t, b"k")?;
                tx.abort(format!("it has read {read:?}"))
            })
        });
        until_waiting(&db, 3);
        let task = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let body = |mut tx: LentTransaction| {
                let t = t.clone();
                async move {
                    let savepoint = tx.savepoint().await?;
                    let read = tx.get(&t, b"k").await?;
                    // Refused, or a thread of the engine has the state when the closure returns.
                    let mut undo = Box::pin(tx.rollback_to(&savepoint));
                    let _ = poll_fn(|context| Poll::Ready(undo.as_mut().poll(context))).await;
                    drop(undo);
                    tx.abort::<()>(format!("it has read {read:?}"))
                }
            };
            runtime.block_on(db.transact_async("task", body))
        });
        until_waiting(&db, 4);
        faults.fail(Operation::Sync, "log/", 1, ErrorKind::Other, Lasting::Forever);
        let lost = db.transact("stop", |tx| tx.put(&t, b"x", b""));
        assert!(matches!(lost, Err(Error::OutcomeUnknown { .. })), "{lost:?}");
        assert!(matches!(writer.commit(), Err(Error::Poisoned { .. })));
        for result in [victim, reader, task].map(|one| one.join().unwrap()) {
            assert!(matches!(result, Err(Error::Poisoned { .. })), "{result:?}");
        }
        other.join().unwrap();
    });
}

#[test]
fn a_full_disk_is_reported_and_nothing_is_lost() {
    let (db, faults, reopen) = faulty();
    let t = db.table("t").unwrap();
    faults.fail(Operation::Allocate, "data", 1, ErrorKind::StorageFull, Lasting::Forever);
    let value = vec![7; 100_000];
    let mut kept = 0u32;
    let refused = loop {
        let result = db.transact("fill", |tx| tx.insert(&t, kept.to_be_bytes(), &value));
        match result {
            Ok(()) => kept += 1,
            Err(error) => break error,
        }
        assert!(kept < 10_000, "the disk never filled");
    };
    assert!(matches!(refused, Error::DiskFull { .. }), "{refused:?}");
    // Writes that fit still succeed, and all writes do once there is room.
    assert!(db.transact("read", |tx| tx.get(&t, 0u32.to_be_bytes())).is_ok());
    faults.clear();
    db.transact("fill", |tx| tx.insert(&t, kept.to_be_bytes(), &value)).unwrap();
    db.verify().unwrap();
    db.close().unwrap();
    drop((db, t));

    let db = reopen.open("reopened").unwrap();
    let t = db.open_table("t").unwrap();
    let found = db.transact("count", |tx| {
        tx.scan(&t, ..).try_fold(0, |n, row| Ok(n + u32::from(row?.1 == value)))
    });
    assert_eq!(found.unwrap(), kept + 1);
}

#[test]
fn a_drop_that_failed_is_said_and_taken_up_by_the_next_use_of_the_name() {
    let (db, faults, reopen) = faulty();
    let t = db.table("t").unwrap();
    for n in 0..1000u32 {
        db.submit("fill", |tx| tx.put(&t, n.to_be_bytes(), [7; 5000])).map(drop).unwrap();
    }
    db.checkpoint().unwrap();
    // Of the 8 MB, the cache holds 4: freeing them needs reads, and soon no read succeeds. The
    // first ones may be of the catalogue.
    faults.fail(Operation::Read, "data", 8, ErrorKind::Interrupted, Lasting::Forever);
    let unfinished = |result: Result<(), Error>| {
        assert!(
            matches!(&result, Err(Error::DropUnfinished { name, cause })
                if name == "t" && matches!(**cause, Error::Io { .. })),
            "{result:?}"
        );
    };
    unfinished(db.drop_table("t"));
    assert!(db.tables().is_empty());
    assert!(matches!(db.open_table("t"), Err(Error::UnknownTable { .. })));
    unfinished(db.drop_table("t"));
    unfinished(db.create_table("t").map(drop));
    unfinished(db.table("t").map(drop));
    assert_eq!(db.stats().engine.drops_unfinished, 1);
    faults.clear();
    db.close().unwrap();
    drop(db);
    let db = reopen.open("faulty").unwrap();
    assert_eq!((db.recovery().drops_resumed, db.stats().engine.drops_unfinished), (1, 0));
    assert!(db.recovery().drops_unfinished.is_empty());
    let again = db.table("t").unwrap();
    assert_eq!(db.transact("count", |tx| tx.scan(&again, ..).count()).unwrap(), 0);
    assert_eq!(db.verify().unwrap().unreachable_pages, 0);
}
