//! What is counted in instructions: a pipelined transaction, and the search for deadlocks among a
//! crowd of threads that wait for the row.
//!
//! The share of the search is what the crowd's transactions cost with it over what they cost with
//! a method that never looks (a limit that nobody reaches).

use std::{thread, time::Duration};

use clearway::Options as DatabaseOptions;
use clearway_lock::DeadlockMethod;
use clearway_workloads::{ClearwayStore, Store, Workload};
use serde_json::Value;

use super::row::HotRow;
use crate::{
    callgrind::{self, Case},
    experiment::{Lab, Outcome},
    report::Claim,
};

/// One thread's transactions.
const PIPELINED: Case = Case { name: "pipelined", run: pipelined };
const SEARCHING: Case =
    Case { name: "crowd-search", run: |rounds| crowd(DeadlockMethod::Search, rounds) };
const UNSEARCHED: Case =
    Case { name: "crowd-no-search", run: |rounds| crowd(DeadlockMethod::Timeout(AN_HOUR), rounds) };

pub(super) const CASES: [Case; 3] = [PIPELINED, SEARCHING, UNSEARCHED];

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
    let options = options.locks(|locks| {
        locks.deadlocks = deadlocks;
        locks.wait_limit = None;
    });
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
    // Whoever has the row lets others run, so that they come and wait.
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

/// The claims of a crowd, if instructions are counted, and what they come from as settings.
pub(super) fn claims(
    lab: &Lab<'_>,
    settings: &mut Vec<(&'static str, Value)>,
) -> Outcome<Vec<Claim>> {
    let alone = callgrind::per_round(lab, &PIPELINED, ROUNDS)?;
    let count = |case| callgrind::per_round(lab, case, CROWD_ROUNDS);
    let (with, without) = (count(&SEARCHING)?, count(&UNSEARCHED)?);
    settings.push(("instructions of a pipelined transaction", callgrind::shown(alone)));
    settings.push(("threads in the crowd", CROWD.into()));
    settings.push(("instructions in a crowd, with search", callgrind::shown(with)));
    settings.push(("instructions in a crowd, without", callgrind::shown(without)));
    let (Some(alone), Some(with), Some(without)) = (alone, with, without) else {
        return Ok(Vec::new());
    };
    let share = Claim::at_most("share of the search in a crowd", SHARE, 1.0 - without / with);
    let what = "instructions of a transaction in a crowd over one alone";
    Ok(vec![share, Claim::at_most(what, CROWDED, with / alone)])
}
