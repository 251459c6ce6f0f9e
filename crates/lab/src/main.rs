//! The `clearway-lab` program: the papers' experiments, one command each.
//!
//! Each experiment runs its variants in turn in one run, again in each repetition, so that whatever
//! else the machine does hits all of them alike; what it prints are ratios between variants of the
//! same repetition. `docs/lab.md` says how to read the output and how to add an experiment.
//!
//! | code | meaning |
//! | --- | --- |
//! | 0 | everything that the experiment must show was seen |
//! | 1 | it ran, and something that it must show was not seen |
//! | 2 | wrong usage |
//! | 3 | it could not run |

mod callgrind;
mod discard;
mod experiment;
mod experiments;
mod machine;
mod report;
mod table;
mod variants;

use std::process::ExitCode;

use clap::{ArgMatches, Args, Command, FromArgMatches};

use experiment::{Common, Experiment, Lab, Outcome};
use experiments::EXPERIMENTS;

/// The command by which the program counts its own instructions: see `callgrind`.
const COUNT: &str = "count";

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

/// One command for each experiment, with its own options after the common ones.
fn command() -> Command {
    let list = Command::new("list").about("List the experiments");
    let count = Command::new(COUNT).hide(true).args(callgrind::arguments());
    let mut command = Command::new("clearway-lab")
        .about("The papers' experiments, run on this machine")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands([list, count]);
    for experiment in EXPERIMENTS {
        let own = Command::new(experiment.name).after_help(format!("After: {}", experiment.source));
        // Last: the types of the options describe themselves.
        let own = (experiment.options)(Common::augment_args(own)).about(experiment.shows);
        command = command.subcommand(own);
    }
    command
}

/// Whether all that must be shown was seen.
fn run(matches: &ArgMatches) -> Outcome<bool> {
    match matches.subcommand() {
        Some((COUNT, given)) => callgrind::run_case(given).map(|()| true),
        Some((name, given)) => match EXPERIMENTS.iter().find(|known| known.name == name) {
            Some(experiment) => perform(experiment, given),
            None => {
                report::list(EXPERIMENTS);
                Ok(true)
            }
        },
        None => Ok(true),
    }
}

fn perform(experiment: &Experiment, given: &ArgMatches) -> Outcome<bool> {
    let common = Common::from_arg_matches(given)?;
    let lab = Lab::new(experiment, &common, given);
    let findings = (experiment.run)(&lab)?;
    clearway_console::offer!("{}", report::to_text(&lab, &findings).trim_end());
    if let Some(path) = &common.json {
        let text = format!("{:#}\n", report::to_json(&lab, &findings));
        let written = std::fs::write(path, text);
        written.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(findings.claims.iter().all(|claim| claim.holds))
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
    fn experiments_have_names_of_their_own_and_say_what_they_are_after() {
        let names: HashSet<_> = EXPERIMENTS.iter().map(|experiment| experiment.name).collect();
        assert_eq!(names.len(), EXPERIMENTS.len());
        for experiment in EXPERIMENTS {
            assert!(!experiment.shows.is_empty() && !experiment.source.is_empty());
            assert!(experiment.seconds > 0.0 && experiment.repetitions > 0);
            let cases: HashSet<_> = experiment.cases.iter().map(|case| case.name).collect();
            assert_eq!(cases.len(), experiment.cases.len(), "{}", experiment.name);
        }
    }
}
