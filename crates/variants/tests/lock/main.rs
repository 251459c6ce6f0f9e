//! The lock manager's tests under each variant of its parts, the product's included, and the tests
//! of single variants.

#[path = "../../../lock/tests/lock/cycles.rs"]
mod cycles;
#[path = "../../../lock/tests/lock/deadlocks.rs"]
mod deadlocks;
mod inherited;
#[path = "../../../lock/tests/lock/intents.rs"]
mod intents;
#[path = "../../../lock/tests/lock/methods.rs"]
mod methods;
#[path = "../../../lock/tests/lock/model.rs"]
mod model;
mod others;
#[path = "../../../lock/tests/lock/rig.rs"]
mod rig;
#[path = "../../../lock/tests/lock/victims.rs"]
mod victims;

use std::{sync::Arc, time::Duration};

use clearway_lock::{LockParts, LockTable};
use clearway_variants::lock::{
    DeadlockMethod, Digests, IntentMethod, LockVariant, LockVariants, VictimPolicy,
};

use rig::{Method, Step, ask, id, intend, options, owners, table};

/// The methods to find or prevent deadlocks.
fn methods(refresh: Duration) -> Vec<Method> {
    methods_under(refresh, VictimPolicy::Closer)
}

/// The same, each with all victim policies.
fn methods_with_policies(refresh: Duration) -> Vec<Method> {
    VictimPolicy::ALL.into_iter().flat_map(|victims| methods_under(refresh, victims)).collect()
}

fn methods_under(refresh: Duration, victims: VictimPolicy) -> Vec<Method> {
    let method = |deadlocks| -> Arc<dyn LockParts> {
        Arc::new(LockVariant { deadlocks, victims, refresh, ..LockVariant::default() })
    };
    let mut methods = vec![rig::exact(method(DeadlockMethod::Search))];
    let plain = Digests { confirm: false, ..Digests::default() };
    for shape in [Digests::default(), Digests::bloom(), plain] {
        for accepts_marked in [false, true] {
            let digests = Digests { accepts_marked, ..shape };
            methods.push(Method {
                is_exact: digests.confirm,
                is_exact_when_polled: !accepts_marked,
                // The same cycle is shown to each of its members.
                may_kill_all: !digests.confirm,
                ..rig::exact(method(DeadlockMethod::Dreadlocks(digests)))
            });
        }
    }
    let other = |deadlocks| Method {
        is_exact: false,
        is_exact_when_polled: false,
        ..rig::exact(method(deadlocks))
    };
    methods.push(Method {
        // Time may run out for all members alike, and only a poll can look at the clock. The
        // growing limit gets a former victim through.
        may_kill_all: true,
        needs_polls: true,
        losses_max: Some(30),
        ..other(DeadlockMethod::Timeout(Duration::from_millis(4)))
    });
    methods.push(other(DeadlockMethod::WoundWait));
    // It may try in vain for as long as an older one holds what it wants.
    methods.push(Method { losses_max: Some(5_000), ..other(DeadlockMethod::WaitDie) });
    methods
}

/// The victim policies, and who dies of two owners of which the first is the older and has the
/// longer pipeline, and the second closes the cycle.
fn policies() -> Vec<(Arc<dyn LockParts>, char)> {
    let dies = |policy| if policy == VictimPolicy::KillLong { 'a' } else { 'b' };
    let parts = |policy| -> Arc<dyn LockParts> { Arc::new(LockVariant::from(policy)) };
    VictimPolicy::ALL.into_iter().map(|policy| (parts(policy), dies(policy))).collect()
}

/// One table for each way to keep intent locks.
fn intent_tables() -> Vec<LockTable> {
    let table = |method| LockTable::new(options().lock_variant(method));
    IntentMethod::ALL.map(table).into()
}
