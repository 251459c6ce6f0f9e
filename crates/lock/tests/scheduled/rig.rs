//! Shared by the schedules of the lock manager, in this crate and in that of the variants.
#![allow(dead_code)] // Each test program uses a part of it.

use std::sync::{
    Arc,
    atomic::{AtomicI64, AtomicU64, Ordering::SeqCst},
};

use clearway_base::{Error, Lsn, Result, TreeId};
use clearway_lock::{
    IntentMode, LockId, LockOptions, LockOwner, LockParts, LockTable, Outcome, Part, RangeMode,
    ResourceId, WaitLimit,
};
use clearway_sync::{
    schedules::{check, random},
    thread,
};

pub(crate) const TABLE: ResourceId = ResourceId(0);
pub(crate) const MODES: [RangeMode; 5] =
    [RangeMode::SN, RangeMode::XN, RangeMode::NS, RangeMode::NX, RangeMode::XX];

/// A table with these parts, whose waiters spin without end or for a while.
pub(crate) fn table_of(parts: &Arc<dyn LockParts>) -> LockTable {
    let spin_rounds = if random(2) == 0 { u32::MAX } else { options().spin_rounds };
    LockTable::new(LockOptions { parts: parts.clone(), spin_rounds, ..options() })
}

/// Unrelated locks share buckets all the time.
pub(crate) fn table() -> LockTable {
    LockTable::new(options())
}

pub(crate) fn options() -> LockOptions {
    LockOptions { buckets: 2, intents: 1, wait_limit: None, spins: 1, ..LockOptions::default() }
}

pub(crate) fn id(n: u64) -> LockId {
    LockId::of(TreeId(1), &n.to_be_bytes())
}

/// Takes a lock as the tree does: tries, waits if denied, confirms.
pub(crate) fn lock(
    table: &LockTable,
    owner: &mut LockOwner,
    n: u64,
    mode: RangeMode,
) -> Result<()> {
    if table.try_acquire(owner, id(n), mode) == Outcome::Denied {
        table.acquire(owner, id(n), mode, WaitLimit::Forever)?;
        assert_eq!(table.try_acquire(owner, id(n), mode), Outcome::Granted);
    }
    Ok(())
}

/// Runs `body` with each owner on a thread of its own and counts the deadlocks' victims. Every
/// victim and every survivor releases its locks.
pub(crate) fn victims(
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
    assert!(table.is_quiescent(), "an owner left a request or a lock behind");
    deaths
}

/// Owners that hold one key each.
pub(crate) fn holders(table: &LockTable, count: u64) -> Vec<LockOwner> {
    let holder = |n| {
        let mut owner = table.owner();
        lock(table, &mut owner, n, RangeMode::XN).unwrap();
        owner
    };
    (0..count).map(holder).collect()
}

/// Enters (or leaves) what locks protect, and panics if another owner is there that must not be.
pub(crate) fn enter(cells: &[[AtomicI64; 2]], mine: &[RangeMode], sign: i64) {
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

/// Two rings through one owner, three owners of which any may be chosen as the victim: one death is
/// enough if it is that one's.
pub(crate) fn marked_victims_die_once(parts: &Arc<dyn LockParts>) {
    let parts = parts.clone();
    check(&format!("victims, {parts:?}"), 250, move || {
        let table = table_of(&parts);
        let mut owners = holders(&table, 3);
        for (n, owner) in owners.iter_mut().enumerate() {
            owner.set_pipeline(random(3));
            if n == random(6) as usize {
                owner.resume(owner.priority().after_loss());
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

/// Panics if two owners with incompatible modes use the resource at the same time.
pub(crate) fn share(users: &[AtomicI64; 5], mode: IntentMode, sign: i64) {
    use IntentMode::{IS, IX, S, SIX, X};
    let modes = [IS, IX, S, SIX, X];
    users[mode as usize].fetch_add(sign, SeqCst);
    for other in modes.into_iter().filter(|_| sign > 0) {
        let own = i64::from(other == mode);
        let met = users[other as usize].load(SeqCst) - own;
        assert!(met == 0 || mode.compatible(other), "{mode:?} met {other:?}");
    }
}

/// Transactions of the same owners one after the other: they exclude each other according to their
/// modes, absolute requests meet the tags of all writers, and no owner waits for a lock that no
/// transaction holds.
pub(crate) fn intent_locks_hold(parts: &Arc<dyn LockParts>) {
    use IntentMode::{IS, IX, S, SIX, X};
    let parts = parts.clone();
    check(&format!("intent locks, {parts:?}"), 1_500, move || {
        let table = LockTable::new(LockOptions { parts: parts.clone(), ..options() });
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
