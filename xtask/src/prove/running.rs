//! Runs the lanes, two at once, and passes on what they say.
//!
//! Many lanes leave a core idle for a good part of their time: they build, wait for processes, or
//! end with one long test. So one turn takes them from the front of the list, where the quick ones
//! stand, and one from the back. Each line that a lane says bears its name, unless it is the only
//! one.

use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Mutex,
    thread,
    time::Instant,
};

use super::{
    Ending, Request, Result,
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

/// Prints what a lane says.
struct Teller {
    lane: &'static str,
    is_alone: bool,
}

impl Teller {
    fn line(&self, line: &str) {
        if self.is_alone {
            clearway_console::say!("{line}");
        } else {
            clearway_console::say!("{:<9} | {line}", self.lane);
        }
    }
}

fn run_lane(root: &Path, lane: &'static Lane, request: &Request, teller: &Teller) -> Result {
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
        teller.line(&format!("== {}: {work}", teller.lane));
        match run_work(root, &work, teller) {
            Ok(last) if last.starts_with(SKIPPED) => return done(Ending::Skipped, last),
            Ok(last) => told = last,
            Err(last) => {
                teller.line(&format!("== {} found something; to repeat it: {work}", teller.lane));
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
fn run_work(root: &Path, work: &Work, teller: &Teller) -> std::result::Result<String, String> {
    let mut command = Command::new(&work.program);
    command.args(&work.arguments).envs(work.environment.iter().cloned()).current_dir(root);
    let started = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = started.map_err(|error| format!("cannot start {}: {error}", work.program))?;
    let last = pass_on(&mut child, teller);
    match child.wait() {
        Ok(status) if status.success() => Ok(last),
        Ok(status) => Err(format!("{status}: {last}")),
        Err(error) => Err(error.to_string()),
    }
}

/// Passes on what the child says until it ends; the line that stands for it.
fn pass_on(child: &mut Child, teller: &Teller) -> String {
    let (output, errors) = (child.stdout.take(), child.stderr.take());
    let mut last = String::new();
    thread::scope(|scope| {
        scope.spawn(|| lines_of(errors).for_each(|line| teller.line(&line)));
        for line in lines_of(output) {
            teller.line(&line);
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
