//! Reservation in a ring by a cursor, which a strategy keeps under its latch or mutex.
//!
//! Invariants:
//! - LOG-CURSOR-1. There is one [`Cursor`] for each ring. The regions it hands out are consecutive
//!   (LOG-PARTS-1).
//! - LOG-CURSOR-2. A record's region ends at or before `limit`, the ring's limit when it was last
//!   read (LOG-PARTS-2): the limit only rises.
//! - LOG-CURSOR-3. A closed cursor hands out only regions of seals (LOG-PARTS-3): its limit is 0
//!   and stays so.

use std::sync::Arc;

use clearway_base::{Lsn, LsnSpan};
use clearway_log::{
    SEAL_BYTES_MAX,
    parts::{Draft, Region, Ring, Seal, SealWords},
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
    /// Records since the last seal whose claims included a seal.
    seals_paid: u64,
    is_closed: bool,
}

/// The space that a group of records needs.
pub(super) struct GroupSize {
    pub(super) bytes: u64,
    pub(super) records: u64,
    /// Number of its records that paid for a seal.
    pub(super) seals_paid: u64,
}

/// The position of a seal, and the number of seals for which the records of its group have paid.
pub(super) struct SealRegion {
    region: Region,
    seals_paid: u64,
}

impl SealRegion {
    /// Returns the end of the seal.
    pub(super) fn end(&self) -> Lsn {
        self.region.span().end
    }

    /// Fills the region.
    pub(super) fn fill(self, words: SealWords, space: &Space) -> Seal {
        words.fill(&space.ring, self.region, self.seals_paid)
    }
}

impl Space {
    /// Takes an empty ring, and creates its cursor.
    pub(super) fn new(ring: Arc<Ring>) -> (Space, Cursor) {
        let start = ring.durable().0;
        let limit = ring.limit();
        let cursor = Cursor { next: start, limit, records: 0, seals_paid: 0, is_closed: false };
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
        self.seals_paid += draft.seals_paid();
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
        self.seals_paid += group.seals_paid;
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

    /// Closes the cursor: from now on it hands out only regions of seals (LOG-CURSOR-3).
    pub(super) fn close(&mut self) {
        self.is_closed = true;
        self.limit = 0;
    }

    /// The region of a seal that ends the group which began at `group_start`. Returns `None` if
    /// nothing was inserted since, unless an empty group is to be sealed.
    pub(super) fn take_seal(
        &mut self,
        group_start: Lsn,
        words: SealWords,
        space: &Space,
    ) -> Option<SealRegion> {
        let start = self.next;
        let end = words.sealed_end(group_start, start)?;
        // Holds by LOG-CURSOR-2: every region before it left room for one seal, and an empty group
        // is only forced when everything is durable.
        invariant(end <= space.ring.limit() + SEAL_BYTES_MAX, "log cursor: a seal has room");
        self.advance(end, 1, space);
        let seals_paid = std::mem::take(&mut self.seals_paid);
        Some(SealRegion { region: Region::between(start, end), seals_paid })
    }

    #[inline]
    fn advance(&mut self, end: u64, records: u64, space: &Space) {
        self.next = end;
        self.records += records;
        // Release pairs with the Acquire in `Space::end`.
        space.end.store(end, Ordering::Release);
    }

    /// Records since the last seal whose claims included a seal.
    pub(super) fn seals_paid(&self) -> u64 {
        self.seals_paid
    }

    /// Regions handed out so far, seals included.
    pub(super) fn records(&self) -> u64 {
        self.records
    }
}
