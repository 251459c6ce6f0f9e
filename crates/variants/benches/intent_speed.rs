//! The costs of intent locks that are in the lock table, or inherited, without contention.
//!
//! ```text
//! cargo bench -p clearway-variants --bench intent_speed      # nanoseconds
//! valgrind --tool=callgrind … intent_speed inherited         # instructions, one case
//! ```

use std::{env, time::Instant};

use clearway_base::Lsn;
use clearway_lock::{IntentMode, LockOptions, LockTable, ResourceId, WaitLimit};
use clearway_variants::lock::{IntentMethod, LockVariants};

/// Transactions of a case; divide callgrind's count by it.
const ROUNDS: u64 = 200_000;

const CASES: [(&str, IntentMethod); 3] = [
    ("lightweight", IntentMethod::Lightweight),
    ("inherited", IntentMethod::Inherited),
    ("main-table", IntentMethod::MainTable),
];

fn main() {
    // `cargo bench` adds `--bench`.
    let chosen = env::args().skip(1).find(|argument| argument != "--bench");
    for (name, method) in CASES {
        if chosen.as_ref().is_some_and(|chosen| chosen != name) {
            continue;
        }
        let table = LockTable::new(LockOptions::default().lock_variant(method));
        let mut owner = table.owner();
        let begin = Instant::now();
        for round in 0..ROUNDS {
            for tree in 1..5 {
                let (resource, mode) = (ResourceId(tree), IntentMode::IX);
                let granted = table.acquire_intent(&mut owner, resource, mode, WaitLimit::Default);
                granted.expect("intents do not conflict");
            }
            table.release_all(&mut owner, Some(Lsn(round)));
        }
        let ns = begin.elapsed().as_nanos() as f64 / ROUNDS as f64;
        println!("{name:18} {ns:7.1} ns for each transaction");
    }
}
