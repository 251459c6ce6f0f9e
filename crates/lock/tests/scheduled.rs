//! The lock manager under many schedules: real threads' code, blocking for as long as it takes, on
//! shuttle's threads. Nothing here has a time limit but the tests of time limits, so a lost wake-up
//! or a missed deadlock is a hang, which shuttle reports with the schedule.
#![cfg(shuttle)]

use std::sync::{
    Arc,
    atomic::{AtomicI64, AtomicU64, Ordering::SeqCst},
};
use std::time::Duration;

use clearway_base::{Error, Lsn, Result, TreeId};
use clearway_lock::{
    DeadlockMethod, Digests, IntentMethod, IntentMode, LockId, LockOptions, LockOwner, LockTable,
    Outcome, Part, RangeMode, ResourceId, VictimPolicy, WaitLimit, WaitPolicy,
};
use clearway_sync::{
    schedules::{check, random},
    thread,
};

const TABLE: ResourceId = ResourceId(0);
const MODES: [RangeMode; 5] =
    [RangeMode::SN, RangeMode::XN, RangeMode::NS, RangeMode::NX, RangeMode::XX];

/// The methods beside `Search`, which all scenarios run under. Time does not pass here: a time-out
/// of zero ends the wait of every owner that holds something.
fn other_methods() -> [DeadlockMethod; 6] {
    let plain = Digests { confirm: false, ..Digests::default() };
    [
        DeadlockMethod::Dreadlocks(Digests::default()),
        DeadlockMethod::Dreadlocks(Digests::bloom()),
        DeadlockMethod::Dreadlocks(plain),
        DeadlockMethod::Timeout(Duration::ZERO),
        DeadlockMethod::WoundWait,
        DeadlockMethod::WaitDie,
    ]
}

/// Whether the method has no victims without a deadlock.
fn is_exact(method: DeadlockMethod) -> bool {
    matches!(method, DeadlockMethod::Dreadlocks(digests) if digests.confirm)
}

fn table_with(deadlocks: DeadlockMethod, victims: VictimPolicy) -> LockTable {
    let waiting = if random(2) == 0 { WaitPolicy::Spin } else { WaitPolicy::Hybrid };
    LockTable::new(LockOptions { deadlocks, victims, waiting, ..options() })
}

/// Unrelated locks share buckets all the time.
fn table() -> LockTable {
    LockTable::new(options())
}

fn options() -> LockOptions {
    LockOptions { buckets: 2, intents: 1, wait_limit: None, spins: 1, ..LockOptions::default() }
}

fn id(n: u64) -> LockId {
    LockId::of(TreeId(1), &n.to_be_bytes())
}

/// Takes a lock as the tree does: tries, waits if denied, confirms.
fn lock(table: &LockTable, owner: &mut LockOwner, n: u64, mode: RangeMode) -> Result<()> {
    if table.try_acquire(owner, id(n), mode) == Outcome::Denied {
        table.acquire(owner, id(n), mode, WaitLimit::Forever)?;
        assert_eq!(table.try_acquire(owner, id(n), mode), Outcome::Granted);
    }
    Ok(())
}

/// Runs `body` with each owner on a thread of its own and counts the deadlocks' victims. Every
/// victim and every survivor releases its locks.
fn victims(
    table: &LockTable,
    owners: Vec<LockOwner>,
    body: impl Fn(usize, &mut LockOwner) -> Result<()> + Send + Sync + 'static,
) -> u64 {
    let body = Arc::new(body);
    let run = |(n, mut owner): (usize, LockOwner)| {
        let (table, body) = (table.clone(), body.clone());
        thread::spawn(move || {
            let died = match body(n, &mut owner) {
                Ok(()) => 0,
                Err(Error::Deadlock { .. }) => 1,
                Err(error) => panic!("unexpected {error}"),
            };
            table.release_all(&mut owner, Some(Lsn(1)));
            died
        })
    };
    let threads: Vec<_> = owners.into_iter().enumerate().map(run).collect();
    let deaths = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert_eq!(table.stats().deadlocks, deaths);
    assert!(table.is_quiescent(), "somebody left a request or a lock behind");
    deaths
}

/// Owners that hold one key each.
fn holders(table: &LockTable, count: u64) -> Vec<LockOwner> {
    let holder = |n| {
        let mut owner = table.owner();
        lock(table, &mut owner, n, RangeMode::XN).unwrap();
        owner
    };
    (0..count).map(holder).collect()
}

/// Enters (or leaves) what locks protect, and panics if another owner is there that must not be.
fn enter(cells: &[[AtomicI64; 2]], mine: &[RangeMode], sign: i64) {
    for (cell, mode) in cells.iter().zip(mine) {
        for (count, part) in cell.iter().zip([mode.key(), mode.gap()]) {
            let (step, alone) = match part {
                Part::N => continue,
                Part::S => (1, false),
                Part::X => (-1_000, true),
            };
            let before = count.fetch_add(sign * step, SeqCst);
            assert!(sign < 0 || if alone { before == 0 } else { before >= 0 }, "met {before}");
        }
    }
}

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

/// Panics if two owners with incompatible modes use the resource at the same time.
fn share(users: &[AtomicI64; 5], mode: IntentMode, sign: i64) {
    use IntentMode::{IS, IX, S, SIX, X};
    let modes = [IS, IX, S, SIX, X];
    users[mode as usize].fetch_add(sign, SeqCst);
    for other in modes.into_iter().filter(|_| sign > 0) {
        let own = i64::from(other == mode);
        let met = users[other as usize].load(SeqCst) - own;
        assert!(met == 0 || mode.compatible(other), "{mode:?} met {other:?}");
    }
}

/// Transactions of the same owners one after the other, with each method for intent locks: they
/// exclude each other according to their modes, absolute requests meet the tags of all writers, and
/// no owner waits for a lock that was only passed on.
#[test]
fn intent_locks_hold_however_they_are_kept() {
    use IntentMode::{IS, IX, S, SIX, X};
    for method in [IntentMethod::Lightweight, IntentMethod::MainTable, IntentMethod::Inherited] {
        check("ways to keep intent locks", 1_500, move || {
            let table = LockTable::new(LockOptions { intent_locks: method, ..options() });
            let users: Arc<[AtomicI64; 5]> = Arc::default();
            let written = Arc::new(AtomicU64::new(0));
            let owners = (0..3).map(|_| table.owner()).collect();
            let shared = table.clone();
            victims(&table, owners, move |_, owner| {
                for _ in 0..3 {
                    let mode = [IS, IX, IX, S, SIX, X][random(6) as usize];
                    shared.acquire_intent(owner, TABLE, mode, WaitLimit::Forever)?;
                    share(&users, mode, 1);
                    if mode.is_absolute() {
                        assert!(owner.max_tag().0 >= written.load(SeqCst), "a commit was missed");
                    }
                    let mut commit = None;
                    if matches!(mode, IX | SIX | X) {
                        commit = Some(Lsn(written.fetch_add(1, SeqCst) + 1));
                    }
                    thread::yield_now();
                    share(&users, mode, -1);
                    shared.release_all(owner, commit);
                }
                Ok(())
            });
        });
    }
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
fn rings_end_under_every_method() {
    for method in other_methods() {
        check(&format!("ring, {method:?}"), 250, move || {
            let table = table_with(method, VictimPolicy::Closer);
            let owners = holders(&table, 3);
            let shared = table.clone();
            let died = victims(&table, owners, move |n, owner| {
                lock(&shared, owner, (n as u64 + 1) % 3, RangeMode::XN)
            });
            assert!(died == 1 || (!is_exact(method) && died > 1), "{died}");
            assert!(table.stats().false_deaths == 0 || !is_exact(method));
        });
    }
}

#[test]
fn random_locks_end_under_every_method() {
    for method in other_methods() {
        check(&format!("random, {method:?}"), 200, move || {
            let table = table_with(method, VictimPolicy::Closer);
            let owners = (0..3).map(|_| table.owner()).collect();
            let shared = table.clone();
            victims(&table, owners, move |_, owner| {
                for _ in 0..3 {
                    let mode = MODES[random(MODES.len() as u64) as usize];
                    lock(&shared, owner, random(3), mode)?;
                    if random(4) == 0 {
                        let mode = if random(2) == 0 { IntentMode::X } else { IntentMode::IX };
                        shared.acquire_intent(owner, TABLE, mode, WaitLimit::Forever)?;
                    }
                }
                Ok(())
            });
        });
    }
}

#[test]
fn named_victims_die_once() {
    use VictimPolicy::{Closer, KillLong, KillShort, KillYoung};
    let digests = DeadlockMethod::Dreadlocks(Digests::default());
    for method in [DeadlockMethod::Search, digests] {
        for policy in [Closer, KillShort, KillLong, KillYoung] {
            check(&format!("victims, {method:?}, {policy:?}"), 250, move || {
                // Two rings through one owner: one death is enough if it is that one's.
                let table = table_with(method, policy);
                let mut owners = holders(&table, 3);
                for (n, owner) in owners.iter_mut().enumerate() {
                    owner.set_pipeline(random(3));
                    if n == random(6) as usize {
                        owner.resume(owner.standing().after_loss());
                    }
                    lock(&table, owner, 9, RangeMode::SN).unwrap();
                }
                let shared = table.clone();
                let died = victims(&table, owners, move |n, owner| match n {
                    0 => lock(&shared, owner, 9, RangeMode::XN),
                    n => lock(&shared, owner, (n as u64 + 1) % 3, RangeMode::XN),
                });
                assert!((1..=2).contains(&died), "{died}");
                assert_eq!(table.stats().false_deaths, 0);
            });
        }
    }
}
