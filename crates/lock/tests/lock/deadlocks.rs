//! Every cycle is found by one of its members, and only cycles are found, with every method that
//! guarantees it. The other methods, and waiters that block, are tested in `methods`.

use std::{thread, time::Duration};

use clearway_base::{Error, TxnId};
use clearway_lock::{IntentMode, LockOptions, LockTable, RangeMode, WaitLimit};

use crate::{Step, ask, id, intend, methods, options, owners, table};

use RangeMode as M;

/// Runs a scenario under each method that finds exactly the deadlocks there are, when all waiters
/// are polled. The scenario makes its tables itself.
fn under_each_exact_method(scenario: impl Fn(&dyn Fn() -> LockTable)) {
    for method in methods(Duration::from_millis(10)) {
        if method.is_exact_when_polled {
            let options = LockOptions { parts: method.parts, ..options() };
            scenario(&|| LockTable::new(options.clone()));
        }
    }
}

#[test]
fn two_owners_in_opposite_order_deadlock() {
    under_each_exact_method(|table| {
        let table = table();
        let [mut a, mut b] = owners(&table);
        assert_eq!(ask(&table, &mut a, id(1), M::XN), Step::Granted);
        assert_eq!(ask(&table, &mut b, id(2), M::XN), Step::Granted);
        assert_eq!(ask(&table, &mut a, id(2), M::XN), Step::Waits);
        assert_eq!(ask(&table, &mut b, id(1), M::XN), Step::Dies);
        // The victim has lost its request and nothing else.
        assert_eq!(ask(&table, &mut a, id(2), M::XN), Step::Waits);
        assert!(b.holds(id(2), M::XN));
        table.release_all(&mut b, None);
        assert_eq!(ask(&table, &mut a, id(2), M::XN), Step::Granted);
        assert_eq!((table.stats().deadlocks, table.stats().false_alarms), (1, 0));
    });
}

#[test]
fn long_cycle_is_found_by_its_last_member() {
    under_each_exact_method(|table| {
        let table = table();
        let mut owners: [_; 40] = owners(&table);
        for (n, owner) in owners.iter_mut().enumerate() {
            assert_eq!(ask(&table, owner, id(n as u32), M::XX), Step::Granted);
        }
        for (n, owner) in owners[..39].iter_mut().enumerate() {
            assert_eq!(ask(&table, owner, id(n as u32 + 1), M::SN), Step::Waits);
        }
        assert_eq!(ask(&table, &mut owners[39], id(0), M::NS), Step::Dies);
    });
}

#[test]
fn orthogonal_parts_make_no_cycle() {
    under_each_exact_method(|table| {
        let table = table();
        let [mut a, mut b] = owners(&table);
        assert_eq!(ask(&table, &mut a, id(1), M::XN), Step::Granted);
        assert_eq!(ask(&table, &mut b, id(2), M::NX), Step::Granted);
        assert_eq!(ask(&table, &mut b, id(1), M::NX), Step::Granted);
        assert_eq!(ask(&table, &mut a, id(2), M::XN), Step::Granted);
    });
}

#[test]
fn two_conversions_deadlock() {
    under_each_exact_method(|table| {
        for (held, wanted) in [(M::SN, M::XN), (M::NS, M::NX), (M::SS, M::XX), (M::SS, M::SX)] {
            let table = table();
            let [mut a, mut b] = owners(&table);
            assert_eq!(ask(&table, &mut a, id(1), held), Step::Granted);
            assert_eq!(ask(&table, &mut b, id(1), held), Step::Granted);
            assert_eq!(ask(&table, &mut a, id(1), wanted), Step::Waits);
            assert_eq!(ask(&table, &mut b, id(1), wanted), Step::Dies);
            table.release_all(&mut b, None);
            assert_eq!(ask(&table, &mut a, id(1), wanted), Step::Granted);
        }
    });
}

#[test]
fn conversions_of_different_parts_deadlock_only_across() {
    under_each_exact_method(|table| {
        let table = table();
        let [mut a, mut b] = owners(&table);
        assert_eq!(ask(&table, &mut a, id(1), M::SN), Step::Granted);
        assert_eq!(ask(&table, &mut b, id(1), M::NS), Step::Granted);
        // Each raises its own part, which does not conflict with the other's lock.
        assert_eq!(ask(&table, &mut a, id(1), M::XN), Step::Granted);
        assert_eq!(ask(&table, &mut b, id(1), M::NX), Step::Granted);
        // Each wants the other's part.
        assert_eq!(ask(&table, &mut a, id(1), M::NS), Step::Waits);
        assert_eq!(ask(&table, &mut b, id(1), M::SN), Step::Dies);
    });
}

#[test]
fn wait_that_exists_only_because_of_a_conversion_is_followed() {
    under_each_exact_method(|table| {
        // a and b share key 1. a converts and waits for b; c wants only to share it and waits for
        // a's conversion alone; b waits for c.
        let table = table();
        let [mut a, mut b, mut c] = owners(&table);
        assert_eq!(ask(&table, &mut a, id(1), M::SN), Step::Granted);
        assert_eq!(ask(&table, &mut b, id(1), M::SN), Step::Granted);
        assert_eq!(ask(&table, &mut c, id(2), M::XN), Step::Granted);
        assert_eq!(ask(&table, &mut a, id(1), M::XN), Step::Waits);
        assert_eq!(ask(&table, &mut c, id(1), M::SN), Step::Waits);
        assert_eq!(ask(&table, &mut b, id(2), M::XN), Step::Dies);
        table.release_all(&mut b, None);
        assert_eq!(ask(&table, &mut a, id(1), M::XN), Step::Granted);
        table.release_all(&mut a, None);
        assert_eq!(ask(&table, &mut c, id(1), M::SN), Step::Granted);
    });
}

#[test]
fn conversion_that_blocks_an_old_waiter_closes_a_cycle() {
    under_each_exact_method(|table| {
        // c waits for a only, until b's conversion conflicts with it too; then b waits for c.
        let table = table();
        let [mut a, mut b, mut c] = owners(&table);
        assert_eq!(ask(&table, &mut a, id(1), M::SN), Step::Granted);
        assert_eq!(ask(&table, &mut b, id(1), M::NS), Step::Granted);
        assert_eq!(ask(&table, &mut c, id(2), M::XN), Step::Granted);
        assert_eq!(ask(&table, &mut c, id(1), M::XN), Step::Waits);
        assert_eq!(ask(&table, &mut b, id(1), M::SN), Step::Granted);
        assert_eq!(ask(&table, &mut b, id(2), M::SN), Step::Dies);
    });
}

#[test]
fn cycle_through_any_of_several_holders_is_found() {
    under_each_exact_method(|table| {
        for through in 0..3 {
            let table = table();
            let mut holders: [_; 3] = owners(&table);
            let [mut writer] = owners(&table);
            for holder in &mut holders {
                assert_eq!(ask(&table, holder, id(1), M::SN), Step::Granted);
            }
            assert_eq!(ask(&table, &mut writer, id(2), M::XN), Step::Granted);
            assert_eq!(ask(&table, &mut holders[through], id(2), M::SN), Step::Waits);
            assert_eq!(ask(&table, &mut writer, id(1), M::XN), Step::Dies);
        }
    });
}

#[test]
fn cycle_through_the_order_of_the_queue_is_found() {
    under_each_exact_method(|table| {
        // c would be compatible with the holder a, but stands behind b.
        let table = table();
        let [mut a, mut b, mut c] = owners(&table);
        assert_eq!(ask(&table, &mut a, id(1), M::SN), Step::Granted);
        assert_eq!(ask(&table, &mut c, id(2), M::XN), Step::Granted);
        assert_eq!(ask(&table, &mut b, id(1), M::XN), Step::Waits);
        assert_eq!(ask(&table, &mut c, id(1), M::SN), Step::Waits);
        assert_eq!(ask(&table, &mut a, id(2), M::XN), Step::Dies);
    });
}

#[test]
fn cycle_back_to_a_newcomer_in_the_queue_is_found() {
    under_each_exact_method(|table| {
        // The searcher b holds key 3 and waits in the queue of key 1, ahead of c. a closes the
        // cycle b → a → c → b, in which c waits for b by the queue's order alone.
        let table = table();
        let [mut a, mut b, mut c] = owners(&table);
        assert_eq!(ask(&table, &mut a, id(1), M::SN), Step::Granted);
        assert_eq!(ask(&table, &mut b, id(3), M::XN), Step::Granted);
        assert_eq!(ask(&table, &mut c, id(2), M::XN), Step::Granted);
        assert_eq!(ask(&table, &mut b, id(1), M::XN), Step::Waits);
        assert_eq!(ask(&table, &mut c, id(1), M::SN), Step::Waits);
        assert_eq!(ask(&table, &mut a, id(2), M::SN), Step::Dies);
        assert_eq!(table.stats().deadlocks, 1);
    });
}

#[test]
fn waiters_behind_a_chain_search_and_survive() {
    // A chain a → b → c that ends at a running owner, and twenty more owners queued behind a.
    let table = table();
    let [mut a, mut b, mut c] = owners(&table);
    let mut behind: [_; 20] = owners(&table);
    assert_eq!(ask(&table, &mut a, id(1), M::XN), Step::Granted);
    assert_eq!(ask(&table, &mut b, id(2), M::XN), Step::Granted);
    assert_eq!(ask(&table, &mut c, id(3), M::XN), Step::Granted);
    assert_eq!(ask(&table, &mut a, id(2), M::XN), Step::Waits);
    assert_eq!(ask(&table, &mut b, id(3), M::XN), Step::Waits);
    for (n, me) in behind.iter_mut().enumerate() {
        assert_eq!(ask(&table, me, id(100 + n as u32), M::XN), Step::Granted);
        assert_eq!(ask(&table, me, id(1), M::XN), Step::Waits);
    }
    assert_eq!(table.stats().deadlocks, 0);
    assert_eq!(table.stats().searches, 22);
}

#[test]
fn queue_of_a_waiter_for_a_waiter_is_no_cycle() {
    under_each_exact_method(|table| {
        // An inserter behind a waiting request of an owner that waits only for the inserter's
        // conversion: the conversion passes, so no owner dies.
        let table = table();
        let [mut a, mut b, mut c] = owners(&table);
        assert_eq!(ask(&table, &mut a, id(1), M::SS), Step::Granted);
        assert_eq!(ask(&table, &mut b, id(1), M::XN), Step::Waits);
        assert_eq!(ask(&table, &mut c, id(1), M::NX), Step::Waits);
        assert_eq!(ask(&table, &mut a, id(1), M::XX), Step::Granted);
        table.release_all(&mut a, None);
        assert_eq!(ask(&table, &mut b, id(1), M::XN), Step::Granted);
        assert_eq!(ask(&table, &mut c, id(1), M::NX), Step::Granted);
    });
}

#[test]
fn two_cycles_through_one_waiter_cost_one_life() {
    under_each_exact_method(|table| {
        let table = table();
        let [mut a, mut b, mut c] = owners(&table);
        assert_eq!(ask(&table, &mut a, id(1), M::SN), Step::Granted);
        assert_eq!(ask(&table, &mut b, id(1), M::SN), Step::Granted);
        assert_eq!(ask(&table, &mut c, id(2), M::XN), Step::Granted);
        assert_eq!(ask(&table, &mut a, id(2), M::SN), Step::Waits);
        assert_eq!(ask(&table, &mut b, id(2), M::SN), Step::Waits);
        assert_eq!(ask(&table, &mut c, id(1), M::XN), Step::Dies);
        table.release_all(&mut c, None);
        assert_eq!(ask(&table, &mut a, id(2), M::SN), Step::Granted);
        assert_eq!(ask(&table, &mut b, id(2), M::SN), Step::Granted);
        assert_eq!(table.stats().deadlocks, 1);
    });
}

#[test]
fn cycle_of_range_and_intent_locks_is_found() {
    under_each_exact_method(|table| {
        let table = table();
        let [mut a, mut b] = owners(&table);
        assert_eq!(intend(&table, &mut a, 1, IntentMode::IX), Step::Granted);
        assert_eq!(ask(&table, &mut b, id(1), M::XN), Step::Granted);
        assert_eq!(intend(&table, &mut b, 1, IntentMode::S), Step::Waits);
        assert_eq!(ask(&table, &mut a, id(1), M::SN), Step::Dies);
        table.release_all(&mut a, None);
        assert_eq!(intend(&table, &mut b, 1, IntentMode::S), Step::Granted);
    });
}

#[test]
fn upgrades_of_intent_locks_deadlock() {
    under_each_exact_method(|table| {
        let table = table();
        let [mut a, mut b] = owners(&table);
        assert_eq!(intend(&table, &mut a, 1, IntentMode::IX), Step::Granted);
        assert_eq!(intend(&table, &mut b, 1, IntentMode::IX), Step::Granted);
        assert_eq!(intend(&table, &mut a, 1, IntentMode::X), Step::Waits);
        assert_eq!(intend(&table, &mut b, 1, IntentMode::S), Step::Dies);
        assert!(b.held_intents() == 1);
        table.release_all(&mut b, None);
        assert_eq!(intend(&table, &mut a, 1, IntentMode::X), Step::Granted);
    });
}

#[test]
fn cycle_through_the_order_of_intent_waiters_is_found() {
    under_each_exact_method(|table| {
        // c's IS is compatible with a's S but stands behind b's X.
        let table = table();
        let [mut a, mut b, mut c] = owners(&table);
        assert_eq!(intend(&table, &mut a, 1, IntentMode::S), Step::Granted);
        assert_eq!(ask(&table, &mut c, id(2), M::XN), Step::Granted);
        assert_eq!(intend(&table, &mut b, 1, IntentMode::X), Step::Waits);
        assert_eq!(intend(&table, &mut c, 1, IntentMode::IS), Step::Waits);
        assert_eq!(ask(&table, &mut a, id(2), M::SN), Step::Dies);
    });
}

#[test]
fn blocked_threads_find_their_deadlock_in_time() {
    // S → X on both sides, blocking, with no time limit: exactly one dies, the other finishes.
    let table = table();
    for round in 0..20 {
        let [mut a, mut b] = owners(&table);
        a.set_txn(TxnId(1));
        b.set_txn(TxnId(2));
        assert_eq!(ask(&table, &mut a, id(round), M::SN), Step::Granted);
        assert_eq!(ask(&table, &mut b, id(round), M::SN), Step::Granted);
        let victims: usize = thread::scope(|scope| {
            let convert = |mut owner: clearway_lock::LockOwner| {
                let table = &table;
                scope.spawn(move || {
                    let end = table.acquire(&mut owner, id(round), M::XN, WaitLimit::Forever);
                    let died =
                        matches!(end, Err(Error::Deadlock { txn, .. }) if txn != TxnId::NONE);
                    assert!(died || end.is_ok());
                    thread::sleep(Duration::from_micros(50));
                    usize::from(died)
                })
            };
            let (a, b) = (convert(a), convert(b));
            a.join().unwrap() + b.join().unwrap()
        });
        assert_eq!(victims, 1);
    }
    assert!(table.is_quiescent());
}
