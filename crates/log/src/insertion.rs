//! Insertion of records into the ring: reserve, fill, release.
//!
//! A strategy determines which steps are serialized. All strategies obey these invariants:
//! - I1. Records stand in the log in the order of their reservations, without a hole.
//! - I2. [`Insertion::await_released`] returns only when every byte of the group was filled, and
//!   what the fillers wrote is visible to the caller.
//! - I3. Only a flusher waits for another thread's fill, except where the fill is done under the
//!   mutex.
//! - I4. The cursor's latch is held for a few instructions, and no other latch is taken meanwhile.
//!
//! | strategy | under the latch | after it |
//! | --- | --- | --- |
//! | [`MutexInsertion`] | reserve, fill, release | – |
//! | [`ConsolidatedInsertion`] | reserve, fill and release, for a group | – |
//! | [`DecoupledInsertion`] | reserve | fill, then mark as complete |
//! | [`HybridInsertion`] | reserve, for a group | fill, then mark as complete |
//! | [`DelegatedInsertion`] | reserve, for a group | fill, then release in order or delegate that |
//! | [`LockFreeInsertion`] | – | reserve, fill, then mark as complete |
//!
//! | part | contents |
//! | --- | --- |
//! | [`array`] | the consolidation array, where inserters form groups |
//! | [`links`] | links that mark complete regions |
//! | [`releases`] | the LSN up to which all regions are complete |

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

/// The fields of a seal.
#[derive(Clone, Copy)]
pub(crate) struct SealWords {
    pub(crate) stamp: Stamp,
    pub(crate) durable: Lsn,
    pub(crate) flags: u8,
    /// Force a seal even if the group is empty.
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

/// A seal that was inserted.
pub(crate) struct Seal {
    pub(crate) span: LsnSpan,
    /// Number of records of its group that had claimed space for it.
    pub(crate) seals_paid: u64,
}

/// A strategy of log insertion.
pub(crate) trait Insertion: Send + Sync {
    /// Inserts a record. Returns `None` if the ring has no room: the caller must wait for
    /// durability and try again. Also returns `None` after [`close`](Insertion::close).
    fn insert(&self, draft: &Draft<'_>) -> Option<LsnSpan>;

    /// Ends the group that began at `group_start` with a seal. `None` if the group is empty. Called
    /// by one thread at a time.
    fn seal(&self, group_start: Lsn, words: SealWords) -> Option<Seal>;

    /// Returns an LSN before which no later record starts. A record that the caller has inserted,
    /// or whose insertion happened before this call, ends at or before it.
    fn end(&self) -> Lsn;

    /// Closes the ring: no record is inserted once this has returned.
    fn close(&self);

    /// Waits until the group, which a seal ended, is filled (I2).
    fn await_released(&self, group: LsnSpan);

    /// Returns the records inserted so far, seals included; some strategies count only those of
    /// released groups.
    fn records(&self) -> u64;

    /// Returns the number of records since the last seal that have claimed space for the next one.
    fn seals_paid(&self) -> u64;
}

/// Creates the strategy that the options name.
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
