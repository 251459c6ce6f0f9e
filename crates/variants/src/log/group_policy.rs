//! A fixed policy of group commit: X requests, L bytes or T time after the first request, whichever
//! comes first. The group commit that "Aether: A Scalable Approach to Logging" (section 4) and its
//! baselines have.
//!
//! Invariants:
//! - LOG-FIXED-1. `requests` counts the requests since the last group. A request is counted before
//!   the flusher decides because of it, so the request that reaches the limit starts the group.
//! - LOG-FIXED-2. `first` is the time of the first decision with something requested since the last
//!   group: each such decision that does not start a group names the time at which it will, unless
//!   that is beyond the range of the clock (LOG-PARTS-7).
//! - LOG-FIXED-3. A thread that must not wait for a full group gets one at once: up to `forced` the
//!   limits do not apply.

use std::time::{Duration, Instant};

use clearway_base::{Lsn, LsnSpan};
use clearway_log::parts::{Decision, FlushPolicy};
use clearway_sync::{
    Mutex,
    atomic::{AtomicU64, Ordering},
};

/// The policy that determines when gathered records are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum GroupPolicy {
    /// The engine's own: write at once if the device is idle and a thread waits, or after the
    /// [group-commit delay](clearway_log::LogOptions::group_commit_delay); while writes are in
    /// flight, the next group gathers.
    #[default]
    Adaptive,
    /// Write when the first of three limits is reached.
    Fixed {
        /// Number of flush requests since the last group.
        commits: u32,
        /// Number of bytes gathered since the last group.
        bytes: u64,
        /// Time since the first request that the last group does not cover.
        time: Duration,
    },
}

/// The policy [`GroupPolicy::Fixed`].
pub(super) struct FixedPolicy {
    commits: u64,
    bytes: u64,
    time: Duration,
    /// LOG-FIXED-1.
    requests: AtomicU64,
    /// LOG-FIXED-3.
    forced: AtomicU64,
    /// LOG-FIXED-2. A leaf; taken under the flusher's schedule only, so without contention.
    first: Mutex<Option<Instant>>,
}

impl FixedPolicy {
    pub(super) fn new(commits: u32, bytes: u64, time: Duration) -> FixedPolicy {
        FixedPolicy {
            commits: u64::from(commits),
            bytes,
            time,
            requests: AtomicU64::new(0),
            forced: AtomicU64::new(0),
            first: Mutex::new(None),
        }
    }

    /// Decides, given the time.
    fn decide_at(&self, requested: LsnSpan, now: impl Fn() -> Instant) -> Decision {
        let is_urgent = self.forced.load(Ordering::SeqCst) > requested.start.0;
        let gathered = requested.end.0 - requested.start.0;
        let requests = self.requests.load(Ordering::SeqCst);
        if is_urgent || requests >= self.commits || gathered >= self.bytes {
            return Decision::Start;
        }
        let now = now();
        let first = *self.first.lock().get_or_insert(now);
        match first.checked_add(self.time) {
            Some(due) if now >= due => Decision::Start,
            Some(due) => Decision::At(due),
            // A time beyond the range of the clock: the other limits decide.
            None => Decision::Rest,
        }
    }
}

impl FlushPolicy for FixedPolicy {
    fn request(&self) {
        self.requests.fetch_add(1, Ordering::SeqCst);
    }

    fn force(&self, lsn: Lsn) {
        self.forced.fetch_max(lsn.0, Ordering::SeqCst);
    }

    fn decide(&self, requested: LsnSpan) -> Decision {
        self.decide_at(requested, Instant::now)
    }

    fn start_group(&self) {
        self.requests.store(0, Ordering::SeqCst);
        *self.first.lock() = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(bytes: u64) -> LsnSpan {
        LsnSpan { start: Lsn(8192), end: Lsn(8192 + bytes) }
    }

    #[test]
    fn fixed_policy_starts_at_the_first_limit() {
        let time = Duration::from_millis(5);
        let policy = FixedPolicy::new(3, 4096, time);
        let first = Instant::now();
        let decide = |bytes| policy.decide_at(span(bytes), || first);
        let later = |ms| policy.decide_at(span(512), || first + Duration::from_millis(ms));
        policy.request();
        assert_eq!(decide(512), Decision::At(first + time));
        assert_eq!(later(1), Decision::At(first + time));
        assert_eq!(decide(4096), Decision::Start);
        assert_eq!(later(5), Decision::Start);
        policy.request();
        policy.request();
        assert_eq!(decide(512), Decision::Start);
        policy.start_group();
        assert_eq!(later(1), Decision::At(first + Duration::from_millis(6)));
        policy.force(Lsn(8192));
        assert_eq!(later(2), Decision::At(first + Duration::from_millis(6)));
        policy.force(Lsn(8200));
        assert_eq!(later(2), Decision::Start);
    }

    #[test]
    fn a_time_limit_beyond_all_clocks_is_no_limit() {
        let policy = FixedPolicy::new(3, 4096, Duration::MAX);
        policy.request();
        assert_eq!(policy.decide(span(512)), Decision::Rest);
        (0..2).for_each(|_| policy.request());
        assert_eq!(policy.decide(span(512)), Decision::Start);
    }
}
