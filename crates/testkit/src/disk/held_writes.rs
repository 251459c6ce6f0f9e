//! Any disk, with an I/O queue whose writes a test completes: late, or never. Reads, and the writes
//! that are submitted before the test holds them, go to the queue of the inner disk.

use std::{sync::Arc, time::Instant};

use clearway_base::Result;
use clearway_disk::{Disk, File, IoQueue, IoQueueKind, IoQueueOptions, IoQueueStats, IoRequest};
use clearway_sync::{Condvar, Mutex};

use crate::forward_disk;

/// The writes that were submitted to the disk's I/O queues and are not completed. Clones share
/// them.
#[derive(Clone, Default)]
pub struct HeldWrites(Arc<Held>);

#[derive(Default)]
struct Held {
    state: Mutex<HeldState>,
    /// Notified when writes are held, and when one was completed.
    changed: Condvar,
}

#[derive(Default)]
struct HeldState {
    is_holding: bool,
    requests: Vec<IoRequest>,
    /// Writes that were held and whose completions have not returned.
    unfinished: usize,
    /// Queues that are open.
    queues: usize,
}

impl HeldWrites {
    /// Holds nothing yet.
    pub fn new() -> HeldWrites {
        HeldWrites::default()
    }

    /// From now on, holds each write that is submitted.
    pub fn hold(&self) {
        self.0.state.lock().is_holding = true;
    }

    /// The number of writes that are held.
    pub fn count(&self) -> usize {
        self.0.state.lock().requests.len()
    }

    /// The number of I/O queues that are open.
    pub fn queues(&self) -> usize {
        self.0.state.lock().queues
    }

    /// Waits until a write is held.
    pub fn wait(&self) {
        let mut state = self.0.state.lock();
        while state.requests.is_empty() {
            self.0.changed.wait(&mut state);
        }
    }

    /// Performs and completes the write that has been held longest. Returns false if none is held.
    pub fn complete_one(&self) -> bool {
        let mut state = self.0.state.lock();
        if state.requests.is_empty() {
            return false;
        }
        let request = state.requests.remove(0);
        drop(state);
        request.perform();
        self.0.state.lock().unfinished -= 1;
        self.0.changed.notify_all();
        true
    }

    /// Completes all writes that are held, and holds none any more.
    pub fn let_go(&self) {
        self.0.state.lock().is_holding = false;
        while self.complete_one() {}
    }
}

/// A disk over another one, whose I/O queues hold their writes in a [`HeldWrites`].
pub struct HeldWritesDisk<D> {
    inner: D,
    writes: HeldWrites,
}

impl<D: Disk> HeldWritesDisk<D> {
    /// A disk over `inner`.
    pub fn new(inner: D, writes: HeldWrites) -> HeldWritesDisk<D> {
        HeldWritesDisk { inner, writes }
    }
}

struct HoldingQueue {
    inner: Box<dyn IoQueue>,
    writes: HeldWrites,
}

impl IoQueue for HoldingQueue {
    fn submit(&self, requests: Vec<IoRequest>) {
        let mut state = self.writes.0.state.lock();
        let is_held = |request: &IoRequest| state.is_holding && request.is_write();
        let (held, others): (Vec<_>, Vec<_>) = requests.into_iter().partition(is_held);
        state.unfinished += held.len();
        state.requests.extend(held);
        drop(state);
        self.writes.0.changed.notify_all();
        self.inner.submit(others);
    }

    fn wait_idle(&self, until: Option<Instant>) -> bool {
        let mut state = self.writes.0.state.lock();
        while state.unfinished > 0 {
            match until {
                Some(until) if self.writes.0.changed.wait_until(&mut state, until).timed_out() => {
                    break;
                }
                Some(_) => {}
                None => self.writes.0.changed.wait(&mut state),
            }
        }
        let is_idle = state.unfinished == 0;
        drop(state);
        self.inner.wait_idle(until) && is_idle
    }

    fn kind(&self) -> IoQueueKind {
        IoQueueKind::Threads
    }

    fn stats(&self) -> IoQueueStats {
        self.inner.stats()
    }
}

impl Drop for HoldingQueue {
    /// Does not wait for held writes, as IO-QUEUE-3 demands: a test asks how many queues are open.
    fn drop(&mut self) {
        self.writes.0.state.lock().queues -= 1;
    }
}

impl<D: Disk> Disk for HeldWritesDisk<D> {
    fn io_queue(&self, probe: &dyn File, options: &IoQueueOptions) -> Result<Box<dyn IoQueue>> {
        let inner = self.inner.io_queue(probe, options)?;
        self.writes.0.state.lock().queues += 1;
        Ok(Box::new(HoldingQueue { inner, writes: self.writes.clone() }))
    }

    forward_disk!(inner);
    forward_disk!(inner; open);
}
