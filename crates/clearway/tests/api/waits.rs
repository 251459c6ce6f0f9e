//! The lock waits that go on, as `Database::waits` lists them.

use std::{
    future::Future,
    pin::Pin,
    sync::atomic::{AtomicBool, Ordering},
    task::{Context, Poll, Waker},
    thread,
    time::{Duration, Instant},
};

use clearway::{
    AbsoluteMode, AsyncTransaction, CurrentWait, Database, Error, KeySample, LockWait, Options,
    Result, Table,
};

fn database() -> (Database, Table) {
    let db = Options::in_memory().cache_size(16 << 20).open("waits").unwrap();
    let table = db.table("t").unwrap();
    (db, table)
}

/// Waits until `count` waits are listed.
fn until_listed(db: &Database, count: usize) -> Vec<CurrentWait> {
    let begun = Instant::now();
    loop {
        let waits = db.waits();
        if waits.len() == count {
            return waits;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{count} expected: {waits:?}");
        thread::sleep(Duration::from_micros(200));
    }
}

/// A task that waits for a key, polled once. Dropping it withdraws the wait.
struct PolledWait(Pin<Box<dyn Future<Output = Result<AsyncTransaction>>>>);

impl PolledWait {
    fn begin(db: &Database, name: &'static str, table: &Table, key: &[u8]) -> PolledWait {
        PolledWait::of(db.begin_async(name), table, key)
    }

    fn of(mut tx: AsyncTransaction, table: &Table, key: &[u8]) -> PolledWait {
        let (table, key) = (table.clone(), key.to_vec());
        let mut wait = PolledWait(Box::pin(async move {
            tx.get_for_update(&table, key).await?;
            Ok(tx)
        }));
        assert!(wait.poll().is_pending());
        wait
    }

    fn poll(&mut self) -> Poll<Result<AsyncTransaction>> {
        self.0.as_mut().poll(&mut Context::from_waker(Waker::noop()))
    }
}

/// The transactions in the way: type, mode, and whether it holds the lock.
fn blockers(wait: &CurrentWait) -> Vec<(&'static str, &'static str, bool)> {
    wait.blockers.iter().map(|other| (other.txn.kind, other.mode, other.holds)).collect()
}

#[test]
fn a_blocking_wait_is_listed_until_it_is_granted() {
    let (db, table) = database();
    assert!(db.waits().is_empty());
    let mut holder = db.begin_as("holder");
    holder.put(&table, b"k", b"1").unwrap();
    assert!(db.waits().is_empty(), "a holder does not wait");
    thread::scope(|scope| {
        let begun = Instant::now();
        let waiter = scope.spawn(|| {
            let mut tx = db.begin_as("waiter");
            tx.put(&table, b"other", b"1")?;
            tx.get(&table, b"k")?;
            Ok::<_, Error>(tx)
        });
        let [wait] = &until_listed(&db, 1)[..] else { unreachable!() };
        assert_eq!((wait.txn.kind, wait.wanted, wait.lock.table.as_str()), ("waiter", "SN", "t"));
        assert_eq!(wait.lock.key, Some(KeySample::of(b"k")));
        assert_eq!(blockers(wait), [("holder", "XN", true)]);
        assert!(wait.holders.is_empty());
        let first = wait.waited;
        thread::sleep(Duration::from_millis(150));
        let [later] = &db.waits()[..] else { panic!("it still waits") };
        assert!(later.waited >= first + Duration::from_millis(150));
        assert!(later.waited <= begun.elapsed());
        assert_eq!(later.txn, wait.txn);
        // Both have written, and the log's growth was noted since.
        for age in [later.age, later.blockers[0].age] {
            assert!(age.is_some_and(|age| age >= Duration::from_millis(30)), "{later:?}");
        }
        let text = later.to_string();
        let start = format!("\"waiter\" (transaction {}) waits for SN on key \"k\"", wait.txn.id.0);
        assert!(text.starts_with(&start) && text.contains("held by \"holder\""), "{text}");
        holder.commit().unwrap();
        let waiter = waiter.join().unwrap().unwrap();
        assert!(db.waits().is_empty(), "the wait is over, the transaction is not");
        waiter.commit().unwrap();
    });
    assert!(db.waits().is_empty());
}

#[test]
fn a_task_is_listed_until_it_is_granted_or_dropped() {
    let (db, table) = database();
    let mut holder = db.begin_as("holder");
    holder.put(&table, b"k", b"1").unwrap();
    let mut first = PolledWait::begin(&db, "first", &table, b"k");
    let second = PolledWait::begin(&db, "second", &table, b"k");
    let waits = db.waits();
    assert_eq!(waits.iter().map(|wait| wait.txn.kind).collect::<Vec<_>>(), ["first", "second"]);
    assert_eq!(blockers(&waits[0]), [("holder", "XN", true)]);
    assert_eq!(blockers(&waits[1]), [("holder", "XN", true), ("first", "XN", false)]);
    assert!(waits[1].blockers[1].age.is_some(), "it has waited");
    drop(second);
    assert_eq!(db.waits().len(), 1);
    holder.commit().unwrap();
    assert!(db.waits().is_empty(), "granted, though not polled yet");
    let Poll::Ready(Ok(first)) = first.poll() else { panic!("granted") };
    let third = PolledWait::begin(&db, "third", &table, b"k");
    let waits = db.waits();
    assert_eq!(blockers(&waits[0]), [("first", "XN", true)]);
    drop(first);
    drop(third);
    assert!(db.waits().is_empty());
}

#[test]
fn a_wait_that_failed_is_not_listed() {
    let (db, table) = database();
    let mut holder = db.begin_as("holder");
    holder.put(&table, b"a", b"1").unwrap();
    // Timed out: the transaction goes on.
    let mut late = db.begin_as("late");
    let limit = LockWait::For(Duration::from_millis(3));
    assert!(late.get_for_update_with(&table, b"a", limit).is_err());
    assert!(db.waits().is_empty());
    assert!(late.get_for_update_with(&table, b"a", LockWait::Never).is_err());
    assert!(db.waits().is_empty());
    // A victim: it waited for a transaction that waits for it.
    let mut one = db.begin_async("one");
    let mut put = Box::pin(one.put(&table, b"b", b"1"));
    while put.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {}
    drop(put);
    let one = PolledWait::of(one, &table, b"a");
    assert_eq!(db.waits().len(), 1);
    let died = holder.get_for_update(&table, b"b");
    assert!(matches!(died, Err(Error::Deadlock { .. })), "{died:?}");
    assert!(db.waits().is_empty(), "the victim has ended, and the other one was granted");
    drop(one);
    late.rollback().unwrap();
}

/// Runs a future that need not wait.
fn now<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits"),
    }
}

/// Returns the blockers in the order of their types' names.
fn by_kind(
    mut blockers: Vec<(&'static str, &'static str, bool)>,
) -> Vec<(&'static str, &'static str, bool)> {
    blockers.sort_unstable();
    blockers
}

#[test]
fn waits_for_tables_are_listed_with_their_holders() {
    let (db, table) = database();
    let mut writer = db.begin_as("writer");
    writer.put(&table, b"k", b"1").unwrap();
    let mut reader = db.begin_async("reader");
    now(reader.get(&table, b"q")).unwrap();
    thread::scope(|scope| {
        let locker = scope.spawn(|| {
            let mut tx = db.begin_as("lock");
            tx.lock_table(&table, AbsoluteMode::Exclusive).map(|()| tx)
        });
        let [wait] = &until_listed(&db, 1)[..] else { unreachable!() };
        assert_eq!((wait.txn.kind, wait.wanted), ("lock", "X"));
        assert_eq!(wait.lock.to_string(), "table \"t\"");
        assert_eq!(wait.holders, [("IS", 1), ("IX", 1)]);
        let holders = vec![("reader", "IS", true), ("writer", "IX", true)];
        assert_eq!(by_kind(blockers(wait)), holders);
        assert!(wait.to_string().ends_with("; holders: 1 in IS, 1 in IX"), "{wait}");
        // A holder that waits is named as well, and so is what is ahead in the queue.
        let reader = PolledWait::of(reader, &table, b"k");
        let late = PolledWait::begin(&db, "late", &table, b"r");
        let waits = db.waits();
        let of = |kind| waits.iter().find(|wait| wait.txn.kind == kind).unwrap();
        let holders = vec![("reader", "IX", true), ("writer", "IX", true)];
        assert_eq!(by_kind(blockers(of("lock"))), holders);
        assert_eq!(of("lock").holders, [("IX", 2)]);
        assert_eq!(blockers(of("reader")), [("writer", "XN", true)]);
        assert_eq!((of("late").wanted, blockers(of("late"))), ("IX", vec![("lock", "X", false)]));
        drop(reader);
        writer.commit().unwrap();
        // A holder of the whole is named while it runs.
        let locker = locker.join().unwrap().unwrap();
        let [wait] = &db.waits()[..] else { panic!("one waits") };
        assert_eq!(blockers(wait), [("lock", "X", true)]);
        assert_eq!(wait.holders, [("X", 1)]);
        locker.rollback().unwrap();
        assert!(db.waits().is_empty());
        drop(late);
    });
}

#[test]
fn waits_for_the_database_are_listed() {
    let (db, table) = database();
    let mut all = db.begin_as("all");
    all.lock_database(AbsoluteMode::Shared).unwrap();
    all.get(&table, b"k").unwrap();
    let mut one = db.begin_as("one");
    one.lock_table(&table, AbsoluteMode::Shared).unwrap();
    let mut writer = PolledWait::begin(&db, "writer", &table, b"k");
    let [wait] = &db.waits()[..] else { panic!("one waits") };
    assert_eq!((wait.lock.to_string().as_str(), wait.wanted), ("table \"(database)\"", "IX"));
    assert_eq!(blockers(wait), [("all", "S", true)]);
    all.commit().unwrap();
    assert!(db.waits().is_empty() && writer.poll().is_pending());
    let [wait] = &db.waits()[..] else { panic!("one waits") };
    assert_eq!((wait.lock.to_string().as_str(), wait.wanted), ("table \"t\"", "IX"));
    drop(writer);
    // The next transaction of the same owner holds nothing.
    drop(one);
    let idle = db.begin_as("idle");
    let mut other = db.begin_as("other");
    other.lock_table(&table, AbsoluteMode::Shared).unwrap();
    let writer = PolledWait::begin(&db, "writer", &table, b"k");
    let [wait] = &db.waits()[..] else { panic!("one waits") };
    assert_eq!(blockers(wait), [("other", "S", true)]);
    drop((idle, writer));
}

#[test]
fn thousands_of_waits_are_listed() {
    const WAITS: usize = 3_000;
    let (db, table) = database();
    let mut holder = db.begin_as("holder");
    let key = |n: usize| ((n % 100) as u32).to_be_bytes();
    (0..100).for_each(|n| holder.put(&table, key(n), b"").unwrap());
    let mut waiting: Vec<_> =
        (0..WAITS).map(|n| PolledWait::begin(&db, "task", &table, &key(n))).collect();
    let begun = Instant::now();
    let waits = db.waits();
    println!("{WAITS} waits were listed in {:?}", begun.elapsed());
    assert_eq!(waits.len(), WAITS);
    assert!(waits.is_sorted_by(|a, b| a.waited >= b.waited));
    for (n, wait) in waits.iter().enumerate() {
        assert_eq!(wait.lock.key, Some(KeySample::of(&key(n))), "in the order of their begin");
        assert_eq!(wait.blockers.len(), (n / 100 + 1).min(8));
        assert_eq!(blockers(wait)[0], ("holder", "XN", true));
        assert!(wait.blockers[1..].iter().all(|other| !other.holds));
    }
    waiting.truncate(10);
    assert_eq!(db.waits().len(), 10);
    holder.rollback().unwrap();
    assert!(db.waits().is_empty());
}

#[test]
fn waits_are_listed_while_everything_moves() {
    let (db, table) = database();
    let is_over = AtomicBool::new(false);
    let counted = thread::scope(|scope| {
        for n in 0..6u32 {
            let (db, table, is_over) = (&db, &table, &is_over);
            scope.spawn(move || {
                let mut random = n + 1;
                while !is_over.load(Ordering::Relaxed) {
                    random = random.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
                    let keys = [random >> 30, random >> 28 & 3].map(u32::to_be_bytes);
                    let _ = db.transact("move", |tx| {
                        if random >> 20 & 63 == 0 {
                            tx.lock_table(table, AbsoluteMode::Exclusive)?;
                        }
                        keys.iter().try_for_each(|key| tx.put(table, key, key).map(drop))?;
                        if random >> 16 & 7 == 0 {
                            thread::sleep(Duration::from_micros(50));
                        }
                        if random & 1 == 0 { tx.abort("half of them") } else { Ok(()) }
                    });
                    let late = db.begin_as("late").get_for_update_with(
                        table,
                        keys[0],
                        LockWait::For(Duration::from_micros(20)),
                    );
                    match late {
                        Ok(_) | Err(Error::LockTimeout { .. } | Error::Deadlock { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
        let (begun, mut counted) = (Instant::now(), 0);
        while begun.elapsed() < Duration::from_millis(1500) {
            for wait in db.waits() {
                counted += 1;
                assert!(["move", "late"].contains(&wait.txn.kind), "{wait}");
                let tables = ["t", "(database)", "(of an earlier attempt)"];
                assert!(tables.contains(&wait.lock.table.as_str()), "{wait}");
                assert!(wait.blockers.iter().all(|other| other.txn.id != wait.txn.id), "{wait}");
                assert!(wait.waited < Duration::from_secs(20), "{wait}");
            }
        }
        is_over.store(true, Ordering::Relaxed);
        counted
    });
    assert!(counted > 0, "no wait was ever listed");
    assert!(db.waits().is_empty());
}
