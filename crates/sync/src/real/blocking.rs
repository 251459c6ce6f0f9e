//! The real functions that block a thread. They check that the thread runs no step
//! ([`step`](crate::step)).

use std::time::{Duration, Instant};

use parking_lot::{MutexGuard, WaitTimeoutResult};

use crate::step::assert_may_block;

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
        self.0.wait(guard);
    }

    /// Waits as [`wait`](CheckedCondvar::wait) does, but at most for `time`.
    #[track_caller]
    pub fn wait_for<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        time: Duration,
    ) -> WaitTimeoutResult {
        assert_may_block("a wait for a condition");
        self.0.wait_for(guard, time)
    }

    /// Waits as [`wait`](CheckedCondvar::wait) does, but at most until `time`.
    #[track_caller]
    pub fn wait_until<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        time: Instant,
    ) -> WaitTimeoutResult {
        assert_may_block("a wait for a condition");
        self.0.wait_until(guard, time)
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
    std::thread::park();
}

/// As [`std::thread::park_timeout`].
#[track_caller]
pub fn park_timeout(time: Duration) {
    assert_may_block("parking");
    std::thread::park_timeout(time);
}
