//! Counting instructions, which the rest of the machine does not disturb.
//!
//! The program starts itself under `valgrind --tool=callgrind` with a *case*: a named function that
//! does something so many times. It is run twice, with N rounds and with 2 N; the difference
//! divided by N is what one round costs, without start-up, warm-up and shutdown. Where valgrind
//! is not installed nothing is counted and the report says so.

use std::{
    env,
    process::{Command, Stdio},
};

use clap::{Arg, ArgMatches, value_parser};

use crate::{
    COUNT,
    experiment::{Lab, Outcome},
    experiments::EXPERIMENTS,
};

/// Something whose instructions can be counted.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// Does it this many times.
    pub(crate) run: fn(u64) -> Outcome<()>,
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
    let experiment = EXPERIMENTS.iter().find(|known| known.name == text("experiment"));
    let experiment = experiment.ok_or("there is no such experiment")?;
    let case = experiment.cases.iter().find(|known| known.name == text("case"));
    (case.ok_or("there is no such case")?.run)(given.get_one("rounds").copied().unwrap_or(1))
}

/// Instructions of one round of a case; `None` if nothing is to be counted, or valgrind is not
/// here. `rounds` must be enough that what happens now and then (a split, a flush of a group) evens
/// out.
pub(crate) fn per_round(lab: &Lab<'_>, case: &Case, rounds: u64) -> Outcome<Option<f64>> {
    if !lab.counts {
        return Ok(None);
    }
    let name = lab.experiment.name;
    let Some(once) = instructions(name, case.name, rounds)? else { return Ok(None) };
    let Some(twice) = instructions(name, case.name, 2 * rounds)? else { return Ok(None) };
    Ok(Some((twice as f64 - once as f64) / rounds as f64))
}

/// What a report says of a count.
pub(crate) fn shown(count: Option<f64>) -> serde_json::Value {
    let not = "not counted: no valgrind here, or --no-count";
    count.map_or_else(|| not.into(), |n| (n.round() as u64).into())
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
    let told = String::from_utf8_lossy(&output.stderr);
    match collected(&told) {
        Some(count) if output.status.success() => Ok(Some(count)),
        _ => Err(format!("valgrind failed: {told}").into()),
    }
}

/// The total in callgrind's last words: `==4711== Collected : 123456`.
fn collected(told: &str) -> Option<u64> {
    let line = told.lines().rev().find(|line| line.contains("Collected :"))?;
    line.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_read() {
        let told = "==7== Callgrind, a call-graph\n==7== Collected : 65477112\n==7== \n";
        assert_eq!(collected(told), Some(65_477_112));
        assert_eq!(collected("valgrind: what?"), None);
    }
}
