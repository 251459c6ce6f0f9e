//! The cycle that a deadlock's victim reports, with intent locks in it.

use std::task::{Context, Waker};

use clearway_lock::{
    Awaited, CycleMember, IntentMode, LockId, LockOwner, LockTable, Outcome, RangeMode, ResourceId,
};

use crate::intent_tables;

/// The entry of a table's resource, where there are four.
fn entry_of(resource: ResourceId) -> u32 {
    1 + resource.0 % 4
}

#[test]
fn victim_reports_what_each_owner_waited_for() {
    intent_tables().iter().for_each(reports_what_each_owner_waited_for);
}

fn reports_what_each_owner_waited_for(table: &LockTable) {
    let [mut a, mut b, mut c] = std::array::from_fn(|_| table.owner());
    let (x, y, resource) = (LockId(11), LockId(22), ResourceId(5));
    assert_eq!(table.try_acquire(&mut a, x, RangeMode::SN), Outcome::Granted);
    assert_eq!(table.try_acquire(&mut b, y, RangeMode::XS), Outcome::Granted);
    assert_eq!(table.try_acquire_intent(&mut c, resource, IntentMode::IX), Outcome::Granted);
    let mut cx = Context::from_waker(Waker::noop());
    assert!(table.poll_acquire(&mut b, x, RangeMode::XN, &mut cx).is_pending());
    let absolute = table.poll_acquire_intent(&mut a, resource, IntentMode::X, &mut cx);
    assert!(absolute.is_pending());
    // c closes the cycle: it waits for b, b for a, a for c.
    assert!(table.poll_acquire(&mut c, y, RangeMode::NX, &mut cx).is_ready());
    let member = |owner: &LockOwner, lock, wanted, holds| CycleMember {
        owner: owner.number(),
        lock,
        wanted,
        holds,
    };
    let expected = [
        member(&c, Awaited::Range(y), "NX", "IX"),
        member(&b, Awaited::Range(x), "XN", "XS"),
        member(&a, Awaited::Intent(entry_of(resource)), "X", "SN"),
    ];
    assert_eq!(c.take_cycle(), expected);
    assert!(c.take_cycle().is_empty(), "reported once");
    assert!(a.take_cycle().is_empty() && b.take_cycle().is_empty());
}

#[test]
fn conversions_of_intents_are_reported_with_their_modes() {
    for table in intent_tables() {
        let [mut a, mut b] = std::array::from_fn(|_| table.owner());
        let (resource, mut cx) = (ResourceId(5), Context::from_waker(Waker::noop()));
        assert_eq!(table.try_acquire_intent(&mut a, resource, IntentMode::IX), Outcome::Granted);
        assert_eq!(table.try_acquire_intent(&mut b, resource, IntentMode::IS), Outcome::Granted);
        let [first, second] = [(&mut a, IntentMode::X), (&mut b, IntentMode::SIX)]
            .map(|(owner, mode)| table.poll_acquire_intent(owner, resource, mode, &mut cx));
        assert!(first.is_pending() && second.is_ready());
        let lock = Awaited::Intent(entry_of(resource));
        let reported: Vec<_> = b.take_cycle().iter().map(|m| (m.lock, m.wanted, m.holds)).collect();
        assert_eq!(reported, [(lock, "SIX", "IS"), (lock, "X", "IX")]);
    }
}
