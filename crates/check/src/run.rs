//! Records histories and checks each of them.

use std::{
    fs::File,
    io::BufWriter,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use clearway::{Options, Staging};
use clearway_check::{
    Report, check, format,
    history::History,
    workload::{self, EngineStore, Settings, Workload},
};

use clearway_testkit::Drawn;

use crate::{
    args::{Kind, RunArgs},
    exit_code,
    failure::Failure,
    incarnations,
};

/// Number of histories if the command line gives neither a number nor a time.
const HISTORIES: u64 = 4;

/// The combined result of all histories of a run.
#[derive(Default)]
struct Sum {
    histories: u64,
    anomalous: u64,
    undecided: u64,
    transactions: usize,
    unknown: usize,
    ambiguous_sums: usize,
    recording: Duration,
    checking: Duration,
    slowest: Duration,
    /// The key patterns drawn beside the histories.
    drawn: Drawn,
    code: u8,
}

/// By seed: each of the histories of a run has another.
const STAGING: [Staging; 4] =
    [Staging::Conventional, Staging::TwoStage, Staging::Optimistic, Staging::Hybrid];

/// Options with small pages, under which rare events are frequent.
pub(crate) fn options(seed: u64) -> Options {
    let options = Options::new()
        .cache_size([2, 8, 32][(seed / 4 % 3) as usize] << 20)
        .log_capacity(64 << 20)
        .checkpoint_every([128 << 10, 1 << 20][(seed / 2 % 2) as usize]);
    options.node_bytes(node_bytes(seed)).staging(STAGING[(seed % 4) as usize])
}

/// The page size: small, and now and then the default.
pub(crate) fn node_bytes(seed: u64) -> usize {
    if seed.is_multiple_of(4) { 8192 } else { 512 }
}

pub(crate) fn run(args: &RunArgs) -> Result<u8, Failure> {
    let started = Instant::now();
    let wanted = match (args.histories, args.minutes) {
        (Some(histories), _) => histories,
        (None, Some(_)) => u64::MAX,
        (None, None) => HISTORIES,
    };
    let limit = args.minutes.map(|minutes| Duration::from_secs_f64(minutes.max(0.0) * 60.0));
    let mut sum = Sum::default();
    for number in 0..wanted {
        if limit.is_some_and(|limit| started.elapsed() >= limit) {
            break;
        }
        one_history(args, number, &mut sum)?;
    }
    let Sum { histories, anomalous, undecided, transactions, unknown, ambiguous_sums, .. } = sum;
    clearway_console::offer!("{}", sum.drawn);
    let (recording, checking) = (sum.recording.as_secs_f64(), sum.checking.as_secs_f64());
    clearway_console::offer!(
        "{histories} histories, {transactions} transactions ({unknown} of unknown outcome), \
         {anomalous} with anomalies, {undecided} undecided, {ambiguous_sums} ambiguous sums; \
         recorded in {recording:.1} s, checked in {checking:.2} s, the slowest in {:.3} s",
        sum.slowest.as_secs_f64()
    );
    Ok(sum.code)
}

fn one_history(args: &RunArgs, number: u64, sum: &mut Sum) -> Result<(), Failure> {
    let (workload, seed) = (args.workload.workload(number), args.seed.wrapping_add(number));
    let begun = Instant::now();
    let history = record(args, workload, seed)?;
    sum.recording += begun.elapsed();
    let begun = Instant::now();
    let report = check(&history).map_err(|error| Failure::Work(error.to_string()))?;
    let took = begun.elapsed();
    sum.checking += took;
    sum.slowest = sum.slowest.max(took);
    sum.histories += 1;
    sum.drawn.note(&workload::pattern(seed, node_bytes(seed)));
    sum.transactions += report.transactions;
    sum.unknown += report.unknown;
    sum.ambiguous_sums += report.ambiguous_sums;
    sum.anomalous += u64::from(!report.is_valid());
    sum.undecided += u64::from(report.is_valid() && report.undecided > 0);
    let code = exit_code(&report);
    // An anomaly takes precedence over an undecided history.
    sum.code = if sum.code == 1 || code == 1 { 1 } else { sum.code.max(code) };
    if code != 0 || args.keep.is_some() {
        let path = keep(args, &history, workload, seed)?;
        offer_report(args, &report, &path, workload, seed);
    }
    Ok(())
}

fn offer_report(args: &RunArgs, report: &Report, path: &Path, workload: Workload, seed: u64) {
    if exit_code(report) == 0 {
        return;
    }
    clearway_console::offer!("{report}");
    clearway_console::offer!(
        "check it again: clearway-check history {}; record another like it: clearway-check run \
         --histories 1 --seed {seed} --workload {} --transactions {} --crashes {}",
        path.display(),
        workload.name(),
        args.transactions,
        args.crashes
    );
}

/// Writes the history to the place where it is kept.
fn keep(
    args: &RunArgs,
    history: &History,
    workload: Workload,
    seed: u64,
) -> Result<PathBuf, Failure> {
    let folder = args.keep.clone().unwrap_or_else(|| PathBuf::from("."));
    let path = folder.join(format!("history-{}-{seed}.jsonl", workload.name()));
    let file = File::create(&path).map_err(|error| Failure::work(&path, &error))?;
    format::write(history, BufWriter::new(file)).map_err(|error| Failure::work(&path, &error))?;
    Ok(path)
}

fn record(args: &RunArgs, workload: Workload, seed: u64) -> Result<History, Failure> {
    let place = tempfile::tempdir().map_err(|error| Failure::Work(error.to_string()))?;
    if args.crashes > 0 {
        return incarnations::record(place.path(), workload, seed, args.transactions, args.crashes);
    }
    let settings = Settings::new(workload, seed, args.transactions);
    let (history, result) = record_incarnation(&place.path().join("database"), &settings)?;
    if let Err(error) = result {
        let path = keep(args, &history, workload, seed)?;
        return Err(Failure::work(&path, &error));
    }
    Ok(history)
}

/// Opens the database, runs a workload on it, and closes and verifies it.
pub(crate) fn record_incarnation(
    path: &Path,
    settings: &Settings,
) -> Result<(History, clearway::Result<()>), Failure> {
    let failed = |error: clearway::Error| Failure::work(path, &error);
    let database = options(settings.seed).open(path).map_err(failed)?;
    let (seed, nodes) = (settings.seed, node_bytes(settings.seed));
    let store = EngineStore::with_patterns(database, seed, nodes).map_err(failed)?;
    let (history, result) = workload::run(&store, settings);
    let verified = store.database().verify().map(drop);
    let result = result.and(verified).and_then(|()| store.database().close());
    Ok((history, result))
}

/// The command-line name of a workload.
pub(crate) fn kind_of(workload: Workload) -> Kind {
    match workload {
        Workload::Append => Kind::Append,
        Workload::Register => Kind::Register,
        Workload::Range => Kind::Range,
        Workload::Sum => Kind::Sum,
        Workload::Mixed => Kind::Mixed,
    }
}
