//! Mutants: planted bugs that others have had in the engine's techniques. Each must be caught.
//!
//! A mutant is a patch file under `crates/prove/mutants`. `cargo xtask mutants` applies all of them
//! to a copy of the sources; this program, built there, runs the engine with one mutant at a time.
//! The mutant is alive in a process of its own, started with `CLEARWAY_MUTANT` set, so that none
//! can hide another. The lanes are tried in the order that the patch names, until one fails.

mod catalogue;
mod filters;
mod lane;

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use catalogue::Mutant;
use lane::Lane;

/// The environment variable that names the mutant that is alive in a process.
pub(crate) const VARIABLE: &str = "CLEARWAY_MUTANT";

/// The parameters of a hunt.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Mutants by name; all if empty.
    pub names: Vec<String>,
    /// Time limit of each lane for each mutant.
    pub time: Duration,
    /// First seed of the lanes.
    pub seed: u64,
    /// Builds the test programs of the lanes, checks their filters, and hunts nothing.
    pub only_build: bool,
}

/// A lane that runs longer than this hangs, which counts as a catch. Far more than any lane takes
/// on a slow machine, or waits for another build: slowness must not count as a catch.
const HANG: Duration = Duration::from_secs(900);

/// Hunts the chosen mutants; returns true if every one was caught.
pub fn run(choice: &Choice) -> bool {
    hunt_all(choice).unwrap_or_else(|error| {
        clearway_console::say!("mutants: {error}");
        false
    })
}

fn hunt_all(choice: &Choice) -> io::Result<bool> {
    if !are_planted() {
        let message = "this program was built from sources without mutants; run `cargo xtask \
                       mutants`, and then this command in target/mutants";
        return Err(io::Error::other(message));
    }
    let mutants = chosen(&choice.names)?;
    // These also build the test programs, which cargo runs.
    filters::check(&mutants)?;
    if choice.only_build {
        return Ok(true);
    }
    for lane in Lane::TESTS {
        if !lane.command(choice).status()?.success() {
            return Err(io::Error::other(format!("the lane `{}` fails by itself", lane.name())));
        }
    }
    let mut caught = 0;
    clearway_console::say!("{:<28} {:<10} {:>8}  description", "mutant", "lane", "after");
    for mutant in &mutants {
        let (lane, after) = hunt(mutant, choice);
        caught += usize::from(lane.is_some());
        let lane = lane.map_or("SURVIVED", Lane::name);
        let after = format!("{:.1} s", after.as_secs_f64());
        let Mutant { name, description, .. } = mutant;
        clearway_console::say!("{name:<28} {lane:<10} {after:>8}  {description}");
        io::stdout().flush()?;
    }
    clearway_console::say!("mutants: {caught} of {} planted bugs caught", mutants.len());
    Ok(caught == mutants.len())
}

/// Returns true if the sources of this program contain the switch of the mutants.
fn are_planted() -> bool {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../base/src/mutant.rs")).exists()
}

/// Returns the mutants with the given names, or all if there are no names.
fn chosen(names: &[String]) -> io::Result<Vec<Mutant>> {
    let mut mutants = catalogue::read()?;
    if let Some(unknown) = names.iter().find(|name| !mutants.iter().any(|m| m.name == **name)) {
        return Err(io::Error::other(format!("there is no mutant `{unknown}`")));
    }
    mutants.retain(|mutant| names.is_empty() || names.contains(&mutant.name));
    Ok(mutants)
}

/// Returns the lane that caught the mutant, and the time that all lanes took together.
fn hunt(mutant: &Mutant, choice: &Choice) -> (Option<Lane>, Duration) {
    let begun = Instant::now();
    let lane = mutant.lanes.iter().find(|lane| catches(**lane, mutant, choice));
    (lane.copied(), begun.elapsed())
}

/// Runs one lane with the mutant alive; returns true if it failed.
fn catches(lane: Lane, mutant: &Mutant, choice: &Choice) -> bool {
    let mut command = lane.command(choice);
    command.env(VARIABLE, &mutant.name).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return false };
    let Some(output) = child.stdout.take() else { return false };
    // Ends by itself when the lane does.
    let failure = thread::spawn(move || reports_failure(output));
    let deadline = Instant::now() + HANG;
    while Instant::now() < deadline && !failure.is_finished() {
        match child.try_wait() {
            Ok(Some(status)) => return !status.success(),
            Ok(None) => thread::sleep(Duration::from_millis(20)),
            Err(_) => break,
        }
    }
    if failure.is_finished() && !failure.join().unwrap_or(false) {
        // It has closed its output, and is about to end.
        return child.wait().is_ok_and(|status| !status.success());
    }
    kill(&mut child);
    true
}

/// Reads a lane's output to its end, or to the first failed test: the others need not run.
fn reports_failure(output: impl Read) -> bool {
    let mut lines = BufReader::new(output).lines().map_while(Result::ok);
    lines.any(|line| line.ends_with("FAILED"))
}

fn kill(child: &mut Child) {
    // The process group: a test program is a child of cargo.
    let group = format!("-{}", child.id());
    let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
    let _ = child.wait();
}
