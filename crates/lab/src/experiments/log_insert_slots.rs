//! How many places the consolidation array should have, by threads.
//!
//! After "Aether: A Scalable Approach to Logging", appendix A.4, figure 12, which finds three or
//! four best, fewer at few threads and somewhat more at many. What the paper calls the slots of
//! the array are its places here; slots are what is put into them.

use clearway_log::{Consolidation, LogOptions};

use super::log_insert::{self, CONSOLIDATED, HYBRID, Load, Mix, RATE, RECORD};
use crate::{
    experiment::{Experiment, Lab, Outcome},
    report::{Claim, Findings, Grid},
    variants::Samples,
};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "log_insert_slots",
    source: "\"Aether: A Scalable Approach to Logging\", figure 12",
    shows: "the default number of places is as good as the best at every number of threads",
    seconds: 0.2,
    repetitions: 7,
    options: |command| command,
    run,
    cases: &[],
};

const LEVELS: [usize; 4] = [1, 2, 8, 64];
const PLACES: [usize; 4] = [1, 2, 4, 8];
/// How far the default may be behind the best.
const TOLERANCE: f64 = 0.1;

fn run(lab: &Lab<'_>) -> Outcome<Findings> {
    let own = Consolidation::default();
    let default = PLACES.iter().position(|places| *places == own.places).unwrap_or(0);
    let (mut grids, mut claims) = (Vec::new(), Vec::new());
    for (strategy, title) in [(CONSOLIDATED, "consolidated (C)"), (HYBRID, "hybrid (CD)")] {
        let samples = take(lab, strategy)?;
        for (point, level) in LEVELS.iter().enumerate() {
            let what = format!("{title}: {} places over the best, {level} threads", own.places);
            let seen = log_insert::over_best(&samples, point, default, PLACES.len());
            claims.push(Claim::at_least(&what, 1.0 - TOLERANCE, seen));
        }
        grids.push(Grid { title, samples, measure: RATE, baseline: default });
    }
    let paper = "64 hardware contexts. With few processors few threads can meet at a time, so \
                 few places are enough; the paper has three or four";
    Ok(Findings {
        settings: vec![
            ("bytes of a record", RECORD.into()),
            ("slots to be put into the places", own.slots.into()),
            ("the paper's setting", paper.into()),
            ("here", log_insert::SETTING.into()),
        ],
        grids,
        claims,
    })
}

fn take(lab: &Lab<'_>, strategy: usize) -> Outcome<Samples> {
    let points = LEVELS.map(|level| format!("{level} threads")).to_vec();
    let variants = PLACES.map(|places| format!("{places} places")).to_vec();
    Samples::take(points, variants, lab.repetitions, |point, variant, _| {
        let consolidation = Consolidation { places: PLACES[variant], ..Consolidation::default() };
        let options = LogOptions { consolidation, ..log_insert::options(strategy) };
        log_insert::insert(lab, options, Load { threads: LEVELS[point], mix: Mix::of(RECORD) })
    })
}
