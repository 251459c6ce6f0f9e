//! A process is killed (`SIGKILL`) at random times, under load and during recovery. Afterwards
//! every acknowledged transaction is there completely, and no other transaction is there in part.
//!
//! The child is this test binary, started again with a role in its environment. It reports each
//! acknowledged transaction on standard output, after its `Pending` was ready. The parent kills the
//! child, opens the directory after some of the kills, and compares.
//!
//! `CLEARWAY_KILLS=1000 cargo test --test kill` kills more often; `CLEARWAY_KILL_SEED=7` repeats a
//! seed (the times of the kills depend on the operating system and do not repeat). The processes
//! that open one directory one after the other are the incarnations of its database.

mod bank;
mod child;
mod failpoints;
mod patterned;
mod power;
mod restless;
mod traced;

use std::{
    collections::HashMap,
    io::{BufRead, BufReader},
    ops::Range,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use clearway_sync::thread;
use clearway_testkit::Drawn;
use clearway_testkit::Random;

use bank::Books;
use child::{Role, options};

/// Kills under load, unless the environment says otherwise.
const KILLS: u64 = 104;
/// Kills between two checks of the directory.
const KILLS_BETWEEN_CHECKS: u64 = 4;
/// Kills in one directory; a new one follows, so that checks stay short.
const KILLS_PER_DIRECTORY: u64 = 26;
/// Time within which a child must end by itself after a fault.
const GRACE: Duration = Duration::from_secs(1);
/// Client numbers from here on belong to no client of the bank; the check of the module that uses
/// such a number defines what its acknowledgements mean.
const NO_CLIENT: u64 = 1 << 32;
/// Upper bound on the time under load after the database is open.
const LOAD_MAX_MS: u64 = 160;
/// Rounds of the recovery test, and kills of recovery in each.
const RECOVERY_ROUNDS: u64 = 6;
const RECOVERY_KILLS: u64 = 6;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// The acknowledged transactions: the highest sequence of each client, over all incarnations.
type Acknowledged = HashMap<u64, u64>;

/// A running child; killed when it goes out of scope.
struct Victim {
    process: Child,
    reader: thread::JoinHandle<(Vec<(u64, u64)>, bool)>,
    opened: std::sync::mpsc::Receiver<()>,
}

impl Victim {
    fn start(path: &Path, role: Role, seed: u64) -> Victim {
        Victim::start_under(&[], path, role, seed)
    }

    /// Starts the child as an argument of another program.
    fn start_under(wrapper: &[String], path: &Path, role: Role, seed: u64) -> Victim {
        let this = std::env::current_exe().unwrap();
        let mut command = match wrapper.split_first() {
            None => Command::new(&this),
            Some((program, arguments)) => {
                let mut command = Command::new(program);
                command.args(arguments).arg(&this);
                command
            }
        };
        let mut process = command
            .process_group(0)
            .args(["--exact", "child_process", "--nocapture", "--test-threads=1"])
            .env(child::ROLE, role.name())
            .env(child::DIRECTORY, path)
            .env(child::SEED, seed.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = process.stdout.take().unwrap();
        let (sender, opened) = std::sync::mpsc::channel();
        let reader = thread::spawn(move || {
            let (mut acknowledged, mut open) = (Vec::new(), false);
            let mut lines = BufReader::new(output);
            let mut line = String::new();
            // A line without its end was cut off by the kill and is ignored.
            while lines.read_line(&mut line).unwrap_or(0) > 0 && line.ends_with('\n') {
                let words: Vec<&str> = line.split_whitespace().collect();
                match words[..] {
                    ["open"] => {
                        open = true;
                        let _ = sender.send(());
                    }
                    ["ack", client, sequence] => {
                        acknowledged.push((client.parse().unwrap(), sequence.parse().unwrap()))
                    }
                    _ => {}
                }
                line.clear();
            }
            (acknowledged, open)
        });
        Victim { process, reader, opened }
    }

    /// Waits until the child has opened the database.
    fn wait_open(&mut self) {
        if self.opened.recv_timeout(Duration::from_secs(60)).is_err() {
            let _ = self.process.kill();
            panic!("the child did not open the database: {:?}", self.process.wait());
        }
    }

    /// Kills the child and adds what it acknowledged. Returns true if it had opened the database.
    fn kill(mut self, acknowledged: &mut Acknowledged) -> bool {
        self.process.kill().unwrap();
        let status = self.process.wait().unwrap();
        assert!(status.code().is_none(), "the child ended by itself: {status}");
        self.collect(acknowledged)
    }

    /// Waits at most `patience` for the child to end because of its fault, then kills it. Adds what
    /// it acknowledged. Returns its status if it ended before that.
    fn die(mut self, acknowledged: &mut Acknowledged, patience: Duration) -> Option<ExitStatus> {
        let begun = Instant::now();
        let mut status = self.process.try_wait().unwrap();
        while status.is_none() && begun.elapsed() < patience {
            thread::sleep(Duration::from_millis(5));
            status = self.process.try_wait().unwrap();
        }
        if status.is_none() {
            // Kill the whole group: a process whose tracer is killed goes on.
            let group = format!("-{}", self.process.id());
            let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
            self.process.wait().unwrap();
        }
        self.collect(acknowledged);
        status
    }

    fn collect(self, acknowledged: &mut Acknowledged) -> bool {
        let (lines, open) = self.reader.join().unwrap();
        for (client, sequence) in lines {
            let highest = acknowledged.entry(client).or_insert(0);
            let is_new = sequence > *highest || client >= NO_CLIENT && sequence == *highest;
            assert!(is_new, "client {client}: {sequence} after {highest}");
            *highest = sequence;
        }
        open
    }
}

/// Opens the directory and checks everything. Returns the patterns of keys that are in it.
fn check(path: &Path, acknowledged: &Acknowledged, role: Role, seed: u64) -> Drawn {
    let db = options(role, seed).open(path).unwrap();
    let books = Books::open(&db).unwrap();
    books.check(acknowledged);
    let drawn = patterned::check(&db, &books, acknowledged);
    db.verify().unwrap();
    db.close().unwrap();
    drawn
}

/// Kills children in a directory of their own. Returns the number of transactions that were
/// acknowledged there and the patterns of keys that were loaded.
fn kill_under_load(kills: Range<u64>, seed: u64) -> (u64, Drawn) {
    let mut random = Random::new(seed + kills.start);
    let (place, mut acknowledged) = (directory(), Acknowledged::new());
    let (path, mut drawn) = (place.path().join("db"), Drawn::default());
    for kill in kills.clone() {
        let mut victim = Victim::start(&path, Role::Load, seed + kill);
        victim.wait_open();
        thread::sleep(Duration::from_micros(random.below(LOAD_MAX_MS * 1_000)));
        victim.kill(&mut acknowledged);
        if (kill + 1) % KILLS_BETWEEN_CHECKS == 0 || kill + 1 == kills.end {
            drawn = check(&path, &acknowledged, Role::Load, seed + kill);
        }
    }
    let clients = acknowledged.iter().filter(|(client, _)| **client < NO_CLIENT);
    (clients.map(|(_, sequence)| sequence).sum(), drawn)
}

#[test]
fn killed_under_load_a_database_keeps_every_acknowledged_transaction() {
    let (kills, seed) = (setting("CLEARWAY_KILLS", KILLS), setting("CLEARWAY_KILL_SEED", 1));
    let (next, total) = (AtomicU64::new(0), AtomicU64::new(0));
    let drawn = Mutex::new(Drawn::default());
    // Two directories at a time: most of the time of a kill is spent waiting for it.
    let worker = || loop {
        let first = next.fetch_add(KILLS_PER_DIRECTORY, Ordering::Relaxed);
        if first >= kills {
            break;
        }
        let last = kills.min(first + KILLS_PER_DIRECTORY);
        let (acknowledged, met) = kill_under_load(first..last, seed);
        total.fetch_add(acknowledged, Ordering::Relaxed);
        drawn.lock().unwrap().merge(&met);
    };
    std::thread::scope(|scope| {
        scope.spawn(worker);
        scope.spawn(worker);
    });
    let total = total.into_inner();
    let drawn = drawn.into_inner().unwrap();
    println!("{drawn}");
    println!("{kills} kills, {total} acknowledged transactions, all found");
    if kills >= KILLS {
        assert_eq!(
            drawn.missing_orders(),
            Vec::<&str>::new(),
            "orders that no incarnation has loaded"
        );
    }
    assert!(total > kills, "the load acknowledged next to nothing");
}

#[test]
fn killed_during_recovery_a_database_keeps_every_acknowledged_transaction() {
    let rounds = setting("CLEARWAY_KILLS", RECOVERY_ROUNDS * RECOVERY_KILLS) / RECOVERY_KILLS;
    let seed = setting("CLEARWAY_KILL_SEED", 1);
    let mut random = Random::new(seed ^ 0xDEAD);
    let mut before_open = 0;
    for round in 0..rounds.max(1) {
        let (place, mut acknowledged) = (directory(), Acknowledged::new());
        let path = place.path().join("db");
        // No checkpoints: all of the load is replayed by each recovery that comes through.
        let mut victim = Victim::start(&path, Role::LoadWithoutCheckpoints, seed + round);
        victim.wait_open();
        thread::sleep(Duration::from_millis(200 + random.below(200)));
        victim.kill(&mut acknowledged);
        // The time of an undisturbed recovery is not known in advance, so the kills are spread over
        // a window that grows after each kill that came too early and shrinks after the others.
        let mut window_us = 40_000;
        for attempt in 0..RECOVERY_KILLS {
            let victim = Victim::start(&path, Role::Recover, seed + round + attempt);
            let run_us = random.below(window_us);
            thread::sleep(Duration::from_micros(run_us));
            let opened = victim.kill(&mut acknowledged);
            before_open += u64::from(!opened);
            window_us = if opened { (run_us * 3 / 4).max(4_000) } else { window_us * 3 / 2 };
        }
        check(&path, &acknowledged, Role::Recover, seed + round);
        // The recovered database works like any other.
        let again = seed + rounds + round;
        let mut victim = Victim::start(&path, Role::LoadWithoutCheckpoints, again);
        victim.wait_open();
        thread::sleep(Duration::from_millis(50));
        victim.kill(&mut acknowledged);
        check(&path, &acknowledged, Role::Recover, seed + round);
    }
    println!("{before_open} kills came before recovery was done");
    assert!(before_open > 0, "no kill hit a recovery");
}

/// Not an independent test: the children of the tests above run it.
#[test]
fn child_process() {
    child::run_if_asked();
}
