//! Transactions that compute: "Charm", section 4.4, table 7.
//!
//! The computation is at the end of the transaction, in each run of the closure. It is a sleep, as
//! if each client had a processor: with this machine's, the processors would be the bottleneck.
//! (The paper's table has more transactions than one processor can compute for 30 ms each.)

use std::time::Duration;

use clap::Args;

use super::{
    staging::{self, CONVENTIONAL, Load, Place, Policy, Sites, Sizes, TWO_DISKS},
    staging_concurrency::CACHE_OF_MORE,
};
use crate::experiment::{
    About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen,
};

#[derive(Args)]
pub(super) struct StagingCpu {
    #[command(flatten)]
    sizes: Sizes,
    /// Concurrent transactions
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=100))]
    clients: u32,
    /// Cache, in percent of the data
    #[arg(long, value_name = "PERCENT", default_value_t = CACHE_OF_MORE)]
    cache: u64,
    #[arg(skip)]
    sites: Sites,
}

const WAREHOUSES: [u32; 2] = [5, 1];
const COMPUTATION_MS: [u64; 2] = [0, 30];

impl Experiment for StagingCpu {
    const ABOUT: About = About {
        name: "staging_cpu",
        source: "\"Charm\", 4.4, table 7",
        shows: "the more transactions compute, the less two-stage execution gains",
        seconds: 6.0,
        repetitions: 4,
    };
    type Point = (Place, Duration);
    type Variant = Policy;

    fn plan(&self, _lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        found.setting("clients", self.clients);
        let setting = "5 warehouses, 99.7 % of the pages in memory, 2 data disks, 4 transactions";
        found.setting("the paper's setting", setting);
        let gains = "2.65 without computation; with 30 ms two-stage 2.05, hybrid 1.78, optimistic \
                     1.59";
        found.setting("the paper's gains", gains);
        let grid = |warehouses| {
            let (data, cache_percent) = (self.sizes.tpcc(warehouses), self.cache);
            let place = Place { data, cache_percent, device: TWO_DISKS };
            let points = COMPUTATION_MS
                .map(|ms| (format!("{ms} ms of computation"), (place, Duration::from_millis(ms))));
            let title = staging::title(warehouses, TWO_DISKS);
            Grid::new(title, "tps", points, staging::variants())
        };
        Ok(WAREHOUSES.into_iter().map(grid).collect())
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        let (place, computation) = *run.point;
        let load = Load { computation, ..Load::new(run.variant.staging, self.clients) };
        let ran = self.sites.run(run, place, &load)?;
        let mut sample = ran.sample();
        sample.push(("lock ms", ran.lock_ms(None)));
        Ok(sample)
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        for grid in &seen.grids {
            for (at, policy) in staging::claimed() {
                let [without, with] = [0, 1].map(|point| grid.over(point, at, CONVENTIONAL));
                let what = format!("{}, {}: speedup with computation", policy.name, grid.title);
                found.at_most(format!("{what} over that without"), 1.0, with / without);
            }
        }
    }
}
