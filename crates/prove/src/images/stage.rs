//! A script on a kind of disk, and what one run of it gives: every operation at which the power may
//! go, and what must be known to judge what is left.

use clearway_testkit::Pattern;
use clearway_testkit::disk::{MetadataMode, SimDisk, SimOptions};
use clearway_txn::EngineOptions;

use super::{
    patterned,
    play::{Planned, Play, Stop},
    scripts::{OLD, SCRIPTS, Script},
    tape::{Cut, Tape},
};
use crate::{
    oracles::{History, Verdict},
    random::Random,
};

/// What follows a script's name if its disk keeps names and lengths in order.
const ORDERED: &str = "-ordered";

/// See the module.
#[derive(Clone, Copy)]
pub(crate) struct Stage {
    script: Script,
    metadata: MetadataMode,
}

/// What a run has left on its tape.
pub(crate) struct Performance {
    pub(crate) stage: Stage,
    pub(crate) cuts: Vec<Cut>,
    /// The history of each era, complete.
    pub(crate) histories: Vec<History>,
    pub(crate) options: EngineOptions,
    /// The disk after the script, the database closed in order.
    pub(crate) closed: SimDisk,
}

impl Stage {
    /// Whether it is on the kind of disk that promises least.
    pub(crate) fn is_minimal(&self) -> bool {
        self.metadata == MetadataMode::PosixMinimal
    }

    /// Whether its database is of an older format at first.
    pub(crate) fn is_old(&self) -> bool {
        self.script.0.starts_with(OLD)
    }

    /// Every script on both kinds of disk.
    pub(crate) fn all() -> Vec<Stage> {
        let modes = [MetadataMode::PosixMinimal, MetadataMode::Ext4Ordered];
        let of = |script: Script| modes.map(|metadata| Stage { script, metadata });
        SCRIPTS.into_iter().chain(patterned::SCRIPTS).flat_map(of).collect()
    }

    /// The pattern of keys that the script follows.
    pub(crate) fn pattern(&self) -> Option<Pattern> {
        patterned::pattern_of(self.script.0)
    }

    /// The script's name, with the kind of disk.
    pub(crate) fn name(&self) -> String {
        let ordered = if self.metadata == MetadataMode::Ext4Ordered { ORDERED } else { "" };
        format!("{}{ordered}", self.script.0)
    }

    fn play(&self, tape: Option<Tape>, planned: Option<Planned>) -> Play {
        let options = SimOptions { metadata: self.metadata, space_bytes: None };
        let mut play = Play::new(SimDisk::new(1, options), engine_options(), tape, planned);
        play.random = Random::new(self.script.0.len() as u64);
        play
    }

    /// Runs the script on a disk on which all goes well.
    ///
    /// # Errors
    /// If not all goes well, or the database does not say in the end what it should.
    pub(crate) fn perform(self) -> Verdict<Performance> {
        let tape = Tape::default();
        let mut play = self.play(Some(tape.clone()), None);
        let result = (self.script.1)(&mut play).and_then(|()| match play.is_open() {
            true => play.check(),
            false => Ok(()),
        });
        match result {
            Ok(()) => {}
            Err(Stop::Found(violation)) => return Err(violation),
            Err(Stop::Stopped) => unreachable!("only failures stop"),
        }
        let cuts = tape.take_cuts();
        let options = play.options.clone();
        play.abandon(); // which closes the engine
        let mut histories = play.eras;
        histories.push(play.history);
        Ok(Performance { stage: self, cuts, histories, options, closed: play.disk })
    }

    /// Runs the script on a disk that fails. Answers the play as it ended, and whether that was
    /// before the script's end.
    ///
    /// # Errors
    /// What is wrong.
    pub(crate) fn perform_failing(self, planned: Planned) -> Verdict<(Play, bool)> {
        let mut play = self.play(None, Some(planned));
        let result = (self.script.1)(&mut play).and_then(|()| match play.is_open() {
            true => play.check(),
            false => Ok(()),
        });
        match result {
            Ok(()) => Ok((play, false)),
            Err(Stop::Stopped) => Ok((play, true)),
            Err(Stop::Found(violation)) => Err(violation),
        }
    }
}

/// Everything small.
pub(crate) fn engine_options() -> EngineOptions {
    let mut options = EngineOptions { node_bytes: 256, ..EngineOptions::stepped() };
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
