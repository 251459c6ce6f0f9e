//! What the methods of finding or preventing deadlocks cost where there are none: transactions
//! lock five rows each in canonical order, so whoever dies, dies for nothing.

use std::time::{Duration, Instant};

use clearway_base::{Error, Lsn, TreeId, TxnId};
use clearway_lock::{
    DeadlockMethod, Digests, LockId, LockOptions, LockOwner, LockTable, Outcome as Asked,
    RangeMode, WaitLimit,
};
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
        Ok(measure(LEVELS[point], METHODS[variant].1, lab.time))
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
            ("runs on", "the lock manager alone".into()),
        ],
        claims,
        grids: vec![Grid { title: "five of fifty rows", samples, measure: "tps", baseline: 0 }],
    })
}

fn measure(threads: u64, deadlocks: DeadlockMethod, time: Duration) -> Sample {
    let table = LockTable::new(LockOptions { deadlocks, ..LockOptions::default() });
    let (ends, done) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for n in 0..threads {
            let (table, ends, done) = (&table, &ends, &done);
            scope.spawn(move || {
                let (mut owner, mut rng) = (table.owner(), Rng::stream(3, n));
                while !ends.load(Ordering::Relaxed) {
                    transact(table, &mut owner, &mut rng, ends);
                    // Relaxed: read after the join.
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        thread::sleep(time);
        ends.store(true, Ordering::Relaxed);
    });
    let stats = table.stats();
    vec![
        ("tps", done.into_inner() as f64 / time.as_secs_f64()),
        ("waits", stats.waits as f64),
        ("deaths", stats.deadlocks as f64),
        ("false alarms", stats.false_alarms as f64),
    ]
}

/// One transaction, with as many attempts as it takes.
fn transact(table: &LockTable, owner: &mut LockOwner, rng: &mut Rng, ends: &AtomicBool) {
    let mut rows: Vec<u64> = (0..PER_TRANSACTION).map(|_| rng.below(TELLERS)).collect();
    rows.sort_unstable();
    let mut lost = None;
    while !ends.load(Ordering::Relaxed) {
        owner.set_txn(TxnId(1));
        if let Some(lost) = lost {
            owner.resume(lost);
        }
        let end = rows.iter().try_for_each(|&row| {
            lock(table, owner, row)?;
            pass_time();
            thread::yield_now();
            Ok::<_, Error>(())
        });
        let standing = owner.standing().after_loss();
        table.release_all(owner, end.is_ok().then_some(Lsn(1)));
        if end.is_ok() {
            return;
        }
        lost = Some(standing);
        thread::yield_now();
    }
}

fn lock(table: &LockTable, owner: &mut LockOwner, row: u64) -> Result<(), Error> {
    let id = LockId::of(TreeId(1), &row.to_be_bytes());
    match table.try_acquire(owner, id, RangeMode::XN) {
        Asked::Granted => Ok(()),
        Asked::Denied => table.acquire(owner, id, RangeMode::XN, WaitLimit::Forever),
    }
}

fn pass_time() {
    let begun = Instant::now();
    while begun.elapsed() < WORK {
        clearway_sync::spin_loop();
    }
}
