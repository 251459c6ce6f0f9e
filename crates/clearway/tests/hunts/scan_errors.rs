//! Errors of scans: none is lost when an adaptor swallows it.

use std::time::Duration;

use clearway::{Database, Error, LockWait, Options, Result, Table, Transaction};
use clearway_testkit::disk::DelayedDisk;

/// Opens a database with three rows, of which another transaction has locked the second.
fn rows() -> (Database, Table, Transaction) {
    let disk = DelayedDisk::in_memory(Duration::from_millis(1));
    let db = Options::new().on_disk(disk).cache_size(8 << 20).open("scans").unwrap();
    let t = db.table("t").unwrap();
    let fill = |tx: &mut Transaction| (0..3u8).try_for_each(|n| tx.insert(&t, [n], "row"));
    db.transact("fill", fill).unwrap();
    let mut other = db.begin();
    other.put(&t, [1], "taken").unwrap();
    (db, t, other)
}

/// Runs a closure that waits for no lock.
fn run<T>(db: &Database, mut body: impl FnMut(&mut Transaction) -> Result<T>) -> Result<T> {
    db.transact("scan", |tx| {
        tx.lock_wait(LockWait::Never);
        body(tx)
    })
}

#[test]
fn a_scan_counts_and_finds_or_returns_its_error() {
    let (db, t, other) = rows();
    let refused = |result: Result<()>| matches!(result, Err(Error::WouldBlock { .. }));
    assert!(refused(run(&db, |tx| tx.scan(&t, ..).count().map(drop))));
    assert!(refused(run(&db, |tx| tx.scan(&t, ..).last().map(drop))));
    assert!(refused(run(&db, |tx| tx.scan(&t, ..).nth(1).map(drop))));
    // Entries before the error are returned without it.
    assert!(run(&db, |tx| tx.scan(&t, ..).nth(0)).unwrap().is_some());
    assert_eq!(run(&db, |tx| tx.scan(&t, [2]..).count()).unwrap(), 1);
    drop(other);
    assert_eq!(run(&db, |tx| tx.scan(&t, ..).count()).unwrap(), 3);
    assert_eq!(run(&db, |tx| tx.scan(&t, ..0u8.to_be_bytes()).count()).unwrap(), 0);
    let row = |n: u8| Some((vec![n], b"row".to_vec()));
    assert_eq!(run(&db, |tx| tx.scan(&t, ..).last()).unwrap(), row(2));
    assert_eq!(run(&db, |tx| tx.scan_descending(&t, ..).last()).unwrap(), row(0));
    assert_eq!(run(&db, |tx| tx.scan(&t, [9]..).last()).unwrap(), None);
    let found = run(&db, |tx| {
        let mut scan = tx.scan(&t, ..);
        Ok([scan.nth(0)?, scan.nth(1)?, scan.nth(0)?])
    });
    assert_eq!(found.unwrap(), [row(0), row(2), None]);
}

/// The ways in which the iterator's errors are swallowed.
#[test]
fn an_error_that_an_adaptor_swallows_is_the_commits() {
    let (db, t, _other) = rows();
    type Body = fn(&mut Transaction, &Table) -> usize;
    let bodies: [(&str, Body); 6] = [
        ("count", |tx, t| tx.scan(t, ..).by_ref().map(|_| ()).count()),
        ("flatten", |tx, t| tx.scan(t, ..).flatten().count()),
        ("filter_map", |tx, t| tx.scan(t, ..).filter_map(Result::ok).count()),
        ("skip", |tx, t| tx.scan(t, ..).skip(2).count()),
        ("loop", |tx, t| {
            let mut found = 0;
            for entry in tx.scan(t, ..) {
                let Ok(_) = entry else { break };
                found += 1;
            }
            found
        }),
        ("descending", |tx, t| tx.scan_descending(t, ..).flatten().count()),
    ];
    for (what, body) in bodies {
        let result = run(&db, |tx| {
            tx.put(&t, [7], "half")?;
            Ok(body(tx, &t))
        });
        assert!(matches!(result, Err(Error::WouldBlock { .. })), "{what}: {result:?}");
        for is_pipelined in [false, true] {
            let mut tx = db.begin();
            tx.lock_wait(LockWait::Never);
            tx.put(&t, [7], "half").unwrap();
            body(&mut tx, &t);
            let ended = match is_pipelined {
                false => tx.commit(),
                true => tx.commit_pipelined().and_then(clearway::Pending::wait),
            };
            assert!(matches!(ended, Err(Error::WouldBlock { .. })), "{what}: {ended:?}");
        }
        assert_eq!(run(&db, |tx| tx.get(&t, [7])).unwrap(), None, "{what}: it took place");
    }
}

/// An error that a method returns does not mark the transaction: the program has seen it.
#[test]
fn an_error_that_is_returned_marks_nothing() {
    let (db, t, _other) = rows();
    run(&db, |tx| {
        assert!(tx.scan(&t, ..).count().is_err());
        let mut scan = tx.scan(&t, ..);
        while let Ok(Some(_)) = scan.next_ref() {}
        assert!(tx.get(&t, [1]).is_err());
        tx.put(&t, [8], "v")
    })
    .unwrap();
}

#[test]
fn an_error_that_is_acknowledged_or_rolled_back_is_over() {
    let (db, t, _other) = rows();
    let fail = |tx: &mut Transaction| tx.scan(&t, ..).flatten().count();
    run(&db, |tx| {
        assert!(tx.acknowledge_error().is_none());
        fail(tx);
        assert!(matches!(tx.acknowledge_error(), Some(Error::WouldBlock { .. })));
        assert!(tx.acknowledge_error().is_none());
        tx.put(&t, [8], "v")
    })
    .unwrap();
    run(&db, |tx| {
        let before = tx.savepoint()?;
        fail(tx);
        tx.rollback_to(&before)
    })
    .unwrap();
    // A rollback to a savepoint after the error does not clear it. A rollback to one before the
    // error does, whatever came later.
    let result = run(&db, |tx| {
        let first = tx.savepoint()?;
        fail(tx);
        let second = tx.savepoint()?;
        fail(tx);
        tx.rollback_to(&second)?;
        if tx.get(&t, [8])?.is_none() {
            tx.rollback_to(&first)?;
        }
        Ok(())
    });
    assert!(matches!(result, Err(Error::WouldBlock { .. })), "{result:?}");
    run(&db, |tx| {
        let first = tx.savepoint()?;
        fail(tx);
        tx.savepoint()?;
        fail(tx);
        tx.rollback_to(&first)
    })
    .unwrap();
}

/// The closure's own error takes precedence, and a lost deadlock takes precedence over both.
#[test]
fn an_error_of_a_scan_hides_no_other() {
    let (db, t, _other) = rows();
    let result: Result<()> = run(&db, |tx| {
        tx.scan(&t, ..).flatten().count();
        tx.abort("enough")
    });
    assert!(matches!(result, Err(Error::Aborted { .. })), "{result:?}");
    let gone = db.table("gone").unwrap();
    db.drop_table("gone").unwrap();
    let result = run(&db, |tx| Ok(tx.scan(&gone, ..).flatten().count()));
    assert!(
        matches!(result, Err(Error::UnknownTable { .. })),
        "a scan that cannot begin: {result:?}"
    );
}
