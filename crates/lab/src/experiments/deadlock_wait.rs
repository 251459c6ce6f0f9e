//! How waiters should wait: spinning, sleeping, sleeping with backoff, and a hybrid, at more and
//! more transactions at a time. TPC-B's locks and writes in an order that makes every deadlock a
//! false one, with lazy commits, so that processors are all that is scarce.

use std::time::Duration;

use clearway::{Database, Options as DatabaseOptions, Table};
use clearway_lock::{DeadlockMethod, Digests, LockOptions, WaitPolicy};
use clearway_sync::{
    atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
};
use clearway_workloads::Rng;

use crate::{
    experiment::{Experiment, Lab, Outcome},
    machine,
    report::{Claim, Findings, Grid},
    variants::{Sample, Samples},
};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "deadlock_wait",
    source: "\"Efficient Locking Techniques for Databases on Modern Hardware\", figure 5",
    shows: "the hybrid waits as well as the best policy, from one transaction at a time to many",
    seconds: 0.3,
    repetitions: 5,
    options: |command| command,
    run,
    cases: &[],
};

const LEVELS: [u64; 7] = [1, 2, 4, 8, 16, 32, 64];
const VARIANTS: [&str; 5] = ["spin", "sleep", "sleep, backoff", "hybrid", "search, hybrid"];
const HYBRID: usize = 3;
const DEFAULT: usize = 4;
/// Transactions for each second of processor time that the whole process has used: on a machine
/// that others use too, less is noise in it than in the throughput.
const EFFICIENCY: &str = "per cpu s";
/// How far the hybrid may be behind the best.
const TOLERANCE: f64 = 0.05;
const ACCOUNTS: u64 = 1_000;
const TELLERS: u64 = 10;
/// Commits of a client in flight before it waits for one.
const COMMITS_UNAWAITED: u64 = 64;

fn locks(variant: usize, options: &mut LockOptions) {
    let plain = DeadlockMethod::Dreadlocks(Digests { confirm: false, ..Digests::bloom() });
    options.deadlocks = if variant == DEFAULT { DeadlockMethod::Search } else { plain };
    options.waiting = match variant {
        0 => WaitPolicy::Spin,
        1 => WaitPolicy::Sleep,
        2 => WaitPolicy::SleepBackoff,
        _ => WaitPolicy::Hybrid,
    };
}

fn run(lab: &Lab<'_>) -> Outcome<Findings> {
    let points = LEVELS.map(|level| format!("{level} threads")).to_vec();
    let variants = VARIANTS.map(String::from).to_vec();
    let samples = Samples::take(points, variants, lab.repetitions, |point, variant, _| {
        measure(LEVELS[point], variant, lab.time)
    })?;
    let mut claims = Vec::new();
    for (which, what) in [(HYBRID, "hybrid"), (DEFAULT, "the default")] {
        for (point, level) in LEVELS.iter().enumerate() {
            let what = format!("{what} over the best policy, {level} threads");
            claims.push(Claim::at_least(&what, 1.0 - TOLERANCE, over_best(&samples, point, which)));
        }
    }
    let deaths = |variant| -> f64 {
        (0..LEVELS.len()).flat_map(|at| samples.values(at, variant, "false deaths")).sum()
    };
    claims.push(Claim::at_most("false deaths of the default", 0.0, deaths(DEFAULT)));
    Ok(Findings {
        settings: vec![
            ("digests", "Bloom filters, without confirmation, as in the paper".into()),
            ("sleep between looks, in ms", 10.into()),
            ("commits", "not awaited".into()),
            ("hybrid", "beyond two owners on two cores the same code as sleep, backoff".into()),
            ("levels", "beyond the number of cores, threads share them".into()),
        ],
        claims,
        grids: vec![Grid {
            title: "TPC-B's locks",
            samples,
            measure: EFFICIENCY,
            baseline: HYBRID,
        }],
    })
}

/// The least of the median ratios of one variant to each of the paper's four, itself included.
fn over_best(samples: &Samples, point: usize, variant: usize) -> f64 {
    let over = |other| samples.ratio(point, variant, other, EFFICIENCY).median;
    (0..DEFAULT).map(over).fold(f64::INFINITY, f64::min)
}

fn measure(threads: u64, variant: usize, time: Duration) -> Outcome<Sample> {
    let options = DatabaseOptions::in_memory().cache_size(64 << 20).log_capacity(256 << 20);
    let db = options.locks(|options| locks(variant, options)).open("lab")?;
    let tables = ["accounts", "tellers", "branches", "history"].map(|name| db.table(name));
    let [accounts, tellers, branches, history] = tables;
    let tables = [accounts?, tellers?, branches?, history?];
    for (table, rows) in tables.iter().zip([ACCOUNTS, TELLERS, 1]) {
        db.transact("fill", |tx| {
            (0..rows).try_for_each(|row| tx.put(table, row.to_be_bytes(), [0; 100]).map(drop))
        })?;
    }
    let (ends, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let before = db.stats().engine.lock;
    let cpu_before = machine::cpu_seconds();
    let failed = thread::scope(|scope| {
        let client = |n| {
            let (db, tables, ends, done) = (&db, &tables, &ends, &done);
            scope.spawn(move || work(db, tables, n, ends, done))
        };
        let clients: Vec<_> = (0..threads).map(client).collect();
        thread::sleep(time);
        ends.store(true, Ordering::Relaxed);
        clients.into_iter().find_map(|client| client.join().unwrap_or(Ok(())).err())
    });
    if let Some(error) = failed {
        return Err(error.into());
    }
    let after = db.stats().engine.lock;
    let cpu = machine::cpu_seconds() - cpu_before;
    let done = done.into_inner() as f64;
    Ok(vec![
        ("tps", done / time.as_secs_f64()),
        (EFFICIENCY, done / cpu.max(0.001)),
        ("waits", (after.waits - before.waits) as f64),
        ("false alarms", after.false_alarms as f64),
        ("false deaths", after.false_deaths as f64),
    ])
}

/// One client: an account, its teller, the branch, and a line of history, time and again.
fn work(
    db: &Database,
    [accounts, tellers, branches, history]: &[Table; 4],
    client: u64,
    ends: &AtomicBool,
    done: &AtomicU64,
) -> clearway::Result<()> {
    let mut rng = Rng::stream(7, client);
    let (mut last, mut committed) = (None, 0u64);
    while !ends.load(Ordering::Relaxed) {
        let (account, teller) = (rng.below(ACCOUNTS), rng.below(TELLERS));
        let line = [client.to_be_bytes(), committed.to_be_bytes()].concat();
        let pending = db.submit("tpc-b", |tx| {
            for (table, row) in [(accounts, account), (tellers, teller), (branches, 0)] {
                let key = row.to_be_bytes();
                let value = tx.get_for_update(table, key)?.unwrap_or_default();
                tx.put(table, key, value)?;
            }
            tx.insert(history, &line, [0; 50])
        })?;
        committed += 1;
        // Bounds what is in flight, without waiting for every commit.
        if committed.is_multiple_of(COMMITS_UNAWAITED)
            && let Some(last) = last.replace(pending)
        {
            last.wait()?;
        }
    }
    // Relaxed: read after the join.
    done.fetch_add(committed, Ordering::Relaxed);
    Ok(())
}
