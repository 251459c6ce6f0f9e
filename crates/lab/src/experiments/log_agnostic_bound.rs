//! Compares early release and pipelined commits with a system that does not wait for its log at
//! all: "Early Lock Release", section 1.3, figure 2.
//!
//! The paper removes the wait for the log from its system and compares the rest, an unsafe upper
//! bound, with the baseline. Here the driver drops the result of each transaction as soon as its
//! locks are released, and counts it; the engine does the same work. Every throughput is divided by
//! that bound. The baseline is that of the paper: a thread for each client, which waits for its
//! commits while it holds its locks.
//!
//! Differences:
//! - The paper runs TPC-C's mix with 100 warehouses. This is TPC-B with as many branches; all its
//!   transactions write.
//! - A client that does not wait for results can have as many transactions in flight as fit into a
//!   flush. The bound and the pipelined variant have the same clients, several for each thread of
//!   the baseline.
//! - A thread for each processor serves the clients; the paper had a thread for each client.

use std::time::Duration;

use clap::Args;
use clearway_workloads::Skew;

use super::runs::{self, AGNOSTIC, KEPT, PIPELINED, Way};
use crate::experiment::{
    About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen,
};

#[derive(Args, Debug)]
pub(super) struct LogAgnosticBound {
    /// Minimum time of a log flush, in microseconds; each number is tried
    #[arg(long, value_name = "US", value_delimiter = ',',
          default_values_t = [100, 1_000, runs::PAPER_DISK_US])]
    flush: Vec<u64>,
    /// Threads of the baseline
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    clients: u32,
    /// Transactions in flight for each thread of the baseline, without a thread of their own
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    in_flight: u32,
    #[command(flatten)]
    bank: Bank,
}

runs::bank_options!(branches: 100, accounts: 200);

const WAYS: [Way; 3] = [AGNOSTIC, PIPELINED, KEPT];
const BOUND: usize = 0;
const RELEASED: usize = 1;

/// The least share of the bound that must be reached.
const SHARE: f64 = 0.95;

impl Experiment for LogAgnosticBound {
    const ABOUT: About = About {
        name: "log_agnostic_bound",
        source: "\"Early Lock Release\", 1.3, figure 2",
        shows: "early release and pipelined commits cost no throughput against not waiting at all",
        seconds: 1.0,
        repetitions: 9,
    };
    type Point = Duration;
    type Variant = Way;

    fn plan(&self, _lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        found.setting("clients", self.clients);
        found.setting("in flight for each", format!("{}, locks kept: 1", self.in_flight));
        found.bank_setting(self.bank.scale());
        runs::micros(&self.flush).try_for_each(|flush| found.flush_setting(flush))?;
        found.setting("the paper's setting", runs::PAPER_DISK);
        let points = runs::micros(&self.flush).map(|flush| (format!("{flush:?}"), flush));
        Ok(vec![Grid::new("TPC-B, by device", "tps", points, runs::variants(WAYS)).over(BOUND)])
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        let way = run.variant;
        let plan = way.plan_in_flight(run, self.clients, self.in_flight);
        let database = way.options();
        runs::measure_bank(database, *run.point, self.bank.scale(), Skew::Uniform, &plan)
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        for (at, flush) in runs::micros(&self.flush).enumerate() {
            let what = format!("early release, pipelined, over the bound at {flush:?}");
            found.at_least(what, SHARE, seen.grids[0].over(at, RELEASED, BOUND));
        }
    }
}
