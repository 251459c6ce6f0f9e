//! Which cases run, and what came of them.

use std::time::Duration;

use clearway_testkit::Drawn;
use clearway_testkit::disk::{CrashImage, SimDisk};

use super::{
    damage::{Damage, FAILURES},
    examine::Expected,
    failing,
    seen::Seen,
    stage::{Performance, Stage},
    tape::{Moment, Standing},
};
use crate::{
    cases::{Cases, Finding, catch_panics, caught},
    oracles::Verdict,
    parts::{Counts, Part, Share},
    random::Random,
};

/// So many images are looked at for each failure.
const IMAGES_PER_FAILURE: u64 = 10;

/// The script of which all that power can leave of an interrupted creation is looked at.
const CREATION: &str = "create";

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
}

/// Runs them, and prints what came of it. Answers whether everything held.
pub fn run(choice: &Choice) -> bool {
    catch_panics();
    choice.share.run(|part| work(choice, part), tell)
}

fn work(choice: &Choice, part: Part) -> Option<(Counts, bool)> {
    let lane = Lane { choice, performances: perform(choice)? };
    match lane.cases() {
        Ok(cases) => Some(lane.run(&cases, part)),
        Err(unknown) => {
            clearway_console::say!("{unknown}");
            None
        }
    }
}

fn tell(counts: &Counts, took: Duration) {
    let of = |name: &str| counts.get(name);
    clearway_console::say!("{}", counts.drawn());
    clearway_console::say!(
        "images: {} images ({} different ones), {} of interrupted recoveries, and {} failures ({} \
         stopped the engine) of {} scripts with {} operations, {} findings, {:.1} s",
        of("images"),
        of("different"),
        of("interrupted"),
        of("failures"),
        of("stopped"),
        of("scripts"),
        of("operations"),
        of("findings"),
        took.as_secs_f64(),
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
        clearway_console::say!("images: {} scripts, {} do not run", stages.len(), summary.findings);
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

    fn run(&self, cases: &[Case], part: Part) -> (Counts, bool) {
        let mut looks = Looks::default();
        let run = |number: u64| self.run_case(cases[number as usize], &mut looks);
        let command = |number: u64| {
            let case = cases[number as usize];
            self.command(case, case.damage)
        };
        let count = Some(cases.len() as u64);
        let summary = Cases { part, count, time: None, run, command }.run();
        let mut counts = looks.counts;
        counts.add("findings", summary.findings);
        counts.add_drawn(&looks.drawn);
        if part.is_first() {
            let operations = self.performances.iter().map(|one| one.cuts.len() as u64);
            counts.add("scripts", self.performances.len() as u64);
            counts.add("operations", operations.sum());
        }
        (counts, summary.has_held())
    }

    fn command(&self, case: Case, damage: Damage) -> String {
        let performance = &self.performances[case.performance];
        let line = command(&performance.stage.name(), case.cut, &damage.to_string());
        format!("{}\n  {line}", performance.cuts[case.cut].what)
    }

    fn run_case(&self, case: Case, looks: &mut Looks) -> Result<(), Finding> {
        let performance = &self.performances[case.performance];
        let cut = &performance.cuts[case.cut];
        let expected = self.expected(case);
        if let Some(pattern) = performance.stage.pattern() {
            looks.drawn.note(&pattern);
        }
        match case.damage {
            Damage::Failure(failure) => {
                let has_stopped = failing::run(performance, cut, failure)?;
                looks.counts.add("failures", 1);
                looks.counts.add("stopped", u64::from(has_stopped));
            }
            Damage::Cut(image) => {
                let disk = cut.disk.crash(image);
                let is_recovered = self.choice.recovery && image == self.chosen(case);
                if is_recovered && looks.recovered.is_new(case.performance, cut.moment, &disk) {
                    self.run_recovery(case, image, looks)?;
                }
                if looks.is_new(case, cut.moment, &disk) {
                    expected.examine(disk)?;
                }
            }
            Damage::CutTwice(first, at, second) => {
                let recovery = expected.recovery(&cut.disk, first)?;
                if let Some(cut) = recovery.cuts.get(at as usize) {
                    expected.examine_again(cut.disk.crash(second), &recovery)?;
                }
            }
        }
        Ok(())
    }

    fn expected(&self, case: Case) -> Expected<'_> {
        let performance = &self.performances[case.performance];
        let moment = performance.cuts[case.cut].moment;
        let history = &performance.histories[moment.era];
        Expected { history, moment, options: &performance.options }
    }

    /// The kind of image whose recovery is interrupted: another one for each cut.
    fn chosen(&self, case: Case) -> CrashImage {
        let kinds = CrashImage::kinds(self.seed_of(case.performance, case.cut));
        kinds[case.cut % kinds.len()]
    }

    /// The power goes again at each operation of the recovery.
    fn run_recovery(
        &self,
        case: Case,
        first: CrashImage,
        looks: &mut Looks,
    ) -> Result<(), Finding> {
        let cut = &self.performances[case.performance].cuts[case.cut];
        let expected = self.expected(case);
        let mut random = Random::new(self.seed_of(case.performance, case.cut));
        let recovery = expected.recovery(&cut.disk, first)?;
        for (at, again) in recovery.cuts.iter().enumerate() {
            let kinds = CrashImage::kinds(random.below(1_000_000));
            let picked = [random.pick(&kinds)];
            // A creation that starts over has few operations, and each changes what there is. All
            // scripts begin with one; that of one of them is enough.
            let creates = self.performances[case.performance].stage.name().starts_with(CREATION);
            let is_creation = creates && expected.moment.standing == Standing::Creating;
            for &second in if is_creation { &kinds[..] } else { &picked } {
                let disk = again.disk.crash(second);
                looks.counts.add("interrupted", 1);
                if !looks.interrupted.is_new(case.performance, expected.moment, &disk) {
                    continue;
                }
                let verdict: Verdict = caught(|| expected.examine_again(disk, &recovery));
                verdict.map_err(|violation| {
                    let damage = Damage::CutTwice(first, at as u64, second);
                    Finding { violation, command: Some(self.command(case, damage)) }
                })?;
            }
        }
        Ok(())
    }
}

/// The images that were looked at.
#[derive(Default)]
struct Looks {
    seen: Seen,
    /// Those whose recovery was interrupted.
    recovered: Seen,
    /// What interrupted recoveries left.
    interrupted: Seen,
    /// The patterns of keys in the databases.
    drawn: Drawn,
    counts: Counts,
}

impl Looks {
    /// Counts an image. Whether it is worth a look.
    fn is_new(&mut self, case: Case, moment: Moment, disk: &SimDisk) -> bool {
        let is_new = self.seen.is_new(case.performance, moment, disk);
        self.counts.add("images", 1);
        self.counts.add("different", u64::from(is_new));
        is_new
    }
}

/// So many of the cases, evenly.
fn sample(cases: &[Case], wanted: u64, seed: u64) -> Vec<Case> {
    let (count, wanted) = (cases.len() as u64, wanted.min(cases.len() as u64));
    let offset = Random::new(seed).below(count);
    let index = |number: u64| ((number * count + offset) / wanted.max(1)) % count.max(1);
    (0..wanted).map(|number| cases[index(number) as usize]).collect()
}
