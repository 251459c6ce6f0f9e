//! The daemons: threads of the log that flush the groups which no committing thread flushes.

use std::time::Instant;

use clearway_base::{Error, LsnSpan};
use clearway_sync::{MutexGuard, thread};

use super::{Decision, Flusher, Schedule};

impl Flusher {
    /// Runs a daemon thread.
    pub(crate) fn run_daemon(&self) {
        self.watched(|| {
            let mut has_flushed = false;
            while let Some(group) = self.next_group(has_flushed) {
                self.flush(group, false);
                has_flushed = true;
            }
        });
    }

    /// Runs a thread of the log. If it panics, the log stops (FLUSH-7).
    pub(crate) fn watched(&self, run: impl FnOnce()) {
        let _watch = Watch { flusher: self };
        run();
    }

    /// Sleeps until a group can start, and begins it. Returns `None` when the daemon must end. A
    /// daemon that has just flushed a group becomes the timer daemon for the next one, if that may
    /// not start yet.
    fn next_group(&self, mut has_flushed: bool) -> Option<LsnSpan> {
        let mut schedule = self.schedule.lock();
        loop {
            if schedule.stopping {
                return None;
            }
            let until = match self.decide(&schedule) {
                Decision::Start => match self.begin(&mut schedule, 0) {
                    Some(group) => return Some(group),
                    None => None,
                },
                Decision::Rest if has_flushed => self.timer_until(&schedule),
                Decision::Rest => None,
                Decision::At(time) => Some(time),
            };
            schedule = self.sleep(schedule, until);
            has_flushed = false;
        }
    }

    /// Returns the time until which an idle daemon acts as the timer daemon, so that requesters
    /// need not wake it meanwhile.
    fn timer_until(&self, schedule: &Schedule) -> Option<Instant> {
        let until = self.delayed_until(schedule)?;
        (schedule.in_flight.is_empty() && Instant::now() < until).then_some(until)
    }

    /// Puts a daemon to sleep until it is signalled, or until a given time if there is no other
    /// timer daemon.
    fn sleep<'a>(
        &'a self,
        mut schedule: MutexGuard<'a, Schedule>,
        until: Option<Instant>,
    ) -> MutexGuard<'a, Schedule> {
        schedule.daemons_asleep += 1;
        match until {
            Some(time) if !schedule.has_timer => {
                schedule.has_timer = true;
                self.publish_thresholds(&mut schedule);
                schedule = self.sleep_until(schedule, time);
                schedule.has_timer = false;
            }
            _ => self.changed.wait(&mut schedule),
        }
        schedule.daemons_asleep -= 1;
        schedule.is_signalled = false;
        self.publish_thresholds(&mut schedule);
        schedule
    }

    fn sleep_until<'a>(
        &'a self,
        mut schedule: MutexGuard<'a, Schedule>,
        time: Instant,
    ) -> MutexGuard<'a, Schedule> {
        if cfg!(any(loom, shuttle)) && self.other_policy.is_none() {
            // In a model no time passes: the scheduler decides when a group-commit delay is over.
            drop(schedule);
            thread::yield_now();
            schedule = self.schedule.lock();
            schedule.last_start = None;
            return schedule;
        }
        self.changed.wait_until(&mut schedule, time);
        schedule
    }

    /// Ends the daemon threads once their flushes have completed.
    pub(crate) fn stop(&self) {
        self.schedule.lock().stopping = true;
        self.changed.notify_all();
    }
}

/// Stops the log if its thread panics (FLUSH-7).
struct Watch<'a> {
    flusher: &'a Flusher,
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let message = "a thread of the log died".to_string();
            self.flusher.poison(Error::Panicked { message });
        }
    }
}
