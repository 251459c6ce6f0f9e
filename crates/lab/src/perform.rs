//! The commands that run one experiment or all of them, print the reports and write them to files.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{ArgMatches, Args, Command, FromArgMatches, builder::PossibleValuesParser};

use crate::{
    callgrind::{self, Counts},
    experiment::{Entry, Findings, Lab, Outcome},
    experiments::EXPERIMENTS,
    report::{self, Setup, Summary},
};

/// The options of each command that runs experiments.
#[derive(Args, Debug)]
struct Common {
    /// Time that each variant runs in each repetition, in seconds
    #[arg(long, value_parser = parse_seconds)]
    seconds: Option<f64>,
    /// Number of runs of each variant
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: Option<u32>,
    /// Do not count instructions, which takes some seconds
    #[arg(long)]
    no_count: bool,
}

/// The options that all experiments have.
#[derive(Args, Debug)]
pub(crate) struct One {
    #[command(flatten)]
    common: Common,
    /// Also write the measurements to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The options of the command that runs all experiments.
#[derive(Args, Debug)]
pub(crate) struct All {
    #[command(flatten)]
    common: Common,
    /// Also write the measurements to this directory, each experiment to a file NAME.json as soon
    /// as it has run
    #[arg(long, value_name = "DIR")]
    json: Option<PathBuf>,
    /// Only these experiments, in the order of the list
    #[arg(long, value_name = "NAME", value_delimiter = ',', hide_possible_values = true,
          value_parser = PossibleValuesParser::new(names()))]
    only: Vec<String>,
}

fn names() -> impl Iterator<Item = &'static str> {
    EXPERIMENTS.iter().map(|experiment| experiment.about.name)
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 1e6 => Ok(seconds),
        _ => Err(format!("{text:?} is not a number of seconds above 0")),
    }
}

/// Runs one experiment with the given options. Returns true if all its claims hold.
pub(crate) fn one(experiment: &Entry, given: &ArgMatches) -> Outcome<bool> {
    let One { common, json } = One::from_arg_matches(given)?;
    Ok(run(experiment, &common, given, json.as_deref())?.all_shown())
}

/// Runs all experiments, or the selected ones, one after the other, each with the defaults of its
/// own options, and prints a summary. Returns true if all claims hold. If an experiment cannot run,
/// the others still run, and an error is returned at the end.
pub(crate) fn all(given: &ArgMatches) -> Outcome<bool> {
    let All { common, json, only } = All::from_arg_matches(given)?;
    if let Some(dir) = &json {
        fs::create_dir_all(dir)
            .map_err(|error| format!("cannot create {}: {error}", dir.display()))?;
    }
    let is_selected = |experiment: &&Entry| {
        only.is_empty() || only.iter().any(|name| name == experiment.about.name)
    };
    let mut summary = Summary::default();
    for experiment in EXPERIMENTS.iter().filter(is_selected) {
        let name = experiment.about.name;
        clearway_console::tell!("experiment: {name}");
        let file = json.as_ref().map(|dir| dir.join(name).with_extension("json"));
        let own = (experiment.options)(Command::new(name)).get_matches_from([name]);
        match run(experiment, &common, &own, file.as_deref()) {
            Ok(found) => summary.ran(name, &found),
            Err(error) => {
                clearway_console::tell!("{name}: {error}");
                summary.failed(name, error.as_ref());
            }
        }
        clearway_console::offer!("");
    }
    clearway_console::offer!("{}", summary.to_text().trim_end());
    match summary.failures() {
        0 => Ok(summary.all_shown()),
        1 => Err("an experiment could not run".into()),
        failures => Err(format!("{failures} experiments could not run").into()),
    }
}

/// Runs an experiment, prints its report and writes it to `json`.
fn run(
    experiment: &Entry,
    common: &Common,
    own: &ArgMatches,
    json: Option<&Path>,
) -> Outcome<Findings> {
    let about = &experiment.about;
    let counts = if common.no_count { Counts::default() } else { callgrind::count(experiment)? };
    let time = Duration::from_secs_f64(common.seconds.unwrap_or(about.seconds));
    let repetitions = common.repetitions.unwrap_or(about.repetitions);
    let found = (experiment.run)(Lab { time, repetitions, counts }, own)?;
    let setup = Setup { about, time, repetitions };
    clearway_console::offer!("{}", report::to_text(&setup, &found).trim_end());
    if let Some(path) = json {
        let text = format!("{:#}\n", report::to_json(&setup, &found));
        let written = fs::write(path, text);
        written.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(found)
}
