//! What a deadlock's victim does in its next attempt: the same again, ranking first among equals,
//! or before that the locks it needed in canonical order (`Options::retries_lock_first`).

use clearway::Options as DatabaseOptions;

use super::few_rows::{FewRows, PER_TRANSACTION};
use crate::{
    experiment::{Experiment, Lab, Outcome},
    report::{Claim, Findings, Grid},
    variants::Samples,
};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "deadlock_retries",
    source: "\"Efficient Locking Techniques for Databases on Modern Hardware\", section 4",
    shows: "victims had better take the locks they needed in canonical order first",
    seconds: 0.6,
    repetitions: 9,
    options: |command| command,
    run,
    cases: &[],
};

const THREADS: u64 = 16;
/// Rows; the fewer, the more deadlocks.
const ROWS: [u64; 4] = [10, 30, 100, 1_000];
const VARIANTS: [(&str, bool); 2] = [("the same again", false), ("locks first", true)];
/// What a median ratio may be off where there is next to nothing to lose or win.
const NOISE: f64 = 0.05;

fn run(lab: &Lab<'_>) -> Outcome<Findings> {
    let points = ROWS.map(|rows| format!("{PER_TRANSACTION} of {rows} rows")).to_vec();
    let variants = VARIANTS.map(|(name, _)| name.to_string()).to_vec();
    let samples = Samples::take(points, variants, lab.repetitions, |point, variant, _| {
        let workload = FewRows { rows: ROWS[point], threads: THREADS, canonical: false };
        let options = DatabaseOptions::in_memory().retries_lock_first(VARIANTS[variant].1);
        workload.measure(options, lab.time)
    })?;
    let over = |point: usize| samples.ratio(point, 1, 0, "tps").median;
    let least = (1..ROWS.len()).map(over).fold(f64::INFINITY, f64::min);
    let claims = vec![
        Claim::at_least(&format!("locks first, {} rows", ROWS[0]), 1.2, over(0)),
        Claim::at_least("locks first, at every number of rows", 1.0 - NOISE, least),
    ];
    Ok(Findings {
        settings: vec![
            ("threads", THREADS.into()),
            ("between two rows", "2 µs of work, then others may run, as on more cores".into()),
            ("commits", "not awaited".into()),
        ],
        claims,
        grids: vec![Grid { title: "five of a few rows", samples, measure: "tps", baseline: 0 }],
    })
}
