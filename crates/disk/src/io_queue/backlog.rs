//! The requests of a queue: those that wait, by kind, and the number of the others.
//!
//! ```text
//!   add ──► waiting ──take──► in flight ──arrived──► completing ──completed──► gone
//! ```
//!
//! Invariants:
//! - IO-BACKLOG-1. `reads_in_flight` and `writes_in_flight` are the numbers of requests between
//!   `take` and `arrived`: together at most `depth`, and at most `writes_max` writes (IO-QUEUE-2).
//!   A request whose completion runs is not in flight any more, so that the device is not idle
//!   meanwhile.
//! - IO-BACKLOG-2. `unfinished` is the number of requests between `add` and `completed`.

use std::collections::VecDeque;

use super::{IoQueueStats, IoRequest, ReadsInFlight};

/// The number of foreground requests that leave the backlog between two writes, if they wait.
const READS_BETWEEN_WRITES: usize = 4;

pub(super) struct Backlog {
    foreground: VecDeque<IoRequest>,
    writes: VecDeque<IoRequest>,
    ahead: VecDeque<IoRequest>,
    depth: usize,
    writes_max: usize,
    reads_in_flight: ReadsInFlight,
    writes_in_flight: usize,
    /// Foreground requests that have left the backlog since the last write did.
    reads_since_write: usize,
    unfinished: usize,
    stats: IoQueueStats,
}

impl Backlog {
    pub(super) fn new(depth: usize) -> Backlog {
        Backlog {
            foreground: VecDeque::new(),
            writes: VecDeque::new(),
            ahead: VecDeque::new(),
            depth,
            writes_max: depth.div_ceil(4),
            reads_in_flight: ReadsInFlight::default(),
            writes_in_flight: 0,
            reads_since_write: 0,
            unfinished: 0,
            stats: IoQueueStats::default(),
        }
    }

    pub(super) fn add(&mut self, requests: Vec<IoRequest>) {
        self.unfinished += requests.len();
        for request in requests {
            if request.is_write() {
                self.stats.writes += 1;
                self.writes.push_back(request);
                continue;
            }
            self.stats.reads += 1;
            match request.is_read_ahead() {
                false => self.foreground.push_back(request),
                true => self.ahead.push_back(request),
            }
        }
    }

    /// The number of requests that wait.
    pub(super) fn waiting(&self) -> usize {
        self.foreground.len() + self.writes.len() + self.ahead.len()
    }

    /// Takes the next request, if there is one and it may be in flight (IO-QUEUE-2).
    pub(super) fn take(&mut self) -> Option<IoRequest> {
        if self.reads_in_flight.count() + self.writes_in_flight >= self.depth {
            return None;
        }
        let write_is_due =
            self.foreground.is_empty() || self.reads_since_write >= READS_BETWEEN_WRITES;
        if write_is_due
            && self.writes_in_flight < self.writes_max
            && let Some(write) = self.writes.pop_front()
        {
            self.reads_since_write = 0;
            self.writes_in_flight += 1;
            return Some(write);
        }
        let read = self.foreground.pop_front().or_else(|| self.ahead.pop_front())?;
        self.reads_since_write += 1;
        self.reads_in_flight.begin();
        Some(read)
    }

    /// The request is not in flight any more; its completion is about to be called.
    pub(super) fn arrived(&mut self, request: &IoRequest) {
        match request.is_write() {
            true => self.writes_in_flight -= 1,
            false => self.reads_in_flight.end(),
        }
    }

    /// The completions of `count` requests have returned.
    pub(super) fn completed(&mut self, count: usize) {
        self.unfinished -= count;
    }

    /// Returns true if every request that was added is gone.
    pub(super) fn is_idle(&self) -> bool {
        self.unfinished == 0
    }

    pub(super) fn stats(&self) -> IoQueueStats {
        self.reads_in_flight.in_stats(self.stats)
    }
}
