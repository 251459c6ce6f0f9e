//! The share of transactions that read in the operate stage all the same: "Charm", section 4.4,
//! table 6.
//!
//! A fetch stage may fail where the operate stage does not. A new-order that has read the number of
//! the next order finds its key present if another one has taken the number meanwhile. Its fetch
//! stage then ends before it has read the rest.

use clap::Args;

use super::{
    staging::{self, Load, Place, Policy, Sites, Sizes, TWO_DISKS, TypeRuns},
    staging_concurrency::{CACHE_OF_MORE, CACHE_OF_ONE},
};
use crate::{
    experiment::{About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen},
    variants::greatest,
};

#[derive(Args)]
pub(super) struct StagingMisPrefetch {
    #[command(flatten)]
    sizes: Sizes,
    /// Concurrent transactions
    #[arg(long, value_delimiter = ',', default_values_t = [2, 3, 4, 5, 6],
          value_parser = clap::value_parser!(u32).range(1..=100))]
    clients: Vec<u32>,
    #[arg(skip)]
    sites: Sites,
}

/// Each number of warehouses with the size of the cache, and the paper's largest share.
const WAREHOUSES: [(u32, u64, f64); 2] = [(1, CACHE_OF_ONE, 4.4), (5, CACHE_OF_MORE, 3.3)];
/// The type that takes the oldest order.
const DELIVERY: &str = "delivery";

impl Experiment for StagingMisPrefetch {
    const ABOUT: About = About {
        name: "staging_mis_prefetch",
        source: "\"Charm\", 4.4, table 6",
        shows: "few transactions read in the operate stage after their fetch stage",
        seconds: 3.0,
        repetitions: 3,
    };
    type Point = (Place, u32);
    type Variant = Policy;

    fn plan(&self, _lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        found.setting("the paper's setting", "optimistic, 2 data disks");
        found.setting("the paper's shares", "1 warehouse 0.9 to 4.4 %, 5 warehouses 1.7 to 3.3 %");
        let grid = |(warehouses, cache_percent, _)| {
            let data = self.sizes.tpcc(warehouses);
            let place = Place { data, cache_percent, device: TWO_DISKS };
            let points = self.clients.iter().map(|&n| (format!("{n} clients"), (place, n)));
            let variants = staging::staged().map(|(_, policy)| (policy.name, *policy));
            let title = staging::title(warehouses, TWO_DISKS);
            Grid::new(title, "mis %", points, variants)
        };
        Ok(WAREHOUSES.into_iter().map(grid).collect())
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        let (place, clients) = *run.point;
        let ran = self.sites.run(run, place, &Load::new(run.variant.staging, clients))?;
        let (of_all, TypeRuns { fetch, operate, .. }) = (ran.staged(None), ran.of(None));
        Ok(vec![
            ("tps", ran.tps()),
            ("mis %", ran.mis_percent(None)),
            ("without pins %", staging::percent(of_all.without_pins, of_all.operates)),
            ("own read %", staging::percent(operate.reading, operate.runs)),
            ("new-orders %", ran.mis_percent(Some(staging::NEW_ORDER))),
            ("deliveries %", ran.mis_percent(Some(DELIVERY))),
            ("failed fetches %", staging::percent(fetch.failed, fetch.runs)),
            ("reads/tx", ran.reads_each()),
        ])
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        for ((warehouses, _, paper), grid) in WAREHOUSES.into_iter().zip(&seen.grids) {
            for (variant, (_, policy)) in staging::staged().enumerate() {
                let share = |point| grid.median(point, variant, "mis %");
                let most = greatest((0..grid.points.len()).map(share));
                let what = format!("{}, {warehouses} warehouses, percent", policy.name);
                found.at_most(what, paper, most);
            }
        }
    }
}
