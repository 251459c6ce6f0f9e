//! Servers, and the reads that wait for them.
//!
//! Latch order: the latch of the waiting reads, then what the start of a service takes: the latch
//! of the thread that waits, or that of the I/O queue.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use clearway_disk::IoPriority;
use clearway_sync::{
    Condvar, Mutex,
    atomic::{AtomicBool, Ordering},
};

use super::measurement::{Measurement, ServerStats};
use crate::disk::delayed::sleep_precisely;

/// The servers of a [`QueueingDisk`](super::QueueingDisk). Clones share them. A test or experiment
/// keeps one to switch the delay on and off, and to measure.
#[derive(Clone)]
pub struct ReadServers(Arc<Servers>);

struct Servers {
    count: usize,
    delay: Duration,
    is_on: AtomicBool,
    line: Mutex<Line>,
}

/// The reads that wait, and the servers that are free.
struct Line {
    free: usize,
    foreground: VecDeque<Arrival>,
    ahead: VecDeque<Arrival>,
    measurement: Measurement,
}

/// A read that waits.
struct Arrival {
    at: Instant,
    start: StartService,
}

/// Hands the service of a read over to the thread that performs it. Called under the latch of the
/// waiting reads, so it must not drop the service.
pub(super) type StartService = Box<dyn FnOnce(Service) + Send>;

/// A server that a read has, until this is dropped.
pub(super) struct Service {
    servers: ReadServers,
    arrived: Instant,
    began: Instant,
}

/// A thread that waits in `read_at`.
#[derive(Default)]
struct BlockedReader {
    service: Mutex<Option<Service>>,
    begun: Condvar,
}

impl ReadServers {
    /// `servers` servers, each of which serves a read in `delay`. The delay is off at first.
    ///
    /// # Panics
    /// Panics if there are no servers.
    pub fn new(servers: usize, delay: Duration) -> ReadServers {
        assert!(servers > 0, "reads need a server");
        let line = Line {
            free: servers,
            foreground: VecDeque::new(),
            ahead: VecDeque::new(),
            measurement: Measurement::new(Instant::now()),
        };
        let (is_on, line) = (AtomicBool::new(false), Mutex::new(line));
        ReadServers(Arc::new(Servers { count: servers, delay, is_on, line }))
    }

    /// Switches the delay on or off. While it is off, reads need no server and are not measured.
    /// Those that wait when it is switched off are served with the delay nevertheless.
    pub fn set_on(&self, is_on: bool) {
        // Orders nothing: each read sees either value.
        self.0.is_on.store(is_on, Ordering::Relaxed);
    }

    /// Returns true if the delay is on.
    pub fn is_on(&self) -> bool {
        self.0.is_on.load(Ordering::Relaxed)
    }

    /// The number of reads that wait for a server now.
    pub fn waiting(&self) -> usize {
        self.0.line.lock().waiting()
    }

    /// Returns the measurements since the last reset, or since the start.
    pub fn stats(&self) -> ServerStats {
        let mut line = self.0.line.lock();
        line.advance(self.0.count);
        line.measurement.stats(self.0.count)
    }

    /// Begins new measurements.
    pub fn reset_stats(&self) {
        let mut line = self.0.line.lock();
        line.measurement = Measurement::new(Instant::now());
    }

    /// The number of servers.
    pub(super) fn count(&self) -> usize {
        self.0.count
    }

    /// Adds reads, which are served in this order among those of their priority.
    pub(super) fn arrive(&self, reads: impl IntoIterator<Item = (IoPriority, StartService)>) {
        let mut line = self.0.line.lock();
        let at = line.advance(self.0.count);
        for (priority, start) in reads {
            match priority {
                IoPriority::Foreground => line.foreground.push_back(Arrival { at, start }),
                IoPriority::ReadAhead => line.ahead.push_back(Arrival { at, start }),
            }
        }
        self.begin_services(&mut line, at);
    }

    /// Blocks the calling thread until a server is free for its read.
    pub(super) fn wait_for_service(&self) -> Service {
        let reader = Arc::new(BlockedReader::default());
        let waiting = reader.clone();
        let start: StartService = Box::new(move |service| {
            *waiting.service.lock() = Some(service);
            waiting.begun.notify_one();
        });
        self.arrive([(IoPriority::Foreground, start)]);
        let mut service = reader.service.lock();
        loop {
            match service.take() {
                Some(service) => return service,
                None => reader.begun.wait(&mut service),
            }
        }
    }

    /// Begins services as long as reads wait and servers are free (QUEUEING-1).
    fn begin_services(&self, line: &mut Line, now: Instant) {
        while line.free > 0
            && let Some(Arrival { at, start }) = line.take_first()
        {
            line.free -= 1;
            start(Service { servers: self.clone(), arrived: at, began: now });
        }
    }
}

impl Line {
    fn waiting(&self) -> usize {
        self.foreground.len() + self.ahead.len()
    }

    /// Takes the read that is served next (QUEUEING-2).
    fn take_first(&mut self) -> Option<Arrival> {
        self.foreground.pop_front().or_else(|| self.ahead.pop_front())
    }

    /// Adds the time since the last change to the measurements, and returns the present. To be
    /// called before each change.
    fn advance(&mut self, servers: usize) -> Instant {
        let now = Instant::now();
        let (busy, waiting) = (servers - self.free, self.waiting());
        self.measurement.advance(now, busy, waiting);
        now
    }
}

impl Service {
    /// Sleeps for what is left of the delay, reads, and frees the server.
    pub(super) fn perform<T>(self, read: impl FnOnce() -> T) -> T {
        let left = self.servers.0.delay.saturating_sub(self.began.elapsed());
        if !left.is_zero() {
            sleep_precisely(left);
        }
        read()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let servers = &self.servers;
        let mut line = servers.0.line.lock();
        let now = line.advance(servers.0.count);
        line.free += 1;
        line.measurement.add_served(now.saturating_duration_since(self.arrived));
        servers.begin_services(&mut line, now);
    }
}
