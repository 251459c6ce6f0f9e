//! How records get into the ring: reserve, fill, release.
//!
//! A strategy decides what is serialised. All of them keep these rules:
//! - I1. Records stand in the log in the order of their reservations, without a hole.
//! - I2. [`Insertion::await_released`] returns only when every byte of the group was filled, and
//!   what the fillers wrote is visible to the caller.
//! - I3. No inserter waits for another one's fill, only a flusher does: except where the fill is
//!   under the mutex.
//! - I4. The cursor is taken for a few instructions, and nothing else is latched meanwhile.
//!
//! | strategy | under the latch | after it |
//! | --- | --- | --- |
//! | [`MutexInsertion`] | reserve, fill, release | – |
//! | [`ConsolidatedInsertion`] | reserve, fill and release, for a group | – |
//! | [`DecoupledInsertion`] | reserve | fill, then mark as complete |
//! | [`HybridInsertion`] | reserve, for a group | fill, then mark as complete |
//! | [`DelegatedInsertion`] | reserve, for a group | fill, then release in order or have it done |
//! | [`LockFreeInsertion`] | – | reserve, fill, then mark as complete |
//!
//! | part | what it is |
//! | --- | --- |
//! | [`array`] | where inserters meet to become a group |
//! | [`links`] | which regions are complete |
//! | [`releases`] | how far all regions are complete |

mod array;
mod consolidated;
mod decoupled;
mod delegated;
mod hybrid;
mod links;
mod lock_free;
mod mutex;
mod releases;

use std::sync::Arc;

use clearway_base::{Lsn, LsnSpan};

use crate::{
    options::{Consolidation, Strategy},
    record::{Draft, Padding, Stamp},
    ring::{Cursor, Ring, SealRegion},
};
use consolidated::ConsolidatedInsertion;
use decoupled::DecoupledInsertion;
use delegated::DelegatedInsertion;
use hybrid::HybridInsertion;
use lock_free::LockFreeInsertion;
use mutex::MutexInsertion;

/// What a seal says.
#[derive(Clone, Copy)]
pub(crate) struct SealWords {
    pub(crate) stamp: Stamp,
    pub(crate) durable: Lsn,
    pub(crate) flags: u8,
    /// Seal even if the group is empty.
    pub(crate) even_empty: bool,
}

impl SealWords {
    /// Fills the place of a seal.
    fn fill(self, ring: &Ring, taken: SealRegion) -> Seal {
        let SealRegion { region, seals_paid } = taken;
        let span = region.span();
        let padding = Padding::of(span.end.0 - span.start.0);
        let draft = Draft::seal(self.stamp, self.durable, self.flags, &padding);
        Seal { span: ring.fill(region, &draft), seals_paid }
    }
}

/// A seal that was made.
pub(crate) struct Seal {
    pub(crate) span: LsnSpan,
    /// How many records of its group had claimed room for it.
    pub(crate) seals_paid: u64,
}

/// A strategy of log insertion.
pub(crate) trait Insertion: Send + Sync {
    /// Inserts a record. `None` if the ring has no room: wait for durability and try again. Also
    /// `None` after [`close`](Insertion::close).
    fn insert(&self, draft: &Draft<'_>) -> Option<LsnSpan>;

    /// Ends the group that began at `group_start` with a seal. `None` if the group is empty. Called
    /// by one thread at a time.
    fn seal(&self, group_start: Lsn, words: SealWords) -> Option<Seal>;

    /// No record inserted from now on starts before this, and whoever has inserted one, or has
    /// heard of it, finds it before this.
    fn end(&self) -> Lsn;

    /// No record is inserted once this has returned.
    fn close(&self);

    /// Waits until the group, which a seal ended, is filled (I2).
    fn await_released(&self, group: LsnSpan);

    /// Records inserted so far, seals included; or those of the groups that were released.
    fn records(&self) -> u64;

    /// How many records since the last seal have claimed room for the next one.
    fn seals_paid(&self) -> u64;
}

/// The strategy that the options name.
pub(crate) fn strategy(
    strategy: Strategy,
    sizes: Consolidation,
    ring: Arc<Ring>,
    cursor: Cursor,
) -> Arc<dyn Insertion> {
    match strategy {
        Strategy::Mutex => Arc::new(MutexInsertion::new(ring, cursor)),
        Strategy::Consolidated => Arc::new(ConsolidatedInsertion::new(ring, cursor, sizes)),
        Strategy::Decoupled => Arc::new(DecoupledInsertion::new(ring, cursor)),
        Strategy::Hybrid => Arc::new(HybridInsertion::new(ring, cursor, sizes)),
        Strategy::Delegated => Arc::new(DelegatedInsertion::new(ring, cursor, sizes)),
        Strategy::LockFree => Arc::new(LockFreeInsertion::new(ring, cursor)),
    }
}

#[cfg(test)]
mod tests;
