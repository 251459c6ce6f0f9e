//! Clients that update five of a few rows each, in canonical order or in an order of their own.
//! Commits are not awaited, so that processors are all that is scarce.

use std::time::{Duration, Instant};

use clearway::{Database, Options as DatabaseOptions, Table};
use clearway_sync::{
    atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
};
use clearway_workloads::Rng;

use crate::{experiment::Outcome, variants::Sample};

/// How many rows a transaction updates.
pub(super) const PER_TRANSACTION: usize = 5;
/// Commits of a client in flight before it waits for one.
const COMMITS_UNAWAITED: u64 = 64;
/// What a transaction does between two rows, besides letting others run.
const WORK: Duration = Duration::from_micros(2);

/// Who does what to which rows.
#[derive(Clone, Copy)]
pub(super) struct FewRows {
    pub(super) rows: u64,
    pub(super) threads: u64,
    /// Whether all take their rows in the same order, so that no deadlock is possible.
    pub(super) canonical: bool,
}

impl FewRows {
    /// One run for `time` on a database of its own, with these options.
    pub(super) fn measure(self, options: DatabaseOptions, time: Duration) -> Outcome<Sample> {
        let db = options.cache_size(64 << 20).log_capacity(256 << 20).open("lab")?;
        let table = db.table("rows")?;
        db.transact("fill", |tx| {
            let mut rows = 0..self.rows;
            rows.try_for_each(|row| tx.put(&table, row.to_be_bytes(), [0; 100]).map(drop))
        })?;
        let (ends, done) = (AtomicBool::new(false), AtomicU64::new(0));
        let before = db.stats().engine.lock;
        let failed = thread::scope(|scope| {
            let client = |n| {
                let (db, table, ends, done) = (&db, &table, &ends, &done);
                scope.spawn(move || self.work(db, table, n, ends, done))
            };
            let clients: Vec<_> = (0..self.threads).map(client).collect();
            thread::sleep(time);
            ends.store(true, Ordering::Relaxed);
            clients.into_iter().find_map(|client| client.join().unwrap_or(Ok(())).err())
        });
        if let Some(error) = failed {
            return Err(error.into());
        }
        let (after, done) = (db.stats().engine.lock, done.into_inner() as f64);
        Ok(vec![
            ("tps", done / time.as_secs_f64()),
            ("waits", (after.waits - before.waits) as f64),
            ("deaths", (after.deadlocks - before.deadlocks) as f64),
            ("deaths/tx", (after.deadlocks - before.deadlocks) as f64 / done.max(1.0)),
            ("false alarms", (after.false_alarms - before.false_alarms) as f64),
        ])
    }

    /// One client, time and again, with as many attempts as it takes.
    fn work(
        self,
        db: &Database,
        table: &Table,
        client: u64,
        ends: &AtomicBool,
        done: &AtomicU64,
    ) -> clearway::Result<()> {
        let mut rng = Rng::stream(3, client);
        let (mut last, mut committed) = (None, 0u64);
        while !ends.load(Ordering::Relaxed) {
            let mut rows: Vec<u64> = (0..PER_TRANSACTION).map(|_| rng.below(self.rows)).collect();
            if self.canonical {
                rows.sort_unstable();
            }
            let pending = db.submit("few rows", |tx| {
                rows.iter().try_for_each(|row| {
                    let key = row.to_be_bytes();
                    let value = tx.get_for_update(table, key)?.unwrap_or_default();
                    tx.put(table, key, value)?;
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
}

fn pass_time() {
    let begun = Instant::now();
    while begun.elapsed() < WORK {
        clearway_sync::spin_loop();
    }
}
