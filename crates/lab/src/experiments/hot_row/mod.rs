//! One row that everybody increments: how many transactions a second it takes, whether more clients
//! make it fewer, how evenly they wait, and what finding deadlocks costs them.
//!
//! Pipelined, a transaction has the row's lock from its request to its commit record and not until
//! that is durable, so neither the device nor the number of clients limits a hot row; few clients
//! on a device are limited by it all the same, since each waits for its own commit. So what must
//! not happen is that throughput *falls* as clients are added.

mod counts;
mod row;

use std::path::PathBuf;

use clap::Args;
use clearway::Options as DatabaseOptions;
use clearway_workloads::{ClearwayStore, Commit, Outcome as Driven, Plan, drive};
use serde_json::Value;

use crate::{
    experiment::{Experiment, Lab, Outcome},
    report::{Claim, Findings, Grid},
    variants::{Sample, Samples},
};

use row::HotRow;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "hot_row",
    source: "\"Efficient Locking Techniques for Databases on Modern Hardware\", sections 4 and 5",
    shows: "a hot row takes as many transactions from a thousand clients as from a few",
    seconds: 0.6,
    repetitions: 5,
    options: Options::augment_args,
    run,
    cases: &counts::CASES,
};

#[derive(Args, Debug)]
struct Options {
    /// Clients whose transactions are in flight, over two threads
    #[arg(long, value_delimiter = ',', default_values_t = [2, 8, 32, 128, 512, 1024],
          value_parser = clap::value_parser!(u32).range(2..60_000))]
    clients: Vec<u32>,
    /// Where the database on disk is made, and removed afterwards; the current directory if not
    /// said
    #[arg(long)]
    dir: Option<PathBuf>,
}

const DEVICES: [&str; 2] = ["in memory", "on disk"];
const MEMORY: usize = 0;
/// How far throughput may fall from what fewer clients reached.
const FALL: f64 = 0.15;
/// What a pipelined hot row must reach, in transactions a second.
const PIPELINED_TPS: f64 = 200_000.0;
/// Threads that wait for each of their commits.
const BLOCKING: u32 = 64;
/// What they must reach.
const BLOCKING_TPS: f64 = 60_000.0;
/// How much longer than the median the slowest hundredth may take.
const SPREAD: f64 = 3.0;

fn run(lab: &Lab<'_>) -> Outcome<Findings> {
    let options: Options = lab.options()?;
    let pipelined = pipelined(lab, &options)?;
    let blocking = blocking(lab)?;
    let mut claims = claims_of_pipelined(&pipelined);
    claims.extend(claims_of_blocking(&blocking));
    let mut settings: Vec<(&'static str, Value)> = vec![
        ("the transaction", "reads the row for update, adds 1, writes it".into()),
        ("pipelined", "two threads".into()),
        ("blocking", format!("{BLOCKING} threads, in memory").into()),
    ];
    claims.extend(counts::claims(lab, &mut settings)?);
    let grid = |title, samples| Grid { title, samples, measure: "tps", baseline: MEMORY };
    let grids = vec![grid("pipelined", pipelined), grid("blocking, in memory", blocking)];
    Ok(Findings { settings, claims, grids })
}

fn pipelined(lab: &Lab<'_>, options: &Options) -> Outcome<Samples> {
    let points = options.clients.iter().map(|n| format!("{n} clients")).collect();
    let devices = DEVICES.map(String::from).to_vec();
    Samples::take(points, devices, lab.repetitions, |point, device, _| {
        let plan = plan(lab, options.clients[point], Some(2), Commit::Pipelined);
        if device == MEMORY {
            return Ok(measures(&measure(DatabaseOptions::in_memory(), "lab", &plan)?));
        }
        let place = match &options.dir {
            Some(dir) => tempfile::tempdir_in(dir)?,
            None => tempfile::tempdir_in(".")?,
        };
        Ok(measures(&measure(DatabaseOptions::new(), place.path(), &plan)?))
    })
}

fn blocking(lab: &Lab<'_>) -> Outcome<Samples> {
    let (points, variants) = (vec![format!("{BLOCKING} threads")], vec!["blocking".to_string()]);
    Samples::take(points, variants, lab.repetitions, |_, _, _| {
        let plan = plan(lab, BLOCKING, Some(BLOCKING as usize), Commit::Blocking);
        Ok(measures(&measure(DatabaseOptions::in_memory(), "lab", &plan)?))
    })
}

fn plan(lab: &Lab<'_>, clients: u32, threads: Option<usize>, commit: Commit) -> Plan {
    Plan { clients, threads, commit, duration: lab.time, seed: 1 }
}

fn measure(
    options: DatabaseOptions,
    path: impl AsRef<std::path::Path>,
    plan: &Plan,
) -> Outcome<Driven> {
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

fn claims_of_pipelined(samples: &Samples) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (device, name) in DEVICES.iter().enumerate() {
        let tps = |point| samples.spread(point, device, "tps").median;
        let (mut most, mut falls) = (0.0f64, 1.0f64);
        for point in 0..samples.points.len() {
            most = most.max(tps(point));
            falls = falls.min(tps(point) / most);
        }
        let what = format!("pipelined {name}: tps over the most of fewer clients, at the worst");
        claims.push(Claim::at_least(&what, 1.0 - FALL, falls));
        let last = samples.points.len() - 1;
        let what = format!("pipelined {name}, {}: tps", samples.points[last]);
        claims.push(Claim::at_least(&what, PIPELINED_TPS, tps(last)));
    }
    claims
}

fn claims_of_blocking(samples: &Samples) -> [Claim; 2] {
    let median = |measure| samples.spread(0, 0, measure).median;
    [
        Claim::at_least("blocking: tps", BLOCKING_TPS, median("tps")),
        Claim::at_most("blocking: p99 over median latency", SPREAD, median("p99 over p50")),
    ]
}
