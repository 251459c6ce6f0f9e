//! Deterministic simulation: one thread runs several transactions, and a seed determines each step.
//!
//! The engine runs on a simulated disk and without threads of its own. If a transaction would wait
//! for a lock, another one takes the next step; a transaction whose lock requests are refused too
//! often is rolled back. So the seed determines the whole run, and a failing seed fails again.
//!
//! With odd seeds most transactions are tasks: each operation is a future (`client`). Several of
//! them wait for locks and pages at the same time; the seed chooses which one is polled, which page
//! read completes or fails (`late_reads`), when an operation is dropped before it has ended, and
//! which whole transactions are dropped. A dropped operation must have had no effect, and while
//! transactions run one of them must be runnable once the reads have completed: a lost wake-up, or
//! a deadlock that is not found, is a violation of ORACLE-8.
//!
//! ```text
//!   plan ─► world ── step ─► begin, operate, commit, roll back     session, footprint
//!                     │      fetch before that, be converted       stages
//!                     │      flush, checkpoint, maintain, tables   world
//!                     │      fail, fill                            faults
//!                     │      complete or fail page reads           late_reads
//!                     │      do what would block a task            late_jobs
//!                     │      crash, kill, close ─► recover, judge  crash
//!                     └────► at the end: quiesce
//! ```

mod client;
mod counters;
mod crash;
mod expected;
mod faults;
mod footprint;
mod lane;
mod late_jobs;
mod late_reads;
mod plan;
mod quiesce;
mod session;
mod stages;
mod watched;
mod world;

pub use counters::RunCounters;
pub use lane::{Choice, run};

use std::mem::ManuallyDrop;

use clearway_sync::atomic::{AtomicBool, Ordering};
use clearway_testkit::Drawn;

use crate::{
    cases::caught,
    oracles::{Verdict, Violation},
};
use world::World;

/// True if each step is printed.
static PRINTS_STEPS: AtomicBool = AtomicBool::new(false);

/// Enables the printing of each step, to investigate a seed that fails.
pub fn print_steps() {
    PRINTS_STEPS.store(true, Ordering::Relaxed);
}

/// Prints a message about a step if that is enabled.
fn print_step(what: impl FnOnce() -> String) {
    if prints_steps() {
        clearway_console::say!("{}", what());
    }
}

fn prints_steps() -> bool {
    PRINTS_STEPS.load(Ordering::Relaxed) // set before the first run starts
}

/// The result of the run of one seed.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The violation, if an oracle found one.
    pub verdict: Verdict,
    /// The counts of the run; only the seed is counted if the run panicked or could not start.
    pub counters: RunCounters,
    /// The patterns of keys that were drawn; none if the run panicked or could not start.
    pub drawn: Drawn,
    /// A digest of all operations on all disks of the run.
    pub trace: u64,
}

impl Outcome {
    /// The outcome of a run of which only the violation is known.
    fn broken(violation: Violation) -> Outcome {
        let counters = RunCounters { seeds: 1, ..RunCounters::default() };
        Outcome { verdict: Err(violation), counters, drawn: Drawn::default(), trace: 0 }
    }
}

/// Runs one seed.
pub fn run_seed(seed: u64) -> Outcome {
    caught(|| Ok::<_, Violation>(run_world(seed))).unwrap_or_else(Outcome::broken)
}

fn run_world(seed: u64) -> Outcome {
    let world = match World::new(seed) {
        Ok(world) => world,
        Err(violation) => return Outcome::broken(violation),
    };
    // The engine cannot be closed after a panic.
    let mut world = ManuallyDrop::new(world);
    let verdict = (0..world.plan.steps).try_for_each(|_| world.step());
    let verdict = verdict.and_then(|()| world.quiesce());
    let (counters, trace) = (world.counters, world.trace ^ world.disk.trace_digest());
    let verdict = verdict.map_err(|violation| world.plan.with_pattern(violation));
    let mut drawn = Drawn::default();
    world.plan.workload.drawn().iter().for_each(|pattern| drawn.note(pattern));
    if verdict.is_ok() {
        drop(ManuallyDrop::into_inner(world));
    }
    Outcome { verdict, counters, drawn, trace }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_run() {
        for seed in 0..20 {
            let (one, other) = (run_seed(seed), run_seed(seed));
            assert!(one.verdict.is_ok(), "seed {seed}: {:?}", one.verdict);
            assert_eq!((one.trace, one.counters), (other.trace, other.counters), "seed {seed}");
        }
    }

    #[test]
    fn read_that_failed_before_a_power_cut_may_be_reported_behind_it() {
        let outcome = run_seed(0xb8834de5039d9);
        assert!(outcome.verdict.is_ok(), "{:?}", outcome.verdict);
    }

    #[test]
    fn some_seeds_pass() {
        for seed in 100..160 {
            let outcome = run_seed(seed);
            assert!(outcome.verdict.is_ok(), "seed {seed}: {:?}", outcome.verdict);
        }
    }
}
