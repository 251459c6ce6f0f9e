//! The wait that a transaction has published until it ends: the lock that it waits for, or has
//! waited for last (CONTENTION-2).

use std::time::Instant;

use clearway_sync::Mutex;

use super::{Wanted, WantedMode};

/// A wait that a transaction has begun, and maybe ended (CONTENTION-2).
#[derive(Clone, Copy, Debug)]
pub(crate) struct PublishedWait {
    pub(crate) wanted: Wanted,
    pub(crate) mode: WantedMode,
    pub(crate) since: Instant,
    /// The beginning of the transaction's first wait.
    pub(crate) first: Instant,
}

/// The part of a participant record that holds the wait. Written by its transaction, read by
/// diagnosis.
#[derive(Default)]
pub(crate) struct PublishedWaits(Mutex<Option<PublishedWait>>);

impl PublishedWaits {
    /// Publishes what the transaction is about to wait for (CONTENTION-2).
    pub(crate) fn publish_wait(&self, wanted: Wanted, mode: WantedMode) {
        let since = Instant::now();
        let mut wait = self.0.lock();
        let first = wait.map_or(since, |before| before.first);
        *wait = Some(PublishedWait { wanted, mode, since, first });
    }

    /// Withdraws what a transaction has published that has ended.
    pub(crate) fn withdraw(&self) {
        *self.0.lock() = None;
    }

    /// Returns the wait that is published.
    pub(crate) fn read(&self) -> Option<PublishedWait> {
        *self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use clearway_base::TreeId;
    use clearway_lock::IntentMode;

    use super::*;

    #[test]
    fn a_published_wait_is_replaced_and_withdrawn() {
        let waits = PublishedWaits::default();
        let (first, second) = (Wanted::Table(TreeId(5)), Wanted::Table(TreeId(6)));
        let mode = WantedMode::Table(IntentMode::X);
        waits.publish_wait(first, mode);
        let before = waits.read().unwrap();
        waits.publish_wait(second, mode);
        assert_eq!(waits.read().unwrap().wanted, second);
        let wait = waits.read().unwrap();
        assert!(wait.first == before.since && wait.since >= before.since);
        waits.withdraw();
        assert!(waits.read().is_none());
    }
}
