//! How near early release and pipelined commits come to a system that does not wait for its log at
//! all: "Early Lock Release", section 1.3, figure 2.
//!
//! The paper takes the wait for the log out of its system and compares what is left, an unsafe
//! upper bound, with the baseline. Here the driver drops the result of each transaction as soon as
//! its locks are free, and counts it; the engine does the same work. The bound is what everything
//! is divided by. The baseline is that of the paper: a thread for each client, which waits for its
//! commits with its locks.
//!
//! Differences:
//! - The paper runs TPC-C's mix with 100 warehouses; this is TPC-B with as many branches, all of
//!   whose transactions write.
//! - Who does not wait for results can have as many transactions under way as fit into a flush. The
//!   bound and the pipelined variant have the same clients, several for each thread of the
//!   baseline.
//! - A thread for each processor serves them, where the paper had one for each client.

use std::time::Duration;

use clap::Args;
use clearway_workloads::{Commit, Skew, TpcbScale};
use serde_json::Value;

use super::runs::{self, AGNOSTIC, KEPT, PIPELINED, Way};
use crate::{
    experiment::{Experiment, Lab, Outcome},
    report::{Claim, Findings, Grid},
    variants::{Sample, Samples},
};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "log_agnostic_bound",
    source: "\"Early Lock Release\", 1.3, figure 2",
    shows: "early release and pipelined commits cost no throughput against not waiting at all",
    seconds: 1.0,
    repetitions: 9,
    options: Options::augment_args,
    run,
    cases: &[],
};

#[derive(Args, Debug)]
struct Options {
    /// What a log flush takes at least, in microseconds; each number is tried
    #[arg(long, value_name = "US", value_delimiter = ',',
          default_values_t = [100, 1_000, runs::PAPER_DISK_US])]
    flush: Vec<u64>,
    /// Threads of the baseline
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    clients: u32,
    /// Transactions in flight for each of these, without a thread of their own
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    in_flight: u32,
    /// Branches
    #[arg(long, default_value_t = 100,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    branches: u32,
    /// Accounts of each branch
    #[arg(long, default_value_t = 200,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    accounts: u32,
}

const WAYS: [Way; 3] = [AGNOSTIC, PIPELINED, KEPT];
const BOUND: usize = 0;
const RELEASED: usize = 1;

/// The share of the bound that must be reached.
const SHARE: f64 = 0.95;

fn run(lab: &Lab<'_>) -> Outcome<Findings> {
    let options: Options = lab.options()?;
    let mut settings: Vec<(&'static str, Value)> = vec![
        ("clients", options.clients.into()),
        ("in flight for each", format!("{}, locks kept: 1", options.in_flight).into()),
        ("branches", options.branches.into()),
        ("accounts of each", options.accounts.into()),
    ];
    let flushes: Vec<_> = options.flush.iter().map(|&us| Duration::from_micros(us)).collect();
    for &flush in &flushes {
        settings.push(("median flush in µs", runs::flush_in_truth(flush)?.into()));
    }
    settings.push(("the paper's setting", runs::PAPER_DISK.into()));
    let names = flushes.iter().map(|flush| format!("{flush:?}")).collect();
    let variants = runs::names(&WAYS);
    let samples = Samples::take(names, variants, lab.repetitions, |point, variant, repetition| {
        measure(lab, &options, flushes[point], &WAYS[variant], repetition)
    })?;
    let claim = |(point, flush): (usize, &Duration)| {
        let what = format!("early release, pipelined, over the bound at {flush:?}");
        Claim::at_least(&what, SHARE, samples.ratio(point, RELEASED, BOUND, "tps").median)
    };
    let claims = flushes.iter().enumerate().map(claim).collect();
    let grid = Grid { title: "TPC-B, by device", samples, measure: "tps", baseline: BOUND };
    Ok(Findings { settings, grids: vec![grid], claims })
}

fn measure(
    lab: &Lab<'_>,
    options: &Options,
    flush: Duration,
    way: &Way,
    repetition: u32,
) -> Outcome<Sample> {
    let scale = TpcbScale { branches: options.branches, accounts_per_branch: options.accounts };
    let (store, bank) = runs::bank(way.options(), flush, scale, Skew::Uniform)?;
    let each = if way.commit == Commit::Blocking { 1 } else { options.in_flight };
    let (sample, _) =
        runs::measure(&store, &bank, &way.plan(lab, options.clients * each, repetition))?;
    Ok(sample)
}
