//! Blocking closures on a pipeline whose agents are few and whose pages are on a disk that can
//! serve many reads at a time: conventional, and in two stages, in which they wait for their pages
//! without their agent; beside asynchronous closures, which always do.

use clap::Args;
use clearway::Staging;

use super::{
    async_callers::bank::{Bank, Callers},
    staging::VOLUME,
};
use crate::experiment::{
    About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen,
};

#[derive(Args, Debug)]
pub(super) struct StagingPipeline {
    /// The cache, in MiB; the data are ten times as large
    #[arg(long, value_name = "MIB", default_value_t = 32,
          value_parser = clap::value_parser!(u64).range(4..=4096))]
    cache: u64,
    /// The bank, once it is loaded.
    #[arg(skip)]
    bank: std::cell::OnceCell<Bank>,
}

/// The order of a deposit.
#[derive(Clone, Copy)]
pub(super) enum Order {
    AccountFirst,
    /// The branch, which other deposits want, is locked before the account is read.
    BranchFirst,
}

const BLOCKING: Callers = Callers {
    agents: 2,
    clients: 64,
    is_async: false,
    staging: Staging::Conventional,
    branch_first: false,
};
const ASYNC: Callers = Callers { is_async: true, ..BLOCKING };
const VARIANTS: [(&str, Callers); 4] = [
    ("closures, conventional", BLOCKING),
    ("closures, two-stage", Callers { staging: Staging::TwoStage, ..BLOCKING }),
    ("async, conventional", ASYNC),
    ("async, two-stage", Callers { staging: Staging::TwoStage, ..ASYNC }),
];
/// Positions of variants.
const CONVENTIONAL: usize = 0;
const TWO_STAGE: usize = 1;
const TWO_STAGE_ASYNC: usize = 3;

/// The bounds of the claims.
const GAIN: f64 = 6.0;
const IN_FLIGHT: f64 = 20.0;
const SHARE_OF_ASYNC: f64 = 0.7;

impl Experiment for StagingPipeline {
    const ABOUT: About = About {
        name: "staging_pipeline",
        source: "nothing: a guarantee for blocking closures on a pipeline",
        shows: "blocking closures in two stages keep the disk about as busy as asynchronous ones, \
                since they wait for their pages without their agent",
        seconds: 3.0,
        repetitions: 5,
    };
    type Point = Order;
    type Variant = Callers;

    fn plan(&self, _lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        let bank = Bank::behind(VOLUME.servers(), self.cache << 20)?;
        found.setting("accounts, data ten times the cache", bank.accounts());
        found.setting("disk", VOLUME.name);
        // The plan is made once.
        let _ = self.bank.set(bank);
        let points = [("account first", Order::AccountFirst), ("branch first", Order::BranchFirst)];
        Ok(vec![Grid::new("TPC-B, 64 clients, 2 agents", "tps", points, VARIANTS)])
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        let bank = self.bank.get().ok_or("there is no bank")?;
        let branch_first = matches!(run.point, Order::BranchFirst);
        let callers = Callers { branch_first, ..*run.variant };
        Ok(bank.run(callers, run.lab.time)?.staged_sample())
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        let grid = &seen.grids[0];
        for (at, order) in grid.points.iter().enumerate() {
            let what = format!("{order}: closures in two stages over conventional ones");
            found.at_least(what, GAIN, grid.over(at, TWO_STAGE, CONVENTIONAL));
            let what = format!("{order}: closures in two stages over asynchronous ones");
            found.at_least(what, SHARE_OF_ASYNC, grid.over(at, TWO_STAGE, TWO_STAGE_ASYNC));
            let what = format!("{order}: page reads in flight, closures in two stages");
            found.at_least(what, IN_FLIGHT, grid.median(at, TWO_STAGE, "in flight"));
        }
    }
}
