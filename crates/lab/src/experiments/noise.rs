//! How far apart two runs of the very same thing are on this machine: what a ratio of any other
//! experiment must exceed to mean something. TPC-B in memory, twice.
//!
//! It is also the pattern for other experiments: options, grid, count, claims.

use std::time::Duration;

use clap::Args;
use clearway::Options as DatabaseOptions;
use clearway_disk::MemoryDisk;
use clearway_testkit::disk::DelayedDisk;
use clearway_workloads::{ClearwayStore, Commit, Plan, Skew, Tpcb, TpcbScale, Workload, drive};

use crate::{
    callgrind::{self, Case},
    experiment::{Experiment, Lab, Outcome},
    machine,
    report::{Claim, Findings, Grid},
    variants::{Sample, Samples},
};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "noise",
    source: "nothing: a check of the lab itself",
    shows: "two equal variants are equal: the ratio between them is the machine's noise",
    seconds: 1.0,
    repetitions: 7,
    options: Options::augment_args,
    run,
    cases: &[TRANSFER],
};

#[derive(Args, Debug)]
struct Options {
    /// Transactions in flight
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..10_000))]
    clients: u32,
}

const TRANSFER: Case = Case { name: "transfer", run: transfers };
/// Rounds that are counted.
const ROUNDS: u64 = 2_000;
/// How far from 1 the median ratio may be.
const TOLERANCE: f64 = 0.1;
/// A delay as experiments ask for it: the report says how long it takes in truth.
const DELAY: Duration = Duration::from_micros(50);
const SCALE: TpcbScale = TpcbScale { branches: 4, accounts_per_branch: 1_000 };

fn run(lab: &Lab<'_>) -> Outcome<Findings> {
    let options: Options = lab.options()?;
    let variants = ["one".to_string(), "the same".to_string()].to_vec();
    let samples = Samples::take(vec!["tpc-b".into()], variants, lab.repetitions, |_, _, _| {
        measure(lab, &options)
    })?;
    let ratio = samples.ratio(0, 1, 0, "tps").median;
    let count = callgrind::per_round(lab, &TRANSFER, ROUNDS)?;
    let delayed = machine::flush_p50_us(&DelayedDisk::new(MemoryDisk::new(), DELAY))?;
    Ok(Findings {
        settings: vec![
            ("clients", options.clients.into()),
            ("instructions of a transaction", callgrind::shown(count)),
            ("a delay of 50 µs takes, in µs", delayed.round().into()),
        ],
        claims: vec![
            Claim::at_least("median ratio", 1.0 - TOLERANCE, ratio),
            Claim::at_most("median ratio", 1.0 + TOLERANCE, ratio),
        ],
        grids: vec![Grid { title: "TPC-B in memory", samples, measure: "tps", baseline: 0 }],
    })
}

fn bank() -> Outcome<(ClearwayStore, Tpcb<ClearwayStore>)> {
    let db =
        DatabaseOptions::in_memory().cache_size(32 << 20).log_capacity(64 << 20).open("lab")?;
    let store = ClearwayStore::new(db);
    let bank = Tpcb::prepare(&store, SCALE, Skew::Uniform, 1, &|_| true)?;
    Ok((store, bank))
}

fn measure(lab: &Lab<'_>, options: &Options) -> Outcome<Sample> {
    let (store, bank) = bank()?;
    let plan = Plan {
        clients: options.clients,
        threads: None,
        commit: Commit::Pipelined,
        duration: lab.time,
        seed: 1,
    };
    let outcome = drive(&store, &bank, &plan, &mut |_| true)?;
    Ok(vec![("tps", outcome.tps()), ("aborts", outcome.aborts as f64)])
}

/// One client's transactions, each awaited.
fn transfers(rounds: u64) -> Outcome<()> {
    let (store, bank) = bank()?;
    let mut client = bank.client(1);
    for _ in 0..rounds {
        let (_, work) = bank.draw(&mut client);
        bank.run(&store, &mut client, &work)?;
    }
    Ok(())
}
