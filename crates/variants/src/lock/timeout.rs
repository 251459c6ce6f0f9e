//! The method that only uses the clock.
//!
//! An owner that holds something and has waited for the limit dies. This ends every deadlock after
//! a while, but also many waits that were only long. Several members of a cycle may die, since each
//! decides by itself; a former victim has twice the time in each further attempt (VICTIM-2), so
//! that it is not the next to die. The limit of [`WaitLimit`](clearway_lock::WaitLimit) is
//! different: it ends waits that the caller does not want, with another error, and need not be
//! longer.
//!
//! Nothing wakes a polled waiter at the limit; it dies when it is polled after it.

use std::time::Duration;

use clearway_lock::parts::{Check, Detector};

/// Upper bound on the doublings of the limit for a former victim.
const DOUBLINGS_MAX: u32 = 6;

/// The detector.
pub(super) struct Timeout {
    /// The limit in a first attempt.
    pub(super) limit: Duration,
}

impl Detector for Timeout {
    fn check(&self, check: &mut Check<'_>, _first: bool) -> bool {
        self.next_check(check) == Some(Duration::ZERO) && check.die()
    }

    /// Returns the remaining time of an owner.
    fn next_check(&self, check: &Check<'_>) -> Option<Duration> {
        let limit = self.limit * (1 << check.retries().min(DOUBLINGS_MAX));
        Some(limit.saturating_sub(check.waited()))
    }
}
