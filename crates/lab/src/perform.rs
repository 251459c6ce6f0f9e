//! What the experiments' commands do: run, print the report, write it.

use std::{path::PathBuf, time::Duration};

use clap::{ArgMatches, Args, FromArgMatches};

use crate::{
    callgrind::{self, Counts},
    experiment::{Entry, Lab, Outcome},
    report::{self, Setup},
};

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
    json: Option<PathBuf>,
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 1e6 => Ok(seconds),
        _ => Err(format!("{text:?} is not a number of seconds above 0")),
    }
}

/// Runs one experiment. Returns whether all that it must show was seen.
pub(crate) fn one(experiment: &Entry, given: &ArgMatches) -> Outcome<bool> {
    let common = Common::from_arg_matches(given)?;
    let about = &experiment.about;
    let counts = if common.no_count { Counts::default() } else { callgrind::count(experiment)? };
    let time = Duration::from_secs_f64(common.seconds.unwrap_or(about.seconds));
    let repetitions = common.repetitions.unwrap_or(about.repetitions);
    let found = (experiment.run)(Lab { time, repetitions, counts }, given)?;
    let setup = Setup { about, time, repetitions };
    clearway_console::offer!("{}", report::to_text(&setup, &found).trim_end());
    if let Some(path) = &common.json {
        let text = format!("{:#}\n", report::to_json(&setup, &found));
        let written = std::fs::write(path, text);
        written.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(found.all_shown())
}
