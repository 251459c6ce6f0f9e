//! The processor cost of waiting for commits. Shows that pipelined commits cost nothing compared
//! with asynchronous ones: "Aether", section 4.2, figures 4 and 5.
//!
//! As in the paper: TPC-B with 100 tellers; context switches and system time, blocking and
//! pipelined; throughput against asynchronous commit, which acknowledges before the log is durable
//! (`CommitMode::Lazy`). Locks are released early in all variants but the first.
//!
//! A blocking client has a thread and one transaction in flight. The paper's pipelined threads run
//! other transactions during a flush, as many as the flush allows. Here a client may have a fixed
//! number of transactions in flight, and a thread for each processor serves all clients. The same
//! driver runs the asynchronous variant with the same clients, so that it differs in the wait
//! alone.
//!
//! Without a delay a flush is a copy in memory, which takes less time than waking the thread that
//! does it. There is no wait to remove, and the scheduler switches threads every few commits, in
//! the asynchronous variant too. So no claim about context switches is made for that point.

use std::time::Duration;

use clap::Args;
use clearway::CommitMode;
use clearway_workloads::{Skew, Usage};

use super::runs::{self, Driven, EARLY, KEPT, PIPELINED, Way};
use crate::experiment::{
    About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen,
};

#[derive(Args, Debug)]
pub(super) struct FlushPipelining {
    /// Minimum time of a log flush, in microseconds; each number is tried
    #[arg(long, value_name = "US", value_delimiter = ',', default_values_t = [0, 100, 1_000])]
    flush: Vec<u64>,
    /// Clients
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    clients: u32,
    /// Maximum number of transactions that a client has in flight, unless it waits for each
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    in_flight: u32,
    #[command(flatten)]
    bank: Bank,
}

runs::bank_options!(branches: 10, accounts: 2_000);

/// The variants, each with its commit mode.
const VARIANTS: [(&str, (Way, CommitMode)); 4] = [
    (KEPT.name, (KEPT, CommitMode::Durable)),
    (EARLY.name, (EARLY, CommitMode::Durable)),
    (PIPELINED.name, (PIPELINED, CommitMode::Durable)),
    ("asynchronous", (PIPELINED, CommitMode::Lazy)),
];
const PIPELINED_AT: usize = 2;
const LAZY_AT: usize = 3;

/// The least share of asynchronous commit's throughput that pipelined commits must reach.
const SHARE: f64 = 0.98;
/// The maximum number of context switches for each pipelined transaction.
const SWITCHES: f64 = 0.05;

impl Experiment for FlushPipelining {
    const ABOUT: About = About {
        name: "flush_pipelining",
        source: "\"Aether: A Scalable Approach to Logging\", 4.2, figures 4 and 5",
        shows: "pipelined commits need no context switches and are as fast as asynchronous ones",
        seconds: 1.0,
        repetitions: 9,
    };
    type Point = Duration;
    type Variant = (Way, CommitMode);

    fn plan(&self, _lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        found.setting("clients", self.clients);
        found.setting("in flight for each", format!("{}, blocking: 1", self.in_flight));
        found.bank_setting(self.bank.scale());
        runs::micros(&self.flush).try_for_each(|flush| found.flush_setting(flush))?;
        let paper = "64 hardware threads; pipelined and asynchronous up to 22 % above blocking";
        found.setting("the paper's setting", paper);
        let points = runs::micros(&self.flush).map(|flush| (format!("{flush:?}"), flush));
        Ok(vec![Grid::new("TPC-B, by device", "tps", points, VARIANTS).over(LAZY_AT)])
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        let (way, mode) = run.variant;
        let database = way.options().commit_mode(*mode);
        let (store, bank) = runs::bank(database, *run.point, self.bank.scale(), Skew::Uniform)?;
        let plan = way.plan_in_flight(run, self.clients, self.in_flight);
        let before = Usage::now();
        let driven = Driven::run(&store, &bank, &plan)?;
        let usage = Usage::now().since(&before);
        let each = |count: f64| count / driven.commits().max(1) as f64;
        let mut sample = driven.sample();
        sample.extend([
            ("switches/tx", each(usage.switches() as f64)),
            ("voluntary/tx", each(usage.switches_voluntary as f64)),
            ("system µs/tx", each(usage.system_us as f64)),
            ("user µs/tx", each(usage.user_us as f64)),
        ]);
        Ok(sample)
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        let grid = &seen.grids[0];
        for (at, flush) in runs::micros(&self.flush).enumerate() {
            let what = format!("pipelined over asynchronous at {flush:?}");
            found.at_least(what, SHARE, grid.over(at, PIPELINED_AT, LAZY_AT));
            if !flush.is_zero() {
                let what = format!("context switches of a pipelined transaction at {flush:?}");
                found.at_most(what, SWITCHES, grid.median(at, PIPELINED_AT, "switches/tx"));
            }
        }
    }
}
