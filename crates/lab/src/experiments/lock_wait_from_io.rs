//! The share of the waits for locks that reads of other transactions cause, and the cost equations
//! of two-stage execution: "Charm", table 1 and equations 1 to 3.
//!
//! The share is that part of the waits for locks in which the holder of the lock waited for a page,
//! or for a lock whose holder did.
//!
//! The equations are those of the paper, for transactions that run alone. The fetch stage takes the
//! time of the reads and that of the computation, the operate stage that of the computation. The
//! latter is measured without two-stage execution. Since the paper's equations are of use where
//! transactions compute, these do so for some milliseconds.
//!
//! Differences: keys are locked, and not pages. So what is left without reads is less than in the
//! paper, and hardly grows with the concurrency.

use std::time::Duration;

use clap::Args;
use clearway::Staging;

use super::{
    staging::{self, CONVENTIONAL, Load, Place, Policy, Ran, Sites, Sizes, TWO_DISKS, each},
    staging_concurrency::CACHE_OF_ONE,
};
use crate::experiment::{
    About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen,
};

#[derive(Args)]
pub(super) struct LockWaitFromIo {
    #[command(flatten)]
    sizes: Sizes,
    /// Concurrent transactions
    #[arg(long, value_delimiter = ',', default_values_t = [2, 4, 10],
          value_parser = clap::value_parser!(u32).range(2..=100))]
    clients: Vec<u32>,
    /// Cache, in percent of the data
    #[arg(long, value_name = "PERCENT", default_value_t = CACHE_OF_ONE)]
    cache: u64,
    #[arg(skip)]
    sites: Sites,
}

/// The settings that are measured.
pub(super) enum Point {
    /// Waits for locks at this place with this number of clients.
    Waits(Place, u32),
    /// A client that is alone, and computes for some time in each transaction.
    Alone(Place, Duration),
}

/// The numbers of warehouses, that of the claims first.
const WAREHOUSES: [u32; 2] = [1, 5];
const COMPUTATION_MS: [u64; 2] = [0, 10];
/// The paper has 93.3 % with two concurrent transactions.
const FROM_READS_PERCENT: f64 = 80.0;
/// The largest error of the equations, either way.
const EQUATION_ERROR: f64 = 0.15;

impl Experiment for LockWaitFromIo {
    const ABOUT: About = About {
        name: "lock_wait_from_io",
        source: "\"Charm\", table 1 and equations 1 to 3",
        shows: "most of the time that transactions wait for locks, others read meanwhile; the cost \
                of two-stage execution is that of computing twice",
        seconds: 3.0,
        repetitions: 3,
    };
    type Point = Point;
    type Variant = Policy;

    fn plan(&self, _lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        let setting = "5 warehouses, 2 data disks, pages locked; 93 % of the waits from reads with \
                       2 concurrent transactions, 18 % with 10";
        found.setting("the paper's setting", setting);
        let place = |warehouses| {
            let (data, cache_percent) = (self.sizes.tpcc(warehouses), self.cache);
            Place { data, cache_percent, device: TWO_DISKS }
        };
        let waits = |warehouses| {
            let point = |&n: &u32| (format!("{n} clients"), Point::Waits(place(warehouses), n));
            let title = format!("waits for locks, {}", staging::title(warehouses, TWO_DISKS));
            Grid::new(title, "lock ms", self.clients.iter().map(point), staging::variants())
        };
        let mut grids: Vec<_> = WAREHOUSES.into_iter().map(waits).collect();
        let alone = COMPUTATION_MS.map(|ms| {
            let computation = Duration::from_millis(ms);
            (format!("{ms} ms of computation"), Point::Alone(place(WAREHOUSES[0]), computation))
        });
        let title = format!("cost equations, {}", staging::title(WAREHOUSES[0], TWO_DISKS));
        grids.push(Grid::new(title, "tx ms", alone, staging::variants()));
        Ok(grids)
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        match *run.point {
            Point::Waits(place, clients) => {
                let load = Load::new(run.variant.staging, clients);
                Ok(waits(&self.sites.run(run, place, &load)?))
            }
            Point::Alone(place, computation) => {
                let load = |policy| Load { computation, ..Load::new(policy, 1) };
                let before = self.sites.run(run, place, &load(Staging::Conventional))?;
                let ran = self.sites.run(run, place, &load(run.variant.staging))?;
                Ok(costs(run.variant, &before, &ran))
            }
        }
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        let [waits, .., costs] = &seen.grids[..] else { return };
        let share = waits.median(0, CONVENTIONAL, "from reads %");
        let what = format!("{}, {}: percent from reads", waits.title, waits.points[0]);
        found.at_least(what, FROM_READS_PERCENT, share);
        // The time that transactions compute by themselves varies more than that of a sleep.
        let point = costs.points.len() - 1;
        for (at, policy) in staging::staged() {
            let error = (costs.median(point, at, "over equation") - 1.0).abs();
            let what = format!("{}, {}: error of the equation", policy.name, costs.points[point]);
            found.at_most(what, EQUATION_ERROR, error);
        }
    }
}

/// The waits for locks of a run.
fn waits(ran: &Ran) -> Sample {
    vec![
        ("tps", ran.tps()),
        ("lock ms", ran.lock_ms(None)),
        ("lock % of time", ran.lock_percent()),
        ("from reads %", ran.behind_reads_percent()),
        ("disk busy %", ran.disk_busy_percent()),
    ]
}

/// Compares the time of a transaction with the policy's equation. `before` ran conventionally.
fn costs(policy: &Policy, before: &Ran, ran: &Ran) -> Sample {
    let time = |ran: &Ran| each(ran.of(None).time, ran.of(None).transactions);
    let (read_ms, compute_ms) = (ran.read_ms(None), time(before) - before.read_ms(None));
    let share = ran.reading_percent(None) / 100.0;
    // Both stages compute; without a fetch stage for every transaction, for those that read.
    let computations = match policy.staging {
        Staging::Conventional => 1.0,
        _ if policy.always_fetches => 2.0,
        _ => 1.0 + share,
    };
    let expected = read_ms + computations * compute_ms;
    vec![
        ("tx ms", time(ran)),
        ("of which reads", read_ms),
        ("reading %", 100.0 * share),
        ("by the equation", expected),
        ("over equation", time(ran) / expected),
    ]
}
