//! The cost of the methods of deadlock detection and prevention where no deadlock is possible.
//! Transactions update five rows each in canonical order, so each victim is rolled back without
//! need. Commits are not awaited, so that only processors are scarce.
//!
//! The paper's machine ran 64 threads at once. Here a transaction yields to the others after each
//! row, so that as many transactions are active at a time.

use std::time::Duration;

use clap::Args;
use clearway::Options as DatabaseOptions;
use clearway_variants::lock::{DeadlockMethod, Digests, LockVariants};

use super::few_rows::{self, FewRows, PER_TRANSACTION};
use crate::experiment::{
    About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen,
};

#[derive(Args, Debug)]
pub(super) struct DeadlockMethods {}

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
const EXACT: Digests = Digests {
    exact_owners: 512,
    bloom_bits: 512,
    fingerprint_bits: 3,
    confirm: true,
    accepts_marked: false,
};
const BLOOM: Digests = Digests { exact_owners: 0, confirm: false, ..EXACT };

impl Experiment for DeadlockMethods {
    const ABOUT: About = About {
        name: "deadlock_methods",
        source: "\"Efficient Locking Techniques for Databases on Modern Hardware\", figure 6",
        shows: "detection aborts no transaction where no deadlock is possible; prevention aborts \
                thousands",
        seconds: 0.5,
        repetitions: 5,
    };
    type Point = u64;
    type Variant = DeadlockMethod;

    fn plan(&self, _lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        found.setting("rows", TELLERS);
        found.setting("rows of a transaction", PER_TRANSACTION);
        found.setting("between two locks", few_rows::BETWEEN);
        found.setting("commits", "not awaited");
        let points = LEVELS.map(|level| (format!("{level} threads"), level));
        Ok(vec![Grid::new("five of fifty rows", "tps", points, METHODS)])
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        let workload = FewRows { rows: TELLERS, threads: *run.point, canonical: true };
        let options = DatabaseOptions::in_memory().lock_variant(*run.variant);
        workload.measure(options, run.lab.time)
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        let (grid, most) = (&seen.grids[0], LEVELS.len() - 1);
        found.at_most("deaths with search", 0.0, grid.total(0, "deaths"));
        found.at_most("deaths with exact digests", 0.0, grid.total(1, "deaths"));
        found.at_most("false alarms with exact digests", 0.0, grid.total(1, "false alarms"));
        found.at_least("search over wound-wait, 32 threads", 2.0, grid.over(most, 0, 4));
        found.at_least("search over wait-die, 32 threads", 2.0, grid.over(most, 0, 5));
    }
}
