//! The lock manager with its variants.

#[path = "../../../lock/tests/scheduled/rig.rs"]
mod rig;

use std::{sync::Arc, time::Duration};

use clearway_lock::{IntentMode, LockParts, RangeMode, WaitLimit};
use clearway_sync::schedules::{check, random};
use clearway_variants::lock::{DeadlockMethod, Digests, IntentMethod, LockVariant, VictimPolicy};

use rig::{MODES, TABLE, holders, lock, victims};

/// The methods beside `Search`, which all scenarios of the lock manager run under. Time does not
/// pass here: a time-out of zero ends the wait of every owner that holds something.
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

fn parts(deadlocks: DeadlockMethod, victims: VictimPolicy) -> Arc<dyn LockParts> {
    Arc::new(LockVariant { deadlocks, victims, ..LockVariant::default() })
}

#[test]
fn rings_end_under_every_method() {
    for method in other_methods() {
        check(&format!("ring, {method:?}"), 250, move || {
            let table = rig::table_of(&parts(method, VictimPolicy::Closer));
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
            let table = rig::table_of(&parts(method, VictimPolicy::Closer));
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
fn marked_victims_die_once() {
    let digests = DeadlockMethod::Dreadlocks(Digests::default());
    for method in [DeadlockMethod::Search, digests] {
        for policy in VictimPolicy::ALL {
            rig::marked_victims_die_once(&parts(method, policy));
        }
    }
}

#[test]
fn intent_locks_hold_however_they_are_kept() {
    for method in IntentMethod::ALL {
        let parts: Arc<dyn LockParts> = Arc::new(LockVariant::from(method));
        rig::intent_locks_hold(&parts);
    }
}
