//! Incarnations: a database that runs in a child process and is killed, with one history over all
//! its incarnations.
//!
//! Each thread of the child appends its events to a file of its own, with one write for each line.
//! An invocation is therefore on record before its operations start, and a kill loses at most the
//! last line. The child prints a dot for every few invocations, from which the parent decides when
//! to kill it. The last incarnation runs in the parent itself, which reads everything at the end.

use std::{
    collections::HashSet,
    fs::{File, OpenOptions},
    io::{Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use clap::ValueEnum;
use clearway_check::{
    clock, format,
    history::{Event, History, Phase},
    workload::{self, EngineStore, Settings, Sink, Workload},
};
use clearway_sync::{
    atomic::{AtomicU64, Ordering},
    thread,
};
use clearway_testkit::Random;

use crate::{
    args::{IncarnationArgs, Kind},
    failure::Failure,
    run::{kind_of, node_bytes, options, record_incarnation},
};

/// Number of invocations per dot.
const INVOCATIONS_PER_DOT: u64 = 10;
/// Upper bound on the time between a child's last counted transaction and the kill.
const GRACE_MAX_US: u64 = 5_000;
/// Upper bound on a child's transactions; the kill comes long before.
const TRANSACTIONS_MAX: u64 = 400_000;
/// Upper bound on the file numbers of a child's threads.
const FRAGMENTS_MAX: u64 = 64;

fn fragment_path(folder: &Path, incarnation: u64, number: u64) -> PathBuf {
    folder.join(format!("fragment-{incarnation}-{number}"))
}

/// The log fragment of one thread: writes events into a file of its own.
struct Fragment {
    file: File,
    invocations: u64,
}

impl Sink for Fragment {
    fn record(&mut self, event: &Event) {
        let line = format::event_line(event) + "\n";
        self.file.write_all(line.as_bytes()).expect("an event cannot be written down");
        if event.phase == Phase::Invoke {
            self.invocations += 1;
            if self.invocations.is_multiple_of(INVOCATIONS_PER_DOT) {
                let mut output = std::io::stdout().lock();
                let _ = output.write_all(b".").and_then(|()| output.flush());
            }
        }
    }
}

/// Runs the child: opens the database and works until the parent kills it.
pub(crate) fn run_child(args: &IncarnationArgs) -> Result<u8, Failure> {
    let failed = |error: clearway::Error| Failure::work(&args.database, &error);
    let database = options(args.seed).open(&args.database).map_err(failed)?;
    let nodes = node_bytes(args.seed);
    let store = EngineStore::with_patterns(database, args.seed, nodes).map_err(failed)?;
    let workload = args.workload.workload(0);
    let settings = Settings {
        incarnation: args.incarnation,
        issued_before: args.issued_before,
        ..Settings::new(workload, args.seed, TRANSACTIONS_MAX)
    };
    let fragments = AtomicU64::new(0);
    let sink = || {
        let number = fragments.fetch_add(1, Ordering::Relaxed); // a number of its own, no more
        let path = fragment_path(&args.events, args.incarnation, number);
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .expect("a file for events cannot be opened");
        Fragment { file, invocations: 0 }
    };
    workload::run_with(&store, &settings, &sink, &drop).map_err(failed)?;
    Err(Failure::Work("the child was not killed".to_owned()))
}

/// Records one history with `crashes` kills in it.
pub(crate) fn record(
    place: &Path,
    workload: Workload,
    seed: u64,
    transactions: u64,
    crashes: u64,
) -> Result<History, Failure> {
    let mut random = Random::stream(seed, u64::MAX);
    let mut history = History::default();
    let share = transactions / (crashes + 1);
    let mut issued = 0;
    for incarnation in 0..crashes {
        let mut child = start(place, workload, seed, incarnation, issued)?;
        let count = share / 2 + random.below(share.max(1));
        let waited = wait_for_invocations(&mut child, count, random.below(GRACE_MAX_US));
        let _ = child.kill();
        let status = child.wait().map_err(|error| Failure::work(place, &error))?;
        let crash = clock::now_ns();
        if waited.is_err() || status.code().is_some() {
            return Err(Failure::Work(format!(
                "the child of incarnation {incarnation} failed: {status}"
            )));
        }
        issued += gather(place, incarnation, crash, &mut history)?;
    }
    let settings = Settings {
        incarnation: crashes,
        issued_before: issued,
        ..Settings::new(workload, seed, transactions.saturating_sub(issued).max(share / 2))
    };
    let (last, result) = record_incarnation(&place.join("database"), &settings)?;
    result.map_err(|error| Failure::work(place, &error))?;
    history.events.extend(last.events);
    (history.workload, history.seed) = (last.workload, last.seed);
    history.sort();
    Ok(history)
}

fn start(
    place: &Path,
    workload: Workload,
    seed: u64,
    incarnation: u64,
    issued: u64,
) -> Result<Child, Failure> {
    let kind: Kind = kind_of(workload);
    let kind = kind.to_possible_value().map(|value| value.get_name().to_owned());
    let program = std::env::current_exe().map_err(|error| Failure::Work(error.to_string()))?;
    let mut command = Command::new(program);
    command.arg("incarnation").arg("--database").arg(place.join("database"));
    command.arg("--events").arg(place).args(["--workload", &kind.unwrap_or_default()]);
    let numbers = [("--seed", seed), ("--incarnation", incarnation), ("--issued-before", issued)];
    for (name, value) in numbers {
        command.args([name, &value.to_string()]);
    }
    command.stdout(Stdio::piped()).spawn().map_err(|error| Failure::Work(error.to_string()))
}

/// Waits until the child has invoked `count` transactions, and a little longer.
fn wait_for_invocations(child: &mut Child, count: u64, grace_us: u64) -> std::io::Result<()> {
    let mut dots = vec![0; (count / INVOCATIONS_PER_DOT).max(1) as usize];
    if let Some(output) = child.stdout.as_mut() {
        output.read_exact(&mut dots)?;
    }
    thread::sleep(Duration::from_micros(grace_us));
    Ok(())
}

/// Adds the events that a killed child left, and the crash, to the history. Returns the number of
/// the child's transactions. Transactions that were in progress have an unknown outcome.
fn gather(
    place: &Path,
    incarnation: u64,
    crash: u64,
    history: &mut History,
) -> Result<u64, Failure> {
    let mut recorded = History::default();
    for number in 0..FRAGMENTS_MAX {
        let path = fragment_path(place, incarnation, number);
        let Ok(mut file) = File::open(&path) else { break };
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(|error| Failure::work(&path, &error))?;
        format::read_fragment(&text, &mut recorded)
            .map_err(|error| Failure::work(&path, &error))?;
    }
    recorded.sort();
    let ends = recorded.events.iter().filter(|event| event.phase != Phase::Invoke);
    let ended: HashSet<u64> = ends.map(|event| event.id).collect();
    let invoked: Vec<&Event> =
        recorded.events.iter().filter(|event| event.phase == Phase::Invoke).collect();
    let count = invoked.len() as u64;
    let open: Vec<Event> = invoked
        .into_iter()
        .filter(|event| !ended.contains(&event.id))
        .map(|event| Event { phase: Phase::Info, time: crash, ops: Vec::new(), ..event.clone() })
        .collect();
    history.events.extend(recorded.events);
    history.events.extend(open);
    history.crashes.push(crash);
    Ok(count)
}
