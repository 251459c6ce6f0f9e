//! Admission: the number of operations that keep pins is limited, and the others wait in two
//! queues: those whose transactions hold locks, for which others may wait, and the rest.
//!
//! Each waits with a waker (that of a thread unparks it). An operation that ends admits the next
//! one itself, so none overtakes another of its queue. Operations of threads and those of tasks
//! have queues and a limit of their own ([`AdmissionsByDriver`], PINS-3).
//!
//! ```text
//!   Outside ── poll: room ───────────────► Admitted ── leave ──► Outside, the first one admitted
//!      └────── poll: none ──► Queued ── poll ──┘
//!                               └── leave ──► Outside; if it was admitted meanwhile, as above
//! ```
//!
//! Invariants:
//! - ADMISSION-1. `admitted` is at most `max`. It counts the operations that are neither in a queue
//!   nor outside, even if they do not know yet that they are admitted.
//! - ADMISSION-2. While an operation is in a queue, `admitted` is `max`. So an operation
//!   that leaves admits another one.
//! - ADMISSION-3. No admission is lost: an operation that leaves without knowing that it was
//!   admitted passes its admission on.
//! - ADMISSION-4. Operations of lock holders go first; but if others wait, one of them is admitted
//!   after at most [`IN_A_ROW`] lock holders, so that none waits for ever.
//! - ADMISSION-5. Wakers are cloned, called and dropped without the mutex: they run user code.

use std::{
    collections::VecDeque,
    future::poll_fn,
    mem,
    task::{Poll, Waker},
};

use clearway_sync::{Mutex, block_on, invariant, wake};

/// Pins of an operation (PINS-1): more than the pages that one step uses, which are three nodes, a
/// space-map page and a new page.
pub(crate) const PINS_MAX: usize = 6;
/// See PINS-2.
pub(crate) const SHARE_OF_CACHE: usize = 4;

/// The number of operations that may keep pins in a cache of `capacity` pages (PINS-2).
pub(crate) fn operations_max(capacity: usize) -> usize {
    (capacity / SHARE_OF_CACHE / PINS_MAX).max(1)
}

/// The operations that keep pins, and those that wait until they may.
pub(crate) struct PinnedOperations {
    state: Mutex<AdmissionQueue>,
    max: usize,
}

/// The operations of threads and those of tasks, which do not wait for each other.
pub(crate) struct AdmissionsByDriver {
    pub(crate) threads: PinnedOperations,
    pub(crate) tasks: PinnedOperations,
}

impl AdmissionsByDriver {
    /// Admits up to `max` operations of each at a time.
    pub(crate) fn new(max: usize) -> AdmissionsByDriver {
        AdmissionsByDriver {
            threads: PinnedOperations::new(max),
            tasks: PinnedOperations::new(max),
        }
    }

    /// Wakes all that wait, as [`PinnedOperations::close`] does.
    pub(crate) fn close(&self) {
        self.threads.close();
        self.tasks.close();
    }
}

/// Lock holders that are admitted one after the other while other operations wait (ADMISSION-4).
const IN_A_ROW: u32 = 8;

#[derive(Default)]
struct AdmissionQueue {
    admitted: usize,
    /// The operations of lock holders, and the others; each in the order of the numbers.
    lock_holders: VecDeque<QueuedOperation>,
    others: VecDeque<QueuedOperation>,
    /// Lock holders that were admitted from the queue since one of the others was.
    in_a_row: u32,
    next_number: u64,
    is_closed: bool,
}

/// True for an operation whose transaction holds locks.
type HoldsLocks = bool;

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
    /// In a queue under this number, or admitted since.
    Queued(HoldsLocks, u64),
    Admitted,
}

impl PinnedOperations {
    /// Admits up to `max` operations at a time.
    pub(crate) fn new(max: usize) -> PinnedOperations {
        PinnedOperations { state: Mutex::default(), max }
    }

    /// Admits the operation, or queues it; its waker is called when it has been admitted.
    pub(crate) fn poll(
        &self,
        place: &mut Admission,
        holds_locks: HoldsLocks,
        waker: &Waker,
    ) -> Poll<()> {
        if *place == Admission::Admitted {
            return Poll::Ready(());
        }
        let waker = Some(waker.clone());
        let mut state = self.state.lock();
        match *place {
            Admission::Queued(was_holder, number) => {
                let queue = state.queue(was_holder);
                if let Some(at) = find(queue, number) {
                    let replaced = mem::replace(&mut queue[at].waker, waker);
                    drop(state);
                    drop(replaced);
                    return Poll::Pending;
                }
            }
            _ if state.admitted == self.max => {
                let number = state.next_number;
                state.next_number += 1;
                state.queue(holds_locks).push_back(QueuedOperation { number, waker });
                *place = Admission::Queued(holds_locks, number);
                return Poll::Pending;
            }
            _ => state.admitted += 1,
        }
        *place = Admission::Admitted;
        drop(state);
        Poll::Ready(())
    }

    /// Waits until the operation is admitted.
    pub(crate) fn enter(&self, place: &mut Admission, holds_locks: HoldsLocks) {
        if *place != Admission::Admitted {
            block_on(poll_fn(|context| self.poll(place, holds_locks, context.waker())));
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
            Admission::Queued(holds_locks, number) => {
                let queue = state.queue(holds_locks);
                find(queue, number).and_then(|at| queue.remove(at))
            }
            _ => None,
        };
        // In no queue any more: it is admitted (ADMISSION-1, ADMISSION-3).
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
        let AdmissionQueue { lock_holders, others, .. } = &mut *state;
        let queued = lock_holders.iter_mut().chain(others);
        let wakers: Vec<Waker> = queued.filter_map(|queued| queued.waker.take()).collect();
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
        (state.admitted, state.lock_holders.len() + state.others.len())
    }
}

impl AdmissionQueue {
    fn queue(&mut self, holds_locks: HoldsLocks) -> &mut VecDeque<QueuedOperation> {
        if holds_locks { &mut self.lock_holders } else { &mut self.others }
    }

    /// Passes one admission on to the next operation (ADMISSION-2). Returns its waker.
    fn admit_next(&mut self) -> Option<Waker> {
        invariant(self.admitted > 0, "ADMISSION-1: as many operations leave as were admitted");
        let is_turn_of_others = self.in_a_row >= IN_A_ROW || self.lock_holders.is_empty();
        let holds_locks = self.others.is_empty() || !is_turn_of_others; // ADMISSION-4
        let next = self.queue(holds_locks).pop_front();
        self.in_a_row = if holds_locks && !self.others.is_empty() { self.in_a_row + 1 } else { 0 };
        match next {
            Some(queued) => queued.waker,
            None => {
                self.admitted -= 1;
                None
            }
        }
    }
}

fn find(queue: &VecDeque<QueuedOperation>, number: u64) -> Option<usize> {
    queue.binary_search_by_key(&number, |queued| queued.number).ok()
}

#[cfg(all(test, loom))]
mod models;

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
