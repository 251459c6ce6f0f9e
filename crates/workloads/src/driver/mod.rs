//! Runs a workload: many logical clients over few agent threads.
//!
//! *Pipelined*: each client has at most one transaction outstanding. An agent thread submits for
//! its clients in turn; when all of them are outstanding it waits for the oldest. It never spins.
//! *Blocking*: a thread runs one transaction at a time and waits for each; with fewer threads
//! than clients a thread serves its clients in turn, so that `threads` transactions are in flight.
//! *Unawaited*: the same, and it waits for nothing.
//!
//! A client may pause before it submits ([`Workload::pause`]); meanwhile its agent serves others,
//! and who was due first comes first. An agent sleeps if there is nothing to do, and the end of the
//! run wakes it.
//!
//! A transaction's latency runs from its submission to the moment its agent sees that it is
//! durable. Counters and histograms are private to a thread and merged at the end; the live
//! counter is one padded word per thread.

mod blocking;
mod clients;
mod outcome;
mod pipelined;

use std::{
    thread,
    time::{Duration, Instant},
};

use clearway_sync::{
    CachePadded,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use crate::store::{Store, StoreError};

use outcome::Measured;
pub use outcome::{Outcome, TypeOutcome};

/// A workload that the driver can run.
pub trait Workload<S: Store>: Sync {
    /// The private state of a logical client.
    type Client: Send;
    /// What a transaction is to do.
    type Work;
    /// What a transaction gives back.
    type Output: Send;

    /// The names of its transaction types.
    fn types(&self) -> &'static [&'static str];

    /// A new client; called once for each, in order.
    fn client(&self, seed: u64) -> Self::Client;

    /// Draws what the client does next, so that a retry does the same; with the transaction's type
    /// as an index into [`types`](Workload::types).
    fn draw(&self, client: &mut Self::Client) -> (usize, Self::Work);

    /// For how long the client pauses before it submits what it has just drawn, which is of type
    /// `kind`. Called once after each [`draw`](Workload::draw), by the driver only; what passes for
    /// a pause is the time to think about the last result and the time to key this transaction in.
    ///
    /// The pause begins when the agent draws: after it has seen the client's last result, and at
    /// the start of the run for the first transaction. It is the least that passes; an agent that
    /// is busy with others when the client is due submits later. No latency contains any of it.
    fn pause(&self, _client: &mut Self::Client, _kind: usize) -> Duration {
        Duration::ZERO
    }

    /// Does it and returns once it is durable.
    fn run(&self, store: &S, client: &mut Self::Client, work: &Self::Work) -> Result<(), S::Error>;

    /// Does it; its durability is awaited on the result.
    fn submit(
        &self,
        store: &S,
        client: &mut Self::Client,
        work: &Self::Work,
    ) -> Result<S::Pending<Self::Output>, S::Error>;
}

/// How commits are awaited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Commit {
    /// Threads go on to other clients while commits become durable.
    Pipelined,
    /// A thread waits for each commit.
    Blocking,
    /// Nobody waits: a transaction counts as soon as its locks are free. For experiments: it is the
    /// bound of what a log could cost ("log-agnostic" in "Early Lock Release", figure 2). Nobody
    /// looks at the outcome either: a rollback whose error is held back, because it has read what
    /// is not durable yet, counts as a commit.
    Unawaited,
}

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Logical clients: when pipelined and without pauses, transactions in flight.
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
            Commit::Pipelined | Commit::Unawaited => {
                thread::available_parallelism().map_or(1, std::num::NonZero::get)
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

/// What all threads of a run share.
struct Shared {
    stop: AtomicBool,
    commits: Box<[CachePadded<AtomicU64>]>,
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
            Commit::Blocking => blocking::run(self, clients, Workload::run),
            Commit::Unawaited => blocking::run(self, clients, |workload, store, client, work| {
                workload.submit(store, client, work).map(drop)
            }),
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

    /// Sleeps until then, or until the run is over, whose end unparks all agents; may return early.
    /// The caller has looked whether the run is over and has not parked since.
    fn sleep(&self, until: Option<Instant>) {
        match until {
            Some(until) => {
                thread::park_timeout(until.saturating_duration_since(Instant::now()));
            }
            None => thread::park(),
        }
    }

    /// Nothing measured yet.
    fn measured(&self) -> Measured {
        Measured::new(self.workload.types())
    }

    /// Counts the outcome of a transaction of type `kind`; an error that is neither a conflict nor
    /// a rollback that the workload asked for ends the run.
    fn settle(
        &self,
        measured: &mut Measured,
        kind: usize,
        started: Instant,
        result: Result<(), S::Error>,
    ) -> Result<(), S::Error> {
        let counts = &mut measured.types[kind];
        match result {
            Ok(()) => {
                counts.latency.record(started.elapsed().as_nanos() as u64);
                counts.commits += 1;
                measured.commits += 1;
                // Relaxed: read for the live line only; this thread is the only writer.
                self.shared.commits[self.number].store(measured.commits, Ordering::Relaxed);
            }
            Err(error) if error.is_rollback() => counts.rollbacks += 1,
            Err(error) if error.is_conflict() => counts.failures += 1,
            Err(error) => return Err(error),
        }
        Ok(())
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
        // Relaxed: who is woken sees it, because unparking happens before being unparked.
        shared.stop.store(true, Ordering::Relaxed);
        workers.iter().flatten().for_each(|worker| worker.thread().unpark());
        workers.into_iter().map(|worker| worker.and_then(join::<S, _>)).collect()
    });
    let elapsed = started.elapsed();
    let aborts = store.aborts() - aborts_before;
    let mut measured = Measured::new(workload.types());
    for result in results {
        measured.merge(&result?);
    }
    Ok(measured.outcome(aborts, elapsed, agents, elapsed < plan.duration))
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

#[cfg(test)]
mod tests;
