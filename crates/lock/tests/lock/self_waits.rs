//! Blocking waits for owners that do nothing before the wait ends.

use std::time::Duration;

use clearway_base::{Error, Result};
use clearway_lock::{
    IntentMode, LockId, LockOwner, LockTable, Outcome, RangeMode, ResourceId, WaitLimit,
};

use crate::{Step, ask, id, intend, owners, table};

/// Waits for a lock while `suspended` do nothing. A wait that is none for itself times out.
fn waits_for_itself(
    table: &LockTable,
    waiter: &mut LockOwner,
    suspended: &[&LockOwner],
    lock: LockId,
    mode: RangeMode,
) -> bool {
    waiter.set_suspended(suspended.iter().map(|owner| owner.number()).collect());
    let limit = WaitLimit::For(Duration::from_millis(1));
    judge(table.acquire(waiter, lock, mode, limit))
}

fn judge(result: Result<()>) -> bool {
    match result {
        Err(Error::SelfWait { .. }) => true,
        Err(Error::LockTimeout { .. }) => false,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_suspended_holder_is_not_waited_for() {
    let table = table();
    let [mut a, mut b, mut c] = owners(&table);
    assert_eq!(table.try_acquire(&mut a, id(1), RangeMode::SX), Outcome::Granted);
    assert!(waits_for_itself(&table, &mut c, &[&a], id(1), RangeMode::XN));
    assert!(!waits_for_itself(&table, &mut c, &[&b], id(1), RangeMode::XN));
    assert!(!waits_for_itself(&table, &mut c, &[], id(1), RangeMode::XN));
    // Without a limit the others would hang.
    c.set_suspended(vec![b.number(), a.number()]);
    let error = table.acquire(&mut c, id(1), RangeMode::NS, WaitLimit::Forever).unwrap_err();
    assert!(matches!(error, Error::SelfWait { .. }), "{error}");
    let error = table.acquire(&mut c, id(1), RangeMode::NS, WaitLimit::NoWait).unwrap_err();
    assert!(matches!(error, Error::WouldBlock { .. }), "{error}");
    // The request is gone, and what is free is granted.
    table.acquire(&mut c, id(1), RangeMode::SN, WaitLimit::Forever).unwrap();
    // A conversion keeps what it had.
    assert!(waits_for_itself(&table, &mut c, &[&a], id(1), RangeMode::XN));
    assert!(c.holds(id(1), RangeMode::SN));
    // A suspended owner that is not in the way.
    assert_eq!(table.try_acquire(&mut b, id(2), RangeMode::XN), Outcome::Granted);
    assert_eq!(table.try_acquire(&mut a, id(2), RangeMode::NS), Outcome::Granted);
    assert!(!waits_for_itself(&table, &mut c, &[&a], id(2), RangeMode::SN));
    [a, b, c].iter_mut().for_each(|owner| table.release_all(owner, None));
    assert!(table.is_quiescent());
}

#[test]
fn a_queue_that_leads_to_a_suspended_owner_is_not_joined() {
    let table = table();
    let [mut a, mut b, mut c, mut d] = owners(&table);
    assert_eq!(table.try_acquire(&mut a, id(1), RangeMode::SN), Outcome::Granted);
    assert_eq!(ask(&table, &mut b, id(1), RangeMode::XN), Step::Waits);
    assert!(waits_for_itself(&table, &mut c, &[&a], id(1), RangeMode::SN), "behind b, behind a");
    assert!(waits_for_itself(&table, &mut c, &[&b], id(1), RangeMode::SN), "b is granted first");
    assert!(!waits_for_itself(&table, &mut c, &[&d], id(1), RangeMode::SN));
    assert_eq!(ask(&table, &mut d, id(1), RangeMode::NX), Step::Granted);
    assert!(waits_for_itself(&table, &mut c, &[&d], id(1), RangeMode::SS));
    assert_eq!(table.stats().timeouts, 1);
}

#[test]
fn suspended_holder_of_an_intent_lock_is_not_waited_for() {
    let table = table();
    let [mut a, mut b, mut c, mut d] = owners(&table);
    assert_eq!(intend(&table, &mut a, 1, IntentMode::IX), Step::Granted);
    assert_eq!(table.try_acquire(&mut b, id(1), RangeMode::XN), Outcome::Granted);
    let mut waits = |suspended: &LockOwner, mode| {
        c.set_suspended(vec![suspended.number()]);
        let limit = WaitLimit::For(Duration::from_millis(1));
        judge(table.acquire_intent(&mut c, ResourceId(1), mode, limit))
    };
    assert!(waits(&a, IntentMode::S));
    assert!(!waits(&b, IntentMode::S), "it holds none");
    assert_eq!(ask(&table, &mut a, id(1), RangeMode::XN), Step::Waits);
    assert!(waits(&a, IntentMode::S), "it waits itself");
    assert_eq!(intend(&table, &mut d, 1, IntentMode::X), Step::Waits);
    assert!(waits(&d, IntentMode::IS), "ahead in the queue");
    assert!(waits(&a, IntentMode::IS), "behind it");
    assert!(!waits(&b, IntentMode::IS));
}

#[test]
fn a_deadlock_with_a_suspended_owner_is_a_deadlock() {
    let table = table();
    let [mut a, mut b] = owners(&table);
    assert_eq!(table.try_acquire(&mut a, id(1), RangeMode::XN), Outcome::Granted);
    assert_eq!(table.try_acquire(&mut b, id(2), RangeMode::XN), Outcome::Granted);
    assert_eq!(ask(&table, &mut a, id(2), RangeMode::XN), Step::Waits);
    b.set_suspended(vec![a.number()]);
    let error = table.acquire(&mut b, id(1), RangeMode::XN, WaitLimit::Forever).unwrap_err();
    assert!(matches!(error, Error::Deadlock { .. }), "{error}");
}
