//! Shows that early release of locks makes throughput independent of skew: "Early Lock Release",
//! section 5.3, figures 17 to 22.
//!
//! As in the paper: TPC-B with 1,000 branches and self-similar skew (the first fraction h of them
//! gets 1 − h of the transactions; h = 0.5 is uniform); clients with a thread each, which wait for
//! their commits with or without their locks; a log as slow as the paper's disk. The third variant,
//! which the figures do not have, is early release with commits pipelined.
//!
//! Differences:
//! - There are fewer accounts, so that each run can have a new database. Transactions conflict on
//!   branches. The accounts of a branch are skewed too, which does not affect transactions that
//!   wait for the branch.
//! - The threads share this machine's processors; the paper had 64 hardware threads. The threads
//!   wait for the log nearly all the time.
//! - Two flushes may be in flight at a time.

use std::time::Duration;

use clap::Args;
use clearway_workloads::Skew;

use super::runs::{self, BASELINE, RELEASED, RELEASES, Way};
use crate::{
    experiment::{About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen},
    variants::{greatest, least},
};

#[derive(Args, Debug)]
pub(super) struct ElrTpcbSelfSimilar {
    /// Skew h; each number is tried; the first is the one that the others are compared with
    #[arg(long, value_name = "H", value_delimiter = ',', value_parser = parse_h,
          default_values_t = [0.5, 0.4, 0.35, 0.2])]
    skew: Vec<f64>,
    /// Clients, each with a thread of its own unless commits are pipelined; each number is tried
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [20, 64, 200],
          value_parser = clap::value_parser!(u32).range(1..=1_000))]
    clients: Vec<u32>,
    /// Minimum time of a log flush, in microseconds
    #[arg(long, value_name = "US", default_value_t = runs::PAPER_DISK_US)]
    flush: u64,
    #[command(flatten)]
    bank: Bank,
}

runs::bank_options!(branches: 1_000, accounts: 20);

fn parse_h(text: &str) -> Result<f64, String> {
    match format!("self-similar={text}").parse()? {
        Skew::SelfSimilar(h) => Ok(h),
        _ => Err(format!("{text:?} is no skew")),
    }
}

/// The greatest relative difference of a skew's throughput from the first skew's.
const SAME: f64 = 0.15;
/// The paper's best speedup.
const BEST: f64 = 8.0;

/// A number of clients and a skew.
pub(super) struct Point {
    clients: u32,
    h: f64,
}

impl Experiment for ElrTpcbSelfSimilar {
    const ABOUT: About = About {
        name: "elr_tpcb_self_similar",
        source: "\"Early Lock Release\", 5.3, figures 17 to 22",
        shows: "with early release throughput is the same whatever the skew",
        seconds: 0.4,
        repetitions: 5,
    };
    type Point = Point;
    type Variant = Way;

    /// Points with the same number of clients follow one another, in the order of the skews.
    fn plan(&self, _lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        found.bank_setting(self.bank.scale());
        found.flush_setting(Duration::from_micros(self.flush))?;
        found.setting("the paper's setting", runs::PAPER_DISK);
        let of_clients = |&clients: &u32| {
            let point = move |&h| (format!("{clients} clients, h = {h}"), Point { clients, h });
            self.skew.iter().map(point)
        };
        let points = self.clients.iter().flat_map(of_clients);
        Ok(vec![Grid::new("TPC-B, by clients and skew", "tps", points, runs::variants(RELEASES))])
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        let (way, skew) = (run.variant, Skew::SelfSimilar(run.point.h));
        let (database, flush) = (way.options(), Duration::from_micros(self.flush));
        let plan = way.plan(run, run.point.clients);
        runs::measure_bank(database, flush, self.bank.scale(), skew, &plan)
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        let (grid, skews) = (&seen.grids[0], self.skew.len().max(1));
        let points = 0..grid.points.len();
        for (variant, way) in RELEASES.iter().enumerate().skip(RELEASED) {
            let to_first = |at| grid.between(variant, at, at - at % skews).median;
            let ratios: Vec<f64> = points.clone().map(to_first).collect();
            let what = |end| format!("{}: {end} throughput over the first skew's", way.name);
            found.at_least(what("least"), 1.0 - SAME, least(ratios.iter().copied()));
            found.at_most(what("greatest"), 1.0 + SAME, greatest(ratios));
        }
        let best = greatest(points.map(|at| grid.over(at, RELEASED, BASELINE)));
        found.at_least("early release, its best speedup (paper: 8)", BEST, best);
    }
}
