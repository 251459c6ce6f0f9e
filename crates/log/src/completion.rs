//! The completion queue: waiters, and the LSNs whose durability they wait for.
//!
//! Only actual waiters are in the queue: a thread that finds its LSN durable never touches it.
//!
//! Invariants:
//! - COMPLETION-1. No lost wake-up: a waiter checks the durable LSN (and the health) *inside* the
//!   queue's mutex before it registers; a flusher publishes the durable LSN (or poisons) *before*
//!   it takes the mutex to collect. So either the waiter sees the new state or the flusher sees the
//!   waiter.
//! - COMPLETION-2. Wakers are called after the mutex is released: they may take any latch of their
//!   own. But the thread that calls them may hold page latches, if it flushes because it needs room
//!   in the ring or in the page cache, or if it stops the log: a waker must not wait for an
//!   operation of a transaction. A waker that panics affects no other waiter
//!   (`clearway_sync::wake`).
//!
//! Entries are keyed by LSN and the waker's identity, so a future that is polled again and again
//! with one waker has one entry. A dropped future's entry stays until its LSN is durable; its
//! wake-up has no effect.

#[cfg(all(test, loom))]
mod models;

use std::{
    collections::BTreeMap,
    task::{RawWakerVTable, Waker},
};

use clearway_base::Lsn;
use clearway_sync::{Mutex, wake};

/// LSN, then the two addresses that make up a waker.
type Key = (Lsn, usize, usize);

/// The queue of waiters.
#[derive(Default)]
pub(crate) struct CompletionQueue {
    waiters: Mutex<BTreeMap<Key, Waker>>,
}

fn key(lsn: Lsn, waker: &Waker) -> Key {
    let vtable: *const RawWakerVTable = waker.vtable();
    (lsn, waker.data() as usize, vtable as usize)
}

impl CompletionQueue {
    /// Registers `waker` for `lsn` unless `is_over` returns true, since then there is nothing to
    /// wait for (COMPLETION-1). Returns true if it registered the waker.
    pub(crate) fn register(&self, lsn: Lsn, waker: &Waker, is_over: impl Fn() -> bool) -> bool {
        let mut waiters = self.waiters.lock();
        if is_over() {
            return false;
        }
        waiters.entry(key(lsn, waker)).or_insert_with(|| waker.clone());
        true
    }

    /// Removes and returns all waiters whose LSN is at most `durable`, which was published before.
    /// The caller wakes them without a latch of the log (COMPLETION-2).
    #[must_use]
    pub(crate) fn take_up_to(&self, durable: Lsn) -> Vec<Waker> {
        let mut waiters = self.waiters.lock();
        let mut ready = Vec::new();
        while let Some(first) = waiters.first_entry()
            && first.key().0 <= durable
        {
            ready.push(first.remove());
        }
        ready
    }

    /// Wakes all waiters.
    pub(crate) fn wake_all(&self) {
        let all = std::mem::take(&mut *self.waiters.lock());
        all.into_values().for_each(wake);
    }

    /// Returns the current number of waiters.
    pub(crate) fn len(&self) -> usize {
        self.waiters.lock().len()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicU32, Ordering},
        },
        task::Wake,
    };

    use super::*;

    #[derive(Default)]
    struct Count(AtomicU32);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn exactly_the_durable_are_woken_once() {
        let queue = CompletionQueue::default();
        let counts: Vec<Arc<Count>> = (0..10).map(|_| Arc::default()).collect();
        for (i, count) in counts.iter().enumerate() {
            let waker = Waker::from(count.clone());
            for _ in 0..3 {
                assert!(queue.register(Lsn(i as u64), &waker, || false));
            }
        }
        assert_eq!(queue.len(), 10, "a waker that is registered again has one entry");
        queue.take_up_to(Lsn(4)).into_iter().for_each(Waker::wake);
        assert!(queue.take_up_to(Lsn(4)).is_empty());
        let woken = |count: &Arc<Count>| count.0.load(Ordering::SeqCst);
        assert!(counts[..5].iter().all(|count| woken(count) == 1));
        assert!(counts[5..].iter().all(|count| woken(count) == 0));
        queue.wake_all();
        assert!(counts.iter().all(|count| woken(count) == 1));
    }

    #[test]
    fn a_waker_that_panics_affects_no_other_waiter() {
        struct Bomb;
        impl Wake for Bomb {
            fn wake(self: Arc<Self>) {
                panic!("a waker that panics, as it should");
            }
        }
        let queue = CompletionQueue::default();
        let count = Arc::new(Count::default());
        assert!(queue.register(Lsn(1), &Waker::from(Arc::new(Bomb)), || false));
        assert!(queue.register(Lsn(2), &Waker::from(count.clone()), || false));
        queue.wake_all();
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_late_waiter_is_not_registered() {
        let queue = CompletionQueue::default();
        assert!(!queue.register(Lsn(1), Waker::noop(), || true));
        assert_eq!(queue.len(), 0);
    }
}
