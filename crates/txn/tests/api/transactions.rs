//! Transactions on a running engine: what they see, keep and take back.

use std::{ops::Bound, sync::Arc, time::Duration};

use clearway_base::{Error, KeySample, LockName};
use clearway_disk::MemoryDisk;
use clearway_lock::{LockId, WaitLimit};
use clearway_tree::{Direction, ReadIntent};
use clearway_txn::{Engine, EngineOptions, RetryContext, Table, Transaction};

use crate::rig::{check, commit, contents, get, loser, open_with, options, put, start};

#[test]
fn committed_changes_are_seen_by_the_next() {
    let (_, engine, table) = start();
    let mut txn = engine.begin();
    txn.insert(&table, b"a", b"1").unwrap();
    assert!(!txn.put(&table, b"b", b"2").unwrap());
    assert_eq!(txn.get(&table, b"a").unwrap().unwrap(), b"1");
    let committed = txn.commit().unwrap();
    assert!(committed.wrote);
    engine.log().wait_durable(committed.ack).unwrap();

    let mut txn = engine.begin();
    assert!(txn.put(&table, b"b", b"3").unwrap());
    txn.update(&table, b"a", b"4").unwrap();
    assert!(matches!(txn.insert(&table, b"a", b"5"), Err(Error::DuplicateKey { .. })));
    assert!(matches!(txn.update(&table, b"z", b"5"), Err(Error::NotFound { .. })));
    assert!(matches!(txn.delete(&table, b"z"), Err(Error::NotFound { .. })));
    txn.insert(&table, b"c", b"5").unwrap();
    txn.delete(&table, b"b").unwrap();
    commit(&engine, txn);
    assert_eq!(get(&engine, &table, "a").as_deref(), Some("4"));
    assert_eq!(get(&engine, &table, "b"), None);
    assert_eq!(get(&engine, &table, "c").as_deref(), Some("5"));
    check(&engine);
}

#[test]
fn rollback_takes_everything_back() {
    let (_, engine, table) = start();
    for n in 0..200 {
        put(&engine, &table, &format!("k{n:03}"), &"v".repeat(n % 50));
    }
    let before = contents(&engine, &table);
    let mut txn = engine.begin();
    for n in 0..200 {
        let key = format!("k{n:03}");
        match n % 3 {
            0 => txn.delete(&table, key.as_bytes()).unwrap(),
            1 => txn.update(&table, key.as_bytes(), &[7; 60]).unwrap(),
            _ => txn.insert(&table, format!("{key}+").as_bytes(), b"new").unwrap(),
        }
    }
    txn.rollback().unwrap();
    assert_eq!(contents(&engine, &table), before);
    // Dropping is rolling back.
    let mut txn = engine.begin();
    txn.delete(&table, b"k000").unwrap();
    drop(txn);
    assert_eq!(contents(&engine, &table), before);
    check(&engine);
    assert_eq!(engine.stats().active, 0);
}

#[test]
fn savepoints_nest() {
    let (_, engine, table) = start();
    let mut txn = engine.begin();
    txn.insert(&table, b"a", b"1").unwrap();
    let outer = txn.savepoint().unwrap();
    txn.insert(&table, b"b", b"2").unwrap();
    let inner = txn.savepoint().unwrap();
    txn.delete(&table, b"a").unwrap();
    txn.rollback_to(&inner).unwrap();
    assert_eq!(txn.get(&table, b"a").unwrap().unwrap(), b"1");
    assert_eq!(txn.get(&table, b"b").unwrap().unwrap(), b"2");
    txn.update(&table, b"a", b"9").unwrap();
    txn.rollback_to(&outer).unwrap();
    assert!(matches!(txn.rollback_to(&inner), Err(Error::UnknownSavepoint)));
    assert!(matches!(engine.begin().rollback_to(&outer), Err(Error::UnknownSavepoint)));
    txn.insert(&table, b"c", b"3").unwrap();
    txn.rollback_to(&outer).unwrap();
    txn.insert(&table, b"d", b"4").unwrap();
    commit(&engine, txn);
    let keys: Vec<_> = contents(&engine, &table).into_keys().collect();
    assert_eq!(keys, [b"a", b"d"]);
}

#[test]
fn large_values_are_freed_when_no_transaction_wants_them() {
    let (_, engine, table) = start();
    let large = vec![1; 100_000];
    let mut txn = engine.begin();
    txn.insert(&table, b"big", &large).unwrap();
    commit(&engine, txn);
    let mut txn = engine.begin();
    txn.update(&table, b"big", &vec![2; 60_000]).unwrap();
    let savepoint = txn.savepoint().unwrap();
    txn.delete(&table, b"big").unwrap();
    txn.rollback_to(&savepoint).unwrap();
    assert_eq!(txn.get(&table, b"big").unwrap().unwrap().len(), 60_000);
    txn.rollback().unwrap();
    assert_eq!(engine.begin().get(&table, b"big").unwrap().unwrap(), large);
    check(&engine);
    let mut txn = engine.begin();
    txn.delete(&table, b"big").unwrap();
    commit(&engine, txn);
    check(&engine);
    let report = engine.verify().unwrap();
    assert_eq!(report.tables[1].report.overflow_pages, 0);
}

#[test]
fn lock_timeout_leaves_the_transaction_alive() {
    let (_, engine, table) = start();
    put(&engine, &table, "a", "1");
    let mut holder = engine.begin();
    holder.update(&table, b"a", b"2").unwrap();
    let mut waiter = engine.begin();
    waiter.insert(&table, b"b", b"1").unwrap();
    waiter.set_wait_limit(WaitLimit::NoWait);
    assert!(matches!(waiter.get(&table, b"a"), Err(Error::WouldBlock { .. })));
    waiter.set_wait_limit(WaitLimit::For(std::time::Duration::from_millis(5)));
    assert!(matches!(waiter.get(&table, b"a"), Err(Error::LockTimeout { .. })));
    assert!(waiter.is_active());
    holder.rollback().unwrap();
    assert_eq!(waiter.get(&table, b"a").unwrap().unwrap(), b"1");
    commit(&engine, waiter);
    assert_eq!(contents(&engine, &table).len(), 2);
}

/// Waits until a transaction waits for a lock, or `otherwise` holds.
fn until_a_lock_is_awaited(engine: &Engine, otherwise: impl Fn() -> bool) {
    while engine.stats().lock.waiting == 0 && !otherwise() {
        std::thread::yield_now();
    }
}

/// A transaction that did `first`, has lost a deadlock in `then`, and has been rolled back. The
/// other one of the deadlock holds `theirs`, and waits for `ours`, which `first` has locked.
fn loser_of(
    engine: &Arc<Engine>,
    table: &Table,
    [ours, theirs]: [&[u8]; 2],
    first: impl Fn(&mut Transaction),
    then: impl Fn(&mut Transaction) -> Result<(), Error>,
) -> RetryContext {
    // Who waits looks once more before it sleeps, so either of the two may be the victim.
    for _ in 0..ROUNDS {
        let (mut loser, mut other) = (engine.begin(), engine.begin());
        first(&mut loser);
        other.update(table, theirs, b"1").unwrap();
        let has_lost = std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                if !is_victim(other.update(table, ours, b"1")) {
                    commit(engine, other);
                }
            });
            until_a_lock_is_awaited(engine, || waiter.is_finished());
            let has_lost = is_victim(then(&mut loser));
            let lost = has_lost.then(|| loser.take_retry_context());
            drop(loser);
            waiter.join().unwrap();
            lost
        });
        if let Some(lost) = has_lost {
            return lost;
        }
    }
    panic!("it never lost");
}

/// Far more rounds than it takes until the right one of two is the victim.
const ROUNDS: usize = 1_000;

/// Whether an operation was refused because of a deadlock; nothing else may refuse it.
fn is_victim(result: Result<(), Error>) -> bool {
    match result {
        Ok(()) => false,
        Err(Error::Deadlock { .. }) => true,
        Err(error) => panic!("{error}"),
    }
}

/// A transaction that wrote `had`, has lost a deadlock for `refused`, and has been rolled back.
fn loser_for(engine: &Arc<Engine>, table: &Table, had: &[u8], refused: &[u8]) -> RetryContext {
    // (An update that changes nothing is not logged, and names nothing.)
    let first = |loser: &mut Transaction| loser.update(table, had, b"lost").unwrap();
    let then = |loser: &mut Transaction| loser.update(table, refused, b"lost");
    loser_of(engine, table, [had, refused], first, then)
}

/// Lets a transaction begin again that waits for the second of its locks, and another one close a
/// cycle with it. Returns the reported name of the lock that it waits for.
fn lock_in_a_cycle_with(engine: &Arc<Engine>, table: &Table, lost: &RetryContext) -> LockName {
    let [first, second] = in_canonical_order(table);
    // It waits for a while only: on a slow machine this takes more than one try.
    for _ in 0..ROUNDS {
        let mut other = engine.begin();
        other.update(table, second, b"2").unwrap();
        let again = std::thread::scope(|scope| {
            let again = scope.spawn(|| {
                let mut again = engine.begin();
                // It, too, may be the victim.
                is_victim(again.resume(lost));
                drop(again);
            });
            until_a_lock_is_awaited(engine, || again.is_finished());
            let closed = other.update(table, first, b"2");
            drop(other);
            closed
        });
        if let Err(Error::Deadlock { cycle: Some(cycle), .. }) = again {
            assert_eq!(cycle.members.len(), 2);
            return cycle.members[1].lock.clone();
        }
        is_victim(again);
    }
    panic!("it never lost");
}

/// "a" and "b" in the order in which a victim locks them first.
fn in_canonical_order(table: &Table) -> [&'static [u8]; 2] {
    let mut keys: [&[u8]; 2] = [b"a", b"b"];
    keys.sort_by_key(|key| LockId::of(table.id(), key));
    keys
}

#[test]
fn locks_of_a_victim_that_begins_again_have_names_in_deadlocks() {
    let (_, engine, table) = start();
    put(&engine, &table, "a", "0");
    put(&engine, &table, "b", "0");
    let [first, second] = in_canonical_order(&table);
    // What it waits for is what it was refused, and then what it had.
    for (had, refused) in [(first, second), (second, first)] {
        let lost = loser_for(&engine, &table, had, refused);
        let named = LockName { table: "t".into(), key: Some(KeySample::of(second)) };
        assert_eq!(lock_in_a_cycle_with(&engine, &table, &lost), named);
    }
}

#[test]
fn a_lock_that_was_only_read_is_reported_without_its_name() {
    let (_, engine, table) = start();
    put(&engine, &table, "a", "0");
    put(&engine, &table, "b", "0");
    let [first, second] = in_canonical_order(&table);
    let read = |loser: &mut Transaction, key| loser.get(&table, key).map(drop);
    let lost = loser_of(
        &engine,
        &table,
        [second, first],
        |loser| read(loser, second).unwrap(),
        |loser| read(loser, first),
    );
    let reported = lock_in_a_cycle_with(&engine, &table, &lost);
    assert_eq!(reported, LockName { table: "(of an earlier attempt)".into(), key: None });
}

#[test]
fn a_victim_that_begins_again_has_the_locks_that_it_needed() {
    for retries_lock_first in [true, false] {
        let options = EngineOptions { retries_lock_first, ..options() };
        let engine = open_with(MemoryDisk::new(), options);
        let table = engine.create_table("t").unwrap();
        for key in ["a", "b", "c"] {
            put(&engine, &table, key, "0");
        }
        let lost = loser(&engine, &table);
        let mut again = engine.begin();
        again.resume(&lost).unwrap();
        let mut other = engine.begin();
        other.set_wait_limit(WaitLimit::NoWait);
        other.update(&table, b"c", b"2").unwrap();
        for key in [b"a", b"b"] {
            let is_locked = matches!(other.get(&table, key), Err(Error::WouldBlock { .. }));
            assert_eq!(is_locked, retries_lock_first);
        }
        commit(&engine, other);
        again.update(&table, b"b", b"3").unwrap();
        commit(&engine, again);
        assert_eq!(get(&engine, &table, "b").as_deref(), Some("3"));
        check(&engine);
    }
}

#[test]
fn a_victim_does_not_wait_long_for_what_it_needed() {
    let (_, engine, table) = start();
    for key in ["a", "b", "c"] {
        put(&engine, &table, key, "0");
    }
    let lost = loser(&engine, &table);
    let mut holder = engine.begin();
    holder.update(&table, b"a", b"1").unwrap();
    holder.update(&table, b"b", b"1").unwrap();
    // It would wait for ever.
    let mut again = engine.begin();
    let waits = || engine.lock_waits().tables.iter().map(|table| table.counts.waits).sum::<u64>();
    let before = waits();
    again.resume(&lost).unwrap();
    again.set_wait_limit(WaitLimit::NoWait);
    assert!(matches!(again.get(&table, b"a"), Err(Error::WouldBlock { .. })));
    again.set_wait_limit(WaitLimit::For(Duration::from_millis(1)));
    assert!(matches!(again.get(&table, b"a"), Err(Error::LockTimeout { .. })));
    again.update(&table, b"c", b"1").unwrap();
    commit(&engine, again);
    commit(&engine, holder);
    assert_eq!(waits(), before + 1, "what was waited for in vain is no statement's wait");
}

#[test]
fn deadlock_victim_is_rolled_back_whole() {
    let (_, engine, table) = start();
    put(&engine, &table, "a", "0");
    put(&engine, &table, "b", "0");
    let barrier = std::sync::Barrier::new(2);
    let run = |first: &'static [u8], second: &'static [u8]| {
        let mut txn = engine.begin();
        txn.update(&table, first, b"1").unwrap();
        barrier.wait();
        match txn.update(&table, second, b"1") {
            Ok(()) => {
                commit(&engine, txn);
                true
            }
            Err(error) => {
                assert!(matches!(error, Error::Deadlock { txn: victim, .. } if victim == txn.id()));
                assert!(!txn.is_active());
                assert!(matches!(txn.get(&table, first), Err(Error::TransactionEnded)));
                assert!(matches!(txn.rollback(), Err(Error::TransactionEnded)));
                false
            }
        }
    };
    let survivors = std::thread::scope(|scope| {
        let one = scope.spawn(|| run(b"a", b"b"));
        let two = scope.spawn(|| run(b"b", b"a"));
        u32::from(one.join().unwrap()) + u32::from(two.join().unwrap())
    });
    assert_eq!(survivors, 1);
    assert!(contents(&engine, &table).values().all(|value| value == b"1"));
}

#[test]
fn cursors_go_both_ways_and_keep_phantoms_out() {
    let (_, engine, table) = start();
    for n in 0..100 {
        put(&engine, &table, &format!("{n:02}"), "v");
    }
    let mut txn = engine.begin();
    let (low, high) = (Bound::Included(b"20".to_vec()), Bound::Excluded(b"40".to_vec()));
    let mut cursor =
        txn.cursor(&table, low, high, Direction::Descending, ReadIntent::Read).unwrap();
    let mut keys = Vec::new();
    while let Some((key, _)) = cursor.next(&mut txn).unwrap() {
        keys.push(String::from_utf8(key).unwrap());
    }
    assert_eq!(keys, (20..40).rev().map(|n| format!("{n:02}")).collect::<Vec<_>>());
    let mut other = engine.begin();
    other.set_wait_limit(WaitLimit::NoWait);
    assert!(matches!(other.insert(&table, b"305", b"x"), Err(Error::WouldBlock { .. })));
    assert!(matches!(cursor.next(&mut other), Err(Error::TransactionEnded)));
    other.insert(&table, b"505", b"x").unwrap();
}

#[test]
fn handles_of_dropped_and_foreign_tables_are_unknown() {
    let (_, engine, table) = start();
    put(&engine, &table, "a", "1");
    let (_, other, _) = start();
    assert!(matches!(other.begin().get(&table, b"a"), Err(Error::UnknownTable { .. })));
    assert!(matches!(engine.create_table("t"), Err(Error::TableExists { .. })));
    assert!(matches!(engine.create_table(""), Err(Error::BadTableName { .. })));
    assert!(matches!(engine.open_table("u"), Err(Error::UnknownTable { .. })));
    engine.create_table("u").unwrap();
    assert_eq!(engine.tables(), ["t", "u"]);
    engine.drop_table("t").unwrap();
    assert_eq!(engine.tables(), ["u"]);
    assert!(matches!(engine.begin().get(&table, b"a"), Err(Error::UnknownTable { .. })));
    assert!(matches!(engine.drop_table("t"), Err(Error::UnknownTable { .. })));
    let again = engine.create_table("t").unwrap();
    assert_ne!(again.id(), table.id());
    assert!(contents(&engine, &again).is_empty());
    check(&engine);
}

#[test]
fn drop_waits_for_the_tables_users() {
    let (_, engine, table) = start();
    let mut user = engine.begin();
    user.insert(&table, b"a", b"1").unwrap();
    std::thread::scope(|scope| {
        let dropper = scope.spawn(|| engine.drop_table("t"));
        std::thread::sleep(std::time::Duration::from_millis(30));
        assert!(!dropper.is_finished());
        user.insert(&table, b"b", b"1").unwrap();
        commit(&engine, user);
        dropper.join().unwrap().unwrap();
    });
    check(&engine);
}
