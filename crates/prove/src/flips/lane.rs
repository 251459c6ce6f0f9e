//! Many wounds.

use std::time::Duration;

use clearway_testkit::Drawn;

use super::{judge, judge::Outcome, patient::Patient};
use crate::{
    cases::{Cases, catch_panics},
    images::Stage,
    parts::{Counts, Part, Share},
    random::Random,
};

/// Of so many cases one is on a database with several tables that was closed in order.
const BESIDE_ONE_IN: u64 = 8;

/// Which wounds to make.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// Of what is drawn.
    pub seed: u64,
    /// How many cases.
    pub flips: u64,
    /// The only case.
    pub at: Option<u64>,
    /// Who makes them.
    pub share: Share,
}

/// Runs them, and prints what came of it. Answers whether everything held.
pub fn run(choice: Choice) -> bool {
    catch_panics();
    choice.share.run(|part| work(choice, part), tell)
}

fn work(choice: Choice, part: Part) -> Option<(Counts, bool)> {
    let patients = patients(&choice)?;
    let (mut counts, mut drawn) = (Counts::default(), Drawn::default());
    let (first, count) = match choice.at {
        Some(at) => (at, 1),
        None => (0, choice.flips),
    };
    let several: Vec<&Patient> =
        patients.iter().filter(|patient| patient.has_tables_beside()).collect();
    let run = |number: u64| {
        let mut random = Random::new(choice.seed.wrapping_mul(1 << 32) ^ (first + number));
        let patient = match random.one_in(BESIDE_ONE_IN) {
            true => random.pick(&several),
            false => &patients[random.below(patients.len() as u64) as usize],
        };
        patient.pattern.iter().for_each(|pattern| drawn.note(pattern));
        let (outcome, has_beside) = judge::examine(patient, &mut random)?;
        counts.add(outcome.name(), 1);
        counts.add("beside", u64::from(has_beside));
        Ok(())
    };
    let command = |number: u64| command(choice.seed, first + number);
    let summary = Cases { part, count: Some(count), time: None, run, command }.run();
    counts.add_drawn(&drawn);
    counts.add("cases", summary.cases);
    counts.add("findings", summary.findings);
    if part.is_first() {
        counts.add("databases", patients.len() as u64);
    }
    Some((counts, summary.has_held()))
}

fn tell(counts: &Counts, took: Duration) {
    let of = |outcome: Outcome| counts.get(outcome.name());
    clearway_console::say!("{}", counts.drawn());
    clearway_console::say!(
        "flips: {} cases on {} databases: {} say the same, {} are refused, {} say what is damaged \
         when it is met, {} end at a torn tail; in {} tables beside the damage are whole; {} \
         findings, {:.1} s",
        counts.get("cases"),
        counts.get("databases"),
        of(Outcome::Same),
        of(Outcome::Refused),
        of(Outcome::Met),
        of(Outcome::Torn),
        counts.get("beside"),
        counts.get("findings"),
        took.as_secs_f64(),
    );
}

fn command(seed: u64, at: u64) -> String {
    format!("cargo run --profile prove -p clearway-prove -- flips --seed {seed} --at {at}")
}

fn patients(choice: &Choice) -> Option<Vec<Patient>> {
    // The histories of old databases do not know where in the log their commits stand.
    let is_apt = |stage: &Stage| stage.is_minimal() && !stage.is_old();
    let stages: Vec<Stage> = Stage::all().into_iter().filter(is_apt).collect();
    let mut patients = Vec::new();
    let run = |number: u64| {
        patients.extend(Patient::all_of(&stages[number as usize].perform()?)?);
        Ok(())
    };
    let (part, count) = (Part::WHOLE, Some(stages.len() as u64));
    let command = |_: u64| command(choice.seed, 0);
    let summary = Cases { part, count, time: None, run, command }.run();
    if !summary.has_held() {
        clearway_console::say!("flips: {} scripts do not run", summary.findings);
        return None;
    }
    Some(patients)
}
