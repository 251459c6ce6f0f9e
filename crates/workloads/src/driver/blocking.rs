//! The blocking agent: one transaction at a time, each awaited.

use std::time::Instant;

use super::{Agent, Measured, Workload};
use crate::store::Store;

/// Runs `clients` in turn until the run stops.
pub(super) fn run<S: Store, W: Workload<S>>(
    agent: &Agent<'_, S, W>,
    mut clients: Vec<W::Client>,
) -> Result<Measured, S::Error> {
    let mut measured = agent.measured();
    loop {
        for client in &mut clients {
            if agent.stopped() {
                return Ok(measured);
            }
            let (kind, work) = agent.workload.draw(client);
            let started = Instant::now();
            let result = agent.workload.run(agent.store, client, &work);
            agent.settle(&mut measured, kind, started, result)?;
        }
    }
}
