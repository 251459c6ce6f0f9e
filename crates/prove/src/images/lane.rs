//! Which cases run, and what came of them.

use std::time::Duration;

use clearway_disk::CrashImage;

use super::{
    damage::{Damage, FAILURES},
    examine::Expected,
    failing,
    stage::{Performance, Stage},
};
use crate::{
    cases::{Cases, Finding, catch_panics, caught},
    oracles::Verdict,
    parts::{Counts, Part, Share},
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
    /// Who runs them.
    pub share: Share,
}

#[derive(Clone, Copy)]
struct Case {
    performance: usize,
    cut: usize,
    damage: Damage,
}

struct Lane<'a> {
    choice: &'a Choice,
    performances: Vec<Performance>,
    counts: Counts,
}

/// Runs them, and prints what came of it. Answers whether everything held.
pub fn run(choice: &Choice) -> bool {
    catch_panics();
    choice.share.run(|part| work(choice, part), tell)
}

fn work(choice: &Choice, part: Part) -> Option<(Counts, bool)> {
    let performances = perform(choice)?;
    let mut lane = Lane { choice, performances, counts: Counts::default() };
    match lane.cases() {
        Ok(cases) => {
            let has_held = lane.run(&cases, part);
            Some((lane.counts, has_held))
        }
        Err(unknown) => {
            println!("{unknown}");
            None
        }
    }
}

fn tell(counts: &Counts, took: Duration) {
    let [images, failures, stopped, scripts, operations, findings] =
        ["images", "failures", "stopped", "scripts", "operations", "findings"]
            .map(|name| counts.get(name));
    let seconds = took.as_secs_f64();
    println!(
        "images: {images} images and {failures} failures ({stopped} stopped the engine) of \
         {scripts} scripts with {operations} operations, {findings} findings, {seconds:.1} s, \
         {:.0} images/s",
        images as f64 / seconds.max(0.001),
    );
}

/// Every script once.
fn perform(choice: &Choice) -> Option<Vec<Performance>> {
    let wanted = |stage: &Stage| choice.script.as_ref().is_none_or(|name| *name == stage.name());
    let stages: Vec<Stage> = Stage::all().into_iter().filter(wanted).collect();
    let mut performances = Vec::new();
    let run = |number: u64| {
        performances.push(stages[number as usize].perform()?);
        Ok(())
    };
    let (part, count) = (Part::WHOLE, Some(stages.len() as u64));
    let command = |number: u64| command(&stages[number as usize].name(), 0, "keep-all");
    let summary = Cases { part, count, time: None, run, command }.run();
    if stages.is_empty() || !summary.has_held() {
        println!("images: {} scripts, {} do not run", stages.len(), summary.findings);
        return None;
    }
    Some(performances)
}

fn command(script: &str, at: usize, damage: &str) -> String {
    format!(
        "cargo run --profile prove -p clearway-prove -- images --script {script} --at {at} \
         --damage {damage}"
    )
}

impl Lane<'_> {
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

    fn run(&mut self, cases: &[Case], part: Part) -> bool {
        let mut counts = std::mem::take(&mut self.counts);
        let run = |number: u64| self.run_case(cases[number as usize], &mut counts);
        let command = |number: u64| {
            let case = cases[number as usize];
            self.command(case, case.damage)
        };
        let count = Some(cases.len() as u64);
        let summary = Cases { part, count, time: None, run, command }.run();
        counts.add("findings", summary.findings);
        if part.is_first() {
            let operations = self.performances.iter().map(|one| one.cuts.len() as u64);
            counts.add("scripts", self.performances.len() as u64);
            counts.add("operations", operations.sum());
        }
        self.counts = counts;
        summary.has_held()
    }

    fn command(&self, case: Case, damage: Damage) -> String {
        let performance = &self.performances[case.performance];
        let line = command(&performance.stage.name(), case.cut, &damage.to_string());
        format!("{}\n  {line}", performance.cuts[case.cut].what)
    }

    fn run_case(&self, case: Case, counts: &mut Counts) -> Result<(), Finding> {
        let performance = &self.performances[case.performance];
        let cut = &performance.cuts[case.cut];
        let expected = Expected {
            history: &performance.histories[cut.moment.era],
            moment: cut.moment,
            options: &performance.options,
        };
        match case.damage {
            Damage::Failure(failure) => {
                counts.add("failures", 1);
                let has_stopped = failing::run(performance, cut, failure)?;
                counts.add("stopped", u64::from(has_stopped));
            }
            Damage::Cut(image) => {
                counts.add("images", 1);
                expected.examine(&cut.disk, image)?;
                if self.choice.recovery {
                    self.run_recovery(case, &expected, image, counts)?;
                }
            }
            Damage::CutTwice(first, at, second) => {
                counts.add("images", 1);
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
        expected: &Expected<'_>,
        first: CrashImage,
        counts: &mut Counts,
    ) -> Result<(), Finding> {
        let cut = &self.performances[case.performance].cuts[case.cut];
        let mut random = Random::new(self.seed_of(case.performance, case.cut));
        let recovery = expected.recovery(&cut.disk, first)?;
        for at in 0..recovery.cuts.len() as u64 {
            let seed = random.below(1_000_000);
            let second = random.pick(&CrashImage::kinds(seed));
            counts.add("images", 1);
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
