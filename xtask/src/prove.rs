//! `cargo xtask prove`: runs every lane of the proof harness and reports which lanes ran, which
//! were skipped and what they found.
//!
//! A lane is a program or a test with a budget. One table (`lanes`) holds the budgets, for CI and
//! for a run of a given number of minutes, so that configuration alone determines how the lanes
//! share the time. A lane that cannot run on this machine counts as skipped, and the summary says
//! so.

mod lanes;
mod running;

use std::{fmt, path::Path, process::ExitCode, time::Duration};

use lanes::{LANES, Lane};

/// The budget of a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Budget {
    /// The fixed amount of work of a CI run.
    Ci,
    /// A number of minutes.
    Minutes(f64),
}

/// The command line's request.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Request {
    pub(crate) budget: Budget,
    /// The seed from which all lanes that have one start; if none is given, each has its own.
    pub(crate) seed: Option<u64>,
    /// Lanes by name; all if empty.
    pub(crate) lanes: Vec<String>,
    /// Builds the programs of the lanes, and runs none of them.
    pub(crate) only_build: bool,
}

/// The result of a lane.
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
    /// The lane's own last line, or the reason why it was skipped.
    summary: String,
}

impl fmt::Display for Result {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ending = match self.ending {
            Ending::Held => "held",
            Ending::Found => "FOUND",
            Ending::Skipped => "SKIPPED",
        };
        let seconds = self.took.as_secs_f64();
        write!(f, "{:<10} {ending:<8} {seconds:>7.1} s  {}", self.lane, self.summary)
    }
}

/// Reads `[--minutes M] [--seed S] [--lane L]... [--no-run]`.
pub(crate) fn parse(arguments: &[&str]) -> std::result::Result<Request, String> {
    let mut request =
        Request { budget: Budget::Ci, seed: None, lanes: Vec::new(), only_build: false };
    let mut rest = arguments.iter();
    while let Some(&option) = rest.next() {
        if option == "--no-run" {
            request.only_build = true;
            continue;
        }
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

/// Runs the requested lanes, or builds their programs.
pub(crate) fn run(root: &Path, request: &Request) -> ExitCode {
    let wanted = |lane: &&Lane| {
        request.lanes.is_empty() || request.lanes.iter().any(|name| name == lane.name)
    };
    let lanes: Vec<_> = LANES.iter().filter(wanted).collect();
    if request.only_build {
        return running::build_lanes(root, &lanes, request);
    }
    let results = running::run_lanes(root, lanes, request);
    clearway_console::say!("\n{:<10} {:<8} {:>9}", "lane", "", "took");
    results.iter().for_each(|result| clearway_console::say!("{result}"));
    let count = |which: fn(&Ending) -> bool| results.iter().filter(|r| which(&r.ending)).count();
    let found = count(|ending| matches!(ending, Ending::Found));
    let skipped = count(|ending| matches!(ending, Ending::Skipped));
    clearway_console::say!(
        "prove: {} lanes, {skipped} skipped, {found} with findings",
        results.len()
    );
    if found == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use super::{lanes::Work, *};

    #[test]
    fn the_documented_options_are_read() {
        let request = parse(&["--minutes", "60", "--seed", "0x1f", "--lane", "kill"]).unwrap();
        let lanes = vec!["kill".to_string()];
        let budget = Budget::Minutes(60.0);
        assert_eq!(request, Request { budget, seed: Some(31), lanes, only_build: false });
        assert_eq!(parse(&[]).unwrap().budget, Budget::Ci);
        assert!(parse(&["--no-run", "--lane", "kill"]).unwrap().only_build);
    }

    #[test]
    fn nonsense_is_refused() {
        for line in [&["--minutes"][..], &["--minutes", "-1"], &["--lane", "fast"], &["--x", "1"]] {
            assert!(parse(line).is_err(), "{line:?}");
        }
    }

    // A lane that runs another way than by `cargo run` and `cargo test` needs a way to be built, as
    // the hunt of planted bugs has one.
    #[test]
    fn lanes_are_built_without_running() {
        for (lane, budget) in
            LANES.iter().flat_map(|lane| [(lane, Budget::Ci), (lane, Budget::Minutes(600.0))])
        {
            for work in (lane.work)(budget, 7) {
                let line = work.building().arguments.join(" ");
                let is_hunt = line.contains(" -- mutants ");
                let is_built = line.starts_with("build ")
                    || (line.starts_with("test ") || is_hunt) && line.ends_with(" --no-run");
                assert!(is_built || line == "xtask mutants", "{}: {line}", lane.name);
                assert!(is_hunt || !line.contains(" -- "), "arguments of the program: {line}");
            }
        }
    }

    #[test]
    fn hunt_of_planted_bugs_builds_the_test_programs_of_its_lanes() {
        let hunt = LANES.iter().find(|lane| lane.name == "mutants").unwrap();
        let works = (hunt.work)(Budget::Ci, 7).into_iter().map(Work::building);
        let lines: Vec<_> = works.map(|work| work.arguments.join(" ")).collect();
        assert!(lines[1].contains(" -- mutants ") && lines[1].ends_with(" --no-run"), "{lines:?}");
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
