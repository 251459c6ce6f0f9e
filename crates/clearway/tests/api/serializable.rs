//! Anomalies that weaker isolation levels allow, and that must not occur.

use std::sync::Barrier;

use clearway::{Database, LockWait, Options, Result, Table, Transaction};
use clearway_sync::{
    atomic::{AtomicBool, Ordering},
    thread,
};

fn with_table() -> (Database, Table) {
    let db = Options::in_memory().cache_size(16 << 20).open("test").unwrap();
    let table = db.table("t").unwrap();
    (db, table)
}

fn number(tx: &mut Transaction, t: &Table, key: &[u8]) -> Result<u64> {
    let row = tx.get(t, key)?.unwrap_or_else(|| vec![0; 8]);
    Ok(u64::from_be_bytes(row.try_into().unwrap()))
}

/// Two doctors may go off call if another stays; each looks, then leaves.
#[test]
fn write_skew_does_not_happen() {
    let (db, t) = with_table();
    for _ in 0..50 {
        db.transact("on", |tx| {
            tx.put(&t, b"a", 1u64.to_be_bytes())?;
            tx.put(&t, b"b", 1u64.to_be_bytes())
        })
        .unwrap();
        let start = Barrier::new(2);
        let leave = |me: &'static [u8]| {
            start.wait();
            db.transact("leave", |tx| {
                if number(tx, &t, b"a")? + number(tx, &t, b"b")? == 2 {
                    tx.put(&t, me, 0u64.to_be_bytes())?;
                }
                Ok(())
            })
            .unwrap();
        };
        thread::scope(|scope| {
            scope.spawn(|| leave(b"a"));
            leave(b"b");
        });
        let left = db.transact("count", |tx| Ok(number(tx, &t, b"a")? + number(tx, &t, b"b")?));
        assert_eq!(left.unwrap(), 1);
    }
}

/// Both read that a key is absent; only one may act on it.
#[test]
fn what_was_read_as_absent_cannot_be_inserted_by_two() {
    let (db, t) = with_table();
    for round in 0..50u64 {
        let start = Barrier::new(2);
        let claim = |who: u64| {
            start.wait();
            db.transact("claim", |tx| {
                let key = round.to_be_bytes();
                let free = tx.get(&t, key)?.is_none();
                if free {
                    tx.put(&t, key, who.to_be_bytes())?;
                }
                Ok(free)
            })
            .unwrap()
        };
        let claimed = thread::scope(|scope| {
            let other = scope.spawn(|| claim(1));
            [claim(2), other.join().unwrap()]
        });
        assert!(claimed[0] != claimed[1], "{claimed:?}");
    }
}

#[test]
fn a_scanned_range_gains_and_loses_no_keys_while_its_reader_runs() {
    let (db, t) = with_table();
    db.transact("fill", |tx| (0..20u8).try_for_each(|k| tx.insert(&t, [k * 10], b""))).unwrap();
    let mut reader = db.begin();
    let keys = |tx: &mut Transaction| -> Vec<Vec<u8>> {
        tx.scan(&t, [50u8]..=[150u8]).map(|entry| entry.unwrap().0).collect()
    };
    let first = keys(&mut reader);
    assert_eq!(first.len(), 11);
    let mut others = [51u8, 99, 149].map(|key| {
        let mut tx = db.begin();
        tx.lock_wait(LockWait::Never);
        assert!(tx.insert(&t, [key], b"").is_err(), "{key} slipped into the range");
        tx
    });
    assert!(others[0].delete(&t, [50u8]).is_err(), "a key that was read was deleted");
    assert!(others[1].update(&t, [100u8], b"new").is_err());
    // Outside the range no transaction is blocked.
    others[2].insert(&t, [1u8], b"").unwrap();
    others[2].delete(&t, [190u8]).unwrap();
    others.into_iter().for_each(|tx| tx.commit().unwrap());
    assert_eq!(keys(&mut reader), first);
    reader.commit().unwrap();
}

#[test]
fn read_only_transactions_see_one_state() {
    let (db, t) = with_table();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        // A writer that raises two counters far apart, always both.
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                db.submit("raise", |tx| {
                    let next = number(tx, &t, b"a")? + 1;
                    tx.put(&t, b"a", next.to_be_bytes())?;
                    tx.put(&t, b"z", next.to_be_bytes())
                })
                .unwrap()
                .wait()
                .unwrap();
            }
        });
        let mut last = 0;
        for _ in 0..300 {
            let (a, z) = db
                .transact("read", |tx| Ok((number(tx, &t, b"a")?, number(tx, &t, b"z")?)))
                .unwrap();
            assert_eq!(a, z, "half of a transaction was seen");
            assert!(a >= last, "time went backwards");
            last = a;
        }
        stop.store(true, Ordering::Relaxed);
    });
}
