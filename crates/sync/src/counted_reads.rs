//! Reads of pages by transactions that hold locks, which must be counted.
//!
//! A transaction that waits for a page keeps all waiting that want its locks. So each such wait is
//! counted, and after a fetch stage it counts as a mis-prefetch. In debug builds the thread that
//! runs an operation of a transaction knows it, and a page that it reads, or waits for, outside of
//! a counted wait is a panic. Tasks are not checked: their waits do not block a thread.
//!
//! Release builds, and the models of loom and shuttle, whose threads share one thread of the
//! system, check nothing.

#[cfg(all(debug_assertions, not(any(loom, shuttle))))]
mod checked {
    use std::cell::Cell;

    thread_local! {
        static OPERATIONS: Cell<u32> = const { Cell::new(0) };
        static COUNTED: Cell<u32> = const { Cell::new(0) };
    }

    /// True until it is dropped: the calling thread runs an operation.
    #[derive(Debug)]
    pub(super) struct Setting;

    impl Setting {
        pub(super) fn begin() -> Setting {
            OPERATIONS.set(OPERATIONS.get() + 1);
            Setting
        }
    }

    impl Drop for Setting {
        fn drop(&mut self) {
            OPERATIONS.set(OPERATIONS.get() - 1);
        }
    }

    pub(super) fn begin_counted() {
        COUNTED.set(COUNTED.get() + 1);
    }

    pub(super) fn end_counted() {
        COUNTED.set(COUNTED.get() - 1);
    }

    #[track_caller]
    pub(super) fn assert_counted(what: &str) {
        let is_counted = OPERATIONS.get() == 0 || COUNTED.get() > 0;
        // A panic while a panic unwinds would end the process.
        assert!(is_counted || std::thread::panicking(), "{what} under locks, and not counted");
    }
}

#[cfg(not(all(debug_assertions, not(any(loom, shuttle)))))]
mod checked {
    #[derive(Debug)]
    pub(super) struct Setting;

    impl Setting {
        #[inline]
        pub(super) fn begin() -> Setting {
            Setting
        }
    }

    #[inline]
    pub(super) fn begin_counted() {}

    #[inline]
    pub(super) fn end_counted() {}

    #[inline]
    pub(super) fn assert_counted(_: &str) {}
}

use checked::Setting;

/// Until it is dropped, the calling thread runs an operation of a transaction that holds locks.
#[derive(Debug)]
pub struct UnderLocks(#[allow(dead_code)] Setting); // kept for its drop

impl UnderLocks {
    /// Begins an operation.
    #[inline]
    #[must_use]
    pub fn begin() -> UnderLocks {
        UnderLocks(Setting::begin())
    }
}

/// Notes that the calling thread begins to wait for a page, and that this wait is counted.
#[inline]
pub fn begin_counted() {
    checked::begin_counted();
}

/// Notes that this wait has ended.
#[inline]
pub fn end_counted() {
    checked::end_counted();
}

/// Checks that the calling thread may read a page, or wait for one.
///
/// # Panics
/// In debug builds, in an operation of a transaction, outside of a counted wait.
#[inline]
#[track_caller]
pub fn assert_counted(what: &str) {
    checked::assert_counted(what);
}

#[cfg(all(test, debug_assertions, not(any(loom, shuttle))))]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    fn panics() -> bool {
        catch_unwind(|| assert_counted("a read")).is_err()
    }

    #[test]
    fn only_counted_waits_may_read_within_an_operation() {
        assert!(!panics());
        let operation = UnderLocks::begin();
        assert!(panics());
        begin_counted();
        assert!(!panics());
        end_counted();
        drop(UnderLocks::begin());
        assert!(panics(), "the outer operation goes on");
        drop(operation);
        assert!(!panics());
    }
}
