//! Victim selection, and protection from starvation.

use std::{
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    thread,
    time::Duration,
};

use clearway_base::{Error, Result, TxnId};
use clearway_lock::{
    DeadlockMethod, LockOptions, LockOwner, LockTable, Outcome, RangeMode, VictimPolicy, WaitLimit,
};

use crate::{Step, ask, id, methods::all_methods, options, owners};

use RangeMode as M;
use VictimPolicy::{Closer, KillLong, KillShort, KillYoung};

fn table(victims: VictimPolicy) -> LockTable {
    LockTable::new(LockOptions { victims, ..options() })
}

/// a and b wait for each other; a began first and has the longer pipeline, b closes the cycle.
fn pair(table: &LockTable) -> (LockOwner, LockOwner, Step) {
    let [mut a, mut b] = owners(table);
    for (n, owner) in [&mut a, &mut b].into_iter().enumerate() {
        owner.set_txn(TxnId(n as u64 + 1));
        owner.set_pipeline(10 - n as u64);
        assert_eq!(ask(table, owner, id(n as u32), M::XN), Step::Granted);
    }
    assert_eq!(ask(table, &mut a, id(1), M::XN), Step::Waits);
    let closing = ask(table, &mut b, id(0), M::XN);
    (a, b, closing)
}

#[test]
fn policies_choose_the_victim() {
    for (policy, dies) in [(Closer, 'b'), (KillShort, 'b'), (KillLong, 'a'), (KillYoung, 'b')] {
        let table = table(policy);
        let (mut a, mut b, closing) = pair(&table);
        let named = u64::from(dies == 'a');
        assert_eq!(table.stats().named, named);
        if dies == 'a' {
            assert_eq!(closing, Step::Waits);
            assert_eq!(ask(&table, &mut a, id(1), M::XN), Step::Dies);
            table.release_all(&mut a, None);
            assert_eq!(ask(&table, &mut b, id(0), M::XN), Step::Granted);
        } else {
            assert_eq!(closing, Step::Dies);
            assert_eq!(ask(&table, &mut a, id(1), M::XN), Step::Waits);
        }
        assert_eq!((table.stats().deadlocks, table.stats().false_deaths), (1, 0));
    }
}

#[test]
fn named_victim_whose_cycle_is_gone_lives() {
    let table = table(KillLong);
    let (mut a, mut b, closing) = pair(&table);
    assert_eq!(closing, Step::Waits);
    // Before a checks, b gives up, as at a time limit.
    table.cancel(&mut b);
    assert_eq!(ask(&table, &mut a, id(1), M::XN), Step::Waits);
    assert_eq!(table.stats().deadlocks, 0);
    // The mark is cleared: another cycle gets a victim of its own, and it is found.
    assert_eq!(ask(&table, &mut b, id(0), M::XN), Step::Waits);
    assert_eq!(ask(&table, &mut a, id(1), M::XN), Step::Dies);
}

#[test]
fn cycle_with_a_named_victim_gets_no_second_one() {
    // a and b are in one cycle, a is marked. Then c, for which only a waits, closes another one
    // through a.
    let table = table(KillLong);
    let [mut c] = owners(&table);
    assert_eq!(ask(&table, &mut c, id(7), M::SN), Step::Granted);
    let [mut a, mut b] = owners(&table);
    a.set_pipeline(10);
    assert_eq!(ask(&table, &mut a, id(0), M::XN), Step::Granted);
    assert_eq!(ask(&table, &mut b, id(7), M::SN), Step::Granted);
    assert_eq!(ask(&table, &mut a, id(7), M::XN), Step::Waits);
    assert_eq!(ask(&table, &mut b, id(0), M::SN), Step::Waits);
    assert_eq!(table.stats().named, 1);
    assert_eq!(ask(&table, &mut c, id(0), M::SN), Step::Waits);
    assert_eq!(table.stats().named, 1, "a's death breaks both");
    assert_eq!(ask(&table, &mut a, id(7), M::XN), Step::Dies);
    table.release_all(&mut a, None);
    assert_eq!(ask(&table, &mut b, id(0), M::SN), Step::Granted);
    assert_eq!(ask(&table, &mut c, id(0), M::SN), Step::Granted);
    assert_eq!(table.stats().deadlocks, 1);
}

/// Two readers of one key wait for its last reader's lock, who then wants to write: two cycles at
/// once, and each needs a victim.
#[test]
fn every_cycle_that_one_wait_closes_gets_a_victim() {
    for policy in [KillLong, Closer] {
        let table = table(policy);
        let [mut closer, mut a, mut b] = owners(&table);
        // The closer is spared under each: its pipeline is the shortest, and it has died before.
        closer.resume(closer.standing().after_loss());
        a.set_pipeline(10);
        b.set_pipeline(11);
        assert_eq!(ask(&table, &mut closer, id(0), M::XN), Step::Granted);
        for reader in [&mut a, &mut b] {
            assert_eq!(ask(&table, reader, id(1), M::SN), Step::Granted);
            assert_eq!(ask(&table, reader, id(0), M::XN), Step::Waits);
        }
        assert_eq!(ask(&table, &mut closer, id(1), M::XN), Step::Waits);
        assert_eq!(table.stats().named, 2, "{policy:?}");
        for reader in [&mut a, &mut b] {
            assert_eq!(ask(&table, reader, id(0), M::XN), Step::Dies, "{policy:?}");
            table.release_all(reader, None);
        }
        assert_eq!(ask(&table, &mut closer, id(1), M::XN), Step::Granted);
        assert_eq!(table.stats().deadlocks, 2);
    }
}

#[test]
fn former_victim_survives_who_closes_the_next_cycle() {
    for policy in [Closer, KillShort, KillLong, KillYoung] {
        let table = table(policy);
        let [mut a, mut b] = owners(&table);
        let standing = a.standing().after_loss();
        a.resume(standing);
        assert_eq!(a.standing().retries(), 1);
        for (n, owner) in [&mut a, &mut b].into_iter().enumerate() {
            assert_eq!(ask(&table, owner, id(n as u32), M::XN), Step::Granted);
        }
        // a, the former victim, closes the cycle, and b dies.
        assert_eq!(ask(&table, &mut b, id(0), M::XN), Step::Waits);
        assert_eq!(ask(&table, &mut a, id(1), M::XN), Step::Waits, "{policy:?}");
        assert_eq!(ask(&table, &mut b, id(0), M::XN), Step::Dies, "{policy:?}");
        table.release_all(&mut b, None);
        assert_eq!(ask(&table, &mut a, id(1), M::XN), Step::Granted);
        // The end of the transaction ends its priority.
        table.release_all(&mut a, None);
        assert_eq!(a.standing().retries(), 0);
    }
}

#[test]
fn wounds_are_felt_at_the_next_wait_and_end_with_the_transaction() {
    let deadlocks = DeadlockMethod::WoundWait;
    let table = LockTable::new(LockOptions { deadlocks, ..options() });
    let [mut old, mut young] = owners(&table);
    assert_eq!(ask(&table, &mut old, id(9), M::XN), Step::Granted);
    assert_eq!(ask(&table, &mut young, id(1), M::XN), Step::Granted);
    // The older one waits for the younger, which runs and is wounded.
    assert_eq!(ask(&table, &mut old, id(1), M::XN), Step::Waits);
    assert_eq!(ask(&table, &mut young, id(2), M::XN), Step::Granted, "it has not had to wait");
    let [mut third] = owners(&table);
    assert_eq!(ask(&table, &mut third, id(3), M::XN), Step::Granted);
    assert_eq!(ask(&table, &mut young, id(3), M::XN), Step::Dies);
    let lost = young.standing().after_loss();
    table.release_all(&mut young, None);
    assert_eq!(ask(&table, &mut old, id(1), M::XN), Step::Granted);
    // Its next transaction is not wounded; as another attempt it is older than the third.
    young.resume(lost);
    assert_eq!(ask(&table, &mut young, id(2), M::XN), Step::Granted);
    assert_eq!(ask(&table, &mut young, id(3), M::XN), Step::Waits);
    assert_eq!(ask(&table, &mut third, id(9), M::XN), Step::Dies);
}

#[test]
fn only_older_ones_wait_with_wait_die() {
    let deadlocks = DeadlockMethod::WaitDie;
    let table = LockTable::new(LockOptions { deadlocks, ..options() });
    let [mut old, mut young] = owners(&table);
    assert_eq!(ask(&table, &mut old, id(1), M::XN), Step::Granted);
    assert_eq!(ask(&table, &mut young, id(2), M::XN), Step::Granted);
    assert_eq!(ask(&table, &mut young, id(1), M::XN), Step::Dies);
    assert_eq!(table.stats().false_deaths, 1, "nobody waited for it");
    assert_eq!(ask(&table, &mut old, id(2), M::XN), Step::Waits);
    table.release_all(&mut young, None);
    assert_eq!(ask(&table, &mut old, id(2), M::XN), Step::Granted);
    // Before its first lock it may wait for any owner.
    assert_eq!(ask(&table, &mut young, id(1), M::XN), Step::Waits);
    table.cancel(&mut young);
}

/// Runs a transaction until it gets through, and counts how often it lost.
fn until_done(
    table: &LockTable,
    owner: &mut LockOwner,
    body: impl Fn(&mut LockOwner) -> Result<()>,
) -> u32 {
    let mut standing = None;
    loop {
        owner.set_txn(TxnId(1));
        standing.into_iter().for_each(|standing| owner.resume(standing));
        let end = body(owner);
        let lost = owner.standing().after_loss();
        table.release_all(owner, None);
        match end {
            Ok(()) => return lost.retries() - 1,
            Err(Error::Deadlock { .. }) => standing = Some(lost),
            Err(error) => panic!("unexpected {error}"),
        }
        thread::yield_now();
    }
}

fn lock(table: &LockTable, owner: &mut LockOwner, key: u32) -> Result<()> {
    if table.try_acquire(owner, id(key), M::XN) == Outcome::Denied {
        table.acquire(owner, id(key), M::XN, WaitLimit::Forever)?;
    }
    Ok(())
}

#[test]
fn long_transaction_gets_through_a_storm_that_closes_cycles_with_it() {
    const KEYS: u32 = 12;
    const STORM: u32 = 4;
    for deadlocks in all_methods() {
        for victims in [Closer, KillShort, KillLong, KillYoung] {
            let (refresh, buckets) = (Duration::from_millis(1), 64);
            let options = LockOptions { deadlocks, victims, refresh, buckets, ..options() };
            let table = LockTable::new(options);
            let (done, worst) = (AtomicBool::new(false), AtomicU32::new(0));
            let long = thread::scope(|scope| {
                for n in 0..STORM {
                    let (table, done, worst) = (&table, &done, &worst);
                    scope.spawn(move || {
                        let (mut owner, mut turn) = (table.owner(), n * 5);
                        while !done.load(Ordering::Relaxed) {
                            turn += 1;
                            // Pairs in descending order, against the long one's ascending order.
                            // Pipelines that make the storm look worth more, and less.
                            owner.set_pipeline(u64::from(turn));
                            let upper = 1 + turn % (KEYS - 1);
                            let lost = until_done(table, &mut owner, |owner| {
                                lock(table, owner, upper)?;
                                thread::yield_now();
                                lock(table, owner, upper - 1)
                            });
                            worst.fetch_max(lost, Ordering::Relaxed);
                        }
                    });
                }
                let mut owner = table.owner();
                let mut long = 0;
                for round in 0..4 {
                    owner.set_pipeline(if round % 2 == 0 { 0 } else { u64::MAX });
                    long = long.max(until_done(&table, &mut owner, |owner| {
                        (0..KEYS).try_for_each(|key| {
                            thread::yield_now();
                            lock(&table, owner, key)
                        })
                    }));
                }
                done.store(true, Ordering::Relaxed);
                long
            });
            assert!(table.is_quiescent());
            // By ages once for each step of each older former victim, at the very most; in truth
            // hardly ever twice. With `Timeout` it is the growing limit that gets them through.
            // `WaitDie` may try in vain for as long as an older one holds what it wants.
            let bound = match deadlocks {
                DeadlockMethod::WaitDie => 5_000,
                DeadlockMethod::Timeout(_) => 30,
                _ => STORM,
            };
            let worst = worst.into_inner();
            assert!(long <= bound && worst <= bound, "{deadlocks:?} {victims:?}: {long} {worst}");
        }
    }
}
