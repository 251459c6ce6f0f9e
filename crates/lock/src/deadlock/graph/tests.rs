//! A search beside an owner that withdraws its request between two steps of the search.

use std::{
    cell::RefCell,
    task::{Context, Waker},
};

use super::*;
use crate::{LockOptions, Outcome, RangeMode, deadlock::search};

const KEYS: [LockId; 4] = [LockId(11), LockId(22), LockId(33), LockId(44)];

fn table() -> LockTable {
    LockTable::new(LockOptions { buckets: 2, ..LockOptions::default() })
}

fn hold(table: &LockTable, owner: &mut LockOwner, key: usize, mode: RangeMode) {
    assert_eq!(table.try_acquire(owner, KEYS[key], mode), Outcome::Granted);
}

/// Queues a request without a search.
fn queue(table: &LockTable, owner: &mut LockOwner, key: usize, mode: RangeMode) {
    assert!(!table.start(owner, KEYS[key], mode), "it waits");
}

/// Searches for a cycle of `me`. Once `visits` owners were expanded, `leaving` withdraws.
fn find_while_one_leaves(
    table: &LockTable,
    me: &mut LockOwner,
    visits: usize,
    leaving: &mut LockOwner,
) -> bool {
    let (was_waiting, leaving) = (leaving.pending.is_some(), RefCell::new(leaving));
    let found = me.graph.find(table, me.number, visits, || {
        table.cancel(*leaving.borrow_mut());
        true
    });
    assert!(was_waiting && leaving.borrow().pending.is_none(), "it leaves during the search");
    found
}

/// The searcher waits for two owners, both of which wait when it meets them. The first withdraws
/// before its edges are read; the second closes a cycle.
#[test]
fn search_goes_on_behind_an_owner_that_has_withdrawn() {
    let table = table();
    let [mut a, mut b, mut x] = std::array::from_fn(|_| table.owner());
    hold(&table, &mut x, 1, RangeMode::SN);
    hold(&table, &mut b, 1, RangeMode::SN);
    hold(&table, &mut a, 0, RangeMode::XN);
    queue(&table, &mut x, 0, RangeMode::SN);
    queue(&table, &mut b, 0, RangeMode::SN);
    queue(&table, &mut a, 1, RangeMode::XN);
    assert!(find_while_one_leaves(&table, &mut a, 1, &mut x), "SEARCH-1");
    assert_eq!(a.graph.met(), 3, "the owner that withdraws was met before");
    assert_eq!(a.graph.owners(), [a.number, b.number]);
    assert!(a.graph.is_certain(&table, a.number));
    assert!(search::dies(&table, &mut a, false));
    assert_eq!(table.stats().deadlocks, 1);
}

/// The only cycle leads through the owner that withdraws, which then waits for something else.
#[test]
fn withdrawal_breaks_the_cycle_that_leads_through_it() {
    let table = table();
    let [mut a, mut x, mut c] = std::array::from_fn(|_| table.owner());
    hold(&table, &mut a, 0, RangeMode::XN);
    hold(&table, &mut x, 1, RangeMode::XN);
    hold(&table, &mut c, 2, RangeMode::XN);
    queue(&table, &mut x, 0, RangeMode::XN);
    queue(&table, &mut a, 1, RangeMode::XN);
    assert!(!find_while_one_leaves(&table, &mut a, 1, &mut x));
    queue(&table, &mut x, 2, RangeMode::XN);
    assert!(!search::dies(&table, &mut a, false), "SEARCH-2");
    assert_eq!((table.stats().deadlocks, table.stats().victims_marked), (0, 0));
}

/// The cycle has an edge only because an owner stands behind the one that withdraws, and that owner
/// is granted in the same latch hold.
#[test]
fn withdrawal_breaks_the_cycle_of_the_owner_behind_it() {
    let table = table();
    let [mut a, mut b, mut x] = std::array::from_fn(|_| table.owner());
    hold(&table, &mut a, 0, RangeMode::SN);
    hold(&table, &mut b, 1, RangeMode::XN);
    queue(&table, &mut x, 0, RangeMode::XN);
    queue(&table, &mut b, 0, RangeMode::SN);
    queue(&table, &mut a, 1, RangeMode::XN);
    assert!(a.graph.find_cycle(&table, a.number), "through the queue's order");
    assert!(!find_while_one_leaves(&table, &mut a, 1, &mut x), "SEARCH-2");
    assert!(table.record(&b).is_granted());
}

/// A withdrawal grants an owner its lock, for which another one waits. The granted owner closes the
/// cycle with its next request, and finds it.
#[test]
fn owner_that_a_withdrawal_grants_finds_the_cycle_of_its_next_wait() {
    let table = table();
    let [mut h, mut w, mut x, mut k] = std::array::from_fn(|_| table.owner());
    hold(&table, &mut h, 0, RangeMode::SN);
    hold(&table, &mut w, 1, RangeMode::XN);
    queue(&table, &mut x, 0, RangeMode::XN);
    let mut cx = Context::from_waker(Waker::noop());
    assert!(table.poll_acquire(&mut k, KEYS[0], RangeMode::SN, &mut cx).is_pending());
    queue(&table, &mut w, 0, RangeMode::XN);
    assert!(!find_while_one_leaves(&table, &mut w, 0, &mut x), "no owner waits for it yet");
    assert!(table.poll_acquire(&mut k, KEYS[0], RangeMode::SN, &mut cx).is_ready());
    assert!(!search::dies(&table, &mut w, false));
    queue(&table, &mut k, 1, RangeMode::SN);
    assert!(k.graph.find_cycle(&table, k.number), "SEARCH-1");
    assert_eq!(k.graph.owners(), [k.number, w.number]);
}
