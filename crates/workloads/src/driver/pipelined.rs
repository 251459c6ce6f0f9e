//! The pipelined agent: submit for a free client, reap what is durable, wait when all are out.

use std::{collections::VecDeque, time::Instant};

use super::{Agent, Measured, Workload};
use crate::store::{Outstanding, Store};

/// A client whose transaction is not durable yet.
struct InFlight<S: Store, W: Workload<S>> {
    client: W::Client,
    kind: usize,
    started: Instant,
    pending: S::Pending<W::Output>,
}

/// An agent's clients: each is either free or in flight.
///
/// Submissions of one agent become durable about in the order of submission, so one queue serves:
/// only its front is looked at.
struct Pipeline<'a, S: Store, W: Workload<S>> {
    agent: &'a Agent<'a, S, W>,
    free: Vec<W::Client>,
    in_flight: VecDeque<InFlight<S, W>>,
    measured: Measured,
}

/// Runs `clients` until the run stops.
pub(super) fn run<S: Store, W: Workload<S>>(
    agent: &Agent<'_, S, W>,
    clients: Vec<W::Client>,
) -> Result<Measured, S::Error> {
    let mut pipeline = Pipeline {
        agent,
        in_flight: VecDeque::with_capacity(clients.len()),
        free: clients,
        measured: agent.measured(),
    };
    while !agent.stopped() {
        match pipeline.free.pop() {
            Some(client) => pipeline.submit(client)?,
            None => pipeline.reap()?,
        }
        while pipeline.in_flight.front().is_some_and(|first| first.pending.is_ready()) {
            pipeline.reap()?;
        }
    }
    while !pipeline.in_flight.is_empty() {
        pipeline.reap()?;
    }
    Ok(pipeline.measured)
}

impl<S: Store, W: Workload<S>> Pipeline<'_, S, W> {
    fn submit(&mut self, mut client: W::Client) -> Result<(), S::Error> {
        let (kind, work) = self.agent.workload.draw(&mut client);
        let started = Instant::now();
        match self.agent.workload.submit(self.agent.store, &mut client, &work) {
            Ok(pending) => self.in_flight.push_back(InFlight { client, kind, started, pending }),
            Err(error) => {
                self.agent.settle(&mut self.measured, kind, started, Err(error))?;
                self.free.push(client);
            }
        }
        Ok(())
    }

    /// Waits for the oldest transaction and frees its client.
    fn reap(&mut self) -> Result<(), S::Error> {
        let Some(oldest) = self.in_flight.pop_front() else { return Ok(()) };
        let result = oldest.pending.wait().map(drop);
        self.agent.settle(&mut self.measured, oldest.kind, oldest.started, result)?;
        self.free.push(oldest.client);
        Ok(())
    }
}
