//! Clients that update five of a few rows each, in canonical or in random order. Commits are not
//! awaited, so that only processors are scarce.

use std::time::{Duration, Instant};

use clearway::{Options as DatabaseOptions, Table, Transaction};
use clearway_sync::thread;

use super::clients;
use crate::{experiment::Outcome, variants::Sample};

/// The number of rows that a transaction updates.
pub(super) const PER_TRANSACTION: usize = 5;
/// The processor time that a transaction spends between two rows, before it yields to other
/// threads.
const WORK: Duration = Duration::from_micros(2);

/// The description of [`WORK`] in the reports.
pub(super) const BETWEEN: &str = "2 µs of work, then others may run, as on more cores";

/// The number of rows, the number of threads, and the order of the updates.
#[derive(Clone, Copy)]
pub(super) struct FewRows {
    pub(super) rows: u64,
    pub(super) threads: u64,
    /// True if all transactions take their rows in the same order, so that no deadlock is possible.
    pub(super) canonical: bool,
}

impl FewRows {
    /// Runs the clients for `time` on a new database with these options.
    pub(super) fn measure(self, options: DatabaseOptions, time: Duration) -> Outcome<Sample> {
        let db = options.cache_size(64 << 20).log_capacity(256 << 20).open("lab")?;
        let table = db.table("rows")?;
        db.transact("fill", |tx| {
            let mut rows = 0..self.rows;
            rows.try_for_each(|row| tx.put(&table, row.to_be_bytes(), [0; 100]).map(drop))
        })?;
        let ran = clients::run(&db, self.threads, time, 3, |client| {
            let mut rows: Vec<u64> =
                (0..PER_TRANSACTION).map(|_| client.random.below(self.rows)).collect();
            if self.canonical {
                rows.sort_unstable();
            }
            db.submit("few rows", |tx| rows.iter().try_for_each(|row| update(tx, &table, *row)))
        })?;
        let deaths = ran.locks(|stats| stats.deadlocks);
        Ok(vec![
            ("tps", ran.tps()),
            ("waits", ran.locks(|stats| stats.waits)),
            ("deaths", deaths),
            ("deaths/tx", deaths / ran.done.max(1.0)),
            ("false alarms", ran.locks(|stats| stats.false_alarms)),
        ])
    }
}

fn update(tx: &mut Transaction, table: &Table, row: u64) -> clearway::Result<()> {
    let key = row.to_be_bytes();
    let value = tx.get_for_update(table, key)?.unwrap_or_default();
    tx.put(table, key, value)?;
    pass_time();
    thread::yield_now();
    Ok(())
}

fn pass_time() {
    let begun = Instant::now();
    while begun.elapsed() < WORK {
        clearway_sync::spin_loop();
    }
}
