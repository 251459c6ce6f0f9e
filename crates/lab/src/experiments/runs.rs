//! What the experiments on commits share: the ways to end a transaction, loaded databases in memory
//! behind a log of some delay, and one run of a workload.
//!
//! With locks kept until a commit is durable, the thread that commits waits. So that the baseline
//! is not held back by a lack of threads, it has one for each client; early release is shown with
//! just as many (what the locks alone are worth), and with commits pipelined, where a thread for
//! each processor serves all clients.

use std::{sync::Arc, time::Duration};

use clearway::{EarlyRelease, Options as DatabaseOptions};
use clearway_disk::MemoryDisk;
use clearway_testkit::disk::DelayedDisk;
use clearway_workloads::{ClearwayStore, Commit, Plan, Skew, Tpcb, TpcbScale, Workload, drive};

use crate::{
    experiment::{Lab, Outcome},
    machine,
    variants::Sample,
};

/// How transactions end.
#[derive(Clone, Copy)]
pub(super) struct Way {
    pub(super) name: &'static str,
    pub(super) release: EarlyRelease,
    pub(super) commit: Commit,
}

/// The baseline of the papers: a thread for each client, which waits for its commits with all its
/// locks.
pub(super) const KEPT: Way =
    Way { name: "locks kept", release: EarlyRelease::None, commit: Commit::Blocking };
/// The same threads; only the locks go early.
pub(super) const EARLY: Way =
    Way { name: "early release", release: EarlyRelease::All, commit: Commit::Blocking };
/// Locks go early, and threads go on to other clients.
pub(super) const PIPELINED: Way =
    Way { name: "early, pipelined", release: EarlyRelease::All, commit: Commit::Pipelined };
/// Nobody waits for the log at all: what no safe system can do better.
pub(super) const AGNOSTIC: Way =
    Way { name: "log-agnostic", release: EarlyRelease::All, commit: Commit::Unawaited };

/// The time of a flush of the disk in "Early Lock Release", table 1: 170 of them in a second.
pub(super) const PAPER_DISK_US: u64 = 5_882;
/// What an experiment with this disk says of it.
pub(super) const PAPER_DISK: &str = "64 hardware threads; a hard disk of 170 flushes a second, one \
                                     at a time: here as long each, and two may be under way";

/// The names of some ways.
pub(super) fn names(ways: &[Way]) -> Vec<String> {
    ways.iter().map(|way| way.name.to_string()).collect()
}

impl Way {
    /// A database in memory that ends transactions in this way.
    pub(super) fn options(&self) -> DatabaseOptions {
        DatabaseOptions::in_memory()
            .cache_size(64 << 20)
            .log_capacity(256 << 20)
            .early_release(self.release)
    }

    /// So many clients for the lab's time, with the same draws for all variants of a repetition.
    pub(super) fn plan(&self, lab: &Lab<'_>, clients: u32, repetition: u32) -> Plan {
        let (commit, seed) = (self.commit, u64::from(repetition));
        Plan { clients, threads: None, commit, duration: lab.time, seed }
    }
}

/// How long a flush takes that is asked to take so long, for the settings.
pub(super) fn flush_in_truth(flush: Duration) -> Outcome<String> {
    let p50 = machine::flush_p50_us(&DelayedDisk::new(MemoryDisk::new(), flush))?;
    Ok(format!("{p50:.0} (asked for: {})", flush.as_micros()))
}

/// A loaded database. Each run has a copy, so that none finds what another one left.
pub(super) struct Image(MemoryDisk);

impl Image {
    /// What `load` makes of an empty database with these options, whose log takes no time.
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

    /// A database of its own with these contents and options, each flush of whose log takes at
    /// least `flush`.
    pub(super) fn open(&self, options: DatabaseOptions, flush: Duration) -> Outcome<ClearwayStore> {
        let disk = DelayedDisk::new(self.0.fork(), flush);
        Ok(ClearwayStore::new(options.on_disk(Arc::new(disk)).open("lab")?))
    }
}

/// A new bank on a database with these options. It is loaded before each flush of the log takes
/// `flush`.
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

/// Runs a workload: its throughput, what was waited for locks, and the flushes that it took; and
/// its commits.
pub(super) fn measure<W: Workload<ClearwayStore>>(
    store: &ClearwayStore,
    workload: &W,
    plan: &Plan,
) -> Outcome<(Sample, u64)> {
    let before = store.database().stats().engine;
    let outcome = drive(store, workload, plan, &mut |_| true)?;
    let after = store.database().stats().engine;
    let each = |count: u64| count as f64 / outcome.commits.max(1) as f64;
    let seconds = outcome.elapsed.as_secs_f64().max(1e-9);
    let sample = vec![
        ("tps", outcome.tps()),
        ("aborts/tx", each(outcome.aborts)),
        ("waits/tx", each(after.lock.waits - before.lock.waits)),
        ("wait µs/tx", each(after.lock.wait_us - before.lock.wait_us)),
        ("flushes/s", (after.log.flushes - before.log.flushes) as f64 / seconds),
    ];
    Ok((sample, outcome.commits))
}
