//! What waiting for commits costs the processor, and that pipelined commits cost nothing against
//! asynchronous ones: "Aether", section 4.2, figures 4 and 5.
//!
//! As in the paper: TPC-B with 100 tellers; context switches and the system's time, blocking and
//! pipelined; throughput against asynchronous commit, which acknowledges before the log is durable
//! (`CommitMode::Lazy`). Locks go early in all variants but the first.
//!
//! A blocking client has a thread and one transaction under way. The paper's pipelined threads go
//! on to other transactions while a flush is under way, as many as it takes; here a client may have
//! some number in flight, and a thread for each processor serves all of them. The asynchronous
//! variant is run by the same driver with the same clients, so that it differs in the wait alone.
//!
//! Without a delay a flush is a copy in memory that takes less time than to wake the thread which
//! does it. There is no wait to be taken away, and threads change with every few commits,
//! asynchronous ones too; so of that point no claim is made about context switches.

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
    /// What a log flush takes at least, in microseconds; each number is tried
    #[arg(long, value_name = "US", value_delimiter = ',', default_values_t = [0, 100, 1_000])]
    flush: Vec<u64>,
    /// Clients
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    clients: u32,
    /// Transactions that a client has in flight at most, unless it waits for each
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    in_flight: u32,
    #[command(flatten)]
    bank: Bank,
}

runs::bank_options!(branches: 10, accounts: 2_000);

/// Each with its commit mode.
const VARIANTS: [(&str, (Way, CommitMode)); 4] = [
    (KEPT.name, (KEPT, CommitMode::Durable)),
    (EARLY.name, (EARLY, CommitMode::Durable)),
    (PIPELINED.name, (PIPELINED, CommitMode::Durable)),
    ("asynchronous", (PIPELINED, CommitMode::Lazy)),
];
const PIPELINED_AT: usize = 2;
const LAZY_AT: usize = 3;

/// The share of asynchronous commit's throughput that pipelined commits must reach.
const SHARE: f64 = 0.98;
/// The context switches that a pipelined transaction may cost.
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
