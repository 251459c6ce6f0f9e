//! Reservation in a ring by a cursor, which a strategy keeps under its latch or mutex.
//!
//! Invariants:
//! - LOG-CURSOR-1. There is one [`Cursor`] for each ring. The regions it hands out are consecutive
//!   (LOG-PARTS-1).
//! - LOG-CURSOR-2. A record's region ends at or before `limit`, the ring's limit when it was last
//!   read (LOG-PARTS-2): the limit only rises.
//! - LOG-CURSOR-3. A closed cursor hands out only regions of trailers (LOG-PARTS-3): its limit is 0
//!   and stays so.

use std::sync::Arc;

use clearway_base::{Lsn, LsnSpan};
use clearway_log::{
    TRAILER_BYTES_MAX,
    parts::{Draft, Region, Ring, Trailer, TrailerFields},
};
use clearway_sync::{
    CachePadded,
    atomic::{AtomicU64, Ordering},
    invariant,
};

/// A ring, and the end of what the cursor has reserved in it.
pub(super) struct Space {
    ring: Arc<Ring>,
    /// The cursor's position, for threads that do not hold its latch. Written under that latch.
    end: CachePadded<AtomicU64>,
}

/// The position of the next record.
pub(super) struct Cursor {
    next: u64,
    /// LOG-CURSOR-2.
    limit: u64,
    records: u64,
    /// The number of records since the last trailer with which space for one was reserved.
    trailers_paid: u64,
    is_closed: bool,
}

/// The space that a group of records needs.
pub(super) struct GroupSize {
    pub(super) bytes: u64,
    pub(super) records: u64,
    /// The number of its records with which space for a trailer was reserved.
    pub(super) trailers_paid: u64,
}

/// The position of a group trailer, and the number of records of the group with which space for it
/// was reserved.
pub(super) struct TrailerRegion {
    region: Region,
    trailers_paid: u64,
}

impl TrailerRegion {
    /// Returns the end of the trailer.
    pub(super) fn end(&self) -> Lsn {
        self.region.span().end
    }

    /// Fills the region.
    pub(super) fn fill(self, fields: TrailerFields, space: &Space) -> Trailer {
        fields.fill(&space.ring, self.region, self.trailers_paid)
    }
}

impl Space {
    /// Takes an empty ring, and creates its cursor.
    pub(super) fn new(ring: Arc<Ring>) -> (Space, Cursor) {
        let start = ring.durable().0;
        let limit = ring.limit();
        let cursor = Cursor { next: start, limit, records: 0, trailers_paid: 0, is_closed: false };
        (Space { ring, end: CachePadded::new(AtomicU64::new(start)) }, cursor)
    }

    /// Returns the size of the ring.
    pub(super) fn bytes(&self) -> u64 {
        self.ring.bytes()
    }

    /// Returns the cursor's position, before which no later record starts.
    #[inline]
    pub(super) fn end(&self) -> Lsn {
        // Acquire pairs with the Release in `Cursor::advance`.
        Lsn(self.end.load(Ordering::Acquire))
    }

    /// Writes a record into its region.
    #[inline]
    pub(super) fn fill(&self, region: Region, draft: &Draft<'_>) -> LsnSpan {
        self.ring.fill(region, draft)
    }

    /// Writes the record of a group's member, which begins at `offset` of the group's region at
    /// `base`. Members' parts do not overlap, and each member fills its part once (LOG-PARTS-1).
    #[inline]
    pub(super) fn fill_member(&self, base: Lsn, offset: u64, draft: &Draft<'_>) -> LsnSpan {
        let start = base.0 + offset;
        self.ring.fill(Region::between(start, start + draft.span_bytes()), draft)
    }
}

impl Cursor {
    /// Takes the next region for a record. Returns `None` if the ring has no room now, or the log
    /// is closed.
    #[inline]
    pub(super) fn take(&mut self, draft: &Draft<'_>, space: &Space) -> Option<Region> {
        let start = self.next;
        let end = start + draft.span_bytes();
        if !self.has_room(end, &space.ring) {
            return None;
        }
        self.trailers_paid += draft.trailers_paid();
        self.advance(end, 1, space);
        Some(Region::between(start, end))
    }

    /// Takes the next region for a group of records, which its members fill in parts, and returns
    /// its start. Returns `None` as for one record.
    pub(super) fn take_group(&mut self, group: &GroupSize, space: &Space) -> Option<Lsn> {
        let start = self.next;
        let end = start + group.bytes;
        if !self.has_room(end, &space.ring) {
            return None;
        }
        self.trailers_paid += group.trailers_paid;
        self.advance(end, group.records, space);
        Some(Lsn(start))
    }

    #[inline]
    fn has_room(&mut self, end: u64, ring: &Ring) -> bool {
        if end <= self.limit {
            return true;
        }
        // A closed cursor's limit is 0 and stays so (LOG-CURSOR-3).
        if !self.is_closed {
            self.limit = ring.limit();
        }
        end <= self.limit
    }

    /// Closes the cursor: from now on it hands out only regions of trailers (LOG-CURSOR-3).
    pub(super) fn close(&mut self) {
        self.is_closed = true;
        self.limit = 0;
    }

    /// Takes the region of the trailer that ends the group which began at `group_start`. Returns
    /// `None` if nothing was inserted since, unless an empty group gets a trailer, too.
    pub(super) fn take_trailer(
        &mut self,
        group_start: Lsn,
        fields: TrailerFields,
        space: &Space,
    ) -> Option<TrailerRegion> {
        let start = self.next;
        let end = fields.trailer_end(group_start, start)?;
        // Holds by LOG-CURSOR-2: every region before it left room for one trailer, and an empty
        // group gets one only when everything is durable.
        invariant(end <= space.ring.limit() + TRAILER_BYTES_MAX, "log cursor: a trailer has room");
        self.advance(end, 1, space);
        let trailers_paid = std::mem::take(&mut self.trailers_paid);
        Some(TrailerRegion { region: Region::between(start, end), trailers_paid })
    }

    #[inline]
    fn advance(&mut self, end: u64, records: u64, space: &Space) {
        self.next = end;
        self.records += records;
        // Release pairs with the Acquire in `Space::end`.
        space.end.store(end, Ordering::Release);
    }

    /// Returns the number of records since the last trailer with which space for one was reserved.
    pub(super) fn trailers_paid(&self) -> u64 {
        self.trailers_paid
    }

    /// Returns the number of regions handed out so far, trailers included.
    pub(super) fn records(&self) -> u64 {
        self.records
    }
}
