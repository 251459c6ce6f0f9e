//! The blocking agent: one transaction at a time, each brought to its end by the same means.

use std::time::Instant;

use super::{Agent, Measured, Workload};
use crate::store::Store;

/// Runs `clients` in turn until the run stops; `perform` does a transaction.
pub(super) fn run<S: Store, W: Workload<S>>(
    agent: &Agent<'_, S, W>,
    mut clients: Vec<W::Client>,
    perform: impl Fn(&W, &S, &mut W::Client, &W::Work) -> Result<(), S::Error>,
) -> Result<Measured, S::Error> {
    let mut measured = agent.measured();
    loop {
        for client in &mut clients {
            if agent.stopped() {
                return Ok(measured);
            }
            let (kind, work) = agent.workload.draw(client);
            let started = Instant::now();
            let result = perform(agent.workload, agent.store, client, &work);
            agent.settle(&mut measured, kind, started, result)?;
        }
    }
}
