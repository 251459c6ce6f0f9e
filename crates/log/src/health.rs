//! The health of the log: open, closed, or stopped by a failure.
//!
//! Invariants:
//! - HEALTH-1. The first failure is kept; no transition leaves `POISONED`.
//! - HEALTH-2. `state` is `POISONED` only after `cause` is set.

use std::sync::{Arc, OnceLock};

use clearway_base::{Error, Result};
use clearway_sync::atomic::{AtomicU8, Ordering};

const OPEN: u8 = 0;
const CLOSED: u8 = 1;
const POISONED: u8 = 2;

/// The state of the log.
#[derive(Default)]
pub(crate) struct Health {
    state: AtomicU8,
    cause: OnceLock<Arc<Error>>,
}

impl Health {
    /// Stops the log because of `cause`. Returns true if it was the first failure (HEALTH-1).
    pub(crate) fn poison(&self, cause: Error) -> bool {
        let first = self.cause.set(Arc::new(cause)).is_ok();
        // Release pairs with the Acquire in `state` (HEALTH-2).
        self.state.store(POISONED, Ordering::Release);
        first
    }

    /// Refuses further records.
    pub(crate) fn close(&self) {
        // Release for uniformity; nothing is published. A failure is not overwritten (HEALTH-1).
        let _ = self.state.compare_exchange(OPEN, CLOSED, Ordering::Release, Ordering::Relaxed);
    }

    #[inline]
    fn state(&self) -> u8 {
        // Acquire pairs with the Release in `poison` (HEALTH-2).
        self.state.load(Ordering::Acquire)
    }

    /// Returns `Ok` while the log is open, and otherwise the reason why it is not.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        if self.state() == OPEN { Ok(()) } else { self.refusal() }
    }

    #[cold]
    fn refusal(&self) -> Result<()> {
        match self.cause() {
            Some(cause) => Err(Error::Poisoned { cause }),
            None => Err(Error::Closed),
        }
    }

    /// Returns the failure that stopped the log.
    #[inline]
    pub(crate) fn cause(&self) -> Option<Arc<Error>> {
        if self.state() == POISONED { self.cause.get().cloned() } else { None }
    }

    /// Returns true if a failure stopped the log.
    #[inline]
    pub(crate) fn is_poisoned(&self) -> bool {
        self.state() == POISONED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_stays() {
        let health = Health::default();
        assert!(health.check().is_ok());
        assert!(health.poison(Error::not_found()));
        assert!(!health.poison(Error::DuplicateKey { at: None }));
        health.close();
        assert!(matches!(health.cause().as_deref(), Some(Error::NotFound { .. })));
        assert!(matches!(health.check(), Err(Error::Poisoned { .. })));
    }

    #[test]
    fn a_closed_log_is_closed_until_it_fails() {
        let health = Health::default();
        health.close();
        assert!(matches!(health.check(), Err(Error::Closed)));
        health.poison(Error::not_found());
        assert!(matches!(health.check(), Err(Error::Poisoned { .. })));
    }
}
