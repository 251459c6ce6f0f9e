//! The gain of the reordering when the database is larger than the buffer pool: figure 8 of the
//! paper.

use std::cell::RefCell;

use clap::Args;

use super::reorder::{
    comparison::{
        Comparison, ORIGINAL, Point, REORDERED, Variant, report_settings, setting, variants,
    },
    prepared::Prepared,
    site::{Setting, Site, delay_name, small_scale},
    workload::{NEW_ORDER, PAYMENT, STANDARD_MIX, System, Workload},
};
use crate::experiment::{
    About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen,
};

#[derive(Args)]
pub(super) struct BufferPool {
    /// Transactions in flight
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=250))]
    clients: u32,
    /// The delay of each round trip in microseconds
    #[arg(long, value_name = "US", default_value_t = 1000,
          value_parser = clap::value_parser!(u32).range(0..=100_000))]
    delay: u32,
    #[arg(skip)]
    comparison: Comparison,
    /// The server options of the last run.
    #[arg(skip)]
    last: RefCell<String>,
}

static WORKLOADS: [&Workload; 3] = [&PAYMENT, &NEW_ORDER, &STANDARD_MIX];
/// The sizes of the pool in percent of the database as it was loaded.
const PERCENT: [u64; 4] = [5, 20, 50, 150];
/// The number of warehouses: all of the database.
const WAREHOUSES: u32 = 4;

/// A point of a grid, with the options of the server.
pub(super) struct Pool {
    point: Point,
    options: String,
}

impl Experiment for BufferPool {
    const ABOUT: About = About {
        name: "reorder_buffer_pool",
        source: "the QURO paper, 6.6, figure 8",
        shows: "reordering gains less, but still gains, if the server reads from disk",
        seconds: 2.0,
        repetitions: 2,
    };
    type Point = Pool;
    type Variant = Variant;

    fn plan(&self, lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        let mut site = Site::new(&[System::MariaDb], small_scale)?;
        report_settings(found);
        found.setting("clients", self.clients);
        let mut prepared = Vec::new();
        for workload in WORKLOADS {
            let setting = self.setting(lab, workload);
            prepared.push(Prepared::by_profile(&mut site, &setting, Some(self.delay))?);
        }
        let bytes = site.database_bytes(&self.setting(lab, &PAYMENT))?;
        found.setting("size of the database in MB", bytes / 1_000_000);
        found.setting("files", "opened with O_DIRECT, so that the system caches none");
        self.comparison.begin(site, prepared, found);
        Ok(self.grids(lab, bytes))
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        let Pool { point, options } = run.point;
        let is_new = *self.last.borrow() != *options;
        self.comparison.with(|site, prepared| {
            let programs = &prepared[point.programs];
            let program = match run.variant {
                Variant::Original => &programs.original,
                Variant::Reordered => &programs.reordered,
            };
            let setting = Setting { options, seed: run.repetition, ..point.setting };
            if is_new {
                // The server has just started; this fills its pool.
                site.drive(&setting, &programs.reordered)?;
                self.last.replace(options.clone());
            }
            Ok(site.drive(&setting, program)?.sample())
        })
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        for (workload, grid) in WORKLOADS.iter().zip(&seen.grids) {
            let what = format!("{}, speedup with the smallest pool", workload.name);
            found.at_least(what, 0.97, grid.over(0, REORDERED, ORIGINAL));
        }
        let payment = &seen.grids[0];
        let largest = payment.points.len() - 1;
        let over = |point| payment.over(point, REORDERED, ORIGINAL);
        found.at_least("payment, speedup with the largest pool", 2.0, over(largest));
        let what = "payment, speedup with the largest pool over that with the smallest";
        found.at_least(what, 1.0, over(largest) / over(0));
    }
}

impl BufferPool {
    fn setting(&self, lab: &Lab, workload: &'static Workload) -> Setting<'static> {
        let setting = setting(lab, System::MariaDb, workload, self.clients, self.delay);
        Setting { size: WAREHOUSES, ..setting }
    }

    fn grids(&self, lab: &Lab, bytes: u64) -> Grids<Self> {
        let grid = |(programs, workload): (usize, &'static Workload)| {
            let setting = self.setting(lab, workload);
            let points = PERCENT.map(|percent| {
                let size = bytes * percent / 100;
                let options = format!(
                    "--innodb-buffer-pool-size={size} --innodb-buffer-pool-chunk-size=1M \
                     --innodb-flush-method=O_DIRECT"
                );
                let point = Point { setting, programs };
                (format!("pool {percent} % of the database"), Pool { point, options })
            });
            let delay = delay_name(self.delay);
            let title = format!("{}, MariaDB, 4 warehouses, {delay}", workload.name);
            Grid::new(title, "tps", points, variants())
        };
        WORKLOADS.into_iter().enumerate().map(grid).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{callgrind::Counts, variants::Samples};

    #[test]
    fn pools_grow_and_claims_compare_the_ends() {
        let time = std::time::Duration::from_secs(1);
        let lab = Lab { time, repetitions: 1, counts: Counts::default() };
        let pool = BufferPool {
            clients: 32,
            delay: 1000,
            comparison: Comparison::default(),
            last: RefCell::default(),
        };
        let grids = pool.grids(&lab, 100_000_000);
        assert_eq!(grids.len(), WORKLOADS.len());
        assert!(grids[0].points[0].1.options.starts_with("--innodb-buffer-pool-size=5000000 "));
        let take = |grid: &Grid<Pool, Variant>| {
            Samples::take(grid, 1, |(name, _), (_, variant), _| match variant {
                Variant::Original => Ok(vec![("tps", 1.0)]),
                Variant::Reordered => {
                    Ok(vec![("tps", if name.contains("150") { 3.0 } else { 1.0 })])
                }
            })
        };
        let grids = grids.iter().map(take).collect::<Outcome<Vec<_>>>().unwrap();
        let mut found = Findings::default();
        pool.claims(&Seen { lab: &lab, counted: None, grids }, &mut found);
        assert!(found.all_shown() && found.claims.len() == 5);
    }
}
