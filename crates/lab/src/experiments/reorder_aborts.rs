//! The share of rolled-back attempts of trade update by the number of trades: table 4 of the paper.

use clap::Args;

use super::reorder::{
    comparison::{
        Comparison, ORIGINAL, Point, REORDERED, Variant, report_settings, setting, variants,
    },
    prepared::Prepared,
    site::{Setting, Site, delay_name, usual_scale},
    workload::{Scale, System, TRADE_UPDATE},
};
use crate::experiment::{
    About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen,
};

#[derive(Args)]
pub(super) struct Aborts {
    /// Transactions in flight
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=250))]
    clients: u32,
    /// The delay of each round trip in microseconds
    #[arg(long, value_name = "US", default_value_t = 1000,
          value_parser = clap::value_parser!(u32).range(0..=100_000))]
    delay: u32,
    /// Also run 256,000 and 512,000 trades
    #[arg(long)]
    full: bool,
    #[arg(skip)]
    comparison: Comparison,
}

/// The numbers of trades, with the paper's shares of aborted attempts, in percent: of the original
/// and of the reordered programs.
const TRADES: [(u32, &str); 6] = [
    (1_000, "53.89, 39.12"),
    (4_000, "20.08, 1.78"),
    (16_000, "2.39, 0.35"),
    (64_000, "0.55, 0.08"),
    (256_000, "0.14, 0.02"),
    (512_000, "0, 0"),
];
/// The number of points without `--full`.
const SOME: usize = 4;
/// The greatest shares of aborted attempts at the first two points, over those of the original.
const SHARES: [(f64, &str); 2] = [(0.8, "0.73"), (0.4, "0.09")];

fn large_scale(system: System) -> Scale {
    Scale { trades: 512_000, ..usual_scale(system) }
}

impl Experiment for Aborts {
    const ABOUT: About = About {
        name: "reorder_aborts",
        source: "the QURO paper, 6.4, table 4",
        shows: "reordered trade updates deadlock less, since they hold locks for a shorter time",
        seconds: 3.0,
        repetitions: 3,
    };
    type Point = Point;
    type Variant = Variant;

    fn plan(&self, lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        let scale = if self.full { large_scale } else { usual_scale };
        let mut site = Site::new(&[System::MariaDb], scale)?;
        report_settings(found);
        let papers: Vec<_> =
            TRADES.iter().map(|(trades, paper)| format!("{trades}: {paper}")).collect();
        found.setting("clients", self.clients);
        found.setting("the paper's aborts in percent, before and after", papers.join("; "));
        let setting = setting(lab, System::MariaDb, &TRADE_UPDATE, self.clients, self.delay);
        let prepared = Prepared::by_profile(&mut site, &setting, Some(self.delay))?;
        self.comparison.begin(site, vec![prepared], found);
        Ok(self.grids(lab))
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        Ok(self.comparison.drive(run.point, *run.variant, run.repetition)?.sample())
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        let grid = &seen.grids[0];
        for (point, (bound, paper)) in SHARES.into_iter().enumerate() {
            let share = grid.ratio(&[point], REORDERED, ORIGINAL, "aborted %").median;
            let name = &grid.points[point];
            let what = format!("{name}: aborted attempts over the original's (paper: {paper})");
            found.at_most(what, bound, share);
        }
    }
}

impl Aborts {
    fn grids(&self, lab: &Lab) -> Grids<Self> {
        let some = if self.full { &TRADES[..] } else { &TRADES[..SOME] };
        let setting = setting(lab, System::MariaDb, &TRADE_UPDATE, self.clients, self.delay);
        let points = some.iter().map(|&(size, _)| {
            let setting = Setting { size, ..setting };
            (setting.workload.data.point(size), Point { setting, programs: 0 })
        });
        let title = format!("trade update, MariaDB, {}", delay_name(self.delay));
        vec![Grid::new(title, "tps", points, variants())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{callgrind::Counts, variants::Samples};

    #[test]
    fn claims_compare_the_shares_of_aborted_attempts() {
        let time = std::time::Duration::from_secs(1);
        let lab = Lab { time, repetitions: 1, counts: Counts::default() };
        let comparison = Comparison::default();
        let aborts = Aborts { clients: 32, delay: 1000, full: false, comparison };
        let check = |reordered: f64| {
            let grids = aborts.grids(&lab);
            assert_eq!(grids[0].points.len(), SOME);
            let take = Samples::take(&grids[0], 1, |_, (_, variant), _| match variant {
                Variant::Original => Ok(vec![("aborted %", 50.0)]),
                Variant::Reordered => Ok(vec![("aborted %", reordered)]),
            });
            let mut found = Findings::default();
            let seen = Seen { lab: &lab, counted: None, grids: vec![take.unwrap()] };
            aborts.claims(&seen, &mut found);
            found.claims.iter().filter(|claim| claim.holds).count()
        };
        assert_eq!([check(5.0), check(35.0), check(50.0)], [2, 1, 0]);
    }
}
