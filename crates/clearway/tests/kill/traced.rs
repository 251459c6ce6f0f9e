//! The process is killed at one of its system calls, or the call fails: the N-th write, sync,
//! allocation or rename. `strace` does it; without it these tests report that they are skipped.

use std::process::{Command, Stdio};

use clearway_testkit::Random;

use super::{Acknowledged, GRACE, Totals, Victim, check, directory, setting};
use crate::child::Role;

/// The system calls with which the engine changes its files.
const CALLS: [&str; 6] = ["pwritev2", "pwrite64", "fdatasync", "fsync", "fallocate", "renameat"];
/// Rounds of each test, unless the environment says otherwise.
const ROUNDS: u64 = 4;
/// Upper bound on the number of the call. A child makes later calls late or never.
const NUMBER_MAX: u64 = 60;

/// Whether `strace` is there and may trace.
pub(crate) fn can_trace() -> bool {
    let mut probe = Command::new("strace");
    probe.args(["-f", "-qqq", "-o", "/dev/null", "--", "true"]);
    probe.stdout(Stdio::null()).stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}

/// Returns the command line that injects `what` into call number `number` of `call`.
fn injection(call: &str, what: &str, number: u64) -> Vec<String> {
    let inject = format!("inject={call}:{what}:when={number}");
    let trace = format!("trace={call}");
    let line = ["strace", "-f", "-qqq", "-o", "/dev/null", "-e", &trace, "-e", &inject, "--"];
    line.map(String::from).to_vec()
}

#[test]
#[ignore = "a lane of its own: cargo xtask prove --minutes 5 --lane syscalls"]
fn killed_at_a_system_call_a_database_keeps_every_acknowledged_transaction() {
    if !can_trace() {
        println!("SKIPPED: strace is not there or may not trace");
        return;
    }
    let seed = setting("CLEARWAY_KILL_SEED", 1);
    let mut random = Random::new(seed ^ 0x57AC);
    let (mut struck, mut totals) = (0, Totals::default());
    for round in 0..setting("CLEARWAY_TRACED", ROUNDS) {
        let (place, mut acknowledged) = (directory(), Acknowledged::default());
        let path = place.path().join("db");
        // The first incarnation may be killed in the creation, the second in its recovery, the
        // third anywhere.
        for incarnation in 0..3 {
            let call = CALLS[random.below(CALLS.len() as u64) as usize];
            let wrapper = injection(call, "signal=KILL", 1 + random.below(NUMBER_MAX));
            let victim =
                Victim::start_under(&wrapper, &path, Role::Load, seed + 3 * round + incarnation);
            struck += u64::from(victim.die(&mut acknowledged, GRACE).is_some());
        }
        check(&path, &acknowledged, Role::Load, seed + round);
        totals.add(acknowledged.totals());
    }
    println!("{struck} processes died at a system call, {totals}");
    assert!(struck > 0, "no system call was struck");
}

#[test]
#[ignore = "a lane of its own: cargo xtask prove --minutes 5 --lane syscalls"]
fn refused_a_system_call_a_database_keeps_every_acknowledged_transaction() {
    if !can_trace() {
        println!("SKIPPED: strace is not there or may not trace");
        return;
    }
    let seed = setting("CLEARWAY_KILL_SEED", 1);
    let (mut random, mut totals) = (Random::new(seed ^ 0xE10), Totals::default());
    for round in 0..setting("CLEARWAY_TRACED", ROUNDS) {
        let (place, mut acknowledged) = (directory(), Acknowledged::default());
        let path = place.path().join("db");
        // Acknowledge some transactions first.
        let mut victim = Victim::start(&path, Role::Load, seed + round);
        victim.wait_open();
        victim.kill(&mut acknowledged);
        let call = CALLS[random.below(CALLS.len() as u64) as usize];
        let error = ["error=EIO", "error=ENOSPC"][random.below(2) as usize];
        let number = 1 + random.below(NUMBER_MAX);
        // The call fails once, or from this number on.
        let number = format!("{number}{}", ["", "+"][random.below(2) as usize]);
        let inject = format!("inject={call}:{error}:when={number}");
        let mut wrapper = injection(call, error, 1);
        wrapper[8] = inject;
        let victim = Victim::start_under(&wrapper, &path, Role::Load, seed + round + 1);
        victim.die(&mut acknowledged, GRACE);
        check(&path, &acknowledged, Role::Load, seed + round);
        totals.add(acknowledged.totals());
    }
    println!("{totals}, all found");
}
