//! The method that only uses the clock.
//!
//! An owner that holds something and has waited for the limit dies. This ends every deadlock after
//! a while, but also many waits that were only long. Several members of a cycle may die, since each
//! decides by itself; a former victim has twice the time in each further attempt (V2), so that it
//! is not the next to die. The limit of [`WaitLimit`](crate::WaitLimit) is different: it ends waits
//! that the caller does not want, with another error, and need not be longer.
//!
//! Nothing wakes a polled waiter at the limit; it dies when it is polled after it.

use std::time::Duration;

use crate::{owner::LockOwner, table::LockTable};

/// Upper bound on the doublings of the limit for a former victim.
const DOUBLINGS_MAX: u32 = 6;

fn limit_of(owner: &LockOwner, limit: Duration) -> Duration {
    limit * (1 << owner.standing.retries.min(DOUBLINGS_MAX))
}

pub(super) fn look(table: &LockTable, owner: &mut LockOwner, limit: Duration) -> bool {
    next_look(owner, limit) == Some(Duration::ZERO) && table.die_by_rule(owner)
}

/// Returns the remaining time of an owner.
pub(super) fn next_look(owner: &LockOwner, limit: Duration) -> Option<Duration> {
    let waited = owner.pending?.since.elapsed();
    Some(limit_of(owner, limit).saturating_sub(waited))
}
