//! The interface for other parts of a log: an experiment may replace the product's insertion and
//! its policy of group commit. It is for the crate of variants and for no other one, and may change
//! with the internals of the log.
//!
//! A log calls its [`LogParts`] once, when it is created. The default methods return the product's
//! parts.
//!
//! Rust cannot check what follows, and the methods here are safe nevertheless: the memory of the
//! ring, and the order of the log, depend on an implementation that keeps it.
//! - LOG-PARTS-1. The regions that an [`Insertion`] creates follow one another without a gap, from
//!   the ring's durable LSN at its creation. Each is created once and filled once, by the thread
//!   that has reserved it (RING-1, RING-3).
//! - LOG-PARTS-2. A region of a record ends at or before the [`limit`](Ring::limit) of the ring
//!   (RING-2). The limit must have been read before the region is handed out; how long before does
//!   not matter, since the limit only grows. The region of a trailer ends at
//!   [`TrailerFields::trailer_end`], for which that limit leaves room.
//! - LOG-PARTS-3. After [`close`](Insertion::close) no region of a record is created that was not
//!   created before it (RING-5).
//! - LOG-PARTS-4. [`await_released`](Insertion::await_released) returns after each region of the
//!   group was filled, and what was written there happens before its return (INSERTION-2 of
//!   `insertion`).
//! - LOG-PARTS-5. An earlier reservation happens before a later one: what a thread did before it
//!   inserted a record is visible to each thread that has inserted a later one.
//! - LOG-PARTS-6. Each record that has reserved space for a trailer is counted exactly once, with
//!   the first trailer after it.
//! - LOG-PARTS-7. A [`FlushPolicy`] never waits, and each group that it leaves waiting starts later
//!   by itself: because of a time that it has named, or of a request.
//!
//! Latch order: an insertion's latch and a policy's are leaves. The flusher calls both with its
//! schedule's mutex held.

mod buffer;

use std::{any::Any, fmt::Debug, sync::Arc, time::Instant};

use clearway_base::{Lsn, LsnSpan, Result};

pub use crate::{
    insertion::{Insertion, Links, Trailer, TrailerFields},
    record::Draft,
    ring::{Region, Ring},
};
pub use buffer::Buffer;

use crate::insertion::LockFreeInsertion;

/// The parts of which a log is made.
pub trait LogParts: Any + Debug + Send + Sync {
    /// Refuses invalid sizes, before the log touches a file.
    fn validate(&self) -> Result<()> {
        Ok(())
    }

    /// Creates the insertion of an empty ring.
    fn insertion(&self, ring: Arc<Ring>) -> Arc<dyn Insertion> {
        Arc::new(LockFreeInsertion::new(ring))
    }

    /// Creates the policy that determines when groups start, in place of the log's own.
    fn flush_policy(&self) -> Option<Box<dyn FlushPolicy>> {
        None
    }
}

/// The product's parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProductLogParts;

impl LogParts for ProductLogParts {}

/// A policy that determines when a group starts.
///
/// Only daemons start groups under it: a thread that waits does not, the group-commit delay does
/// not apply, and a large group by itself requests nothing.
pub trait FlushPolicy: Send + Sync {
    /// Records a request of durability, which may have a waiter. The flusher decides after it.
    fn request(&self);

    /// Records that a thread waits for durability up to `lsn` that must not wait until a group is
    /// complete: for space in the ring, a sync, or a checkpoint.
    fn force(&self, lsn: Lsn);

    /// Decides whether a group starts with what has been gathered: `requested` is not empty, begins
    /// where the last group ended, and ends where the highest request does. Called under the
    /// schedule's mutex, after each request and whenever a daemon has nothing to do. While the
    /// maximum number of flushes is in flight, no group starts, whatever the decision.
    fn decide(&self, requested: LsnSpan) -> Decision;

    /// Records the start of a group, with all records inserted so far. Called under the schedule's
    /// mutex.
    fn start_group(&self);
}

/// A decision on the start of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    /// End the group with a trailer and write it.
    Start,
    /// Start no group until a request comes or a flush completes.
    Rest,
    /// Start no group before this time, unless a request comes or a flush completes.
    At(Instant),
}
