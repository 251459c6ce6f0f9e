//! What early release of locks is worth, by the share of reads and by the log's device: "Efficient
//! Locking Techniques for Databases on Modern Hardware", section 6.3, figure 8.
//!
//! As in the paper: TPC-B with 20 branches and Zipf's skew (s = 1), a share of the updates
//! converted to reads, 6 threads, commits pipelined (`Database::submit`), a log that takes 10 ms
//! (its hard disk) or 50 µs (its SSD); no locks, shared ones, or all released before the commit is
//! durable.
//!
//! Differences:
//! - A thread whose commit keeps locks waits inside `submit` until the commit is durable, and
//!   releases them then. The paper's threads go on meanwhile with the next transactions of their
//!   pipelines, which the locks stay with. So *none* and *shared* have one transaction in flight
//!   for each thread here, and *all* as many as clients; the factor is larger than the paper's. The
//!   variant *all, blocking* has one in flight for each thread too: what is left of the gain is
//!   that of the locks alone.
//! - There are fewer accounts, so that each run can have a new database: locks meet on branches.
//! - Six threads share this machine's processors; the paper had one for each.
//!
//! When all queries read there is no commit record, and the three release alike; what the choice
//! costs then is counted in instructions, where that can be done.

mod bank;

use std::time::Duration;

use clap::Args;
use clearway::{EarlyRelease, Options as DatabaseOptions};
use clearway_disk::MemoryDisk;
use clearway_testkit::disk::DelayedDisk;
use clearway_workloads::{ClearwayStore, Commit, Plan, Workload, drive};
use serde_json::Value;

use crate::{
    callgrind::{self, Case},
    experiment::{Experiment, Lab, Outcome},
    machine,
    report::{Claim, Findings, Grid},
    variants::{Sample, Samples},
};
use bank::{Bank, Shape};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "early_release_reads",
    source: "\"Efficient Locking Techniques for Databases on Modern Hardware\", 6.3, figure 8",
    shows: "releasing all locks early multiplies throughput, and costs nothing if all only read",
    seconds: 0.4,
    repetitions: 3,
    options: Options::augment_args,
    run,
    cases: &[READERS_ALL, READERS_NONE],
};

#[derive(Args, Debug)]
struct Options {
    /// Queries of 100 that read instead of writing; each number is tried
    #[arg(long, value_name = "PERCENT", value_delimiter = ',',
          default_values_t = [0, 25, 50, 75, 100],
          value_parser = clap::value_parser!(u32).range(0..=100))]
    reads: Vec<u32>,
    /// What a log flush takes at least, in microseconds; each number is tried
    #[arg(long, value_name = "US", value_delimiter = ',', default_values_t = [10_000, 50])]
    flush: Vec<u64>,
    /// Threads
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    threads: u32,
    /// Transactions that a thread has in flight at most
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    in_flight: u32,
    /// Branches
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    branches: u32,
    /// Accounts of each branch
    #[arg(long, default_value_t = 1_000,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    accounts: u32,
    /// Zipf's exponent; 0 is uniform
    #[arg(long, default_value_t = 1.0)]
    zipf: f64,
}

const VARIANTS: [(&str, EarlyRelease, Commit); 4] = [
    ("none", EarlyRelease::None, Commit::Pipelined),
    ("shared", EarlyRelease::Shared, Commit::Pipelined),
    ("all", EarlyRelease::All, Commit::Pipelined),
    ("all, blocking", EarlyRelease::All, Commit::Blocking),
];
const NONE: usize = 0;
const ALL: usize = 2;

const READERS_ALL: Case = Case { name: "readers-all", run: |n| readers(n, EarlyRelease::All) };
const READERS_NONE: Case = Case { name: "readers-none", run: |n| readers(n, EarlyRelease::None) };
/// Rounds that are counted.
const ROUNDS: u64 = 2_000;
/// What early release of all locks may cost readers.
const READERS_COST: f64 = 0.05;

/// One point: a device and a share of reads.
struct Point {
    flush: Duration,
    reads: u32,
}

fn run(lab: &Lab<'_>) -> Outcome<Findings> {
    let options: Options = lab.options()?;
    let mut settings: Vec<(&'static str, Value)> = vec![
        ("threads", options.threads.into()),
        ("in flight for each thread", format!("{} (all), 1 (others)", options.in_flight).into()),
        ("branches", options.branches.into()),
        ("accounts of each", options.accounts.into()),
        ("skew", format!("zipf={}", options.zipf).into()),
    ];
    let mut points = Vec::new();
    for &us in &options.flush {
        let flush = Duration::from_micros(us);
        let p50 = machine::flush_p50_us(&DelayedDisk::new(MemoryDisk::new(), flush))?;
        settings.push(("median flush in µs", format!("{p50:.0} (asked for: {us})").into()));
        points.extend(options.reads.iter().map(|&reads| Point { flush, reads }));
    }
    let names = points.iter().map(|p| format!("{:?}, {} % reads", p.flush, p.reads)).collect();
    let variants = VARIANTS.map(|(name, ..)| name.to_string()).to_vec();
    let samples = Samples::take(names, variants, lab.repetitions, |point, variant, repetition| {
        measure(lab, &options, &points[point], variant, repetition)
    })?;
    let count = |case| callgrind::per_round(lab, case, ROUNDS);
    let (all, none) = (count(&READERS_ALL)?, count(&READERS_NONE)?);
    settings.push(("instructions of a reader, all", callgrind::shown(all)));
    settings.push(("instructions of a reader, none", callgrind::shown(none)));
    let mut claims = claims_of_writers(&samples, &points);
    claims.extend(claim_of_readers(&samples, &points, all.zip(none)));
    let title = "TPC-B, by device and share of reads";
    let grid = Grid { title, samples, measure: "tps", baseline: NONE };
    Ok(Findings { settings, grids: vec![grid], claims })
}

fn open(early_release: EarlyRelease, flush: Duration) -> Outcome<ClearwayStore> {
    let db = DatabaseOptions::new()
        .on_disk(DelayedDisk::in_memory(flush))
        .cache_size(256 << 20)
        .log_capacity(256 << 20)
        .early_release(early_release)
        .open("lab")?;
    Ok(ClearwayStore::new(db))
}

impl Options {
    fn shape(&self, reads: u32) -> Shape {
        let Options { branches, accounts, zipf, .. } = *self;
        Shape { branches, accounts, skew: zipf, reads }
    }
}

/// One run, on a database of its own.
fn measure(
    lab: &Lab<'_>,
    options: &Options,
    point: &Point,
    variant: usize,
    repetition: u32,
) -> Outcome<Sample> {
    let (_, early_release, commit) = VARIANTS[variant];
    let store = open(early_release, point.flush)?;
    let bank = Bank::load(&store, options.shape(point.reads))?;
    let each = if commit == Commit::Pipelined { options.in_flight } else { 1 };
    let plan = Plan {
        clients: options.threads * each,
        threads: Some(options.threads as usize),
        commit,
        duration: lab.time,
        // The same draws for all variants of a repetition.
        seed: u64::from(repetition),
    };
    let before = store.database().stats().engine;
    let outcome = drive(&store, &bank, &plan, &mut |_| true)?;
    let after = store.database().stats().engine;
    let each = |count: u64| count as f64 / outcome.commits.max(1) as f64;
    Ok(vec![
        ("tps", outcome.tps()),
        ("waits/tx", each(after.lock.waits - before.lock.waits)),
        ("wait µs/tx", each(after.lock.wait_us - before.lock.wait_us)),
        ("flushes/tx", each(after.log.flushes - before.log.flushes)),
    ])
}

/// The factor at each device where most write.
fn claims_of_writers(samples: &Samples, points: &[Point]) -> Vec<Claim> {
    let fewest = points.iter().map(|point| point.reads).min();
    let of = points.iter().enumerate().filter(|(_, point)| Some(point.reads) == fewest);
    let claim = |(at, point): (usize, &Point)| {
        let bound = if point.flush >= Duration::from_millis(1) { 5.0 } else { 3.0 };
        let what = format!("all over none in tps at {}", samples.points[at]);
        Claim::at_least(&what, bound, samples.ratio(at, ALL, NONE, "tps").median)
    };
    of.map(claim).collect()
}

/// What it costs those who only read: by instructions, or where they are not counted by throughput.
fn claim_of_readers(
    samples: &Samples,
    points: &[Point],
    counts: Option<(f64, f64)>,
) -> Option<Claim> {
    if let Some((all, none)) = counts {
        let what = "all over none in instructions of a reader";
        return Some(Claim::at_most(what, 1.0 + READERS_COST, all / none));
    }
    let at = points.iter().position(|point| point.reads == 100)?;
    let ratio = samples.ratio(at, ALL, NONE, "tps").median;
    let what = format!("all over none in tps at {}", samples.points[at]);
    Some(Claim::at_least(&what, 1.0 - READERS_COST, ratio))
}

/// One client's transactions, all of which only read.
fn readers(rounds: u64, early_release: EarlyRelease) -> Outcome<()> {
    let store = open(early_release, Duration::ZERO)?;
    let shape = Shape { branches: 4, accounts: 100, skew: 1.0, reads: 100 };
    let bank = Bank::load(&store, shape)?;
    let mut client = bank.client(1);
    for _ in 0..rounds {
        let (_, work) = bank.draw(&mut client);
        bank.run(&store, &mut client, &work)?;
    }
    Ok(())
}
