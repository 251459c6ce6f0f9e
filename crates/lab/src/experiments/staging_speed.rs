//! The gain and the cost of two-stage execution in five settings, from data in the cache to locks
//! that are held during reads.

use std::fmt::Display;

use clap::Args;
use clearway_workloads::{TpcbOrder, TpcbScale};

use super::{
    staging::{self, CONVENTIONAL, Data, FOUR_DISKS, Load, Place, Policy, Sites, Sizes, VOLUME},
    staging_concurrency::CACHE_OF_ONE,
};
use crate::experiment::{
    About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen,
};

#[derive(Args)]
pub(super) struct StagingSpeed {
    #[command(flatten)]
    sizes: Sizes,
    /// Accounts of the bank; one branch has all of them
    #[arg(long, default_value_t = 2_000_000,
          value_parser = clap::value_parser!(u32).range(100..=10_000_000))]
    accounts: u32,
    #[arg(skip)]
    sites: Sites,
}

/// A setting.
#[derive(Clone, Copy)]
pub(super) struct Point {
    place: Place,
    clients: u32,
    order: TpcbOrder,
    /// False if the cache holds the data.
    reads: bool,
}

/// Clients of a bank.
const MANY: u32 = 64;
/// The grids.
const CACHED: usize = 0;
const COLD: usize = 1;
const TPCC: usize = 2;
/// The points of the cold bank, and of TPC-C.
const STANDARD: usize = 0;
const BRANCH_FIRST: usize = 1;
const ONE_WAREHOUSE: usize = 1;

/// The bounds of the claims.
const SHARE_CACHED: f64 = 0.98;
const SHARE_COLD: f64 = 0.97;
const GAIN_BRANCH_FIRST: f64 = 10.0;
const GAIN_ONE_WAREHOUSE: f64 = 2.2;
const SHARE_HALF: f64 = 1.0;

impl StagingSpeed {
    fn bank(&self) -> Data {
        Data::Tpcb(TpcbScale { branches: 1, accounts_per_branch: self.accounts })
    }

    fn grid<const N: usize>(
        title: &str,
        points: [(impl Display, Point); N],
    ) -> Grid<Point, Policy> {
        Grid::new(title, "tps", points, staging::variants())
    }
}

impl Experiment for StagingSpeed {
    const ABOUT: About = About {
        name: "staging_speed",
        source: "\"Charm\", and guarantees of the project's own",
        shows: "two-stage execution multiplies throughput where a hot row is locked during reads, \
                and costs little elsewhere",
        seconds: 3.0,
        repetitions: 5,
    };
    type Point = Point;
    type Variant = Policy;

    fn plan(&self, _lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        self.sizes.report("bank", &self.sites, self.bank(), found)?;
        let cached = |data| {
            let place = Place { data, cache_percent: 200, device: VOLUME };
            Point { place, clients: MANY, order: TpcbOrder::Standard, reads: false }
        };
        let cold = |order| {
            let place = Place { data: self.bank(), cache_percent: 10, device: VOLUME };
            Point { place, clients: MANY, order, reads: true }
        };
        let tpcc = |warehouses, cache_percent, device, clients| {
            let place = Place { data: self.sizes.tpcc(warehouses), cache_percent, device };
            Point { place, clients, order: TpcbOrder::Standard, reads: true }
        };
        Ok(vec![
            Self::grid(
                "data in the cache",
                [("TPC-B", cached(self.bank())), ("TPC-C", cached(self.sizes.tpcc(1)))],
            ),
            Self::grid(
                "TPC-B, data ten times the cache, one branch, 64 clients, 1 ms reads",
                [
                    ("usual order", cold(TpcbOrder::Standard)),
                    ("branch first", cold(TpcbOrder::BranchFirst)),
                ],
            ),
            Self::grid(
                "TPC-C",
                [
                    ("5 warehouses, cache half, 8 clients, 1 ms reads", tpcc(5, 50, VOLUME, 8)),
                    (
                        "1 warehouse, 99.7 % hits, 4 clients, 4 servers of 10 ms",
                        tpcc(1, CACHE_OF_ONE, FOUR_DISKS, 4),
                    ),
                ],
            ),
        ])
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        let Point { place, clients, order, reads } = *run.point;
        let load = Load { order, ..Load::new(run.variant.staging, clients) };
        if reads {
            Ok(self.sites.run(run, place, &load)?.short_sample())
        } else {
            Ok(vec![("tps", self.sites.run_cached(run, place, &load)?)])
        }
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        let mut claim = |grid: usize, point: usize, at: usize, policy: &Policy, bound| {
            let grid = &seen.grids[grid];
            let what = format!("{}, {}, {}", policy.name, grid.title, grid.points[point]);
            found.at_least(what, bound, grid.over(point, at, CONVENTIONAL));
        };
        for (at, policy) in staging::claimed() {
            // Closures that always run twice cannot be as fast where nothing waits.
            if !policy.always_fetches {
                claim(CACHED, 0, at, policy, SHARE_CACHED);
                claim(CACHED, 1, at, policy, SHARE_CACHED);
            }
            claim(COLD, STANDARD, at, policy, SHARE_COLD);
            claim(COLD, BRANCH_FIRST, at, policy, GAIN_BRANCH_FIRST);
            claim(TPCC, 0, at, policy, SHARE_HALF);
            claim(TPCC, ONE_WAREHOUSE, at, policy, GAIN_ONE_WAREHOUSE);
        }
    }
}
