//! `clearway bench tpcb`: load a bank, run it, tell how it went, check its books.

mod interrupt;
mod place;
mod probe;
mod progress;
mod report;
mod usage;

use std::time::{Duration, Instant};

use clearway::{LockWaits, Options, Stats};
use clearway_workloads::{ClearwayStore, Histogram, Plan, Tpcb, TpcbScale, drive};

use crate::{
    args::TpcbArgs,
    failure::{Doing, Failure, Outcome},
    output::{print, tell},
    units::grouped,
};
use place::Place;
use progress::Loading;
use report::Report;
use usage::Usage;

/// What loading took.
pub(crate) struct Load {
    /// Rows written; none if the bank was there.
    pub(crate) rows: u64,
    /// History rows that were there before the run.
    pub(crate) history_rows: u64,
    /// How long it took.
    pub(crate) took: Duration,
}

pub(crate) fn run(args: &TpcbArgs) -> Outcome {
    interrupt::install();
    let place = Place::choose(args)?;
    tell(format_args!("database: {place}"));
    let options = if args.memory { Options::in_memory() } else { Options::new() };
    let db = options
        .cache_size(args.cache)
        .log_capacity(args.log_capacity)
        .early_release(args.early_release.into())
        .log_delay(args.log_delay)
        .open(place.path())
        .doing(|| format!("cannot open {place}"))?;
    let store = ClearwayStore::new(db.clone());
    let (bank, load) = prepare(&store, args)?;
    let plan = plan(args);

    tell(format_args!("running: {} clients on {} threads", args.clients, plan.agents()));
    let (stats, usage) = (db.stats(), Usage::now());
    let run = drive(&store, &bank, &plan, &mut |tick| {
        progress::live(tick);
        !interrupt::came()
    });
    progress::live_end();
    let run = run.doing(|| "the run failed".into())?;
    let usage = Usage::now().since(&usage);
    let work = Work::between(&stats, &db.stats());

    let probe = if args.memory { None } else { probe::flush_times(place.path(), &work, &run) };
    tell(format_args!("checking the books"));
    let threads = plan_threads();
    let balance = bank.check(&store, threads).doing(|| "the check failed".into())?;
    let report = Report::new(args, &plan, &load, &run, &work, &usage, probe, balance);
    // A database that is thrown away need not be closed in good order, but that is worth a test.
    db.close().doing(|| format!("cannot close {place}"))?;
    drop(place);
    let text = if args.json { format!("{}\n", report.to_json()) } else { report.to_text() };
    if !report.is_consistent() {
        print(text)?;
        return Err(Failure::Unsound("the bank's books do not balance".into()));
    }
    print(text)
}

fn plan_threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn plan(args: &TpcbArgs) -> Plan {
    Plan {
        clients: args.clients,
        threads: args.threads.map(usize::from),
        commit: args.commit.into(),
        duration: args.seconds,
        seed: args.seed,
    }
}

/// Loads the bank if it is not there, and writes it out so that the run starts from a clean cache.
fn prepare(store: &ClearwayStore, args: &TpcbArgs) -> Outcome<(Tpcb<ClearwayStore>, Load)> {
    let scale = TpcbScale { branches: args.branches, accounts_per_branch: args.accounts };
    let loading = Loading::start(scale.rows());
    let started = Instant::now();
    let count = |rows| {
        loading.add(rows);
        !interrupt::came()
    };
    let bank = Tpcb::prepare(store, scale, args.skew, plan_threads(), &count);
    let (rows, took) = (loading.finish(), started.elapsed());
    if interrupt::came() {
        return Err(Failure::Interrupted);
    }
    let bank = bank.doing(|| "cannot load the bank".into())?;
    if rows > 0 {
        let rate = rows as f64 / took.as_secs_f64().max(1e-9);
        tell(format_args!("loaded: {} rows, {} rows/s", grouped(rows), grouped(rate as u64)));
        store.database().checkpoint().doing(|| "cannot write a checkpoint".into())?;
    }
    let history_rows = bank.history_rows(store).doing(|| "cannot read the history".into())?;
    Ok((bank, Load { rows, history_rows, took }))
}

/// What the engine did during the run.
pub(crate) struct Work {
    pub(crate) flushes: u64,
    pub(crate) log_bytes: u64,
    pub(crate) lock_waits: u64,
    pub(crate) lock_wait_us: u64,
    pub(crate) deadlocks: u64,
    /// Where the waits were, since the database was opened.
    pub(crate) contention: LockWaits,
    pub(crate) checkpoints: u64,
    pub(crate) page_reads: u64,
    pub(crate) page_writes: u64,
    pub(crate) resident_pages: u64,
}

impl Work {
    fn between(before: &Stats, after: &Stats) -> Work {
        let (a, b) = (&before.engine, &after.engine);
        let locks = |stats: &clearway::LockStats| stats.waits + stats.intent_waits;
        Work {
            flushes: b.log.flushes - a.log.flushes,
            log_bytes: b.log.flushed_bytes - a.log.flushed_bytes,
            lock_waits: locks(&b.lock) - locks(&a.lock),
            lock_wait_us: b.lock.wait_us - a.lock.wait_us,
            deadlocks: b.lock.deadlocks - a.lock.deadlocks,
            contention: after.lock_waits.clone(),
            checkpoints: b.checkpoints - a.checkpoints,
            page_reads: b.pool.reads - a.pool.reads,
            page_writes: b.pool.pages_written - a.pool.pages_written,
            resident_pages: b.pool.resident_pages,
        }
    }

    /// Bytes of an average flush.
    pub(crate) fn flush_bytes(&self) -> u64 {
        self.log_bytes / self.flushes.max(1)
    }
}

/// Times of raw flushes, for comparison: see [`probe`].
pub(crate) struct Probe {
    /// Bytes of each.
    pub(crate) bytes: u64,
    /// Nanoseconds of each.
    pub(crate) times: Histogram,
}

#[cfg(test)]
mod tests;
