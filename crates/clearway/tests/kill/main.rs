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
mod tasks;
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

/// The acknowledged transactions of all incarnations of a database.
#[derive(Default)]
struct Acknowledged {
    /// The highest sequence of each client.
    highest: HashMap<u64, u64>,
    /// The number of transactions that children acknowledged whose clients are tasks.
    by_tasks: u64,
}

impl Acknowledged {
    fn totals(&self) -> Totals {
        let clients = self.highest.iter().filter(|(client, _)| **client < NO_CLIENT);
        Totals { all: clients.map(|(_, sequence)| sequence).sum(), by_tasks: self.by_tasks }
    }
}

/// Numbers of acknowledged transactions.
#[derive(Clone, Copy, Default)]
struct Totals {
    all: u64,
    by_tasks: u64,
}

impl Totals {
    fn add(&mut self, other: Totals) {
        self.all += other.all;
        self.by_tasks += other.by_tasks;
    }

    /// Panics unless both drivers have run transactions.
    fn assert_both_drivers(self) {
        assert!((1..self.all).contains(&self.by_tasks), "one driver ran alone: {self}");
    }
}

impl std::fmt::Display for Totals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} acknowledged transactions, {} of them by tasks", self.all, self.by_tasks)
    }
}

/// The report of a child until its end.
#[derive(Default)]
struct Heard {
    /// Clients with the sequences that were acknowledged to them.
    acknowledged: Vec<(u64, u64)>,
    is_open: bool,
    has_tasks: bool,
}

/// A running child; killed when it goes out of scope.
struct Victim {
    process: Child,
    reader: thread::JoinHandle<Heard>,
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
            let mut heard = Heard::default();
            let mut lines = BufReader::new(output);
            let mut line = String::new();
            // A line without its end was cut off by the kill and is ignored.
            while lines.read_line(&mut line).unwrap_or(0) > 0 && line.ends_with('\n') {
                let words: Vec<&str> = line.split_whitespace().collect();
                match words[..] {
                    ["open"] => {
                        heard.is_open = true;
                        let _ = sender.send(());
                    }
                    [child::BY_TASKS] => heard.has_tasks = true,
                    ["ack", client, sequence] => {
                        let numbers = (client.parse().unwrap(), sequence.parse().unwrap());
                        heard.acknowledged.push(numbers);
                    }
                    _ => {}
                }
                line.clear();
            }
            heard
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
        let heard = self.reader.join().unwrap();
        for (client, sequence) in heard.acknowledged {
            let highest = acknowledged.highest.entry(client).or_insert(0);
            acknowledged.by_tasks += u64::from(heard.has_tasks && client < NO_CLIENT);
            let is_new = sequence > *highest || client >= NO_CLIENT && sequence == *highest;
            assert!(is_new, "client {client}: {sequence} after {highest}");
            *highest = sequence;
        }
        heard.is_open
    }
}

/// Opens the directory and checks everything. Returns the patterns of keys that are in it.
fn check(path: &Path, acknowledged: &Acknowledged, role: Role, seed: u64) -> Drawn {
    let db = options(role, seed).open(path).unwrap();
    let books = Books::open(&db).unwrap();
    books.check(&acknowledged.highest);
    let drawn = patterned::check(&db, &books, acknowledged);
    db.verify().unwrap();
    db.close().unwrap();
    drawn
}

/// Kills children in a directory of their own. Returns the number of transactions that were
/// acknowledged there and the patterns of keys that were loaded.
fn kill_under_load(kills: Range<u64>, seed: u64) -> (Totals, Drawn) {
    let mut random = Random::new(seed + kills.start);
    let (place, mut acknowledged) = (directory(), Acknowledged::default());
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
    (acknowledged.totals(), drawn)
}

#[test]
fn killed_under_load_a_database_keeps_every_acknowledged_transaction() {
    let (kills, seed) = (setting("CLEARWAY_KILLS", KILLS), setting("CLEARWAY_KILL_SEED", 1));
    let (next, totals) = (AtomicU64::new(0), Mutex::new(Totals::default()));
    let drawn = Mutex::new(Drawn::default());
    // Two directories at a time: most of the time of a kill is spent waiting for it.
    let worker = || loop {
        let first = next.fetch_add(KILLS_PER_DIRECTORY, Ordering::Relaxed);
        if first >= kills {
            break;
        }
        let last = kills.min(first + KILLS_PER_DIRECTORY);
        let (acknowledged, met) = kill_under_load(first..last, seed);
        totals.lock().unwrap().add(acknowledged);
        drawn.lock().unwrap().merge(&met);
    };
    std::thread::scope(|scope| {
        scope.spawn(worker);
        scope.spawn(worker);
    });
    let totals = totals.into_inner().unwrap();
    let drawn = drawn.into_inner().unwrap();
    println!("{drawn}");
    println!("{kills} kills, {totals}, all found");
    if kills >= KILLS {
        totals.assert_both_drivers();
        assert_eq!(
            drawn.missing_orders(),
            Vec::<&str>::new(),
            "orders that no incarnation has loaded"
        );
    }
    assert!(totals.all > kills, "the load acknowledged next to nothing");
}

#[test]
fn killed_during_recovery_a_database_keeps_every_acknowledged_transaction() {
    let rounds = setting("CLEARWAY_KILLS", RECOVERY_ROUNDS * RECOVERY_KILLS) / RECOVERY_KILLS;
    let seed = setting("CLEARWAY_KILL_SEED", 1);
    let mut random = Random::new(seed ^ 0xDEAD);
    let mut before_open = 0;
    for round in 0..rounds.max(1) {
        let (place, mut acknowledged) = (directory(), Acknowledged::default());
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
