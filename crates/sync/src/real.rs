//! The real implementation, on which the engine runs.

mod blocking;

use std::cell::Cell;

use crate::plain::{AtomicUsize, Ordering};

/// Atomics. Each use weaker than `SeqCst` names its partner in a comment.
pub mod atomic {
    pub use std::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering,
        fence,
    };
}

/// Threads.
pub mod thread {
    use std::io;
    pub use std::thread::{
        Builder, JoinHandle, Scope, ScopedJoinHandle, Thread, ThreadId, available_parallelism,
        current, scope, spawn, yield_now,
    };

    pub use super::blocking::{park, park_timeout, sleep};

    /// Starts a scoped thread. ([`Scope::spawn`] panics if the system refuses the thread.)
    ///
    /// # Errors
    /// The system's error.
    pub fn spawn_scoped<'scope, 'env, T: Send + 'scope>(
        builder: Builder,
        scope: &'scope Scope<'scope, 'env>,
        body: impl FnOnce() -> T + Send + 'scope,
    ) -> io::Result<ScopedJoinHandle<'scope, T>> {
        builder.spawn_scoped(scope, body)
    }
}

/// Parking by address, with which latches sleep.
pub mod parking {
    pub use parking_lot_core::{
        DEFAULT_PARK_TOKEN, DEFAULT_UNPARK_TOKEN, FilterOp, ParkResult, ParkToken, UnparkToken,
        unpark_all, unpark_filter, unpark_one,
    };

    pub use super::blocking::park_at as park;
}

pub use blocking::CheckedCondvar as Condvar;
pub use crossbeam_utils::Backoff;
pub use parking_lot::{Mutex, MutexGuard, RwLock};
pub use std::hint::spin_loop;

/// A number of the calling thread: threads count from 0 in the order in which they first ask.
#[inline]
pub fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static MINE: Cell<usize> = const { Cell::new(usize::MAX) };
    }
    MINE.with(|mine| {
        if mine.get() == usize::MAX {
            // Relaxed: only that the numbers differ matters.
            mine.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        mine.get()
    })
}
