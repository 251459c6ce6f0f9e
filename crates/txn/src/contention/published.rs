//! The facts that a transaction has published until it ends: the lock that it waits for, or has
//! waited for last, and the absolute locks that it holds (CONTENTION-2, CONTENTION-5).

use std::time::Instant;

use clearway_base::TreeId;
use clearway_lock::IntentMode;
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

/// The facts that a transaction has published.
#[derive(Clone, Debug, Default)]
pub(crate) struct Published {
    pub(crate) wait: Option<PublishedWait>,
    /// CONTENTION-5.
    pub(crate) absolute: Vec<(TreeId, IntentMode)>,
}

/// The part of a participant record that holds these facts. Written by its transaction, read by
/// diagnosis.
#[derive(Default)]
pub(crate) struct PublishedWaits(Mutex<Published>);

impl PublishedWaits {
    /// Publishes what the transaction is about to wait for (CONTENTION-2).
    pub(crate) fn publish_wait(&self, wanted: Wanted, mode: WantedMode) {
        let since = Instant::now();
        let wait = &mut self.0.lock().wait;
        let first = wait.map_or(since, |before| before.first);
        *wait = Some(PublishedWait { wanted, mode, since, first });
    }

    /// Publishes that the transaction holds an absolute lock (CONTENTION-5).
    pub(crate) fn publish_absolute(&self, tree: TreeId, mode: IntentMode) {
        let absolute = &mut self.0.lock().absolute;
        match absolute.iter_mut().find(|(known, _)| *known == tree) {
            Some((_, held)) => *held = mode,
            None => absolute.push((tree, mode)),
        }
    }

    /// Withdraws what a transaction has published that has ended.
    pub(crate) fn withdraw(&self) {
        let published = std::mem::take(&mut *self.0.lock());
        drop(published); // Not under the mutex.
    }

    /// Returns the absolute locks of the transaction.
    pub(crate) fn absolute_locks(&self) -> Vec<(TreeId, IntentMode)> {
        self.0.lock().absolute.clone()
    }

    /// Returns what the transaction waits for, or has waited for last.
    pub(crate) fn awaited(&self) -> Option<Wanted> {
        self.0.lock().wait.map(|wait| wait.wanted)
    }

    /// Returns everything that is published, if anything is.
    pub(crate) fn read(&self) -> Option<Published> {
        let published = self.0.lock();
        let is_empty = published.wait.is_none() && published.absolute.is_empty();
        (!is_empty).then(|| published.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_wait_is_replaced_and_withdrawn() {
        let waits = PublishedWaits::default();
        let (first, second) = (Wanted::Table(TreeId(5)), Wanted::Table(TreeId(6)));
        let mode = WantedMode::Table(IntentMode::X);
        waits.publish_wait(first, mode);
        let before = waits.read().unwrap().wait.unwrap();
        waits.publish_wait(second, mode);
        assert_eq!(waits.awaited(), Some(second));
        let wait = waits.read().unwrap().wait.unwrap();
        assert!(wait.first == before.since && wait.since >= before.since);
        waits.withdraw();
        assert!(waits.awaited().is_none() && waits.read().is_none());
    }

    #[test]
    fn absolute_locks_are_published_beside_the_waits() {
        let waits = PublishedWaits::default();
        let [one, two] = [TreeId(5), TreeId(6)];
        waits.publish_absolute(one, IntentMode::S);
        waits.publish_wait(Wanted::Table(two), WantedMode::Table(IntentMode::X));
        waits.publish_absolute(two, IntentMode::X);
        waits.publish_absolute(one, IntentMode::SIX);
        assert_eq!(waits.absolute_locks(), [(one, IntentMode::SIX), (two, IntentMode::X)]);
        waits.withdraw();
        assert!(waits.read().is_none());
    }
}
