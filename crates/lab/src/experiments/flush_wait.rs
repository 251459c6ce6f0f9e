//! The time that transactions wait for the log. Shows that with early release they hold no lock
//! while they wait: "Early Lock Release", section 2, figures 4 and 5.
//!
//! Figure 4 of the paper has the mean and standard deviation of the wait for the log by number of
//! threads, figure 5 the distribution for 50 threads: here mean, deviation and quantiles. The
//! report also has the paper's conclusion, the time for which locks are held: with early release it
//! neither contains the wait nor varies with it. With locks kept the wait is a part of that time,
//! and nothing remains of it afterwards. The engine itself measures both times
//! (`Database::timings`), here for every transaction.
//!
//! Differences:
//! - The paper runs TPC-C's mix with 100 warehouses. This is TPC-B with as many branches; all its
//!   transactions write, so each of them waits for a flush.
//! - The paper's disk takes a varying time; the one here always takes the same. The time of a
//!   transaction's arrival varies: it waits for the rest of the flush in progress, and for its own
//!   flush.
//! - Two flushes may be in flight at a time.

use std::time::Duration;

use clap::Args;
use clearway_workloads::{Skew, drive};

use super::runs::{self, BASELINE, RELEASED, RELEASES, Way};
use crate::{
    experiment::{About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen},
    variants::{Samples, greatest, least},
};

#[derive(Args, Debug)]
pub(super) struct FlushWait {
    /// Clients, each with a thread of its own unless commits are pipelined; each number is tried
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [10, 50, 100, 200],
          value_parser = clap::value_parser!(u32).range(1..=1_000))]
    clients: Vec<u32>,
    /// Minimum time of a log flush, in microseconds
    #[arg(long, value_name = "US", default_value_t = runs::PAPER_DISK_US,
          value_parser = clap::value_parser!(u64).range(1..))]
    flush: u64,
    #[command(flatten)]
    bank: Bank,
}

runs::bank_options!(branches: 100, accounts: 200);

/// The 99th percentile of lock hold times with early release must be at most this share of a flush.
const HELD: f64 = 0.25;
/// The maximum ratio of the deviation of lock hold times with early release to that with locks
/// kept. The paper says "zeroed".
const DEVIATION: f64 = 0.1;

impl FlushWait {
    /// Returns the medians of a measure at all points, in units of a flush.
    fn in_flushes(&self, grid: &Samples, variant: usize, measure: &str) -> Vec<f64> {
        let in_flushes = |point| grid.median(point, variant, measure) / self.flush as f64;
        (0..grid.points.len()).map(in_flushes).collect()
    }
}

impl Experiment for FlushWait {
    const ABOUT: About = About {
        name: "flush_wait",
        source: "\"Early Lock Release\", 2, figures 4 and 5",
        shows: "commits wait long for the log, and with early release without their locks",
        seconds: 1.0,
        repetitions: 5,
    };
    type Point = u32;
    type Variant = Way;

    fn plan(&self, _lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        found.bank_setting(self.bank.scale());
        found.flush_setting(Duration::from_micros(self.flush))?;
        found.setting("the paper's setting", runs::PAPER_DISK);
        found.setting("figure 4", "a deviation of 100 to 200 % of the mean");
        found.setting("figure 5", "50 clients wait 0.5 µs to 8 ms");
        found.setting("held", "µs from the begin until the locks are free");
        found.setting("wait", "µs from then to the acknowledgement");
        let points = self.clients.iter().map(|&clients| (format!("{clients} clients"), clients));
        Ok(vec![Grid::new("TPC-B, by clients", "held p50", points, runs::variants(RELEASES))])
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        let way = run.variant;
        let database = way.options().time_one_in(1);
        let (store, bank) = runs::bank(
            database,
            Duration::from_micros(self.flush),
            self.bank.scale(),
            Skew::Uniform,
        )?;
        let outcome = drive(&store, &bank, &way.plan(run, *run.point), &mut |_| true)?;
        let timings = store.database().timings();
        let timings = timings.iter().find(|timings| timings.name == "tpcb");
        let timings = timings.ok_or("no transaction was timed")?;
        let (held, wait) = (&timings.lock_hold, &timings.flush_wait);
        let micros = |nanos: u64| nanos as f64 / 1e3;
        Ok(vec![
            ("tps", outcome.tps()),
            ("held p1", micros(held.quantile(0.01))),
            ("held p50", micros(held.quantile(0.5))),
            ("held p99", micros(held.quantile(0.99))),
            ("held deviation", held.deviation() / 1e3),
            ("wait mean", wait.mean() / 1e3),
            ("wait deviation", wait.deviation() / 1e3),
            ("wait p1", micros(wait.quantile(0.01))),
            ("wait p50", micros(wait.quantile(0.5))),
            ("wait p99", micros(wait.quantile(0.99))),
            ("wait max", micros(wait.max())),
        ])
    }

    /// Each claim covers all points.
    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        let grid = &seen.grids[0];
        let points: Vec<usize> = (0..grid.points.len()).collect();
        let of = |variant, measure| self.in_flushes(grid, variant, measure);
        let what = "locks kept: 1st percentile of lock hold times, in flushes";
        found.at_least(what, 1.0, least(of(BASELINE, "held p1")));
        for (variant, way) in RELEASES.iter().enumerate().skip(RELEASED) {
            let what = format!("{}: 99th percentile of lock hold times, in flushes", way.name);
            found.at_most(what, HELD, greatest(of(variant, "held p99")));
            let what = format!("{}: median wait for the log, in flushes", way.name);
            found.at_least(what, 1.0, least(of(variant, "wait p50")));
            let what =
                format!("{}: deviation of the time locks are held over locks kept", way.name);
            let ratio = grid.ratio(&points, variant, BASELINE, "held deviation").median;
            found.at_most(what, DEVIATION, ratio);
        }
    }
}
