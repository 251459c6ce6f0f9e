//! A place for one boxed value, which threads put in and take out in one atomic step each.
//!
//! Invariant: EXCHANGE-1. The word is null, or a pointer that [`Box::into_raw`] returned and that
//! has not been taken since. It is replaced by swaps only, so that one thread takes each pointer.

#[cfg(all(test, loom))]
mod models;

use std::{fmt, marker::PhantomData, ptr};

use crate::{
    Mutex,
    atomic::{AtomicPtr, Ordering},
};

/// See the module.
pub struct Exchange<T> {
    pointer: AtomicPtr<T>,
    /// Threads get values from each other, but never two of them the same.
    _owns: PhantomData<Mutex<Option<Box<T>>>>,
}

impl<T> Exchange<T> {
    /// Puts a value in. Drops the value that was there, if there was one.
    #[inline]
    pub fn put(&self, value: Box<T>) {
        drop(self.swap(Box::into_raw(value)));
    }

    /// Takes the value out, if there is one.
    #[inline]
    pub fn take(&self) -> Option<Box<T>> {
        self.swap(ptr::null_mut())
    }

    #[inline]
    fn swap(&self, next: *mut T) -> Option<Box<T>> {
        // Release pairs with the Acquire of the swap that takes `next`, as Acquire pairs with the
        // Release of the one that put `before` in.
        let before = self.pointer.swap(next, Ordering::AcqRel);
        // SAFETY: the pointer is a box's, and this thread alone has taken it (EXCHANGE-1).
        (!before.is_null()).then(|| unsafe { Box::from_raw(before) })
    }
}

impl<T> Default for Exchange<T> {
    fn default() -> Exchange<T> {
        Exchange { pointer: AtomicPtr::new(ptr::null_mut()), _owns: PhantomData }
    }
}

impl<T> Drop for Exchange<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

impl<T> fmt::Debug for Exchange<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn values_are_dropped_once() {
        let value = Arc::new(7);
        let exchange = Exchange::default();
        assert_eq!(exchange.take(), None);
        exchange.put(Box::new(value.clone()));
        exchange.put(Box::new(value.clone()));
        assert_eq!(Arc::strong_count(&value), 2, "the first one was dropped");
        assert_eq!(exchange.take().as_deref(), Some(&value));
        exchange.put(Box::new(value.clone()));
        drop(exchange);
        assert_eq!(Arc::strong_count(&value), 1);
    }
}
