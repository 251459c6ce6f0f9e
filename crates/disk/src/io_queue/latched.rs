//! The backlog of a queue under its latch, with what both implementations do with it: they accept
//! requests, note completions, and wait until no request is left.
//!
//! Invariants:
//! - IO-LATCHED-1. In a child of the process that opened the queue, `add` and `wait_idle` do not
//!   take the latch: another thread may have held it at the fork (IO-QUEUE-4). Callers of the other
//!   methods have asked `is_in_its_process`, or belong to the queue; the engine returns no
//!   statistics in a child.
//! - IO-LATCHED-2. `idle` is notified in the latch hold in which the backlog becomes idle, so no
//!   thread that waits for it misses that.
//!
//! Latch order: the latch is held for a few instructions here; `uring.rs` says what else the ring
//! does under it.

use std::time::Instant;

use clearway_base::Error;
use clearway_sync::{Condvar, Mutex, MutexGuard, Process};

use super::{Backlog, IoQueueStats, IoRequest};

/// A backlog, and what an implementation keeps beside it, under one latch.
pub(super) struct LatchedBacklog<T> {
    state: Mutex<IoState<T>>,
    /// Notified when no request is left (IO-LATCHED-2).
    idle: Condvar,
    process: Process,
}

pub(super) struct IoState<T> {
    pub(super) backlog: Backlog,
    /// True if no request will come any more.
    pub(super) is_dropped: bool,
    /// The implementation's own state.
    pub(super) own: T,
}

impl<T> LatchedBacklog<T> {
    pub(super) fn new(depth: usize, own: T) -> LatchedBacklog<T> {
        let state = IoState { backlog: Backlog::new(depth), is_dropped: false, own };
        LatchedBacklog {
            state: Mutex::new(state),
            idle: Condvar::new(),
            process: Process::current(),
        }
    }

    /// Returns false in a child of the process that opened the queue.
    pub(super) fn is_in_its_process(&self) -> bool {
        self.process.is_current()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, IoState<T>> {
        self.state.lock()
    }

    /// Adds requests to the backlog. In a forked child they fail, and there is no guard.
    pub(super) fn add(&self, requests: Vec<IoRequest>) -> Option<MutexGuard<'_, IoState<T>>> {
        if !self.is_in_its_process() {
            requests.into_iter().for_each(|request| request.fail(Error::Forked));
            return None;
        }
        let mut state = self.state.lock();
        state.backlog.add(requests);
        Some(state)
    }

    /// Notes that the request is not in flight any more, and that its completion is about to be
    /// called.
    pub(super) fn arrived(&self, request: &IoRequest) {
        self.state.lock().backlog.arrived(request);
    }

    /// Notes that the completions of `count` requests have returned.
    pub(super) fn completed(&self, count: usize) -> MutexGuard<'_, IoState<T>> {
        let mut state = self.state.lock();
        state.backlog.completed(count);
        if state.backlog.is_idle() {
            self.idle.notify_all();
        }
        state
    }

    /// Waits as [`IoQueue::wait_idle`](super::IoQueue::wait_idle) does. A forked child does not
    /// wait.
    pub(super) fn wait_idle(&self, until: Option<Instant>) -> bool {
        if !self.is_in_its_process() {
            return true;
        }
        let mut state = self.state.lock();
        while !state.backlog.is_idle() {
            match until {
                Some(until) if self.idle.wait_until(&mut state, until).timed_out() => {
                    return state.backlog.is_idle();
                }
                Some(_) => {}
                None => self.idle.wait(&mut state),
            }
        }
        true
    }

    pub(super) fn stats(&self) -> IoQueueStats {
        self.state.lock().backlog.stats()
    }
}
