//! The requests of a queue: those that wait, by priority, and the number of the others.
//!
//! ```text
//!   add ──► waiting ──take──► in flight ──arrived──► completing ──completed──► gone
//! ```
//!
//! Invariants:
//! - READ-BACKLOG-1. `in_flight` is the number of requests between `take` and `arrived`, and at
//!   most `depth` (READ-QUEUE-2). A request whose completion runs is not in flight any more, so
//!   that the device is not idle meanwhile.
//! - READ-BACKLOG-2. `unfinished` is the number of requests between `add` and `completed`.

use std::collections::VecDeque;

use super::{ReadPriority, ReadQueueStats, ReadRequest};

pub(super) struct Backlog {
    foreground: VecDeque<ReadRequest>,
    ahead: VecDeque<ReadRequest>,
    depth: usize,
    in_flight: usize,
    unfinished: usize,
    stats: ReadQueueStats,
}

impl Backlog {
    pub(super) fn new(depth: usize) -> Backlog {
        Backlog {
            foreground: VecDeque::new(),
            ahead: VecDeque::new(),
            depth,
            in_flight: 0,
            unfinished: 0,
            stats: ReadQueueStats::default(),
        }
    }

    pub(super) fn add(&mut self, requests: Vec<ReadRequest>) {
        self.stats.requests += requests.len() as u64;
        self.unfinished += requests.len();
        for request in requests {
            match request.priority() {
                ReadPriority::Foreground => self.foreground.push_back(request),
                ReadPriority::ReadAhead => self.ahead.push_back(request),
            }
        }
    }

    /// The number of requests that wait.
    pub(super) fn waiting(&self) -> usize {
        self.foreground.len() + self.ahead.len()
    }

    /// Takes the next request, if there is one and fewer than `depth` are in flight.
    pub(super) fn take(&mut self) -> Option<ReadRequest> {
        if self.in_flight >= self.depth {
            return None;
        }
        let request = self.foreground.pop_front().or_else(|| self.ahead.pop_front())?;
        self.in_flight += 1;
        self.stats.in_flight_max = self.stats.in_flight_max.max(self.in_flight);
        Some(request)
    }

    /// `count` requests are not in flight any more; their completions are about to be called.
    pub(super) fn arrived(&mut self, count: usize) {
        self.in_flight -= count;
    }

    /// The completions of `count` requests have returned.
    pub(super) fn completed(&mut self, count: usize) {
        self.unfinished -= count;
    }

    /// Returns true if every request that was added is gone.
    pub(super) fn is_idle(&self) -> bool {
        self.unfinished == 0
    }

    pub(super) fn stats(&self) -> ReadQueueStats {
        ReadQueueStats { in_flight: self.in_flight, ..self.stats }
    }
}
