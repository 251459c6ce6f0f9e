//! The engine's only door to atomics, mutexes, threads and parking, and the switch between the
//! real ones and those of a model checker.
//!
//! | built with | what stands behind the door | what it is for |
//! | --- | --- | --- |
//! | nothing | the standard library, parking_lot, crossbeam | the engine |
//! | `--cfg loom` | [loom](https://docs.rs/loom) | all executions of a few threads, weak memory |
//! | `--cfg shuttle` | [shuttle](https://docs.rs/shuttle) | many schedules of whole engines |
//!
//! Names, signatures and meaning are the same behind all three (`docs/testing-models.md` says how
//! to run the models). What is here is short and physical (a *latch*); transactional *locks* live
//! in the `lock` crate.

mod invariant;
#[cfg(any(loom, shuttle))]
mod model;
mod prefetch;
mod process;
#[cfg(not(any(loom, shuttle)))]
mod real;
mod spin_latch;
mod trace;
mod waker;

#[cfg(any(loom, shuttle))]
pub use model::{
    Backoff, Condvar, Mutex, MutexGuard, RwLock, atomic, parking, spin_loop, thread, thread_number,
};
#[cfg(not(any(loom, shuttle)))]
pub use real::{
    Backoff, Condvar, Mutex, MutexGuard, RwLock, atomic, parking, spin_loop, thread, thread_number,
};

pub use crossbeam_utils::CachePadded;
pub use invariant::{Broken, Stop, broken, invariant, stop_if_broken};
pub use prefetch::{prefetch, prefetch_to_write};
#[cfg(feature = "fork")]
pub use process::child::Child;
pub use process::{Process, Stay};
pub use spin_latch::{SpinLatch, SpinLatchGuard};
pub use trace::Trace;
pub use waker::{ThreadWaker, block_on, wake};

#[cfg(loom)]
pub use model::check;
#[cfg(shuttle)]
pub use model::schedules;

/// Atomics that stay what they are in a model: for the bytes of a page, which no model could
/// follow, and for numbers that only have to be unique within the process.
pub mod plain {
    pub use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering};
}
