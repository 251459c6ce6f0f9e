//! Models of alarms that are set while the timer's thread looks, sleeps or ends.
//!
//! Alarms are hours away, and a model lets the hours pass. A sleep with a limit does not end by
//! itself in a model, so [`pass`] wakes the thread if its limit has come.
//!
//! Deliberate errors, and the model that was seen to fail for each:
//!
//! - `alarm_is_called_at_its_time`: an alarm does not wake a thread that sleeps without a limit;
//!   the thread sleeps without a limit though there is one.
//! - `earlier_alarm_is_called_beside_a_later_one`: an alarm wakes only a thread that sleeps without
//!   a limit.
//! - `alarm_set_while_the_thread_ends_is_called`: `stop` does not notify; `stop` leaves the wakers
//!   in the map; an alarm that comes after `stop` is put into the map.

use std::{future::poll_fn, task::Poll, time::Duration};

use clearway_sync::{block_on, check, thread};

use super::*;

const HOUR: Duration = Duration::from_secs(3600);

/// A timer whose thread runs.
fn running() -> (Arc<Timer>, thread::JoinHandle<()>) {
    let timer = Arc::new(Timer::default());
    timer.start();
    let runs = timer.clone();
    (timer, thread::spawn(move || runs.run()))
}

/// Lets time pass.
fn pass(timer: &Timer, time: Duration) {
    let mut alarms = timer.alarms.lock();
    alarms.passed += time;
    let now = alarms.now();
    let ends_sleep = alarms.looks_at.is_some_and(|at| at <= now);
    drop(alarms);
    if ends_sleep {
        timer.changed.notify_all();
    }
}

/// Waits until an alarm's waker was called. One that is never called is a deadlock, which loom
/// reports.
fn wait(timer: &Arc<Timer>, time: Duration) {
    let (mut alarm, mut is_set) = (Alarm::new(timer), false);
    block_on(poll_fn(|cx| {
        if is_set {
            return Poll::Ready(());
        }
        is_set = true;
        assert!(!alarm.poll(Instant::now() + time, cx));
        Poll::Pending
    }));
}

#[test]
fn alarm_is_called_at_its_time() {
    check(3, || {
        let (timer, runs) = running();
        let passes = {
            let timer = timer.clone();
            thread::spawn(move || pass(&timer, 2 * HOUR))
        };
        wait(&timer, HOUR);
        assert_eq!(timer.alarms.lock().passed, 2 * HOUR, "not before");
        passes.join().unwrap();
        timer.stop();
        runs.join().unwrap();
    });
}

/// The thread sleeps until the later alarm, or is about to.
#[test]
fn earlier_alarm_is_called_beside_a_later_one() {
    check(2, || {
        let (timer, runs) = running();
        let mut later = Alarm::new(&timer);
        assert!(!later.poll(Instant::now() + 3 * HOUR, &mut Context::from_waker(Waker::noop())));
        let passes = {
            let timer = timer.clone();
            thread::spawn(move || pass(&timer, 2 * HOUR))
        };
        wait(&timer, HOUR);
        passes.join().unwrap();
        assert_eq!(timer.alarms.lock().wakers.len(), 1, "the later one waits");
        timer.stop();
        runs.join().unwrap();
    });
}

/// TIMER-1 if the alarm is there before the thread ends, else TIMER-3.
#[test]
fn alarm_set_while_the_thread_ends_is_called() {
    check(3, || {
        let (timer, runs) = running();
        let waits = {
            let timer = timer.clone();
            thread::spawn(move || wait(&timer, HOUR))
        };
        timer.stop();
        waits.join().unwrap();
        runs.join().unwrap();
        assert!(timer.alarms.lock().wakers.is_empty());
    });
}
