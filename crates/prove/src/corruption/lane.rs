//! The lane: runs many cases and prints a summary.

use std::time::Duration;

use clearway_testkit::{Drawn, Random};

use super::{judge, judge::Outcome, original::Original};
use crate::{
    cases::{Cases, catch_panics},
    images::Setup,
    shards::{Counts, Shard, Sharding},
};

/// One case in this many uses a database with several tables that was closed in order.
const OTHER_TABLES_ONE_IN: u64 = 8;

/// The selection of the cases.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The seed of the random choices.
    pub seed: u64,
    /// The number of cases.
    pub cases: u64,
    /// The only case to run, if given.
    pub at: Option<u64>,
    /// The processes that run the cases.
    pub sharding: Sharding,
}

/// Runs the cases and prints a summary. Returns true if all of them passed.
pub fn run(choice: Choice) -> bool {
    catch_panics();
    choice.sharding.run(|shard| work(choice, shard), print_summary)
}

fn work(choice: Choice, shard: Shard) -> Option<(Counts, bool)> {
    let originals = originals(&choice)?;
    let (mut counts, mut drawn) = (Counts::default(), Drawn::default());
    let (first, count) = match choice.at {
        Some(at) => (at, 1),
        None => (0, choice.cases),
    };
    let several: Vec<&Original> =
        originals.iter().filter(|original| original.has_other_tables()).collect();
    let run = |number: u64| {
        let mut random = Random::new(choice.seed.wrapping_mul(1 << 32) ^ (first + number));
        let original = match random.one_in(OTHER_TABLES_ONE_IN) {
            true => random.pick(&several),
            false => &originals[random.below(originals.len() as u64) as usize],
        };
        original.pattern.iter().for_each(|pattern| drawn.note(pattern));
        let by_task = !(first + number).is_multiple_of(2);
        let (outcome, has_other_tables) = judge::examine(original, by_task, &mut random)?;
        let by_task = by_task && outcome == Outcome::Detected;
        counts.add("detected_by_tasks", u64::from(by_task));
        counts.add(outcome.name(), 1);
        counts.add("other_tables", u64::from(has_other_tables));
        Ok(())
    };
    let command = |number: u64| command(choice.seed, first + number);
    let summary = Cases { shard, count: Some(count), time: None, run, command }.run();
    counts.add_drawn(&drawn);
    counts.add("cases", summary.cases);
    counts.add("findings", summary.findings);
    if shard.is_first() {
        counts.add("databases", originals.len() as u64);
    }
    Some((counts, summary.all_passed()))
}

fn print_summary(counts: &Counts, took: Duration) {
    let of = |outcome: Outcome| counts.get(outcome.name());
    clearway_console::say!("{}", counts.drawn());
    clearway_console::say!(
        "corruption: {} cases on {} databases: {} with the same contents, {} refused, {} with \
         damage reported on access ({} of them to tasks), {} ending at a torn tail; {} with other \
         tables, all intact; {} findings, {:.1} s",
        counts.get("cases"),
        counts.get("databases"),
        of(Outcome::Same),
        of(Outcome::Refused),
        of(Outcome::Detected),
        counts.get("detected_by_tasks"),
        of(Outcome::Torn),
        counts.get("other_tables"),
        counts.get("findings"),
        took.as_secs_f64(),
    );
}

fn command(seed: u64, at: u64) -> String {
    format!("cargo run --profile prove -p clearway-prove -- corruption --seed {seed} --at {at}")
}

fn originals(choice: &Choice) -> Option<Vec<Original>> {
    // The histories of databases of an older format do not contain the LSNs of their commits.
    let is_suitable = |setup: &Setup| setup.is_minimal() && !setup.is_old();
    let setups: Vec<Setup> = Setup::all().into_iter().filter(is_suitable).collect();
    let mut originals = Vec::new();
    let run = |number: u64| {
        originals.extend(Original::all_of(&setups[number as usize].record()?)?);
        Ok(())
    };
    let (shard, count) = (Shard::WHOLE, Some(setups.len() as u64));
    let command = |_: u64| command(choice.seed, 0);
    let summary = Cases { shard, count, time: None, run, command }.run();
    if !summary.all_passed() {
        clearway_console::say!("corruption: {} scenarios do not run", summary.findings);
        return None;
    }
    Some(originals)
}
