//! Alarms: wakers that are called at a given time, for tasks, which cannot sleep.
//!
//! Invariants:
//! - TIMER-1. While the thread runs, an alarm's waker is called at its time or soon afterwards, or
//!   when the thread ends, unless the alarm was polled again or dropped before.
//! - TIMER-2. No waker is called under the mutex: a waker runs code of the program.
//! - TIMER-3. Without a running thread (an engine without background threads, or one that is
//!   closing) a waker is called at once: its task polls again and again until the time has come.

use std::{
    collections::BTreeMap,
    sync::Arc,
    task::{Context, Waker},
    time::Instant,
};

use clearway_sync::{Condvar, Mutex, wake};

/// The alarms of an engine.
#[derive(Default)]
pub(crate) struct Timer {
    alarms: Mutex<Alarms>,
    /// The first alarm has changed, or the thread is to end.
    changed: Condvar,
}

#[derive(Default)]
struct Alarms {
    /// By time, and by a number that distinguishes alarms of the same time.
    wakers: BTreeMap<(Instant, u64), Waker>,
    set: u64,
    runs: bool,
    /// The time at which the thread looks again by itself. An alarm that is not earlier need not
    /// wake it: most are dropped before their time.
    looks_at: Option<Instant>,
    /// The time that a model has let pass.
    #[cfg(loom)]
    passed: std::time::Duration,
}

impl Alarms {
    /// Returns the time that it is for the thread.
    fn now(&self) -> Instant {
        #[cfg(loom)]
        return Instant::now() + self.passed;
        #[cfg(not(loom))]
        Instant::now()
    }
}

impl Timer {
    /// Lets alarms wait for their time: the caller will [run](Timer::run) the timer.
    pub(crate) fn start(&self) {
        self.alarms.lock().runs = true;
    }

    /// Calls wakers until [`stop`](Timer::stop).
    pub(crate) fn run(&self) {
        let mut alarms = self.alarms.lock();
        while alarms.runs {
            let now = alarms.now();
            match alarms.wakers.first_key_value().map(|((at, _), _)| *at) {
                Some(at) if at <= now => {
                    let waker = alarms.wakers.pop_first().map(|(_, waker)| waker);
                    drop(alarms);
                    waker.into_iter().for_each(wake);
                    alarms = self.alarms.lock();
                }
                at => {
                    alarms.looks_at = at;
                    match at {
                        Some(at) => _ = self.changed.wait_until(&mut alarms, at),
                        None => self.changed.wait(&mut alarms),
                    }
                    alarms.looks_at = None;
                }
            }
        }
    }

    /// Ends the thread, and calls all wakers.
    pub(crate) fn stop(&self) {
        let wakers = {
            let mut alarms = self.alarms.lock();
            alarms.runs = false;
            std::mem::take(&mut alarms.wakers)
        };
        self.changed.notify_all();
        wakers.into_values().for_each(wake);
    }
}

/// The alarm of one task.
pub(crate) struct Alarm {
    timer: Arc<Timer>,
    set: Option<(Instant, u64)>,
}

impl Alarm {
    pub(crate) fn new(timer: &Arc<Timer>) -> Alarm {
        Alarm { timer: timer.clone(), set: None }
    }

    /// Returns true if `at` has come. If it has not, the waker of `cx` is called then, in place of
    /// the one that an earlier call has named.
    pub(crate) fn poll(&mut self, at: Instant, cx: &mut Context<'_>) -> bool {
        if at <= Instant::now() {
            return true;
        }
        self.clear();
        let mut alarms = self.timer.alarms.lock();
        if !alarms.runs {
            drop(alarms);
            cx.waker().wake_by_ref(); // TIMER-3
            return false;
        }
        alarms.set += 1;
        let key = (at, alarms.set);
        alarms.wakers.insert(key, cx.waker().clone());
        let is_late = alarms.looks_at.is_none_or(|looks_at| at < looks_at);
        drop(alarms);
        self.set = Some(key);
        if is_late {
            self.timer.changed.notify_all();
        }
        false
    }

    fn clear(&mut self) {
        if let Some(key) = self.set.take() {
            let waker = self.timer.alarms.lock().wakers.remove(&key);
            drop(waker); // Not under the mutex: it may keep a task alive, whose drop runs code.
        }
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(all(test, loom))]
mod models;

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, task::Poll, time::Duration};

    use clearway_sync::{block_on, thread};

    use super::*;

    async fn sleep(timer: &Arc<Timer>, time: Duration) {
        let (mut alarm, at) = (Alarm::new(timer), Instant::now() + time);
        poll_fn(|cx| if alarm.poll(at, cx) { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    #[test]
    fn alarms_ring_in_the_order_of_their_times() {
        let timer = Arc::new(Timer::default());
        timer.start();
        let rung = Mutex::new(Vec::new());
        thread::scope(|scope| {
            let runs = scope.spawn(|| timer.run());
            let sleepers: Vec<_> = [90, 30, 60, 30]
                .map(|ms| {
                    let (timer, rung) = (&timer, &rung);
                    scope.spawn(move || {
                        block_on(sleep(timer, Duration::from_millis(ms)));
                        rung.lock().push(ms);
                    })
                })
                .into_iter()
                .collect();
            sleepers.into_iter().for_each(|sleeper| sleeper.join().unwrap());
            timer.stop();
            runs.join().unwrap();
        });
        assert_eq!(*rung.lock(), [30, 30, 60, 90]);
        assert!(timer.alarms.lock().wakers.is_empty());
    }

    /// The thread sleeps until a later alarm. If it were not woken, this would take an hour.
    #[test]
    fn earlier_alarm_wakes_the_thread_that_sleeps_for_a_later_one() {
        let timer = Arc::new(Timer::default());
        timer.start();
        thread::scope(|scope| {
            scope.spawn(|| timer.run());
            let mut later = Alarm::new(&timer);
            let hour = Instant::now() + Duration::from_secs(3600);
            assert!(!later.poll(hour, &mut Context::from_waker(Waker::noop())));
            while timer.alarms.lock().looks_at.is_none() {
                thread::yield_now();
            }
            block_on(sleep(&timer, Duration::from_millis(20)));
            timer.stop();
        });
    }

    #[test]
    fn dropped_alarm_is_forgotten_and_a_stopped_timer_wakes() {
        let timer = Arc::new(Timer::default());
        timer.start();
        let mut cx = Context::from_waker(Waker::noop());
        let hour = Instant::now() + Duration::from_secs(3600);
        let mut alarm = Alarm::new(&timer);
        assert!(!alarm.poll(hour, &mut cx) && !alarm.poll(hour, &mut cx));
        assert_eq!(timer.alarms.lock().wakers.len(), 1, "polled twice, set once");
        drop(alarm);
        assert!(timer.alarms.lock().wakers.is_empty());
        timer.stop();
        let before = Instant::now();
        block_on(sleep(&timer, Duration::from_millis(20)));
        assert!(before.elapsed() >= Duration::from_millis(20), "TIMER-3");
    }
}
