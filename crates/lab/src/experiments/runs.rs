//! Shared by the experiments on commits: the ways to end a transaction, loaded databases in memory
//! behind a log of some delay, and one run of a workload.
//!
//! With locks kept until a commit is durable, the committing thread waits. The baseline has a
//! thread for each client, so that a lack of threads does not limit it. Early release is measured
//! with as many threads (the effect of the locks alone), and with pipelined commits, where a thread
//! for each processor serves all clients.

use std::{cell::OnceCell, sync::Arc, time::Duration};

use clearway::{EngineStats, Options as DatabaseOptions};
use clearway_disk::MemoryDisk;
use clearway_testkit::disk::DelayedDisk;
use clearway_variants::txn::{EarlyRelease, TxnVariants};
use clearway_workloads::{
    ClearwayStore, Commit, Outcome as DriverOutcome, Plan, Skew, Tpcb, TpcbScale, Workload, drive,
};

use crate::{
    experiment::{Experiment, Outcome, Run},
    machine,
    report::Findings,
    variants::Sample,
};

/// A way to end transactions.
#[derive(Clone, Copy)]
pub(super) struct Way {
    pub(super) name: &'static str,
    pub(super) release: EarlyRelease,
    pub(super) commit: Commit,
}

/// The baseline of the papers: a thread for each client, which waits for its commits while it holds
/// all its locks.
pub(super) const KEPT: Way =
    Way { name: "locks kept", release: EarlyRelease::None, commit: Commit::Blocking };
/// The same threads, but locks are released early.
pub(super) const EARLY: Way =
    Way { name: "early release", release: EarlyRelease::All, commit: Commit::Blocking };
/// Locks are released early, and threads continue with other clients.
pub(super) const PIPELINED: Way =
    Way { name: "early, pipelined", release: EarlyRelease::All, commit: Commit::Pipelined };
/// No client waits for the log: an upper bound for every safe system.
pub(super) const AGNOSTIC: Way =
    Way { name: "log-agnostic", release: EarlyRelease::All, commit: Commit::Unawaited };

/// The time of a flush of the disk in "Early Lock Release", table 1: 170 flushes per second.
pub(super) const PAPER_DISK_US: u64 = 5_882;
/// The setting that experiments with this disk report.
pub(super) const PAPER_DISK: &str = "64 hardware threads; a hard disk of 170 flushes a second, one \
                                     at a time: here as long each, and two may be under way";

/// The papers' baseline, early release with as many threads, and early release with pipelined
/// commits, which the papers' figures do not have.
pub(super) const RELEASES: [Way; 3] = [KEPT, EARLY, PIPELINED];
/// The positions of the baseline and of early release alone in [`RELEASES`].
pub(super) const BASELINE: usize = 0;
pub(super) const RELEASED: usize = 1;

/// Returns the ways as the variants of a grid.
pub(super) fn variants<const N: usize>(ways: [Way; N]) -> [(&'static str, Way); N] {
    ways.map(|way| (way.name, way))
}

impl Way {
    /// Returns the options of a database in memory that ends transactions in this way.
    pub(super) fn options(&self) -> DatabaseOptions {
        DatabaseOptions::in_memory()
            .cache_size(64 << 20)
            .log_capacity(256 << 20)
            .txn_variant(self.release)
    }

    /// Returns a plan in which each client has one transaction in flight at a time.
    pub(super) fn plan<E: Experiment>(&self, run: &Run<'_, E>, clients: u32) -> Plan {
        run.plan(clients, None, self.commit)
    }

    /// Returns a plan in which a client that does not wait has `in_flight` transactions in flight.
    pub(super) fn plan_in_flight<E: Experiment>(
        &self,
        run: &Run<'_, E>,
        clients: u32,
        in_flight: u32,
    ) -> Plan {
        let each = if self.commit == Commit::Blocking { 1 } else { in_flight };
        self.plan(run, clients * each)
    }
}

impl<E: Experiment> Run<'_, E> {
    /// Returns a plan for the lab's time. All variants of a repetition draw the same random
    /// numbers.
    pub(super) fn plan(&self, clients: u32, threads: Option<u32>, commit: Commit) -> Plan {
        let threads = threads.map(|threads| threads as usize);
        let seed = u64::from(self.repetition);
        Plan { clients, threads, commit, duration: self.lab.time, seed }
    }
}

/// Defines options for the size of a bank, with these defaults.
macro_rules! bank_options {
    (branches: $branches:literal, accounts: $accounts:literal) => {
        #[derive(Args, Debug)]
        struct Bank {
            /// Branches
            #[arg(long, default_value_t = $branches,
                                  value_parser = clap::value_parser!(u32).range(1..=10_000))]
            branches: u32,
            /// Accounts of each branch
            #[arg(long, default_value_t = $accounts,
                                  value_parser = clap::value_parser!(u32).range(1..=100_000))]
            accounts: u32,
        }

        impl Bank {
            fn scale(&self) -> clearway_workloads::TpcbScale {
                let (branches, accounts_per_branch) = (self.branches, self.accounts);
                clearway_workloads::TpcbScale { branches, accounts_per_branch }
            }
        }
    };
}
pub(super) use bank_options;

/// Converts options in microseconds to durations.
pub(super) fn micros(us: &[u64]) -> impl Iterator<Item = Duration> {
    us.iter().map(|&us| Duration::from_micros(us))
}

impl Findings {
    /// Adds the size of a bank as a setting.
    pub(super) fn bank_setting(&mut self, scale: TpcbScale) {
        self.setting("branches", scale.branches);
        self.setting("accounts of each", scale.accounts_per_branch);
    }

    /// Measures a flush with the requested delay `flush`, and adds its median time as a setting.
    pub(super) fn flush_setting(&mut self, flush: Duration) -> Outcome<()> {
        let p50 = machine::flush_p50_us(&DelayedDisk::new(MemoryDisk::new(), flush))?;
        let truth = format!("{p50:.0} (asked for: {})", flush.as_micros());
        self.setting("median flush in µs", truth);
        Ok(())
    }
}

/// A loaded database. Each run uses a copy, so that no run sees the changes of another one.
#[derive(Clone)]
pub(super) struct Image(MemoryDisk);

impl Image {
    /// Runs `load` on an empty database with these options, whose log flushes take no time, and
    /// returns the resulting image.
    pub(super) fn load(
        options: DatabaseOptions,
        load: impl FnOnce(&ClearwayStore) -> clearway::Result<()>,
    ) -> Outcome<Image> {
        let disk = MemoryDisk::new();
        let store = ClearwayStore::new(options.on_disk(Arc::new(disk.clone())).open("lab")?);
        load(&store)?;
        store.database().close()?;
        Ok(Image(disk))
    }

    /// Opens a separate database with these contents and options, whose log flushes take at least
    /// `flush`.
    pub(super) fn open(&self, options: DatabaseOptions, flush: Duration) -> Outcome<ClearwayStore> {
        let disk = DelayedDisk::new(self.0.fork(), flush);
        Ok(ClearwayStore::new(options.on_disk(Arc::new(disk)).open("lab")?))
    }
}

/// Returns the image in `cell`. The first call creates it with `load`.
pub(super) fn get_or_load(
    cell: &OnceCell<Image>,
    load: impl FnOnce() -> Outcome<Image>,
) -> Outcome<&Image> {
    match cell.get() {
        Some(image) => Ok(image),
        None => load().map(|image| cell.get_or_init(|| image)),
    }
}

/// Returns a new bank on a database with these options. It is loaded before the delay `flush`
/// applies to the log's flushes.
pub(super) fn bank(
    options: DatabaseOptions,
    flush: Duration,
    scale: TpcbScale,
    skew: Skew,
) -> Outcome<(ClearwayStore, Tpcb<ClearwayStore>)> {
    let image = Image::load(options.clone(), |store| {
        Tpcb::prepare(store, scale, skew, 1, &|_| true).map(drop)
    })?;
    let store = image.open(options, flush)?;
    let bank = Tpcb::prepare(&store, scale, skew, 1, &|_| true)?;
    Ok((store, bank))
}

/// Runs TPC-B on a new bank. Returns the measures of [`Driven::sample`].
pub(super) fn measure_bank(
    options: DatabaseOptions,
    flush: Duration,
    scale: TpcbScale,
    skew: Skew,
    plan: &Plan,
) -> Outcome<Sample> {
    let (store, bank) = bank(options, flush, scale, skew)?;
    Ok(Driven::run(&store, &bank, plan)?.sample())
}

/// A run of a workload, and the engine's counters before and after it. Its measures come with their
/// names.
pub(super) struct Driven {
    outcome: DriverOutcome,
    before: EngineStats,
    after: EngineStats,
}

type Measure = (&'static str, f64);

impl Driven {
    pub(super) fn run<W: Workload<ClearwayStore>>(
        store: &ClearwayStore,
        workload: &W,
        plan: &Plan,
    ) -> Outcome<Driven> {
        let before = store.database().stats().engine;
        let outcome = drive(store, workload, plan, &mut |_| true)?;
        Ok(Driven { outcome, before, after: store.database().stats().engine })
    }

    pub(super) fn commits(&self) -> u64 {
        self.outcome.commits
    }

    /// Returns throughput, aborts, lock waits and flushes.
    pub(super) fn sample(&self) -> Sample {
        let seconds = self.outcome.elapsed.as_secs_f64().max(1e-9);
        let aborts = ("aborts/tx", self.each(self.outcome.aborts));
        let flushes = ("flushes/s", self.flushes() as f64 / seconds);
        vec![self.tps(), aborts, self.waits(), self.wait_us(), flushes]
    }

    pub(super) fn tps(&self) -> Measure {
        ("tps", self.outcome.tps())
    }

    pub(super) fn waits(&self) -> Measure {
        ("waits/tx", self.each(self.after.lock.waits - self.before.lock.waits))
    }

    pub(super) fn wait_us(&self) -> Measure {
        ("wait µs/tx", self.each(self.after.lock.wait_us - self.before.lock.wait_us))
    }

    pub(super) fn deadlocks(&self) -> Measure {
        ("deadlocks/tx", self.each(self.after.lock.deadlocks - self.before.lock.deadlocks))
    }

    pub(super) fn flushes_each(&self) -> Measure {
        ("flushes/tx", self.each(self.flushes()))
    }

    fn flushes(&self) -> u64 {
        self.after.log.flushes - self.before.log.flushes
    }

    fn each(&self, count: u64) -> f64 {
        count as f64 / self.outcome.commits.max(1) as f64
    }
}
