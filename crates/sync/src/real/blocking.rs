//! The real functions that block a thread. They check that the thread runs no step
//! ([`step`](crate::step)), and may call a function instead
//! ([`before_blocking`](crate::before_blocking)).

use std::time::{Duration, Instant};

use parking_lot::MutexGuard;
use parking_lot_core::{ParkResult, ParkToken};

use crate::{before_blocking, step::assert_may_block};

/// The end of a wait that has a time limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimedWaitEnd(bool);

impl TimedWaitEnd {
    /// Returns true if the wait has ended because of its limit.
    pub fn timed_out(self) -> bool {
        self.0
    }
}

/// Releases the mutex and calls the function, if one is set. Returns true if that may have ended
/// the wait, so that the thread must not block.
fn is_served<T: ?Sized>(guard: &mut MutexGuard<'_, T>) -> bool {
    before_blocking::is_set() && MutexGuard::unlocked(guard, before_blocking::call)
}

/// A condition variable.
#[derive(Debug, Default)]
pub struct CheckedCondvar(parking_lot::Condvar);

impl CheckedCondvar {
    /// Makes one that no thread waits for.
    pub const fn new() -> CheckedCondvar {
        CheckedCondvar(parking_lot::Condvar::new())
    }

    /// Waits until another thread notifies this one.
    #[track_caller]
    pub fn wait<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>) {
        assert_may_block("a wait for a condition");
        if !is_served(guard) {
            self.0.wait(guard);
        }
    }

    /// Waits as [`wait`](CheckedCondvar::wait) does, but at most for `time`.
    #[track_caller]
    pub fn wait_for<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        time: Duration,
    ) -> TimedWaitEnd {
        assert_may_block("a wait for a condition");
        TimedWaitEnd(!is_served(guard) && self.0.wait_for(guard, time).timed_out())
    }

    /// Waits as [`wait`](CheckedCondvar::wait) does, but at most until `time`.
    #[track_caller]
    pub fn wait_until<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        time: Instant,
    ) -> TimedWaitEnd {
        assert_may_block("a wait for a condition");
        TimedWaitEnd(!is_served(guard) && self.0.wait_until(guard, time).timed_out())
    }

    /// Wakes one waiting thread. Returns true if there was one.
    pub fn notify_one(&self) -> bool {
        self.0.notify_one()
    }

    /// Wakes all waiting threads. Returns their number.
    pub fn notify_all(&self) -> usize {
        self.0.notify_all()
    }
}

/// As [`std::thread::sleep`].
#[track_caller]
pub fn sleep(time: Duration) {
    assert_may_block("a sleep");
    std::thread::sleep(time);
}

/// As [`std::thread::park`].
#[track_caller]
pub fn park() {
    assert_may_block("parking");
    if !before_blocking::call() {
        std::thread::park();
    }
}

/// As [`std::thread::park_timeout`].
#[track_caller]
pub fn park_timeout(time: Duration) {
    assert_may_block("parking");
    if !before_blocking::call() {
        std::thread::park_timeout(time);
    }
}

/// As [`parking_lot_core::park`].
///
/// # Safety
/// As there.
#[inline]
pub unsafe fn park_at(
    key: usize,
    validate: impl FnOnce() -> bool,
    before_sleep: impl FnOnce(),
    timed_out: impl FnOnce(usize, bool),
    token: ParkToken,
    timeout: Option<Instant>,
) -> ParkResult {
    // If the call has ended the wait, `validate` finds that, and the thread does not sleep.
    before_blocking::call();
    // SAFETY: the caller's promise.
    unsafe { parking_lot_core::park(key, validate, before_sleep, timed_out, token, timeout) }
}
