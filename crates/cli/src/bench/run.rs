//! The steps of every benchmark: open, load, run, probe the disk, check, report.

use std::time::{Duration, Instant};

use clearway::{Database, Options};
use clearway_testkit::disk::DelayedDisk;
use clearway_workloads::{ClearwayStore, Plan, Tick, Usage, drive};

use super::{
    Bench, Data, counted, interrupt,
    place::Place,
    probe,
    progress::{self, Loading},
    report::Report,
    work::Work,
};
use crate::{
    args::{BenchOf, RunArgs},
    failure::{Context, Failure, Outcome},
    output::{print, print_status},
    units::grouped,
};

/// The rows and the time of loading.
pub(crate) struct Load {
    /// The number of rows written; 0 if the data were already there.
    pub(crate) rows: u64,
    /// The time that loading took.
    pub(crate) took: Duration,
}

/// Runs a benchmark and prints its report.
pub(crate) fn run<B: Bench>(bench: &BenchOf<B>) -> Outcome {
    interrupt::install();
    let BenchOf { workload: bench, run: args } = bench;
    let place = Place::choose(args)?;
    print_status(format_args!("database: {place}"));
    let db = open(args, &place)?;
    let store = ClearwayStore::new(db.clone());
    let (loaded, load) = prepare(&store, bench)?;
    let data = Data { store: &store, loaded: &loaded, threads: processors() };
    let before = bench.before(&data, load.rows > 0);
    let before = before.with_context(|| format!("cannot read the {}", B::DATA))?;
    let plan = plan(args);

    print_status(format_args!("running: {} clients on {} threads", args.clients, plan.agents()));
    let (stats, usage) = (db.stats(), Usage::now());
    let mut on_tick = |tick: &Tick| {
        progress::live(tick);
        !interrupt::is_requested()
    };
    let run = match args.count {
        None => drive(&store, &loaded, &plan, &mut on_tick),
        Some(count) => counted::drive_count(&store, &loaded, &plan, count, &mut on_tick),
    };
    progress::live_end();
    let run = run.with_context(|| "the run failed".into())?;
    let usage = Usage::now().since(&usage);
    let work = Work::between(&stats, &db.stats());

    let probe = if args.memory { None } else { probe::flush_times(place.path(), &work, &run) };
    print_status(format_args!("checking the data"));
    let check = bench.check(&data, &before, &run).with_context(|| "the check failed".into())?;
    let report = Report {
        workload: B::NAME,
        options: bench.options(),
        thinks: bench.thinks(),
        args,
        plan: &plan,
        load: &load,
        run: &run,
        work: &work,
        usage: &usage,
        probe,
        figures: bench.figures(&loaded, args, &run),
        check,
    };
    // A temporary database need not be closed cleanly, but closing it is also a test of the engine.
    db.close().with_context(|| format!("cannot close {place}"))?;
    drop(place);
    print(if args.json { format!("{}\n", report.to_json()) } else { report.to_text() })?;
    report.check.verdict.map(drop).map_err(|_| Failure::Inconsistent(B::INCONSISTENT.into()))
}

fn open(args: &RunArgs, place: &Place) -> Outcome<Database> {
    let cannot = || format!("cannot open {place}");
    let delay = args.log_delay;
    let options = match (args.memory, delay.is_zero()) {
        (true, true) => Options::in_memory(),
        (false, true) => Options::new(),
        (true, false) => Options::new().on_disk(DelayedDisk::in_memory(delay)),
        (false, false) => {
            let disk = DelayedDisk::in_directory(place.path(), delay).with_context(cannot)?;
            Options::new().on_disk(disk)
        }
    };
    options
        .cache_size(args.cache)
        .log_capacity(args.log_capacity)
        .commit_mode(args.commit.into())
        .group_commit_delay(args.group_commit_delay)
        .staging(args.staging.into())
        .open(place.path())
        .with_context(cannot)
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

pub(super) fn plan(args: &RunArgs) -> Plan {
    Plan {
        clients: args.clients,
        threads: args.threads.map(usize::from),
        commit: args.commit.into(),
        duration: args.seconds,
        seed: args.seed,
    }
}

/// Loads the data if they are absent, and then writes a checkpoint so that the run starts with
/// clean pages in the cache.
fn prepare<B: Bench>(store: &ClearwayStore, bench: &B) -> Outcome<(B::Loaded, Load)> {
    let loading = Loading::start(bench.rows());
    let started = Instant::now();
    let count = |rows| {
        loading.add(rows);
        !interrupt::is_requested()
    };
    let loaded = bench.prepare(store, processors(), &count);
    let (rows, took) = (loading.finish(), started.elapsed());
    if interrupt::is_requested() {
        return Err(Failure::Interrupted);
    }
    let loaded = loaded.with_context(|| format!("cannot load the {}", B::DATA))?;
    if rows > 0 {
        let rate = rows as f64 / took.as_secs_f64().max(1e-9);
        print_status(format_args!(
            "loaded: {} rows, {} rows/s",
            grouped(rows),
            grouped(rate as u64)
        ));
        store.database().checkpoint().with_context(|| "cannot write a checkpoint".into())?;
    }
    Ok((loaded, Load { rows, took }))
}
