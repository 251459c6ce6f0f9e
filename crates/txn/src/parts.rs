//! The interface for other parts of a transaction: what an experiment may put in place of the
//! product's own range-lock modes and early lock release. It is for the crate of variants and for
//! no other one.
//!
//! A [`TxnParts`] is asked once, when an engine opens. Its default methods return nothing, which
//! stands for the product's parts. An implementation must keep:
//! - TXN-PARTS-1. [`RangeModes`] only make a mode stronger: `taken(m)` and `probed(m)` cover `m`.
//!   Then all conflicts remain, and the only differences are more waits and deadlocks.
//! - TXN-PARTS-2. Both functions are monotone, and `taken` is idempotent: a repeated request is
//!   covered by the mode that it received.
//! - TXN-PARTS-3. `taken(m)` covers `probed(m)`: after a wait for a denied probe the probe
//!   succeeds.
//! - TXN-PARTS-4. A [`CommitRelease`] takes no lock. It may release any: the commit record is in
//!   the log buffer, and a result waits for its own record and for every tag that it has met.

use std::fmt::Debug;

use clearway_base::{Lsn, Result};
use clearway_lock::{LockOwner, LockTable, RangeMode};
use clearway_log::Log;

/// The parts of which transactions are made.
pub trait TxnParts: Debug + Send + Sync {
    /// Returns the modes of range locks, if they are not the modes that the tree requests.
    fn range_modes(&self) -> Option<&'static RangeModes> {
        None
    }

    /// Returns the release of a committing writer's locks, if it does not release all of them as
    /// soon as its commit record is in the log buffer.
    fn commit_release(&self) -> Option<Box<dyn CommitRelease>> {
        None
    }
}

/// The product's parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProductTxnParts;

impl TxnParts for ProductTxnParts {}

/// A mapping of the modes that the tree requests to the modes that are taken.
#[derive(Debug)]
pub struct RangeModes {
    /// Returns the mode to take for a requested one.
    pub taken: fn(RangeMode) -> RangeMode,
    /// Returns the mode of the probe of an insert, which checks for an instant that it could have
    /// the requested one.
    pub probed: fn(RangeMode) -> RangeMode,
}

/// The work of a committing writer between its commit record and the release of all its locks.
pub trait CommitRelease: Send + Sync {
    /// Waits, or releases a part of the locks. The result of the commit is durable once the log is
    /// durable up to `ack`.
    ///
    /// # Errors
    /// The result of a wait for durability; the locks are released all the same.
    fn before_release(
        &self,
        locks: &LockTable,
        owner: &mut LockOwner,
        log: &Log,
        ack: Lsn,
    ) -> Result<()>;
}
