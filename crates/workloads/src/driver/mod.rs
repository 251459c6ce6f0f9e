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

use std::time::{Duration, Instant};

use clearway_sync::{
    CachePadded,
    atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
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
            Commit::Pipelined => {
                std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
            }
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
                scope.spawn(move || {
                    let result = match plan.commit {
                        Commit::Pipelined => pipelined::run(&agent, clients),
                        Commit::Blocking => blocking::run(&agent, clients),
                    };
                    if result.is_err() {
                        agent.shared.stop.store(true, Ordering::Relaxed);
                    }
                    result
                })
            })
            .collect();
        watch(store, plan, &shared, started, aborts_before, on_tick);
        shared.stop.store(true, Ordering::Relaxed);
        workers
            .into_iter()
            .map(|worker| {
                worker.join().unwrap_or_else(|_| Err(S::Error::failed("an agent panicked".into())))
            })
            .collect()
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
    };
    for result in results {
        let measured = result?;
        outcome.commits += measured.commits;
        outcome.failures += measured.failures;
        outcome.latency.merge(&measured.latency);
    }
    Ok(outcome)
}

/// Sleeps through the run, telling its state once a second.
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
        if elapsed >= plan.duration || shared.stop.load(Ordering::Relaxed) {
            return;
        }
        if elapsed >= next_tick {
            next_tick += Duration::from_secs(1);
            let commits = shared.commits.iter().map(|n| n.load(Ordering::Relaxed)).sum();
            let aborts = store.aborts() - aborts_before;
            if !on_tick(&Tick { elapsed, commits, aborts }) {
                return;
            }
        }
        thread::sleep(STEP.min(plan.duration.saturating_sub(elapsed)));
    }
}
