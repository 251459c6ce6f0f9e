//! Threads with infinite limits: a lost wake-up or a missed deadlock is a hang, a wrong grant a
//! failed assertion, a forgotten request a table that is not empty at the end.

use std::{
    sync::atomic::{AtomicI64, AtomicU64, Ordering},
    thread,
};

use clearway_base::{Error, Lsn};
use clearway_lock::{
    IntentMode, LockOptions, LockOwner, LockTable, Outcome, RangeMode, ResourceId, WaitLimit,
};
use clearway_testkit::Random;

use crate::{id, table};

/// Takes a lock as the tree does: tries, waits if denied, and confirms.
fn lock(table: &LockTable, owner: &mut LockOwner, n: u32, mode: RangeMode) -> Result<(), Error> {
    if table.try_acquire(owner, id(n), mode) == Outcome::Denied {
        table.acquire(owner, id(n), mode, WaitLimit::Forever)?;
        assert_eq!(table.try_acquire(owner, id(n), mode), Outcome::Granted);
    }
    Ok(())
}

fn on_threads(threads: u64, body: impl Fn(u64) + Sync) {
    thread::scope(|scope| {
        let body = &body;
        (0..threads).for_each(|n| drop(scope.spawn(move || body(n))));
    });
}

#[test]
fn random_locks_lose_no_wakeup_and_exclude_each_other() {
    const KEYS: usize = 6;
    // For each key and part: readers counted upwards, a writer as −1000.
    let cells: Vec<[AtomicI64; 2]> = (0..KEYS).map(|_| Default::default()).collect();
    let table = table();
    let deaths = AtomicU64::new(0);
    let modes = [RangeMode::SN, RangeMode::XN, RangeMode::NS, RangeMode::NX, RangeMode::XX];
    on_threads(6, |seed| {
        let (mut random, mut owner) = (Random::new(seed * 77 + 5), table.owner());
        for _ in 0..6_000 {
            let mut mine = [RangeMode::NN; KEYS];
            for _ in 0..1 + random.below(4) {
                let key = random.below(KEYS as u64) as usize;
                let mode = modes[random.below(modes.len() as u64) as usize];
                match lock(&table, &mut owner, key as u32, mode) {
                    Ok(()) => mine[key] = mine[key].supremum(mode),
                    Err(Error::Deadlock { .. }) => {
                        deaths.fetch_add(1, Ordering::Relaxed);
                        break;
                    }
                    Err(error) => panic!("unexpected {error}"),
                }
            }
            enter(&cells, &mine, 1);
            if random.below(8) == 0 {
                thread::yield_now();
            }
            enter(&cells, &mine, -1);
            table.release_all(&mut owner, Some(Lsn(1)));
        }
    });
    assert!(table.is_quiescent());
    assert_eq!(table.stats().deadlocks, deaths.into_inner());
    assert_eq!(table.stats().timeouts, 0);
}

/// Enters (or leaves) what the locks protect, and panics if another owner is there that must not
/// be.
fn enter(cells: &[[AtomicI64; 2]], mine: &[RangeMode], sign: i64) {
    use clearway_lock::Part;
    for (cell, mode) in cells.iter().zip(mine) {
        for (count, part) in cell.iter().zip([mode.key(), mode.gap()]) {
            let (step, alone) = match part {
                Part::N => continue,
                Part::S => (1, false),
                Part::X => (-1_000, true),
            };
            let before = count.fetch_add(sign * step, Ordering::SeqCst);
            if sign > 0 {
                assert!(if alone { before == 0 } else { before >= 0 }, "{part:?} met {before}");
            }
        }
    }
}

#[test]
fn sleepers_are_woken_at_every_handover() {
    // No spinning: nearly every lock is handed to a thread that sleeps or is about to.
    let table = LockTable::new(LockOptions { buckets: 2, spins: 0, ..Default::default() });
    on_threads(3, |_| {
        let mut owner = table.owner();
        for _ in 0..15_000 {
            lock(&table, &mut owner, 1, RangeMode::XN).expect("one lock makes no cycle");
            table.release_all(&mut owner, None);
            table.acquire(&mut owner, id(2), RangeMode::XX, WaitLimit::Forever).unwrap();
            table.release(&mut owner, id(2));
        }
    });
    assert!(table.is_quiescent());
}

#[test]
fn ordered_acquisition_never_meets_a_deadlock() {
    let table = table();
    on_threads(6, |seed| {
        let (mut random, mut owner) = (Random::new(seed + 900), table.owner());
        for _ in 0..4_000 {
            let mut key = 0;
            while key < 10 {
                key += 1 + random.below(4) as u32;
                let mode = if random.below(3) == 0 { RangeMode::XX } else { RangeMode::SN };
                lock(&table, &mut owner, key, mode).expect("a total order has no cycle");
            }
            table.release_all(&mut owner, None);
        }
    });
    assert!(table.is_quiescent());
    assert_eq!(table.stats().deadlocks, 0);
}

#[test]
fn conversions_of_a_hot_key_end_with_one_victim_each() {
    let table = table();
    let (commits, deaths) = (AtomicU64::new(0), AtomicU64::new(0));
    on_threads(4, |_| {
        let mut owner = table.owner();
        for _ in 0..2_000 {
            let both = lock(&table, &mut owner, 1, RangeMode::SN)
                .and_then(|()| lock(&table, &mut owner, 1, RangeMode::XN));
            let count = if both.is_ok() { &commits } else { &deaths };
            count.fetch_add(1, Ordering::Relaxed);
            table.release_all(&mut owner, None);
        }
    });
    let (commits, deaths) = (commits.into_inner(), deaths.into_inner());
    assert_eq!(commits + deaths, 8_000);
    assert_eq!(table.stats().deadlocks, deaths);
    // At most three of four can die for one that goes on; fewer, since one victim breaks a cycle
    // and the others are in it only if they still wait for two.
    assert!(commits >= 2_000, "{commits} commits, {deaths} deaths");
    assert!(table.is_quiescent());
}

#[test]
fn intent_and_range_locks_mixed_end_without_time_limits() {
    let table = LockTable::new(LockOptions { buckets: 8, intents: 4, ..Default::default() });
    let modes = [IntentMode::IS, IntentMode::IX, IntentMode::IX, IntentMode::S, IntentMode::X];
    on_threads(6, |seed| {
        let (mut random, mut owner) = (Random::new(seed * 31), table.owner());
        for _ in 0..3_000 {
            for _ in 0..3 {
                let resource = ResourceId(random.below(2) as u32);
                let mode = modes[random.below(modes.len() as u64) as usize];
                let end = table
                    .acquire_intent(&mut owner, resource, mode, WaitLimit::Forever)
                    .and_then(|()| lock(&table, &mut owner, random.below(4) as u32, RangeMode::XN));
                if let Err(error) = end {
                    assert!(matches!(error, Error::Deadlock { .. }), "unexpected {error}");
                    break;
                }
            }
            table.release_all(&mut owner, Some(Lsn(1)));
        }
    });
    assert!(table.is_quiescent());
    assert_eq!(table.stats().timeouts, 0);
}

#[test]
fn short_limits_leave_an_empty_table() {
    let table = table();
    on_threads(6, |seed| {
        let (mut random, mut owner) = (Random::new(seed + 4), table.owner());
        for _ in 0..300 {
            for _ in 0..3 {
                let limit = WaitLimit::For(std::time::Duration::from_micros(random.below(60)));
                let key = id(random.below(3) as u32);
                _ = table.acquire(&mut owner, key, RangeMode::XN, limit);
                let mode = if random.below(4) == 0 { IntentMode::X } else { IntentMode::IX };
                _ = table.acquire_intent(&mut owner, ResourceId(0), mode, limit);
            }
            thread::yield_now();
            table.release_all(&mut owner, None);
        }
    });
    assert!(table.is_quiescent());
}
