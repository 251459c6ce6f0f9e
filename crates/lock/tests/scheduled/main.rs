//! The lock manager under many schedules: real threads' code, blocking for as long as it takes, on
//! shuttle's threads. Nothing here has a time limit but the tests of time limits, so a lost wake-up
//! or a missed deadlock is a hang, which shuttle reports with the schedule.
#![cfg(shuttle)]

mod rig;

use std::sync::{
    Arc,
    atomic::{AtomicI64, AtomicU64, Ordering::SeqCst},
};
use std::task::{Context, Poll, Waker};

use clearway_base::{Error, Lsn};
use clearway_lock::{
    IntentMode, LockOptions, LockParts, LockTable, RangeMode, WaitLimit, parts::ProductLockParts,
};
use clearway_sync::{
    schedules::{check, random},
    thread,
};

use rig::{MODES, TABLE, enter, holders, id, lock, options, share, table, victims};

#[test]
fn random_locks_exclude_each_other_and_every_wait_ends() {
    check("random locks", 3_000, || {
        const KEYS: usize = 3;
        let table = table();
        let cells: Arc<[[AtomicI64; 2]; KEYS]> = Arc::default();
        let owners = (0..3).map(|_| table.owner()).collect();
        let shared = table.clone();
        victims(&table, owners, move |_, owner| {
            let mut mine = [RangeMode::NN; KEYS];
            for _ in 0..3 {
                let key = random(KEYS as u64) as usize;
                let mode = MODES[random(MODES.len() as u64) as usize];
                lock(&shared, owner, key as u64, mode)?;
                mine[key] = mine[key].supremum(mode);
            }
            enter(&*cells, &mine, 1);
            thread::yield_now();
            enter(&*cells, &mine, -1);
            Ok(())
        });
    });
}

/// Tasks queue up for the keys of a ring and withdraw, while its owners queue up and search. They
/// wait for the ring, which does not wait for what they hold: it has its one victim, and no task is
/// one. If a withdrawal hid the cycle, the ring would hang.
#[test]
fn withdrawals_beside_a_ring_cost_no_other_victim() {
    check("withdrawals", 2_500, || {
        let table = table();
        let owners = holders(&table, 4);
        let shared = table.clone();
        let died = victims(&table, owners, move |n, owner| {
            if n < 2 {
                return lock(&shared, owner, 1 - n as u64, RangeMode::XN);
            }
            let mut cx = Context::from_waker(Waker::noop());
            for _ in 0..2 {
                let (key, mode) = (id(random(2)), [RangeMode::XN, RangeMode::SN][n - 2]);
                if let Poll::Ready(result) = shared.poll_acquire(owner, key, mode, &mut cx) {
                    return result;
                }
                thread::yield_now();
                shared.cancel(owner);
            }
            Ok(())
        });
        assert_eq!(died, 1);
    });
}

#[test]
fn total_order_has_no_victim() {
    check("total order", 2_500, || {
        let table = table();
        let owners = (0..4).map(|_| table.owner()).collect();
        let shared = table.clone();
        let died = victims(&table, owners, move |_, owner| {
            for key in 0..3 {
                if random(3) > 0 {
                    let mode = if random(2) == 0 { RangeMode::XX } else { RangeMode::SN };
                    lock(&shared, owner, key, mode)?;
                }
            }
            Ok(())
        });
        assert_eq!(died, 0);
    });
}

#[test]
fn ring_of_three_costs_one_victim() {
    check("ring of three", 2_500, || {
        let table = table();
        let owners = holders(&table, 3);
        let shared = table.clone();
        let died = victims(&table, owners, move |n, owner| {
            lock(&shared, owner, (n as u64 + 1) % 3, RangeMode::XN)
        });
        assert_eq!(died, 1);
    });
}

#[test]
fn two_rings_cost_two_victims_and_a_bystander_lives() {
    check("two rings", 1_500, || {
        let table = table();
        let mut owners = holders(&table, 4);
        owners.push(table.owner());
        let shared = table.clone();
        let died = victims(&table, owners, move |n, owner| {
            // 0 ⇄ 1, 2 ⇄ 3, and the last waits for a member of each.
            let wanted = [1, 0, 3, 2].get(n);
            let Some(&wanted) = wanted else {
                lock(&shared, owner, 0, RangeMode::SN).expect("it is in no cycle");
                return lock(&shared, owner, 2, RangeMode::SN);
            };
            lock(&shared, owner, wanted, RangeMode::XN)
        });
        // The bystander holds what it was granted while it waits: it can close no other cycle,
        // since the members want nothing of it except key 0, which a member holds.
        assert!((2..=3).contains(&died), "{died}");
    });
}

#[test]
fn conversions_of_one_key_leave_one_survivor() {
    check("conversions", 2_500, || {
        let table = table();
        let mut owners: Vec<_> = (0..3).map(|_| table.owner()).collect();
        for owner in &mut owners {
            lock(&table, owner, 1, RangeMode::SN).unwrap();
        }
        let shared = table.clone();
        let died = victims(&table, owners, move |_, owner| lock(&shared, owner, 1, RangeMode::XN));
        // Any two can wait for each other: each cycle has one victim.
        assert!((1..=2).contains(&died), "{died}");
    });
}

#[test]
fn upgrades_of_intents_leave_one_survivor() {
    check("upgrades", 2_500, || {
        let table = table();
        let mut owners: Vec<_> = (0..3).map(|_| table.owner()).collect();
        for owner in &mut owners[..2] {
            table.acquire_intent(owner, TABLE, IntentMode::IX, WaitLimit::Forever).unwrap();
        }
        let shared = table.clone();
        let died = victims(&table, owners, move |n, owner| {
            let mode = if n < 2 { IntentMode::X } else { IntentMode::IS };
            shared.acquire_intent(owner, TABLE, mode, WaitLimit::Forever)
        });
        assert_eq!(died, 1);
    });
}

#[test]
fn intents_and_keys_mixed_end() {
    check("intents and keys", 2_000, || {
        let table = table();
        let owners = (0..3).map(|_| table.owner()).collect();
        let shared = table.clone();
        victims(&table, owners, move |_, owner| {
            let modes = [IntentMode::IS, IntentMode::IX, IntentMode::S, IntentMode::X];
            for _ in 0..2 {
                let mode = modes[random(4) as usize];
                shared.acquire_intent(owner, TABLE, mode, WaitLimit::Forever)?;
                lock(&shared, owner, random(2), MODES[random(5) as usize])?;
            }
            Ok(())
        });
    });
}

/// A limit of zero ends a wait at any of its steps; what it leaves must be nothing.
#[test]
fn waiters_that_give_up_leave_nothing() {
    check("time limits", 2_500, || {
        let table = table();
        let owners = (0..3).map(|_| table.owner()).collect();
        let shared = table.clone();
        victims(&table, owners, move |n, owner| {
            let limit =
                if n == 0 { WaitLimit::Forever } else { WaitLimit::For(Default::default()) };
            for _ in 0..2 {
                let mode = if random(2) == 0 { IntentMode::X } else { IntentMode::IX };
                let got = shared
                    .acquire_intent(owner, TABLE, mode, limit)
                    .and_then(|()| shared.acquire(owner, id(random(2)), RangeMode::XN, limit));
                match got {
                    Ok(()) | Err(Error::LockTimeout { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        });
        assert!(table.stats().deadlocks <= 2);
    });
}

/// The protected value identifies the commit that wrote it; a reader meets at least its tag.
#[test]
fn readers_meet_the_tag_of_what_they_read() {
    check("tags", 2_500, || {
        let (table, written, log) = (table(), Arc::new(AtomicU64::new(0)), AtomicU64::new(1));
        let log = Arc::new(log);
        let writers = [0, 1].map(|_| {
            let (table, written, log) = (table.clone(), written.clone(), log.clone());
            thread::spawn(move || {
                let mut owner = table.owner();
                lock(&table, &mut owner, 7, RangeMode::XN).unwrap();
                let commit = log.fetch_add(1, SeqCst) + 1;
                written.store(commit, SeqCst);
                table.release_all(&mut owner, Some(Lsn(commit)));
            })
        });
        let mut reader = table.owner();
        for mode in [RangeMode::SN, RangeMode::XN] {
            lock(&table, &mut reader, 7, mode).unwrap();
            assert!(reader.max_tag().0 >= written.load(SeqCst));
            table.release_all(&mut reader, None);
        }
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
}

#[test]
fn marked_victims_die_once() {
    let product: Arc<dyn LockParts> = Arc::new(ProductLockParts);
    rig::marked_victims_die_once(&product);
}

#[test]
fn intent_locks_hold() {
    let product: Arc<dyn LockParts> = Arc::new(ProductLockParts);
    rig::intent_locks_hold(&product);
}
