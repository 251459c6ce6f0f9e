//! Grant rules: which requests are granted, which wait, and which are granted next.

use clearway_lock::{LockOwner, LockTable, Outcome, RangeMode};

use crate::{Step, ask, id, owners, table};

const MODES: [RangeMode; 8] = [
    RangeMode::SN,
    RangeMode::XN,
    RangeMode::NS,
    RangeMode::NX,
    RangeMode::SS,
    RangeMode::XX,
    RangeMode::SX,
    RangeMode::XS,
];

fn held(table: &LockTable, owner: &mut LockOwner, n: u32, mode: RangeMode) {
    assert_eq!(table.try_acquire(owner, id(n), mode), Outcome::Granted);
}

#[test]
fn each_pair_of_modes_is_granted_exactly_if_compatible() {
    let table = table();
    for first in MODES {
        for second in MODES {
            let [mut a, mut b] = owners(&table);
            held(&table, &mut a, 1, first);
            let expected =
                if first.compatible(second) { Outcome::Granted } else { Outcome::Denied };
            assert_eq!(table.check(&mut b, id(1), second), expected);
            assert_eq!(table.try_acquire(&mut b, id(1), second), expected, "{first:?} {second:?}");
            assert_eq!(b.held(), usize::from(expected == Outcome::Granted));
            assert_eq!(b.holds(id(1), second), expected == Outcome::Granted);
        }
    }
    assert!(table.is_quiescent());
}

#[test]
fn own_locks_never_conflict() {
    let table = table();
    for first in MODES {
        for second in MODES {
            let [mut a] = owners(&table);
            held(&table, &mut a, 1, first);
            assert_eq!(table.check(&mut a, id(1), RangeMode::XX), Outcome::Granted);
            held(&table, &mut a, 1, second);
            assert!(a.holds(id(1), first.supremum(second)));
            assert_eq!(a.held(), 1, "a conversion is no second lock");
        }
    }
}

#[test]
fn denied_request_leaves_nothing_behind() {
    let table = table();
    let [mut a, mut b, mut c] = owners(&table);
    held(&table, &mut a, 1, RangeMode::SS);
    assert_eq!(table.try_acquire(&mut b, id(1), RangeMode::XN), Outcome::Denied);
    assert!(table.is_idle_except(&a, id(1)));
    held(&table, &mut c, 1, RangeMode::SS);
    assert!(!table.is_idle_except(&a, id(1)));
    table.release_all(&mut a, None);
    table.release_all(&mut c, None);
    assert!(table.is_idle(id(1)) && table.is_quiescent());
}

#[test]
fn denied_conversion_keeps_what_was_held() {
    let table = table();
    let [mut a, mut b] = owners(&table);
    held(&table, &mut a, 1, RangeMode::SN);
    held(&table, &mut b, 1, RangeMode::SN);
    assert_eq!(table.try_acquire(&mut a, id(1), RangeMode::XN), Outcome::Denied);
    assert!(a.holds(id(1), RangeMode::SN) && !a.holds(id(1), RangeMode::XN));
    table.release_all(&mut b, None);
    held(&table, &mut a, 1, RangeMode::XN);
}

#[test]
fn waiters_are_granted_in_order_of_arrival() {
    let table = table();
    let mut owners: [_; 6] = owners(&table);
    for (n, owner) in owners.iter_mut().enumerate() {
        let expected = if n == 0 { Step::Granted } else { Step::Waits };
        assert_eq!(ask(&table, owner, id(1), RangeMode::XN), expected);
    }
    for n in 1..6 {
        table.release_all(&mut owners[n - 1], None);
        for later in &mut owners[n + 1..] {
            assert_eq!(ask(&table, later, id(1), RangeMode::XN), Step::Waits);
        }
        assert_eq!(ask(&table, &mut owners[n], id(1), RangeMode::XN), Step::Granted);
    }
}

#[test]
fn readers_do_not_pass_a_waiting_writer() {
    let table = table();
    let [mut a, mut b, mut c] = owners(&table);
    held(&table, &mut a, 1, RangeMode::SN);
    assert_eq!(ask(&table, &mut b, id(1), RangeMode::XN), Step::Waits);
    assert_eq!(table.check(&mut c, id(1), RangeMode::SN), Outcome::Denied);
    assert_eq!(table.try_acquire(&mut c, id(1), RangeMode::SN), Outcome::Denied);
    assert_eq!(ask(&table, &mut c, id(1), RangeMode::SN), Step::Waits);
    table.release_all(&mut a, None);
    assert_eq!(ask(&table, &mut c, id(1), RangeMode::SN), Step::Waits);
    assert_eq!(ask(&table, &mut b, id(1), RangeMode::XN), Step::Granted);
}

#[test]
fn requests_for_other_parts_pass_waiters() {
    let table = table();
    let [mut a, mut b, mut c, mut d] = owners(&table);
    held(&table, &mut a, 1, RangeMode::SN);
    assert_eq!(ask(&table, &mut b, id(1), RangeMode::XN), Step::Waits);
    assert_eq!(ask(&table, &mut c, id(1), RangeMode::NX), Step::Granted);
    assert_eq!(ask(&table, &mut d, id(1), RangeMode::NS), Step::Waits);
    table.release_all(&mut c, None);
    assert_eq!(ask(&table, &mut d, id(1), RangeMode::NS), Step::Granted);
    table.release_all(&mut a, None);
    assert_eq!(ask(&table, &mut b, id(1), RangeMode::XN), Step::Granted);
}

#[test]
fn waiter_passed_by_a_later_one_is_granted_in_the_end() {
    // b wants the key and c both parts, both wait for a; d wants the gap and waits for c only.
    let table = table();
    let [mut a, mut b, mut c, mut d] = owners(&table);
    held(&table, &mut a, 1, RangeMode::SN);
    assert_eq!(ask(&table, &mut b, id(1), RangeMode::XN), Step::Waits);
    assert_eq!(ask(&table, &mut c, id(1), RangeMode::XX), Step::Waits);
    assert_eq!(ask(&table, &mut d, id(1), RangeMode::NX), Step::Waits);
    table.cancel(&mut c);
    assert_eq!(ask(&table, &mut d, id(1), RangeMode::NX), Step::Granted);
    assert_eq!(ask(&table, &mut b, id(1), RangeMode::XN), Step::Waits);
    // d was granted past b: the table finds both in their places.
    table.release_all(&mut d, None);
    table.release_all(&mut a, None);
    assert_eq!(ask(&table, &mut b, id(1), RangeMode::XN), Step::Granted);
}

#[test]
fn conversion_goes_before_newcomers() {
    let table = table();
    let [mut a, mut b, mut c] = owners(&table);
    held(&table, &mut a, 1, RangeMode::SN);
    held(&table, &mut b, 1, RangeMode::SN);
    assert_eq!(ask(&table, &mut c, id(1), RangeMode::XN), Step::Waits);
    assert_eq!(ask(&table, &mut a, id(1), RangeMode::XN), Step::Waits);
    table.release_all(&mut b, None);
    assert_eq!(ask(&table, &mut c, id(1), RangeMode::XN), Step::Waits);
    assert_eq!(ask(&table, &mut a, id(1), RangeMode::XN), Step::Granted);
}

#[test]
fn conversion_does_not_wait_for_waiters_who_wait_for_it() {
    let table = table();
    let [mut a, mut b] = owners(&table);
    held(&table, &mut a, 1, RangeMode::SN);
    assert_eq!(ask(&table, &mut b, id(1), RangeMode::XX), Step::Waits);
    assert_eq!(table.try_acquire(&mut a, id(1), RangeMode::XX), Outcome::Granted);
}

#[test]
fn reader_behind_a_conversion_waits_only_if_modes_conflict() {
    // S, S → X, S: Shore-MT's detector makes the last wait for the conversion whatever it wants.
    let table = table();
    let [mut a, mut b, mut c, mut d] = owners(&table);
    held(&table, &mut a, 1, RangeMode::SN);
    held(&table, &mut b, 1, RangeMode::SN);
    assert_eq!(ask(&table, &mut b, id(1), RangeMode::XN), Step::Waits);
    assert_eq!(ask(&table, &mut c, id(1), RangeMode::SN), Step::Waits);
    assert_eq!(ask(&table, &mut d, id(1), RangeMode::NS), Step::Granted);
    table.release_all(&mut a, None);
    assert_eq!(ask(&table, &mut b, id(1), RangeMode::XN), Step::Granted);
    assert_eq!(ask(&table, &mut c, id(1), RangeMode::SN), Step::Waits);
}

#[test]
fn release_gives_back_only_what_was_not_confirmed() {
    let table = table();
    let [mut a, mut b] = owners(&table);
    // Waited for and not needed after all: released.
    assert_eq!(ask(&table, &mut a, id(1), RangeMode::XN), Step::Granted);
    table.release(&mut a, id(1));
    assert!(table.is_quiescent() && a.held() == 0);
    // Needed by an earlier operation: back to what that confirmed.
    held(&table, &mut a, 1, RangeMode::SN);
    assert_eq!(ask(&table, &mut a, id(1), RangeMode::XN), Step::Granted);
    table.release(&mut a, id(1));
    assert!(a.holds(id(1), RangeMode::SN) && !a.holds(id(1), RangeMode::XN));
    held(&table, &mut b, 1, RangeMode::SN);
    // Covered already: nothing changes.
    assert_eq!(ask(&table, &mut b, id(1), RangeMode::SN), Step::Granted);
    table.release(&mut b, id(1));
    assert!(b.holds(id(1), RangeMode::SN));
}

#[test]
fn release_grants_the_waiters_that_it_blocked() {
    let table = table();
    let [mut a, mut b] = owners(&table);
    held(&table, &mut a, 1, RangeMode::SN);
    assert_eq!(ask(&table, &mut a, id(1), RangeMode::XN), Step::Granted);
    assert_eq!(ask(&table, &mut b, id(1), RangeMode::SN), Step::Waits);
    table.release(&mut a, id(1));
    assert_eq!(ask(&table, &mut b, id(1), RangeMode::SN), Step::Granted);
}

#[test]
fn shared_parts_can_be_released_early() {
    let table = table();
    let [mut a, mut b] = owners(&table);
    held(&table, &mut a, 1, RangeMode::SS);
    held(&table, &mut a, 2, RangeMode::XS);
    held(&table, &mut a, 3, RangeMode::XX);
    table.release_shared(&mut a);
    assert_eq!(a.held(), 2);
    held(&table, &mut b, 1, RangeMode::XX);
    held(&table, &mut b, 2, RangeMode::NX);
    assert_eq!(table.check(&mut b, id(2), RangeMode::SN), Outcome::Denied);
    assert_eq!(table.check(&mut b, id(3), RangeMode::SN), Outcome::Denied);
    assert_eq!(table.check(&mut b, id(3), RangeMode::NS), Outcome::Denied);
}

#[test]
fn dropped_owner_releases_its_locks_and_its_request() {
    let table = table();
    let [mut a, mut b, mut c] = owners(&table);
    held(&table, &mut a, 1, RangeMode::SN);
    assert_eq!(ask(&table, &mut b, id(1), RangeMode::XN), Step::Waits);
    assert_eq!(ask(&table, &mut c, id(1), RangeMode::SN), Step::Waits);
    drop(b);
    assert_eq!(ask(&table, &mut c, id(1), RangeMode::SN), Step::Granted);
    drop((a, c));
    assert!(table.is_quiescent());
}
