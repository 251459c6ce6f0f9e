//! Compares two kinds of next attempt of a deadlock's victim. One repeats the same operations, with
//! priority among equals; the other before that takes the locks that the victim needed, in
//! canonical order (`Options::retries_lock_first`).

use clap::Args;
use clearway::Options as DatabaseOptions;

use super::few_rows::{self, FewRows, PER_TRANSACTION};
use crate::{
    experiment::{About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen},
    variants::least,
};

#[derive(Args, Debug)]
pub(super) struct DeadlockRetries {}

const THREADS: u64 = 16;
/// The numbers of rows. Fewer rows cause more deadlocks.
const ROWS: [u64; 4] = [10, 30, 100, 1_000];
const VARIANTS: [(&str, bool); 2] = [("the same again", false), ("locks first", true)];
/// The tolerance of a median ratio where the two variants hardly differ.
const NOISE: f64 = 0.05;

impl Experiment for DeadlockRetries {
    const ABOUT: About = About {
        name: "deadlock_retries",
        source: "\"Efficient Locking Techniques for Databases on Modern Hardware\", section 4",
        shows: "a victim's next attempt gains from first taking the locks that it needed, in \
                canonical order",
        seconds: 0.6,
        repetitions: 9,
    };
    type Point = u64;
    type Variant = bool;

    fn plan(&self, _lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        found.setting("threads", THREADS);
        found.setting("between two rows", few_rows::BETWEEN);
        found.setting("commits", "not awaited");
        let points = ROWS.map(|rows| (format!("{PER_TRANSACTION} of {rows} rows"), rows));
        Ok(vec![Grid::new("five of a few rows", "tps", points, VARIANTS)])
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        let workload = FewRows { rows: *run.point, threads: THREADS, canonical: false };
        let options = DatabaseOptions::in_memory().retries_lock_first(*run.variant);
        workload.measure(options, run.lab.time)
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        let over = |point| seen.grids[0].over(point, 1, 0);
        found.at_least(format_args!("locks first, {} rows", ROWS[0]), 1.2, over(0));
        let least = least((1..ROWS.len()).map(over));
        found.at_least("locks first, at every number of rows", 1.0 - NOISE, least);
    }
}
