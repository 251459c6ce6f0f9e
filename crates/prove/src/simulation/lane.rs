//! The lane: runs seeds up to a number or a time limit, and prints a summary.

use std::time::Duration;

use clearway_testkit::Drawn;

use super::{RunCounters, run_seed};
use crate::{
    cases::{Cases, catch_panics},
    shards::{Counts, Shard, Sharding},
};

/// The number of seeds that have each of these events: of the rarest, more than ten.
const SEEDS_WITH_LATE_READS: u64 = 1000;

/// The selection of the seeds.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The first seed.
    pub seed: u64,
    /// The number of seeds; `None` for as many as the time allows.
    pub seeds: Option<u64>,
    /// The time limit.
    pub time: Option<Duration>,
    /// The processes that run the seeds.
    pub sharding: Sharding,
}

/// Runs the seeds and prints a summary. Returns true if all of them passed.
pub fn run(choice: Choice) -> bool {
    catch_panics();
    let mut sees_late_reads = true;
    let all_passed = choice.sharding.run(
        |shard| Some(work(choice, shard)),
        |counts, took| {
            print_summary(choice, counts, took);
            sees_late_reads = check_late_reads(RunCounters::from_counts(counts));
        },
    );
    all_passed && sees_late_reads
}

/// Returns true if tasks have waited in each way, or the seeds are few; prints what is missing.
/// Otherwise a change of the plans could end these waits without anyone noticing.
fn check_late_reads(counters: RunCounters) -> bool {
    let kinds = [
        ("polls of tasks that were not woken", counters.spurious),
        ("polls left waiting for pages", counters.page_waits),
        ("late reads", counters.late_reads),
        ("late reads that several tasks waited for", counters.shared_reads),
        ("late reads that failed", counters.failed_reads),
        ("late log space", counters.space_waits),
        ("late growth of files", counters.length_waits),
        ("late rollbacks to savepoints", counters.late_partial),
        ("late rollbacks of victims", counters.late_victims),
        ("late rollbacks of dropped transactions", counters.late_drops),
        ("late commits", counters.late_commits),
        ("late commits that were dropped", counters.dropped_commits),
        ("late rollbacks", counters.late_rollbacks),
        ("operations dropped before their jobs were run", counters.jobs_dropped),
        ("transactions that ended within a large write", counters.chains_left),
        ("late deallocations", counters.late_deallocations),
        ("fetch stages with reads", counters.fetches_with_reads),
        ("conversions to fetch stages", counters.conversions),
        ("fetch stages that were dropped", counters.fetches_dropped),
        ("fetch stages that ended alone", counters.fetches_alone),
        ("operate stages that found all pages in memory", counters.operated_from_memory),
        ("checks that no page has become unreachable", counters.reachable),
    ];
    let missing = kinds.iter().filter(|(_, count)| *count == 0);
    let names: Vec<&str> = missing.map(|(name, _)| *name).collect();
    if counters.seeds < SEEDS_WITH_LATE_READS || names.is_empty() {
        return true;
    }
    clearway_console::say!("simulation: none of: {}", names.join(", "));
    false
}

fn work(choice: Choice, shard: Shard) -> (Counts, bool) {
    let Choice { seed: first, seeds, time, .. } = choice;
    let mut counters = RunCounters::default();
    let mut drawn = Drawn::default();
    let run = |number: u64| {
        let outcome = run_seed(first.wrapping_add(number));
        counters += outcome.counters;
        drawn.merge(&outcome.drawn);
        Ok(outcome.verdict?)
    };
    let command = |number: u64| command(first.wrapping_add(number));
    let summary = Cases { shard, count: seeds, time, run, command }.run();
    let mut counts = counters.into_counts();
    counts.add("failed", summary.findings);
    counts.add_drawn(&drawn);
    (counts, summary.all_passed())
}

fn print_summary(choice: Choice, counts: &Counts, took: Duration) {
    let counters = RunCounters::from_counts(counts);
    let processes = match choice.sharding {
        Sharding::Processes(count) => count.max(1),
        Sharding::Shard(_) => 1,
    };
    let per_seed = took.as_secs_f64() * 1e3 * processes as f64 / counters.seeds.max(1) as f64;
    clearway_console::say!("{counters}");
    clearway_console::say!("{}", counts.drawn());
    clearway_console::say!("per seed      {per_seed:>9.2} ms   in all {:.1} s", took.as_secs_f64());
    clearway_console::say!("simulation: {} seeds, {} failed", counters.seeds, counts.get("failed"));
}

/// Returns the command line that runs a seed again.
fn command(seed: u64) -> String {
    format!(
        "SEED={seed:#x} cargo run --profile prove -p clearway-prove -- \
         simulation --seed {seed:#x} --seeds 1"
    )
}
