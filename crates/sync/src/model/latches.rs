//! Mutex, condition variable and reader-writer latch with parking_lot's signatures.

use std::{
    ops::{Deref, DerefMut},
    sync::PoisonError,
    time::{Duration, Instant},
};

use super::checker::sync as inner;

/// A mutex. A panic does not poison it.
#[derive(Default, Debug)]
pub struct Mutex<T>(inner::Mutex<T>);

/// Proof that a mutex is held.
#[derive(Debug)]
pub struct MutexGuard<'a, T>(Option<inner::MutexGuard<'a, T>>);

impl<T> Mutex<T> {
    /// A free mutex around `value`.
    pub fn new(value: T) -> Mutex<T> {
        Mutex(inner::Mutex::new(value))
    }

    /// Waits until it is free and takes it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard(Some(self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Takes it if it is free now.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(MutexGuard(Some(guard))),
            Err(std::sync::TryLockError::Poisoned(error)) => {
                Some(MutexGuard(Some(error.into_inner())))
            }
            Err(std::sync::TryLockError::WouldBlock) => None,
        }
    }

    /// Returns the value, for the exclusive owner of the mutex.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("a guard that waits is not looked through")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect("a guard that waits is not looked through")
    }
}

/// A condition variable. Time limits never end a wait, see `model`.
#[derive(Default, Debug)]
pub struct Condvar(inner::Condvar);

/// Reports that a wait did not end by its limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitTimeoutResult;

impl WaitTimeoutResult {
    /// Never.
    pub fn timed_out(self) -> bool {
        false
    }
}

impl Condvar {
    /// Creates a condition variable without waiters.
    pub fn new() -> Condvar {
        Condvar(inner::Condvar::new())
    }

    /// Releases the mutex, sleeps until notified, and takes the mutex again.
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        let held = guard.0.take().expect("a guard waits once at a time");
        guard.0 = Some(self.0.wait(held).unwrap_or_else(PoisonError::into_inner));
    }

    /// As [`Condvar::wait`].
    pub fn wait_until<T>(&self, guard: &mut MutexGuard<'_, T>, _: Instant) -> WaitTimeoutResult {
        self.wait(guard);
        WaitTimeoutResult
    }

    /// As [`Condvar::wait`].
    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, _: Duration) -> WaitTimeoutResult {
        self.wait(guard);
        WaitTimeoutResult
    }

    /// Wakes one waiter.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all waiters.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// Many readers, or one writer.
#[derive(Default, Debug)]
pub struct RwLock<T>(inner::RwLock<T>);

impl<T> RwLock<T> {
    /// A free one around `value`.
    pub fn new(value: T) -> RwLock<T> {
        RwLock(inner::RwLock::new(value))
    }

    /// Joins the readers.
    pub fn read(&self) -> inner::RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Becomes the writer.
    pub fn write(&self) -> inner::RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the value, for its exclusive owner.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
