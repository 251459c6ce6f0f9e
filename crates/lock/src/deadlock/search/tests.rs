//! Finders of the same cycle, step by step.

use std::{
    task::{Context, Poll, Waker},
    time::Duration,
};

use clearway_base::Result;
use clearway_sync::thread;

use super::*;
use crate::{IntentMode, LockId, LockOptions, Outcome, RangeMode, ResourceId};

const KEYS: [LockId; 3] = [LockId(11), LockId(22), LockId(33)];

/// Owners 0 and 1 wait for each other and have not searched yet; owner 2 holds the third key.
fn standing_cycle() -> (LockTable, [LockOwner; 3]) {
    let table = LockTable::new(LockOptions { buckets: 2, ..LockOptions::default() });
    let mut owners = std::array::from_fn(|_| table.owner());
    for (owner, key) in owners.iter_mut().zip(KEYS) {
        assert_eq!(table.try_acquire(owner, key, RangeMode::XN), Outcome::Granted);
    }
    assert!(!table.start(&mut owners[0], KEYS[1], RangeMode::XN));
    assert!(!table.start(&mut owners[1], KEYS[0], RangeMode::XN));
    (table, owners)
}

#[test]
fn search_that_meets_a_foreign_cycle_ends_and_survives() {
    let (table, mut owners) = standing_cycle();
    let me = &mut owners[2];
    let mut cx = Context::from_waker(Waker::noop());
    assert!(table.poll_acquire(me, KEYS[0], RangeMode::XN, &mut cx).is_pending());
    assert_eq!((table.stats().searches, table.stats().deadlocks), (1, 0));
    assert_eq!(me.graph.met(), 2, "no owner waits for it");
    assert!(!me.graph.find_cycle(&table, me.number));
    assert_eq!(me.graph.met(), 3, "each owner is visited once (SEARCH-4)");
    assert!(dies(&table, &mut owners[0], false));
}

#[test]
fn only_the_first_of_two_finders_dies() {
    let (table, mut owners) = standing_cycle();
    let [a, b, _] = &mut owners;
    // Both have found it; neither has confirmed.
    assert!(a.graph.find_cycle(&table, a.number) && b.graph.find_cycle(&table, b.number));
    assert!(dies(&table, b, false));
    assert!(!dies(&table, a, false));
    assert!(a.pending.is_some() && b.pending.is_none());
    assert_eq!(table.stats().deadlocks, 1);
}

#[test]
fn finder_waits_for_another_to_confirm_and_then_looks_again() {
    let (table, mut owners) = standing_cycle();
    let [a, b, _] = &mut owners;
    let confirming = table.shared.confirmation.lock();
    thread::scope(|scope| {
        let second = scope.spawn(|| dies(&table, a, false));
        while table.stats().searches == 0 {
            thread::yield_now();
        }
        // Time for it to die at once, if it does not wait for this thread (SEARCH-3).
        thread::sleep(Duration::from_millis(20));
        // b, the first finder, withdraws.
        assert!(table.withdraw(b, false) == Withdrawal::Done);
        drop(confirming);
        assert!(!second.join().expect("no panic"), "one victim is enough");
    });
    assert_eq!(table.stats().deadlocks, 0);
}

#[test]
fn cycle_of_an_older_wait_is_not_certain() {
    let (table, mut owners) = standing_cycle();
    let [a, b, _] = &mut owners;
    assert!(a.graph.find_cycle(&table, a.number));
    assert!(a.graph.is_certain(&table, a.number));
    // The same edge, but b has moved in between: it may have let a pass for a while.
    table.cancel(b);
    assert!(!a.graph.is_certain(&table, a.number));
    assert!(!table.start(b, KEYS[0], RangeMode::XN));
    assert!(!a.graph.is_certain(&table, a.number));
    assert!(a.graph.find_cycle(&table, a.number) && a.graph.is_certain(&table, a.number));
}

#[test]
fn finder_that_was_granted_in_the_meantime_lives() {
    let (table, mut owners) = standing_cycle();
    let [a, b, _] = &mut owners;
    assert!(a.graph.find_cycle(&table, a.number));
    table.release_all(b, None);
    assert!(!dies(&table, a, false));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(table.poll_acquire(a, KEYS[1], RangeMode::XN, &mut cx).is_ready());
}

/// The locks of a chain: owner n holds lock n.
#[derive(Clone, Copy)]
enum ChainOf {
    Keys,
    /// The owners hold the keys to read, and wait to convert a key of the next one.
    Conversions,
    Tables,
}

fn poll(table: &LockTable, owner: &mut LockOwner, of: ChainOf, n: usize) -> Poll<Result<()>> {
    let cx = &mut Context::from_waker(Waker::noop());
    let key = LockId(1_000 + n as u64);
    match of {
        ChainOf::Keys | ChainOf::Conversions => table.poll_acquire(owner, key, RangeMode::XN, cx),
        ChainOf::Tables => {
            let resource = ResourceId(1_000 + n as u32);
            table.poll_acquire_intent(owner, resource, IntentMode::X, cx)
        }
    }
}

/// Only the search of an owner that others wait for walks a whole chain.
#[test]
fn search_walks_a_chain_only_for_an_owner_that_others_wait_for() {
    const COUNT: usize = 200;
    for of in [ChainOf::Keys, ChainOf::Conversions, ChainOf::Tables] {
        let table = LockTable::new(LockOptions { intents: 512, ..LockOptions::default() });
        let mut owners: Vec<_> = (0..COUNT).map(|_| table.owner()).collect();
        for (n, owner) in owners.iter_mut().enumerate() {
            if matches!(of, ChainOf::Conversions) {
                // Lock n is shared with the owner behind it, which is to convert it.
                for key in [n, (n + COUNT - 1) % COUNT].map(|key| LockId(1_000 + key as u64)) {
                    assert_eq!(table.try_acquire(owner, key, RangeMode::SN), Outcome::Granted);
                }
            } else {
                assert!(poll(&table, owner, of, n).is_ready());
            }
        }
        for (n, owner) in owners.iter_mut().enumerate().skip(1) {
            assert!(poll(&table, owner, of, n - 1).is_pending());
            let visited = owner.graph.met();
            assert!(visited <= 4, "owner {n} has visited {visited}");
        }
        let _ = poll(&table, &mut owners[0], of, COUNT - 1);
        let stats = table.stats();
        assert_eq!(stats.deadlocks + stats.victims_marked, 1, "the cycle leads through all");
    }
}
