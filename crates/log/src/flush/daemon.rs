//! The threads that fly groups for those who do not wait: their turns, their sleep, their end.

use std::time::Instant;

use clearway_base::{Error, LsnSpan};
use clearway_sync::{MutexGuard, thread};

use super::{Decision, Flusher, Schedule};
use crate::options::GroupPolicy;

impl Flusher {
    /// The daemons' thread.
    pub(crate) fn run_daemon(&self) {
        self.watched(|| {
            let mut has_flown = false;
            while let Some(group) = self.next_group(has_flown) {
                self.fly(group, false);
                has_flown = true;
            }
        });
    }

    /// Runs a thread of the log: if it dies, the log stops (W7).
    pub(crate) fn watched(&self, run: impl FnOnce()) {
        let _watch = Watch { flusher: self };
        run();
    }

    /// Sleeps until a group can start and seals it; `None` when the daemon shall end. One that has
    /// just flown a group keeps time for the next, if that may not start yet.
    fn next_group(&self, mut has_flown: bool) -> Option<LsnSpan> {
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
                Decision::Rest if has_flown => self.keep_time_until(&schedule),
                Decision::Rest => None,
                Decision::At(time) => Some(time),
            };
            schedule = self.sleep(schedule, until);
            has_flown = false;
        }
    }

    /// Until when a daemon that has nothing to do keeps time, so that those who request meanwhile
    /// need not wake it.
    fn keep_time_until(&self, schedule: &Schedule) -> Option<Instant> {
        let until = self.linger_until(schedule)?;
        (schedule.flights.is_empty() && Instant::now() < until).then_some(until)
    }

    /// A daemon's sleep: until it is signalled, or until a time if there is no other timekeeper.
    fn sleep<'a>(
        &'a self,
        mut schedule: MutexGuard<'a, Schedule>,
        until: Option<Instant>,
    ) -> MutexGuard<'a, Schedule> {
        schedule.daemons_asleep += 1;
        match until {
            Some(time) if !schedule.has_timekeeper => {
                schedule.has_timekeeper = true;
                self.publish_attention(&mut schedule);
                schedule = self.sleep_until(schedule, time);
                schedule.has_timekeeper = false;
            }
            _ => self.changed.wait(&mut schedule),
        }
        schedule.daemons_asleep -= 1;
        schedule.is_signalled = false;
        self.publish_attention(&mut schedule);
        schedule
    }

    fn sleep_until<'a>(
        &'a self,
        mut schedule: MutexGuard<'a, Schedule>,
        time: Instant,
    ) -> MutexGuard<'a, Schedule> {
        if cfg!(any(loom, shuttle)) && self.policy == GroupPolicy::Adaptive {
            // In a model no time passes: a linger is over whenever the scheduler says so.
            drop(schedule);
            thread::yield_now();
            schedule = self.schedule.lock();
            schedule.last_start = None;
            return schedule;
        }
        self.changed.wait_until(&mut schedule, time);
        schedule
    }

    /// Ends the daemons' threads once they have landed.
    pub(crate) fn stop(&self) {
        self.schedule.lock().stopping = true;
        self.changed.notify_all();
    }
}

/// Stops the log if its thread dies (W7).
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
