//! Any disk, with an I/O queue whose reads a test completes: in an order drawn from a seed, late,
//! with errors, or never. The submitting thread writes.

use std::{io, sync::Arc, time::Instant};

use clearway_base::{Error, Result};
use clearway_disk::{
    Disk, File, IoQueue, IoQueueKind, IoQueueOptions, IoQueueStats, IoRequest, ReadsInFlight,
};
use clearway_sync::{Condvar, Mutex};

use crate::{Random, forward_disk};

/// The path in errors of requests that a test has failed.
const HELD: &str = "held";

/// The requests that were submitted to the disk's I/O queues and are not completed. Clones share
/// them.
#[derive(Clone)]
pub struct HeldReads(Arc<Held>);

struct Held {
    state: Mutex<HeldState>,
    changed: Condvar,
}

struct HeldState {
    requests: Vec<IoRequest>,
    random: Random,
    /// One of this many requests is not held, if any.
    at_once_one_in: Option<u64>,
    /// Requests completed or failed while they were held.
    completed: u64,
    /// Requests submitted whose completions have not returned.
    unfinished: usize,
    stats: IoQueueStats,
    /// The requests that are held.
    in_flight: ReadsInFlight,
}

impl HeldReads {
    /// Holds nothing yet; the order of completions follows from the seed.
    pub fn new(seed: u64) -> HeldReads {
        let state = HeldState {
            requests: Vec::new(),
            random: Random::new(seed),
            at_once_one_in: None,
            completed: 0,
            unfinished: 0,
            stats: IoQueueStats::default(),
            in_flight: ReadsInFlight::default(),
        };
        HeldReads(Arc::new(Held { state: Mutex::new(state), changed: Condvar::new() }))
    }

    /// The number of requests that are held.
    pub fn count(&self) -> usize {
        self.0.state.lock().requests.len()
    }

    /// Has one of `one_in` requests completed by its submission.
    pub fn complete_some_at_once(self, one_in: u64) -> HeldReads {
        self.0.state.lock().at_once_one_in = Some(one_in);
        self
    }

    /// The number of requests that were held and then completed or failed.
    pub fn completed(&self) -> u64 {
        self.0.state.lock().completed
    }

    /// Returns true if `error` is that of a request which a test has failed, or names it as its
    /// cause.
    pub fn caused(error: &Error) -> bool {
        match error {
            Error::Io { path, .. } => path.as_os_str() == HELD,
            Error::Poisoned { cause } | Error::OutcomeUnknown { cause } => Self::caused(cause),
            _ => false,
        }
    }

    /// Waits until at least `count` requests are held.
    pub fn wait_for(&self, count: usize) {
        let mut state = self.0.state.lock();
        while state.requests.len() < count {
            self.0.changed.wait(&mut state);
        }
    }

    /// Reads and completes one request. Returns false if none is held.
    pub fn complete_one(&self) -> bool {
        self.take_one(IoRequest::perform)
    }

    /// Completes one request with an error. Returns false if none is held.
    pub fn fail_one(&self, kind: io::ErrorKind) -> bool {
        self.take_one(|request| request.fail(Error::io("read", HELD, kind.into())))
    }

    /// Completes all requests that are held.
    pub fn complete_all(&self) {
        while self.complete_one() {}
    }

    fn take_one(&self, complete: impl FnOnce(IoRequest)) -> bool {
        let mut state = self.0.state.lock();
        if state.requests.is_empty() {
            return false;
        }
        let count = state.requests.len() as u64;
        let chosen = state.random.below(count) as usize;
        let request = state.requests.swap_remove(chosen);
        state.in_flight.end();
        drop(state);
        complete(request);
        let mut state = self.0.state.lock();
        state.unfinished -= 1;
        state.completed += 1;
        drop(state);
        self.0.changed.notify_all();
        true
    }
}

/// A disk over another one, whose I/O queues hold their requests in a [`HeldReads`].
pub struct HeldReadsDisk<D> {
    inner: D,
    reads: HeldReads,
}

impl<D: Disk> HeldReadsDisk<D> {
    /// A disk over `inner`.
    pub fn new(inner: D, reads: HeldReads) -> HeldReadsDisk<D> {
        HeldReadsDisk { inner, reads }
    }
}

struct HoldingQueue(HeldReads);

impl IoQueue for HoldingQueue {
    fn submit(&self, requests: Vec<IoRequest>) {
        let (mut at_once, requests): (Vec<_>, Vec<_>) =
            requests.into_iter().partition(IoRequest::is_write);
        let mut state = self.0.0.state.lock();
        state.unfinished += at_once.len() + requests.len();
        state.stats.writes += at_once.len() as u64;
        state.stats.reads += requests.len() as u64;
        let HeldState { requests: held, random, at_once_one_in, in_flight, .. } = &mut *state;
        for request in requests {
            match *at_once_one_in {
                Some(one_in) if random.one_in(one_in) => at_once.push(request),
                _ => {
                    held.push(request);
                    in_flight.begin();
                }
            }
        }
        drop(state);
        let count = at_once.len();
        at_once.into_iter().for_each(IoRequest::perform);
        self.0.0.state.lock().unfinished -= count;
        self.0.0.changed.notify_all();
    }

    fn wait_idle(&self, until: Option<Instant>) -> bool {
        let mut state = self.0.0.state.lock();
        while state.unfinished > 0 {
            match until {
                Some(until) if self.0.0.changed.wait_until(&mut state, until).timed_out() => {
                    return state.unfinished == 0;
                }
                Some(_) => {}
                None => self.0.0.changed.wait(&mut state),
            }
        }
        true
    }

    fn kind(&self) -> IoQueueKind {
        IoQueueKind::Threads
    }

    fn stats(&self) -> IoQueueStats {
        let state = self.0.0.state.lock();
        state.in_flight.in_stats(state.stats)
    }
}

impl Drop for HoldingQueue {
    fn drop(&mut self) {
        self.0.complete_all();
    }
}

impl<D: Disk> Disk for HeldReadsDisk<D> {
    fn io_queue(&self, _: &dyn File, _: &IoQueueOptions) -> Result<Box<dyn IoQueue>> {
        Ok(Box::new(HoldingQueue(self.reads.clone())))
    }

    forward_disk!(inner);
    forward_disk!(inner; open);
}
