//! The zoo: plants each bug in turn and sees which lane catches it, and how fast.
//!
//! A bug lives in a process of its own, this program again with `CLEARWAY_BUG` set, so that none
//! can hide another. The lanes are tried in the order of the bug's row, until one fails.

mod kennel;

use std::{
    io::Write,
    process::{Command, Stdio},
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

/// How a lane ended with a bug in the engine.
enum Hunt {
    Caught,
    Escaped,
    Skipped,
}

/// Runs the zoo; true if every bug was caught.
pub fn run(choice: &Choice) -> bool {
    if !clearway_base::zoo::IS_OPEN {
        println!("zoo: SKIPPED, this program was built without the feature `zoo`");
        return false;
    }
    // Builds the specs, too: they are a test program, and cargo runs it.
    if let Some(mut command) = Lane::Specs.command(choice)
        && !command.status().is_ok_and(|status| status.success())
    {
        println!("zoo: the isolation specs fail without a bug");
        return false;
    }
    let chosen = |bug: &&Bug| choice.bugs.is_empty() || choice.bugs.iter().any(|n| n == bug.name());
    let (mut caught, mut all) = (0, 0);
    println!("{:<26} {:<8} {:>8}  what it does", "bug", "lane", "after");
    for bug in Bug::ALL.iter().filter(chosen) {
        all += 1;
        let (lane, after) = hunt(*bug, choice);
        caught += usize::from(lane.is_some());
        let lane = lane.map_or("NOBODY", Lane::name);
        let after = format!("{:.1} s", after.as_secs_f64());
        println!("{:<26} {lane:<8} {after:>8}  {}", bug.name(), bug.what());
        let _ = std::io::stdout().flush();
    }
    println!("zoo: {caught} of {all} planted bugs caught");
    caught == all
}

/// The lane that caught `bug`, and the time that all lanes took for it together.
fn hunt(bug: Bug, choice: &Choice) -> (Option<Lane>, Duration) {
    let begun = Instant::now();
    for &lane in lanes_of(bug) {
        if let Hunt::Caught = send(lane, bug, choice) {
            return (Some(lane), begun.elapsed());
        }
    }
    (None, begun.elapsed())
}

/// Runs one lane with one bug.
fn send(lane: Lane, bug: Bug, choice: &Choice) -> Hunt {
    let Some(mut command) = lane.command(choice) else { return Hunt::Skipped };
    command.env("CLEARWAY_BUG", bug.name());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return Hunt::Skipped };
    // A lane that is stuck has noticed something as well.
    let deadline = Instant::now() + choice.time + Duration::from_secs(15);
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Hunt::Escaped,
            Ok(Some(_)) | Err(_) => return Hunt::Caught,
            Ok(None) if Instant::now() > deadline => {
                let _ = child.kill();
                let _ = child.wait();
                return Hunt::Caught;
            }
            Ok(None) => thread::sleep(Duration::from_millis(20)),
        }
    }
}

impl Lane {
    fn command(self, choice: &Choice) -> Option<Command> {
        if self == Lane::Specs {
            let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
            let line = "test --quiet -p clearway-txn --test isolation --features clearway-base/zoo";
            command.args(line.split(' '));
            return Some(command);
        }
        let mut command = Command::new(std::env::current_exe().ok()?);
        let minutes = format!("{}", choice.time.as_secs_f64() / 60.0);
        let seed = format!("{:#x}", choice.seed);
        match self {
            Lane::Stepped => command.args(["stepped", "--minutes", &minutes, "--seed", &seed]),
            Lane::Images => command.args(["images", "--images", "4000", "--seed", &seed]),
            Lane::Flips => command.args(["flips", "--flips", "3000", "--seed", &seed]),
            Lane::Specs => unreachable!("returned above"),
        };
        Some(command)
    }
}
