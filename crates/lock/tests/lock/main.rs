//! The lock manager through its public interface.
//!
//! Most tests are scripts on one thread: several owners, whose waits are polled. Nothing in them
//! depends on time. `stress` runs threads with infinite limits: a lost wake-up or a missed deadlock
//! shows as a hang.
//!
//! The crate of the variants runs some of these files with other parts: the files take the parts
//! from the crate's root.

mod cycles;
mod deadlocks;
mod intents;
mod methods;
mod model;
mod queues;
mod rig;
mod self_waits;
mod stress;
mod tags;
mod victims;
mod waits;

use std::{sync::Arc, time::Duration};

use clearway_lock::{LockParts, LockTable, parts::ProductLockParts};

use rig::{Method, Step, ask, id, intend, options, owners, table};

/// The methods to find deadlocks; those that repeat their checks do so after `refresh`.
fn methods(_refresh: Duration) -> Vec<Method> {
    vec![rig::product()]
}

/// The same, each with all victim policies.
fn methods_with_policies(refresh: Duration) -> Vec<Method> {
    methods(refresh)
}

/// The victim policies, each with the victim of two owners, of which the first is the older and has
/// the longer pipeline, and the second closes the cycle.
fn policies() -> Vec<(Arc<dyn LockParts>, char)> {
    vec![(Arc::new(ProductLockParts), 'b')]
}

/// One table for each way to keep intent locks.
fn intent_tables() -> Vec<LockTable> {
    vec![table()]
}
