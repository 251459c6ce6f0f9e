//! Reports of lock waits and deadlocks as users see them, and calls that avoid waiting.

use std::{
    collections::BTreeMap,
    sync::{Arc, Barrier, mpsc},
    thread,
    time::{Duration, Instant},
};

use clearway::{Database, Error, KeySample, LockWait, LockWaits, Options, Table, WaitCounts};

fn memory() -> Database {
    Options::in_memory().cache_size(16 << 20).open("contention").unwrap()
}

/// Waits until exactly `count` transactions wait for locks.
fn until_waiting(db: &Database, count: u64) {
    let begun = Instant::now();
    while db.stats().engine.lock.waiting != count {
        assert!(begun.elapsed() < Duration::from_secs(20), "too few transactions wait");
        thread::sleep(Duration::from_micros(200));
    }
}

fn of_table(waits: &LockWaits, name: &str) -> WaitCounts {
    waits
        .tables
        .iter()
        .find(|table| table.name == name)
        .map(|t| t.counts.clone())
        .unwrap_or_default()
}

fn of_type(waits: &LockWaits, name: &str) -> WaitCounts {
    waits.types.iter().find(|kind| kind.name == name).map(|t| t.counts.clone()).unwrap_or_default()
}

#[test]
fn a_forced_wait_is_counted_under_its_table_type_and_key() {
    let db = memory();
    let (hot, cold) = (db.table("hot").unwrap(), db.table("cold").unwrap());
    let mut holder = db.begin_as("holder");
    holder.put(&hot, b"row", b"1").unwrap();
    holder.put(&cold, b"row", b"1").unwrap();
    thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let read = |tx: &mut clearway::Transaction| {
                tx.put(&cold, b"other", b"1")?;
                tx.get_for_update(&hot, b"row")
            };
            db.transact("waiter", read).unwrap()
        });
        until_waiting(&db, 1);
        assert_eq!(db.lock_waits(), LockWaits::default(), "counted when it has ended");
        thread::sleep(Duration::from_millis(20));
        holder.commit().unwrap();
        assert_eq!(waiter.join().unwrap().unwrap(), b"1");
    });
    let waits = db.lock_waits();
    assert_eq!((waits.tables.len(), waits.types.len(), waits.hot_keys.len()), (1, 1, 1));
    for counts in [of_table(&waits, "hot"), of_type(&waits, "waiter")] {
        assert_eq!((counts.waits, counts.timeouts, counts.deadlocks), (1, 0, 0));
        assert!(counts.wait_us >= 20_000 && counts.wait_us == counts.wait_us_max);
        assert_eq!(counts.quantile_us(0.5), counts.wait_us);
    }
    let key = &waits.hot_keys[0];
    assert_eq!((key.table.as_str(), key.key), ("hot", KeySample::of(b"row")));
    assert_eq!((key.waits_min, key.waits_max), (1, 1));
    assert_eq!(key.wait_us, waits.tables[0].counts.wait_us);
    assert_eq!(db.stats().lock_waits, waits);
    let types = db.type_stats();
    assert!(types.iter().any(|kind| kind.name == "holder" && kind.commits == 1), "{types:?}");
}

#[test]
fn a_lock_granted_at_once_is_not_counted() {
    let db = memory();
    let table = db.table("t").unwrap();
    for n in 0..200u32 {
        db.transact("quiet", |tx| tx.put(&table, n.to_be_bytes(), b"x")).unwrap();
    }
    assert_eq!(db.transact("count", |tx| tx.scan(&table, ..).count()).unwrap(), 200);
    assert_eq!(db.lock_waits(), LockWaits::default());
}

#[test]
fn a_gap_is_named_by_the_key_before_it() {
    let db = memory();
    let table = db.table("t").unwrap();
    db.transact("fill", |tx| tx.put(&table, b"alpha", b"")).unwrap();
    let mut reader = db.begin_as("reader");
    assert_eq!(reader.get(&table, b"beta").unwrap(), None);
    let mut writer = db.begin();
    let refused = writer.waiting(LockWait::Never, |tx| tx.insert(&table, b"gamma", b""));
    let Err(Error::WouldBlock { conflict: Some(conflict) }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(conflict.lock.table, "t");
    assert_eq!(conflict.lock.key, Some(KeySample::of(b"alpha")));
    assert_eq!(conflict.wanted, "NX");
    let holders: Vec<_> = conflict.holders.iter().map(|(txn, mode)| (txn.kind, *mode)).collect();
    assert_eq!(holders, [("reader", "NS")]);
}

#[test]
fn a_time_out_names_the_lock_the_limit_and_the_holder() {
    let db = memory();
    let table = db.table("accounts").unwrap();
    let long = [b'k'; 100];
    let mut holder = db.begin_as("transfer");
    holder.put(&table, long, b"1").unwrap();
    let mut waiter = db.begin();
    let limit = LockWait::For(Duration::from_millis(3));
    let error = waiter.get_for_update_with(&table, long, limit).unwrap_err();
    let message = error.to_string();
    let name = format!("\"{}\"… (100 bytes)", "k".repeat(64));
    let start =
        format!("lock not granted within 3 ms: exclusive (XN) on key {name} of table \"accounts\"");
    assert!(message.starts_with(&start), "{message}");
    assert!(
        message.contains(", held by \"transfer\" (transaction ")
            && message.contains(" in XN; a transaction is still active")
    );
    // The limit was for that call only: the next call has the database's limit, here none.
    thread::scope(|scope| {
        let waiting = scope.spawn(|| waiter.get(&table, long).map(|_| waiter.rollback()));
        until_waiting(&db, 1);
        thread::sleep(Duration::from_millis(10));
        holder.commit().unwrap();
        assert!(waiting.join().unwrap().is_ok());
    });
    let counts = of_table(&db.lock_waits(), "accounts");
    assert_eq!((counts.waits, counts.timeouts), (2, 1));
}

#[test]
fn a_drop_that_waits_is_counted_and_its_time_out_names_the_table_and_its_user() {
    let options = Options::in_memory().cache_size(16 << 20);
    let db = options.lock_wait_limit(Some(Duration::from_millis(3))).open("").unwrap();
    let table = db.table("busy").unwrap();
    let mut user = db.begin_as("user");
    user.put(&table, b"k", b"").unwrap();
    let error = db.drop_table("busy").unwrap_err();
    let message = error.to_string();
    assert!(
        message.starts_with(
            "lock not granted within 3 ms: exclusive (X) on table \"busy\", held by \"user\""
        ),
        "{message}"
    );
    let Error::LockTimeout { conflict: Some(conflict), .. } = &error else { panic!("{error:?}") };
    assert!(matches!(conflict.holders[..], [(user, "IX")] if user.kind == "user"));
    assert_eq!(of_table(&db.lock_waits(), "busy").timeouts, 1);
    user.rollback().unwrap();
    db.drop_table("busy").unwrap();
}

/// Runs two transactions that lock two keys in opposite order; both hold their first key before
/// either requests its second one. Returns the errors of the victims.
fn cross(db: &Database, first: (&Table, &[u8]), second: (&Table, &[u8])) -> Vec<Error> {
    let both = Arc::new(Barrier::new(2));
    thread::scope(|scope| {
        let sides = [("left", first, second), ("right", second, first)].map(|(name, one, two)| {
            let both = both.clone();
            scope.spawn(move || {
                let mut tx = db.begin_as(name);
                tx.get_for_update(one.0, one.1).unwrap();
                both.wait();
                let result = tx.get_for_update(two.0, two.1);
                result.and_then(|_| tx.commit())
            })
        });
        sides.into_iter().filter_map(|side| side.join().unwrap().err()).collect()
    })
}

#[test]
fn a_deadlock_error_names_both_types_tables_and_keys() {
    let db = memory();
    let (a, b) = (db.table("a").unwrap(), db.table("b").unwrap());
    db.transact("fill", |tx| {
        tx.put(&a, b"x", b"")?;
        tx.put(&b, 7u64.to_be_bytes(), b"")
    })
    .unwrap();
    let died = cross(&db, (&a, b"x"), (&b, &7u64.to_be_bytes()));
    let [error @ Error::Deadlock { txn, cycle: Some(cycle) }] = &died[..] else {
        panic!("{died:?}");
    };
    assert_eq!(cycle.members.len(), 2);
    assert_eq!(cycle.members[0].txn.id, *txn, "the victim first");
    let mut seen: Vec<_> = cycle
        .members
        .iter()
        .map(|m| (m.txn.kind, m.wanted, m.lock.table.clone(), m.lock.key.unwrap(), m.holds))
        .collect();
    seen.sort_by_key(|member| member.0);
    let seven = KeySample::of(&7u64.to_be_bytes());
    let expected = [
        ("left", "XN", "b".to_string(), seven, "XN"),
        ("right", "XN", "a".to_string(), KeySample::of(b"x"), "XN"),
    ];
    assert_eq!(seen, expected);
    let message = error.to_string();
    for part in ["\"left\"", "\"right\"", "key \"x\" of table \"a\"", "0x0000000000000007"] {
        assert!(message.contains(part), "{message}");
    }
    let waits = db.lock_waits();
    assert_eq!(waits.deadlocks.len(), 1);
    assert_eq!(waits.deadlocks[0].cycle, *cycle);
    assert_eq!(waits.types.iter().map(|kind| kind.counts.deadlocks).sum::<u64>(), 1);
    assert_eq!(waits.types.iter().map(|kind| kind.counts.waits).sum::<u64>(), 2);
}

#[test]
fn the_last_sixteen_deadlocks_are_kept() {
    let db = memory();
    let table = db.table("t").unwrap();
    for n in 0..20u8 {
        let keys = [[n, 0], [n, 1]];
        db.transact("fill", |tx| keys.iter().try_for_each(|key| tx.insert(&table, key, b"")))
            .unwrap();
        let died = cross(&db, (&table, &keys[0]), (&table, &keys[1]));
        assert_eq!(died.len(), 1, "{died:?}");
    }
    let waits = db.lock_waits();
    assert_eq!(waits.deadlocks.len(), 16);
    for (report, n) in waits.deadlocks.iter().zip((0..20u8).rev()) {
        let keys = report.cycle.members.iter().map(|member| member.lock.key.unwrap());
        assert!(keys.into_iter().all(|key| key.bytes()[0] == n), "the newest first");
    }
    assert!(waits.deadlocks.is_sorted_by(|a, b| a.at >= b.at));
}

#[test]
fn the_hottest_key_comes_first() {
    let db = memory();
    let table = db.table("t").unwrap();
    let keys: Vec<[u8; 8]> = (0..8u64).map(u64::to_be_bytes).collect();
    db.transact("fill", |tx| keys.iter().try_for_each(|key| tx.insert(&table, key, b""))).unwrap();
    // Key n is waited for n times.
    for (n, key) in keys.iter().enumerate() {
        for _ in 0..n {
            let mut holder = db.begin();
            holder.get_for_update(&table, key).unwrap();
            let mut waiter = db.begin();
            let limit = LockWait::For(Duration::from_micros(100));
            assert!(waiter.get_for_update_with(&table, key, limit).is_err());
        }
    }
    let waits = db.lock_waits();
    let found: Vec<_> = waits.hot_keys.iter().map(|hot| (hot.key.bytes(), hot.waits_min)).collect();
    let expected: Vec<_> = (1..8).rev().map(|n| (&keys[n][..], n as u64)).collect();
    assert_eq!(found, expected);
    assert!(waits.hot_keys.iter().all(|hot| hot.waits_min == hot.waits_max));
}

#[test]
fn a_call_that_does_not_wait_leaves_the_transaction_as_it_was() {
    let db = memory();
    let table = db.table("t").unwrap();
    db.transact("fill", |tx| tx.put(&table, b"k", b"1")).unwrap();
    let (mut holder, mut other) = (db.begin(), db.begin());
    holder.get_for_update(&table, b"k").unwrap();
    other.put(&table, b"mine", b"1").unwrap();
    for _ in 0..3 {
        let refused = other.get_for_update_with(&table, b"k", LockWait::Never);
        assert!(matches!(refused, Err(Error::WouldBlock { .. })));
        let refused = other.waiting(LockWait::Never, |tx| tx.delete(&table, b"k"));
        assert!(matches!(refused, Err(Error::WouldBlock { .. })));
    }
    holder.rollback().unwrap();
    let read = other.get_for_update_with(&table, b"k", LockWait::Never).unwrap();
    assert_eq!(read.as_deref(), Some(&b"1"[..]));
    other.commit().unwrap();
    assert_eq!(db.lock_waits(), LockWaits::default(), "no transaction waited");
}

/// The work of one or all workers: for each finished job the worker, and the number of claims.
#[derive(Default)]
struct Done {
    finished: BTreeMap<Vec<u8>, u32>,
    claims: u64,
}

#[test]
fn many_claimers_get_each_job_exactly_once() {
    const JOBS: u32 = 600;
    const WORKERS: u32 = 8;
    let db = Options::in_memory().cache_size(16 << 20).node_bytes(512).open("").unwrap();
    let (jobs, held) = (db.table("jobs").unwrap(), db.table("held").unwrap());
    let (report, reports) = mpsc::channel();
    thread::scope(|scope| {
        let (db, jobs, held) = (&db, &jobs, &held);
        // Jobs are inserted into gaps between other jobs while those are claimed.
        scope.spawn(move || {
            for n in 0..JOBS {
                let key = (n.wrapping_mul(0x9E37_79B1)).to_be_bytes();
                db.transact("add", |tx| tx.insert(jobs, key, [0; 20])).unwrap();
            }
        });
        for worker in 0..WORKERS {
            let report = report.clone();
            scope.spawn(move || report.send(claim_all(db, jobs, held, worker, JOBS)).unwrap());
        }
    });
    drop(report);
    let all: Vec<Done> = reports.iter().collect();
    let mut finished = BTreeMap::new();
    for (job, worker) in all.iter().flat_map(|done| &done.finished) {
        assert!(finished.insert(job.clone(), *worker).is_none(), "{job:?} was done twice");
    }
    assert_eq!(finished.len(), JOBS as usize, "a job was lost");
    let claims: u64 = all.iter().map(|done| done.claims).sum();
    assert!(claims > u64::from(JOBS), "some were given back and claimed again");
    let waits = db.lock_waits();
    let claimers = of_type(&waits, "claim");
    assert_eq!(claimers.waits, 0, "a claimer waited: {waits:?}");
    db.verify().unwrap();
}

/// Claims up to three jobs at a time, from the first one or from a random key on, and gives some
/// back, until all jobs are done.
fn claim_all(db: &Database, jobs: &Table, held: &Table, worker: u32, all: u32) -> Done {
    let mut done = Done::default();
    let (mut random, begun) = (worker, Instant::now());
    loop {
        assert!(begun.elapsed() < Duration::from_secs(120), "a job is lost");
        random = random.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        let (count, gives_back) = (1 + (random >> 28) as usize % 3, random >> 24 & 7 == 0);
        let claimed = db.transact("claim", |tx| {
            let scan = match random >> 20 & 1 {
                0 => tx.scan_for_update(jobs, ..),
                _ => tx.scan_for_update(jobs, (random >> 3).to_be_bytes()..),
            };
            let claimed: Vec<Vec<u8>> = scan
                .skip_locked()
                .take(count)
                .map(|entry| entry.map(|(key, _)| key))
                .collect::<Result<_, _>>()?;
            for job in &claimed {
                // Fails if another worker has the job: its owner has inserted this mark.
                tx.waiting(LockWait::Never, |tx| tx.insert(held, job, b""))?;
                tx.waiting(LockWait::Never, |tx| tx.delete(jobs, job))?;
            }
            if gives_back && !claimed.is_empty() { tx.abort("given back") } else { Ok(claimed) }
        });
        match claimed {
            Ok(claimed) => {
                done.claims += claimed.len() as u64;
                done.finished.extend(claimed.into_iter().map(|job| (job, worker)));
            }
            Err(Error::Aborted { .. }) => done.claims += 1,
            Err(error) => panic!("{error}"),
        }
        let count = |tx: &mut clearway::Transaction| {
            Ok(tx.scan(held, ..).skip_locked().filter(Result::is_ok).count())
        };
        if db.transact("look", count).unwrap() == all as usize {
            return done;
        }
    }
}

#[test]
fn absent_key_at_which_a_page_begins_is_locked_itself() {
    let db = memory();
    let t = db.table("t").unwrap();
    let locks_out = |key: &[u8], other: &[u8]| {
        let (mut first, mut second) = (db.begin(), db.begin());
        second.lock_wait(LockWait::Never);
        assert!(matches!(first.update(&t, key, b""), Err(Error::NotFound { .. })));
        match second.update(&t, other, b"") {
            Err(Error::NotFound { .. }) => false,
            Err(Error::WouldBlock { .. }) => true,
            result => panic!("{result:?}"),
        }
    };
    assert!(!locks_out(b"a", b"a"), "both share the gap");
    assert!(locks_out(b"", b""), "the empty key is the low fence of the first leaf");
    assert!(!locks_out(b"", b"a"), "its gap is free");
}
