//! The effect of early release of locks, by the share of reads and by the log's device: "Efficient
//! Locking Techniques for Databases on Modern Hardware", section 6.3, figure 8.
//!
//! As in the paper: TPC-B with 20 branches and Zipf's skew (s = 1), a share of the updates
//! converted to reads, 6 threads, commits pipelined (`Database::submit`), a log that takes 10 ms
//! (the paper's hard disk) or 50 µs (its SSD). The variants release no locks, shared locks, or all
//! locks before the commit is durable.
//!
//! Differences:
//! - A thread whose commit keeps locks waits inside `submit` until the commit is durable, and then
//!   releases them. The paper's threads meanwhile run the next transactions of their pipelines,
//!   which keep the locks. So *none* and *shared* have one transaction in flight for each thread
//!   here, and *all* has one for each of the more numerous clients; the factor is larger than the
//!   paper's. The variant *all, blocking* also has one in flight for each thread; its gain is that
//!   of the locks alone.
//! - There are fewer accounts, so that each run can have a new database. Transactions conflict on
//!   branches.
//! - Six threads share this machine's processors; the paper had one processor for each.
//!
//! If all queries read, there is no commit record, and the three variants release alike. The cost
//! of the choice is then counted in instructions, if they can be counted.

mod bank;

use std::time::Duration;

use clap::Args;
use clearway::Options as DatabaseOptions;
use clearway_testkit::disk::DelayedDisk;
use clearway_variants::txn::{EarlyRelease, TxnVariants};
use clearway_workloads::{ClearwayStore, Commit, Workload};

use super::runs::{self, Driven};
use crate::{
    callgrind::Case,
    experiment::{About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen},
};
use bank::{Bank, Shape};

#[derive(Args, Debug)]
pub(super) struct EarlyReleaseReads {
    /// Percentage of queries that read instead of writing; each number is tried
    #[arg(long, value_name = "PERCENT", value_delimiter = ',',
          default_values_t = [0, 25, 50, 75, 100],
          value_parser = clap::value_parser!(u32).range(0..=100))]
    reads: Vec<u32>,
    /// Minimum time of a log flush, in microseconds; each number is tried
    #[arg(long, value_name = "US", value_delimiter = ',', default_values_t = [10_000, 50])]
    flush: Vec<u64>,
    /// Threads
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    threads: u32,
    /// Maximum number of transactions that a thread has in flight
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

const VARIANTS: [(&str, (EarlyRelease, Commit)); 4] = [
    ("none", (EarlyRelease::None, Commit::Pipelined)),
    ("shared", (EarlyRelease::Shared, Commit::Pipelined)),
    ("all", (EarlyRelease::All, Commit::Pipelined)),
    ("all, blocking", (EarlyRelease::All, Commit::Blocking)),
];
const NONE: usize = 0;
const ALL: usize = 2;

/// The number of rounds whose instructions are counted.
const ROUNDS: u64 = 2_000;
/// The relative cost that early release of all locks may have for readers.
const READERS_COST: f64 = 0.05;

/// One point: a device and a share of reads.
#[derive(Clone, Copy)]
pub(super) struct Point {
    flush: Duration,
    reads: u32,
}

impl EarlyReleaseReads {
    fn points(&self) -> Vec<Point> {
        let of_flush = |flush| self.reads.iter().map(move |&reads| Point { flush, reads });
        runs::micros(&self.flush).flat_map(of_flush).collect()
    }

    fn shape(&self, reads: u32) -> Shape {
        let EarlyReleaseReads { branches, accounts, zipf, .. } = *self;
        Shape { branches, accounts, skew: zipf, reads }
    }
}

impl Experiment for EarlyReleaseReads {
    const ABOUT: About = About {
        name: "early_release_reads",
        source: "\"Efficient Locking Techniques for Databases on Modern Hardware\", 6.3, figure 8",
        shows: "releasing all locks early multiplies throughput, and costs nothing if all only \
                read",
        seconds: 0.4,
        repetitions: 3,
    };
    const CASES: &'static [Case] = &[
        Case { name: "readers-all", rounds: ROUNDS, run: |n| readers(n, EarlyRelease::All) },
        Case { name: "readers-none", rounds: ROUNDS, run: |n| readers(n, EarlyRelease::None) },
    ];
    type Point = Point;
    type Variant = (EarlyRelease, Commit);

    fn plan(&self, lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        found.setting("threads", self.threads);
        let in_flight = format!("{} (all), 1 (others)", self.in_flight);
        found.setting("in flight for each thread", in_flight);
        found.setting("branches", self.branches);
        found.setting("accounts of each", self.accounts);
        found.setting("skew", format!("zipf={}", self.zipf));
        runs::micros(&self.flush).try_for_each(|flush| found.flush_setting(flush))?;
        found.setting("instructions of a reader, all", lab.counts.shown("readers-all"));
        found.setting("instructions of a reader, none", lab.counts.shown("readers-none"));
        let named = |p: Point| (format!("{:?}, {} % reads", p.flush, p.reads), p);
        let points = self.points().into_iter().map(named);
        Ok(vec![
            Grid::new("TPC-B, by device and share of reads", "tps", points, VARIANTS).over(NONE),
        ])
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        let (early_release, commit) = *run.variant;
        let store = open(early_release, run.point.flush)?;
        let bank = Bank::load(&store, self.shape(run.point.reads))?;
        let each = if commit == Commit::Pipelined { self.in_flight } else { 1 };
        let plan = run.plan(self.threads * each, Some(self.threads), commit);
        let driven = Driven::run(&store, &bank, &plan)?;
        Ok(vec![driven.tps(), driven.waits(), driven.wait_us(), driven.flushes_each()])
    }

    /// For writers, claims the speedup at each device at the smallest share of reads. For readers,
    /// claims the cost, in instructions, or in throughput if instructions were not counted.
    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        let (grid, points) = (&seen.grids[0], self.points());
        let fewest = points.iter().map(|point| point.reads).min();
        for (at, point) in points.iter().enumerate().filter(|(_, p)| Some(p.reads) == fewest) {
            let bound = if point.flush >= Duration::from_millis(1) { 5.0 } else { 3.0 };
            let what = format!("all over none in tps at {}", grid.points[at]);
            found.at_least(what, bound, grid.over(at, ALL, NONE));
        }
        let counts = &seen.lab.counts;
        if let (Some(all), Some(none)) = (counts.of("readers-all"), counts.of("readers-none")) {
            let what = "all over none in instructions of a reader";
            found.at_most(what, 1.0 + READERS_COST, all / none);
        } else if let Some(at) = points.iter().position(|point| point.reads == 100) {
            let what = format!("all over none in tps at {}", grid.points[at]);
            found.at_least(what, 1.0 - READERS_COST, grid.over(at, ALL, NONE));
        }
    }
}

fn open(early_release: EarlyRelease, flush: Duration) -> Outcome<ClearwayStore> {
    let db = DatabaseOptions::new()
        .on_disk(DelayedDisk::in_memory(flush))
        .cache_size(256 << 20)
        .log_capacity(256 << 20)
        .txn_variant(early_release)
        .open("lab")?;
    Ok(ClearwayStore::new(db))
}

/// Runs one client's transactions, all of which only read.
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
