//! The zoo: plants each bug in turn and sees which lane catches it, and how fast.
//!
//! A bug lives in a process of its own, this program again with `CLEARWAY_BUG` set, so that none
//! can hide another. The lanes are tried in the order of the bug's row, until one fails.

mod kennel;

use std::{
    io::{BufRead, BufReader, Read, Write},
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use clearway_base::zoo::Bug;
use kennel::{Lane, lanes_of};

/// What to run.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Bugs by name; all if empty.
    pub bugs: Vec<String>,
    /// How long each lane may take for each bug.
    pub time: Duration,
    /// Where the lanes' seeds begin.
    pub seed: u64,
}

/// A lane that has not ended by now hangs, which is noticing something as well. Far more than any
/// takes on a slow machine, or waits for another build: being slow must not pass for a catch.
const HANG: Duration = Duration::from_secs(900);

/// Runs the zoo; true if every bug was caught.
pub fn run(choice: &Choice) -> bool {
    if !clearway_base::zoo::IS_OPEN {
        clearway_console::say!("zoo: SKIPPED, this program was built without the feature `zoo`");
        return false;
    }
    // Builds them, too: these lanes are test programs, and cargo runs them.
    for lane in kennel::TESTS {
        if !lane.command(choice).status().is_ok_and(|status| status.success()) {
            clearway_console::say!("zoo: the lane `{}` fails without a bug", lane.name());
            return false;
        }
    }
    let chosen = |bug: &&Bug| choice.bugs.is_empty() || choice.bugs.iter().any(|n| n == bug.name());
    let (mut caught, mut all) = (0, 0);
    clearway_console::say!("{:<26} {:<8} {:>8}  what it does", "bug", "lane", "after");
    for bug in Bug::ALL.iter().filter(chosen) {
        all += 1;
        let (lane, after) = hunt(*bug, choice);
        caught += usize::from(lane.is_some());
        let lane = lane.map_or("NOBODY", Lane::name);
        let after = format!("{:.1} s", after.as_secs_f64());
        clearway_console::say!("{:<26} {lane:<8} {after:>8}  {}", bug.name(), bug.what());
        let _ = std::io::stdout().flush();
    }
    clearway_console::say!("zoo: {caught} of {all} planted bugs caught");
    caught == all
}

/// The lane that caught `bug`, and the time that all lanes took for it together.
fn hunt(bug: Bug, choice: &Choice) -> (Option<Lane>, Duration) {
    let begun = Instant::now();
    for &lane in lanes_of(bug) {
        if catches(lane, bug, choice) {
            return (Some(lane), begun.elapsed());
        }
    }
    (None, begun.elapsed())
}

/// Runs one lane with one bug; whether it failed.
fn catches(lane: Lane, bug: Bug, choice: &Choice) -> bool {
    let mut command = lane.command(choice);
    command.env("CLEARWAY_BUG", bug.name()).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return false };
    let Some(output) = child.stdout.take() else { return false };
    // Ends by itself when the lane does.
    let failure = thread::spawn(move || says_failed(output));
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

/// Reads a lane's output to its end, or to the first test that failed: the others need not run.
fn says_failed(output: impl Read) -> bool {
    let mut lines = BufReader::new(output).lines().map_while(Result::ok);
    lines.any(|line| line.ends_with("FAILED"))
}

fn kill(child: &mut Child) {
    // The group: a test program is the child of cargo.
    let group = format!("-{}", child.id());
    let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
    let _ = child.wait();
}

impl Lane {
    fn command(self, choice: &Choice) -> Command {
        if let Some(tests) = self.tests() {
            let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
            // In the profile of this program, so that the engine is built once for both.
            command.args(["test", "--quiet", "--profile", "prove"]);
            command.args(["--features", "clearway-base/zoo"]);
            command.args(tests.split(' '));
            return command;
        }
        let this = std::env::current_exe().expect("a running program has a path");
        let mut command = Command::new(this);
        let minutes = format!("{}", choice.time.as_secs_f64() / 60.0);
        let seed = format!("{:#x}", choice.seed);
        match self {
            Lane::Stepped => command.args(["stepped", "--minutes", &minutes, "--seed", &seed]),
            Lane::Images => command.args(["images", "--images", "4000", "--seed", &seed]),
            Lane::Creations => {
                command.args(["images", "--script", "create", "--all", "--recovery"])
            }
            Lane::Flips => command.args(["flips", "--flips", "3000", "--seed", &seed]),
            _ => unreachable!("returned above: it is the tests of a crate"),
        };
        command
    }
}
