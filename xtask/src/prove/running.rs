//! Runs the lanes, two at once, and passes on their output.
//!
//! Many lanes leave a core idle for a good part of their time: they build, wait for processes, or
//! end with one long test. One thread therefore takes lanes from the front of the list, where the
//! quick ones are, and another from the back. Each line of output carries the lane's name, unless
//! only one lane runs.

use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, Command, ExitCode, Stdio},
    sync::Mutex,
    thread,
    time::Instant,
};

use clearway_testkit::Drawn;

use super::{
    Budget, Ending, Request, Result,
    lanes::{FRESH, Lane, Work},
};

/// A lane and its place in the list.
type Numbered = (usize, &'static Lane);

/// Runs the lanes; the results are in the order of `lanes`.
pub(super) fn run_lanes(root: &Path, lanes: Vec<&'static Lane>, request: &Request) -> Vec<Result> {
    let is_alone = lanes.len() == 1;
    let waiting: Mutex<VecDeque<_>> = Mutex::new(lanes.into_iter().enumerate().collect());
    let results = Mutex::new(Vec::new());
    let turn = |next: fn(&mut VecDeque<Numbered>) -> Option<Numbered>| {
        loop {
            let Some((place, lane)) = next(&mut waiting.lock().expect("no turn panics")) else {
                return;
            };
            let teller = Teller { lane: lane.name, is_alone };
            let result = run_lane(root, lane, request, &teller);
            results.lock().expect("no turn panics").push((place, result));
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| turn(VecDeque::pop_front));
        scope.spawn(|| turn(VecDeque::pop_back));
    });
    let mut results = results.into_inner().expect("no turn panics");
    results.sort_by_key(|(place, _)| *place);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Builds the programs of the lanes, the longest lane's first; stops at the first that cannot be
/// built.
pub(super) fn build_lanes(root: &Path, lanes: &[&Lane], request: &Request) -> ExitCode {
    let lanes = lanes.iter().rev().filter(|lane| (lane.cannot)().is_none());
    let works = lanes.flat_map(|lane| (lane.work)(request.budget, 1));
    let mut built = Vec::new();
    for work in works.map(Work::building) {
        let line = work.to_string();
        if built.contains(&line) {
            continue;
        }
        clearway_console::say!("== {line}");
        let mut command = Command::new(&work.program);
        command.args(&work.arguments).envs(work.environment).current_dir(root.join(work.folder));
        if !command.status().is_ok_and(|status| status.success()) {
            return ExitCode::FAILURE;
        }
        built.push(line);
    }
    ExitCode::SUCCESS
}

/// Prints the output of a lane.
struct Teller {
    lane: &'static str,
    is_alone: bool,
}

impl Teller {
    fn line(&self, line: &str) {
        if self.is_alone {
            clearway_console::say!("{line}");
        } else {
            clearway_console::say!("{:<10} | {line}", self.lane);
        }
    }
}

fn run_lane(root: &Path, lane: &'static Lane, request: &Request, teller: &Teller) -> Result {
    let begun = Instant::now();
    let done = |ending, summary| Result { lane: lane.name, ending, took: begun.elapsed(), summary };
    if let Some(why) = (lane.cannot)() {
        return done(Ending::Skipped, why);
    }
    let (mut summary, mut drawn) = (String::new(), Drawn::default());
    let seed = request.seed.unwrap_or_else(|| seed_of(root, lane));
    let works = (lane.work)(request.budget, seed);
    if works.is_empty() {
        return done(Ending::Skipped, "left to `cargo test`, or to runs with --minutes".into());
    }
    for work in works {
        teller.line(&format!("== {}: {work}", teller.lane));
        match run_work(root, &work, teller, &mut drawn) {
            Ok(last) if last.starts_with(SKIPPED) => return done(Ending::Skipped, last),
            Ok(last) => summary = last,
            Err(last) => {
                teller.line(&format!("== {} found something; to repeat it: {work}", teller.lane));
                return done(Ending::Found, last);
            }
        }
    }
    match never_drawn(lane, request.budget, &drawn) {
        None => done(Ending::Held, summary),
        Some(orders) => done(Ending::Found, orders),
    }
}

/// In a run of fewer minutes, a lane need not draw every order of keys.
const MINUTES_FOR_ALL_ORDERS: f64 = 5.0;

/// The orders of keys that a lane should have met and has not.
fn never_drawn(lane: &Lane, budget: Budget, drawn: &Drawn) -> Option<String> {
    let is_enough = match budget {
        Budget::Ci => true,
        Budget::Minutes(minutes) => minutes >= MINUTES_FOR_ALL_ORDERS,
    };
    let missing = drawn.missing_orders();
    if !lane.draws_patterns || !is_enough || missing.is_empty() {
        return None;
    }
    Some(format!("these orders of keys were never drawn: {}", missing.join(", ")))
}

/// The seed of a lane for which none was given.
fn seed_of(root: &Path, lane: &Lane) -> u64 {
    if FRESH.contains(&lane.name) { commit_number(root).unwrap_or(1) } else { 1 }
}

/// A number derived from the commit: each commit uses new seeds, and uses the same ones when it is
/// run again.
fn commit_number(root: &Path) -> Option<u64> {
    let mut git = Command::new("git");
    let said = git.args(["rev-parse", "--short=8", "HEAD"]).current_dir(root).output().ok()?;
    let digits = String::from_utf8(said.stdout).ok()?;
    // Far enough apart for as many seeds as a run uses.
    u64::from_str_radix(digits.trim(), 16).ok().map(|number| number << 20)
}

/// The prefix of a test's line when the machine lacks a requirement of the test.
const SKIPPED: &str = "SKIPPED";

/// Runs one command and passes on its output. Returns its last line on standard output, or the line
/// that reports a skip.
fn run_work(
    root: &Path,
    work: &Work,
    teller: &Teller,
    drawn: &mut Drawn,
) -> std::result::Result<String, String> {
    let mut command = Command::new(&work.program);
    command
        .args(&work.arguments)
        .envs(work.environment.iter().cloned())
        .current_dir(root.join(work.folder));
    let started = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = started.map_err(|error| format!("cannot start {}: {error}", work.program))?;
    let last = pass_on(&mut child, teller, drawn);
    match child.wait() {
        Ok(status) if status.success() => Ok(last),
        Ok(status) => Err(format!("{status}: {last}")),
        Err(error) => Err(error.to_string()),
    }
}

/// Passes on the child's output until it ends, and adds up the patterns that it has drawn. Returns
/// the line that sums up the run.
fn pass_on(child: &mut Child, teller: &Teller, drawn: &mut Drawn) -> String {
    let (output, errors) = (child.stdout.take(), child.stderr.take());
    let mut last = String::new();
    thread::scope(|scope| {
        scope.spawn(|| lines_of(errors).for_each(|line| teller.line(&line)));
        for line in lines_of(output) {
            teller.line(&line);
            if let Some(more) = Drawn::parse(&line) {
                drawn.merge(&more);
            }
            if !line.trim().is_empty() && !last.starts_with(SKIPPED) {
                last = line;
            }
        }
    });
    last
}

fn lines_of(pipe: Option<impl Read>) -> impl Iterator<Item = String> {
    pipe.into_iter().flat_map(|pipe| BufReader::new(pipe).lines().map_while(std::io::Result::ok))
}

#[cfg(test)]
mod tests {
    use clearway_testkit::Order;

    use super::{super::lanes::LANES, *};

    /// Every order with every lane that draws them: a cell that was not drawn is a finding.
    #[test]
    fn a_lane_that_never_draws_an_order_has_found_something() {
        let all = |but: Option<Order>| {
            let mut drawn = Drawn::default();
            let others = Order::ALL.into_iter().filter(|order| Some(*order) != but);
            others.for_each(|order| drawn.add(order.name(), 3));
            drawn
        };
        for lane in LANES {
            assert_eq!(never_drawn(lane, Budget::Ci, &all(None)), None, "{}", lane.name);
            for order in Order::ALL {
                let found = never_drawn(lane, Budget::Ci, &all(Some(order)));
                let names_it = found.is_some_and(|found| found.ends_with(order.name()));
                assert_eq!(names_it, lane.draws_patterns, "{}, {order:?}", lane.name);
            }
            assert_eq!(never_drawn(lane, Budget::Minutes(1.0), &Drawn::default()), None);
        }
    }

    #[test]
    fn the_lanes_that_draw_patterns_are_those_of_the_documentation() {
        let drawing: Vec<_> =
            LANES.iter().filter(|lane| lane.draws_patterns).map(|lane| lane.name).collect();
        assert_eq!(drawing, ["fuzz", "corruption", "images", "simulation", "kill", "histories"]);
    }
}
