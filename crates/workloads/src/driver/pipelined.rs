//! The pipelined agent: submits for the next client, reaps durable commits, and waits when no
//! client is due: for the oldest commit, or for the first client to finish thinking.

use std::{collections::VecDeque, time::Instant};

use super::{
    Agent, Measured, Workload,
    clients::{Clients, Next, Turn},
};
use crate::store::{Outstanding, Store};

/// A client whose transaction is not durable yet.
struct InFlight<S: Store, W: Workload<S>> {
    client: usize,
    kind: usize,
    started: Instant,
    pending: S::Pending<W::Output>,
}

/// An agent's clients and which of them are in flight.
///
/// Submissions of one agent become durable roughly in the order of submission, so one queue
/// suffices, of which only the front is checked.
struct Pipeline<'a, S: Store, W: Workload<S>> {
    agent: &'a Agent<'a, S, W>,
    clients: Clients<S, W>,
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
        clients: Clients::new(clients),
        measured: agent.measured(),
    };
    while !agent.stopped() {
        match pipeline.clients.next(agent.workload) {
            Next::Turn(turn) => pipeline.submit(turn)?,
            Next::Idle(until) => pipeline.wait(until)?,
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
    fn submit(&mut self, turn: Turn<W::Work>) -> Result<(), S::Error> {
        let Turn { client, kind, work } = turn;
        let started = Instant::now();
        let its = self.clients.get(client);
        match self.agent.workload.submit(self.agent.store, its, &work) {
            Ok(pending) => self.in_flight.push_back(InFlight { client, kind, started, pending }),
            Err(error) => {
                self.agent.count(&mut self.measured, kind, started, Err(error))?;
                self.clients.freed(client);
            }
        }
        Ok(())
    }

    /// Waits for the oldest transaction, but not beyond the time when a client is due, and frees
    /// its client if it is durable.
    fn wait(&mut self, until: Option<Instant>) -> Result<(), S::Error> {
        match (self.in_flight.front(), until) {
            (Some(oldest), Some(due)) if !oldest.pending.wait_until(due) => Ok(()),
            (Some(_), _) => self.reap(),
            (None, until) => {
                self.agent.sleep(until);
                Ok(())
            }
        }
    }

    /// Waits for the oldest transaction and frees its client.
    fn reap(&mut self) -> Result<(), S::Error> {
        let Some(oldest) = self.in_flight.pop_front() else { return Ok(()) };
        let result = oldest.pending.wait().map(drop);
        self.agent.count(&mut self.measured, oldest.kind, oldest.started, result)?;
        self.clients.freed(oldest.client);
        Ok(())
    }
}
