//! Insertion of records into the ring: reserve, fill, release.
//!
//! An implementation of [`Insertion`] is a *strategy*: it determines which of the steps are
//! serialized. All strategies obey these invariants:
//! - INSERTION-1. Records stand in the log in the order of their reservations, without a hole.
//! - INSERTION-2. [`Insertion::await_released`] returns only when every byte of the group was
//!   filled, and what the fillers wrote is visible to the caller.
//! - INSERTION-3. Only a flusher waits for another thread's fill, except where one mutex is held
//!   for all three steps.
//! - INSERTION-4. Except where one mutex is held for all three steps, a latch around a reservation
//!   is held for a few instructions, and no other latch is taken meanwhile.
//!
//! | part | contents |
//! | --- | --- |
//! | [`lock_free`] | reservation without a latch; then fill, and mark as complete |
//! | [`links`] | links that mark complete regions |

mod links;
mod lock_free;

use clearway_base::{Lsn, LsnSpan};

use crate::{
    record::{Draft, Padding, Stamp, trailer_end},
    ring::{Region, Ring},
};

pub use links::Links;
pub(crate) use lock_free::LockFreeInsertion;

/// The contents of a group trailer.
#[derive(Clone, Copy)]
pub struct TrailerFields {
    pub(crate) stamp: Stamp,
    pub(crate) durable: Lsn,
    pub(crate) flags: u8,
    /// True if an empty group gets a trailer, too.
    pub(crate) even_empty: bool,
}

impl TrailerFields {
    /// Returns the end of the trailer of the group which began at `group_start` and whose records
    /// end at `end`. Returns `None` if that group is empty and needs no trailer.
    #[inline]
    pub fn trailer_end(&self, group_start: Lsn, end: u64) -> Option<u64> {
        (end != group_start.0 || self.even_empty).then(|| trailer_end(end))
    }

    /// Fills the region of a trailer, for which `trailers_paid` records of its group have reserved
    /// space.
    pub fn fill(self, ring: &Ring, region: Region, trailers_paid: u64) -> Trailer {
        let span = region.span();
        let padding = Padding::of(span.end.0 - span.start.0);
        let draft = Draft::trailer(self.stamp, self.durable, self.flags, &padding);
        Trailer { span: ring.fill(region, &draft), trailers_paid }
    }
}

/// A group trailer that was inserted.
pub struct Trailer {
    pub(crate) span: LsnSpan,
    /// The number of records of its group that have reserved space for it.
    pub(crate) trailers_paid: u64,
}

impl Trailer {
    /// Returns the position of the trailer.
    pub fn span(&self) -> LsnSpan {
        self.span
    }
}

/// A way of inserting records into a ring.
pub trait Insertion: Send + Sync {
    /// Inserts a record. Returns `None` if the ring has no room: the caller must wait for
    /// durability and try again. Also returns `None` after [`close`](Insertion::close).
    fn insert(&self, draft: &Draft<'_>) -> Option<LsnSpan>;

    /// Ends the group that began at `group_start` with a trailer. Returns `None` if the group is
    /// empty and needs none. Called by one thread at a time.
    fn end_group(&self, group_start: Lsn, fields: TrailerFields) -> Option<Trailer>;

    /// Returns the end of the log: every later record starts at or after this LSN. A record that
    /// the caller has inserted, or whose insertion happened before this call, ends at or before it.
    fn end(&self) -> Lsn;

    /// Closes the insertion: once this has returned, no record is inserted except group trailers.
    fn close(&self);

    /// Waits until the group, which has a trailer, is filled (INSERTION-2).
    fn await_released(&self, group: LsnSpan);

    /// Returns the number of records inserted so far, trailers included; a strategy may count only
    /// those of released groups.
    fn records(&self) -> u64;

    /// Returns the number of records since the last trailer that have reserved space for the next
    /// one.
    fn trailers_paid(&self) -> u64;
}

#[cfg(test)]
mod tests;
