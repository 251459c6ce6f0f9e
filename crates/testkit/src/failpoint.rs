//! Death at a failpoint of the engine, for tests that kill a process at a chosen moment.
//!
//! `CLEARWAY_FAILPOINT=name:7` kills a process that has called [`arm_from_environment`] when it
//! passes that point for the seventh time: with `SIGKILL`, as everybody would who wants it dead, so
//! nothing unwinds, nothing is flushed, and no other thread has a last word.

use std::{env, sync::OnceLock};

use clearway_base::failpoint::{self, Failpoint};
use clearway_sync::{Mutex, thread};
use rustix::process::{Signal, getpid, kill_process};

/// The environment variable that names the failpoint and the passage.
pub const VARIABLE: &str = "CLEARWAY_FAILPOINT";

/// The failpoint at which the process dies, and how often it may still pass it.
struct Armed {
    point: Failpoint,
    left: Mutex<u64>,
}

static ARMED: OnceLock<Armed> = OnceLock::new();

impl Armed {
    fn parse(line: &str) -> Option<Armed> {
        let (name, passage) = line.split_once(':')?;
        let point = Failpoint::ALL.iter().copied().find(|point| point.name() == name)?;
        let left = passage.parse().ok().filter(|passage| *passage > 0)?;
        Some(Armed { point, left: Mutex::new(left) })
    }
}

/// Has the process die at the failpoint that the environment names; does nothing if it names none.
///
/// # Panics
/// If the variable cannot be read, or if this was called before: no test passes because a failpoint
/// could not act.
pub fn arm_from_environment() {
    let Some(line) = env::var_os(VARIABLE) else { return };
    let line = line.to_string_lossy();
    let Some(armed) = Armed::parse(&line) else {
        panic!("{VARIABLE}={line} is not `name:passage`");
    };
    assert!(ARMED.set(armed).is_ok(), "a failpoint is armed already");
    failpoint::install(die_if_due);
}

fn die_if_due(point: Failpoint) {
    let Some(armed) = ARMED.get().filter(|armed| armed.point == point) else { return };
    let mut left = armed.left.lock();
    *left = left.saturating_sub(1);
    if *left == 0 {
        // The signal is delivered before the call returns; the loop is for the compiler. The mutex
        // stays locked, so no other thread gets beyond this point.
        let _ = kill_process(getpid(), Signal::KILL);
        loop {
            thread::park();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_and_a_passage_are_read() {
        let armed = Armed::parse("copies-safe:7").unwrap();
        assert_eq!(armed.point, Failpoint::CopiesSafe);
        assert_eq!(*armed.left.lock(), 7);
        for line in ["copies-safe", "copies-safe:0", "copies-safe:x", "nowhere:1", ""] {
            assert!(Armed::parse(line).is_none(), "{line:?}");
        }
    }
}
