//! The method that looks at nothing but the clock.
//!
//! Whoever holds something and has waited for the limit dies. Every deadlock ends so, after a
//! while; so does many a wait that was only long. In a cycle several may die, as each decides for
//! itself; a former victim has twice the time in each further attempt (V2), so that it is not
//! the next to die. The limit of [`WaitLimit`](crate::WaitLimit) is another thing: it ends waits
//! that the caller does not want, with another error, and need not be longer.
//!
//! Nothing wakes a polled waiter at the limit; it dies when it is polled after it.

use std::time::Duration;

use crate::{owner::LockOwner, table::LockTable};

/// Doublings of the limit for a former victim, at most.
const DOUBLINGS_MAX: u32 = 6;

fn limit_of(owner: &LockOwner, limit: Duration) -> Duration {
    limit * (1 << owner.standing.retries.min(DOUBLINGS_MAX))
}

pub(super) fn look(table: &LockTable, owner: &mut LockOwner, limit: Duration) -> bool {
    next_look(owner, limit) == Some(Duration::ZERO) && table.die_by_rule(owner)
}

/// What is left of an owner's time.
pub(super) fn next_look(owner: &LockOwner, limit: Duration) -> Option<Duration> {
    let waited = owner.pending?.since.elapsed();
    Some(limit_of(owner, limit).saturating_sub(waited))
}
