//! How waiters should wait: spinning, sleeping, sleeping with backoff, and a hybrid, at more and
//! more transactions at a time. TPC-B's locks and writes in an order that makes every deadlock a
//! false one, with lazy commits, so that processors are all that is scarce.
//!
//! With more threads than processors a run is in one of two states. In one, threads take turns by
//! the scheduler's time slices and rarely meet; in the other, each finds the branch's lock with
//! somebody who is asleep, and goes to sleep behind him. A run gets from the first into the second
//! by chance and seldom back, and is several times as fast in the first. So runs are short and
//! many: a ratio of two runs says little, their median is that of the odds.

use std::time::Duration;

use clap::Args;
use clearway::{Database, Options as DatabaseOptions, Pending, Table};
use clearway_lock::{DeadlockMethod, Digests, LockOptions, WaitPolicy};

use super::clients::{self, Client};
use crate::{
    experiment::{Experiment, Lab, Outcome},
    report::{Claim, Findings, Grid},
    variants::{Sample, Samples},
};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "deadlock_wait",
    source: "\"Efficient Locking Techniques for Databases on Modern Hardware\", figure 5",
    shows: "the hybrid waits as well as the best policy, from one transaction at a time to many",
    seconds: 0.1,
    repetitions: 18,
    options: Options::augment_args,
    run,
    cases: &[],
};

#[derive(Args, Debug)]
struct Options {
    /// Threads, each with one transaction after the other
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 4, 8, 16, 32, 64],
          value_parser = clap::value_parser!(u64).range(1..10_000))]
    levels: Vec<u64>,
}

const VARIANTS: [&str; 5] = ["spin", "sleep", "sleep, backoff", "hybrid", "search, hybrid"];
const HYBRID: usize = 3;
const DEFAULT: usize = 4;
/// Transactions for each second of processor time that the whole process has used: on a machine
/// that others use too, less is noise in it than in the throughput.
const EFFICIENCY: &str = "per cpu s";
/// How far the hybrid may be behind the best.
const TOLERANCE: f64 = 0.05;
const ACCOUNTS: u64 = 1_000;
const TELLERS: u64 = 10;

fn locks(variant: usize, options: &mut LockOptions) {
    let plain = DeadlockMethod::Dreadlocks(Digests { confirm: false, ..Digests::bloom() });
    options.deadlocks = if variant == DEFAULT { DeadlockMethod::Search } else { plain };
    options.waiting = match variant {
        0 => WaitPolicy::Spin,
        1 => WaitPolicy::Sleep,
        2 => WaitPolicy::SleepBackoff,
        _ => WaitPolicy::Hybrid,
    };
}

fn run(lab: &Lab<'_>) -> Outcome<Findings> {
    let Options { levels } = lab.options()?;
    let points = levels.iter().map(|level| format!("{level} threads")).collect();
    let variants = VARIANTS.map(String::from).to_vec();
    let samples = Samples::take(points, variants, lab.repetitions, |point, variant, _| {
        measure(levels[point], variant, lab.time)
    })?;
    let mut claims = Vec::new();
    for (which, what) in [(HYBRID, "hybrid"), (DEFAULT, "the default")] {
        for (point, level) in levels.iter().enumerate() {
            let what = format!("{what} over the best policy, {level} threads");
            claims.push(Claim::at_least(&what, 1.0 - TOLERANCE, over_best(&samples, point, which)));
        }
    }
    let deaths = |variant| -> f64 {
        (0..levels.len()).flat_map(|at| samples.values(at, variant, "false deaths")).sum()
    };
    claims.push(Claim::at_most("false deaths of the default", 0.0, deaths(DEFAULT)));
    Ok(Findings {
        settings: vec![
            ("digests", "Bloom filters, without confirmation, as in the paper".into()),
            ("sleep between looks, in ms", 10.into()),
            ("commits", "not awaited".into()),
            ("hybrid", "spins while no more transactions run than there are processors".into()),
            ("levels", "beyond the number of cores, threads share them".into()),
        ],
        claims,
        grids: vec![Grid {
            title: "TPC-B's locks",
            samples,
            measure: EFFICIENCY,
            baseline: HYBRID,
        }],
    })
}

/// The least of the median ratios of one variant to each of the paper's four, itself included.
fn over_best(samples: &Samples, point: usize, variant: usize) -> f64 {
    let over = |other| samples.ratio(point, variant, other, EFFICIENCY).median;
    (0..DEFAULT).map(over).fold(f64::INFINITY, f64::min)
}

fn measure(threads: u64, variant: usize, time: Duration) -> Outcome<Sample> {
    let options = DatabaseOptions::in_memory().cache_size(64 << 20).log_capacity(256 << 20);
    let db = options.locks(|options| locks(variant, options)).open("lab")?;
    let tables = ["accounts", "tellers", "branches", "history"].map(|name| db.table(name));
    let [accounts, tellers, branches, history] = tables;
    let tables = [accounts?, tellers?, branches?, history?];
    for (table, rows) in tables.iter().zip([ACCOUNTS, TELLERS, 1]) {
        db.transact("fill", |tx| {
            (0..rows).try_for_each(|row| tx.put(table, row.to_be_bytes(), [0; 100]).map(drop))
        })?;
    }
    let ran = clients::run(&db, threads, time, 7, |client| transfer(&db, &tables, client))?;
    Ok(vec![
        ("tps", ran.tps()),
        (EFFICIENCY, ran.done / ran.cpu_seconds.max(0.001)),
        ("waits/tx", ran.locks(|stats| stats.waits) / ran.done.max(1.0)),
        ("sleeps/tx", ran.locks(|stats| stats.parks) / ran.done.max(1.0)),
        ("false alarms", ran.locks(|stats| stats.false_alarms)),
        ("false deaths", ran.locks(|stats| stats.false_deaths)),
    ])
}

/// An account, its teller, the branch, and a line of history.
fn transfer(
    db: &Database,
    [accounts, tellers, branches, history]: &[Table; 4],
    client: &mut Client,
) -> clearway::Result<Pending<()>> {
    let (account, teller) = (client.rng.below(ACCOUNTS), client.rng.below(TELLERS));
    let line = [client.number.to_be_bytes(), client.submitted.to_be_bytes()].concat();
    db.submit("tpc-b", |tx| {
        for (table, row) in [(accounts, account), (tellers, teller), (branches, 0)] {
            let key = row.to_be_bytes();
            let value = tx.get_for_update(table, key)?.unwrap_or_default();
            tx.put(table, key, value)?;
        }
        tx.insert(history, &line, [0; 50])
    })
}
