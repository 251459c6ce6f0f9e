//! Measures the difference between two runs of the same variant on this machine, TPC-B in memory. A
//! ratio of any other experiment is significant only if it exceeds this difference.
//!
//! This file is also the pattern for other experiments: options, a grid, a count, claims.

use std::time::Duration;

use clap::Args;
use clearway::Options as DatabaseOptions;
use clearway_disk::MemoryDisk;
use clearway_testkit::disk::DelayedDisk;
use clearway_workloads::{ClearwayStore, Commit, Plan, Skew, Tpcb, TpcbScale, Workload, drive};

use crate::{
    callgrind::Case,
    experiment::{About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen},
    machine,
};

#[derive(Args, Debug)]
pub(super) struct Noise {
    /// Transactions in flight
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..10_000))]
    clients: u32,
}

/// The greatest deviation of the median ratio from 1.
const TOLERANCE: f64 = 0.1;
/// A delay that experiments request; the report states how long a flush with it really takes.
const DELAY: Duration = Duration::from_micros(50);
const SCALE: TpcbScale = TpcbScale { branches: 4, accounts_per_branch: 1_000 };

impl Experiment for Noise {
    const ABOUT: About = About {
        name: "noise",
        source: "nothing: a check of the lab itself",
        shows: "two equal variants are equal: the ratio between them is the machine's noise",
        seconds: 1.0,
        repetitions: 7,
    };
    const CASES: &'static [Case] = &[Case { name: "transfer", rounds: 2_000, run: transfers }];
    type Point = ();
    type Variant = ();

    fn plan(&self, lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        let delayed = machine::flush_p50_us(&DelayedDisk::new(MemoryDisk::new(), DELAY))?;
        found.setting("clients", self.clients);
        found.setting("instructions of a transaction", lab.counts.shown("transfer"));
        found.setting("a delay of 50 µs takes, in µs", delayed.round());
        let variants = [("one", ()), ("the same", ())];
        Ok(vec![Grid::new("TPC-B in memory", "tps", [("tpc-b", ())], variants)])
    }

    fn measure(&self, run: &Run<'_, Noise>) -> Outcome<Sample> {
        let (store, bank) = bank()?;
        let plan = Plan {
            clients: self.clients,
            threads: None,
            commit: Commit::Pipelined,
            duration: run.lab.time,
            seed: 1,
        };
        let outcome = drive(&store, &bank, &plan, &mut |_| true)?;
        Ok(vec![("tps", outcome.tps()), ("aborts", outcome.aborts as f64)])
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        let ratio = seen.grids[0].over(0, 1, 0);
        found.at_least("median ratio", 1.0 - TOLERANCE, ratio);
        found.at_most("median ratio", 1.0 + TOLERANCE, ratio);
    }
}

fn bank() -> Outcome<(ClearwayStore, Tpcb<ClearwayStore>)> {
    let db =
        DatabaseOptions::in_memory().cache_size(32 << 20).log_capacity(64 << 20).open("lab")?;
    let store = ClearwayStore::new(db);
    let bank = Tpcb::prepare(&store, SCALE, Skew::Uniform, 1, &|_| true)?;
    Ok((store, bank))
}

/// Runs one client's transactions and waits for each of them.
fn transfers(rounds: u64) -> Outcome<()> {
    let (store, bank) = bank()?;
    let mut client = bank.client(1);
    for _ in 0..rounds {
        let (_, work) = bank.draw(&mut client);
        bank.run(&store, &mut client, &work)?;
    }
    Ok(())
}
