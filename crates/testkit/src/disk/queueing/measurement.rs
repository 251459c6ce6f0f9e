//! The measurements of servers: sums, and integrals over time.

use std::time::{Duration, Instant};

/// Measurements of the servers of a [`QueueingDisk`](super::QueueingDisk) since the last reset.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ServerStats {
    /// The number of servers.
    pub servers: usize,
    /// The time since the reset.
    pub elapsed: Duration,
    /// Reads whose services have ended, those that arrived before the reset included.
    pub served: u64,
    /// The time since the reset in which servers were busy, summed over them.
    pub busy: Duration,
    /// The mean number of reads that waited for a server, over the elapsed time.
    pub waiting_mean: f64,
    /// The mean time from the arrival of a read to the end of its service, over the reads served.
    pub response_mean: Duration,
}

impl ServerStats {
    /// The part of the servers' time in which they were busy, from 0 to 1.
    pub fn utilisation(&self) -> f64 {
        ratio(self.busy, self.elapsed) / self.servers as f64
    }
}

/// The sums from which the statistics are computed.
///
/// Invariant: each sum covers the time from `reset_at` to `until`.
pub(super) struct Measurement {
    reset_at: Instant,
    until: Instant,
    served: u64,
    busy: Duration,
    /// The waiting times since the reset, summed over all reads: the integral over time of the
    /// number of reads that wait.
    waiting: Duration,
    /// The response times of the reads served.
    responses: Duration,
}

impl Measurement {
    pub(super) fn new(now: Instant) -> Measurement {
        Measurement {
            reset_at: now,
            until: now,
            served: 0,
            busy: Duration::ZERO,
            waiting: Duration::ZERO,
            responses: Duration::ZERO,
        }
    }

    /// Adds the time until `now`, in which `busy` servers were busy and `waiting` reads waited.
    pub(super) fn advance(&mut self, now: Instant, busy: usize, waiting: usize) {
        let time = now.saturating_duration_since(self.until);
        self.until = now;
        self.busy += times(time, busy);
        self.waiting += times(time, waiting);
    }

    /// Adds a read whose service has ended.
    pub(super) fn add_served(&mut self, response: Duration) {
        self.served += 1;
        self.responses += response;
    }

    pub(super) fn stats(&self, servers: usize) -> ServerStats {
        let elapsed = self.until - self.reset_at;
        let mean_nanos = self.responses.as_nanos() / u128::from(self.served.max(1));
        ServerStats {
            servers,
            elapsed,
            served: self.served,
            busy: self.busy,
            waiting_mean: ratio(self.waiting, elapsed),
            // A mean of durations that fit.
            response_mean: Duration::from_nanos(mean_nanos as u64),
        }
    }
}

fn times(time: Duration, count: usize) -> Duration {
    time * u32::try_from(count).expect("a number of reads of one process")
}

/// The ratio of two durations; 0 if the second is zero.
fn ratio(of: Duration, to: Duration) -> f64 {
    if to.is_zero() { 0.0 } else { of.as_secs_f64() / to.as_secs_f64() }
}
