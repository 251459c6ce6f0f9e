//! The documented behaviour of `transact`, `submit` and `begin`.

use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{Arc, Barrier},
    task::{Context, Poll, Wake, Waker},
    time::{Duration, Instant},
};

use clearway_sync::{
    atomic::{AtomicU64, Ordering},
    thread,
};

use clearway::{
    Database, Direction, Error, LockWait, Options, Table, Transaction, TypeStats, prefix,
};
use clearway_testkit::disk::DelayedDisk;

fn memory() -> Database {
    Options::in_memory().cache_size(8 << 20).open("test").unwrap()
}

/// Options of a database in memory whose log flushes each take at least `flush`.
fn slow(flush: Duration) -> Options {
    Options::new().on_disk(DelayedDisk::in_memory(flush)).cache_size(8 << 20)
}

fn with_table() -> (Database, Table) {
    let db = memory();
    let table = db.table("t").unwrap();
    (db, table)
}

fn type_stats(db: &Database, name: &str) -> TypeStats {
    db.type_stats().into_iter().find(|kind| kind.name == name).unwrap_or_default()
}

#[test]
fn a_closure_that_panics_is_rolled_back_and_the_database_goes_on() {
    let (db, t) = with_table();
    let result = db.transact("panic", |tx| -> clearway::Result<()> {
        tx.put(&t, b"k", b"half")?;
        panic!("number {}", 7);
    });
    assert!(matches!(&result, Err(Error::Panicked { message }) if message == "number 7"));
    // Another transaction finds at once that the lock is free and the write is undone.
    let seen = db.transact("after", |tx| {
        tx.lock_wait(LockWait::Never);
        let seen = tx.get_for_update(&t, b"k")?;
        tx.put(&t, b"k", b"whole")?;
        Ok(seen)
    });
    assert_eq!(seen.unwrap(), None);
    assert_eq!(type_stats(&db, "panic").panics, 1);
}

#[test]
fn redo_is_checked_by_images_if_that_is_wanted() {
    let disk = clearway_disk::MemoryDisk::new();
    let options = || Options::new().cache_size(8 << 20);
    let db = options().redo_check(true).on_disk(Arc::new(disk.clone())).open("test").unwrap();
    let t = db.table("t").unwrap();
    db.transact("fill", |tx| (0..100u8).try_for_each(|n| tx.insert(&t, [n], [n; 200]))).unwrap();
    let killed = options().on_disk(Arc::new(disk.fork())).open("test").unwrap();
    assert!(killed.recovery().images > 100, "{:?}", killed.recovery());
    killed.close().unwrap();
}

#[test]
fn an_aborted_closure_leaves_nothing() {
    let (db, t) = with_table();
    let result: clearway::Result<()> = db.transact("abort", |tx| {
        tx.insert(&t, b"k", b"v")?;
        tx.abort("changed my mind")
    });
    assert!(matches!(&result, Err(Error::Aborted { reason }) if reason == "changed my mind"));
    assert_eq!(db.transact("read", |tx| tx.get(&t, b"k")).unwrap(), None);
    assert_eq!(type_stats(&db, "abort").rollbacks, 1);
}

#[test]
fn writes_report_whether_the_key_was_present() {
    let (db, t) = with_table();
    db.transact("write", |tx| {
        assert!(matches!(tx.update(&t, b"k", b"1"), Err(Error::NotFound { .. })));
        assert!(matches!(tx.delete(&t, b"k"), Err(Error::NotFound { .. })));
        tx.insert(&t, b"k", b"1")?;
        assert!(matches!(tx.insert(&t, b"k", b"2"), Err(Error::DuplicateKey { .. })));
        assert_eq!(tx.replace(&t, b"k", b"3")?, Some(b"1".to_vec()));
        assert_eq!(tx.replace(&t, b"l", b"4")?, None);
        tx.update(&t, b"l", b"5")?;
        tx.delete(&t, b"k")
    })
    .unwrap();
    let rows = db.transact("read", |tx| tx.scan(&t, ..).collect::<Result<Vec<_>, _>>()).unwrap();
    assert_eq!(rows, [(b"l".to_vec(), b"5".to_vec())]);
}

#[test]
fn scans_honour_every_kind_of_bound_in_both_directions() {
    let (db, t) = with_table();
    let keys = ["a", "ab", "b", "ba", "c"];
    db.transact("fill", |tx| keys.iter().try_for_each(|k| tx.insert(&t, k, k))).unwrap();
    let mut tx = db.begin();
    let mut check = |range: &dyn Fn(&mut clearway::Transaction, bool) -> Vec<String>,
                     want: &[&str]| {
        assert_eq!(range(&mut tx, false), want);
        let reversed: Vec<_> = want.iter().rev().copied().collect();
        assert_eq!(range(&mut tx, true), reversed);
    };
    macro_rules! range {
        ($range:expr) => {
            &|tx, descending| {
                let scan = match descending {
                    true => tx.scan_descending(&t, $range),
                    false => tx.scan(&t, $range),
                };
                scan.map(|entry| String::from_utf8(entry.unwrap().0).unwrap()).collect()
            }
        };
    }
    check(range!(..), &keys);
    check(range!("ab"..), &keys[1..]);
    check(range!("ab".."c"), &keys[1..4]);
    check(range!("ab"..="c"), &keys[1..]);
    check(range!(.."b"), &keys[..2]);
    check(range!(..="b"), &keys[..3]);
    check(range!(prefix("b")), &keys[2..4]);
    check(range!("x"..), &[]);
    check(range!("c".."a"), &[]);
    tx.rollback().unwrap();
}

#[test]
fn borrowed_entries_are_those_of_the_iterator() {
    let (db, t) = with_table();
    let large = [3; 20_000]; // on overflow pages
    db.transact("fill", |tx| {
        (0..200u8).try_for_each(|k| tx.insert(&t, [k], &large[..usize::from(k % 50) * 400]))
    })
    .unwrap();
    let mut tx = db.begin();
    for descending in [false, true] {
        let scan = |tx: &mut clearway::Transaction| match descending {
            true => tx.scan_descending(&t, [1]..[190]).collect::<Result<Vec<_>, _>>(),
            false => tx.scan(&t, [1]..[190]).collect(),
        };
        let expected = scan(&mut tx).unwrap();
        let mut lending = match descending {
            true => tx.scan_descending(&t, [1]..[190]),
            false => tx.scan(&t, [1]..[190]),
        };
        for (at, (key, value)) in expected.iter().enumerate() {
            // Mix both kinds of steps.
            if at % 7 == 0 {
                assert_eq!(lending.next().unwrap().unwrap(), (key.clone(), value.clone()));
            } else {
                assert_eq!(lending.next_ref().unwrap(), Some((&key[..], &value[..])));
            }
        }
        assert_eq!(lending.next_ref().unwrap(), None);
        assert!(lending.next().is_none());
    }
}

#[test]
fn a_scan_that_lends_returns_its_error_once_and_ends() {
    let (db, t) = with_table();
    db.transact("fill", |tx| (0..3u8).try_for_each(|k| tx.insert(&t, [k], b"row"))).unwrap();
    let (mut holder, mut tx) = (db.begin(), db.begin());
    holder.put(&t, [1], b"mine").unwrap();
    tx.lock_wait(clearway::LockWait::Never);
    let mut scan = tx.scan(&t, ..);
    assert_eq!(scan.next_ref().unwrap(), Some((&[0][..], &b"row"[..])));
    assert!(matches!(scan.next_ref(), Err(Error::WouldBlock { .. })));
    assert_eq!(scan.next_ref().unwrap(), None);
    drop(scan);
    // A cursor continues after the last entry that it returned.
    let mut cursor = tx.cursor(&t, [0].., Direction::Ascending).unwrap();
    assert_eq!(cursor.next_ref(&mut tx).unwrap(), Some((&[0][..], &b"row"[..])));
    assert!(matches!(cursor.next_ref(&mut tx), Err(Error::WouldBlock { .. })));
    holder.commit().unwrap();
    assert_eq!(cursor.next_ref(&mut tx).unwrap(), Some((&[1][..], &b"mine"[..])));
    let mut other = db.begin();
    assert!(matches!(cursor.next_ref(&mut other), Err(Error::TransactionEnded)));
}

#[test]
fn a_cursor_lets_writes_come_between_its_steps() {
    let (db, t) = with_table();
    db.transact("fill", |tx| (0..5u8).try_for_each(|k| tx.insert(&t, [k], b"old"))).unwrap();
    db.transact("sweep", |tx| {
        let mut cursor = tx.cursor(&t, .., Direction::Ascending)?;
        let mut seen = 0;
        while let Some((key, _)) = cursor.next(tx)? {
            tx.update(&t, &key, b"new")?;
            seen += 1;
        }
        assert_eq!(seen, 5);
        Ok(())
    })
    .unwrap();
    let news = db.transact("count", |tx| {
        Ok(tx.scan(&t, ..).filter(|entry| entry.as_ref().unwrap().1 == b"new").count())
    });
    assert_eq!(news.unwrap(), 5);
}

#[test]
fn a_savepoint_takes_back_only_what_came_after_it() {
    let (db, t) = with_table();
    let mut tx = db.begin();
    tx.insert(&t, b"a", b"1").unwrap();
    let first = tx.savepoint().unwrap();
    tx.insert(&t, b"b", b"2").unwrap();
    let second = tx.savepoint().unwrap();
    tx.delete(&t, b"a").unwrap();
    tx.rollback_to(&second).unwrap();
    assert_eq!(tx.get(&t, b"a").unwrap().as_deref(), Some(&b"1"[..]));
    tx.rollback_to(&first).unwrap();
    assert_eq!(tx.get(&t, b"b").unwrap(), None);
    assert!(matches!(tx.rollback_to(&second), Err(Error::UnknownSavepoint)));
    tx.commit().unwrap();
    assert!(db.transact("read", |tx| tx.get(&t, b"a")).unwrap().is_some());
}

#[test]
fn a_dropped_transaction_is_rolled_back_and_frees_its_locks() {
    let (db, t) = with_table();
    let mut tx = db.begin();
    tx.put(&t, b"k", b"v").unwrap();
    drop(tx);
    let mut tx = db.begin();
    tx.lock_wait(LockWait::Never);
    assert_eq!(tx.get_for_update(&t, b"k").unwrap(), None);
    tx.rollback().unwrap();
}

#[test]
fn a_held_lock_is_refused_or_timed_out_as_asked() {
    let (db, t) = with_table();
    let mut holder = db.begin();
    holder.put(&t, b"k", b"v").unwrap();
    let mut asker = db.begin();
    asker.lock_wait(LockWait::Never);
    assert!(matches!(asker.get(&t, b"k"), Err(Error::WouldBlock { .. })));
    asker.lock_wait(LockWait::For(Duration::from_millis(20)));
    let started = Instant::now();
    assert!(matches!(asker.get(&t, b"k"), Err(Error::LockTimeout { .. })));
    assert!(started.elapsed() >= Duration::from_millis(20));
    // The transaction is still active after both.
    holder.commit().unwrap();
    assert_eq!(asker.get(&t, b"k").unwrap().as_deref(), Some(&b"v"[..]));
    asker.commit().unwrap();
}

#[test]
fn a_deadlock_is_resolved_and_its_victim_runs_again() {
    let (db, t) = with_table();
    db.transact("fill", |tx| {
        tx.insert(&t, b"a", [0])?;
        tx.insert(&t, b"b", [0])
    })
    .unwrap();
    let meet = Barrier::new(2);
    let cross = |first: &'static [u8], second: &'static [u8]| {
        let mut attempts = 0;
        db.transact("cross", |tx| {
            attempts += 1;
            let a = tx.get_for_update(&t, first)?.unwrap()[0];
            if attempts == 1 {
                meet.wait();
            }
            let b = tx.get_for_update(&t, second)?.unwrap()[0];
            tx.put(&t, first, [a + 1])?;
            tx.put(&t, second, [b + 1])
        })
        .unwrap();
        attempts
    };
    let attempts: u32 = thread::scope(|scope| {
        let other = scope.spawn(|| cross(b"b", b"a"));
        cross(b"a", b"b") + other.join().unwrap()
    });
    assert!(attempts > 2, "one of them must have lost");
    let sum = |key: &'static [u8]| db.transact("read", |tx| tx.get(&t, key)).unwrap().unwrap()[0];
    assert_eq!((sum(b"a"), sum(b"b")), (2, 2));
    assert_eq!(type_stats(&db, "cross").retries, u64::from(attempts) - 2);
}

/// The transaction that finds a cycle becomes the victim, unless it has lost before: then the other
/// member does.
///
/// Usually the transaction that closes the cycle finds it first. If the other member does, no
/// transaction has lost yet, and the round shows nothing.
#[test]
fn a_victim_keeps_its_priority_in_its_next_attempt() {
    let options = Options::in_memory().cache_size(8 << 20).attempts(3);
    let db = options.retries_lock_first(false).open("priority").unwrap();
    let t = db.table("t").unwrap();
    let rounds = std::iter::repeat_with(|| meet_until_the_closer_wins(&db, &t));
    let others = rounds.take(1_000).find(|others| others.len() > 1);
    assert_eq!(others, Some(vec![true, false]), "the former victim wins");
}

/// Runs a transaction that closes a cycle with another one, a new one for each attempt, until it
/// commits. Returns, for each of the others, whether it committed.
fn meet_until_the_closer_wins(db: &Database, t: &Table) -> Vec<bool> {
    let mut others = Vec::new();
    let ran = db.transact("closer", |tx| {
        thread::scope(|scope| {
            let (holds, held) = std::sync::mpsc::channel();
            let (go, went) = std::sync::mpsc::channel();
            let other = scope.spawn(move || {
                let mut other = db.begin();
                other.put(t, "b", "other")?;
                holds.send(()).unwrap();
                went.recv().unwrap();
                other.put(t, "a", "other")?;
                other.commit()
            });
            held.recv().unwrap();
            tx.put(t, "a", "closer")?;
            go.send(()).unwrap();
            while db.stats().engine.lock.waiting == 0 {
                thread::yield_now();
            }
            let closed = tx.put(t, "b", "closer").map(drop);
            others.push(other.join().unwrap().is_ok());
            closed
        })
    });
    assert!(ran.is_ok(), "{ran:?}");
    others
}

#[test]
fn a_victim_that_hides_its_error_runs_again() {
    let (db, t) = with_table();
    db.transact("fill", |tx| {
        tx.insert(&t, b"a", b"")?;
        tx.insert(&t, b"b", b"")
    })
    .unwrap();
    let meet = Barrier::new(2);
    let cross = |first: &'static [u8], second: &'static [u8]| {
        let mut attempts = 0;
        db.transact("hide", |tx| {
            attempts += 1;
            tx.put(&t, first, b"mine")?;
            if attempts == 1 {
                meet.wait();
            }
            // A closure that ignores the error must not count as successful.
            let _ = tx.put(&t, second, first);
            Ok(())
        })
        .unwrap();
    };
    thread::scope(|scope| {
        scope.spawn(|| cross(b"b", b"a"));
        cross(b"a", b"b");
    });
    // Both ran in full, one after the other: the later one's writes stand on both keys.
    let [a, b] = [b"a", b"b"].map(|key| db.transact("r", |tx| tx.get(&t, key)).unwrap().unwrap());
    assert!((a == b"mine" && b == b"a") || (a == b"b" && b == b"mine"), "{a:?} {b:?}");
}

#[test]
fn lost_conflicts_are_bounded() {
    let options = Options::in_memory().cache_size(8 << 20).attempts(1);
    let db = options.retries_lock_first(false).open("test").unwrap();
    let t = db.table("t").unwrap();
    let both = Barrier::new(2);
    let cross = |first: &str, second: &str| {
        db.transact("lose", |tx| {
            tx.put(&t, first, "mine")?;
            both.wait();
            tx.put(&t, second, "mine")
        })
    };
    let results = thread::scope(|threads| {
        let one = threads.spawn(|| cross("a", "b"));
        [cross("b", "a"), one.join().unwrap()]
    });
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
    assert!(results.iter().any(|result| matches!(result, Err(Error::Deadlock { .. }))));
    let lose = type_stats(&db, "lose");
    assert_eq!((lose.retries, lose.rollbacks, lose.commits), (0, 1, 1));
}

#[test]
fn closure_whose_own_transaction_has_lost_nothing_is_not_run_again() {
    let (db, _) = with_table();
    let mut attempts = 0;
    let result: clearway::Result<()> = db.transact("inner", |_| {
        attempts += 1;
        // As if a transaction that the closure runs were the victim.
        Err(Error::Deadlock { txn: clearway::TxnId::NONE, cycle: None })
    });
    assert!(matches!(result, Err(Error::Deadlock { .. })));
    assert_eq!(attempts, 1);
}

#[test]
fn a_lock_wait_that_is_too_long_is_reported_at_once() {
    let options = Options::in_memory().cache_size(8 << 20);
    let db = options.lock_wait_limit(Some(Duration::from_millis(20))).open("test").unwrap();
    let t = db.table("t").unwrap();
    let mut holder = db.begin();
    holder.put(&t, b"k", b"v").unwrap();
    let attempts = AtomicU64::new(0);
    let begun = Instant::now();
    let result = db.transact("wait", |tx| {
        attempts.fetch_add(1, Ordering::SeqCst);
        tx.get(&t, b"k")
    });
    let took = begun.elapsed();
    let error = result.unwrap_err();
    assert!(matches!(error, Error::LockTimeout { .. }), "{error}");
    assert!(!error.is_retryable());
    assert_eq!(attempts.load(Ordering::SeqCst), 1, "after {took:?}");
    let wait = type_stats(&db, "wait");
    assert_eq!((wait.retries, wait.rollbacks, wait.commits), (0, 1, 0));
    holder.rollback().unwrap();
}

#[test]
fn a_panic_restores_the_lock_wait_policy() {
    let (db, t) = with_table();
    let mut holder = db.begin();
    holder.put(&t, b"k", b"v").unwrap();
    let mut tx = db.begin();
    tx.lock_wait(LockWait::Never);
    let panic = catch_unwind(AssertUnwindSafe(|| {
        tx.waiting(LockWait::Forever, |_| -> clearway::Result<()> { panic!("of the program") })
    }));
    assert!(panic.is_err());
    assert!(matches!(tx.get(&t, b"k"), Err(Error::WouldBlock { .. })));
}

#[test]
fn a_pending_result_can_be_polled_waited_for_and_awaited() {
    struct Count(AtomicU64);
    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let db = slow(Duration::from_millis(20)).open("test").unwrap();
    let t = db.table("t").unwrap();

    let mut polled = db.submit("poll", |tx| tx.replace(&t, b"a", b"1")).unwrap();
    assert!(polled.try_take().is_none() || polled.is_ready());
    let value = loop {
        match polled.try_take() {
            Some(value) => break value,
            None => thread::sleep(Duration::from_millis(1)),
        }
    };
    assert_eq!(value.unwrap(), None);
    assert!(polled.try_take().is_none(), "a value is returned once");

    let count = Arc::new(Count(AtomicU64::new(0)));
    let waker = Waker::from(Arc::clone(&count));
    let mut awaited = pin!(db.submit("await", |tx| tx.replace(&t, b"b", b"1")).unwrap());
    let mut context = Context::from_waker(&waker);
    let mut wakes = 0;
    let value = loop {
        match awaited.as_mut().poll(&mut context) {
            Poll::Ready(value) => break value,
            Poll::Pending => {
                let deadline = Instant::now() + Duration::from_secs(10);
                while count.0.load(Ordering::SeqCst) == wakes {
                    assert!(Instant::now() < deadline, "the waker was never called");
                    thread::sleep(Duration::from_millis(1));
                }
                wakes += 1;
            }
        }
    };
    assert_eq!(value.unwrap(), None);
}

#[test]
fn a_result_is_not_delivered_before_the_log_is_durable() {
    let db = slow(Duration::from_millis(60)).open("test").unwrap();
    let t = db.table("t").unwrap();
    let started = Instant::now();
    let mut writer = db.submit("write", |tx| tx.put(&t, b"k", b"v")).unwrap();
    // The lock is free at once. The reader reads the value, but its result is withheld as well.
    let reader = db.submit("read", |tx| tx.get(&t, b"k")).unwrap();
    if started.elapsed() < Duration::from_millis(50) {
        assert!(writer.try_take().is_none());
        assert!(!reader.is_ready());
    }
    assert_eq!(reader.wait().unwrap().as_deref(), Some(&b"v"[..]));
    assert!(started.elapsed() >= Duration::from_millis(60));
    assert!(writer.is_ready());
}

#[test]
fn interactive_transactions_cross_threads() {
    let (db, t) = with_table();
    let mut tx = db.begin();
    tx.put(&t, b"k", b"v").unwrap();
    let pending = thread::spawn(move || tx.commit_pipelined().unwrap()).join().unwrap();
    pending.wait().unwrap();
    assert!(db.transact("read", |tx| tx.get(&t, b"k")).unwrap().is_some());
}

#[test]
fn an_error_that_reveals_what_was_read_waits_like_a_result() {
    let slow = || slow(Duration::from_millis(60));
    let db = slow().open("").unwrap();
    let t = db.table("t").unwrap();
    type Body = fn(&mut Transaction, &Table) -> clearway::Result<()>;
    let bodies: [(&str, Body); 4] = [
        ("duplicate", |tx, t| tx.insert(t, b"k", b"again")),
        ("abort", |tx, t| {
            let value = tx.get(t, b"k")?;
            tx.abort(format!("it is {value:?}"))
        }),
        ("not found", |tx, t| tx.update(t, b"gone", b"x")),
        ("panic", |tx, t| panic!("read {:?}", tx.get(t, b"k"))),
    ];
    db.transact("before", |tx| tx.put(&t, b"gone", b"v").map(drop)).unwrap();
    for (what, body) in bodies {
        let pending = db
            .submit("writer", |tx| {
                tx.put(&t, b"k", b"v")?;
                if tx.get(&t, b"gone")?.is_some() {
                    tx.delete(&t, b"gone")?;
                }
                tx.delete(&t, b"k")?;
                tx.insert(&t, b"k", what.as_bytes())
            })
            .unwrap();
        assert!(!pending.is_ready(), "{what}: the log is too fast for this test");
        let result = db.transact("reader", |tx| body(tx, &t));
        assert!(result.is_err(), "{what}");
        assert!(pending.is_ready(), "{what}: delivered before it was durable: {result:?}");
        db.transact("again", |tx| tx.put(&t, b"gone", b"v").map(drop)).unwrap();
    }
}

/// Closes cycles with other transactions until `tx` is the victim of one: the other member may find
/// a cycle first, while it still spins.
fn lose_a_deadlock(tx: &mut Transaction, db: &Database, t: &Table) -> clearway::Result<()> {
    for round in 0..100u8 {
        let (a, b) = ([b'a', round], [b'b', round]);
        let mut other = db.begin();
        other.put(t, b, "other")?;
        tx.put(t, a, "victim")?;
        thread::scope(|scope| {
            scope.spawn(move || match other.put(t, a, "other") {
                Ok(_) => other.rollback().unwrap(),
                Err(error) => assert!(matches!(error, Error::Deadlock { .. }), "{error}"),
            });
            while db.stats().engine.lock.waiting == 0 {
                thread::yield_now();
            }
            tx.put(t, b, "victim").map(drop)
        })?;
    }
    panic!("the other one lost each time");
}

/// A victim is rolled back in the middle of its closure. What it has read must still be durable
/// before a result, of this attempt or of a later one, can reveal it.
#[test]
fn results_of_a_victim_wait_for_what_it_has_read() {
    for what in ["conflict", "panic", "next attempt"] {
        let attempts = if what == "next attempt" { 2 } else { 1 };
        let options = slow(Duration::from_millis(150)).attempts(attempts);
        let db = options.open("victims").unwrap();
        let t = db.table("t").unwrap();
        let writer = db.submit("writer", |tx| tx.put(&t, b"k", b"v")).unwrap();
        let mut read = None;
        let result = db.transact("victim", |tx| {
            if read.is_some() {
                return Ok(read.clone());
            }
            read = tx.get(&t, b"k")?;
            let lost = lose_a_deadlock(tx, &db, &t);
            assert!(matches!(lost, Err(Error::Deadlock { .. })), "{lost:?}");
            assert!(what != "panic", "it is {read:?}");
            assert!(!writer.is_ready(), "the log is too fast for this test");
            lost.map(|()| None)
        });
        assert!(writer.is_ready(), "{what}: delivered before it was durable: {result:?}");
        match (what, result) {
            ("conflict", Err(Error::Deadlock { .. })) | ("next attempt", Ok(Some(_))) => {}
            ("panic", Err(Error::Panicked { message })) => {
                assert!(message.contains("it is Some"), "{message}");
            }
            (what, result) => panic!("{what}: {result:?}"),
        }
    }
}
