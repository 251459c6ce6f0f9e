//! The only crate of the engine that uses atomics, mutexes, threads and parking directly, and the
//! switch between the real ones and those of a model checker.
//!
//! | built with | implementation | purpose |
//! | --- | --- | --- |
//! | nothing | the standard library, parking_lot, crossbeam | the engine |
//! | `--cfg loom` | [loom](https://docs.rs/loom) | all executions of a few threads, weak memory |
//! | `--cfg shuttle` | [shuttle](https://docs.rs/shuttle) | many schedules of whole engines |
//!
//! Names, signatures and meaning are the same in all three (`docs/testing-models.md` describes how
//! to run the models). This crate has short, physical *latches*; transactional *locks* are in the
//! `lock` crate.

mod before_blocking;
pub mod counted_reads;
mod counter;
mod exchange;
mod invariant;
#[cfg(any(loom, shuttle))]
mod model;
mod prefetch;
mod process;
#[cfg(not(any(loom, shuttle)))]
mod real;
mod spin_latch;
pub mod step;
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

pub use before_blocking::{BeforeBlocking, set_before_blocking};
pub use counter::{Counter, Sharded};
pub use crossbeam_utils::CachePadded;
pub use exchange::Exchange;
pub use invariant::{Broken, Stop, broken, invariant, stop_if_broken};
pub use prefetch::{prefetch, prefetch_to_write};
#[cfg(feature = "fork")]
pub use process::child::Child;
pub use process::{Process, Stay};
pub use spin_latch::{SpinLatch, SpinLatchGuard};
pub use trace::Trace;
pub use waker::{ThreadWaker, block_on, wake};

/// Variables of a thread; in a model, of the model's threads.
#[cfg(loom)]
pub use loom::thread_local;
#[cfg(shuttle)]
pub use shuttle::thread_local;
#[cfg(not(any(loom, shuttle)))]
pub use std::thread_local;

#[cfg(loom)]
pub use model::check;
#[cfg(shuttle)]
pub use model::schedules;

/// Atomics that are the real ones in a model, too: for the bytes of a page, which no model could
/// track, and for numbers that only have to be unique within the process.
pub mod plain {
    pub use std::sync::atomic::{
        AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering,
    };
}
