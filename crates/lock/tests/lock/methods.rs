//! All methods, with threads that spin or sleep: no wait lasts for ever.

use std::{
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    thread,
    time::{Duration, Instant},
};

use clearway_base::Error;
use clearway_lock::{LockOptions, LockOwner, LockTable, Outcome, RangeMode, WaitLimit};

use crate::{Method, id, methods, options, owners};

use RangeMode as M;

/// Rounds of spins: without end, none, and as many as the options have by default.
fn spin_rounds() -> [u32; 3] {
    [u32::MAX, 0, LockOptions::default().spin_rounds]
}

const REFRESH: Duration = Duration::from_millis(2);

fn under_all(scenario: impl Fn(&LockTable, &Method)) {
    for method in methods(REFRESH) {
        for spin_rounds in spin_rounds() {
            let parts = method.parts.clone();
            let table = LockTable::new(LockOptions { parts, spin_rounds, ..options() });
            scenario(&table, &method);
            assert!(table.is_quiescent(), "{method:?}, {spin_rounds} rounds");
        }
    }
}

/// Each owner requests its lock on a thread of its own, all at once; victims release all locks, and
/// so do owners that get theirs. Counts the victims.
fn clash(table: &LockTable, asks: Vec<(LockOwner, u32, M)>) -> u64 {
    let start = Barrier::new(asks.len());
    let died = thread::scope(|scope| {
        let one = |(mut owner, key, mode)| {
            let start = &start;
            scope.spawn(move || {
                start.wait();
                let end = table.acquire(&mut owner, id(key), mode, WaitLimit::Forever);
                assert!(matches!(end, Ok(()) | Err(Error::Deadlock { .. })), "{end:?}");
                table.release_all(&mut owner, None);
                u64::from(end.is_err())
            })
        };
        let threads: Vec<_> = asks.into_iter().map(one).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(table.stats().deadlocks, died);
    died
}

fn take(table: &LockTable, owner: &mut LockOwner, key: u32, mode: M) {
    assert_eq!(table.try_acquire(owner, id(key), mode), Outcome::Granted);
}

#[test]
fn rings_are_broken_and_by_exact_methods_with_one_death() {
    for length in [2u32, 3, 7] {
        under_all(|table, method| {
            let ring = (0..length).map(|n| {
                let mut owner = table.owner();
                take(table, &mut owner, n, M::XN);
                (owner, (n + 1) % length, M::XN)
            });
            let died = clash(table, ring.collect());
            let most = if method.may_kill_all { length } else { length - 1 };
            assert!((1..=most.into()).contains(&died), "{method:?}: {died} died of {length}");
            if method.is_exact {
                assert_eq!((died, table.stats().false_deaths), (1, 0), "{method:?}");
            }
        });
    }
}

#[test]
fn conversions_of_one_key_are_broken() {
    under_all(|table, method| {
        let shared = (0..3).map(|_| {
            let mut owner = table.owner();
            take(table, &mut owner, 1, M::SN);
            (owner, 1, M::XN)
        });
        let died = clash(table, shared.collect());
        let most = if method.may_kill_all { 3 } else { 2 };
        assert!((1..=most).contains(&died), "{method:?}: {died}");
    });
}

#[test]
fn waiting_without_a_cycle_has_no_victim_by_exact_methods() {
    // A chain of five, whose last member runs for a while, and is waited for in its queue as well.
    under_all(|table, method| {
        let mut last = table.owner();
        take(table, &mut last, 5, M::XN);
        let chain = (0..5).map(|n| {
            let mut owner = table.owner();
            take(table, &mut owner, n, M::XN);
            (owner, n + 1, M::SN)
        });
        let chain: Vec<_> = chain.collect();
        let died = thread::scope(|scope| {
            let clash = scope.spawn(|| clash(table, chain));
            thread::sleep(Duration::from_millis(6));
            table.release_all(&mut last, None);
            clash.join().unwrap()
        });
        let stats = table.stats();
        assert!(died == 0 || !method.is_exact, "{method:?}");
        assert!(stats.false_deaths == died, "the checker knows: {stats:?}");
    });
}

/// A waiter that is polled only when its waker is called.
struct Task<'a> {
    table: &'a LockTable,
    owner: LockOwner,
    wants: u32,
    rung: Arc<Bell>,
    ended: bool,
}

impl Task<'_> {
    fn poll(&mut self) {
        let waker = Waker::from(self.rung.clone());
        let mut cx = Context::from_waker(&waker);
        let (table, id) = (self.table, id(self.wants));
        match table.poll_acquire(&mut self.owner, id, M::XN, &mut cx) {
            Poll::Pending => return,
            Poll::Ready(end) => assert!(matches!(end, Ok(()) | Err(Error::Deadlock { .. }))),
        }
        self.table.release_all(&mut self.owner, None);
        self.ended = true;
    }

    fn poll_if_woken(&mut self) {
        if self.rung.0.swap(false, Ordering::SeqCst) && !self.ended {
            self.poll();
        }
    }
}

#[derive(Default)]
struct Bell(AtomicBool);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn polled_and_blocking_waiters_find_their_cycle_without_a_poll_for_nothing() {
    // p → q → b → p: p and q are polled, b blocks and comes first, second or last.
    for place in 0..3 {
        for method in methods(REFRESH).into_iter().filter(|method| !method.needs_polls) {
            let parts = method.parts.clone();
            let table = LockTable::new(LockOptions { parts, ..options() });
            let task = |holds, wants| {
                let mut owner = table.owner();
                take(&table, &mut owner, holds, M::XN);
                Task { table: &table, owner, wants, rung: Arc::default(), ended: false }
            };
            let (mut p, mut q, [mut b]) = (task(1, 2), task(2, 3), owners(&table));
            take(&table, &mut b, 3, M::XN);
            thread::scope(|scope| {
                let mut block = Some(|| {
                    let end = table.acquire(&mut b, id(1), M::XN, WaitLimit::Forever);
                    table.release_all(&mut b, None);
                    end.is_ok()
                });
                let mut blocking = None;
                for step in 0..3 {
                    match step {
                        _ if step == place => {
                            blocking = block.take().map(|block| scope.spawn(block));
                            thread::sleep(Duration::from_millis(6));
                        }
                        0 => p.poll(),
                        1 if place == 0 => p.poll(),
                        _ => q.poll(),
                    }
                }
                let blocking = blocking.expect("it had its place");
                let begun = Instant::now();
                while !(blocking.is_finished() && p.ended && q.ended) {
                    assert!(begun.elapsed() < Duration::from_secs(20), "{method:?} {place}");
                    thread::sleep(Duration::from_millis(1));
                    p.poll_if_woken();
                    q.poll_if_woken();
                }
            });
            assert!(table.stats().deadlocks >= 1, "{method:?}");
            assert!(table.is_quiescent());
        }
    }
}

/// Checks the kind of wait, not its length: a hand-over must not wait for a refresh.
#[test]
fn sleepers_are_woken_at_the_hand_over_whatever_the_refresh() {
    let refresh = Duration::from_secs(30);
    for method in methods(refresh).into_iter().filter(|method| method.is_exact) {
        for spin_rounds in spin_rounds() {
            let (parts, spins) = (method.parts.clone(), 0);
            let table = LockTable::new(LockOptions { parts, spin_rounds, spins, ..options() });
            let begun = Instant::now();
            thread::scope(|scope| {
                for n in 0..3 {
                    let table = &table;
                    scope.spawn(move || {
                        let mut owner = table.owner();
                        for _ in 0..200 {
                            take(table, &mut owner, 100 + n, M::XN);
                            table.acquire(&mut owner, id(1), M::XN, WaitLimit::Forever).unwrap();
                            table.release_all(&mut owner, None);
                        }
                    });
                }
            });
            assert!(begun.elapsed() < refresh, "{method:?}, {spin_rounds} rounds");
        }
    }
}

#[test]
fn total_order_has_no_victim_by_exact_methods() {
    let refresh = Duration::from_millis(1);
    for method in methods(refresh).into_iter().filter(|method| method.is_exact) {
        for spin_rounds in spin_rounds() {
            let parts = method.parts.clone();
            let table = LockTable::new(LockOptions { parts, spin_rounds, ..options() });
            thread::scope(|scope| {
                for n in 0..4u32 {
                    let table = &table;
                    scope.spawn(move || {
                        let mut owner = table.owner();
                        for round in 0..300u32 {
                            for key in (round + n) % 3..6 {
                                table
                                    .acquire(&mut owner, id(key), M::XN, WaitLimit::Forever)
                                    .expect("a total order has no cycle");
                            }
                            table.release_all(&mut owner, None);
                        }
                    });
                }
            });
            assert_eq!(table.stats().deadlocks, 0);
        }
    }
}
