//! What an experiment is, and what it is given to run.
//!
//! An experiment is a file in `experiments` with a constant of this type, and a line in the list
//! there. It measures with [`Samples::take`](crate::variants::Samples::take), which does the
//! taking in turn, and returns what it found; printing and writing are not its business.

use std::{error::Error, path::PathBuf, time::Duration};

use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::{callgrind::Case, report::Findings};

/// Experiments fail for many reasons and nobody tells them apart.
pub(crate) type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// One experiment.
pub(crate) struct Experiment {
    /// The command that runs it.
    pub(crate) name: &'static str,
    /// The paper and the figure that it is after.
    pub(crate) source: &'static str,
    /// What it must show, in a sentence.
    pub(crate) shows: &'static str,
    /// How long each variant runs in each repetition, in seconds, unless told otherwise. Chosen so
    /// that the whole experiment ends within three minutes.
    pub(crate) seconds: f64,
    /// How often each variant runs, unless told otherwise.
    pub(crate) repetitions: u32,
    /// Adds the options of its own: `Options::augment_args` of a type that derives `clap::Args`, or
    /// `|command| command` if it has none.
    pub(crate) options: fn(Command) -> Command,
    /// Runs it.
    pub(crate) run: fn(&Lab<'_>) -> Outcome<Findings>,
    /// What it counts instructions of, if anything.
    pub(crate) cases: &'static [Case],
}

/// The options that all experiments have.
#[derive(Args, Debug)]
pub(crate) struct Common {
    /// How long each variant runs in each repetition, in seconds
    #[arg(long, value_parser = parse_seconds)]
    seconds: Option<f64>,
    /// How often each variant runs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: Option<u32>,
    /// Do not count instructions, which takes some seconds
    #[arg(long)]
    no_count: bool,
    /// Write what was measured to this file too
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 1e6 => Ok(seconds),
        _ => Err(format!("{text:?} is not a number of seconds above 0")),
    }
}

/// What an experiment is given.
pub(crate) struct Lab<'a> {
    /// The experiment itself.
    pub(crate) experiment: &'a Experiment,
    /// How long each variant runs in each repetition.
    pub(crate) time: Duration,
    /// How often each variant runs.
    pub(crate) repetitions: u32,
    /// Whether instructions are counted.
    pub(crate) counts: bool,
    given: &'a ArgMatches,
}

impl<'a> Lab<'a> {
    pub(crate) fn new(
        experiment: &'a Experiment,
        common: &Common,
        given: &'a ArgMatches,
    ) -> Lab<'a> {
        Lab {
            experiment,
            time: Duration::from_secs_f64(common.seconds.unwrap_or(experiment.seconds)),
            repetitions: common.repetitions.unwrap_or(experiment.repetitions),
            counts: !common.no_count,
            given,
        }
    }

    /// The experiment's own options, as its type reads them.
    pub(crate) fn options<T: FromArgMatches>(&self) -> Outcome<T> {
        Ok(T::from_arg_matches(self.given)?)
    }
}
