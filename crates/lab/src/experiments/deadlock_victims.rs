//! The choice of a deadlock's victim among transactions that run in pipelines, which keep their
//! locks until the log is flushed.
//!
//! A pipeline runs transactions one after the other. It releases its locks when it has run its
//! maximum of transactions, or when one of them is a deadlock's victim; both take a flush. A system
//! without early release pipelines in this way. The engine itself releases locks at the commit
//! record, so this experiment runs on the lock manager alone, and a flush is a sleep.

use std::time::Duration;

use clap::Args;
use clearway_base::{Error, Lsn, TreeId, TxnId};
use clearway_lock::{
    LockId, LockOptions, LockOwner, LockTable, Outcome as Asked, RangeMode, WaitLimit,
};
use clearway_sync::{
    atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
};
use clearway_testkit::Random;
use clearway_variants::lock::{LockVariants, VictimPolicy};

use crate::experiment::{
    About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen,
};

#[derive(Args, Debug)]
pub(super) struct DeadlockVictims {}

const THREADS: u64 = 6;
const FLUSH: Duration = Duration::from_millis(10);
/// The maximum number of transactions that a pipeline runs before it flushes.
const PIPELINE_MAX: u64 = 5_000;
const BRANCHES: u64 = 20;
const TELLERS: u64 = 10;
/// The trees of tellers, branches and accounts.
const TREES: [TreeId; 3] = [TreeId(1), TreeId(2), TreeId(3)];

/// The variants: a policy, and whether victims have priority in their next attempt.
const VARIANTS: [(&str, (VictimPolicy, bool)); 6] = [
    ("kill short", (VictimPolicy::KillShort, false)),
    ("kill long", (VictimPolicy::KillLong, false)),
    ("kill young", (VictimPolicy::KillYoung, false)),
    ("closer", (VictimPolicy::Closer, false)),
    ("kill short, retries first", (VictimPolicy::KillShort, true)),
    ("closer, retries first", (VictimPolicy::Closer, true)),
];

impl Experiment for DeadlockVictims {
    const ABOUT: About = About {
        name: "deadlock_victims",
        source: "\"Efficient Locking Techniques for Databases on Modern Hardware\", figure 7",
        shows: "killing the shortest pipeline costs the fewest flushes, without early release",
        seconds: 3.0,
        repetitions: 5,
    };
    type Point = ();
    type Variant = (VictimPolicy, bool);

    fn plan(&self, _lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        found.setting("a flush, in ms", 10);
        found.setting("transactions of a pipeline, at most", PIPELINE_MAX);
        found.setting("branches", BRANCHES);
        found.setting("runs on", "the lock manager alone, locks kept until the flush");
        let point = [(format!("{THREADS} pipelines"), ())];
        Ok(vec![Grid::new("TPC-B's locks", "tps", point, VARIANTS)])
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        let (victims, retries_first) = *run.variant;
        Ok(measure(victims, retries_first, run.lab.time))
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        let over = |other| seen.grids[0].over(0, 0, other);
        found.at_least("kill short over kill long", 1.0, over(1));
        found.at_least("kill short over kill young", 1.0, over(2));
    }
}

fn measure(victims: VictimPolicy, retries_first: bool, time: Duration) -> Sample {
    let table = LockTable::new(LockOptions::default().lock_variant(victims));
    let (ends, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let flushes = AtomicU64::new(0);
    thread::scope(|scope| {
        for n in 0..THREADS {
            let (table, ends, done, flushes) = (&table, &ends, &done, &flushes);
            scope.spawn(move || {
                let (mut owner, mut random) = (table.owner(), Random::stream(5, n));
                while !ends.load(Ordering::Relaxed) {
                    // Relaxed: read after the join.
                    let ran = pipeline(table, &mut owner, &mut random, ends, retries_first);
                    done.fetch_add(ran, Ordering::Relaxed);
                    flushes.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        thread::sleep(time);
        ends.store(true, Ordering::Relaxed);
    });
    let seconds = time.as_secs_f64();
    vec![
        ("tps", done.into_inner() as f64 / seconds),
        ("flushes/s", flushes.into_inner() as f64 / seconds),
        ("deadlocks/s", table.stats().deadlocks as f64 / seconds),
    ]
}

/// Runs transactions until one is a victim or the maximum is reached, and returns the number that
/// completed. If the last pipeline ended with a victim, the first transaction of this one retries
/// it.
fn pipeline(
    table: &LockTable,
    owner: &mut LockOwner,
    random: &mut Random,
    ends: &AtomicBool,
    retries_first: bool,
) -> u64 {
    let mut ran = 0;
    let mut retry = None;
    while ran < PIPELINE_MAX && !ends.load(Ordering::Relaxed) {
        // A retry keeps the transaction's age; the locks belong to the pipeline.
        if !(ran == 0 && owner.priority().retries() > 0) {
            owner.set_txn(TxnId(ran + 1));
        }
        owner.set_pipeline(ran);
        if transfer(table, owner, random).is_err() {
            retry = Some(owner.priority().after_loss());
            break;
        }
        ran += 1;
    }
    thread::sleep(FLUSH);
    table.release_all(owner, Some(Lsn(1)));
    if let Some(retry) = retry.filter(|_| retries_first) {
        owner.resume(retry);
    }
    ran
}

/// Locks a teller, its branch and a row of its own. The locks are kept until the pipeline flushes.
fn transfer(table: &LockTable, owner: &mut LockOwner, random: &mut Random) -> Result<(), Error> {
    let branch = random.below(BRANCHES);
    let rows = [branch * TELLERS + random.below(TELLERS), branch, random.below(1 << 40)];
    for (tree, row) in TREES.into_iter().zip(rows) {
        let id = LockId::of(tree, &row.to_be_bytes());
        if table.try_acquire(owner, id, RangeMode::XN) == Asked::Denied {
            table.acquire(owner, id, RangeMode::XN, WaitLimit::Forever)?;
        }
    }
    Ok(())
}
