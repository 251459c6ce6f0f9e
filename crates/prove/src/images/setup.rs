//! A scenario on a kind of disk, and the recording of one run: a power cut at each operation, and
//! the facts that are needed to judge the image it leaves.

use clearway_testkit::disk::{MetadataMode, SimDisk, SimOptions};
use clearway_testkit::{Pattern, Random};
use clearway_txn::EngineOptions;

use super::{
    patterned,
    recorder::{Cut, Recorder},
    runner::{Planned, ScenarioRunner, Stop},
    scenarios::{OLD, SCENARIOS, Scenario},
};
use crate::oracles::{History, Verdict};

/// The suffix of a scenario's name if its disk keeps names and lengths in order.
const ORDERED: &str = "-ordered";

/// See the module.
#[derive(Clone, Copy)]
pub(crate) struct Setup {
    scenario: Scenario,
    metadata: MetadataMode,
}

/// The results of a run in which no operation fails.
pub(crate) struct Recording {
    pub(crate) setup: Setup,
    pub(crate) cuts: Vec<Cut>,
    /// The complete history of each era. Each crash that is part of the scenario ends one.
    pub(crate) histories: Vec<History>,
    pub(crate) options: EngineOptions,
    /// The disk after the scenario, with the database closed in order.
    pub(crate) closed: SimDisk,
}

impl Setup {
    /// Returns true if the disk is of the kind that guarantees least.
    pub(crate) fn is_minimal(&self) -> bool {
        self.metadata == MetadataMode::PosixMinimal
    }

    /// Returns true if the database has an older format at first.
    pub(crate) fn is_old(&self) -> bool {
        self.scenario.0.starts_with(OLD)
    }

    /// Every scenario on both kinds of disk.
    pub(crate) fn all() -> Vec<Setup> {
        let modes = [MetadataMode::PosixMinimal, MetadataMode::Ext4Ordered];
        let of = |scenario: Scenario| modes.map(|metadata| Setup { scenario, metadata });
        SCENARIOS.into_iter().chain(patterned::SCENARIOS).flat_map(of).collect()
    }

    /// The pattern of keys that the scenario follows.
    pub(crate) fn pattern(&self) -> Option<Pattern> {
        patterned::pattern_of(self.scenario.0)
    }

    /// The scenario's name, with the kind of disk.
    pub(crate) fn name(&self) -> String {
        let ordered = if self.metadata == MetadataMode::Ext4Ordered { ORDERED } else { "" };
        format!("{}{ordered}", self.scenario.0)
    }

    fn runner(&self, recorder: Option<Recorder>, planned: Option<Planned>) -> ScenarioRunner {
        let options = SimOptions { metadata: self.metadata, space_bytes: None };
        let mut runner =
            ScenarioRunner::new(SimDisk::new(1, options), engine_options(), recorder, planned);
        runner.random = Random::new(self.scenario.0.len() as u64);
        runner
    }

    /// Runs the scenario on a disk without failures, and records it.
    ///
    /// # Errors
    /// If an operation fails, or the database does not have the expected contents at the end.
    pub(crate) fn record(self) -> Verdict<Recording> {
        let recorder = Recorder::default();
        let mut runner = self.runner(Some(recorder.clone()), None);
        let result = (self.scenario.1)(&mut runner).and_then(|()| match runner.is_open() {
            true => runner.check(),
            false => Ok(()),
        });
        match result {
            Ok(()) => {}
            Err(Stop::Found(violation)) => return Err(violation),
            Err(Stop::Stopped) => unreachable!("only failures stop"),
        }
        let cuts = recorder.take_cuts();
        let options = runner.options.clone();
        runner.abandon(); // this closes the engine
        let mut histories = runner.eras;
        histories.push(runner.history);
        Ok(Recording { setup: self, cuts, histories, options, closed: runner.disk })
    }

    /// Runs the scenario on a disk that fails. Returns the runner in its final state, and true if
    /// the engine stopped before the end of the scenario.
    ///
    /// # Errors
    /// A violation found during the run.
    pub(crate) fn run_failing(self, planned: Planned) -> Verdict<(ScenarioRunner, bool)> {
        let mut runner = self.runner(None, Some(planned));
        let result = (self.scenario.1)(&mut runner).and_then(|()| match runner.is_open() {
            true => runner.check(),
            false => Ok(()),
        });
        match result {
            Ok(()) => Ok((runner, false)),
            Err(Stop::Stopped) => Ok((runner, true)),
            Err(Stop::Found(violation)) => Err(violation),
        }
    }
}

/// Engine options with small sizes throughout.
pub(crate) fn engine_options() -> EngineOptions {
    let mut options = EngineOptions { node_bytes: 256, ..EngineOptions::simulation() };
    options.log.ring_bytes = 64 << 10;
    options.log.segment_bytes = 16 << 10;
    options.log.capacity_bytes = 256 << 10;
    options.pool.cache_bytes = 64 * 8192;
    options.pool.max_bytes = 16 << 20;
    options.pool.batch_pages = 4;
    options.pool.batches_in_flight = 1;
    options.lock.buckets = 64;
    options.lock.intents = 16;
    options.lock.wait_limit = Some(std::time::Duration::ZERO);
    options
}
