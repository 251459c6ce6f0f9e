//! The cases whose instructions are counted: a pipelined transaction, and transactions of many
//! threads that queue for the row, with and without the search for deadlocks.
//!
//! The share of the search is computed from the instructions of queued transactions with the search
//! and with a method that never searches (a time limit that no wait reaches).

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
    // The transactions of one thread.
    Case { name: PIPELINED, rounds: ROUNDS, run: pipelined },
    Case { name: SEARCHING, rounds: QUEUED_ROUNDS, run: |n| queued(DeadlockMethod::Search, n) },
    Case {
        name: UNSEARCHED,
        rounds: QUEUED_ROUNDS,
        run: |n| queued(DeadlockMethod::Timeout(AN_HOUR), n),
    },
];
const PIPELINED: &str = "pipelined";
const SEARCHING: &str = "queued-search";
const UNSEARCHED: &str = "queued-no-search";

/// The number of counted transactions.
const ROUNDS: u64 = 4_000;
/// The number of transactions that are submitted between two waits for a result.
const UNAWAITED: u64 = 64;
/// The number of threads that queue for the row.
const WAITERS: u64 = 1_024;
/// The number of their transactions that are counted.
const QUEUED_ROUNDS: u64 = 8 * WAITERS;
/// The maximum share of the deadlock search.
const SHARE: f64 = 0.05;
/// The maximum ratio of a queued transaction's instructions to those of one that does not wait. A
/// walk along the queue for each transaction would exceed it.
const QUEUED_OVER_ALONE: f64 = 3.0;
const AN_HOUR: Duration = Duration::from_secs(3_600);

fn open(deadlocks: DeadlockMethod) -> Outcome<(ClearwayStore, HotRow)> {
    let options = DatabaseOptions::in_memory().cache_size(32 << 20).log_capacity(64 << 20);
    let options = options.engine(|engine| engine.lock.wait_limit = None).lock_variant(deadlocks);
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

/// Runs the transactions of [`WAITERS`] threads, each of which finds most of the others waiting.
fn queued(deadlocks: DeadlockMethod, rounds: u64) -> Outcome<()> {
    let (store, row) = open(deadlocks)?;
    // A transaction that holds the row's lock yields, so that other threads arrive and wait.
    let submit = || store.submit("increment", |tx| row.increment(tx, thread::yield_now)).map(drop);
    let failed = thread::scope(|scope| {
        let client = |_| scope.spawn(|| (0..rounds / WAITERS).try_for_each(|_| submit()));
        let clients: Vec<_> = (0..WAITERS).map(client).collect();
        clients.into_iter().find_map(|client| client.join().unwrap_or(Ok(())).err())
    });
    if let Some(error) = failed {
        return Err(error.into());
    }
    let waits = store.database().stats().engine.lock.waits;
    if waits < rounds / 2 { Err(format!("{waits} of {rounds} waited").into()) } else { Ok(()) }
}

/// Adds the counts as settings.
pub(super) fn settings(counts: &Counts, found: &mut Findings) {
    found.setting("instructions of a pipelined transaction", counts.shown(PIPELINED));
    found.setting("threads that queue for the row", WAITERS);
    found.setting("instructions of a queued transaction, with search", counts.shown(SEARCHING));
    found.setting("instructions of a queued transaction, without search", counts.shown(UNSEARCHED));
}

/// Adds the claims about queued transactions, if instructions were counted.
pub(super) fn claims(counts: &Counts, found: &mut Findings) {
    let counts = [PIPELINED, SEARCHING, UNSEARCHED].map(|case| counts.of(case));
    let [Some(alone), Some(with), Some(without)] = counts else { return };
    found.at_most("share of the search in a queued transaction", SHARE, 1.0 - without / with);
    let what = "instructions of a queued transaction over one alone";
    found.at_most(what, QUEUED_OVER_ALONE, with / alone);
}
