//! Counts instructions, which other load on the machine does not affect.
//!
//! The program starts itself under `valgrind --tool=callgrind` with a *case*: a named function that
//! repeats an operation a given number of times. The case runs twice, with N rounds and with 2 N.
//! The difference divided by N is the cost of one round, without start-up, warm-up and shutdown. If
//! valgrind is not installed, nothing is counted, and the report states that.

use std::{
    env,
    process::{Command, Stdio},
};

use clap::{Arg, ArgMatches, value_parser};

use crate::{
    COUNT,
    experiment::{Entry, Outcome},
    experiments::EXPERIMENTS,
};

/// An operation whose instructions can be counted.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// The number of rounds to count: enough that rare events (a split, a flush of a group) average
    /// out.
    pub(crate) rounds: u64,
    /// Runs the operation the given number of times.
    pub(crate) run: fn(u64) -> Outcome<()>,
}

/// The instructions of one round of each case; empty if they were not counted.
#[derive(Default)]
pub(crate) struct Counts(Vec<(&'static str, f64)>);

impl Counts {
    /// Returns the instructions of one round of the case of this name.
    pub(crate) fn of(&self, case: &str) -> Option<f64> {
        self.0.iter().find(|(name, _)| *name == case).map(|(_, count)| *count)
    }

    /// Returns the counts in the order of the cases, or `None` if nothing was counted.
    pub(crate) fn all(&self) -> Option<Vec<f64>> {
        (!self.0.is_empty()).then(|| self.0.iter().map(|(_, count)| *count).collect())
    }

    /// Returns the count of a case in the form in which a report shows it.
    pub(crate) fn shown(&self, case: &str) -> serde_json::Value {
        let not = "not counted: no valgrind here, or --no-count";
        self.of(case).map_or_else(|| not.into(), |count| (count.round() as u64).into())
    }
}

/// Returns the arguments of the command `count`, which runs a case and is used by this module only.
pub(crate) fn arguments() -> [Arg; 3] {
    ["experiment", "case", "rounds"].map(|name| {
        let arg = Arg::new(name).required(true);
        if name == "rounds" { arg.value_parser(value_parser!(u64)) } else { arg }
    })
}

/// Runs the command `count`.
pub(crate) fn run_case(given: &ArgMatches) -> Outcome<()> {
    let text = |name| given.get_one::<String>(name).map_or("", String::as_str);
    let experiment = EXPERIMENTS.iter().find(|known| known.about.name == text("experiment"));
    let experiment = experiment.ok_or("there is no such experiment")?;
    let case = experiment.cases.iter().find(|known| known.name == text("case"));
    (case.ok_or("there is no such case")?.run)(given.get_one("rounds").copied().unwrap_or(1))
}

/// Counts all cases of an experiment. Nothing is counted if valgrind is not installed.
pub(crate) fn count(experiment: &Entry) -> Outcome<Counts> {
    let mut counts = Counts::default();
    for Case { name, rounds, .. } in experiment.cases {
        let count = |rounds| instructions(experiment.about.name, name, rounds);
        let (Some(once), Some(twice)) = (count(*rounds)?, count(2 * rounds)?) else {
            return Ok(Counts::default());
        };
        counts.0.push((name, (twice as f64 - once as f64) / *rounds as f64));
    }
    Ok(counts)
}

fn instructions(experiment: &str, case: &str, rounds: u64) -> Outcome<Option<u64>> {
    clearway_console::tell!("counting the instructions of {rounds} rounds: {case}");
    let child = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--max-threads=2000"])
        .arg(env::current_exe()?)
        .args([COUNT, experiment, case, &rounds.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output();
    let output = match child {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let text = String::from_utf8_lossy(&output.stderr);
    match collected(&text) {
        Some(count) if output.status.success() => Ok(Some(count)),
        _ => Err(format!("valgrind failed: {text}").into()),
    }
}

/// Returns the total from the end of callgrind's output: `==4711== Collected : 123456`.
fn collected(text: &str) -> Option<u64> {
    let line = text.lines().rev().find(|line| line.contains("Collected :"))?;
    line.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_read() {
        let text = "==7== Callgrind, a call-graph\n==7== Collected : 65477112\n==7== \n";
        assert_eq!(collected(text), Some(65_477_112));
        assert_eq!(collected("valgrind: what?"), None);
    }
}
