//! Throughput and waits of TPC-C by concurrency: "Charm", section 4.2, figures 2 and 3, tables 2
//! and 3.
//!
//! The paper had two data disks. With four, the disk is not the bottleneck where the transactions
//! read one after the other.

use clap::Args;

use super::staging::{
    self, CONVENTIONAL, Device, FOUR_DISKS, Load, Place, Policy, Sites, Sizes, TWO_DISKS,
};
use crate::{
    experiment::{About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen},
    variants::{greatest, least},
};

#[derive(Args)]
pub(super) struct StagingConcurrency {
    #[command(flatten)]
    sizes: Sizes,
    /// Concurrent transactions
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 4, 8, 12],
          value_parser = clap::value_parser!(u32).range(1..=100))]
    clients: Vec<u32>,
    /// Cache with one warehouse, in percent of the data
    #[arg(long, value_name = "PERCENT", default_value_t = CACHE_OF_ONE)]
    cache: u64,
    /// Cache with more warehouses, in percent of the data
    #[arg(long, value_name = "PERCENT", default_value_t = CACHE_OF_MORE)]
    cache_of_more: u64,
    #[arg(skip)]
    sites: Sites,
}

/// The caches with which 99.7 % of the pages of transactions are in memory.
pub(super) const CACHE_OF_ONE: u64 = 60;
pub(super) const CACHE_OF_MORE: u64 = 60;
/// The paper's concurrencies, and those between.
const ALL: std::ops::RangeInclusive<u32> = 1..=12;

/// The bounds of the claims.
const GAIN: f64 = 2.2;
const LOSS: f64 = 0.95;

impl StagingConcurrency {
    fn clients(&self) -> Vec<u32> {
        if self.sizes.full { ALL.collect() } else { self.clients.clone() }
    }

    /// Returns the places, that of the claims first.
    fn places(&self) -> Vec<(String, Place)> {
        let mut places = vec![(1, FOUR_DISKS), (1, TWO_DISKS), (5, TWO_DISKS)];
        if self.sizes.full {
            places.extend([(5, FOUR_DISKS), (10, FOUR_DISKS), (10, TWO_DISKS)]);
        }
        let place = |(warehouses, device): (u32, Device)| {
            let cache_percent = if warehouses == 1 { self.cache } else { self.cache_of_more };
            let place = Place { data: self.sizes.tpcc(warehouses), cache_percent, device };
            (staging::title(warehouses, device), place)
        };
        places.into_iter().map(place).collect()
    }
}

impl Experiment for StagingConcurrency {
    const ABOUT: About = About {
        name: "staging_concurrency",
        source: "\"Charm\", 4.2, figures 2 and 3, tables 2 and 3",
        shows: "two-stage execution multiplies the throughput of TPC-C where locks are held \
                during reads and the disk has room, and costs little elsewhere",
        seconds: 2.0,
        repetitions: 3,
    };
    type Point = (Place, u32);
    type Variant = Policy;

    fn plan(&self, _lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        found
            .setting("the paper's setting", "5 warehouses, 99.7 % of the pages in memory, 2 disks");
        found.setting("the paper's gain", "up to 2.64, with 4 concurrent transactions");
        self.sizes.report("data of one warehouse", &self.sites, self.sizes.tpcc(1), found)?;
        self.sizes.report("data of five", &self.sites, self.sizes.tpcc(5), found)?;
        let grid = |(title, place): (String, Place)| {
            let point = |clients| (format!("{clients} clients"), (place, clients));
            let points = self.clients().into_iter().map(point);
            Grid::new(title, "tps", points, staging::variants())
        };
        Ok(self.places().into_iter().map(grid).collect())
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        let (place, clients) = *run.point;
        let load = Load::new(run.variant.staging, clients);
        Ok(self.sites.run(run, place, &load)?.sample())
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        let first = &seen.grids[0];
        let gain = |(at, _): (usize, &Policy)| {
            greatest((0..first.points.len()).map(|point| first.over(point, at, CONVENTIONAL)))
        };
        let what = format!("largest speedup of the policies, {}", first.title);
        found.at_least(what, GAIN, greatest(staging::claimed().map(gain)));
        // Only reported elsewhere: what is read varies more from run to run than what is gained.
        // A policy that always fetches first pays for it where nothing waits: with one client.
        for (at, policy) in staging::claimed().filter(|(_, policy)| !policy.always_fetches) {
            let ratios = (0..first.points.len()).map(|point| first.over(point, at, CONVENTIONAL));
            let what = format!("{}, least speedup, {}", policy.name, first.title);
            found.at_least(what, LOSS, least(ratios));
        }
    }
}
