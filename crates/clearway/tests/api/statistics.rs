//! The counters of each type of transaction.

use std::sync::Barrier;

use clearway_sync::thread;

use clearway::{Database, Error, Options, Table, Transaction, TypeStats};

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
