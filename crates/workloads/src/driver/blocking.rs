//! The blocking agent: one transaction at a time, each completed before the next begins.

use std::time::Instant;

use super::{
    Agent, Measured, Workload,
    clients::{Clients, Next},
};
use crate::store::Store;

/// Runs `clients` in turn until the run stops; `perform` does a transaction.
pub(super) fn run<S: Store, W: Workload<S>>(
    agent: &Agent<'_, S, W>,
    clients: Vec<W::Client>,
    perform: impl Fn(&W, &S, &mut W::Client, &W::Work) -> Result<(), S::Error>,
) -> Result<Measured, S::Error> {
    let mut measured = agent.measured();
    let mut clients = Clients::<S, W>::new(clients);
    while !agent.stopped() {
        match clients.next(agent.workload) {
            Next::Turn(turn) => {
                let started = Instant::now();
                let client = clients.get(turn.client);
                let result = perform(agent.workload, agent.store, client, &turn.work);
                agent.count(&mut measured, turn.kind, started, result)?;
                clients.freed(turn.client);
            }
            Next::Idle(until) => agent.sleep(until),
        }
    }
    Ok(measured)
}
