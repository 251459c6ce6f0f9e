//! The counters of each type of transaction.

use std::sync::Barrier;

use clearway_sync::thread;

use clearway::{
    Database, Error, IoQueueChoice, IoQueueKind, Options, Table, Transaction, TypeStats,
};

fn with_table() -> (Database, Table) {
    let db = Options::in_memory().cache_size(8 << 20).open("test").unwrap();
    let table = db.table("t").unwrap();
    (db, table)
}

fn type_stats(db: &Database, name: &str) -> TypeStats {
    db.type_stats().into_iter().find(|kind| kind.name == name).unwrap_or_default()
}

#[test]
fn counters_are_kept_for_each_type_over_all_threads() {
    let (db, t) = with_table();
    thread::scope(|scope| {
        for thread in 0..4u8 {
            let (db, t) = (&db, &t);
            scope.spawn(move || {
                for n in 0..25u8 {
                    db.submit("put", |tx| tx.put(t, [thread, n], b"")).unwrap().wait().unwrap();
                }
            });
        }
    });
    db.begin().rollback().unwrap();
    assert_eq!(type_stats(&db, "put").commits, 100);
    assert_eq!(type_stats(&db, "").rollbacks, 1);
}

/// Runs two transactions that deadlock. The victim is ended with `end`, and the other commits.
fn deadlock(db: &Database, t: &Table, name: &'static str, end: impl Fn(Transaction) + Sync) {
    let both_have_one = Barrier::new(2);
    thread::scope(|scope| {
        for [first, second] in [[b"a", b"b"], [b"b", b"a"]] {
            let (both_have_one, end) = (&both_have_one, &end);
            scope.spawn(move || {
                let mut tx = db.begin_as(name);
                tx.put(t, first, b"").unwrap();
                both_have_one.wait();
                match tx.put(t, second, b"") {
                    Err(Error::Deadlock { .. }) => end(tx),
                    result => result.and_then(|_| tx.commit()).unwrap(),
                }
            });
        }
    });
}

#[test]
fn each_interactive_transaction_is_counted_once_however_it_ends() {
    let (db, t) = with_table();
    let begun = |name| {
        let mut tx = db.begin_as(name);
        tx.put(&t, b"k", b"").unwrap();
        tx
    };
    let counts = |name| {
        let TypeStats { commits, rollbacks, retries, panics, .. } = type_stats(&db, name);
        (commits, rollbacks, retries, panics)
    };
    drop(begun("drop"));
    drop(db.begin_as("drop"));
    assert_eq!(counts("drop"), (0, 2, 0, 0));
    begun("roll back").rollback().unwrap();
    assert_eq!(counts("roll back"), (0, 1, 0, 0));
    begun("commit").commit().unwrap();
    assert_eq!(counts("commit"), (1, 0, 0, 0));
    // The other transaction of the deadlock commits.
    deadlock(&db, &t, "lose, drop", drop);
    assert_eq!(counts("lose, drop"), (1, 1, 0, 0));
    deadlock(&db, &t, "lose, roll back", |tx| tx.rollback().unwrap());
    assert_eq!(counts("lose, roll back"), (1, 1, 0, 0));
    let ended = |tx: Transaction| assert!(matches!(tx.commit(), Err(Error::TransactionEnded)));
    deadlock(&db, &t, "lose, commit", ended);
    assert_eq!(counts("lose, commit"), (1, 1, 0, 0));
    let late = begun("late");
    assert!(matches!(db.close(), Err(Error::StillInUse { .. })));
    assert_eq!(counts("late"), (0, 0, 0, 0), "it has not ended");
    assert!(matches!(late.commit(), Err(Error::Closed)));
    assert_eq!(counts("late"), (0, 1, 0, 0));
}

#[test]
fn the_chosen_queue_reads_and_writes_pages() {
    let key = |n: u32| n.wrapping_mul(0x9e37_79b1).to_be_bytes();
    for choice in [IoQueueChoice::Auto, IoQueueChoice::Threads, IoQueueChoice::Uring] {
        let directory = tempfile::tempdir().unwrap();
        let opened = || {
            let options = Options::new().cache_size(1 << 20).io_queue(choice);
            options.open(directory.path())
        };
        let db = match opened() {
            Err(error) if choice == IoQueueChoice::Uring => {
                println!("SKIPPED: no io_uring: {error}");
                continue;
            }
            opened => opened.unwrap(),
        };
        let table = db.table("t").unwrap();
        for part in 0..8 {
            db.transact("fill", |tx| {
                let mut numbers = part * 1000..(part + 1) * 1000;
                numbers.try_for_each(|n| tx.put(&table, key(n), [7; 200]))
            })
            .unwrap();
        }
        let pool = db.stats().engine.pool;
        assert!(pool.queued_writes > 100, "the data exceed the cache: {pool:?}");
        match choice {
            IoQueueChoice::Threads => assert_eq!(pool.io_queue, IoQueueKind::Threads),
            IoQueueChoice::Uring => assert_eq!(pool.io_queue, IoQueueKind::Uring),
            _ => assert_ne!(pool.io_queue, IoQueueKind::AtOnce),
        }
        db.close().unwrap();
        let db = opened().unwrap();
        let table = db.open_table("t").unwrap();
        let count = db.transact("count", |tx| tx.scan(&table, ..).count()).unwrap();
        assert_eq!(count, 8_000);
        assert!(db.stats().engine.pool.queued_reads > 10, "it is read ahead");
    }
}
