//! Stepped simulation: one thread, several transactions, and a seed that decides every step.
//!
//! The engine runs without any thread of its own, on a simulated disk. A transaction that would
//! wait for a lock is left alone, and another one makes a step; one refused too often gives
//! way. So all that happens follows from the seed, and a failing seed fails again.
//!
//! ```text
//!   plan ─► world ── step ─► begin, operate, commit, roll back     session, footprint
//!                     │      flush, checkpoint, maintain, tables   world
//!                     │      fail, fill                            faults
//!                     │      crash, kill, close ─► recover, judge  crash
//!                     └────► in the end: quiesce
//! ```

mod crash;
mod expected;
mod faults;
mod footprint;
mod lane;
mod plan;
mod quiesce;
mod session;
mod tally;
mod watched;
mod world;

pub use lane::{Choice, run};
pub use tally::Tally;

use std::mem::ManuallyDrop;

use clearway_sync::atomic::{AtomicBool, Ordering};
use clearway_testkit::Drawn;

use crate::{
    cases::caught,
    oracles::{Verdict, Violation},
};
use world::World;

/// Whether the steps are told.
static IS_TOLD: AtomicBool = AtomicBool::new(false);

/// From now on every step is printed: for a look at a seed that fails.
pub fn tell_steps() {
    IS_TOLD.store(true, Ordering::Relaxed);
}

/// Prints what happens, if that is wanted.
fn tell(what: impl FnOnce() -> String) {
    if is_told() {
        clearway_console::say!("{}", what());
    }
}

fn is_told() -> bool {
    IS_TOLD.load(Ordering::Relaxed) // set before anything runs
}

/// What a seed has come to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Whether everything held.
    pub verdict: Verdict,
    /// What was met on the way; nothing if it ended in a panic.
    pub tally: Tally,
    /// The patterns of keys that were drawn; none if it ended in a panic.
    pub drawn: Drawn,
    /// A digest of everything that was asked of every disk.
    pub trace: u64,
}

impl Outcome {
    /// Of a run of which nothing is left but what was wrong.
    fn broken(violation: Violation) -> Outcome {
        let tally = Tally { seeds: 1, ..Tally::default() };
        Outcome { verdict: Err(violation), tally, drawn: Drawn::default(), trace: 0 }
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
    // After a panic the engine is in no state to be closed.
    let mut world = ManuallyDrop::new(world);
    let verdict = (0..world.plan.steps).try_for_each(|_| world.step());
    let verdict = verdict.and_then(|()| world.quiesce());
    let (tally, trace) = (world.tally, world.trace ^ world.disk.trace_digest());
    let verdict = verdict.map_err(|violation| world.plan.with_pattern(violation));
    let mut drawn = Drawn::default();
    world.plan.workload.drawn().iter().for_each(|pattern| drawn.note(pattern));
    if verdict.is_ok() {
        drop(ManuallyDrop::into_inner(world));
    }
    Outcome { verdict, tally, drawn, trace }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_does_the_same() {
        for seed in 0..20 {
            let (one, other) = (run_seed(seed), run_seed(seed));
            assert!(one.verdict.is_ok(), "seed {seed}: {:?}", one.verdict);
            assert_eq!((one.trace, one.tally), (other.trace, other.tally), "seed {seed}");
        }
    }

    #[test]
    fn some_seeds_hold() {
        for seed in 100..160 {
            let outcome = run_seed(seed);
            assert!(outcome.verdict.is_ok(), "seed {seed}: {:?}", outcome.verdict);
        }
    }
}
