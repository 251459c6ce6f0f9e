//! Which cases run, and what came of them.

use clearway_disk::CrashImage;
use clearway_sync::{
    Mutex,
    atomic::{AtomicU64, Ordering},
};

use super::{
    damage::{Damage, FAILURES},
    examine::Expected,
    failing,
    stage::{Performance, Stage},
    tape::Cut,
};
use crate::{
    cases::{Cases, Finding, catch_panics, caught},
    oracles::Verdict,
    random::Random,
};

/// So many images are looked at for each failure.
const IMAGES_PER_FAILURE: u64 = 10;

/// Which cases to run.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Of what is drawn.
    pub seed: u64,
    /// How many images; all if there is none.
    pub images: Option<u64>,
    /// Whether the power also goes at each operation of each recovery.
    pub recovery: bool,
    /// The only script.
    pub script: Option<String>,
    /// The only operation.
    pub at: Option<usize>,
    /// The only damage.
    pub damage: Option<String>,
    /// On how many threads.
    pub jobs: usize,
}

#[derive(Clone, Copy)]
struct Case {
    performance: usize,
    cut: usize,
    damage: Damage,
}

struct Lane {
    choice: Choice,
    performances: Vec<Performance>,
    images: AtomicU64,
    failures: AtomicU64,
    stopped: AtomicU64,
}

/// Runs them, and prints what came of it. Answers whether everything held.
pub fn run(choice: Choice) -> bool {
    catch_panics();
    let Some(performances) = perform(&choice) else { return false };
    let lane = Lane {
        choice,
        performances,
        images: AtomicU64::new(0),
        failures: AtomicU64::new(0),
        stopped: AtomicU64::new(0),
    };
    match lane.cases() {
        Ok(cases) => lane.run(&cases),
        Err(unknown) => {
            println!("{unknown}");
            false
        }
    }
}

/// Every script once.
fn perform(choice: &Choice) -> Option<Vec<Performance>> {
    let wanted = |stage: &Stage| choice.script.as_ref().is_none_or(|name| *name == stage.name());
    let stages: Vec<Stage> = Stage::all().into_iter().filter(wanted).collect();
    let performances: Vec<_> = stages.iter().map(|_| Mutex::new(None)).collect();
    let run = |number: usize| {
        *performances[number].lock() = Some(stages[number].perform()?);
        Ok(())
    };
    let command = |number: usize| command(&stages[number].name(), 0, "keep-all");
    let summary = Cases { count: stages.len(), jobs: choice.jobs, run, command }.run();
    if stages.is_empty() || summary.findings > 0 {
        println!("images: {} scripts, {} do not run", stages.len(), summary.findings);
        return None;
    }
    performances.into_iter().map(|performance| performance.into_inner()).collect()
}

fn command(script: &str, at: usize, damage: &str) -> String {
    format!(
        "cargo run --profile prove -p clearway-prove -- images --script {script} --at {at} \
         --damage {damage}"
    )
}

impl Lane {
    /// The cases that are wanted.
    fn cases(&self) -> Result<Vec<Case>, String> {
        let damage = self.choice.damage.as_ref().map(|text| text.parse()).transpose()?;
        let (mut images, mut failures) = (Vec::new(), Vec::new());
        for (performance, performed) in self.performances.iter().enumerate() {
            for (cut, at) in performed.cuts.iter().enumerate() {
                if self.choice.at.is_some_and(|only| only != cut) {
                    continue;
                }
                let case = |damage| Case { performance, cut, damage };
                if let Some(damage) = damage {
                    images.push(case(damage));
                    continue;
                }
                let apt = FAILURES.iter().filter(|(failure, _)| failing::is_apt(*failure, at));
                failures.extend(apt.map(|(failure, _)| case(Damage::Failure(*failure))));
                if at.is_change {
                    let seed = self.seed_of(performance, cut);
                    images.extend(CrashImage::kinds(seed).map(|image| case(Damage::Cut(image))));
                }
            }
        }
        let Some(wanted) = self.choice.images else {
            images.extend(failures);
            return Ok(images);
        };
        let mut chosen = sample(&images, wanted, self.choice.seed);
        chosen.extend(sample(&failures, wanted.div_ceil(IMAGES_PER_FAILURE), self.choice.seed));
        Ok(chosen)
    }

    fn seed_of(&self, performance: usize, cut: usize) -> u64 {
        let mut random = Random::new(self.choice.seed ^ (performance as u64) << 32 ^ cut as u64);
        random.below(1_000_000)
    }

    fn run(&self, cases: &[Case]) -> bool {
        let run = |number: usize| self.run_case(cases[number]);
        let command = |number: usize| self.command(cases[number], cases[number].damage);
        let summary = Cases { count: cases.len(), jobs: self.choice.jobs, run, command }.run();
        // Relaxed, here and below: counters that nothing else hangs on.
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (images, failures) = (count(&self.images), count(&self.failures));
        let operations: usize = self.performances.iter().map(|one| one.cuts.len()).sum();
        let seconds = summary.took.as_secs_f64();
        println!(
            "images: {images} images and {failures} failures ({} stopped the engine) of {} scripts \
             with {operations} operations, {} findings, {seconds:.1} s, {:.0} images/s",
            count(&self.stopped),
            self.performances.len(),
            summary.findings,
            images as f64 / seconds.max(0.001),
        );
        summary.findings == 0 && summary.cases == cases.len()
    }

    fn command(&self, case: Case, damage: Damage) -> String {
        let performance = &self.performances[case.performance];
        let line = command(&performance.stage.name(), case.cut, &damage.to_string());
        format!("{}\n  {line}", performance.cuts[case.cut].what)
    }

    fn run_case(&self, case: Case) -> Result<(), Finding> {
        let performance = &self.performances[case.performance];
        let cut = &performance.cuts[case.cut];
        let expected = Expected {
            history: &performance.histories[cut.moment.era],
            moment: cut.moment,
            options: &performance.options,
        };
        match case.damage {
            Damage::Failure(failure) => {
                self.failures.fetch_add(1, Ordering::Relaxed);
                let has_stopped = failing::run(performance, cut, failure)?;
                self.stopped.fetch_add(u64::from(has_stopped), Ordering::Relaxed);
            }
            Damage::Cut(image) => {
                self.images.fetch_add(1, Ordering::Relaxed);
                expected.examine(&cut.disk, image)?;
                if self.choice.recovery {
                    self.run_recovery(case, cut, &expected, image)?;
                }
            }
            Damage::CutTwice(first, at, second) => {
                self.images.fetch_add(1, Ordering::Relaxed);
                let recovery = expected.recovery(&cut.disk, first)?;
                expected.examine_again(&recovery, at, second)?;
            }
        }
        Ok(())
    }

    /// The power goes again at each operation of the recovery.
    fn run_recovery(
        &self,
        case: Case,
        cut: &Cut,
        expected: &Expected<'_>,
        first: CrashImage,
    ) -> Result<(), Finding> {
        let mut random = Random::new(self.seed_of(case.performance, case.cut));
        let recovery = expected.recovery(&cut.disk, first)?;
        for at in 0..recovery.cuts.len() as u64 {
            let seed = random.below(1_000_000);
            let second = random.pick(&CrashImage::kinds(seed));
            self.images.fetch_add(1, Ordering::Relaxed);
            let verdict: Verdict = caught(|| expected.examine_again(&recovery, at, second));
            verdict.map_err(|violation| {
                let damage = Damage::CutTwice(first, at, second);
                Finding { violation, command: Some(self.command(case, damage)) }
            })?;
        }
        Ok(())
    }
}

/// So many of the cases, evenly.
fn sample(cases: &[Case], wanted: u64, seed: u64) -> Vec<Case> {
    let (count, wanted) = (cases.len() as u64, wanted.min(cases.len() as u64));
    let offset = Random::new(seed).below(count);
    let index = |number: u64| ((number * count + offset) / wanted.max(1)) % count.max(1);
    (0..wanted).map(|number| cases[index(number) as usize]).collect()
}
