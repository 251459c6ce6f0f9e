//! What the methods of finding or preventing deadlocks cost where there are none: transactions
//! update five rows each in canonical order, so whoever dies, dies for nothing, and what it has
//! done is undone for nothing. Commits are not awaited, so that processors are all that is scarce.
//!
//! The paper's machine ran 64 threads at once. Here a transaction lets others run after each row,
//! so that as many are under way.

use std::time::Duration;

use clearway::Options as DatabaseOptions;
use clearway_lock::{DeadlockMethod, Digests};

use super::few_rows::{FewRows, PER_TRANSACTION};
use crate::{
    experiment::{Experiment, Lab, Outcome},
    report::{Claim, Findings, Grid},
    variants::Samples,
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
        let workload = FewRows { rows: TELLERS, threads: LEVELS[point], canonical: true };
        let options = DatabaseOptions::in_memory();
        let deadlocks = METHODS[variant].1;
        workload.measure(options.locks(|locks| locks.deadlocks = deadlocks), lab.time)
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
