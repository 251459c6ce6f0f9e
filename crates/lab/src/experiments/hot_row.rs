//! One row that all transactions increment. Measures its throughput, whether more clients reduce
//! it, how evenly the clients wait, and the cost of deadlock detection.
//!
//! A pipelined transaction holds the row's lock from its request to its commit record, but not
//! until that record is durable. So neither the device nor the number of clients limits a hot row.
//! On a device the throughput of few clients is limited all the same, since each of them waits for
//! its own commit. The claim is therefore that throughput does not *fall* as clients are added.

mod counts;
mod row;

use std::path::{Path, PathBuf};

use clap::Args;
use clearway::Options as DatabaseOptions;
use clearway_workloads::{ClearwayStore, Commit, Outcome as Driven, Plan, drive};

use crate::{
    callgrind::Case,
    experiment::{About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen},
    variants::Samples,
};

use row::HotRow;

#[derive(Args, Debug)]
pub(super) struct HotRowClients {
    /// Clients whose transactions are in flight, over two threads
    #[arg(long, value_delimiter = ',', default_values_t = [2, 8, 32, 128, 512, 1024],
          value_parser = clap::value_parser!(u32).range(2..60_000))]
    clients: Vec<u32>,
    /// Directory in which the database on disk is created and afterwards removed [default: the
    /// current directory]
    #[arg(long)]
    dir: Option<PathBuf>,
}

/// The location of the database.
#[derive(Clone, Copy)]
pub(super) enum Device {
    Memory,
    Disk,
}

const DEVICES: [(&str, Device); 2] = [("in memory", Device::Memory), ("on disk", Device::Disk)];
/// The greatest relative fall of throughput from what fewer clients reached.
const FALL: f64 = 0.15;
/// The least throughput of a pipelined hot row, in transactions per second.
const PIPELINED_TPS: f64 = 200_000.0;
/// The number of threads that wait for each of their commits.
const BLOCKING: u32 = 64;
/// The least throughput of those threads, in transactions per second.
const BLOCKING_TPS: f64 = 60_000.0;
/// The maximum ratio of the 99th percentile of latency to the median.
const SPREAD: f64 = 3.0;

/// The number of clients and threads that increment the row, and their way of waiting for commits.
pub(super) struct Point {
    clients: u32,
    threads: u32,
    commit: Commit,
}

impl Experiment for HotRowClients {
    const ABOUT: About = About {
        name: "hot_row",
        source: "\"Efficient Locking Techniques for Databases on Modern Hardware\", sections 4 \
                 and 5",
        shows: "a hot row takes as many transactions from a thousand clients as from a few",
        seconds: 0.6,
        repetitions: 5,
    };
    const CASES: &'static [Case] = &counts::CASES;
    type Point = Point;
    type Variant = Device;

    fn plan(&self, lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        found.setting("the transaction", "reads the row for update, adds 1, writes it");
        found.setting("pipelined", "two threads");
        found.setting("blocking", format!("{BLOCKING} threads, in memory"));
        counts::settings(&lab.counts, found);
        let pipelined = |&clients: &u32| {
            (format!("{clients} clients"), Point { clients, threads: 2, commit: Commit::Pipelined })
        };
        let blocking = Point { clients: BLOCKING, threads: BLOCKING, commit: Commit::Blocking };
        let blocking = [(format!("{BLOCKING} threads"), blocking)];
        Ok(vec![
            Grid::new("pipelined", "tps", self.clients.iter().map(pipelined), DEVICES),
            Grid::new("blocking, in memory", "tps", blocking, [("blocking", Device::Memory)]),
        ])
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        let Point { clients, threads, commit } = *run.point;
        let (threads, duration) = (Some(threads as usize), run.lab.time);
        let plan = Plan { clients, threads, commit, duration, seed: 1 };
        match run.variant {
            Device::Memory => Ok(measures(&measure(DatabaseOptions::in_memory(), "lab", &plan)?)),
            Device::Disk => {
                let place = tempfile::tempdir_in(self.dir.as_deref().unwrap_or(Path::new(".")))?;
                Ok(measures(&measure(DatabaseOptions::new(), place.path(), &plan)?))
            }
        }
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        claims_of_pipelined(&seen.grids[0], found);
        let median = |measure| seen.grids[1].median(0, 0, measure);
        found.at_least("blocking: tps", BLOCKING_TPS, median("tps"));
        found.at_most("blocking: p99 over median latency", SPREAD, median("p99 over p50"));
        counts::claims(&seen.lab.counts, found);
    }
}

fn measure(options: DatabaseOptions, path: impl AsRef<Path>, plan: &Plan) -> Outcome<Driven> {
    let db = options.cache_size(64 << 20).log_capacity(256 << 20).open(path)?;
    let store = ClearwayStore::new(db);
    let row = HotRow::load(&store)?;
    let driven = drive(&store, &row, plan, &mut |_| true)?;
    let sum = row.read(&store)?;
    if sum < driven.commits {
        return Err(format!("{} commits, and the row has {sum}", driven.commits).into());
    }
    Ok(driven)
}

fn measures(driven: &Driven) -> Sample {
    let us = |quantile| driven.latency.quantile(quantile) as f64 / 1e3;
    let (median, slow) = (us(0.5), us(0.99));
    vec![
        ("tps", driven.tps()),
        ("p50 in µs", median),
        ("p99 in µs", slow),
        ("p99 over p50", slow / median.max(1e-3)),
    ]
}

fn claims_of_pipelined(grid: &Samples, found: &mut Findings) {
    for (device, name) in grid.variants.iter().enumerate() {
        let tps = |point| grid.median(point, device, "tps");
        let (mut most, mut falls) = (0.0f64, 1.0f64);
        for point in 0..grid.points.len() {
            most = most.max(tps(point));
            falls = falls.min(tps(point) / most);
        }
        let what = format!("pipelined {name}: tps over the most of fewer clients, at the worst");
        found.at_least(what, 1.0 - FALL, falls);
        let last = grid.points.len() - 1;
        let what = format!("pipelined {name}, {}: tps", grid.points[last]);
        found.at_least(what, PIPELINED_TPS, tps(last));
    }
}
