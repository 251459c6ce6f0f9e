//! The engine's only door to atomics, mutexes, threads and parking.
//!
//! Everything above names these types through this crate, so that a model checker can take their
//! place in one spot. What is here is short and physical (a *latch*); transactional *locks* live
//! in the `lock` crate.

mod spin_latch;
mod waker;

/// Atomics. Each use weaker than `SeqCst` names its partner in a comment.
pub mod atomic {
    pub use std::sync::atomic::{
        AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };
}

/// Threads.
pub mod thread {
    pub use std::thread::{
        Builder, JoinHandle, Thread, ThreadId, available_parallelism, current, park, park_timeout,
        scope, sleep, spawn, yield_now,
    };
}

/// Parking by address: what latches sleep on.
pub mod parking {
    pub use parking_lot_core::{
        DEFAULT_PARK_TOKEN, DEFAULT_UNPARK_TOKEN, FilterOp, ParkResult, ParkToken, UnparkToken,
        park, unpark_all, unpark_filter, unpark_one,
    };
}

pub use crossbeam_utils::{Backoff, CachePadded};
pub use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};
pub use spin_latch::{SpinLatch, SpinLatchGuard};
pub use std::hint::spin_loop;
pub use waker::{ThreadWaker, block_on};
