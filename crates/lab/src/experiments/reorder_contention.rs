//! Throughput and latency of reordered transactions by contention: figure 3 of the paper.

use clap::Args;

use super::reorder::{
    comparison::{
        Comparison, ORIGINAL, Point, REORDERED, Variant, report_settings, setting, variants,
    },
    prepared::Prepared,
    site::{DELAYS, Setting, Site, delay_name, usual_scale},
    workload::{
        BIDDING, BOTH, LOCKED_BIDDING, NEW_ORDER, PAYMENT, STANDARD_MIX, System, TRADE_UPDATE,
        Workload,
    },
};
use crate::experiment::{
    About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen,
};

#[derive(Args)]
pub(super) struct Contention {
    /// Transactions in flight
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=250))]
    clients: u32,
    /// The delay of each round trip in microseconds [default: for each workload the smallest of 0,
    /// 200 and 1000 at which the processors are at most 80 % busy]
    #[arg(long, value_name = "US", value_parser = clap::value_parser!(u32).range(0..=100_000))]
    delay: Option<u32>,
    /// Also run all sizes and delays on both servers, which takes about an hour
    #[arg(long)]
    full: bool,
    /// Run this workload only, for example "bidding"
    #[arg(long, value_name = "WORKLOAD", value_parser = WORKLOADS.map(|claimed| claimed.0.name))]
    only: Option<String>,
    #[arg(skip)]
    comparison: Comparison,
}

/// A workload, and its least speedup at the highest contention with the paper's, if it is claimed.
type Claimed = (&'static Workload, Option<(f64, &'static str)>);

/// The workloads with the least speedup at the highest contention, and the paper's; a workload
/// without a claim is reported only.
static WORKLOADS: [Claimed; 7] = [
    (&PAYMENT, Some((5.0, "6.53"))),
    (&NEW_ORDER, Some((2.0, "2.23"))),
    (&BOTH, Some((3.5, "4.13"))),
    (&STANDARD_MIX, Some((1.7, "1.74"))),
    (&TRADE_UPDATE, Some((4.0, "4.35"))),
    (&BIDDING, Some((3.5, "3.80"))),
    (&LOCKED_BIDDING, None),
];
/// The least speedup at the lowest contention.
const LOW_CONTENTION: f64 = 0.97;
/// The greatest latency of reordered payments, over that of the original ones.
const PAYMENT_LATENCY: f64 = 0.2;
const SYSTEMS: [System; 2] = [System::MariaDb, System::Postgres];

impl Experiment for Contention {
    const ABOUT: About = About {
        name: "reorder_contention",
        source: "the QURO paper, 6.2, figure 3",
        shows: "the more transactions wait for the same rows, the more the reordered ones gain",
        seconds: 1.2,
        repetitions: 2,
    };
    type Point = Point;
    type Variant = Variant;

    fn plan(&self, lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        let mut site = Site::new(&SYSTEMS, usual_scale)?;
        report_settings(found);
        found.setting("clients", self.clients);
        let mut prepared = Vec::new();
        for system in SYSTEMS {
            for (workload, _) in self.workloads(system) {
                let setting = setting(lab, system, workload, self.clients, 0);
                prepared.push(match system {
                    System::MariaDb => Prepared::by_profile(&mut site, &setting, self.delay)?,
                    System::Postgres => Prepared::by_estimates(&mut site, &setting)?,
                });
            }
        }
        let delays: Vec<u32> = prepared.iter().map(|one| one.delay_us).collect();
        self.comparison.begin(site, prepared, found);
        Ok(self.grids(lab, &delays))
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        Ok(self.comparison.drive(run.point, *run.variant, run.repetition)?.sample())
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        for ((workload, must), grid) in self.workloads(System::MariaDb).zip(&seen.grids) {
            let name = workload.name;
            if let Some((bound, paper)) = must {
                let what = format!("{name}, speedup at the highest contention (paper: {paper})");
                found.at_least(what, bound, grid.over(0, REORDERED, ORIGINAL));
            }
            let low = if self.full { workload.sizes.len() } else { workload.sizes.len() - 1 } - 1;
            let what = format!("{name}, speedup at the lowest contention");
            found.at_least(what, LOW_CONTENTION, grid.over(low, REORDERED, ORIGINAL));
            if workload.name == PAYMENT.name {
                let ratio = grid.ratio(&[0], REORDERED, ORIGINAL, "mean ms").median;
                let what = "payment, latency over that of the original (paper: 0.15)";
                found.at_most(what, PAYMENT_LATENCY, ratio);
            }
        }
    }
}

impl Contention {
    /// Returns the workloads that run on a server: on PostgreSQL only those with a claim.
    fn workloads(&self, system: System) -> impl Iterator<Item = Claimed> {
        WORKLOADS.into_iter().filter(move |(workload, must)| {
            let is_chosen = self.only.as_ref().is_none_or(|only| only == workload.name);
            is_chosen && (system == System::MariaDb || must.is_some())
        })
    }

    /// Returns one grid for each server and workload. `delays` has the delays at which the
    /// workloads are compared, on both servers.
    fn grids(&self, lab: &Lab, delays: &[u32]) -> Grids<Self> {
        let mut grids = Vec::new();
        for (system_at, system) in SYSTEMS.into_iter().enumerate() {
            let first = system_at * self.workloads(System::MariaDb).count();
            for (at, (workload, _)) in self.workloads(system).enumerate() {
                let programs = first + at;
                let setting = setting(lab, system, workload, self.clients, delays[at]);
                let points = self.settings(&setting);
                let points = points.into_iter();
                let points = points.map(|setting| (setting.point(), Point { setting, programs }));
                let delay = delay_name(delays[at]);
                let title = format!("{}, {}, {delay}", workload.name, system.name());
                grids.push(Grid::new(title, "tps", points, variants()));
            }
        }
        grids
    }

    /// Returns the settings of a grid: all sizes on MariaDB, the first and the last on PostgreSQL,
    /// and with `--full` all sizes on both, and the first and the last with the other delays.
    fn settings(&self, usual: &Setting<'static>) -> Vec<Setting<'static>> {
        let workload = usual.workload;
        let all = workload.contention(self.full, usual_scale(usual.system));
        let ends = [all[0], all[all.len() - 1]];
        let sizes = match usual.system {
            System::Postgres if !self.full => ends.to_vec(),
            _ => all,
        };
        let mut settings: Vec<_> =
            sizes.into_iter().map(|size| Setting { size, ..*usual }).collect();
        for delay_us in DELAYS.into_iter().filter(|&delay| self.full && delay != usual.delay_us) {
            settings.extend(ends.map(|size| Setting { size, delay_us, ..*usual }));
        }
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{callgrind::Counts, variants::Samples};

    fn lab() -> Lab {
        let time = std::time::Duration::from_secs(1);
        Lab { time, repetitions: 1, counts: Counts::default() }
    }

    fn experiment(full: bool) -> Contention {
        let comparison = Comparison::default();
        Contention { clients: 32, delay: None, full, only: None, comparison }
    }

    #[test]
    fn the_plan_has_all_workloads_with_a_claim_on_both_servers() {
        let grids = experiment(false).grids(&lab(), &[200; 7]);
        assert_eq!(grids.len(), 13);
        assert_eq!(grids[0].title, "payment, MariaDB, +0.2 ms");
        let names = |at: usize| grids[at].points.iter().map(|(name, _)| name.as_str());
        assert!(names(0).eq([
            "1 warehouse, +0.2 ms",
            "4 warehouses, +0.2 ms",
            "16 warehouses, +0.2 ms"
        ]));
        assert!(names(7).eq(["1 warehouse, +0.2 ms", "8 warehouses, +0.2 ms"]));
        assert_eq!(grids[7].points[0].1.programs, 7);
        let full = experiment(true).grids(&lab(), &[200; 7]);
        assert!(full.iter().all(|grid| grid.points.len() == 8));
    }

    #[test]
    fn one_workload_runs_alone() {
        let one = Contention { only: Some("bidding".to_string()), ..experiment(false) };
        let grids = one.grids(&lab(), &[1000]);
        let titles = grids.iter().map(|grid| grid.title.as_str());
        assert!(titles.eq(["bidding, MariaDB, +1 ms", "bidding, PostgreSQL, +1 ms"]));
        assert_eq!(grids[1].points[0].1.programs, 1);
    }

    #[test]
    fn claims_compare_the_ends_of_each_grid() {
        let (contention, lab) = (experiment(false), lab());
        let check = |speedup: f64| {
            let grids = contention.grids(&lab, &[0; 7]);
            let take = |grid: &Grid<Point, Variant>| {
                Samples::take(grid, 1, |_, (_, variant), _| {
                    let factor = if *variant == Variant::Original { 1.0 } else { speedup };
                    Ok(vec![("tps", factor), ("mean ms", 1.0 / factor)])
                })
            };
            let grids = grids.iter().map(take).collect::<Outcome<Vec<_>>>().unwrap();
            let mut found = Findings::default();
            contention.claims(&Seen { lab: &lab, counted: None, grids }, &mut found);
            found.claims.iter().filter(|claim| claim.holds).count()
        };
        assert_eq!(check(10.0), 6 + 7 + 1);
        assert_eq!(check(1.0), 7);
        assert_eq!(check(0.9), 0);
    }
}
