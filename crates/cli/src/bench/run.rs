//! The course of every benchmark: open, load, run, probe the disk, check, report.

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
    failure::{Doing, Failure, Outcome},
    output::{print, tell},
    units::grouped,
};

/// What loading took.
pub(crate) struct Load {
    /// Rows written; none if the data were there.
    pub(crate) rows: u64,
    /// How long it took.
    pub(crate) took: Duration,
}

/// Runs a benchmark and prints its report.
pub(crate) fn run<B: Bench>(bench: &BenchOf<B>) -> Outcome {
    interrupt::install();
    let BenchOf { workload: bench, run: args } = bench;
    let place = Place::choose(args)?;
    tell(format_args!("database: {place}"));
    let db = open(args, &place)?;
    let store = ClearwayStore::new(db.clone());
    let (loaded, load) = prepare(&store, bench)?;
    let data = Data { store: &store, loaded: &loaded, threads: processors() };
    let before = bench.before(&data, load.rows > 0);
    let before = before.doing(|| format!("cannot read the {}", B::DATA))?;
    let plan = plan(args);

    tell(format_args!("running: {} clients on {} threads", args.clients, plan.agents()));
    let (stats, usage) = (db.stats(), Usage::now());
    let mut on_tick = |tick: &Tick| {
        progress::live(tick);
        !interrupt::came()
    };
    let run = match args.count {
        None => drive(&store, &loaded, &plan, &mut on_tick),
        Some(count) => counted::drive_count(&store, &loaded, &plan, count, &mut on_tick),
    };
    progress::live_end();
    let run = run.doing(|| "the run failed".into())?;
    let usage = Usage::now().since(&usage);
    let work = Work::between(&stats, &db.stats());

    let probe = if args.memory { None } else { probe::flush_times(place.path(), &work, &run) };
    tell(format_args!("checking the books"));
    let books = bench.check(&data, &before, &run).doing(|| "the check failed".into())?;
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
        books,
    };
    // A database that is thrown away need not be closed in good order, but that is worth a test.
    db.close().doing(|| format!("cannot close {place}"))?;
    drop(place);
    print(if args.json { format!("{}\n", report.to_json()) } else { report.to_text() })?;
    report.books.verdict.map(drop).map_err(|_| Failure::Unsound(B::UNSOUND.into()))
}

fn open(args: &RunArgs, place: &Place) -> Outcome<Database> {
    let cannot = || format!("cannot open {place}");
    let delay = args.log_delay;
    let options = match (args.memory, delay.is_zero()) {
        (true, true) => Options::in_memory(),
        (false, true) => Options::new(),
        (true, false) => Options::new().on_disk(DelayedDisk::in_memory(delay)),
        (false, false) => {
            let disk = DelayedDisk::in_directory(place.path(), delay).doing(cannot)?;
            Options::new().on_disk(disk)
        }
    };
    options
        .cache_size(args.cache)
        .log_capacity(args.log_capacity)
        .commit_mode(args.commit.into())
        .early_release(args.early_release.into())
        .linger(args.linger)
        .open(place.path())
        .doing(cannot)
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

/// Loads the data if they are not there, and writes them out so that the run starts from a clean
/// cache.
fn prepare<B: Bench>(store: &ClearwayStore, bench: &B) -> Outcome<(B::Loaded, Load)> {
    let loading = Loading::start(bench.rows());
    let started = Instant::now();
    let count = |rows| {
        loading.add(rows);
        !interrupt::came()
    };
    let loaded = bench.prepare(store, processors(), &count);
    let (rows, took) = (loading.finish(), started.elapsed());
    if interrupt::came() {
        return Err(Failure::Interrupted);
    }
    let loaded = loaded.doing(|| format!("cannot load the {}", B::DATA))?;
    if rows > 0 {
        let rate = rows as f64 / took.as_secs_f64().max(1e-9);
        tell(format_args!("loaded: {} rows, {} rows/s", grouped(rows), grouped(rate as u64)));
        store.database().checkpoint().doing(|| "cannot write a checkpoint".into())?;
    }
    Ok((loaded, Load { rows, took }))
}
