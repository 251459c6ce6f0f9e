//! The effect of the size of the cache: "Charm", section 4.3, figures 4 and 5, tables 4 and 5.
//!
//! A transaction counts as one that reads if its own thread has read a page: not if it has waited
//! for another one's read, or for read-ahead only.

use clap::Args;
use clearway_workloads::TpccTransaction;

use super::staging::{self, CONVENTIONAL, Load, Place, Policy, Sites, Sizes, TWO_DISKS};
use crate::experiment::{
    About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen,
};

#[derive(Args)]
pub(super) struct StagingCache {
    #[command(flatten)]
    sizes: Sizes,
    /// Caches, in percent of the data, the smallest first
    #[arg(long, value_name = "PERCENT", value_delimiter = ',',
          default_values_t = [30, 45, 60, 80])]
    cache: Vec<u64>,
    #[arg(skip)]
    sites: Sites,
}

const WAREHOUSES: u32 = 5;
const CLIENTS: u32 = 4;
/// The columns with the shares of transactions that read, in the order of the types.
const READING: [&str; 5] =
    ["new-order reads %", "payment %", "order-status %", "delivery %", "stock-level %"];

/// The bounds of the claims.
const BUSY_PERCENT: f64 = 90.0;
const LOSS: f64 = 0.9;

impl Experiment for StagingCache {
    const ABOUT: About = About {
        name: "staging_cache",
        source: "\"Charm\", 4.3, figures 4 and 5, tables 4 and 5",
        shows: "two-stage execution gains nothing where the disk is saturated, and most where few \
                reads are left",
        seconds: 5.0,
        repetitions: 3,
    };
    type Point = u64;
    type Variant = Policy;

    fn plan(&self, _lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        let setting = "5 warehouses, 2 data disks, caches of 12 to 50 % of the data with 95.5 to \
                       99.7 % hits, 4 concurrent transactions";
        found.setting("the paper's setting", setting);
        self.sizes.report("data", &self.sites, self.sizes.tpcc(WAREHOUSES), found)?;
        let points = self.cache.iter().map(|&n| (format!("cache {n} % of the data"), n));
        let title = format!("5 warehouses, {CLIENTS} clients, {}", TWO_DISKS.name);
        Ok(vec![Grid::new(title, "tps", points, staging::variants())])
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        let data = self.sizes.tpcc(WAREHOUSES);
        let place = Place { data, cache_percent: *run.point, device: TWO_DISKS };
        let ran = self.sites.run(run, place, &Load::new(run.variant.staging, CLIENTS))?;
        let mut sample = ran.sample();
        sample.extend(
            TpccTransaction::ALL
                .map(|kind| (READING[kind as usize], ran.reading_percent(Some(kind.name())))),
        );
        Ok(sample)
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        let grid = &seen.grids[0];
        let last = grid.points.len() - 1;
        let busy = grid.median(0, CONVENTIONAL, "disk busy %");
        found.at_least("the disk is busy with the smallest cache, percent", BUSY_PERCENT, busy);
        for (at, policy) in staging::claimed() {
            let over = |point| grid.over(point, at, CONVENTIONAL);
            found.at_least(format!("{}, smallest cache, speedup", policy.name), LOSS, over(0));
            let what = "speedup with the largest cache over that with the smallest";
            found.at_least(format!("{}, {what}", policy.name), 1.0, over(last) / over(0));
        }
    }
}
