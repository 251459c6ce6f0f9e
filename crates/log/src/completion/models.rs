//! Models of the durable LSN and its waiters.
//!
//! Deliberate errors, and the model that was seen to fail for each:
//!
//! - `waiter_wakes_and_finds_it_durable`: the queue taken before the durable LSN is published; no
//!   check of it inside the mutex (COMPLETION-1).
//! - `each_waker_is_called_at_most_once`: wakers cloned out of the queue in place of removed.

use std::{sync::Arc, task::Wake};

use clearway_sync::{
    ThreadWaker,
    atomic::{AtomicU64, Ordering},
    check, thread,
};

use super::*;

#[derive(Default)]
struct Log {
    durable: AtomicU64,
    queue: CompletionQueue,
}

impl Log {
    fn durable(&self) -> u64 {
        // Like `Ring::durable`.
        self.durable.load(Ordering::Acquire)
    }

    /// Acts as a flusher: publish, then collect, then wake.
    fn complete(&self, lsn: u64) {
        // Like `Ring::set_durable`.
        self.durable.store(lsn, Ordering::Release);
        self.queue.take_up_to(Lsn(self.durable())).into_iter().for_each(Waker::wake);
    }

    /// Like `Log::wait_slowly`.
    fn wait(&self, lsn: u64) {
        let waker = ThreadWaker::current();
        while self.durable() < lsn {
            if self.queue.register(Lsn(lsn), &waker, || self.durable() >= lsn) {
                thread::park();
            }
        }
    }
}

/// A lost wake-up is a deadlock, which loom reports.
#[test]
fn waiter_wakes_and_finds_it_durable() {
    check(3, || {
        let log = Arc::new(Log::default());
        let waiters = [5, 9].map(|lsn| {
            let log = log.clone();
            thread::spawn(move || log.wait(lsn))
        });
        log.complete(5);
        log.complete(9);
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
        assert_eq!(log.queue.len(), 0);
    });
}

#[derive(Default)]
struct Count(AtomicU64);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn each_waker_is_called_at_most_once() {
    check(3, || {
        let log = Arc::new(Log::default());
        let count = Arc::new(Count::default());
        let flushers = [5, 5].map(|lsn| {
            let log = log.clone();
            thread::spawn(move || log.complete(lsn))
        });
        let waker = Waker::from(count.clone());
        let registered = log.queue.register(Lsn(5), &waker, || log.durable() >= 5);
        flushers.into_iter().for_each(|flusher| flusher.join().unwrap());
        assert_eq!(count.0.load(Ordering::Relaxed), u64::from(registered));
    });
}
