//! The isolation specs of the transactions with other parts of the lock table.

#[path = "../../../txn/tests/isolation/driver.rs"]
mod driver;
#[path = "../../../txn/tests/isolation/files.rs"]
mod files;
#[path = "../../../txn/tests/rig/mod.rs"]
mod rig;
#[allow(dead_code)] // The tests of the transactions use all of it.
#[path = "../../../txn/tests/isolation/run.rs"]
mod run;
#[path = "../../../txn/tests/isolation/seat.rs"]
mod seat;
#[path = "../../../txn/tests/isolation/session.rs"]
mod session;
#[allow(dead_code)] // The tests of the transactions use all of it.
#[path = "../../../txn/tests/isolation/spec.rs"]
mod spec;

use std::time::Duration;

use clearway_variants::lock::{
    DeadlockMethod, Digests, IntentMethod, LockVariant, LockVariants, VictimPolicy,
};

use driver::Driver;
use files::{load, names};
use run::Locking;

/// Under other methods others may die, and what follows differs. But everybody comes to an end,
/// and where a method is exact each cycle costs one life, however it is found.
fn check_method(deadlocks: DeadlockMethod, victims: VictimPolicy) {
    let is_exact = match deadlocks {
        DeadlockMethod::Search => true,
        DeadlockMethod::Dreadlocks(digests) => digests.confirm,
        _ => false,
    };
    for name in ["deadlocks", "conversions"] {
        let (path, _, spec) = load(name);
        for permutation in &spec.permutations {
            let mut locking = Locking::default();
            let refresh = Duration::from_millis(1);
            let variant = LockVariant { deadlocks, victims, refresh, ..LockVariant::default() };
            locking.table = locking.table.lock_variant(variant);
            let run::Ran { events, stats, .. } =
                run::permutation(&spec, permutation, None, &locking);
            let deaths =
                |events: &[String]| events.iter().filter(|e| e.ends_with("deadlock")).count();
            let line = permutation.line;
            let place = format!("{}:{line}, {deadlocks:?}: {events:?}", path.display());
            if is_exact {
                assert_eq!(stats.deadlocks, deaths(&permutation.expected) as u64, "{place}");
            } else if deaths(&permutation.expected) > 0 {
                assert!(stats.deadlocks > 0, "{place}");
            }
        }
    }
}

#[test]
fn deadlocks_under_other_methods() {
    use VictimPolicy::Closer;
    for victims in VictimPolicy::ALL {
        check_method(DeadlockMethod::Search, victims);
        check_method(DeadlockMethod::Dreadlocks(Digests::default()), victims);
    }
    check_method(DeadlockMethod::Dreadlocks(Digests::bloom()), Closer);
    check_method(DeadlockMethod::Timeout(Duration::from_millis(3)), Closer);
    check_method(DeadlockMethod::WoundWait, Closer);
    check_method(DeadlockMethod::WaitDie, Closer);
}

/// Intent locks may be kept in any way, and awaited in any way: the outcomes are the same.
fn check_intents(method: IntentMethod) {
    for name in names() {
        let (path, _, spec) = load(&name);
        for driver in Driver::ALL {
            let mut locking = Locking { driver, ..Locking::default() };
            locking.table = locking.table.lock_variant(method);
            for permutation in &spec.permutations {
                let expected = &permutation.expected;
                let ran = run::permutation(&spec, permutation, Some(expected), &locking);
                let place = format!("{}:{}", path.display(), permutation.line);
                assert_eq!(&ran.events, expected, "{place}, {method:?}, {driver:?}");
            }
        }
    }
}

#[test]
fn intent_locks_in_the_lock_table_have_the_same_outcomes() {
    check_intents(IntentMethod::MainTable);
}

#[test]
fn inherited_intent_locks_have_the_same_outcomes() {
    check_intents(IntentMethod::Inherited);
}
