//! A queue whose requests threads perform, for systems that give the process no ring.
//!
//! Threads are started when requests wait that no thread is free for, up to [`THREADS_MAX`], and
//! end with the queue. If the system starts none at all, the submitting thread does their work.
//!
//! Latch order: the backlog's latch is held for a few instructions. No file is read or written and
//! no completion called under it (IO-QUEUE-1).

use std::sync::Arc;
use std::time::Instant;

use clearway_sync::{
    Condvar, Mutex, MutexGuard, step,
    thread::{self, JoinHandle},
};

use super::latched::{IoState, LatchedBacklog};
use super::{IoQueue, IoQueueKind, IoQueueStats, IoRequest};

/// Threads that read and write. They wait for the disk most of the time; a solid-state disk serves
/// eight reads in little more than the time of one.
const THREADS_MAX: usize = 8;

/// Threads that read and write.
pub(super) struct IoThreads {
    shared: Arc<ThreadsShared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    threads_max: usize,
}

struct ThreadsShared {
    latched: LatchedBacklog<Sleeping>,
    /// Notified when a request waits, or the queue is dropped.
    work: Condvar,
}

/// The number of threads that wait for `work`.
type Sleeping = usize;

impl IoThreads {
    pub(super) fn new(depth: usize) -> IoThreads {
        let latched = LatchedBacklog::new(depth, 0);
        IoThreads {
            shared: Arc::new(ThreadsShared { latched, work: Condvar::new() }),
            threads: Mutex::new(Vec::new()),
            threads_max: THREADS_MAX.min(depth),
        }
    }

    /// Starts up to `count` threads, within the maximum. Returns false if there are none.
    fn start_threads(&self, count: usize) -> bool {
        let mut threads = self.threads.lock();
        for _ in threads.len()..self.threads_max.min(threads.len() + count) {
            let shared = self.shared.clone();
            match thread_builder().spawn(move || shared.serve(true)) {
                Ok(handle) => threads.push(handle),
                Err(_) => break,
            }
        }
        !threads.is_empty()
    }
}

impl IoQueue for IoThreads {
    fn submit(&self, requests: Vec<IoRequest>) {
        let Some(state) = self.shared.latched.add(requests) else { return };
        let missing = state.backlog.waiting().saturating_sub(state.own);
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
        self.shared.latched.wait_idle(until)
    }

    fn kind(&self) -> IoQueueKind {
        IoQueueKind::Threads
    }

    fn stats(&self) -> IoQueueStats {
        self.shared.latched.stats()
    }
}

impl ThreadsShared {
    /// Performs requests until the queue is dropped and none is left; a thread that is not one of
    /// the `queue` returns as soon as none waits.
    fn serve(&self, is_of_queue: bool) {
        let mut state = self.latched.lock();
        loop {
            let Some(request) = state.backlog.take() else {
                if state.is_dropped || !is_of_queue {
                    return;
                }
                state.own += 1;
                self.work.wait(&mut state);
                state.own -= 1;
                continue;
            };
            drop(state);
            state = self.perform(request);
        }
    }

    fn perform(&self, mut request: IoRequest) -> MutexGuard<'_, IoState<Sleeping>> {
        let result = request.perform_rest(0);
        self.latched.arrived(&request);
        request.complete(result);
        self.latched.completed(1)
    }
}

impl Drop for IoThreads {
    fn drop(&mut self) {
        if !self.shared.latched.is_in_its_process() {
            std::mem::forget((self.shared.clone(), std::mem::take(self.threads.get_mut())));
            return;
        }
        self.shared.latched.lock().is_dropped = true;
        self.shared.work.notify_all();
        // A thread ends when no request waits, so all have completed when all have ended
        // (IO-QUEUE-3).
        let own = thread::current().id();
        for thread in std::mem::take(self.threads.get_mut()) {
            if thread.thread().id() != own {
                let _ = thread.join();
            }
        }
    }
}

/// The settings with which a thread is started.
fn thread_builder() -> thread::Builder {
    #[cfg(all(test, not(any(loom, shuttle))))]
    if super::tests::NO_THREADS.get() {
        // No system has room for such a stack.
        return thread::Builder::new().stack_size(1 << 60);
    }
    thread::Builder::new().name("clearway-io".into())
}
