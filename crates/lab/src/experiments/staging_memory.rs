//! The memory that fetch stages pin: "Charm", section 4.4, table 8.

use clap::Args;
use clearway_base::PAGE_SIZE;
use clearway_workloads::TpccTransaction;

use super::{
    staging::{self, Load, Place, Policy, Sites, Sizes, VOLUME},
    staging_concurrency::{CACHE_OF_MORE, CACHE_OF_ONE},
};
use crate::{
    experiment::{About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen},
    variants::greatest,
};

#[derive(Args)]
pub(super) struct StagingMemory {
    #[command(flatten)]
    sizes: Sizes,
    #[arg(skip)]
    sites: Sites,
}

/// Each number of warehouses with the size of the cache.
const WAREHOUSES: [(u32, u64); 2] = [(1, CACHE_OF_ONE), (5, CACHE_OF_MORE)];
/// The columns, in the order of the types.
const PINNED: [&str; 5] =
    ["new-order KiB", "payment KiB", "order-status KiB", "delivery KiB", "stock-level KiB"];
/// The mean over the mix.
const ALL: &str = "mean KiB";
/// The paper's memory for 100 transactions of the largest type.
const HUNDRED_MIB: f64 = 230.0;

impl Experiment for StagingMemory {
    const ABOUT: About = About {
        name: "staging_memory",
        source: "\"Charm\", 4.4, table 8",
        shows: "fetch stages pin little memory, by type of transaction",
        seconds: 5.0,
        repetitions: 3,
    };
    type Point = Place;
    type Variant = Policy;

    fn plan(&self, _lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        let paper = "1 warehouse: 184, 48, 64, 344 and 1,340; 5 warehouses: 370, 66, 104, 534 and \
                     2,305";
        found.setting("the paper's KiB", paper);
        found.setting("bytes of a page", PAGE_SIZE);
        let points = WAREHOUSES.map(|(warehouses, cache_percent)| {
            let data = self.sizes.tpcc(warehouses);
            (format!("{warehouses} warehouses"), Place { data, cache_percent, device: VOLUME })
        });
        let variants = staging::staged().map(|(_, policy)| (policy.name, *policy));
        Ok(vec![Grid::new("memory pinned by a fetch stage", ALL, points, variants)])
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        // One client: no fetch stage lacks pins because of others.
        let ran = self.sites.run(run, *run.point, &Load::new(run.variant.staging, 1))?;
        let kib = |name| {
            let staged = ran.staged(name);
            let pages = staged.pages_pinned as f64 / staged.fetches.max(1) as f64;
            pages * PAGE_SIZE as f64 / 1024.0
        };
        let of_type = |kind: TpccTransaction| (PINNED[kind as usize], kib(Some(kind.name())));
        Ok(TpccTransaction::ALL.map(of_type).into_iter().chain([(ALL, kib(None))]).collect())
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        let grid = &seen.grids[0];
        for (variant, (_, policy)) in staging::staged().enumerate() {
            let of_type =
                |name| (0..grid.points.len()).map(move |at| grid.median(at, variant, name));
            let largest = greatest(PINNED.into_iter().flat_map(of_type));
            let what = format!("{}, MiB of 100 transactions of the largest type", policy.name);
            found.at_most(what, HUNDRED_MIB, 100.0 * largest / 1024.0);
        }
    }
}
