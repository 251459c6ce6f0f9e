//! That early release of locks makes throughput independent of skew: "Early Lock Release", section
//! 5.3, figures 17 to 22.
//!
//! As in the paper: TPC-B with 1,000 branches and self-similar skew (the first fraction h of them
//! gets 1 − h of the transactions; h = 0.5 is uniform); clients with a thread each, which wait for
//! their commits with or without their locks; a log as slow as the paper's disk. The third variant,
//! which the figures do not have, is early release with commits pipelined.
//!
//! Differences:
//! - There are fewer accounts, so that each run can have a new database: locks meet on branches.
//!   The accounts of a branch are skewed too, which changes nothing for those who wait for the
//!   branch.
//! - The threads share this machine's processors; the paper had 64 hardware threads. They wait for
//!   the log nearly all the time.
//! - Two flushes may be under way at a time.

use std::time::Duration;

use clap::Args;
use clearway_workloads::{Skew, TpcbScale};

use super::runs::{self, EARLY, KEPT, PIPELINED, Way};
use crate::{
    experiment::{Experiment, Lab, Outcome},
    report::{Claim, Findings, Grid},
    variants::{Sample, Samples},
};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "elr_tpcb_self_similar",
    source: "\"Early Lock Release\", 5.3, figures 17 to 22",
    shows: "with early release throughput is the same whatever the skew",
    seconds: 0.4,
    repetitions: 5,
    options: Options::augment_args,
    run,
    cases: &[],
};

#[derive(Args, Debug)]
struct Options {
    /// The skew h; each number is tried; the first is what others are compared with
    #[arg(long, value_name = "H", value_delimiter = ',', value_parser = parse_h,
          default_values_t = [0.5, 0.4, 0.35, 0.2])]
    skew: Vec<f64>,
    /// Clients, each with a thread of its own unless commits are pipelined; each number is tried
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [20, 64, 200],
          value_parser = clap::value_parser!(u32).range(1..=1_000))]
    clients: Vec<u32>,
    /// What a log flush takes at least, in microseconds
    #[arg(long, value_name = "US", default_value_t = runs::PAPER_DISK_US)]
    flush: u64,
    /// Branches
    #[arg(long, default_value_t = 1_000,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    branches: u32,
    /// Accounts of each branch
    #[arg(long, default_value_t = 20,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    accounts: u32,
}

fn parse_h(text: &str) -> Result<f64, String> {
    match format!("self-similar={text}").parse()? {
        Skew::SelfSimilar(h) => Ok(h),
        _ => Err(format!("{text:?} is no skew")),
    }
}

const WAYS: [Way; 3] = [KEPT, EARLY, PIPELINED];
const BASELINE: usize = 0;
const RELEASED: usize = 1;

/// How far from the first skew's the throughput of another one may be.
const SAME: f64 = 0.15;
/// The paper's best speedup.
const BEST: f64 = 8.0;

/// Some clients and a skew.
struct Point {
    clients: u32,
    h: f64,
}

fn run(lab: &Lab<'_>) -> Outcome<Findings> {
    let options: Options = lab.options()?;
    let flush = runs::flush_in_truth(Duration::from_micros(options.flush))?;
    let settings = vec![
        ("branches", options.branches.into()),
        ("accounts of each", options.accounts.into()),
        ("median flush in µs", flush.into()),
        ("the paper's setting", runs::PAPER_DISK.into()),
    ];
    let points_of = |&clients| options.skew.iter().map(move |&h| Point { clients, h });
    let points: Vec<Point> = options.clients.iter().flat_map(points_of).collect();
    let names = points.iter().map(|p| format!("{} clients, h = {}", p.clients, p.h)).collect();
    let variants = runs::names(&WAYS);
    let samples = Samples::take(names, variants, lab.repetitions, |point, variant, repetition| {
        measure(lab, &options, &points[point], &WAYS[variant], repetition)
    })?;
    let claims = claims(&samples, options.skew.len());
    let title = "TPC-B, by clients and skew";
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
    let flush = Duration::from_micros(options.flush);
    let (store, bank) = runs::bank(way.options(), flush, scale, Skew::SelfSimilar(point.h))?;
    let (sample, _) = runs::measure(&store, &bank, &way.plan(lab, point.clients, repetition))?;
    Ok(sample)
}

/// `skews` points that follow one another are of the same clients.
fn claims(samples: &Samples, skews: usize) -> Vec<Claim> {
    let points = 0..samples.points.len();
    let mut claims = Vec::new();
    for (variant, way) in WAYS.iter().enumerate().skip(RELEASED) {
        let to_first =
            |at: usize| samples.ratio_of_points(variant, at, at - at % skews.max(1), "tps").median;
        let ratios: Vec<f64> = points.clone().map(to_first).collect();
        let what = |end| format!("{}: {end} throughput over the first skew's", way.name);
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = ratios.iter().copied().fold(0.0, f64::max);
        claims.push(Claim::at_least(&what("least"), 1.0 - SAME, least));
        claims.push(Claim::at_most(&what("greatest"), 1.0 + SAME, greatest));
    }
    let speedups = points.map(|at| samples.ratio(at, RELEASED, BASELINE, "tps").median);
    let best = speedups.fold(0.0, f64::max);
    claims.push(Claim::at_least("early release, its best speedup (paper: 8)", BEST, best));
    claims
}
