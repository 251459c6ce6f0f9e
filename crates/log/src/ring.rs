//! The log buffer: a ring of bytes addressed by LSN.
//!
//! Invariants:
//! - R1. There is one [`Cursor`] for each ring, or one word in its place. The [`Region`]s it hands
//!   out are consecutive: no two of them overlap as LSN ranges.
//! - R2. The end of a region is at most `durable + bytes`, less `SEAL_ROOM` unless it is a seal's.
//!   So two regions that share memory are one lap apart, and the older one was durable before the
//!   younger one was handed out.
//! - R3. A region is written by the thread that owns the `Region` value, once, in
//!   [`Ring::fill`], which consumes it.
//! - R4. Bytes are read, by [`Ring::released`], only after every region in the range was filled
//!   and before they are durable; the durable LSN passes them only after the reader is done.
//! - R5. A closed cursor hands out only regions of seals. Closing is one step under its latch, or
//!   of its word, so every record is either before the end that the closer sees then, or is
//!   refused.
//!
//! Access to bytes: below `durable`, no thread; between `durable` and the cursor, the owner of the
//! region until it has released it, then the flusher of its group.

mod mapping;
#[cfg(all(test, loom))]
mod models;

use clearway_base::{Lsn, LsnSpan, Result};
use clearway_sync::{
    CachePadded, Trace,
    atomic::{AtomicU64, Ordering},
    invariant,
};

use crate::record::{Draft, HEADER_BYTES, RECORD_ALIGN, SEAL_BYTES_MAX, sealed_end};
use mapping::Mapping;

/// Bytes kept free after the cursor so that a group can always be sealed.
const SEAL_ROOM: u64 = SEAL_BYTES_MAX;

/// The buffer and the two LSNs that all threads read.
pub(crate) struct Ring {
    mapping: Mapping,
    /// Everything before it is durable. Written only by flushers, in order. A read-mostly cache
    /// line.
    durable: CachePadded<AtomicU64>,
    /// The cursor's position, for threads that do not hold its latch. Written under that latch.
    end: CachePadded<AtomicU64>,
}

/// A range of the log that one thread may fill.
#[must_use]
pub(crate) struct Region {
    start: u64,
    end: u64,
}

impl Region {
    /// Creates the region from `start` to `end`, which the caller has reserved (R1, R3).
    #[inline]
    pub(crate) fn between(start: u64, end: u64) -> Region {
        Region { start, end }
    }

    /// Creates the part of a group's region at `base` that belongs to the member whose record
    /// begins at `offset`. Members' parts do not overlap (R1), and each member takes its part once
    /// (R3).
    #[inline]
    pub(crate) fn of_member(base: Lsn, offset: u64, draft: &Draft<'_>) -> Region {
        let start = base.0 + offset;
        Region { start, end: start + draft.span_bytes() }
    }

    /// Returns the region's position.
    #[inline]
    pub(crate) fn span(&self) -> LsnSpan {
        LsnSpan { start: Lsn(self.start), end: Lsn(self.end) }
    }
}

/// The position of the next record. Strategies keep it under their latch or mutex.
pub(crate) struct Cursor {
    next: u64,
    /// Upper bound on `next`, from the durable LSN when it was last read (R2).
    limit: u64,
    records: u64,
    /// Records since the last seal whose claims included a seal.
    seals_paid: u64,
    is_closed: bool,
}

/// The space that a group of records needs.
pub(crate) struct GroupSize {
    pub(crate) bytes: u64,
    pub(crate) records: u64,
    /// Number of its records that paid for a seal.
    pub(crate) seals_paid: u64,
}

/// The position of a seal, and the number of seals for which the records of its group have paid.
pub(crate) struct SealRegion {
    pub(crate) region: Region,
    pub(crate) seals_paid: u64,
}

impl Cursor {
    /// Takes the next region for a record. Returns `None` if the ring has no room now, or the log
    /// is closed.
    #[inline]
    pub(crate) fn take(&mut self, draft: &Draft<'_>, ring: &Ring) -> Option<Region> {
        let start = self.next;
        let end = start + draft.span_bytes();
        if !self.has_room(end, ring) {
            return None;
        }
        self.seals_paid += u64::from(draft.pays_seal);
        self.advance(end, 1, ring);
        Some(Region { start, end })
    }

    /// Takes the next region for a group of records, which its members fill in parts, and returns
    /// its start. Returns `None` as for one record.
    pub(crate) fn take_group(&mut self, group: &GroupSize, ring: &Ring) -> Option<Lsn> {
        let start = self.next;
        let end = start + group.bytes;
        if !self.has_room(end, ring) {
            return None;
        }
        self.seals_paid += group.seals_paid;
        self.advance(end, group.records, ring);
        Some(Lsn(start))
    }

    #[inline]
    fn has_room(&mut self, end: u64, ring: &Ring) -> bool {
        if end <= self.limit {
            return true;
        }
        // A closed cursor's limit is 0 and stays so (R5).
        if !self.is_closed {
            self.limit = ring.limit();
        }
        end <= self.limit
    }

    /// Returns the end of the log, for a strategy that reserves without a cursor from now on (R1).
    pub(crate) fn into_end(self) -> Lsn {
        Lsn(self.next)
    }

    /// Closes the cursor: from now on it hands out only regions of seals (R5).
    pub(crate) fn close(&mut self) {
        self.is_closed = true;
        self.limit = 0;
    }

    /// The region of a seal that ends the group which began at `group_start`. Returns `None` if
    /// nothing was inserted since, unless `even_empty`.
    pub(crate) fn take_seal(
        &mut self,
        group_start: Lsn,
        even_empty: bool,
        ring: &Ring,
    ) -> Option<SealRegion> {
        let start = self.next;
        if start == group_start.0 && !even_empty {
            return None;
        }
        let end = sealed_end(start);
        // Holds by R2: every region before it left room for one seal, and an empty group is only
        // forced when everything is durable.
        invariant(end <= ring.limit() + SEAL_ROOM, "ring R2: a seal has room");
        self.advance(end, 1, ring);
        let seals_paid = std::mem::take(&mut self.seals_paid);
        Some(SealRegion { region: Region { start, end }, seals_paid })
    }

    #[inline]
    fn advance(&mut self, end: u64, records: u64, ring: &Ring) {
        self.next = end;
        self.records += records;
        // Release pairs with the Acquire in `Ring::end`.
        ring.end.store(end, Ordering::Release);
    }

    /// Records since the last seal whose claims included a seal.
    pub(crate) fn seals_paid(&self) -> u64 {
        self.seals_paid
    }

    /// Regions handed out so far, seals included.
    pub(crate) fn records(&self) -> u64 {
        self.records
    }
}

impl Ring {
    /// Creates a ring of `bytes` bytes and its cursor (R1). Everything before `start` counts as
    /// durable.
    pub(crate) fn new(bytes: usize, start: Lsn) -> Result<(Ring, Cursor)> {
        debug_assert!(start.0.is_multiple_of(RECORD_ALIGN as u64), "records are aligned");
        let ring = Ring {
            mapping: Mapping::new(bytes)?,
            durable: CachePadded::new(AtomicU64::new(start.0)),
            end: CachePadded::new(AtomicU64::new(start.0)),
        };
        let limit = ring.limit();
        let cursor = Cursor { next: start.0, limit, records: 0, seals_paid: 0, is_closed: false };
        Ok((ring, cursor))
    }

    /// The size of the ring.
    pub(crate) fn bytes(&self) -> u64 {
        self.mapping.bytes() as u64
    }

    /// Returns the durable LSN: everything before it is durable.
    #[inline]
    pub(crate) fn durable(&self) -> Lsn {
        // Acquire pairs with the Release in `set_durable`.
        Lsn(self.durable.load(Ordering::Acquire))
    }

    /// Publishes a higher durable LSN, which frees the bytes before it (R4).
    pub(crate) fn set_durable(&self, lsn: Lsn) {
        invariant(lsn >= self.durable(), "ring: the durable LSN never falls");
        // Release pairs with the Acquire in `durable` and `limit`: the flusher has read the bytes
        // before the next owner of their memory may write there.
        self.durable.store(lsn.0, Ordering::Release);
    }

    /// Returns the cursor's position, before which no later record starts. A strategy without a
    /// cursor never moves it.
    #[inline]
    pub(crate) fn end(&self) -> Lsn {
        // Acquire pairs with the Release in `Cursor::advance`.
        Lsn(self.end.load(Ordering::Acquire))
    }

    /// Returns the limit of the cursor (R2).
    pub(crate) fn limit(&self) -> u64 {
        self.durable().0 + self.bytes() - SEAL_ROOM
    }

    /// Returns the durable LSN at which a record of `bytes` bytes will fit after `end`.
    pub(crate) fn durable_for_room(&self, end: Lsn, bytes: u64) -> Lsn {
        Lsn((end.0 + bytes + SEAL_ROOM).saturating_sub(self.bytes()))
    }

    /// Writes a record into its region: padding, body, header.
    #[inline]
    pub(crate) fn fill(&self, region: Region, draft: &Draft<'_>) -> LsnSpan {
        let span = region.span();
        let fits = span.end.0 - span.start.0 == draft.span_bytes();
        if !invariant(fits, "ring R1: a record fills its region") {
            return span; // Not into another one's bytes.
        }
        self.mapping.witness(region.start, region.end, Trace::write);
        let header = draft.header_at(span.start);
        let first = self.mapping.address(region.start);
        // SAFETY: the region's `span_bytes` are mapped in one piece (M1, M2, R2: a region is
        // shorter than the ring) and this thread alone may write them (R1, R2, R3). The pieces
        // written are `HEADER_BYTES` and the body, which together are `len ≤ span_bytes`, and the
        // last word, which lies in `span_bytes ≥ 32`; it is written first, so it stays only where
        // the padding is. The sources are not in the ring: only a flusher has a reference into it.
        unsafe {
            if !draft.len().is_multiple_of(RECORD_ALIGN) {
                let last = first.add(draft.span_bytes() as usize - RECORD_ALIGN);
                last.copy_from_nonoverlapping([0; RECORD_ALIGN].as_ptr(), RECORD_ALIGN);
            }
            let mut at = first.add(HEADER_BYTES);
            for part in draft.body {
                at.copy_from_nonoverlapping(part.as_ptr(), part.len());
                at = at.add(part.len());
            }
            first.copy_from_nonoverlapping(header.as_ptr(), HEADER_BYTES);
        }
        span
    }

    /// Returns the bytes of a group.
    ///
    /// # Safety
    ///
    /// Every region in `group` has been filled and released to the calling thread, and the durable
    /// LSN does not pass `group.start` while the slice lives (R4).
    pub(crate) unsafe fn released(&self, group: LsnSpan) -> &[u8] {
        let len = (group.end.0 - group.start.0) as usize;
        assert!(len <= self.mapping.bytes(), "a group fits the ring");
        self.mapping.witness(group.start.0, group.end.0, Trace::read);
        // SAFETY: M1 and M2 make the range one piece; by R4 no thread writes to it meanwhile.
        unsafe { std::slice::from_raw_parts(self.mapping.address(group.start.0), len) }
    }
}
