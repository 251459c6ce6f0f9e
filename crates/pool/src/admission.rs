//! Admission: the number of operations that keep pins is limited, and the others wait in a queue.
//!
//! Threads and tasks wait in the same queue, each with a waker (that of a thread unparks it). An
//! operation that ends admits the first of the queue itself, so none overtakes another.
//!
//! ```text
//!   Outside ── poll: room ───────────────► Admitted ── leave ──► Outside, the first one admitted
//!      └────── poll: none ──► Queued ── poll ──┘
//!                               └── leave ──► Outside; if it was admitted meanwhile, as above
//! ```
//!
//! Invariants:
//! - ADMISSION-1. `admitted` is at most `max`. It counts the operations that are admitted, those
//!   that do not know it yet included: an operation that is neither in the queue nor outside.
//! - ADMISSION-2. While an operation is in the queue, `admitted` is `max`. So each operation in the
//!   queue is admitted after as many others have left as are before it.
//! - ADMISSION-3. No admission is lost: an operation that leaves without knowing that it was
//!   admitted passes its admission on.
//! - ADMISSION-4. Wakers are cloned, called and dropped without the mutex: they are foreign code.

use std::{
    collections::VecDeque,
    future::poll_fn,
    mem,
    task::{Poll, Waker},
};

use clearway_sync::{Mutex, block_on, invariant, wake};

/// The operations that keep pins, and those that wait until they may.
pub(crate) struct PinnedOperations {
    state: Mutex<AdmissionQueue>,
    max: usize,
}

#[derive(Default)]
struct AdmissionQueue {
    admitted: usize,
    /// In the order of the numbers.
    queue: VecDeque<QueuedOperation>,
    next_number: u64,
    is_closed: bool,
}

struct QueuedOperation {
    number: u64,
    /// `None` between the close of the pool and the operation's next poll.
    waker: Option<Waker>,
}

/// One operation's place. It must leave before this is dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Admission {
    #[default]
    Outside,
    /// In the queue under this number, or admitted since.
    Queued(u64),
    Admitted,
}

impl PinnedOperations {
    /// Admits up to `max` operations at a time.
    pub(crate) fn new(max: usize) -> PinnedOperations {
        PinnedOperations { state: Mutex::default(), max }
    }

    /// Admits the operation, or queues it; its waker is called when it has been admitted.
    pub(crate) fn poll(&self, place: &mut Admission, waker: &Waker) -> Poll<()> {
        if *place == Admission::Admitted {
            return Poll::Ready(());
        }
        let waker = Some(waker.clone());
        let mut state = self.state.lock();
        match *place {
            Admission::Queued(number) => {
                if let Some(at) = state.find(number) {
                    let replaced = mem::replace(&mut state.queue[at].waker, waker);
                    drop(state);
                    drop(replaced);
                    return Poll::Pending;
                }
            }
            _ if state.admitted == self.max => {
                let number = state.next_number;
                state.next_number += 1;
                state.queue.push_back(QueuedOperation { number, waker });
                *place = Admission::Queued(number);
                return Poll::Pending;
            }
            _ => state.admitted += 1,
        }
        *place = Admission::Admitted;
        drop(state);
        Poll::Ready(())
    }

    /// Waits until the operation is admitted.
    pub(crate) fn enter(&self, place: &mut Admission) {
        if *place != Admission::Admitted {
            block_on(poll_fn(|context| self.poll(place, context.waker())));
        }
    }

    /// Gives the admission back, or the place in the queue.
    pub(crate) fn leave(&self, place: &mut Admission) {
        let left = mem::take(place);
        if left == Admission::Outside {
            return;
        }
        let mut state = self.state.lock();
        let removed = match left {
            Admission::Queued(number) => state.find(number).and_then(|at| state.queue.remove(at)),
            _ => None,
        };
        // In the queue no longer: it is admitted (ADMISSION-1, ADMISSION-3).
        let next = if removed.is_none() { state.admit_next() } else { None };
        drop(state);
        if let Some(waker) = next {
            wake(waker);
        }
    }

    /// Wakes all that wait. From now on `is_closed` is true.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        let wakers: Vec<Waker> =
            state.queue.iter_mut().filter_map(|queued| queued.waker.take()).collect();
        drop(state);
        wakers.into_iter().for_each(wake);
    }

    /// Returns true after [`PinnedOperations::close`]. A task that was queued before it finds false
    /// here is woken by the close.
    pub(crate) fn is_closed(&self) -> bool {
        self.state.lock().is_closed
    }

    /// The number of operations that are admitted, and of those that are queued.
    #[cfg(test)]
    pub(crate) fn counts(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.admitted, state.queue.len())
    }
}

impl AdmissionQueue {
    fn find(&self, number: u64) -> Option<usize> {
        self.queue.binary_search_by_key(&number, |queued| queued.number).ok()
    }

    /// Passes one admission on to the first of the queue (ADMISSION-2). Returns its waker.
    fn admit_next(&mut self) -> Option<Waker> {
        invariant(self.admitted > 0, "ADMISSION-1: as many operations leave as were admitted");
        match self.queue.pop_front() {
            Some(queued) => queued.waker,
            None => {
                self.admitted -= 1;
                None
            }
        }
    }
}

#[cfg(all(test, loom))]
mod models;

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
