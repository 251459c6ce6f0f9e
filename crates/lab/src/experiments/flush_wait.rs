//! How long transactions wait for the log, and that with early release no lock is held while they
//! do: "Early Lock Release", section 2, figures 4 and 5.
//!
//! Figure 4 of the paper has mean and standard deviation of the wait for the log by number of
//! threads, figure 5 the distribution for 50 threads: here mean, deviation and quantiles. Beside
//! them stands what the paper draws from it, for how long locks are held: with early release it
//! neither contains the wait nor varies with it. With locks kept the wait is a part of that time,
//! and nothing is left of it afterwards. The engine itself takes both times (`Database::timings`),
//! here of every transaction.
//!
//! Differences:
//! - The paper runs TPC-C's mix with 100 warehouses; this is TPC-B with as many branches, all of
//!   whose transactions write, so each of them waits for a flush.
//! - The paper's disk takes a time that varies; the one here takes always the same. What varies is
//!   when a transaction comes: it waits for what is left of the flush under way, and for its own.
//! - Two flushes may be under way at a time.

use std::time::Duration;

use clap::Args;
use clearway_workloads::{Skew, TpcbScale, drive};

use super::runs::{self, EARLY, KEPT, PIPELINED, Way};
use crate::{
    experiment::{Experiment, Lab, Outcome},
    report::{Claim, Findings, Grid},
    variants::{Sample, Samples},
};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "flush_wait",
    source: "\"Early Lock Release\", 2, figures 4 and 5",
    shows: "commits wait long for the log, and with early release without their locks",
    seconds: 1.0,
    repetitions: 5,
    options: Options::augment_args,
    run,
    cases: &[],
};

#[derive(Args, Debug)]
struct Options {
    /// Clients, each with a thread of its own unless commits are pipelined; each number is tried
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [10, 50, 100, 200],
          value_parser = clap::value_parser!(u32).range(1..=1_000))]
    clients: Vec<u32>,
    /// What a log flush takes at least, in microseconds
    #[arg(long, value_name = "US", default_value_t = runs::PAPER_DISK_US,
          value_parser = clap::value_parser!(u64).range(1..))]
    flush: u64,
    /// Branches
    #[arg(long, default_value_t = 100,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    branches: u32,
    /// Accounts of each branch
    #[arg(long, default_value_t = 200,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    accounts: u32,
}

const WAYS: [Way; 3] = [KEPT, EARLY, PIPELINED];
const BASELINE: usize = 0;

/// The share of a flush for which 99 of 100 transactions with early release may hold their locks at
/// most.
const HELD: f64 = 0.25;
/// And the deviation of that time, over what it is with locks kept: the paper says "zeroed".
const DEVIATION: f64 = 0.1;

fn run(lab: &Lab<'_>) -> Outcome<Findings> {
    let options: Options = lab.options()?;
    let flush = runs::flush_in_truth(Duration::from_micros(options.flush))?;
    let settings = vec![
        ("branches", options.branches.into()),
        ("accounts of each", options.accounts.into()),
        ("median flush in µs", flush.into()),
        ("the paper's setting", runs::PAPER_DISK.into()),
        ("figure 4", "a deviation of 100 to 200 % of the mean".into()),
        ("figure 5", "50 clients wait 0.5 µs to 8 ms".into()),
        ("held", "µs from the begin until the locks are free".into()),
        ("wait", "µs from then to the acknowledgement".into()),
    ];
    let names = options.clients.iter().map(|clients| format!("{clients} clients")).collect();
    let variants = runs::names(&WAYS);
    let samples = Samples::take(names, variants, lab.repetitions, |point, variant, repetition| {
        measure(lab, &options, options.clients[point], &WAYS[variant], repetition)
    })?;
    let claims = claims(&samples, options.flush as f64);
    let title = "TPC-B, by clients";
    let grid = Grid { title, samples, measure: "held p50", baseline: BASELINE };
    Ok(Findings { settings, grids: vec![grid], claims })
}

fn measure(
    lab: &Lab<'_>,
    options: &Options,
    clients: u32,
    way: &Way,
    repetition: u32,
) -> Outcome<Sample> {
    let scale = TpcbScale { branches: options.branches, accounts_per_branch: options.accounts };
    let (database, flush) = (way.options(), Duration::from_micros(options.flush));
    let (store, bank) = runs::bank(database.time_one_in(1), flush, scale, Skew::Uniform)?;
    let outcome = drive(&store, &bank, &way.plan(lab, clients, repetition), &mut |_| true)?;
    let timings = store.database().timings();
    let timings = timings.iter().find(|timings| timings.name == "tpcb");
    let timings = timings.ok_or("no transaction was timed")?;
    let (held, wait) = (&timings.lock_hold, &timings.flush_wait);
    let micros = |nanos: u64| nanos as f64 / 1e3;
    Ok(vec![
        ("tps", outcome.tps()),
        ("held p1", micros(held.quantile(0.01))),
        ("held p50", micros(held.quantile(0.5))),
        ("held p99", micros(held.quantile(0.99))),
        ("held deviation", held.deviation() / 1e3),
        ("wait mean", wait.mean() / 1e3),
        ("wait deviation", wait.deviation() / 1e3),
        ("wait p1", micros(wait.quantile(0.01))),
        ("wait p50", micros(wait.quantile(0.5))),
        ("wait p99", micros(wait.quantile(0.99))),
        ("wait max", micros(wait.max())),
    ])
}

/// Over all points.
fn claims(samples: &Samples, flush: f64) -> Vec<Claim> {
    let points: Vec<usize> = (0..samples.points.len()).collect();
    let median = |variant, measure| {
        points.iter().map(move |&point| samples.spread(point, variant, measure).median / flush)
    };
    let least = |variant, measure| median(variant, measure).fold(f64::INFINITY, f64::min);
    let greatest = |variant, measure| median(variant, measure).fold(0.0, f64::max);
    let what = "locks kept: 99 of 100 hold their locks for so many flushes";
    let mut claims = vec![Claim::at_least(what, 1.0, least(BASELINE, "held p1"))];
    for (variant, way) in WAYS.iter().enumerate().filter(|(variant, _)| *variant != BASELINE) {
        let what = format!("{}: 99 of 100 hold their locks for so many flushes", way.name);
        claims.push(Claim::at_most(&what, HELD, greatest(variant, "held p99")));
        let what = format!("{}: half of them wait so many flushes for the log", way.name);
        claims.push(Claim::at_least(&what, 1.0, least(variant, "wait p50")));
        let what = format!("{}: deviation of the time locks are held over locks kept", way.name);
        let ratio = samples.ratio_at(&points, variant, BASELINE, "held deviation").median;
        claims.push(Claim::at_most(&what, DEVIATION, ratio));
    }
    claims
}
