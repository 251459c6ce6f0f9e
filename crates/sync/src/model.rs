//! The implementation for models: the same names over loom or shuttle.
//!
//! Differences from the real implementation, and their consequences for a model:
//!
//! - Time does not pass. A wait with a time limit ends only if another thread ends it, and a sleep
//!   is a yield. So no progress in a model may depend on a clock; a limit of zero still expires.
//! - shuttle runs sequentially consistent executions only; loom knows the weak orderings, but
//!   treats a `SeqCst` access as `AcqRel`.
//! - loom has no scoped threads: a scope runs them one after the other. Models spawn.

mod latches;
mod lot;
#[cfg(loom)]
mod parker;
#[cfg(shuttle)]
pub mod schedules;

#[cfg(loom)]
use loom as checker;
#[cfg(shuttle)]
use shuttle as checker;

pub use latches::{Condvar, Mutex, MutexGuard, RwLock};

/// Atomics of the model.
pub mod atomic {
    pub use super::checker::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering,
        fence,
    };
}

/// Parking by address, as parking_lot_core does it.
pub mod parking {
    pub use super::lot::{park, unpark_all, unpark_filter, unpark_one};
    pub use parking_lot_core::{
        DEFAULT_PARK_TOKEN, DEFAULT_UNPARK_TOKEN, FilterOp, ParkResult, ParkToken, UnparkToken,
    };
}

/// Threads of the model.
pub mod thread {
    use std::{io, num::NonZero, time::Duration};

    pub use super::checker::thread::{Builder, JoinHandle, ThreadId, spawn, yield_now};
    #[cfg(shuttle)]
    pub use super::checker::thread::{Scope, ScopedJoinHandle, Thread, current, park, scope};
    #[cfg(loom)]
    pub use super::{
        inline::{Handle as ScopedJoinHandle, Scope, scope},
        parker::{Thread, current, park},
    };

    /// Time does not pass: yields to other threads.
    pub fn sleep(_: Duration) {
        yield_now();
    }

    /// Time does not pass: parks without a limit.
    pub fn park_timeout(_: Duration) {
        park();
    }

    /// Starts a scoped thread; a model always has one.
    #[cfg(shuttle)]
    pub fn spawn_scoped<'scope, 'env, T: Send + 'static>(
        _: Builder,
        scope: &'scope Scope<'scope, 'env>,
        body: impl FnOnce() -> T + Send + 'scope,
    ) -> io::Result<ScopedJoinHandle<'scope, T>> {
        Ok(scope.spawn(body))
    }

    /// Starts a scoped thread; a model always has one.
    #[cfg(loom)]
    pub fn spawn_scoped<T>(
        _: Builder,
        scope: &Scope<'_>,
        body: impl FnOnce() -> T,
    ) -> io::Result<ScopedJoinHandle<T>> {
        Ok(scope.spawn(body))
    }

    /// Returns two, so that code that requires a second processor has one.
    pub fn available_parallelism() -> io::Result<NonZero<usize>> {
        Ok(NonZero::<usize>::MIN.saturating_add(1))
    }
}

/// Scoped threads for loom, which has none: each runs to its end where it is spawned.
#[cfg(loom)]
mod inline {
    use std::marker::PhantomData;

    /// A scope; see the module.
    pub struct Scope<'scope>(PhantomData<&'scope ()>);

    /// The result of a scoped thread.
    pub struct Handle<T>(T);

    /// Runs `body` with a scope.
    pub fn scope<T>(body: impl FnOnce(&Scope<'_>) -> T) -> T {
        body(&Scope(PhantomData))
    }

    impl Scope<'_> {
        /// Runs `body`.
        pub fn spawn<T>(&self, body: impl FnOnce() -> T) -> Handle<T> {
            Handle(body())
        }
    }

    impl<T> Handle<T> {
        /// Returns the thread's result.
        pub fn join(self) -> std::thread::Result<T> {
            Ok(self.0)
        }

        /// Always true.
        pub fn is_finished(&self) -> bool {
            true
        }
    }
}

/// A spin: yields to other threads.
pub fn spin_loop() {
    thread::yield_now();
}

/// The number of the calling thread, the same in each run of one schedule.
pub fn thread_number() -> usize {
    #[cfg(shuttle)]
    return usize::from(thread::current().id());
    #[cfg(loom)]
    return 0;
}

/// A back-off that yields and is completed at once, so that the model covers the sleep after it and
/// not the spin before it.
#[derive(Default)]
pub struct Backoff {
    steps: std::cell::Cell<u32>,
}

/// Number of yields before a back-off reports that spinning is over.
const STEPS_MAX: u32 = 1;

impl Backoff {
    /// A back-off that has not begun.
    pub fn new() -> Backoff {
        Backoff::default()
    }

    /// Starts over.
    pub fn reset(&self) {
        self.steps.set(0);
    }

    /// Yields to other threads.
    pub fn spin(&self) {
        self.snooze();
    }

    /// Yields to other threads.
    pub fn snooze(&self) {
        self.steps.set(self.steps.get() + 1);
        thread::yield_now();
    }

    /// Whether it is time to sleep.
    pub fn is_completed(&self) -> bool {
        self.steps.get() >= STEPS_MAX
    }
}

/// Runs `model` in every distinct execution, with at most `preemptions` involuntary switches in
/// each. `LOOM_MAX_PREEMPTIONS` overrides the number, and prints how many executions there were.
#[cfg(loom)]
pub fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(preemptions));
    builder.max_branches = builder.max_branches.max(20_000);
    let count = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let (counting, begun) = (count.clone(), std::time::Instant::now());
    builder.check(move || {
        counting.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        model();
    });
    let (name, took) = (std::thread::current().name().unwrap_or("?").to_string(), begun.elapsed());
    let executions = count.load(std::sync::atomic::Ordering::Relaxed);
    eprintln!("{name}: {executions} executions in {took:.2?}");
}
