//! Counting instructions, which the rest of the machine does not disturb.
//!
//! The program starts itself under `valgrind --tool=callgrind` with a *case*: a named function that
//! does something a given number of times. It is run twice, with N rounds and with 2 N; the
//! difference divided by N is what one round costs, without start-up, warm-up and shutdown. Where
//! valgrind is not installed nothing is counted and the report says so.

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

/// Something whose instructions can be counted.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// How often it is done when it is counted: enough that what happens now and then (a split, a
    /// flush of a group) evens out.
    pub(crate) rounds: u64,
    /// Does it this many times.
    pub(crate) run: fn(u64) -> Outcome<()>,
}

/// Instructions of one round of each case; none if they were not counted.
#[derive(Default)]
pub(crate) struct Counts(Vec<(&'static str, f64)>);

impl Counts {
    /// Instructions of one round of the case of this name.
    pub(crate) fn of(&self, case: &str) -> Option<f64> {
        self.0.iter().find(|(name, _)| *name == case).map(|(_, count)| *count)
    }

    /// The counts in the order of the cases.
    pub(crate) fn all(&self) -> Option<Vec<f64>> {
        (!self.0.is_empty()).then(|| self.0.iter().map(|(_, count)| *count).collect())
    }

    /// The count of a case as a report shows it.
    pub(crate) fn shown(&self, case: &str) -> serde_json::Value {
        let not = "not counted: no valgrind here, or --no-count";
        self.of(case).map_or_else(|| not.into(), |count| (count.round() as u64).into())
    }
}

/// The arguments of the command `count`, which runs a case and is for this module only.
pub(crate) fn arguments() -> [Arg; 3] {
    ["experiment", "case", "rounds"].map(|name| {
        let arg = Arg::new(name).required(true);
        if name == "rounds" { arg.value_parser(value_parser!(u64)) } else { arg }
    })
}

/// The command `count`.
pub(crate) fn run_case(given: &ArgMatches) -> Outcome<()> {
    let text = |name| given.get_one::<String>(name).map_or("", String::as_str);
    let experiment = EXPERIMENTS.iter().find(|known| known.about.name == text("experiment"));
    let experiment = experiment.ok_or("there is no such experiment")?;
    let case = experiment.cases.iter().find(|known| known.name == text("case"));
    (case.ok_or("there is no such case")?.run)(given.get_one("rounds").copied().unwrap_or(1))
}

/// Counts all cases of an experiment. Nothing is counted where valgrind is not installed.
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

/// The total in callgrind's last words: `==4711== Collected : 123456`.
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
