//! A function that a thread calls instead of blocking.
//!
//! In a simulation one thread does everything. If it blocks, no other thread brings about what it
//! waits for: it has to do that itself, at this point. So it sets a function that does a part of
//! the work that other threads or the system would do meanwhile, such as the completion of a read.
//!
//! A wait calls the function and returns, as waits do that end for no reason; its caller checks its
//! condition again. The function is called under no mutex of the caller's wait. It must not be
//! called by the steps of operations, which do not block ([`step`](crate::step)), and sleeps do not
//! call it, since they end by themselves.
//!
//! Release builds, and the models of loom and shuttle, do not call it.

#[cfg(all(debug_assertions, not(any(loom, shuttle))))]
mod called {
    use std::cell::RefCell;

    thread_local! {
        static FUNCTION: RefCell<Option<super::BeforeBlocking>> = const { RefCell::new(None) };
    }

    pub(super) fn set(function: Option<super::BeforeBlocking>) {
        let before = FUNCTION.replace(function);
        drop(before); // not while it is borrowed: its drop is foreign code
    }

    pub(crate) fn is_set() -> bool {
        FUNCTION.with_borrow(Option::is_some)
    }

    pub(crate) fn call() -> bool {
        let Some(mut function) = FUNCTION.take() else { return false };
        let has_worked = function();
        FUNCTION.with_borrow_mut(|set| _ = set.get_or_insert(function));
        has_worked
    }
}

#[cfg(not(all(debug_assertions, not(any(loom, shuttle)))))]
#[allow(dead_code, reason = "a model blocks in its own way")]
mod called {
    pub(super) fn set(_: Option<super::BeforeBlocking>) {}

    #[inline]
    pub(crate) fn is_set() -> bool {
        false
    }

    #[inline]
    pub(crate) fn call() -> bool {
        false
    }
}

/// Returns true if it has done something that may have ended the wait, and false if the thread is
/// to block.
pub type BeforeBlocking = Box<dyn FnMut() -> bool>;

#[cfg(not(any(loom, shuttle)))]
pub(crate) use called::{call, is_set};

/// Sets the function that the calling thread calls instead of blocking, or removes it.
pub fn set_before_blocking(function: Option<BeforeBlocking>) {
    called::set(function);
}

#[cfg(all(test, debug_assertions, not(any(loom, shuttle))))]
mod tests {
    use std::{
        cell::Cell,
        rc::Rc,
        time::{Duration, Instant},
    };

    use super::*;
    use crate::{Condvar, Mutex, thread};

    #[test]
    fn thread_calls_the_function_instead_of_blocking() {
        let calls = Rc::new(Cell::new(0));
        let mutex = Rc::new(Mutex::new(0));
        let (counted, shared) = (calls.clone(), mutex.clone());
        set_before_blocking(Some(Box::new(move || {
            *shared.lock() += 1;
            counted.set(counted.get() + 1);
            true
        })));
        thread::park();
        thread::park_timeout(Duration::MAX);
        let (condvar, mut value) = (Condvar::new(), mutex.lock());
        condvar.wait(&mut value);
        assert!(!condvar.wait_for(&mut value, Duration::from_secs(100)).timed_out());
        let until = Instant::now() + Duration::from_secs(100);
        assert!(!condvar.wait_until(&mut value, until).timed_out());
        assert_eq!((*value, calls.get()), (5, 5));
        drop(value);
        set_before_blocking(None);
        thread::park_timeout(Duration::ZERO);
        assert_eq!(calls.get(), 5);
    }

    #[test]
    fn thread_blocks_if_the_function_has_nothing_to_do() {
        set_before_blocking(Some(Box::new(|| false)));
        let mutex = Mutex::new(());
        assert!(Condvar::new().wait_for(&mut mutex.lock(), Duration::ZERO).timed_out());
        set_before_blocking(None);
    }
}
