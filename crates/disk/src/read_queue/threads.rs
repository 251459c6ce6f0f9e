//! A queue whose requests are read by threads, for systems that give the process no ring.
//!
//! Threads are started when requests wait that no thread is free for, up to [`READERS_MAX`], and
//! end with the queue. If the system starts none at all, the submitting thread reads.
//!
//! Latch order: `state` is held for a few instructions. No file is read and no completion called
//! under it (READ-QUEUE-1).

use std::sync::Arc;
use std::time::Instant;

use clearway_base::Error;
use clearway_sync::{
    Condvar, Mutex, MutexGuard, Process, step,
    thread::{self, JoinHandle},
};

use super::{Backlog, ReadQueue, ReadQueueKind, ReadQueueStats, ReadRequest};

/// Threads that read. They wait for the disk most of the time; a solid-state disk serves eight
/// reads in little more than the time of one.
const READERS_MAX: usize = 8;

/// Threads that read.
pub(super) struct ReaderThreads {
    shared: Arc<ReaderShared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    threads_max: usize,
    /// READ-QUEUE-4.
    process: Process,
}

struct ReaderShared {
    state: Mutex<ReaderState>,
    /// Notified when a request waits, or the queue is dropped.
    work: Condvar,
    /// Notified when no request is left.
    idle: Condvar,
}

struct ReaderState {
    backlog: Backlog,
    /// Threads that wait for `work`.
    sleeping: usize,
    is_dropped: bool,
}

impl ReaderThreads {
    pub(super) fn new(depth: usize) -> ReaderThreads {
        let state = ReaderState { backlog: Backlog::new(depth), sleeping: 0, is_dropped: false };
        ReaderThreads {
            shared: Arc::new(ReaderShared {
                state: Mutex::new(state),
                work: Condvar::new(),
                idle: Condvar::new(),
            }),
            threads: Mutex::new(Vec::new()),
            threads_max: READERS_MAX.min(depth),
            process: Process::current(),
        }
    }

    /// Starts up to `count` threads, within the maximum. Returns false if there are none.
    fn start_threads(&self, count: usize) -> bool {
        let mut threads = self.threads.lock();
        for _ in threads.len()..self.threads_max.min(threads.len() + count) {
            let shared = self.shared.clone();
            match reader_builder().spawn(move || shared.serve(true)) {
                Ok(handle) => threads.push(handle),
                Err(_) => break,
            }
        }
        !threads.is_empty()
    }
}

impl ReadQueue for ReaderThreads {
    fn submit(&self, requests: Vec<ReadRequest>) {
        if !self.process.is_current() {
            return requests.into_iter().for_each(|request| request.fail(Error::Forked));
        }
        let mut state = self.shared.state.lock();
        state.backlog.add(requests);
        let missing = state.backlog.waiting().saturating_sub(state.sleeping);
        drop(state);
        if self.start_threads(missing) {
            self.shared.work.notify_all();
        } else {
            // The submitting thread may run a step of an operation.
            let _may_block = step::Except::begin();
            self.shared.serve(false);
        }
    }

    fn wait_idle(&self, until: Option<Instant>) -> bool {
        if !self.process.is_current() {
            return true;
        }
        let mut state = self.shared.state.lock();
        while !state.backlog.is_idle() {
            match until {
                Some(until) if self.shared.idle.wait_until(&mut state, until).timed_out() => {
                    return state.backlog.is_idle();
                }
                Some(_) => {}
                None => self.shared.idle.wait(&mut state),
            }
        }
        true
    }

    fn kind(&self) -> ReadQueueKind {
        ReadQueueKind::Threads
    }

    fn stats(&self) -> ReadQueueStats {
        self.shared.state.lock().backlog.stats()
    }
}

impl ReaderShared {
    /// Reads requests until the queue is dropped and none is left; a thread that is no `reader`
    /// returns as soon as none waits.
    fn serve(&self, is_reader: bool) {
        let mut state = self.state.lock();
        loop {
            let Some(request) = state.backlog.take() else {
                if state.is_dropped || !is_reader {
                    return;
                }
                state.sleeping += 1;
                self.work.wait(&mut state);
                state.sleeping -= 1;
                continue;
            };
            drop(state);
            state = self.read(request);
            if state.backlog.is_idle() {
                self.idle.notify_all();
            }
        }
    }

    fn read(&self, mut request: ReadRequest) -> MutexGuard<'_, ReaderState> {
        let result = request.read_rest(0);
        self.state.lock().backlog.arrived(1);
        request.complete(result);
        let mut state = self.state.lock();
        state.backlog.completed(1);
        state
    }
}

impl Drop for ReaderThreads {
    fn drop(&mut self) {
        if !self.process.is_current() {
            std::mem::forget((self.shared.clone(), std::mem::take(self.threads.get_mut())));
            return;
        }
        self.shared.state.lock().is_dropped = true;
        self.shared.work.notify_all();
        // A reader ends when no request waits, so all have completed when all have ended
        // (READ-QUEUE-3).
        let own = thread::current().id();
        for thread in std::mem::take(self.threads.get_mut()) {
            if thread.thread().id() != own {
                let _ = thread.join();
            }
        }
    }
}

/// The settings with which a reader is started.
fn reader_builder() -> thread::Builder {
    #[cfg(all(test, not(any(loom, shuttle))))]
    if super::tests::NO_THREADS.get() {
        // No system has room for such a stack.
        return thread::Builder::new().stack_size(1 << 60);
    }
    thread::Builder::new().name("clearway-reads".into())
}
