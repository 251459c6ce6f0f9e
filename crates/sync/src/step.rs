//! Steps of operations, which must not block.
//!
//! An operation of the tree is a state machine whose steps return what they lack instead of waiting
//! for it. In debug builds the thread that runs a step knows it, and whatever would block panics: a
//! wait for a condition, a sleep, parking, and reading, writing or syncing a file. Waits for
//! mutexes and for page latches (which park by address) are allowed, and not checked. The holder of
//! a page latch, if it runs a step too, waits at most for other page latches, in latch order, for
//! mutexes, and for room in the log's ring. What else is allowed is marked by [`Except`]: the wait
//! for room in the log's ring, the reads of a queue that reads at once and, where no background
//! thread runs, the work that such a thread would do for a task. And what an I/O queue does where
//! the system fails it: it reads in the submitting thread without a ring and without threads, and
//! pauses while the kernel has no memory.
//!
//! Release builds, and the models of loom and shuttle, whose threads share one thread of the
//! system, check nothing.

#[cfg(all(debug_assertions, not(any(loom, shuttle))))]
mod checked {
    use std::cell::Cell;

    thread_local! {
        static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
    }

    /// True until it is dropped: the calling thread is inside a step, or is not.
    #[derive(Debug)]
    pub(super) struct Setting {
        before: bool,
    }

    impl Setting {
        pub(super) fn begin(is_inside: bool) -> Setting {
            Setting { before: IS_INSIDE.replace(is_inside) }
        }
    }

    impl Drop for Setting {
        fn drop(&mut self) {
            IS_INSIDE.set(self.before);
        }
    }

    #[track_caller]
    pub(super) fn assert_may_block(what: &str) {
        // A panic while a panic unwinds would end the process.
        assert!(!IS_INSIDE.get() || std::thread::panicking(), "{what} inside a step");
    }
}

#[cfg(not(all(debug_assertions, not(any(loom, shuttle)))))]
mod checked {
    #[derive(Debug)]
    pub(super) struct Setting;

    impl Setting {
        #[inline]
        pub(super) fn begin(_: bool) -> Setting {
            Setting
        }
    }

    #[inline]
    pub(super) fn assert_may_block(_: &str) {}
}

use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
};

use checked::Setting;

/// Until it is dropped, the calling thread runs a step.
#[derive(Debug)]
pub struct Inside(#[allow(dead_code)] Setting); // kept for its drop

impl Inside {
    /// Begins a step.
    #[inline]
    #[must_use]
    pub fn begin() -> Inside {
        Inside(Setting::begin(true))
    }
}

/// Until it is dropped, the calling thread may block although it runs a step: for the named
/// exceptions.
#[derive(Debug)]
pub struct Except(#[allow(dead_code)] Setting); // kept for its drop

impl Except {
    /// Begins an exception.
    #[inline]
    #[must_use]
    pub fn begin() -> Except {
        Except(Setting::begin(false))
    }
}

/// Runs a future whose polls must not block.
pub async fn never_blocking<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|cx| -> Poll<F::Output> {
        let _inside = Inside::begin();
        future.as_mut().poll(cx)
    })
    .await
}

/// Checks that the calling thread may block.
///
/// # Panics
/// In debug builds, inside a step.
#[inline]
#[track_caller]
pub fn assert_may_block(what: &str) {
    checked::assert_may_block(what);
}

#[cfg(all(test, debug_assertions, not(any(loom, shuttle))))]
mod tests {
    use std::{panic::catch_unwind, time::Duration};

    use super::*;
    use crate::{Condvar, Mutex, block_on, thread};

    fn panics(blocks: impl FnOnce() + std::panic::UnwindSafe) -> bool {
        catch_unwind(|| {
            let _inside = Inside::begin();
            blocks();
        })
        .is_err()
    }

    #[test]
    fn what_blocks_panics_inside_a_step() {
        assert!(panics(|| thread::sleep(Duration::ZERO)));
        assert!(panics(|| thread::park_timeout(Duration::ZERO)));
        assert!(panics(|| block_on(std::future::pending())));
        assert!(panics(|| Condvar::new().wait(&mut Mutex::new(()).lock())));
        assert!(panics(|| {
            Condvar::new().wait_for(&mut Mutex::new(()).lock(), Duration::ZERO);
        }));
        assert!(!panics(|| drop(Mutex::new(()).lock())));
        thread::sleep(Duration::ZERO);
    }

    #[test]
    fn exceptions_and_steps_nest() {
        assert!(!panics(|| {
            let _exception = Except::begin();
            thread::sleep(Duration::ZERO);
        }));
        assert!(panics(|| {
            drop(Except::begin());
            thread::sleep(Duration::ZERO);
        }));
    }
}
