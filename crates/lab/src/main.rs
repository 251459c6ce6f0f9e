//! The `clearway-lab` program: the papers' experiments, one command each.
//!
//! Each experiment runs its variants in turn, in each repetition, so that other load on the machine
//! affects all of them alike. It prints ratios between variants of the same repetition.
//! `docs/lab.md` describes how to read the output and how to add an experiment.
//!
//! | code | meaning |
//! | --- | --- |
//! | 0 | the measurements satisfy every claim of the experiment |
//! | 1 | the experiment ran, and the measurements do not satisfy a claim |
//! | 2 | wrong usage |
//! | 3 | the experiment could not run |
//!
//! `clearway-lab all` runs all experiments, one after the other. Its exit code is the greatest of
//! theirs.

mod callgrind;
mod discard;
mod experiment;
mod experiments;
mod frame;
mod machine;
mod number;
mod perform;
mod report;
mod variants;

use std::process::ExitCode;

use clap::{ArgMatches, Args, Command};

use experiment::{Entry, Outcome};
use experiments::EXPERIMENTS;
use perform::{All, One};

/// The command with which the program counts its own instructions: see `callgrind`.
const COUNT: &str = "count";
/// The command that runs all experiments.
const ALL: &str = "all";

fn main() -> ExitCode {
    match run(&command().get_matches()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            clearway_console::tell!("clearway-lab: {error}");
            ExitCode::from(3)
        }
    }
}

/// Returns the command line, with one command for each experiment.
fn command() -> Command {
    let list = Command::new("list").about("List the experiments");
    let about = "Run all experiments, one after the other, and sum up their claims";
    let all = All::augment_args(Command::new(ALL)).about(about);
    let count = Command::new(COUNT).hide(true).args(callgrind::arguments());
    Command::new("clearway-lab")
        .about("The papers' experiments, run on this machine")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands([list, all, count])
        .subcommands(EXPERIMENTS.iter().map(command_of))
}

/// Returns an experiment's command, with its own options after the common ones.
fn command_of(experiment: &Entry) -> Command {
    let about = &experiment.about;
    let own = Command::new(about.name).after_help(format!("After: {}", about.source));
    // `about` is set last, because the option types set descriptions of their own.
    (experiment.options)(One::augment_args(own)).about(about.shows)
}

/// Runs a command. Returns true if every claim holds.
fn run(matches: &ArgMatches) -> Outcome<bool> {
    match matches.subcommand() {
        Some((COUNT, given)) => callgrind::run_case(given).map(|()| true),
        Some((ALL, given)) => perform::all(given),
        Some((name, given)) => match EXPERIMENTS.iter().find(|known| known.about.name == name) {
            Some(experiment) => perform::one(experiment, given),
            None => {
                report::list(EXPERIMENTS);
                Ok(true)
            }
        },
        None => Ok(true),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        command().debug_assert();
    }

    #[test]
    fn experiments_have_distinct_names_and_name_their_sources() {
        let names: HashSet<_> =
            EXPERIMENTS.iter().map(|experiment| experiment.about.name).collect();
        assert_eq!(names.len(), EXPERIMENTS.len());
        for Entry { about, cases, .. } in EXPERIMENTS {
            assert!(!about.shows.is_empty() && !about.source.is_empty());
            assert!(about.seconds > 0.0 && about.repetitions > 0);
            let names: HashSet<_> = cases.iter().map(|case| case.name).collect();
            assert_eq!(names.len(), cases.len(), "{}", about.name);
            assert!(cases.iter().all(|case| case.rounds > 0), "{}", about.name);
        }
    }
}
