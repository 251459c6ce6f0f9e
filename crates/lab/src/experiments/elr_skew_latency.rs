//! What early release of locks is worth, by skew and by the log's device: "Aether", section 3.2,
//! figure 3.
//!
//! As in the paper: TPC-B with 100 tellers, which are 10 branches; Zipf's skew in the choice of
//! branch and account; a log that takes nothing, 100 µs, 1 ms or 10 ms; clients with a thread each,
//! which wait for their commits with or without their locks: one for each teller, since the paper
//! does not tell how many it had. The third variant, which the figure does not have, is early
//! release with commits pipelined.
//!
//! Differences:
//! - There are fewer accounts, so that each run can have a new database: locks meet on branches.
//! - The threads share this machine's processors; the paper had a hardware thread for each. Where
//!   they wait for the log this matters little; without a delay it bounds the gain.
//! - Two flushes may be under way at a time.

use std::time::Duration;

use clap::Args;
use clearway_workloads::{Skew, TpcbScale};
use serde_json::Value;

use super::runs::{self, EARLY, KEPT, PIPELINED, Way};
use crate::{
    experiment::{Experiment, Lab, Outcome},
    report::{Claim, Findings, Grid},
    variants::{Sample, Samples},
};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "elr_skew_latency",
    source: "\"Aether: A Scalable Approach to Logging\", 3.2, figure 3",
    shows: "early release multiplies throughput where rows are hot and the log slow, never costs",
    seconds: 0.3,
    repetitions: 5,
    options: Options::augment_args,
    run,
    cases: &[],
};

#[derive(Args, Debug)]
struct Options {
    /// Zipf's exponent; each number is tried; 0 is uniform
    #[arg(long, value_name = "S", value_delimiter = ',',
          default_values_t = [0.0, 0.5, 0.85, 1.25, 2.0])]
    zipf: Vec<f64>,
    /// What a log flush takes at least, in microseconds; each number is tried
    #[arg(long, value_name = "US", value_delimiter = ',',
          default_values_t = [0, 100, 1_000, 10_000])]
    flush: Vec<u64>,
    /// Clients, each with a thread of its own unless commits are pipelined
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    clients: u32,
    /// Branches
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    branches: u32,
    /// Accounts of each branch
    #[arg(long, default_value_t = 500,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    accounts: u32,
}

const WAYS: [Way; 3] = [KEPT, EARLY, PIPELINED];
const BASELINE: usize = 0;
const RELEASED: usize = 1;

/// At its best, early release must be worth this at a flush of so many microseconds; and what the
/// paper has.
const BEST: [(u64, f64, &str); 2] = [(10_000, 30.0, "35"), (100, 2.0, "2")];
/// And nowhere less than this.
const LEAST: f64 = 0.97;

/// One point of the figure.
struct Point {
    flush_us: u64,
    zipf: f64,
}

impl Point {
    fn flush(&self) -> Duration {
        Duration::from_micros(self.flush_us)
    }
}

fn run(lab: &Lab<'_>) -> Outcome<Findings> {
    let options: Options = lab.options()?;
    let mut settings: Vec<(&'static str, Value)> = vec![
        ("clients", options.clients.into()),
        ("branches", options.branches.into()),
        ("accounts of each", options.accounts.into()),
    ];
    let mut points = Vec::new();
    for &flush_us in &options.flush {
        let flush = runs::flush_in_truth(Duration::from_micros(flush_us))?;
        settings.push(("median flush in µs", flush.into()));
        points.extend(options.zipf.iter().map(|&zipf| Point { flush_us, zipf }));
    }
    let paper = "64 hardware threads; its log of 0 ms is a RAM disk that takes 40 to 80 µs";
    settings.push(("the paper's setting", paper.into()));
    let names = points.iter().map(|p| format!("{:?}, zipf {}", p.flush(), p.zipf)).collect();
    let variants = runs::names(&WAYS);
    let samples = Samples::take(names, variants, lab.repetitions, |point, variant, repetition| {
        measure(lab, &options, &points[point], &WAYS[variant], repetition)
    })?;
    let claims = claims(&samples, &points);
    let title = "TPC-B, by device and skew";
    let grid = Grid { title, samples, measure: "tps", baseline: BASELINE };
    Ok(Findings { settings, grids: vec![grid], claims })
}

fn measure(
    lab: &Lab<'_>,
    options: &Options,
    point: &Point,
    way: &Way,
    repetition: u32,
) -> Outcome<Sample> {
    let scale = TpcbScale { branches: options.branches, accounts_per_branch: options.accounts };
    let skew = if point.zipf > 0.0 { Skew::Zipf(point.zipf) } else { Skew::Uniform };
    let (store, bank) = runs::bank(way.options(), point.flush(), scale, skew)?;
    let (sample, _) = runs::measure(&store, &bank, &way.plan(lab, options.clients, repetition))?;
    Ok(sample)
}

/// Of early release alone, with as many threads as the baseline has.
fn claims(samples: &Samples, points: &[Point]) -> Vec<Claim> {
    let ratio = |at: usize| samples.ratio(at, RELEASED, BASELINE, "tps").median;
    let mut claims = Vec::new();
    for (flush_us, bound, paper) in BEST {
        let of = points.iter().enumerate().filter(|(_, point)| point.flush_us == flush_us);
        if let Some(best) = of.map(|(at, _)| ratio(at)).max_by(f64::total_cmp) {
            let flush = Duration::from_micros(flush_us);
            let what = format!("early release, its best speedup at {flush:?} (paper: {paper})");
            claims.push(Claim::at_least(&what, bound, best));
        }
    }
    if let Some(least) = (0..points.len()).map(ratio).min_by(f64::total_cmp) {
        claims.push(Claim::at_least("early release, its least speedup", LEAST, least));
    }
    claims
}
