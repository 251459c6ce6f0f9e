//! The policy that determines when a group is written.
//!
//! It is adaptive: if the device is idle, a group with all gathered records starts. While writes
//! are in flight the next group gathers; it may overlap with them (up to the limit of in-flight
//! flushes) once it is half as large as the last group. So a stream of requests settles into a few
//! groups of similar size, one gathering and the others in flight, whatever the rate: without the
//! size rule, the second flush would start at the first request after the start of the first flush,
//! nearly empty, and all other requests would wait for a third.
//!
//! This applies to requests with a waiter. A request without a waiter comes from a thread that has
//! other work to do, which each write of a group interrupts: about 50 µs of processor time, as much
//! as five small transactions. Such requests therefore start a group no sooner than the
//! group-commit delay after the start of the previous group, and overlap with a flush only if the
//! last one that completed took at least twice that delay. The first request after a pause starts
//! at once, and the first waiter, or an insert that passes a multiple of `flush_trigger_bytes`,
//! ends the delay for all.
//!
//! Measured for several shares of the last group's size from which on a flush may overlap
//! (2026-11-21, 2 cores, two flushes in flight, TPC-B with 64 in flight, medians of 5 alternating
//! runs, without delay): with 1, the whole size, 182,000 tps, with 2/3 185,000, with 1/2 200,000,
//! with 1/3 175,000.

use std::time::Instant;

use crate::parts::Decision;

/// The inputs of a decision.
#[derive(Clone, Copy)]
pub(super) struct Situation {
    /// The number of group writes in flight, and its upper bound.
    pub(super) in_flight: usize,
    pub(super) in_flight_max: usize,
    /// Bytes of the last group.
    pub(super) last_bytes: u64,
    /// Bytes requested and in no group yet.
    pub(super) gathered: u64,
    /// True if the delay does not apply to them.
    pub(super) is_awaited: bool,
    /// The time until which requests without a waiter start no group.
    pub(super) delayed_until: Option<Instant>,
    /// True if flushes take much longer than the group-commit delay.
    pub(super) is_slow: bool,
}

/// Decides, given the time.
pub(super) fn decide(now: impl Fn() -> Instant, s: &Situation) -> Decision {
    if s.gathered == 0 || s.in_flight >= s.in_flight_max {
        return Decision::Rest;
    }
    if s.gathered < start_from(s, s.is_awaited) {
        return Decision::Rest;
    }
    match s.delayed_until {
        Some(due) if !s.is_awaited && now() < due => Decision::At(due),
        _ => Decision::Start,
    }
}

/// Returns the wake threshold of requests with a waiter (`is_awaited`) or without, counted from the
/// end of the last group: a request from there on must check the schedule. Returns `None` if no
/// request must.
pub(super) fn wake_threshold(s: &Situation, is_awaited: bool) -> Option<u64> {
    if s.in_flight >= s.in_flight_max {
        return None;
    }
    Some(start_from(s, is_awaited)).filter(|&from| from < u64::MAX)
}

/// Returns the number of bytes from which on a group may start.
fn start_from(s: &Situation, is_awaited: bool) -> u64 {
    match s.in_flight {
        0 => 1,
        _ if is_awaited || s.is_slow => s.last_bytes / 2,
        _ => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn situation() -> Situation {
        Situation {
            in_flight: 0,
            in_flight_max: 2,
            last_bytes: 1024,
            gathered: 512,
            is_awaited: true,
            delayed_until: None,
            is_slow: false,
        }
    }

    #[test]
    fn on_an_idle_device_any_request_starts_a_group() {
        let decide = |s| decide(Instant::now, &s);
        assert_eq!(decide(situation()), Decision::Start);
        assert_eq!(decide(Situation { gathered: 0, ..situation() }), Decision::Rest);
    }

    #[test]
    fn overlapping_group_waits_until_it_is_half_as_large_as_the_last() {
        let decide = |s| decide(Instant::now, &s);
        let one = Situation { in_flight: 1, ..situation() };
        assert_eq!(decide(Situation { gathered: 511, ..one }), Decision::Rest);
        assert_eq!(decide(one), Decision::Start);
        assert_eq!(decide(Situation { gathered: 9999, in_flight: 2, ..one }), Decision::Rest);
    }

    #[test]
    fn request_without_a_waiter_is_delayed() {
        let start = Instant::now();
        let due = start + Duration::from_millis(1);
        let delayed = Situation { is_awaited: false, delayed_until: Some(due), ..situation() };
        let decide_at = |now, s| decide(|| now, &s);
        assert_eq!(decide_at(start, delayed), Decision::At(due));
        assert_eq!(decide_at(due, delayed), Decision::Start);
        assert_eq!(decide_at(start, Situation { is_awaited: true, ..delayed }), Decision::Start);
        assert_eq!(decide_at(due, Situation { in_flight: 1, ..delayed }), Decision::Rest);
        let slow = Situation { in_flight: 1, is_slow: true, ..delayed };
        assert_eq!(decide_at(due, slow), Decision::Start);
        assert_eq!(decide_at(start, slow), Decision::At(due));
    }

    #[test]
    fn request_that_could_change_the_decision_checks_the_schedule() {
        for (in_flight, gathered) in (0..3).flat_map(|n| [1, 511, 512, 5000].map(|g| (n, g))) {
            for (is_awaited, is_slow) in [(true, false), (false, true), (false, false)] {
                let s = Situation { in_flight, gathered, is_awaited, is_slow, ..situation() };
                let starts = decide(Instant::now, &s) == Decision::Start;
                let checks = |is_awaited| {
                    let from = wake_threshold(&s, is_awaited);
                    from.is_some_and(|from| gathered >= from)
                };
                // A request without a waiter checks like one with a waiter if there is one.
                let checks = checks(false) || is_awaited && checks(true);
                assert_eq!(starts, checks, "{in_flight} in flight, {gathered} gathered");
            }
        }
    }
}
