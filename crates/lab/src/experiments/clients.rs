//! Clients that submit transactions one after the other and rarely wait for one to be durable, so
//! that only processors are scarce; and the counters of their runs.

use std::time::{Duration, Instant};

use clearway::{Database, Pending};
use clearway_lock::LockStats;
use clearway_sync::{
    atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
};
use clearway_testkit::Random;

use crate::{experiment::Outcome, machine};

/// The number of commits that a client submits between two waits for a result.
const COMMITS_UNAWAITED: u64 = 64;

/// One client: its number, its random numbers, and the count of its transactions.
pub(super) struct Client {
    pub(super) number: u64,
    pub(super) random: Random,
    /// The number of transactions that the client has submitted.
    pub(super) submitted: u64,
}

/// The counters of a run.
pub(super) struct Ran {
    /// The number of submitted transactions.
    pub(super) done: f64,
    pub(super) seconds: f64,
    /// Processor time of the whole process.
    pub(super) cpu_seconds: f64,
    before: LockStats,
    after: LockStats,
}

impl Ran {
    /// Returns the number of transactions per second.
    pub(super) fn tps(&self) -> f64 {
        self.done / self.seconds
    }

    /// Returns the increase of a counter of the lock table.
    pub(super) fn locks(&self, counter: impl Fn(&LockStats) -> u64) -> f64 {
        (counter(&self.after) - counter(&self.before)) as f64
    }
}

/// Runs `threads` clients for `time`, each of which calls `submit` repeatedly. Client n draws from
/// stream n of `seed`.
pub(super) fn run(
    db: &Database,
    threads: u64,
    time: Duration,
    seed: u64,
    submit: impl Fn(&mut Client) -> clearway::Result<Pending<()>> + Sync,
) -> Outcome<Ran> {
    let (ends, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let before = db.stats().engine.lock;
    let (begun, cpu_before) = (Instant::now(), machine::cpu_time());
    let failed = thread::scope(|scope| {
        let client = |number| {
            let (submit, ends, done) = (&submit, &ends, &done);
            scope.spawn(move || {
                let mut client =
                    Client { number, random: Random::stream(seed, number), submitted: 0 };
                let result = work(&mut client, submit, ends);
                // Relaxed: read after the join.
                done.fetch_add(client.submitted, Ordering::Relaxed);
                result
            })
        };
        let clients: Vec<_> = (0..threads).map(client).collect();
        thread::sleep(time);
        ends.store(true, Ordering::Relaxed);
        clients.into_iter().find_map(|client| client.join().unwrap_or(Ok(())).err())
    });
    if let Some(error) = failed {
        return Err(error.into());
    }
    Ok(Ran {
        seconds: begun.elapsed().as_secs_f64(),
        cpu_seconds: (machine::cpu_time() - cpu_before).as_secs_f64(),
        done: done.into_inner() as f64,
        before,
        after: db.stats().engine.lock,
    })
}

/// Runs one client's transactions until the run ends.
fn work(
    client: &mut Client,
    submit: impl Fn(&mut Client) -> clearway::Result<Pending<()>>,
    ends: &AtomicBool,
) -> clearway::Result<()> {
    let mut last = None;
    while !ends.load(Ordering::Relaxed) {
        let pending = submit(client)?;
        client.submitted += 1;
        // Bounds the number of transactions in flight without waiting for every commit.
        if client.submitted.is_multiple_of(COMMITS_UNAWAITED)
            && let Some(last) = last.replace(pending)
        {
            last.wait()?;
        }
    }
    Ok(())
}
