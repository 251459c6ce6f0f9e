//! Runs a workload: many logical clients over few agent threads.
//!
//! *Pipelined*: each client has at most one transaction outstanding. An agent thread submits for
//! its clients in turn; when all of them are outstanding it waits for the oldest. It never spins.
//! *Blocking*: a thread runs one transaction at a time and waits for each; with fewer threads
//! than clients a thread serves its clients in turn, so that `threads` transactions are in flight.
//!
//! A transaction's latency runs from its submission to the moment its agent sees that it is
//! durable. Counters and histograms are private to a thread and merged at the end; the live
//! counter is one padded word per thread.

mod blocking;
mod pipelined;

use std::{
    thread,
    time::{Duration, Instant},
};

use clearway_sync::{
    CachePadded,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use crate::{
    Histogram,
    store::{Store, StoreError},
};

/// A workload that the driver can run.
pub trait Workload<S: Store>: Sync {
    /// The private state of a logical client.
    type Client: Send;
    /// What a transaction gives back.
    type Output: Send;

    /// A new client; called once for each, in order.
    fn client(&self, seed: u64) -> Self::Client;

    /// Runs one transaction and returns once it is durable.
    fn run(&self, store: &S, client: &mut Self::Client) -> Result<(), S::Error>;

    /// Runs one transaction; its durability is awaited on the result.
    fn submit(
        &self,
        store: &S,
        client: &mut Self::Client,
    ) -> Result<S::Pending<Self::Output>, S::Error>;
}

/// How commits are awaited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Commit {
    /// Threads go on to other clients while commits become durable.
    Pipelined,
    /// A thread waits for each commit.
    Blocking,
}

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Logical clients: transactions in flight when pipelined.
    pub clients: u32,
    /// Agent threads; `None`: as many as the machine has processors when pipelined, one for each
    /// client when blocking. Never more than clients.
    pub threads: Option<usize>,
    /// How commits are awaited.
    pub commit: Commit,
    /// For how long.
    pub duration: Duration,
    /// Seed of the clients' random numbers.
    pub seed: u64,
}

impl Plan {
    /// The number of agent threads this plan runs.
    pub fn agents(&self) -> usize {
        let clients = self.clients.max(1) as usize;
        let wanted = self.threads.unwrap_or_else(|| match self.commit {
            Commit::Blocking => clients,
            Commit::Pipelined => thread::available_parallelism().map_or(1, std::num::NonZero::get),
        });
        wanted.clamp(1, clients)
    }
}

/// The state of a run, as told once a second.
#[derive(Clone, Copy, Debug)]
pub struct Tick {
    /// Since the start.
    pub elapsed: Duration,
    /// Commits so far.
    pub commits: u64,
    /// Attempts rolled back over a conflict so far.
    pub aborts: u64,
}

/// What a run measured.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Transactions that became durable.
    pub commits: u64,
    /// Attempts that were rolled back over a conflict and run again.
    pub aborts: u64,
    /// Transactions given up because conflicts outlasted the store's retries.
    pub failures: u64,
    /// From the first submission to the last acknowledgement.
    pub elapsed: Duration,
    /// Nanoseconds from submission to acknowledgement.
    pub latency: Histogram,
    /// Agent threads that ran.
    pub threads: usize,
    /// Whether it was ended before its time was up.
    pub interrupted: bool,
}

impl Outcome {
    /// Commits per second.
    pub fn tps(&self) -> f64 {
        self.commits as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }
}

/// What all threads of a run share.
struct Shared {
    stop: AtomicBool,
    commits: Box<[CachePadded<AtomicU64>]>,
}

/// What one agent measured.
struct Measured {
    latency: Histogram,
    failures: u64,
    commits: u64,
}

/// One agent's view of the run.
struct Agent<'a, S, W> {
    store: &'a S,
    workload: &'a W,
    shared: &'a Shared,
    number: usize,
}

impl<S: Store, W: Workload<S>> Agent<'_, S, W> {
    /// Runs the clients until the run is over; an error ends it for all agents.
    fn run(&self, commit: Commit, clients: Vec<W::Client>) -> Result<Measured, S::Error> {
        let result = match commit {
            Commit::Pipelined => pipelined::run(self, clients),
            Commit::Blocking => blocking::run(self, clients),
        };
        if result.is_err() {
            self.shared.stop.store(true, Ordering::Relaxed);
        }
        result
    }

    fn stopped(&self) -> bool {
        // Relaxed: the flag carries no data; a late view costs one more transaction.
        self.shared.stop.load(Ordering::Relaxed)
    }

    /// Sorts a transaction's outcome; an error that is no conflict ends the run.
    fn settle(
        &self,
        measured: &mut Measured,
        started: Instant,
        result: Result<(), S::Error>,
    ) -> Result<(), S::Error> {
        match result {
            Ok(()) => {
                measured.latency.record(started.elapsed().as_nanos() as u64);
                measured.commits += 1;
                // Relaxed: read for the live line only; this thread is the only writer.
                self.shared.commits[self.number].store(measured.commits, Ordering::Relaxed);
                Ok(())
            }
            Err(error) if error.is_conflict() => {
                measured.failures += 1;
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

/// Starts a thread. One that the system refuses is an error of the workload and not a panic, so
/// that those which run already can be ended.
pub(crate) fn start<'scope, S: Store, T: Send + 'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    work: impl FnOnce() -> Result<T, S::Error> + Send + 'scope,
) -> Result<thread::ScopedJoinHandle<'scope, Result<T, S::Error>>, S::Error> {
    let started = thread::Builder::new().spawn_scoped(scope, work);
    started.map_err(|error| S::Error::failed(format!("cannot start a thread: {error}")))
}

/// What a thread came to.
pub(crate) fn join<S: Store, T>(
    worker: thread::ScopedJoinHandle<'_, Result<T, S::Error>>,
) -> Result<T, S::Error> {
    worker.join().unwrap_or_else(|_| Err(S::Error::failed("a thread panicked".into())))
}

/// Runs `workload` on `store` by `plan`.
///
/// `on_tick` is called about once a second from the calling thread; when it returns false the run
/// ends early. An error of a transaction, other than a conflict, ends the run and is returned.
pub fn drive<S: Store, W: Workload<S>>(
    store: &S,
    workload: &W,
    plan: &Plan,
    on_tick: &mut dyn FnMut(&Tick) -> bool,
) -> Result<Outcome, S::Error> {
    let agents = plan.agents();
    let shared = Shared {
        stop: AtomicBool::new(false),
        commits: (0..agents).map(|_| CachePadded::new(AtomicU64::new(0))).collect(),
    };
    let mut clients: Vec<Vec<W::Client>> = (0..agents).map(|_| Vec::new()).collect();
    for client in 0..plan.clients.max(1) as usize {
        clients[client % agents].push(workload.client(plan.seed));
    }
    let aborts_before = store.aborts();
    let started = Instant::now();
    let results: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = clients
            .into_iter()
            .enumerate()
            .map(|(number, clients)| {
                let agent = Agent { store, workload, shared: &shared, number };
                start::<S, _>(scope, move || agent.run(plan.commit, clients))
            })
            .collect();
        if workers.iter().all(Result::is_ok) {
            watch(store, plan, &shared, started, aborts_before, on_tick);
        }
        shared.stop.store(true, Ordering::Relaxed);
        workers.into_iter().map(|worker| worker.and_then(join::<S, _>)).collect()
    });
    let elapsed = started.elapsed();
    let aborts = store.aborts() - aborts_before;
    let mut outcome = Outcome {
        commits: 0,
        aborts,
        failures: 0,
        elapsed,
        latency: Histogram::new(),
        threads: agents,
        interrupted: elapsed < plan.duration,
    };
    for result in results {
        let measured = result?;
        outcome.commits += measured.commits;
        outcome.failures += measured.failures;
        outcome.latency.merge(&measured.latency);
    }
    Ok(outcome)
}

/// Sleeps through the run, telling its state once a second and at the end.
fn watch<S: Store>(
    store: &S,
    plan: &Plan,
    shared: &Shared,
    started: Instant,
    aborts_before: u64,
    on_tick: &mut dyn FnMut(&Tick) -> bool,
) {
    const STEP: Duration = Duration::from_millis(100);
    let mut next_tick = Duration::from_secs(1);
    loop {
        let elapsed = started.elapsed();
        let is_over = elapsed >= plan.duration || shared.stop.load(Ordering::Relaxed);
        if elapsed >= next_tick || is_over {
            next_tick += Duration::from_secs(1);
            let commits = shared.commits.iter().map(|n| n.load(Ordering::Relaxed)).sum();
            let aborts = store.aborts() - aborts_before;
            if !on_tick(&Tick { elapsed, commits, aborts }) || is_over {
                return;
            }
        }
        thread::sleep(STEP.min(plan.duration.saturating_sub(elapsed)));
    }
}
