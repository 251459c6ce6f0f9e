//! The I/O queue of the disk: its reads wait for the servers together with those of threads.
//!
//! A request that a server is free for is performed by one of the queue's threads, of which there
//! are no more than servers. They are started when requests are submitted that may need them, and
//! end with the queue. The completion of a request is called after its server has been freed; it
//! must not read the data file, since it keeps a thread that an earlier read may need.

use std::{cell::Cell, collections::VecDeque, sync::Arc, time::Instant};

use clearway_disk::{IoPriority, IoQueue, IoQueueKind, IoQueueStats, IoRequest, ReadsInFlight};
use clearway_sync::{
    Condvar, Mutex,
    thread::{self, JoinHandle},
};

use super::servers::{ReadServers, Service, StartService};

thread_local! {
    /// The service of the request that this thread of a queue performs, until its read begins.
    static SERVICE: Cell<Option<Service>> = const { Cell::new(None) };
}

/// Takes the service of the request that the calling thread performs, if there is one.
pub(super) fn take_service() -> Option<Service> {
    SERVICE.take()
}

/// A queue whose reads are served by [`ReadServers`].
pub(super) struct ServedQueue {
    shared: Arc<ServedRequests>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    servers: ReadServers,
    /// Writes, and reads that were submitted while the delay was off.
    inner: Box<dyn IoQueue>,
}

#[derive(Default)]
struct ServedRequests {
    state: Mutex<ServedState>,
    /// Notified when a service begins, and when the threads should end.
    work: Condvar,
    /// Notified when no request is left.
    idle: Condvar,
}

#[derive(Default)]
struct ServedState {
    /// Requests that have a server and no thread yet.
    begun: VecDeque<(IoRequest, Service)>,
    /// Requests that have no thread yet.
    waiting: usize,
    /// Requests whose completions have not returned.
    unfinished: usize,
    /// True if no request will come any more.
    is_dropped: bool,
    /// Reads submitted.
    reads: u64,
    in_flight: ReadsInFlight,
}

impl ServedQueue {
    pub(super) fn new(inner: Box<dyn IoQueue>, servers: ReadServers) -> ServedQueue {
        let (shared, threads) = (Arc::default(), Mutex::new(Vec::new()));
        ServedQueue { shared, threads, servers, inner }
    }

    /// Starts the threads that this number of requests may need.
    fn start_threads(&self, requests: usize) {
        let mut threads = self.threads.lock();
        for _ in threads.len()..requests.min(self.servers.count()) {
            let shared = self.shared.clone();
            let builder = thread::Builder::new().name("served-reads".into());
            threads.push(builder.spawn(move || shared.serve()).expect("a thread of the queue"));
        }
    }
}

impl IoQueue for ServedQueue {
    fn submit(&self, requests: Vec<IoRequest>) {
        if !self.servers.is_on() {
            return self.inner.submit(requests);
        }
        let (writes, reads): (Vec<_>, Vec<_>) = requests.into_iter().partition(IoRequest::is_write);
        if !writes.is_empty() {
            self.inner.submit(writes);
        }
        let unfinished = self.shared.add(reads.len());
        self.servers.arrive(reads.into_iter().map(|request| self.shared.arrival(request)));
        self.start_threads(unfinished);
    }

    fn wait_idle(&self, until: Option<Instant>) -> bool {
        self.shared.wait_idle(until) && self.inner.wait_idle(until)
    }

    fn kind(&self) -> IoQueueKind {
        IoQueueKind::Threads
    }

    /// The counters of this queue and the inner one together; of the largest numbers of reads in
    /// flight, the larger one. In flight here are the requests that have a thread.
    fn stats(&self) -> IoQueueStats {
        let (own, inner) = (self.shared.stats(), self.inner.stats());
        IoQueueStats {
            reads: own.reads + inner.reads,
            reads_in_flight: own.reads_in_flight + inner.reads_in_flight,
            reads_in_flight_max: own.reads_in_flight_max.max(inner.reads_in_flight_max),
            reads_in_flight_time: own.reads_in_flight_time + inner.reads_in_flight_time,
            writes: inner.writes,
        }
    }
}

impl ServedRequests {
    /// Counts reads that are submitted. Returns the number of those that are not completed.
    fn add(&self, reads: usize) -> usize {
        let mut state = self.state.lock();
        state.waiting += reads;
        state.unfinished += reads;
        state.reads += reads as u64;
        state.unfinished
    }

    fn stats(&self) -> IoQueueStats {
        let state = self.state.lock();
        state.in_flight.in_stats(IoQueueStats { reads: state.reads, ..IoQueueStats::default() })
    }

    /// A read that arrives at the servers, and is performed by a thread of the queue.
    fn arrival(self: &Arc<Self>, request: IoRequest) -> (IoPriority, StartService) {
        let shared = self.clone();
        let priority = match request.is_read_ahead() {
            false => IoPriority::Foreground,
            true => IoPriority::ReadAhead,
        };
        (priority, Box::new(move |service| shared.begin(request, service)))
    }

    fn begin(&self, request: IoRequest, service: Service) {
        self.state.lock().begun.push_back((request, service));
        self.work.notify_one();
    }

    /// Performs requests until the queue is dropped and none is left.
    fn serve(&self) {
        let mut state = self.state.lock();
        loop {
            let Some((request, service)) = state.begun.pop_front() else {
                if state.is_dropped && state.waiting == 0 {
                    return;
                }
                self.work.wait(&mut state);
                continue;
            };
            state.waiting -= 1;
            state.in_flight.begin();
            if state.is_dropped && state.waiting == 0 {
                self.work.notify_all();
            }
            drop(state);
            SERVICE.set(Some(service));
            request.perform();
            // Frees the server if the file was not one of this disk.
            drop(SERVICE.take());
            state = self.state.lock();
            state.in_flight.end();
            state.unfinished -= 1;
            if state.unfinished == 0 {
                self.idle.notify_all();
            }
        }
    }

    fn wait_idle(&self, until: Option<Instant>) -> bool {
        let mut state = self.state.lock();
        while state.unfinished > 0 {
            match until {
                Some(until) if self.idle.wait_until(&mut state, until).timed_out() => {
                    return state.unfinished == 0;
                }
                Some(_) => {}
                None => self.idle.wait(&mut state),
            }
        }
        true
    }
}

impl Drop for ServedQueue {
    fn drop(&mut self) {
        self.shared.state.lock().is_dropped = true;
        self.shared.work.notify_all();
        // A thread ends when no request waits for one, so all have completed when all have ended.
        let own = thread::current().id();
        for thread in std::mem::take(self.threads.get_mut()) {
            // A completion may drop the queue.
            if thread.thread().id() != own {
                let _ = thread.join();
            }
        }
    }
}
