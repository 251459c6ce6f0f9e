//! The time of each query before and after the reordering: tables 2 and 3 of the paper.

use std::{cell::RefCell, collections::BTreeMap};

use clap::Args;
use clearway_reorder::profile::Key;

use super::reorder::{
    comparison::{Comparison, ORIGINAL, REORDERED, report_settings, setting},
    prepared::Prepared,
    site::{Setting, Site, delay_name, small_scale},
    workload::{BIDDING, NEW_ORDER, PAYMENT, System, TRADE_UPDATE, Workload},
};
use crate::{
    experiment::{About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen},
    variants::{Samples, Spread},
};

#[derive(Args)]
pub(super) struct Breakdown {
    /// Transactions in flight
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=250))]
    clients: u32,
    /// The delay of each round trip in microseconds
    #[arg(long, value_name = "US", default_value_t = 1000,
          value_parser = clap::value_parser!(u32).range(0..=100_000))]
    delay: u32,
    #[arg(skip)]
    comparison: Comparison,
    /// The measured times by workload, variant and repetition.
    #[arg(skip)]
    times: RefCell<BTreeMap<(usize, usize, u32), Times>>,
}

/// The workloads at their highest contention; tables 2 and 3 are the first two.
static WORKLOADS: [&Workload; 4] = [&PAYMENT, &NEW_ORDER, &TRADE_UPDATE, &BIDDING];
/// The greatest latency of reordered transactions over that of the original ones, and the paper's.
const LATENCIES: [(usize, f64, &str); 2] = [(0, 0.2, "0.15"), (1, 0.5, "0.41")];
const SINGLE: usize = 2;

/// The row of a table.
pub(super) struct Point {
    workload: usize,
    /// The query; `None` is the latency of the whole transaction.
    key: Option<Key>,
}

/// The times of one run in milliseconds of a transaction.
struct Times {
    latency: f64,
    queries: BTreeMap<Key, f64>,
}

impl Experiment for Breakdown {
    const ABOUT: About = About {
        name: "reorder_breakdown",
        source: "the QURO paper, 6.4, tables 2 and 3",
        shows: "the query that waits longest becomes fast, and the others slower",
        seconds: 5.0,
        repetitions: 3,
    };
    type Point = Point;
    type Variant = usize;

    fn plan(&self, lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        let mut site = Site::new(&[System::MariaDb], small_scale)?;
        report_settings(found);
        found.setting("clients", self.clients);
        found.setting("times", "of all executions in one transaction, in milliseconds");
        let (mut prepared, mut grids) = (Vec::new(), Vec::new());
        for (at, workload) in WORKLOADS.into_iter().enumerate() {
            let setting = self.setting(lab, at, ORIGINAL);
            let one = Prepared::by_profile(&mut site, &setting, Some(self.delay))?;
            grids.push(self.grid(at, workload, one.queries(&setting)?));
            prepared.push(one);
        }
        self.comparison.begin(site, prepared, found);
        Ok(grids)
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        let (workload, variant) = (run.point.workload, *run.variant);
        let cell = (workload, variant, run.repetition);
        if !self.times.borrow().contains_key(&cell) {
            let setting = self.setting(run.lab, workload, variant);
            let setting = Setting { seed: run.repetition, ..setting };
            let times = self.comparison.with(|site, prepared| {
                prepared[workload].query_times(site, &setting, variant == REORDERED)
            });
            let (driven, queries) = times?;
            let queries = queries.into_iter().map(|time| (time.key, time.ns as f64 / 1e6));
            let times = Times { latency: driven.mean_ms, queries: queries.collect() };
            self.times.borrow_mut().insert(cell, times);
        }
        let times = self.times.borrow();
        let times = &times[&cell];
        let ms = match &run.point.key {
            // A query in a branch that no transaction took has no time.
            Some(key) => times.queries.get(key).copied().unwrap_or(0.0),
            None => times.latency,
        };
        Ok(vec![("ms", ms)])
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        for (at, bound, paper) in LATENCIES {
            let (grid, name) = (&seen.grids[at], WORKLOADS[at].name);
            let all = grid.points.len() - 1;
            let ratio = |variant| grid.over(all, variant, ORIGINAL);
            let what = format!("{name}, latency over the original's (paper: {paper})");
            found.at_most(what, bound, ratio(REORDERED));
        }
        let payment = &seen.grids[0];
        let slowest = slowest(payment);
        let what = "payment, time of the query that waits longest, over the original's \
                    (paper: 0.03)";
        found.at_most(what, 0.2, payment.over(slowest, REORDERED, ORIGINAL));
        let what = "payment, time of all other queries, over the original's (paper: 3.6)";
        found.at_least(what, 1.0, of_others(payment, slowest));
    }
}

/// Returns the query that takes the longest time in the original program.
fn slowest(grid: &Samples) -> usize {
    let time = |&point: &usize| grid.median(point, ORIGINAL, grid.measure);
    let queries = 0..grid.points.len() - 1;
    queries.max_by(|a, b| time(a).total_cmp(&time(b))).unwrap_or(0)
}

/// Returns the time of all queries but one in the reordered program, over that in the original.
fn of_others(grid: &Samples, except: usize) -> f64 {
    let others: Vec<usize> = (0..grid.points.len() - 1).filter(|&at| at != except).collect();
    let sum = |variant: usize, repetition: usize| {
        let of = |&at: &usize| grid.values(at, variant, grid.measure)[repetition];
        others.iter().map(of).sum::<f64>()
    };
    let repetitions = grid.values(0, ORIGINAL, grid.measure).len();
    let ratios: Vec<f64> =
        (0..repetitions).map(|run| sum(REORDERED, run) / sum(ORIGINAL, run)).collect();
    Spread::of(&ratios).median
}

impl Breakdown {
    fn setting(&self, lab: &Lab, workload: usize, variant: usize) -> Setting<'static> {
        let clients = if variant == SINGLE { 1 } else { self.clients };
        setting(lab, System::MariaDb, WORKLOADS[workload], clients, self.delay)
    }

    fn grid(&self, at: usize, workload: &Workload, keys: Vec<Key>) -> Grid<Point, usize> {
        let all = (String::from("latency"), Point { workload: at, key: None });
        let of_key = |(number, key): (usize, Key)| {
            let text: String = key.sql.chars().take(40).collect();
            (format!("{}: {text}", number + 1), Point { workload: at, key: Some(key) })
        };
        let points = keys.into_iter().enumerate().map(of_key).chain([all]);
        let variants = [("original", ORIGINAL), ("reordered", REORDERED), ("one client", SINGLE)];
        let contention = workload.data.point(workload.sizes[0]);
        let delay = delay_name(self.delay);
        let title = format!("{}, MariaDB, {contention}, {delay}", workload.name);
        Grid::new(title, "ms", points, variants)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::callgrind::Counts;

    #[test]
    fn claims_find_the_query_that_waits_and_sum_up_the_others() {
        let time = std::time::Duration::from_secs(1);
        let lab = Lab { time, repetitions: 1, counts: Counts::default() };
        let breakdown = Breakdown {
            clients: 32,
            delay: 1000,
            comparison: Comparison::default(),
            times: RefCell::default(),
        };
        let keys = || ["UPDATE warehouse", "UPDATE district"].map(|sql| Key::new("f", sql, 0));
        let times = [[100.0, 5.0, 1.0], [1.0, 4.0, 1.0], [101.0, 9.0, 2.0]];
        let take = |(at, workload): (usize, &&'static Workload)| {
            let grid = breakdown.grid(at, workload, keys().to_vec());
            assert_eq!(grid.points[0].0, "1: UPDATE warehouse");
            let row = |point: &Point| match &point.key {
                Some(key) if key.sql.ends_with("warehouse") => 0,
                Some(_) => 1,
                None => 2,
            };
            Samples::take(&grid, 1, |(_, point), (_, variant), _| {
                Ok(vec![("ms", times[row(point)][*variant])])
            })
        };
        let grids = WORKLOADS.iter().enumerate().map(take).collect::<Outcome<Vec<_>>>().unwrap();
        assert_eq!((slowest(&grids[0]), of_others(&grids[0], 0)), (0, 4.0));
        let mut found = Findings::default();
        breakdown.claims(&Seen { lab: &lab, counted: None, grids }, &mut found);
        assert!(found.all_shown() && found.claims.len() == 4);
    }
}
