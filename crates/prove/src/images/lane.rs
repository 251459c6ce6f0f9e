//! The lane: selects the cases, runs them, and prints a summary.

use std::time::Duration;

use clearway_testkit::disk::{CrashImage, SimDisk};
use clearway_testkit::{Drawn, Random};

use super::{
    damage::{Damage, FAILURES},
    examine::Expected,
    failing,
    recorder::{Moment, Phase},
    seen::Seen,
    setup::{Recording, Setup},
};
use crate::{
    cases::{Cases, Finding, catch_panics, caught},
    oracles::Verdict,
    shards::{Counts, Shard, Sharding},
};

/// The number of images that are examined for each failure.
const IMAGES_PER_FAILURE: u64 = 10;

/// The scenario of which every kind of image of an interrupted creation is examined.
const CREATION: &str = "create";

/// The selection of the cases.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The seed of the random choices.
    pub seed: u64,
    /// The number of images; all if `None`.
    pub images: Option<u64>,
    /// True if the power is also cut at each operation of each recovery.
    pub recovery: bool,
    /// The only scenario to run, if given.
    pub scenario: Option<String>,
    /// The only operation to examine, if given.
    pub at: Option<usize>,
    /// The only damage to inflict, if given.
    pub damage: Option<String>,
    /// The processes that run the cases.
    pub sharding: Sharding,
}

#[derive(Clone, Copy)]
struct Case {
    recording: usize,
    cut: usize,
    damage: Damage,
}

struct Lane<'a> {
    choice: &'a Choice,
    recordings: Vec<Recording>,
}

/// Runs the cases and prints a summary. Returns true if all of them passed.
pub fn run(choice: &Choice) -> bool {
    catch_panics();
    choice.sharding.run(|shard| work(choice, shard), print_summary)
}

fn work(choice: &Choice, shard: Shard) -> Option<(Counts, bool)> {
    let lane = Lane { choice, recordings: record(choice)? };
    match lane.cases() {
        Ok(cases) => Some(lane.run(&cases, shard)),
        Err(unknown) => {
            clearway_console::say!("{unknown}");
            None
        }
    }
}

fn print_summary(counts: &Counts, took: Duration) {
    let of = |name: &str| counts.get(name);
    clearway_console::say!("{}", counts.drawn());
    clearway_console::say!(
        "images: {} images ({} different ones), {} of interrupted recoveries, and {} failures ({} \
         stopped the engine) of {} scenarios with {} operations ({} with page reads in flight), {} \
         findings, {:.1} s",
        of("images"),
        of("different"),
        of("interrupted"),
        of("failures"),
        of("stopped"),
        of("scenarios"),
        of("operations"),
        of("reading"),
        of("findings"),
        took.as_secs_f64(),
    );
}

/// Runs every selected scenario once and records its cuts. Prints a message and returns `None` if
/// one fails or none is selected.
fn record(choice: &Choice) -> Option<Vec<Recording>> {
    let wanted = |setup: &Setup| choice.scenario.as_ref().is_none_or(|name| *name == setup.name());
    let setups: Vec<Setup> = Setup::all().into_iter().filter(wanted).collect();
    let mut recordings = Vec::new();
    let run = |number: u64| {
        recordings.push(setups[number as usize].record()?);
        Ok(())
    };
    let (shard, count) = (Shard::WHOLE, Some(setups.len() as u64));
    let command = |number: u64| command(&setups[number as usize].name(), 0, "keep-all");
    let summary = Cases { shard, count, time: None, run, command }.run();
    if setups.is_empty() || !summary.all_passed() {
        clearway_console::say!(
            "images: {} scenarios, {} do not run",
            setups.len(),
            summary.findings
        );
        return None;
    }
    Some(recordings)
}

fn command(scenario: &str, at: usize, damage: &str) -> String {
    format!(
        "cargo run --profile prove -p clearway-prove -- images --scenario {scenario} --at {at} \
         --damage {damage}"
    )
}

impl Lane<'_> {
    /// Returns the selected cases.
    fn cases(&self) -> Result<Vec<Case>, String> {
        let damage = self.choice.damage.as_ref().map(|text| text.parse()).transpose()?;
        let (mut images, mut failures) = (Vec::new(), Vec::new());
        for (recording, recorded) in self.recordings.iter().enumerate() {
            for (cut, at) in recorded.cuts.iter().enumerate() {
                if self.choice.at.is_some_and(|only| only != cut) {
                    continue;
                }
                let case = |damage| Case { recording, cut, damage };
                if let Some(damage) = damage {
                    images.push(case(damage));
                    continue;
                }
                let fitting = FAILURES.iter().filter(|(one, _)| failing::applies_to(*one, at));
                failures.extend(fitting.map(|(failure, _)| case(Damage::Failure(*failure))));
                if at.is_change {
                    let seed = self.seed_of(recording, cut);
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

    fn seed_of(&self, recording: usize, cut: usize) -> u64 {
        let mut random = Random::new(self.choice.seed ^ (recording as u64) << 32 ^ cut as u64);
        random.below(1_000_000)
    }

    fn run(&self, cases: &[Case], shard: Shard) -> (Counts, bool) {
        let mut examined = Examined::default();
        let run = |number: u64| self.run_case(cases[number as usize], &mut examined);
        let command = |number: u64| {
            let case = cases[number as usize];
            self.command(case, case.damage)
        };
        let count = Some(cases.len() as u64);
        let summary = Cases { shard, count, time: None, run, command }.run();
        let mut counts = examined.counts;
        counts.add("findings", summary.findings);
        counts.add_drawn(&examined.drawn);
        if shard.is_first() {
            let operations = self.recordings.iter().map(|one| one.cuts.len() as u64);
            counts.add("scenarios", self.recordings.len() as u64);
            counts.add("operations", operations.sum());
            let cuts = self.recordings.iter().flat_map(|one| &one.cuts);
            counts.add("reading", cuts.filter(|cut| cut.reads_held > 0).count() as u64);
        }
        (counts, summary.all_passed())
    }

    fn command(&self, case: Case, damage: Damage) -> String {
        let recording = &self.recordings[case.recording];
        let line = command(&recording.setup.name(), case.cut, &damage.to_string());
        format!("{}\n  {line}", recording.cuts[case.cut].what)
    }

    fn run_case(&self, case: Case, examined: &mut Examined) -> Result<(), Finding> {
        let recording = &self.recordings[case.recording];
        let cut = &recording.cuts[case.cut];
        let expected = self.expected(case);
        if let Some(pattern) = recording.setup.pattern() {
            examined.drawn.note(&pattern);
        }
        match case.damage {
            Damage::Failure(failure) => {
                let has_stopped = failing::run(recording, cut, failure)?;
                examined.counts.add("failures", 1);
                examined.counts.add("stopped", u64::from(has_stopped));
            }
            Damage::Cut(image) => {
                let disk = cut.disk.crash(image);
                let is_recovered = self.choice.recovery && image == self.chosen(case);
                if is_recovered && examined.recovered.is_new(case.recording, cut.moment, &disk) {
                    self.run_recovery(case, image, examined)?;
                }
                if examined.is_new(case, cut.moment, &disk) {
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
        let recording = &self.recordings[case.recording];
        let moment = recording.cuts[case.cut].moment;
        let history = &recording.histories[moment.era];
        Expected { history, moment, options: &recording.options }
    }

    /// The kind of image whose recovery is interrupted. The kinds alternate from cut to cut.
    fn chosen(&self, case: Case) -> CrashImage {
        let kinds = CrashImage::kinds(self.seed_of(case.recording, case.cut));
        kinds[case.cut % kinds.len()]
    }

    /// Cuts the power again at each operation of the recovery, and examines the result.
    fn run_recovery(
        &self,
        case: Case,
        first: CrashImage,
        examined: &mut Examined,
    ) -> Result<(), Finding> {
        let cut = &self.recordings[case.recording].cuts[case.cut];
        let expected = self.expected(case);
        let mut random = Random::new(self.seed_of(case.recording, case.cut));
        let recovery = expected.recovery(&cut.disk, first)?;
        for (at, again) in recovery.cuts.iter().enumerate() {
            let kinds = CrashImage::kinds(random.below(1_000_000));
            let picked = [random.pick(&kinds)];
            // A creation that is repeated has few operations, and each of them changes the image.
            // All scenarios begin with a creation, so every kind is examined for one of them only.
            let creates = self.recordings[case.recording].setup.name().starts_with(CREATION);
            let is_creation = creates && expected.moment.phase == Phase::Creating;
            for &second in if is_creation { &kinds[..] } else { &picked } {
                let disk = again.disk.crash(second);
                examined.counts.add("interrupted", 1);
                if !examined.interrupted.is_new(case.recording, expected.moment, &disk) {
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

/// The images examined so far, and the counts.
#[derive(Default)]
struct Examined {
    seen: Seen,
    /// The images whose recovery was interrupted.
    recovered: Seen,
    /// The images that interrupted recoveries left.
    interrupted: Seen,
    /// The patterns of keys in the databases.
    drawn: Drawn,
    counts: Counts,
}

impl Examined {
    /// Counts an image. Returns true if it was not examined before.
    fn is_new(&mut self, case: Case, moment: Moment, disk: &SimDisk) -> bool {
        let is_new = self.seen.is_new(case.recording, moment, disk);
        self.counts.add("images", 1);
        self.counts.add("different", u64::from(is_new));
        is_new
    }
}

/// Returns `wanted` of the cases, at most all of them, evenly spaced.
fn sample(cases: &[Case], wanted: u64, seed: u64) -> Vec<Case> {
    let (count, wanted) = (cases.len() as u64, wanted.min(cases.len() as u64));
    let offset = Random::new(seed).below(count);
    let index = |number: u64| ((number * count + offset) / wanted.max(1)) % count.max(1);
    (0..wanted).map(|number| cases[index(number) as usize]).collect()
}
