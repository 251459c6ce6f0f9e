//! Many seeds, until there are enough of them or the time is up.

use std::time::Duration;

use clearway_testkit::Drawn;

use super::{Tally, run_seed};
use crate::{
    cases::{Cases, catch_panics},
    parts::{Counts, Part, Share},
};

/// Which seeds to run.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The first.
    pub seed: u64,
    /// How many; without end if none is given and there is a time.
    pub seeds: Option<u64>,
    /// For how long.
    pub time: Option<Duration>,
    /// Who runs them.
    pub share: Share,
}

/// Runs them, and prints what came of it. Answers whether all of them held.
pub fn run(choice: Choice) -> bool {
    catch_panics();
    choice.share.run(|part| Some(work(choice, part)), |counts, took| tell(choice, counts, took))
}

fn work(choice: Choice, part: Part) -> (Counts, bool) {
    let Choice { seed: first, seeds, time, .. } = choice;
    let mut tally = Tally::default();
    let mut drawn = Drawn::default();
    let run = |number: u64| {
        let outcome = run_seed(first.wrapping_add(number));
        tally += outcome.tally;
        drawn.merge(&outcome.drawn);
        Ok(outcome.verdict?)
    };
    let command = |number: u64| command(first.wrapping_add(number));
    let summary = Cases { part, count: seeds, time, run, command }.run();
    let mut counts = tally.into_counts();
    counts.add("failed", summary.findings);
    counts.add_drawn(&drawn);
    (counts, summary.has_held())
}

fn tell(choice: Choice, counts: &Counts, took: Duration) {
    let tally = Tally::from_counts(counts);
    let processes = match choice.share {
        Share::Processes(count) => count.max(1),
        Share::Part(_) => 1,
    };
    let per_seed = took.as_secs_f64() * 1e3 * processes as f64 / tally.seeds.max(1) as f64;
    clearway_console::say!("{tally}");
    clearway_console::say!("{}", counts.drawn());
    clearway_console::say!("per seed      {per_seed:>9.2} ms   in all {:.1} s", took.as_secs_f64());
    clearway_console::say!("stepped: {} seeds, {} failed", tally.seeds, counts.get("failed"));
}

/// How to run a seed again.
fn command(seed: u64) -> String {
    format!(
        "SEED={seed:#x} cargo run --profile prove -p clearway-prove -- \
         stepped --seed {seed:#x} --seeds 1"
    )
}
