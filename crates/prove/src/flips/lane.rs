//! Many wounds.

use clearway_sync::{
    Mutex,
    atomic::{AtomicU64, Ordering},
};

use super::{judge, judge::Outcome, patient::Patient};
use crate::{
    cases::{Cases, catch_panics},
    images::Stage,
    random::Random,
};

/// Which wounds to make.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// Of what is drawn.
    pub seed: u64,
    /// How many cases.
    pub flips: u64,
    /// The only case.
    pub at: Option<u64>,
    /// On how many threads.
    pub jobs: usize,
}

/// Runs them, and prints what came of it. Answers whether everything held.
pub fn run(choice: Choice) -> bool {
    catch_panics();
    let Some(patients) = patients(&choice) else { return false };
    let outcomes = [const { AtomicU64::new(0) }; 4];
    let (first, count) = match choice.at {
        Some(at) => (at, 1),
        None => (0, choice.flips as usize),
    };
    let run = |number: usize| {
        let case = first + number as u64;
        let mut random = Random::new(choice.seed.wrapping_mul(1 << 32) ^ case);
        let patient = &patients[random.below(patients.len() as u64) as usize];
        let outcome = judge::examine(patient, &mut random)?;
        // Relaxed, here and below: counters that nothing else hangs on.
        outcomes[outcome as usize].fetch_add(1, Ordering::Relaxed);
        Ok(())
    };
    let command = |number: usize| command(choice.seed, first + number as u64);
    let summary = Cases { count, jobs: choice.jobs, run, command }.run();
    let count_of = |outcome: Outcome| outcomes[outcome as usize].load(Ordering::Relaxed);
    println!(
        "flips: {} cases on {} databases: {} say the same, {} are refused, {} say what is damaged \
         when it is met, {} end at a torn tail, {} findings, {:.1} s",
        summary.cases,
        patients.len(),
        count_of(Outcome::Same),
        count_of(Outcome::Refused),
        count_of(Outcome::Met),
        count_of(Outcome::Torn),
        summary.findings,
        summary.took.as_secs_f64(),
    );
    summary.findings == 0 && summary.cases == count
}

fn command(seed: u64, at: u64) -> String {
    format!("cargo run --profile prove -p clearway-prove -- flips --seed {seed} --at {at}")
}

fn patients(choice: &Choice) -> Option<Vec<Patient>> {
    let stages: Vec<Stage> = Stage::all().into_iter().filter(Stage::is_minimal).collect();
    let patients: Vec<Mutex<Vec<Patient>>> = stages.iter().map(|_| Mutex::default()).collect();
    let run = |number: usize| {
        let performance = stages[number].perform()?;
        *patients[number].lock() = Patient::all_of(&performance)?;
        Ok(())
    };
    let command = |_: usize| command(choice.seed, 0);
    let summary = Cases { count: stages.len(), jobs: choice.jobs, run, command }.run();
    if summary.findings > 0 {
        println!("flips: {} scripts do not run", summary.findings);
        return None;
    }
    Some(patients.into_iter().flat_map(|some| some.into_inner()).collect())
}
