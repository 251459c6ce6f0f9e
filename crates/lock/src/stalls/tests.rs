//! Stall times along waits, step by step on one thread.

use std::{
    task::{Context, Poll, Waker},
    thread,
};

use super::*;
use crate::{IntentMode, LockId, LockOptions, Outcome, RangeMode, ResourceId, WaitLimit};

const X: LockId = LockId(11);
const Y: LockId = LockId(12);

fn table() -> LockTable {
    LockTable::new(LockOptions { wait_limit: None, ..LockOptions::default() })
}

/// A table in which an owner has waited for a page before (STALL-4).
fn table_with_owners<const N: usize>() -> (LockTable, [LockOwner; N]) {
    let table = table();
    let mut owners = std::array::from_fn(|_| table.owner());
    for owner in &mut owners {
        pass_while_reading(owner);
    }
    (table, owners)
}

/// The bounds of a length of time.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    min: Duration,
    max: Duration,
}

impl std::ops::Add for Bounds {
    type Output = Bounds;

    fn add(self, other: Bounds) -> Bounds {
        Bounds { min: self.min + other.min, max: self.max + other.max }
    }
}

/// Lets some time pass.
fn pass() {
    thread::sleep(Duration::from_millis(2));
}

/// Lets some time pass in which an owner waits for a page. Returns the length of that wait.
fn pass_while_reading(owner: &mut LockOwner) -> Bounds {
    read_for(owner, 2)
}

/// As [`pass_while_reading`], for longer, for a wait that must not count.
fn pass_while_reading_for_itself(owner: &mut LockOwner) {
    read_for(owner, 15);
}

fn read_for(owner: &mut LockOwner, ms: u64) -> Bounds {
    let outer = Instant::now();
    owner.begin_read();
    let inner = Instant::now();
    thread::sleep(Duration::from_millis(ms));
    let min = inner.elapsed();
    let counted = owner.end_read();
    let max = outer.elapsed();
    assert!(min <= counted && counted <= max, "{min:?} {counted:?} {max:?}");
    Bounds { min, max }
}

fn lock(table: &LockTable, owner: &mut LockOwner, id: LockId, mode: RangeMode) {
    assert_eq!(table.try_acquire(owner, id, mode), Outcome::Granted);
}

fn poll(table: &LockTable, owner: &mut LockOwner, id: LockId, mode: RangeMode) -> bool {
    let mut cx = Context::from_waker(Waker::noop());
    matches!(table.poll_acquire(owner, id, mode, &mut cx), Poll::Ready(Ok(())))
}

/// Begins a wait.
fn wait(table: &LockTable, owner: &mut LockOwner, id: LockId, mode: RangeMode) {
    assert!(!poll(table, owner, id, mode));
}

/// Returns the part behind readers of a wait that has ended, granted or not.
fn behind(owner: &mut LockOwner) -> Duration {
    let wait = owner.take_wait().expect("it has waited");
    assert!(wait.behind_reads <= wait.waited);
    wait.behind_reads
}

/// As [`behind`], of a wait that was granted and not polled since.
fn behind_of_granted(table: &LockTable, owner: &mut LockOwner, id: LockId) -> Duration {
    assert!(poll(table, owner, id, RangeMode::XN));
    behind(owner)
}

fn assert_within(counted: Duration, bounds: Bounds) {
    assert!(bounds.min <= counted && counted <= bounds.max, "{counted:?} {bounds:?}");
}

#[test]
fn reads_of_the_holder_count_while_another_owner_waits() {
    let (table, [mut holder, mut waiter]) = table_with_owners();
    lock(&table, &mut holder, X, RangeMode::XN);
    pass_while_reading_for_itself(&mut holder); // Before the wait.
    wait(&table, &mut waiter, X, RangeMode::XN);
    pass();
    let reads = pass_while_reading(&mut holder) + pass_while_reading(&mut holder);
    pass();
    table.release_all(&mut holder, None);
    // In its next transaction, before the waiter is polled.
    pass_while_reading_for_itself(&mut holder);
    assert_within(behind_of_granted(&table, &mut waiter, X), reads);
    assert!(waiter.take_wait().is_none());
}

#[test]
fn waits_behind_a_holder_that_does_not_read_count_nothing() {
    let (table, [mut holder, mut waiter, mut other]) = table_with_owners();
    lock(&table, &mut holder, X, RangeMode::XN);
    wait(&table, &mut waiter, X, RangeMode::XN);
    pass_while_reading_for_itself(&mut other);
    table.release_all(&mut holder, None);
    assert_eq!(behind_of_granted(&table, &mut waiter, X), Duration::ZERO);
}

#[test]
fn a_read_that_spans_the_beginning_or_the_end_of_a_wait_counts_in_part() {
    let (table, [mut holder, mut waiter]) = table_with_owners();
    lock(&table, &mut holder, X, RangeMode::XN);
    holder.begin_read();
    pass();
    let outer = Instant::now();
    wait(&table, &mut waiter, X, RangeMode::XN);
    let inner = Instant::now();
    pass();
    // The read goes on when the wait is withdrawn.
    let min = inner.elapsed();
    table.cancel(&mut waiter);
    let first = Bounds { min, max: outer.elapsed() };
    assert_within(behind(&mut waiter), first);
    let outer = Instant::now();
    wait(&table, &mut waiter, X, RangeMode::XN);
    let inner = Instant::now();
    pass();
    let min = inner.elapsed();
    holder.end_read();
    let second = Bounds { min, max: outer.elapsed() };
    table.release_all(&mut holder, None);
    assert_within(behind_of_granted(&table, &mut waiter, X), second);
}

#[test]
fn reads_count_along_a_chain_of_waits() {
    let (table, [mut reader, mut middle, mut last]) = table_with_owners();
    lock(&table, &mut reader, X, RangeMode::XN);
    lock(&table, &mut middle, Y, RangeMode::XN);
    wait(&table, &mut middle, X, RangeMode::XN);
    // Before the last one waits.
    let early = pass_while_reading(&mut reader);
    wait(&table, &mut last, Y, RangeMode::XN);
    let late = pass_while_reading(&mut reader);
    table.release_all(&mut reader, None);
    assert_within(behind_of_granted(&table, &mut middle, X), early + late);
    let own = pass_while_reading(&mut middle);
    table.release_all(&mut middle, None);
    assert_within(behind_of_granted(&table, &mut last, Y), late + own);
}

#[test]
fn a_waiter_follows_the_holders_one_after_the_other() {
    let (table, [mut first, mut second, mut third, mut fourth]) = table_with_owners();
    lock(&table, &mut first, X, RangeMode::XN);
    for owner in [&mut second, &mut third, &mut fourth] {
        wait(&table, owner, X, RangeMode::XN);
    }
    let mut reads = pass_while_reading(&mut first);
    table.release_all(&mut first, None);
    pass_while_reading_for_itself(&mut first);
    assert_within(behind_of_granted(&table, &mut second, X), reads);
    reads = reads + pass_while_reading(&mut second);
    table.release_all(&mut second, None);
    pass_while_reading_for_itself(&mut second);
    // One that has given up is in nobody's way.
    table.cancel(&mut third);
    assert_within(behind(&mut third), reads);
    pass_while_reading_for_itself(&mut third);
    let granted = behind_of_granted(&table, &mut fourth, X);
    assert_within(granted, reads);
    assert!(table.shared.stalls.get(Target::Range(X)).is_none(), "STALL-1");
}

#[test]
fn of_several_holders_one_is_followed_that_conflicts() {
    let (table, [mut gap, mut first, mut second, mut waiter]) = table_with_owners();
    lock(&table, &mut gap, X, RangeMode::NX);
    lock(&table, &mut first, X, RangeMode::SN);
    lock(&table, &mut second, X, RangeMode::SN);
    wait(&table, &mut waiter, X, RangeMode::XN);
    pass_while_reading_for_itself(&mut gap);
    let mut reads = pass_while_reading(&mut first);
    pass_while_reading_for_itself(&mut second);
    table.release_all(&mut first, None);
    reads = reads + pass_while_reading(&mut second);
    table.release_all(&mut second, None);
    assert_within(behind_of_granted(&table, &mut waiter, X), reads);
}

#[test]
fn a_holder_that_waits_for_a_stronger_mode_follows_the_other_holder() {
    let (table, [mut stronger, mut other, mut newcomer]) = table_with_owners();
    lock(&table, &mut stronger, X, RangeMode::SN);
    lock(&table, &mut other, X, RangeMode::SN);
    wait(&table, &mut newcomer, X, RangeMode::XN);
    let early = pass_while_reading(&mut stronger);
    wait(&table, &mut stronger, X, RangeMode::XN);
    let late = pass_while_reading(&mut other);
    table.release_all(&mut other, None);
    assert_within(behind_of_granted(&table, &mut stronger, X), late);
    table.release_all(&mut stronger, None);
    assert_within(behind_of_granted(&table, &mut newcomer, X), early + late);
}

#[test]
fn waits_for_intent_locks_are_divided_too() {
    let (table, [mut first, mut second, mut third, mut fourth]) = table_with_owners();
    let (t, mut cx) = (ResourceId(5), Context::from_waker(Waker::noop()));
    let poll = |owner: &mut LockOwner, cx: &mut Context<'_>, mode| {
        table.poll_acquire_intent(owner, t, mode, cx).is_ready()
    };
    for owner in [&mut first, &mut second] {
        assert_eq!(table.try_acquire_intent(owner, t, IntentMode::IX), Outcome::Granted);
    }
    assert!(!poll(&mut third, &mut cx, IntentMode::X));
    assert!(!poll(&mut fourth, &mut cx, IntentMode::X));
    let mut reads = pass_while_reading(&mut first);
    table.release_all(&mut first, None);
    pass_while_reading_for_itself(&mut first);
    reads = reads + pass_while_reading(&mut second);
    table.release_all(&mut second, None);
    // The lock is granted, and not picked up yet.
    assert!(poll(&mut third, &mut cx, IntentMode::X));
    assert_within(behind(&mut third), reads);
    let more = pass_while_reading(&mut third);
    table.cancel(&mut fourth);
    assert_within(behind(&mut fourth), reads + more);
    assert!(table.shared.stalls.get(Target::Intent(table.entry_of(t))).is_none(), "STALL-1");
}

#[test]
fn a_thread_that_blocks_counts_the_reads_of_the_holder() {
    let (table, [mut holder, mut waiter]) = table_with_owners();
    lock(&table, &mut holder, X, RangeMode::XN);
    thread::scope(|scope| {
        let blocked = scope.spawn(|| {
            table.acquire(&mut waiter, X, RangeMode::XN, WaitLimit::Forever).unwrap();
            behind(&mut waiter)
        });
        while table.stats().waiting == 0 {
            thread::yield_now();
        }
        let reads = pass_while_reading(&mut holder);
        table.release_all(&mut holder, None);
        assert_within(blocked.join().unwrap(), reads);
    });
}

#[test]
fn no_clock_exists_until_an_owner_has_waited_for_a_page() {
    let table = table();
    let [mut holder, mut waiter] = std::array::from_fn(|_| table.owner());
    let is_clear = || table.shared.stalls.is_empty();
    lock(&table, &mut holder, X, RangeMode::XN);
    wait(&table, &mut waiter, X, RangeMode::XN);
    assert!(is_clear());
    table.release_all(&mut holder, None);
    assert_eq!(behind_of_granted(&table, &mut waiter, X), Duration::ZERO);
    // A wait that began before the first page wait has none.
    wait(&table, &mut holder, X, RangeMode::XN);
    pass_while_reading_for_itself(&mut waiter);
    assert!(is_clear());
    table.release_all(&mut waiter, None);
    assert_eq!(behind_of_granted(&table, &mut holder, X), Duration::ZERO);
    // The next one has.
    lock(&table, &mut waiter, Y, RangeMode::XN);
    wait(&table, &mut holder, Y, RangeMode::XN);
    assert!(!is_clear());
}
