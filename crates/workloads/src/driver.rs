//! Runs a workload: many logical clients over few agent threads.
//!
//! *Pipelined*: each client has at most one transaction outstanding. An agent thread submits for
//! its clients in turn; when all of them are outstanding it waits for the oldest. It never spins.
//! *Blocking*: a thread runs one transaction at a time and waits for each; with fewer threads than
//! clients, each thread serves its clients in turn, so that `threads` transactions are in flight.
//! *Unawaited*: like blocking, without waiting.
//!
//! A client may pause before it submits ([`Workload::pause`]); meanwhile its agent serves others,
//! and the client that was due first is served first. An agent sleeps if there is nothing to do,
//! and the end of the run wakes it.
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
use clearway_testkit::program::ProgramError;

use crate::store::Store;

use outcome::Measured;
pub use outcome::{Outcome, TypeOutcome};

/// A workload that the driver can run.
pub trait Workload<S: Store>: Sync {
    /// The private state of a logical client.
    type Client: Send;
    /// The parameters of a transaction.
    type Work;
    /// The result of a transaction.
    type Output: Send;

    /// The names of its transaction types.
    fn types(&self) -> &'static [&'static str];

    /// A new client; called once for each, in order.
    fn client(&self, seed: u64) -> Self::Client;

    /// Draws the client's next transaction in advance, so that a retry does the same. Returns it
    /// with its type as an index into [`types`](Workload::types).
    fn draw(&self, client: &mut Self::Client) -> (usize, Self::Work);

    /// Returns how long the client pauses before it submits the transaction of type `kind` that it
    /// has just drawn. Called once after each [`draw`](Workload::draw), by the driver only; the
    /// pause stands for the time to think about the last result and to key this transaction in.
    ///
    /// The pause begins when the agent draws: after it has seen the client's last result, and at
    /// the start of the run for the first transaction. It is a lower bound: an agent that is busy
    /// with other clients submits later. No latency includes it.
    fn pause(&self, _client: &mut Self::Client, _kind: usize) -> Duration {
        Duration::ZERO
    }

    /// Runs the transaction and returns once it is durable.
    fn run(&self, store: &S, client: &mut Self::Client, work: &Self::Work) -> Result<(), S::Error>;

    /// Runs the transaction; the caller awaits durability on the result.
    fn submit(
        &self,
        store: &S,
        client: &mut Self::Client,
        work: &Self::Work,
    ) -> Result<S::Pending<Self::Output>, S::Error>;
}

/// The way in which the driver awaits commits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Commit {
    /// Threads serve other clients while commits become durable.
    Pipelined,
    /// A thread waits for each commit.
    Blocking,
    /// No thread waits: a transaction counts as soon as its locks are free. For experiments: it
    /// gives an upper bound on the cost of the log ("log-agnostic" in "Early Lock Release", figure
    /// 2). The outcome is ignored as well: a rollback whose error is held back, because it has read
    /// what is not durable yet, counts as a commit.
    Unawaited,
}

/// The parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Logical clients. When pipelined and without pauses, this is the number of transactions in
    /// flight.
    pub clients: u32,
    /// Agent threads; `None`: as many as the machine has processors when pipelined, one for each
    /// client when blocking. Never more than clients.
    pub threads: Option<usize>,
    /// The way in which commits are awaited.
    pub commit: Commit,
    /// The duration of the run.
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

/// The state of a run, reported once a second.
#[derive(Clone, Copy, Debug)]
pub struct Tick {
    /// Since the start.
    pub elapsed: Duration,
    /// Commits so far.
    pub commits: u64,
    /// Attempts rolled back because of a conflict so far.
    pub aborts: u64,
}

/// The state that all threads of a run share.
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

    /// Sleeps until the given time or the end of the run, which unparks all agents; may return
    /// early. The caller has checked that the run is not over and has not parked since.
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
    fn count(
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

/// Starts a thread. If the system refuses it, the result is an error and not a panic, so that the
/// threads already running can be ended.
pub(crate) fn start<'scope, S: Store, T: Send + 'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    work: impl FnOnce() -> Result<T, S::Error> + Send + 'scope,
) -> Result<thread::ScopedJoinHandle<'scope, Result<T, S::Error>>, S::Error> {
    let started = thread::Builder::new().spawn_scoped(scope, work);
    started.map_err(|error| S::Error::failed(format!("cannot start a thread: {error}")))
}

/// Joins a thread and returns its result.
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
        // Relaxed: a woken thread sees it, because unpark happens before the return from park.
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

/// Sleeps through the run, reporting its state once a second and at the end.
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
