//! What is counted in instructions: a pipelined transaction, and the search for deadlocks among a
//! crowd of threads that wait for the row.
//!
//! The share of the search is what the crowd's transactions cost with it over what they cost with
//! a method that never looks (a limit that nobody reaches).

use std::{thread, time::Duration};

use clearway::Options as DatabaseOptions;
use clearway_variants::lock::{DeadlockMethod, LockVariants};
use clearway_workloads::{ClearwayStore, Store, Workload};

use super::row::HotRow;
use crate::{
    callgrind::{Case, Counts},
    experiment::Outcome,
    report::Findings,
};

pub(super) const CASES: [Case; 3] = [
    // One thread's transactions.
    Case { name: PIPELINED, rounds: ROUNDS, run: pipelined },
    Case { name: SEARCHING, rounds: CROWD_ROUNDS, run: |n| crowd(DeadlockMethod::Search, n) },
    Case {
        name: UNSEARCHED,
        rounds: CROWD_ROUNDS,
        run: |n| crowd(DeadlockMethod::Timeout(AN_HOUR), n),
    },
];
const PIPELINED: &str = "pipelined";
const SEARCHING: &str = "crowd-search";
const UNSEARCHED: &str = "crowd-no-search";

/// Transactions that are counted.
const ROUNDS: u64 = 4_000;
/// Transactions in flight before one is awaited.
const UNAWAITED: u64 = 64;
/// Threads that wait for the row.
const CROWD: u64 = 1_024;
/// Their transactions that are counted.
const CROWD_ROUNDS: u64 = 8 * CROWD;
/// The share that looking for deadlocks may have.
const SHARE: f64 = 0.05;
/// What a transaction that waits may cost over one that does not; a walk along the queue is more.
const CROWDED: f64 = 3.0;
const AN_HOUR: Duration = Duration::from_secs(3_600);

fn open(deadlocks: DeadlockMethod) -> Outcome<(ClearwayStore, HotRow)> {
    let options = DatabaseOptions::in_memory().cache_size(32 << 20).log_capacity(64 << 20);
    let options = options.locks(|locks| locks.wait_limit = None).lock_variant(deadlocks);
    let store = ClearwayStore::new(options.open("lab")?);
    let row = HotRow::load(&store)?;
    Ok((store, row))
}

fn pipelined(rounds: u64) -> Outcome<()> {
    let (store, row) = open(DeadlockMethod::Search)?;
    let mut last = None;
    for round in 0..rounds {
        let pending = row.submit(&store, &mut (), &())?;
        if round % UNAWAITED == 0
            && let Some(last) = last.replace(pending)
        {
            last.wait()?;
        }
    }
    Ok(())
}

/// As many threads' transactions, each of which finds most of the others waiting.
fn crowd(deadlocks: DeadlockMethod, rounds: u64) -> Outcome<()> {
    let (store, row) = open(deadlocks)?;
    // A transaction that has the row lets others run, so that they come and wait.
    let submit = || store.submit("increment", |tx| row.increment(tx, thread::yield_now)).map(drop);
    let failed = thread::scope(|scope| {
        let client = |_| scope.spawn(|| (0..rounds / CROWD).try_for_each(|_| submit()));
        let clients: Vec<_> = (0..CROWD).map(client).collect();
        clients.into_iter().find_map(|client| client.join().unwrap_or(Ok(())).err())
    });
    if let Some(error) = failed {
        return Err(error.into());
    }
    let waits = store.database().stats().engine.lock.waits;
    if waits < rounds / 2 { Err(format!("{waits} of {rounds} waited").into()) } else { Ok(()) }
}

/// The counts, as settings.
pub(super) fn settings(counts: &Counts, found: &mut Findings) {
    found.setting("instructions of a pipelined transaction", counts.shown(PIPELINED));
    found.setting("threads in the crowd", CROWD);
    found.setting("instructions in a crowd, with search", counts.shown(SEARCHING));
    found.setting("instructions in a crowd, without", counts.shown(UNSEARCHED));
}

/// The claims of a crowd, if instructions were counted.
pub(super) fn claims(counts: &Counts, found: &mut Findings) {
    let counts = [PIPELINED, SEARCHING, UNSEARCHED].map(|case| counts.of(case));
    let [Some(alone), Some(with), Some(without)] = counts else { return };
    found.at_most("share of the search in a crowd", SHARE, 1.0 - without / with);
    let what = "instructions of a transaction in a crowd over one alone";
    found.at_most(what, CROWDED, with / alone);
}
