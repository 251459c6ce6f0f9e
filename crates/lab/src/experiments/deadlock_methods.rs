//! What the methods of finding or preventing deadlocks cost where there are none: transactions
//! update five rows each in canonical order, so whoever dies, dies for nothing, and what it has
//! done is undone for nothing. Commits are not awaited, so that processors are all that is scarce.
//!
//! The paper's machine ran 64 threads at once. Here a transaction lets others run after each row,
//! so that as many are under way.

use std::time::{Duration, Instant};

use clearway::{Database, Options as DatabaseOptions, Table};
use clearway_lock::{DeadlockMethod, Digests};
use clearway_sync::{
    atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
};
use clearway_workloads::Rng;

use crate::{
    experiment::{Experiment, Lab, Outcome},
    report::{Claim, Findings, Grid},
    variants::{Sample, Samples},
};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "deadlock_methods",
    source: "\"Efficient Locking Techniques for Databases on Modern Hardware\", figure 6",
    shows: "detection kills nobody where no deadlock is possible; prevention kills thousands",
    seconds: 0.5,
    repetitions: 5,
    options: |command| command,
    run,
    cases: &[],
};

const LEVELS: [u64; 6] = [1, 2, 4, 8, 16, 32];
const TELLERS: u64 = 50;
const PER_TRANSACTION: usize = 5;
/// Commits of a client in flight before it waits for one.
const COMMITS_UNAWAITED: u64 = 64;
/// What a transaction does between two locks, besides letting others run.
const WORK: Duration = Duration::from_micros(2);
const METHODS: [(&str, DeadlockMethod); 7] = [
    ("search", DeadlockMethod::Search),
    ("digests, exact", DeadlockMethod::Dreadlocks(EXACT)),
    ("digests, exact, plain", DeadlockMethod::Dreadlocks(Digests { confirm: false, ..EXACT })),
    ("digests, Bloom, plain", DeadlockMethod::Dreadlocks(BLOOM)),
    ("wound-wait", DeadlockMethod::WoundWait),
    ("wait-die", DeadlockMethod::WaitDie),
    ("time-out, 10 ms", DeadlockMethod::Timeout(Duration::from_millis(10))),
];
const EXACT: Digests =
    Digests { exact_owners: 512, bloom_bits: 512, fingerprint_bits: 3, confirm: true };
const BLOOM: Digests = Digests { exact_owners: 0, confirm: false, ..EXACT };

fn run(lab: &Lab<'_>) -> Outcome<Findings> {
    let points = LEVELS.map(|level| format!("{level} threads")).to_vec();
    let variants = METHODS.map(|(name, _)| name.to_string()).to_vec();
    let samples = Samples::take(points, variants, lab.repetitions, |point, variant, _| {
        measure(LEVELS[point], METHODS[variant].1, lab.time)
    })?;
    let most = LEVELS.len() - 1;
    let total = |variant, measure| -> f64 {
        (0..LEVELS.len()).flat_map(|point| samples.values(point, variant, measure)).sum()
    };
    let over = |variant| samples.ratio(most, 0, variant, "tps").median;
    let claims = vec![
        Claim::at_most("deaths with search", 0.0, total(0, "deaths")),
        Claim::at_most("deaths with exact digests", 0.0, total(1, "deaths")),
        Claim::at_most("false alarms with exact digests", 0.0, total(1, "false alarms")),
        Claim::at_least("search over wound-wait, 32 threads", 2.0, over(4)),
        Claim::at_least("search over wait-die, 32 threads", 2.0, over(5)),
    ];
    Ok(Findings {
        settings: vec![
            ("rows", TELLERS.into()),
            ("rows of a transaction", PER_TRANSACTION.into()),
            ("between two locks", "2 µs of work, then others may run, as on more cores".into()),
            ("commits", "not awaited".into()),
        ],
        claims,
        grids: vec![Grid { title: "five of fifty rows", samples, measure: "tps", baseline: 0 }],
    })
}

fn measure(threads: u64, deadlocks: DeadlockMethod, time: Duration) -> Outcome<Sample> {
    let options = DatabaseOptions::in_memory().cache_size(64 << 20).log_capacity(256 << 20);
    let db = options.locks(|options| options.deadlocks = deadlocks).open("lab")?;
    let tellers = db.table("tellers")?;
    db.transact("fill", |tx| {
        (0..TELLERS).try_for_each(|row| tx.put(&tellers, row.to_be_bytes(), [0; 100]).map(drop))
    })?;
    let (ends, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let before = db.stats().engine.lock;
    let failed = thread::scope(|scope| {
        let client = |n| {
            let (db, tellers, ends, done) = (&db, &tellers, &ends, &done);
            scope.spawn(move || work(db, tellers, n, ends, done))
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
    Ok(vec![
        ("tps", done.into_inner() as f64 / time.as_secs_f64()),
        ("waits", (after.waits - before.waits) as f64),
        ("deaths", (after.deadlocks - before.deadlocks) as f64),
        ("false alarms", (after.false_alarms - before.false_alarms) as f64),
    ])
}

/// One client: five rows in canonical order, time and again, with as many attempts as it takes.
fn work(
    db: &Database,
    tellers: &Table,
    client: u64,
    ends: &AtomicBool,
    done: &AtomicU64,
) -> clearway::Result<()> {
    let mut rng = Rng::stream(3, client);
    let (mut last, mut committed) = (None, 0u64);
    while !ends.load(Ordering::Relaxed) {
        let mut rows: Vec<u64> = (0..PER_TRANSACTION).map(|_| rng.below(TELLERS)).collect();
        rows.sort_unstable();
        let pending = db.submit("five", |tx| {
            rows.iter().try_for_each(|row| {
                let key = row.to_be_bytes();
                let value = tx.get_for_update(tellers, key)?.unwrap_or_default();
                tx.put(tellers, key, value)?;
                pass_time();
                thread::yield_now();
                Ok(())
            })
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

fn pass_time() {
    let begun = Instant::now();
    while begun.elapsed() < WORK {
        clearway_sync::spin_loop();
    }
}
