//! The effect of early release of locks, by skew and by the log's device: "Aether", section 3.2,
//! figure 3.
//!
//! As in the paper: TPC-B with 100 tellers, which are 10 branches; Zipf's skew in the choice of
//! branch and account; a log that takes 0, 100 µs, 1 ms or 10 ms; clients with a thread each, which
//! wait for their commits with or without their locks. There is one client for each teller, since
//! the paper does not state their number. The third variant, which the figure does not have, is
//! early release with commits pipelined.
//!
//! Differences:
//! - There are fewer accounts, so that each run can have a new database. Transactions conflict on
//!   branches.
//! - The threads share this machine's processors; the paper had a hardware thread for each. While
//!   threads wait for the log this matters little; without a delay it limits the gain.
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
pub(super) struct ElrSkewLatency {
    /// Zipf's exponent; each number is tried; 0 is uniform
    #[arg(long, value_name = "S", value_delimiter = ',',
          default_values_t = [0.0, 0.5, 0.85, 1.25, 2.0])]
    zipf: Vec<f64>,
    /// Minimum time of a log flush, in microseconds; each number is tried
    #[arg(long, value_name = "US", value_delimiter = ',',
          default_values_t = [0, 100, 1_000, 10_000])]
    flush: Vec<u64>,
    /// Clients, each with a thread of its own unless commits are pipelined
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    clients: u32,
    #[command(flatten)]
    bank: Bank,
}

runs::bank_options!(branches: 10, accounts: 500);

/// For a flush time in microseconds: the least value of early release's best speedup, and the
/// paper's speedup.
const BEST: [(u64, f64, &str); 2] = [(10_000, 30.0, "35"), (100, 2.0, "2")];
/// The least speedup that early release may have at any point.
const LEAST: f64 = 0.97;

/// One point of the figure.
pub(super) struct Point {
    flush: Duration,
    zipf: f64,
}

impl ElrSkewLatency {
    fn points(&self) -> Vec<Point> {
        let of_flush = |flush| self.zipf.iter().map(move |&zipf| Point { flush, zipf });
        runs::micros(&self.flush).flat_map(of_flush).collect()
    }
}

impl Experiment for ElrSkewLatency {
    const ABOUT: About = About {
        name: "elr_skew_latency",
        source: "\"Aether: A Scalable Approach to Logging\", 3.2, figure 3",
        shows: "early release multiplies throughput if rows are hot and the log is slow, and \
                never reduces it",
        seconds: 0.3,
        repetitions: 5,
    };
    type Point = Point;
    type Variant = Way;

    fn plan(&self, _lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        found.setting("clients", self.clients);
        found.bank_setting(self.bank.scale());
        runs::micros(&self.flush).try_for_each(|flush| found.flush_setting(flush))?;
        let paper = "64 hardware threads; its log of 0 ms is a RAM disk that takes 40 to 80 µs";
        found.setting("the paper's setting", paper);
        let named = |point: Point| (format!("{:?}, zipf {}", point.flush, point.zipf), point);
        let points = self.points().into_iter().map(named);
        Ok(vec![Grid::new("TPC-B, by device and skew", "tps", points, runs::variants(RELEASES))])
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        let Point { flush, zipf } = *run.point;
        let skew = if zipf > 0.0 { Skew::Zipf(zipf) } else { Skew::Uniform };
        let plan = run.variant.plan(run, self.clients);
        runs::measure_bank(run.variant.options(), flush, self.bank.scale(), skew, &plan)
    }

    /// Compares early release alone with the baseline, which has as many threads.
    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        let points = self.points();
        let ratio = |at| seen.grids[0].over(at, RELEASED, BASELINE);
        for (flush_us, bound, paper) in BEST {
            let flush = Duration::from_micros(flush_us);
            let at_flush = |at: &usize| points[*at].flush == flush;
            let ratios: Vec<f64> = (0..points.len()).filter(at_flush).map(ratio).collect();
            if !ratios.is_empty() {
                let what = format!("early release, its best speedup at {flush:?} (paper: {paper})");
                found.at_least(what, bound, greatest(ratios));
            }
        }
        if !points.is_empty() {
            let least = least((0..points.len()).map(ratio));
            found.at_least("early release, its least speedup", LEAST, least);
        }
    }
}
