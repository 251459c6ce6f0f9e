//! Models of a wait that could end in several ways at the same time.
//!
//! Deliberate errors, and the model that was seen to fail for each:
//!
//! - `sleeper_wakes_at_the_hand_over`: the grant checked before the waker is stored (LOCK-WAIT-2);
//!   a release that grants no waiter.
//! - `spinner_sees_the_hand_over_or_sleeps_until_it`: the same.
//! - `cancelled_request_is_gone_or_given_back`: a withdrawal that keeps a lock that was granted and
//!   not picked up.
//! - `queue_goes_on_after_a_withdrawal`: a release that grants no waiter (LOCK-WAIT-3).
//!
//! `grant_before_the_time_limit_wins` does not notice a withdrawal that overlooks a grant
//! (LOCK-WAIT-4): it reports a time-out and gives the lock back in one latch hold, which is untrue
//! and does no harm.

use std::task::{Context, Waker};

use clearway_base::Lsn;
use clearway_sync::{check, thread};

use super::*;
use crate::{LockOptions, table::models::table};

const KEY: LockId = LockId(1);

/// A table, an owner that holds the key, and one that does not.
fn held() -> (LockTable, LockOwner, LockOwner) {
    let table = table();
    let (mut holder, other) = (table.owner(), table.owner());
    assert_eq!(table.try_acquire(&mut holder, KEY, RangeMode::XN), Outcome::Granted);
    (table, holder, other)
}

/// Releases the holder's locks on a thread of its own.
fn release(table: &LockTable, mut holder: LockOwner) -> thread::JoinHandle<LockOwner> {
    let table = table.clone();
    thread::spawn(move || {
        table.release_all(&mut holder, Some(Lsn(5)));
        holder
    })
}

/// A lost wake-up is a deadlock, which loom reports.
#[test]
fn sleeper_wakes_at_the_hand_over() {
    check(3, || {
        let (table, holder, mut waiter) = held();
        let releaser = release(&table, holder);
        table.acquire(&mut waiter, KEY, RangeMode::XN, WaitLimit::Forever).unwrap();
        assert!(waiter.holds(KEY, RangeMode::XN));
        drop((releaser.join().unwrap(), waiter));
        assert!(table.is_quiescent());
    });
}

#[test]
fn spinner_sees_the_hand_over_or_sleeps_until_it() {
    check(3, || {
        let table = LockTable::new(LockOptions {
            buckets: 1,
            intents: 1,
            wait_limit: None,
            spins: 1,
            ..LockOptions::default()
        });
        let (mut holder, mut waiter) = (table.owner(), table.owner());
        assert_eq!(table.try_acquire(&mut holder, KEY, RangeMode::XN), Outcome::Granted);
        let releaser = release(&table, holder);
        table.acquire(&mut waiter, KEY, RangeMode::XN, WaitLimit::Forever).unwrap();
        assert_eq!(waiter.max_tag(), Lsn(5), "the commit's tag is there with the grant");
        drop((releaser.join().unwrap(), waiter));
        assert!(table.is_quiescent());
    });
}

#[test]
fn grant_before_the_time_limit_wins() {
    check(3, || {
        let (table, holder, mut waiter) = held();
        assert!(!table.start(&mut waiter, KEY, RangeMode::XN));
        let releaser = release(&table, holder);
        let granted = table.block(&mut waiter, WaitLimit::For(Duration::ZERO)).is_ok();
        assert_eq!(granted, waiter.holds(KEY, RangeMode::XN));
        assert_eq!(granted, waiter.held() == 1);
        let holder = releaser.join().unwrap();
        assert_eq!(granted, table.tag(KEY) == waiter.max_tag());
        drop((holder, waiter));
        assert!(table.is_quiescent());
    });
}

#[test]
fn cancelled_request_is_gone_or_given_back() {
    check(3, || {
        let (table, holder, mut waiter) = held();
        let mut cx = Context::from_waker(Waker::noop());
        assert!(table.poll_acquire(&mut waiter, KEY, RangeMode::XN, &mut cx).is_pending());
        let releaser = release(&table, holder);
        table.cancel(&mut waiter);
        drop(releaser.join().unwrap());
        assert!(table.is_idle(KEY));
        assert_eq!(table.try_acquire(&mut waiter, KEY, RangeMode::XN), Outcome::Granted);
    });
}

#[test]
fn queue_goes_on_after_a_withdrawal() {
    check(1, || {
        let (table, holder, mut first) = held();
        let mut second = table.owner();
        // The second waits for the first alone once the holder has lowered its lock.
        assert!(!table.start(&mut first, KEY, RangeMode::XN));
        let releaser = release(&table, holder);
        let waiter = {
            let table = table.clone();
            thread::spawn(move || {
                table.acquire(&mut second, KEY, RangeMode::SN, WaitLimit::Forever).unwrap();
            })
        };
        table.cancel(&mut first);
        waiter.join().unwrap();
        drop((releaser.join().unwrap(), first));
        assert!(table.is_quiescent());
    });
}
