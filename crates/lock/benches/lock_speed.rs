//! The cost of locks: without contention, already held, contended by two threads, and with many
//! waiters behind one hot key.
//!
//! ```text
//! cargo bench -p clearway-lock --bench lock_speed      # nanoseconds
//! valgrind --tool=callgrind … lock_speed four          # instructions, one case
//! ```

use std::{env, hint::black_box, thread, time::Instant};

use clearway_base::{Lsn, TreeId};
use clearway_lock::{
    IntentMode, LockId, LockOptions, LockOwner, LockTable, Outcome, RangeMode, ResourceId,
    WaitLimit,
};

/// Transactions of a case; divide callgrind's count by it.
const ROUNDS: u64 = 200_000;

fn take(table: &LockTable, owner: &mut LockOwner, id: LockId, mode: RangeMode) {
    assert_eq!(table.try_acquire(owner, id, mode), Outcome::Granted);
}

fn key(round: u64, tree: u32) -> LockId {
    LockId::of(TreeId(tree), &(round * 7919 % 100_000).to_be_bytes())
}

/// Four range locks, hashed, taken exclusively and released with a commit.
fn four(table: &LockTable, owner: &mut LockOwner, round: u64) {
    for tree in 1..5 {
        take(table, owner, key(round, tree), RangeMode::XN);
    }
    table.release_all(owner, Some(Lsn(round)));
}

/// The same, each requested three times: the second and third time it is already held.
fn held(table: &LockTable, owner: &mut LockOwner, round: u64) {
    for _ in 0..3 {
        for tree in 1..5 {
            take(table, owner, key(round, tree), RangeMode::XN);
        }
    }
    table.release_all(owner, Some(Lsn(round)));
}

/// Takes intent locks on resources up to 4 and requests each of them `times` times. The only caller
/// of `acquire_intent`, as the engine has one for tables: the compiler may merge the two.
#[inline(never)]
fn intend(table: &LockTable, owner: &mut LockOwner, first: u32, times: u32) {
    for _ in 0..times {
        for tree in first..5 {
            let resource = ResourceId(tree);
            let granted = table.acquire_intent(owner, resource, IntentMode::IX, WaitLimit::Default);
            granted.expect("intents do not conflict");
        }
    }
}

/// Four intent locks.
fn intents(table: &LockTable, owner: &mut LockOwner, round: u64) {
    intend(table, owner, 1, 1);
    table.release_all(owner, Some(Lsn(round)));
}

/// The same, each requested three times: the second and third time it is already held.
fn intents_held(table: &LockTable, owner: &mut LockOwner, round: u64) {
    intend(table, owner, 1, 3);
    table.release_all(owner, Some(Lsn(round)));
}

/// Four on tables and, before them, one on the database.
fn intents_below(table: &LockTable, owner: &mut LockOwner, round: u64) {
    intend(table, owner, ResourceId::DATABASE.0, 1);
    table.release_all(owner, Some(Lsn(round)));
}

fn hash(_: &LockTable, _: &mut LockOwner, round: u64) {
    for tree in 1..5 {
        black_box(key(round, tree));
    }
}

fn nothing(table: &LockTable, owner: &mut LockOwner, round: u64) {
    table.release_all(owner, Some(Lsn(round)));
}

type Case = (&'static str, fn(&LockTable, &mut LockOwner, u64));

const CASES: [Case; 7] = [
    ("nothing", nothing),
    ("hash", hash),
    ("four", four),
    ("held", held),
    ("intents", intents),
    ("intents-held", intents_held),
    ("intents-below", intents_below),
];

/// Lets `threads` threads increment under one exclusive lock, and returns the nanoseconds for each
/// increment.
fn hot_key(threads: u64) -> f64 {
    let table = LockTable::new(LockOptions::default());
    let id = LockId::of(TreeId(1), b"hot");
    let rounds = 100_000 / threads;
    let begin = Instant::now();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut owner = table.owner();
                for round in 0..rounds {
                    if table.try_acquire(&mut owner, id, RangeMode::XN) == Outcome::Denied {
                        let granted =
                            table.acquire(&mut owner, id, RangeMode::XN, WaitLimit::Forever);
                        granted.expect("one lock makes no cycle");
                    }
                    table.release_all(&mut owner, Some(Lsn(round)));
                }
            });
        }
    });
    let ns = begin.elapsed().as_nanos() as f64 / (rounds * threads) as f64;
    let stats = table.stats();
    println!(
        "hot key, {threads:4} threads: {ns:8.0} ns, {} waits, {} parks, {} spurious",
        stats.waits, stats.parks, stats.spurious_wakeups
    );
    ns
}

/// Returns the bytes of memory for each of many locks that one owner holds: the growth of the
/// process's resident memory, everything included. `None` if the system does not report it.
fn bytes_of_a_lock() -> Option<f64> {
    const LOCKS: u64 = 1_000_000;
    let before = resident_bytes()?;
    let table = LockTable::new(LockOptions::default());
    let mut owner = table.owner();
    for n in 0..LOCKS {
        take(&table, &mut owner, LockId::of(TreeId(1), &n.to_be_bytes()), RangeMode::XN);
    }
    let grown = resident_bytes()?.checked_sub(before)?;
    table.release_all(&mut owner, Some(Lsn(1)));
    Some(grown as f64 / LOCKS as f64)
}

/// Returns the resident memory of the process.
fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

fn main() {
    // `cargo bench` adds `--bench`.
    let chosen = env::args().skip(1).find(|argument| argument != "--bench");
    // First: memory that another case has given back would not be counted.
    if chosen.is_none()
        && let Some(bytes) = bytes_of_a_lock()
    {
        println!("{bytes:.0} bytes of memory for each of a million locks held, the table included");
    }
    for (name, case) in CASES {
        if chosen.as_ref().is_some_and(|chosen| chosen != name) {
            continue;
        }
        let table = LockTable::new(LockOptions::default());
        let mut owner = table.owner();
        let begin = Instant::now();
        (0..ROUNDS).for_each(|round| case(&table, &mut owner, round));
        let ns = begin.elapsed().as_nanos() as f64 / ROUNDS as f64;
        println!("{name:18} {ns:7.1} ns for each transaction");
    }
    if chosen.is_none() {
        for threads in [1, 2, 8, 64, 1024] {
            hot_key(threads);
        }
    }
}
