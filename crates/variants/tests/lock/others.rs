//! Victim policies that kill another owner than the one that closes the cycle, and methods that
//! judge by age.

use clearway_lock::{LockTable, RangeMode};
use clearway_variants::lock::{DeadlockMethod, LockVariants, VictimPolicy};

use crate::{Step, ask, id, options, owners, victims::pair};

use RangeMode as M;

/// A table in which the owner with the longest pipeline dies.
fn kill_long() -> LockTable {
    LockTable::new(options().lock_variant(VictimPolicy::KillLong))
}

#[test]
fn marked_victim_whose_cycle_is_gone_lives() {
    let table = kill_long();
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
fn cycle_with_a_marked_victim_gets_no_second_one() {
    // a and b are in one cycle, a is marked. Then c, for which only a waits, closes another one
    // through a.
    let table = kill_long();
    let [mut c] = owners(&table);
    assert_eq!(ask(&table, &mut c, id(7), M::SN), Step::Granted);
    let [mut a, mut b] = owners(&table);
    a.set_pipeline(10);
    assert_eq!(ask(&table, &mut a, id(0), M::XN), Step::Granted);
    assert_eq!(ask(&table, &mut b, id(7), M::SN), Step::Granted);
    assert_eq!(ask(&table, &mut a, id(7), M::XN), Step::Waits);
    assert_eq!(ask(&table, &mut b, id(0), M::SN), Step::Waits);
    assert_eq!(table.stats().victims_marked, 1);
    assert_eq!(ask(&table, &mut c, id(0), M::SN), Step::Waits);
    assert_eq!(table.stats().victims_marked, 1, "a's death breaks both");
    assert_eq!(ask(&table, &mut a, id(7), M::XN), Step::Dies);
    table.release_all(&mut a, None);
    assert_eq!(ask(&table, &mut b, id(0), M::SN), Step::Granted);
    assert_eq!(ask(&table, &mut c, id(0), M::SN), Step::Granted);
    assert_eq!(table.stats().deadlocks, 1);
}

#[test]
fn wounds_are_felt_at_the_next_wait_and_end_with_the_transaction() {
    let table = LockTable::new(options().lock_variant(DeadlockMethod::WoundWait));
    let [mut old, mut young] = owners(&table);
    assert_eq!(ask(&table, &mut old, id(9), M::XN), Step::Granted);
    assert_eq!(ask(&table, &mut young, id(1), M::XN), Step::Granted);
    // The older one waits for the younger, which runs and is wounded.
    assert_eq!(ask(&table, &mut old, id(1), M::XN), Step::Waits);
    assert_eq!(ask(&table, &mut young, id(2), M::XN), Step::Granted, "it has not had to wait");
    let [mut third] = owners(&table);
    assert_eq!(ask(&table, &mut third, id(3), M::XN), Step::Granted);
    assert_eq!(ask(&table, &mut young, id(3), M::XN), Step::Dies);
    let lost = young.priority().after_loss();
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
    let table = LockTable::new(options().lock_variant(DeadlockMethod::WaitDie));
    let [mut old, mut young] = owners(&table);
    assert_eq!(ask(&table, &mut old, id(1), M::XN), Step::Granted);
    assert_eq!(ask(&table, &mut young, id(2), M::XN), Step::Granted);
    assert_eq!(ask(&table, &mut young, id(1), M::XN), Step::Dies);
    assert_eq!(table.stats().false_deaths, 1, "no owner waited for it");
    assert_eq!(ask(&table, &mut old, id(2), M::XN), Step::Waits);
    table.release_all(&mut young, None);
    assert_eq!(ask(&table, &mut old, id(2), M::XN), Step::Granted);
    // Before its first lock it may wait for any owner.
    assert_eq!(ask(&table, &mut young, id(1), M::XN), Step::Waits);
    table.cancel(&mut young);
}
