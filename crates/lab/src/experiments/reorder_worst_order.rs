//! Payment in the worst order against the original and the reordered one: figure 7 of the paper.

use clap::Args;

use super::reorder::{
    comparison::{Comparison, Point, Variant, report_settings, setting},
    prepared::Prepared,
    site::{Setting, Site, delay_name, small_scale},
    workload::{PAYMENT, System, WORST_PAYMENT},
};
use crate::experiment::{
    About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen,
};

#[derive(Args)]
pub(super) struct WorstOrder {
    /// The delay of each round trip in microseconds
    #[arg(long, value_name = "US", default_value_t = 1000,
          value_parser = clap::value_parser!(u32).range(0..=100_000))]
    delay: u32,
    #[arg(skip)]
    comparison: Comparison,
}

const CLIENTS: [u32; 6] = [1, 4, 8, 16, 32, 64];
/// The place of 32 clients among them, and the number.
const COMPARED: usize = 4;
const PROFILED: u32 = 32;
/// The number of warehouses, as in the paper's figure.
const WAREHOUSES: u32 = 4;
const WORST: usize = 0;
const ORIGINAL: usize = 1;
const REORDERED: usize = 2;

impl Experiment for WorstOrder {
    const ABOUT: About = About {
        name: "reorder_worst_order",
        source: "the QURO paper, 6.5, figure 7",
        shows: "the order of queries decides: the best one is several times as fast as the worst",
        seconds: 2.0,
        repetitions: 3,
    };
    type Point = Setting<'static>;
    /// The number of the program's workload, and the program.
    type Variant = (usize, Variant);

    fn plan(&self, lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        let mut site = Site::new(&[System::MariaDb], small_scale)?;
        report_settings(found);
        let setting = Setting { size: WAREHOUSES, ..self.setting(lab, PROFILED) };
        let worst = Setting { workload: &WORST_PAYMENT, ..setting };
        let prepared = vec![
            Prepared::by_profile(&mut site, &setting, Some(self.delay))?,
            Prepared::by_estimates(&mut site, &worst)?,
        ];
        self.comparison.begin(site, prepared, found);
        Ok(self.grids(lab))
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        let (programs, variant) = *run.variant;
        let point = Point { setting: *run.point, programs };
        Ok(self.comparison.drive(&point, variant, run.repetition)?.sample())
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        let over = |variant, baseline| seen.grids[0].over(COMPARED, variant, baseline);
        let what = "32 clients, reordered over the worst order (paper: 4.10)";
        found.at_least(what, 3.0, over(REORDERED, WORST));
        let what = "32 clients, reordered over original (paper: 3.52)";
        found.at_least(what, 2.0, over(REORDERED, ORIGINAL));
    }
}

impl WorstOrder {
    fn setting(&self, lab: &Lab, clients: u32) -> Setting<'static> {
        let setting = setting(lab, System::MariaDb, &PAYMENT, clients, self.delay);
        Setting { size: WAREHOUSES, ..setting }
    }

    fn grids(&self, lab: &Lab) -> Grids<Self> {
        let points = CLIENTS.map(|clients| (clients, self.setting(lab, clients)));
        let variants = [
            ("worst", (1, Variant::Original)),
            ("original", (0, Variant::Original)),
            ("reordered", (0, Variant::Reordered)),
        ];
        let title = format!("payment, MariaDB, 4 warehouses, {}", delay_name(self.delay));
        vec![Grid::new(format!("{title}, by clients"), "tps", points, variants)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{callgrind::Counts, variants::Samples};

    #[test]
    fn claims_compare_the_orders_at_32_clients() {
        let time = std::time::Duration::from_secs(1);
        let lab = Lab { time, repetitions: 1, counts: Counts::default() };
        let experiment = WorstOrder { delay: 1000, comparison: Comparison::default() };
        let grids = experiment.grids(&lab);
        assert_eq!(grids[0].points[COMPARED].1.clients, PROFILED);
        let take = |factor: f64| {
            Samples::take(&grids[0], 1, |_, (name, _), _| {
                Ok(vec![("tps", if name == "reordered" { factor } else { 1.0 })])
            })
        };
        for (factor, holds) in [(4.0, true), (2.0, false)] {
            let mut found = Findings::default();
            let grids = vec![take(factor).unwrap()];
            experiment.claims(&Seen { lab: &lab, counted: None, grids }, &mut found);
            assert_eq!(found.all_shown(), holds);
        }
    }
}
