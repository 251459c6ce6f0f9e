//! Throughput of reordered transactions by the number of clients: figures 4 and 5 of the paper.

use clap::Args;

use super::reorder::{
    comparison::{
        Comparison, ORIGINAL, Point, REORDERED, Variant, report_settings, setting, variants,
    },
    prepared::Prepared,
    site::{Setting, Site, delay_name, small_scale},
    workload::{
        BIDDING, BOTH, NEW_ORDER, ORDER_AND_RESULT, PAYMENT, STANDARD_MIX, System, TRADE_ORDER,
        TRADE_STATUS, TRADE_UPDATE, Workload,
    },
};
use crate::experiment::{
    About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen,
};

#[derive(Args)]
pub(super) struct Clients {
    /// The delay of each round trip in microseconds
    #[arg(long, value_name = "US", default_value_t = 1000,
          value_parser = clap::value_parser!(u32).range(0..=100_000))]
    delay: u32,
    /// Also run 2, 4, 16 and 128 clients, and PostgreSQL, which takes half an hour
    #[arg(long)]
    full: bool,
    #[arg(skip)]
    comparison: Comparison,
}

/// The numbers of clients of the paper, and those without `--full`.
const ALL: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
const SOME: [u32; 4] = [1, 8, 32, 64];
/// The clients with which profiles are measured.
const PROFILED: u32 = 32;

/// The workloads with the numbers of shared rows, and the paper's greatest speedup.
static WORKLOADS: [(&Workload, u32, &str); 9] = [
    (&PAYMENT, 4, "3.52"),
    (&NEW_ORDER, 4, "1.57"),
    (&BOTH, 4, "not stated"),
    (&STANDARD_MIX, 4, "not stated"),
    (&TRADE_UPDATE, 4_000, "3.35"),
    (&BIDDING, 4, "2.30"),
    (&TRADE_ORDER, 64_000, "1.05"),
    (&ORDER_AND_RESULT, 64_000, "1.57"),
    (&TRADE_STATUS, 64_000, "1.00"),
];
/// The places of the workloads whose rows are contended, and the least speedup with the most
/// clients.
const CONTENDED: [(usize, f64); 4] = [(0, 2.0), (1, 1.2), (4, 2.0), (5, 1.5)];
/// The places of the workloads of figure 5.
const SCALED: [usize; 2] = [0, 4];
/// The least speedup where nothing waits: with one client.
const ALONE: f64 = 0.97;

impl Experiment for Clients {
    const ABOUT: About = About {
        name: "reorder_clients",
        source: "the QURO paper, 6.3, figures 4 and 5",
        shows: "reordered transactions scale to more clients",
        seconds: 1.5,
        repetitions: 2,
    };
    type Point = Point;
    type Variant = Variant;

    fn plan(&self, lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        let mut site = Site::new(self.systems(), small_scale)?;
        report_settings(found);
        let papers: Vec<_> =
            WORKLOADS.iter().map(|(one, _, paper)| format!("{} {paper}", one.name)).collect();
        found.setting("the paper's greatest speedups", papers.join(", "));
        let mut prepared = Vec::new();
        for &system in self.systems() {
            for (workload, size, _) in WORKLOADS {
                let setting = setting(lab, system, workload, PROFILED, self.delay);
                let setting = Setting { size, ..setting };
                let delay = Some(self.delay);
                prepared.push(Prepared::by_profile(&mut site, &setting, delay)?);
            }
        }
        self.comparison.begin(site, prepared, found);
        Ok(self.grids(lab))
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        Ok(self.comparison.drive(run.point, *run.variant, run.repetition)?.sample())
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        let most = self.numbers().len() - 1;
        for (at, bound) in CONTENDED {
            let (name, paper) = (WORKLOADS[at].0.name, WORKLOADS[at].2);
            let what = format!("{name}, speedup with the most clients (paper: up to {paper})");
            found.at_least(what, bound, seen.grids[at].over(most, REORDERED, ORIGINAL));
        }
        for at in SCALED {
            let grid = &seen.grids[at];
            let scaled = |variant| grid.between(variant, most, 0).median;
            let what = format!("{}, speedup by clients over the original's", WORKLOADS[at].0.name);
            found.at_least(what, 1.5, scaled(REORDERED) / scaled(ORIGINAL));
        }
        for ((workload, ..), grid) in WORKLOADS.iter().zip(&seen.grids) {
            let what = format!("{}, speedup with one client", workload.name);
            found.at_least(what, ALONE, grid.over(0, REORDERED, ORIGINAL));
        }
    }
}

impl Clients {
    fn systems(&self) -> &'static [System] {
        if self.full { &[System::MariaDb, System::Postgres] } else { &[System::MariaDb] }
    }

    fn numbers(&self) -> &'static [u32] {
        if self.full { &ALL } else { &SOME }
    }

    /// Returns one grid for each server and workload.
    fn grids(&self, lab: &Lab) -> Grids<Self> {
        let mut grids = Vec::new();
        for &system in self.systems() {
            for (workload, size, _) in WORKLOADS {
                let programs = grids.len();
                let points = self.numbers().iter().map(|&clients| {
                    let setting = setting(lab, system, workload, clients, self.delay);
                    let setting = Setting { size, ..setting };
                    (format!("{clients} clients"), Point { setting, programs })
                });
                let (name, system) = (workload.name, system.name());
                let (size, delay) = (workload.data.point(size), delay_name(self.delay));
                let title = format!("{name}, {system}, {size}, {delay}");
                grids.push(Grid::new(title, "tps", points, variants()));
            }
        }
        grids
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{callgrind::Counts, variants::Samples};

    #[test]
    fn claims_compare_the_most_clients_with_one() {
        let time = std::time::Duration::from_secs(1);
        let lab = Lab { time, repetitions: 1, counts: Counts::default() };
        let comparison = Comparison::default();
        let clients = Clients { delay: 1000, full: false, comparison };
        let grids = clients.grids(&lab);
        assert_eq!(grids.len(), WORKLOADS.len());
        assert_eq!(grids[4].title, "trade update, MariaDB, 4000 trades, +1 ms");
        // The reordered programs scale with the clients, the others do not.
        let take = |grid: &Grid<Point, Variant>| {
            Samples::take(grid, 1, |(_, point), (_, variant), _| match variant {
                Variant::Original => Ok(vec![("tps", 1.0)]),
                Variant::Reordered => Ok(vec![("tps", f64::from(point.setting.clients))]),
            })
        };
        let grids = grids.iter().map(take).collect::<Outcome<Vec<_>>>().unwrap();
        let mut found = Findings::default();
        clients.claims(&Seen { lab: &lab, counted: None, grids }, &mut found);
        assert!(found.all_shown());
        assert_eq!(found.claims.len(), CONTENDED.len() + SCALED.len() + WORKLOADS.len());
    }
}
