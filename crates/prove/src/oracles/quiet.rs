//! ORACLE-6: nothing is held while no transaction runs.

use std::sync::Arc;

use clearway_txn::{Engine, Holdings};

use super::{Oracle, Verdict, Violation};

/// Checks that no transaction, lock, latch, pin, waiter or log space reservation (claim) is left.
/// No transaction may be running, and the engine must be healthy.
///
/// # Errors
/// A violation that lists what is left.
pub fn check_quiet(engine: &Arc<Engine>) -> Verdict {
    match engine.holdings() {
        holdings if holdings == Holdings::default() => Ok(()),
        left => Err(Violation::new(Oracle::Quiet, format!("left over: {left:?}"))),
    }
}
