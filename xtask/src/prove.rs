//! `cargo xtask prove`: runs every lane of the proof harness and tells what ran, what was skipped
//! and what was found.
//!
//! A lane is a program or a test with a budget. What the budget of each is, for CI and for a run
//! of so many minutes, stands in one table (`lanes`), so that they share the time by configuration.
//! A lane that cannot run on this machine counts as skipped, and the summary says so.

mod lanes;

use std::{
    fmt,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use lanes::{FRESH, LANES, Lane, Work};

/// How much to run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Budget {
    /// What every CI run does.
    Ci,
    /// What so many minutes allow.
    Minutes(f64),
}

/// What the command line asks for.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Request {
    pub(crate) budget: Budget,
    /// The seed from which all lanes that have one start; if none is given, each has its own.
    pub(crate) seed: Option<u64>,
    /// Lanes by name; all if empty.
    pub(crate) lanes: Vec<String>,
}

/// How a lane ended.
enum Ending {
    Held,
    Found,
    Skipped,
}

/// One line of the summary.
struct Result {
    lane: &'static str,
    ending: Ending,
    took: Duration,
    /// The lane's own last line, or why it was skipped.
    told: String,
}

impl fmt::Display for Result {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ending = match self.ending {
            Ending::Held => "held",
            Ending::Found => "FOUND",
            Ending::Skipped => "SKIPPED",
        };
        let seconds = self.took.as_secs_f64();
        write!(f, "{:<10} {ending:<8} {seconds:>7.1} s  {}", self.lane, self.told)
    }
}

/// Reads `[--minutes M] [--seed S] [--lane L]...`.
pub(crate) fn parse(arguments: &[&str]) -> std::result::Result<Request, String> {
    let mut request = Request { budget: Budget::Ci, seed: None, lanes: Vec::new() };
    let mut rest = arguments.iter();
    while let Some(&option) = rest.next() {
        let value = *rest.next().ok_or(format!("{option} needs a value"))?;
        let bad = || format!("{option} cannot be {value:?}");
        match option {
            "--minutes" => {
                let minutes: f64 = value.parse().map_err(|_| bad())?;
                if !(minutes > 0.0 && minutes < 1e6) {
                    return Err(bad());
                }
                request.budget = Budget::Minutes(minutes);
            }
            "--seed" => {
                let parsed = match value.strip_prefix("0x") {
                    Some(digits) => u64::from_str_radix(digits, 16),
                    None => value.parse(),
                };
                request.seed = Some(parsed.map_err(|_| bad())?);
            }
            "--lane" if LANES.iter().any(|lane| lane.name == value) => {
                request.lanes.push(value.to_string());
            }
            "--lane" => {
                let names: Vec<_> = LANES.iter().map(|lane| lane.name).collect();
                return Err(format!("there is no lane {value:?}; there are {}", names.join(", ")));
            }
            _ => return Err(format!("there is no option {option:?}")),
        }
    }
    Ok(request)
}

/// Runs what is asked for.
pub(crate) fn run(root: &Path, request: &Request) -> ExitCode {
    let wanted = |lane: &&Lane| {
        request.lanes.is_empty() || request.lanes.iter().any(|name| name == lane.name)
    };
    let results: Vec<Result> =
        LANES.iter().filter(wanted).map(|lane| run_lane(root, lane, request)).collect();
    println!("\n{:<10} {:<8} {:>9}", "lane", "", "took");
    results.iter().for_each(|result| println!("{result}"));
    let count = |which: fn(&Ending) -> bool| results.iter().filter(|r| which(&r.ending)).count();
    let found = count(|ending| matches!(ending, Ending::Found));
    let skipped = count(|ending| matches!(ending, Ending::Skipped));
    println!("prove: {} lanes, {skipped} skipped, {found} with findings", results.len());
    if found == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run_lane(root: &Path, lane: &'static Lane, request: &Request) -> Result {
    let begun = Instant::now();
    let done = |ending, told| Result { lane: lane.name, ending, took: begun.elapsed(), told };
    if let Some(why) = (lane.cannot)() {
        return done(Ending::Skipped, why);
    }
    let mut told = String::new();
    let seed = request.seed.unwrap_or_else(|| seed_of(root, lane));
    let works = (lane.work)(request.budget, seed);
    if works.is_empty() {
        return done(Ending::Skipped, "left to `cargo test`, or to runs with --minutes".into());
    }
    for work in works {
        println!("\n== {}: {work}", lane.name);
        match run_work(root, &work) {
            Ok(last) if last.starts_with(SKIPPED) => return done(Ending::Skipped, last),
            Ok(last) => told = last,
            Err(last) => {
                println!("== {} found something; to repeat it: {work}", lane.name);
                return done(Ending::Found, last);
            }
        }
    }
    done(Ending::Held, told)
}

/// The seed of a lane for which none was given.
fn seed_of(root: &Path, lane: &Lane) -> u64 {
    if FRESH.contains(&lane.name) { commit_number(root).unwrap_or(1) } else { 1 }
}

/// A number that follows from the commit: each commit meets seeds that no other has met, and meets
/// the same when it is run again.
fn commit_number(root: &Path) -> Option<u64> {
    let mut git = Command::new("git");
    let said = git.args(["rev-parse", "--short=8", "HEAD"]).current_dir(root).output().ok()?;
    let digits = String::from_utf8(said.stdout).ok()?;
    // Far enough from one another for as many seeds as a run takes.
    u64::from_str_radix(digits.trim(), 16).ok().map(|number| number << 20)
}

/// How a test begins its line when the machine lacks what it needs.
const SKIPPED: &str = "SKIPPED";

/// Runs one command, passing its output on; its last line on standard output, or the one that says
/// that it was skipped.
fn run_work(root: &Path, work: &Work) -> std::result::Result<String, String> {
    let mut command = Command::new(&work.program);
    command.args(&work.arguments).envs(work.environment.iter().cloned()).current_dir(root);
    let started = command.stdout(Stdio::piped()).spawn();
    let mut child = started.map_err(|error| format!("cannot start {}: {error}", work.program))?;
    let mut last = String::new();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines().map_while(std::result::Result::ok) {
            println!("{line}");
            if !line.trim().is_empty() && !last.starts_with(SKIPPED) {
                last = line;
            }
        }
    }
    match child.wait() {
        Ok(status) if status.success() => Ok(last),
        Ok(status) => Err(format!("{status}: {last}")),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_options_are_read() {
        let request = parse(&["--minutes", "60", "--seed", "0x1f", "--lane", "kill"]).unwrap();
        let lanes = vec!["kill".to_string()];
        assert_eq!(request, Request { budget: Budget::Minutes(60.0), seed: Some(31), lanes });
        assert_eq!(parse(&[]).unwrap().budget, Budget::Ci);
    }

    #[test]
    fn nonsense_is_refused() {
        for line in [&["--minutes"][..], &["--minutes", "-1"], &["--lane", "fast"], &["--x", "1"]] {
            assert!(parse(line).is_err(), "{line:?}");
        }
    }

    #[test]
    fn every_lane_has_work_when_there_is_time() {
        for lane in LANES {
            for budget in [Budget::Minutes(1.0), Budget::Minutes(600.0)] {
                assert!(!(lane.work)(budget, 7).is_empty(), "{}", lane.name);
            }
        }
    }
}
