//! Compares numbers of places in the consolidation array, by threads.
//!
//! After "Aether: A Scalable Approach to Logging", appendix A.4, figure 12, which finds three or
//! four best, fewer with few threads and somewhat more with many. The slots of the paper's array
//! are called places here; slots are the entries that are put into them.

use clap::Args;
use clearway_variants::log::{Consolidation, LogVariants, Strategy};

use super::log_insert::{
    self, CONSOLIDATED, HYBRID, Load, Mix, RATE, RECORD, STRATEGIES, TOLERANCE,
};
use crate::experiment::{
    About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen,
};

#[derive(Args, Debug)]
pub(super) struct LogInsertSlots {}

const LEVELS: [usize; 4] = [1, 2, 8, 64];
const PLACES: [usize; 4] = [1, 2, 4, 8];
/// The strategies that have the array; each has a grid of its own.
const CONSOLIDATING: [usize; 2] = [CONSOLIDATED, HYBRID];

impl Experiment for LogInsertSlots {
    const ABOUT: About = About {
        name: "log_insert_slots",
        source: "\"Aether: A Scalable Approach to Logging\", figure 12",
        shows: "the default number of places is as good as the best at every number of threads",
        seconds: 0.2,
        repetitions: 7,
    };
    type Point = (Strategy, usize);
    type Variant = usize;

    fn plan(&self, _lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        found.setting("bytes of a record", RECORD);
        found.setting("slots to be put into the places", Consolidation::default().slots);
        let paper = "64 hardware contexts. With few processors few threads can meet at a time, so \
                     few places are enough; the paper has three or four";
        found.log_settings(paper);
        let grid = |at: usize| {
            let (name, strategy) = STRATEGIES[at];
            let points = LEVELS.map(|level| (format!("{level} threads"), (strategy, level)));
            let variants = PLACES.map(|places| (format!("{places} places"), places));
            Grid::new(name, RATE, points, variants).over(default_places())
        };
        Ok(CONSOLIDATING.map(grid).into())
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        let (strategy, threads) = *run.point;
        let consolidation = Consolidation { places: *run.variant, ..Consolidation::default() };
        let options = log_insert::options(strategy).log_consolidation(consolidation);
        log_insert::insert(run.lab, options, Load { threads, mix: Mix::of(RECORD) })
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        let places = Consolidation::default().places;
        for grid in &seen.grids {
            for (at, point) in grid.points.iter().enumerate() {
                let what = format!("{}: {places} places over the best, {point}", grid.title);
                let over_best = grid.over_best(at, default_places(), PLACES.len());
                found.at_least(what, 1.0 - TOLERANCE, over_best);
            }
        }
    }
}

/// Returns the position of the default among the numbers of places.
fn default_places() -> usize {
    let own = Consolidation::default().places;
    PLACES.iter().position(|places| *places == own).unwrap_or(0)
}
