//! What waiting for commits costs the processor, and that pipelined commits cost nothing against
//! asynchronous ones: "Aether", section 4.2, figures 4 and 5.
//!
//! As in the paper: TPC-B with 100 tellers; context switches and the system's time, blocking and
//! pipelined; throughput against asynchronous commit, which acknowledges before the log is durable
//! (`CommitMode::Lazy`). Locks go early in all variants but the first.
//!
//! A blocking client has a thread and one transaction under way. The paper's pipelined threads go
//! on to other transactions while a flush is under way, as many as it takes; here a client may have
//! some number in flight, and a thread for each processor serves all of them. The asynchronous
//! variant is run by the same driver with the same clients, so that it differs in the wait alone.
//!
//! Without a delay a flush is a copy in memory that takes less time than to wake the thread which
//! does it. There is no wait to be taken away, and threads change with every few commits,
//! asynchronous ones too; so of that point no claim is made about context switches.

use std::time::Duration;

use clap::Args;
use clearway::CommitMode;
use clearway_workloads::{Commit, Skew, TpcbScale, Usage};
use serde_json::Value;

use super::runs::{self, EARLY, KEPT, PIPELINED, Way};
use crate::{
    experiment::{Experiment, Lab, Outcome},
    report::{Claim, Findings, Grid},
    variants::{Sample, Samples},
};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "flush_pipelining",
    source: "\"Aether: A Scalable Approach to Logging\", 4.2, figures 4 and 5",
    shows: "pipelined commits need no context switches and are as fast as asynchronous ones",
    seconds: 1.0,
    repetitions: 9,
    options: Options::augment_args,
    run,
    cases: &[],
};

#[derive(Args, Debug)]
struct Options {
    /// What a log flush takes at least, in microseconds; each number is tried
    #[arg(long, value_name = "US", value_delimiter = ',', default_values_t = [0, 100, 1_000])]
    flush: Vec<u64>,
    /// Clients
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    clients: u32,
    /// Transactions that a client has in flight at most, unless it waits for each
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    in_flight: u32,
    /// Branches
    #[arg(long, default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    branches: u32,
    /// Accounts of each branch
    #[arg(long, default_value_t = 2_000,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    accounts: u32,
}

const LAZY: Way = Way { name: "asynchronous", ..PIPELINED };
const WAYS: [Way; 4] = [KEPT, EARLY, PIPELINED, LAZY];
const PIPELINED_AT: usize = 2;
const LAZY_AT: usize = 3;

/// The share of asynchronous commit's throughput that pipelined commits must reach.
const SHARE: f64 = 0.98;
/// The context switches that a pipelined transaction may cost.
const SWITCHES: f64 = 0.05;

fn run(lab: &Lab<'_>) -> Outcome<Findings> {
    let options: Options = lab.options()?;
    let mut settings: Vec<(&'static str, Value)> = vec![
        ("clients", options.clients.into()),
        ("in flight for each", format!("{}, blocking: 1", options.in_flight).into()),
        ("branches", options.branches.into()),
        ("accounts of each", options.accounts.into()),
    ];
    let flushes: Vec<_> = options.flush.iter().map(|&us| Duration::from_micros(us)).collect();
    for &flush in &flushes {
        settings.push(("median flush in µs", runs::flush_in_truth(flush)?.into()));
    }
    let paper = "64 hardware threads; pipelined and asynchronous up to 22 % above blocking";
    settings.push(("the paper's setting", paper.into()));
    let names = flushes.iter().map(|flush| format!("{flush:?}")).collect();
    let variants = runs::names(&WAYS);
    let samples = Samples::take(names, variants, lab.repetitions, |point, variant, repetition| {
        measure(lab, &options, flushes[point], variant, repetition)
    })?;
    let claims = flushes.iter().enumerate().flat_map(|(at, flush)| claims(&samples, at, *flush));
    let claims = claims.collect();
    let grid = Grid { title: "TPC-B, by device", samples, measure: "tps", baseline: LAZY_AT };
    Ok(Findings { settings, grids: vec![grid], claims })
}

fn measure(
    lab: &Lab<'_>,
    options: &Options,
    flush: Duration,
    variant: usize,
    repetition: u32,
) -> Outcome<Sample> {
    let way = &WAYS[variant];
    let mode = if variant == LAZY_AT { CommitMode::Lazy } else { CommitMode::Durable };
    let scale = TpcbScale { branches: options.branches, accounts_per_branch: options.accounts };
    let database = way.options().commit_mode(mode);
    let (store, bank) = runs::bank(database, flush, scale, Skew::Uniform)?;
    let each = if way.commit == Commit::Blocking { 1 } else { options.in_flight };
    let plan = way.plan(lab, options.clients * each, repetition);
    let before = Usage::now();
    let (mut sample, commits) = runs::measure(&store, &bank, &plan)?;
    let usage = Usage::now().since(&before);
    let each = |count: f64| count / commits.max(1) as f64;
    sample.extend([
        ("switches/tx", each(usage.switches() as f64)),
        ("voluntary/tx", each(usage.switches_voluntary as f64)),
        ("system µs/tx", each(usage.system_us as f64)),
        ("user µs/tx", each(usage.user_us as f64)),
    ]);
    Ok(sample)
}

fn claims(samples: &Samples, point: usize, flush: Duration) -> Vec<Claim> {
    let ratio = samples.ratio(point, PIPELINED_AT, LAZY_AT, "tps").median;
    let switches = samples.spread(point, PIPELINED_AT, "switches/tx").median;
    let what = format!("pipelined over asynchronous at {flush:?}");
    let mut claims = vec![Claim::at_least(&what, SHARE, ratio)];
    if !flush.is_zero() {
        let what = format!("context switches of a pipelined transaction at {flush:?}");
        claims.push(Claim::at_most(&what, SWITCHES, switches));
    }
    claims
}
