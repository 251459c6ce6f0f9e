//! Compares ways of waiting for a lock: spinning, sleeping, sleeping with backoff, and a hybrid,
//! with an increasing number of concurrent transactions. They take TPC-B's locks and write in an
//! order that makes every reported deadlock a false one. Commits are lazy, so that only processors
//! are scarce.
//!
//! With more threads than processors a run is in one of two states. In one, the scheduler's time
//! slices keep the threads apart, and they rarely conflict. In the other, each thread finds the
//! branch's lock held by a sleeping owner, and sleeps behind it. A run changes from the first state
//! to the second by chance and seldom back, and is several times as fast in the first. So runs are
//! short and many: a ratio of two runs has little meaning, but the median of many reflects how
//! likely each state is.

use std::time::Duration;

use clap::Args;
use clearway::{Database, Options as DatabaseOptions, Pending, Table};
use clearway_lock::LockOptions;
use clearway_variants::lock::{DeadlockMethod, Digests, LockVariants};

use super::clients::{self, Client};
use crate::experiment::{
    About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen,
};

#[derive(Args, Debug)]
pub(super) struct DeadlockWait {
    /// Threads, each of which runs one transaction after the other
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 4, 8, 16, 32, 64],
          value_parser = clap::value_parser!(u64).range(1..10_000))]
    levels: Vec<u64>,
}

/// Returns the methods, and the rounds of spins before a waiter sleeps; the first four are the
/// paper's.
fn variants() -> [(&'static str, (DeadlockMethod, u32)); 5] {
    let plain = Digests { confirm: false, ..Digests::bloom() };
    let accepting = DeadlockMethod::Dreadlocks(Digests { accepts_marked: true, ..plain });
    let plain = DeadlockMethod::Dreadlocks(plain);
    let hybrid = LockOptions::default().spin_rounds;
    [
        ("spin", (plain, u32::MAX)),
        ("sleep", (accepting, 0)),
        ("sleep, backoff", (plain, 0)),
        ("hybrid", (plain, hybrid)),
        ("search, hybrid", (DeadlockMethod::Search, hybrid)),
    ]
}
const HYBRID: usize = 3;
const DEFAULT: usize = 4;
/// Transactions for each second of processor time that the whole process used. On a machine that
/// runs other programs too, this measure has less noise than the throughput.
const EFFICIENCY: &str = "per cpu s";
/// The relative deficit to the best policy that the hybrid may have.
const TOLERANCE: f64 = 0.05;
const ACCOUNTS: u64 = 1_000;
const TELLERS: u64 = 10;

impl Experiment for DeadlockWait {
    const ABOUT: About = About {
        name: "deadlock_wait",
        source: "\"Efficient Locking Techniques for Databases on Modern Hardware\", figure 5",
        shows: "the hybrid waits as well as the best policy, from one transaction at a time to \
                many",
        seconds: 0.1,
        repetitions: 18,
    };
    type Point = u64;
    type Variant = (DeadlockMethod, u32);

    fn plan(&self, _lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        found.setting("digests", "Bloom filters, without confirmation, as in the paper");
        found.setting("sleep between deadlock checks, in ms", 10);
        found.setting("commits", "not awaited");
        let hybrid = "spins while no more transactions run than there are processors";
        found.setting("hybrid", hybrid);
        found.setting("levels", "beyond the number of cores, threads share them");
        let points = self.levels.iter().map(|&level| (format!("{level} threads"), level));
        Ok(vec![Grid::new("TPC-B's locks", EFFICIENCY, points, variants()).over(HYBRID)])
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        let options = DatabaseOptions::in_memory().cache_size(64 << 20).log_capacity(256 << 20);
        let (method, spin_rounds) = *run.variant;
        let options =
            options.engine(|engine| engine.lock.spin_rounds = spin_rounds).lock_variant(method);
        measure(options, *run.point, run.lab.time)
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        let grid = &seen.grids[0];
        for (which, what) in [(HYBRID, "hybrid"), (DEFAULT, "the default")] {
            for (point, level) in self.levels.iter().enumerate() {
                let what = format!("{what} over the best policy, {level} threads");
                // The best of the paper's four policies.
                found.at_least(what, 1.0 - TOLERANCE, grid.over_best(point, which, DEFAULT));
            }
        }
        let deaths = grid.total(DEFAULT, "false deaths");
        found.at_most("false deaths of the default", 0.0, deaths);
    }
}

fn measure(options: DatabaseOptions, threads: u64, time: Duration) -> Outcome<Sample> {
    let db = options.open("lab")?;
    let tables = ["accounts", "tellers", "branches", "history"].map(|name| db.table(name));
    let [accounts, tellers, branches, history] = tables;
    let tables = [accounts?, tellers?, branches?, history?];
    for (table, rows) in tables.iter().zip([ACCOUNTS, TELLERS, 1]) {
        db.transact("fill", |tx| {
            (0..rows).try_for_each(|row| tx.put(table, row.to_be_bytes(), [0; 100]).map(drop))
        })?;
    }
    let ran = clients::run(&db, threads, time, 7, |client| transfer(&db, &tables, client))?;
    Ok(vec![
        ("tps", ran.tps()),
        (EFFICIENCY, ran.done / ran.cpu_seconds.max(0.001)),
        ("waits/tx", ran.locks(|stats| stats.waits) / ran.done.max(1.0)),
        ("sleeps/tx", ran.locks(|stats| stats.parks) / ran.done.max(1.0)),
        ("false alarms", ran.locks(|stats| stats.false_alarms)),
        ("false deaths", ran.locks(|stats| stats.false_deaths)),
    ])
}

/// Updates an account, a teller and the branch, and inserts a history row.
fn transfer(
    db: &Database,
    [accounts, tellers, branches, history]: &[Table; 4],
    client: &mut Client,
) -> clearway::Result<Pending<()>> {
    let (account, teller) = (client.random.below(ACCOUNTS), client.random.below(TELLERS));
    let line = [client.number.to_be_bytes(), client.submitted.to_be_bytes()].concat();
    db.submit("tpc-b", |tx| {
        for (table, row) in [(accounts, account), (tellers, teller), (branches, 0)] {
            let key = row.to_be_bytes();
            let value = tx.get_for_update(table, key)?.unwrap_or_default();
            tx.put(table, key, value)?;
        }
        tx.insert(history, &line, [0; 50])
    })
}
