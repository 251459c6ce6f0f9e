//! The costs of deadlocks and waits: the time from the moment a cycle closes until its victim
//! returns, the time that a hot lock takes from one thread to another, and the share of deadlock
//! checks in the work with many waiters on one row.
//!
//! ```text
//! cargo bench -p clearway-variants --bench deadlock_speed
//! valgrind --tool=callgrind deadlock_speed row   # then callgrind_annotate: `check_deadlock`
//! ```

use std::{
    env, hint,
    sync::{
        Barrier,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use clearway_base::{Lsn, TreeId};
use clearway_lock::{LockId, LockOptions, LockOwner, LockTable, Outcome, RangeMode, WaitLimit};
use clearway_variants::lock::{DeadlockMethod, Digests, LockVariant, LockVariants, VictimPolicy};

fn id(n: u64) -> LockId {
    LockId::of(TreeId(1), &n.to_be_bytes())
}

fn take(table: &LockTable, owner: &mut LockOwner, n: u64) {
    assert_eq!(table.try_acquire(owner, id(n), RangeMode::XN), Outcome::Granted);
}

fn wait(table: &LockTable, owner: &mut LockOwner, n: u64) -> Result<(), clearway_base::Error> {
    table.acquire(owner, id(n), RangeMode::XN, WaitLimit::Forever)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Median time, in microseconds, from the request that closes a cycle of two to the victim's
/// error: the closer's, or the sleeping other's.
fn time_to_die(deadlocks: DeadlockMethod, victims: VictimPolicy) -> f64 {
    let variant = LockVariant { deadlocks, victims, ..LockVariant::default() };
    let table = LockTable::new(LockOptions::default().lock_variant(variant));
    let mut times = Vec::new();
    for _ in 0..200 {
        let (mut a, mut b) = (table.owner(), table.owner());
        a.set_pipeline(9);
        take(&table, &mut a, 1);
        take(&table, &mut b, 2);
        let sleeps = Barrier::new(2);
        let closed = thread::scope(|scope| {
            let other = scope.spawn(|| {
                sleeps.wait();
                let died = wait(&table, &mut a, 2).is_err();
                let now = Instant::now();
                table.release_all(&mut a, None);
                died.then_some(now)
            });
            sleeps.wait();
            thread::sleep(Duration::from_micros(300));
            let closed = Instant::now();
            let died = wait(&table, &mut b, 1).is_err().then(Instant::now);
            table.release_all(&mut b, None);
            let other = other.join().expect("no panic");
            other.or(died).expect("one of them died") - closed
        });
        times.push(closed.as_secs_f64() * 1e6);
    }
    median(times)
}

/// Nanoseconds for each hand-over of one lock between two threads: the holder lets go when the
/// other waits, and asks for it again.
fn hand_over(spin_rounds: u32) -> f64 {
    const ROUNDS: u32 = 10_000;
    let table = LockTable::new(LockOptions { spin_rounds, ..LockOptions::default() });
    let done = AtomicU32::new(0);
    let begun = Instant::now();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut owner = table.owner();
                for _ in 0..ROUNDS {
                    wait(&table, &mut owner, 1).expect("one lock makes no cycle");
                    while table.is_idle_except(&owner, id(1)) && done.load(Ordering::Relaxed) == 0 {
                        hint::spin_loop();
                    }
                    table.release_all(&mut owner, Some(Lsn(1)));
                }
                done.store(1, Ordering::Relaxed);
            });
        }
    });
    let each = begun.elapsed().as_nanos() as f64 / f64::from(2 * ROUNDS);
    let stats = table.stats();
    println!("  ({} waits and {} sleeps in {} hand-overs)", stats.waits, stats.parks, 2 * ROUNDS);
    each
}

/// The same between two threads that do nothing but wake each other and sleep: what a hand-over to
/// a sleeper takes at least here.
fn wake_up() -> f64 {
    const ROUNDS: u32 = 10_000;
    let turn = AtomicU32::new(0);
    let take_turns = |me: u32, other: &thread::Thread| {
        for _ in 0..ROUNDS {
            while turn.load(Ordering::Acquire) != me {
                thread::park();
            }
            turn.store(1 - me, Ordering::Release);
            other.unpark();
        }
    };
    let begun = Instant::now();
    thread::scope(|scope| {
        let first = thread::current();
        let second = scope.spawn(move || take_turns(1, &first));
        take_turns(0, second.thread());
    });
    begun.elapsed().as_nanos() as f64 / f64::from(2 * ROUNDS)
}

/// The least of some measurements: what the machine does undisturbed.
fn least(measure: impl Fn() -> f64) -> f64 {
    (0..7).map(|_| measure()).fold(f64::INFINITY, f64::min)
}

/// `waiters` threads that hold a row of their own each and wait for one and the same.
fn one_row(deadlocks: DeadlockMethod, waiters: u64) -> f64 {
    const ROUNDS: u64 = 20;
    let table = LockTable::new(LockOptions::default().lock_variant(deadlocks));
    let begun = Instant::now();
    thread::scope(|scope| {
        for n in 0..waiters {
            let table = &table;
            scope.spawn(move || {
                let mut owner = table.owner();
                for _ in 0..ROUNDS {
                    take(table, &mut owner, 100 + n);
                    wait(table, &mut owner, 1).expect("no cycle");
                    // The others come and stand in the queue.
                    thread::yield_now();
                    table.release_all(&mut owner, Some(Lsn(1)));
                }
            });
        }
    });
    let each = begun.elapsed().as_secs_f64() * 1e6 / (waiters * ROUNDS) as f64;
    println!("  {:?}", table.stats());
    each
}

fn main() {
    let digests = DeadlockMethod::Dreadlocks(Digests::default());
    // `cargo bench` adds `--bench`.
    if let Some(what) = env::args().skip(1).find(|argument| argument != "--bench") {
        let method = if what == "digests" { digests } else { DeadlockMethod::Search };
        println!("one row, 1024 waiters: {:.1} µs", one_row(method, 1024));
        return;
    }
    for (name, method) in [("search", DeadlockMethod::Search), ("digests", digests)] {
        for (who, victims) in [("closer", VictimPolicy::Closer), ("other", VictimPolicy::KillLong)]
        {
            let us = time_to_die(method, victims);
            println!("{name}: victim, the {who}, knows after {us:.1} µs (median)");
        }
    }
    println!("wake-up of a thread, without a lock: {:.0} ns at best", least(wake_up));
    let hybrid = LockOptions::default().spin_rounds;
    for (name, rounds) in [("spinning", u32::MAX), ("hybrid", hybrid), ("sleeping", 0)] {
        println!("hand-over, {name}: {:.0} ns at best", least(|| hand_over(rounds)));
    }
    for (name, method) in [("search", DeadlockMethod::Search), ("digests", digests)] {
        println!("one row, 1024 waiters, {name}: {:.1} µs", one_row(method, 1024));
    }
}
