//! A latch for a few dozen instructions: spins briefly, then yields the processor.
//!
//! Invariants:
//! - SPIN-LATCH-1. At most one guard exists for a latch at any time.
//! - SPIN-LATCH-2. What a guard's holder wrote is seen by the next holder (`Release` in `drop`
//!   pairs with `Acquire` in `lock` and `try_lock`).
//!
//! A thread that holds a guard must not block, do I/O or take a lock. It may allocate memory if the
//! list that it changes must grow: the allocator waits for no latch.

#[cfg(all(test, loom))]
mod models;

use std::{
    cell::UnsafeCell,
    marker::PhantomData,
    ops::{Deref, DerefMut},
};

use crate::{
    Backoff, Trace,
    atomic::{AtomicBool, Ordering},
};

/// A value behind a spinning latch.
#[derive(Default)]
pub struct SpinLatch<T> {
    held: AtomicBool,
    trace: Trace,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only through a guard, and SPIN-LATCH-1 makes guards exclusive.
unsafe impl<T: Send> Sync for SpinLatch<T> {}

impl<T> SpinLatch<T> {
    /// A free latch around `value`.
    #[cfg(not(loom))]
    pub const fn new(value: T) -> SpinLatch<T> {
        let (held, trace) = (AtomicBool::new(false), Trace::new());
        SpinLatch { held, trace, value: UnsafeCell::new(value) }
    }

    /// A free latch around `value`.
    #[cfg(loom)]
    pub fn new(value: T) -> SpinLatch<T> {
        let (held, trace) = (AtomicBool::new(false), Trace::new());
        SpinLatch { held, trace, value: UnsafeCell::new(value) }
    }

    /// Waits until the latch is free and takes it.
    #[inline]
    pub fn lock(&self) -> SpinLatchGuard<'_, T> {
        if let Some(guard) = self.try_lock() {
            return guard;
        }
        self.lock_contended()
    }

    #[cold]
    fn lock_contended(&self) -> SpinLatchGuard<'_, T> {
        let backoff = Backoff::new();
        loop {
            while self.held.load(Ordering::Relaxed) {
                backoff.snooze();
            }
            if let Some(guard) = self.try_lock() {
                return guard;
            }
        }
    }

    /// Takes the latch if it is free now.
    #[inline]
    pub fn try_lock(&self) -> Option<SpinLatchGuard<'_, T>> {
        // Acquire pairs with the Release in `SpinLatchGuard::drop` (SPIN-LATCH-2).
        let taken = self.held.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
        // Lazily: a guard that is created and dropped without the latch would release another
        // thread's (SPIN-LATCH-1).
        taken.is_ok().then(|| {
            self.trace.write();
            SpinLatchGuard { latch: self, value: PhantomData }
        })
    }

    /// Returns the value, for the exclusive owner of the latch.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

/// Proof that the latch is held; dropping it releases the latch.
///
/// It lends the value, so it may be shared among threads only if the value may:
///
/// ```compile_fail
/// use std::cell::Cell;
///
/// fn share<T: Sync>() {}
/// share::<clearway_sync::SpinLatchGuard<'static, Cell<u32>>>();
/// ```
pub struct SpinLatchGuard<'a, T> {
    latch: &'a SpinLatch<T>,
    /// The guard stands for an exclusive borrow of the value: `Send` and `Sync` where that is.
    /// (By the latch alone it would be `Sync` for every `T: Send`.)
    value: PhantomData<&'a mut T>,
}

impl<T> Deref for SpinLatchGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: SPIN-LATCH-1, this guard is the only one.
        unsafe { &*self.latch.value.get() }
    }
}

impl<T> DerefMut for SpinLatchGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: SPIN-LATCH-1, this guard is the only one, and it is borrowed mutably.
        unsafe { &mut *self.latch.value.get() }
    }
}

impl<T> Drop for SpinLatchGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.latch.trace.write();
        // Release pairs with the Acquire in `try_lock` (SPIN-LATCH-2).
        self.latch.held.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_exclude_each_other() {
        let latch = SpinLatch::new(0u64);
        crate::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|_| *latch.lock() += 1));
            }
        });
        assert_eq!(*latch.lock(), 40_000);
    }

    #[test]
    fn held_latch_refuses_a_try() {
        let latch = SpinLatch::new(());
        let guard = latch.lock();
        assert!(latch.try_lock().is_none());
        assert!(latch.try_lock().is_none(), "a refused try must not free the latch");
        drop(guard);
        assert!(latch.try_lock().is_some());
    }
}
