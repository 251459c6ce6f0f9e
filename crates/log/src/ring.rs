//! The log buffer: a ring of bytes addressed by LSN.
//!
//! Invariants:
//! - RING-1. There is one [`Insertion`](crate::parts::Insertion) for each ring. The [`Region`]s
//!   that it hands out are consecutive: no two of them overlap as LSN ranges.
//! - RING-2. The end of a region is at most `durable + bytes`, less `TRAILER_ROOM` unless it is a
//!   trailer's. So of two regions that share memory, the older one was durable before the younger
//!   one was handed out.
//! - RING-3. A region is written by the thread that owns the `Region` value, once, in
//!   [`Ring::fill`], which consumes it.
//! - RING-4. Bytes are read, by [`Ring::released`], only after every region in the range was filled
//!   and before they are durable; the durable LSN passes them only after the reader is done.
//! - RING-5. A closed insertion hands out only regions of trailers. Closing is one step, so every
//!   record is either before the end that the closer sees then, or is refused.
//!
//! Access to bytes: below `durable`, no thread; between `durable` and the end, the owner of the
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

use crate::record::{Draft, HEADER_BYTES, RECORD_ALIGN, TRAILER_BYTES_MAX};
use mapping::Mapping;

/// Bytes kept free after the end, so that there is always room for a group's trailer.
const TRAILER_ROOM: u64 = TRAILER_BYTES_MAX;

/// The buffer, and the LSN up to which its bytes are durable.
pub struct Ring {
    mapping: Mapping,
    /// Everything before it is durable. Written only by flushers, in order. A read-mostly cache
    /// line.
    durable: CachePadded<AtomicU64>,
}

/// A range of the log that one thread may fill.
#[must_use]
pub struct Region {
    start: u64,
    end: u64,
}

impl Region {
    /// Creates the region from `start` to `end`, which the caller has reserved (RING-1, RING-2).
    /// The caller does so once (RING-3).
    #[inline]
    pub fn between(start: u64, end: u64) -> Region {
        Region { start, end }
    }

    /// Returns the region's position.
    #[inline]
    pub fn span(&self) -> LsnSpan {
        LsnSpan { start: Lsn(self.start), end: Lsn(self.end) }
    }
}

impl Ring {
    /// Creates a ring of `bytes` bytes. Everything before `start` counts as durable.
    pub(crate) fn new(bytes: usize, start: Lsn) -> Result<Ring> {
        debug_assert!(start.0.is_multiple_of(RECORD_ALIGN as u64), "records are aligned");
        let durable = CachePadded::new(AtomicU64::new(start.0));
        Ok(Ring { mapping: Mapping::new(bytes)?, durable })
    }

    /// Returns the size of the ring.
    pub fn bytes(&self) -> u64 {
        self.mapping.bytes() as u64
    }

    /// Returns the durable LSN: everything before it is durable.
    #[inline]
    pub fn durable(&self) -> Lsn {
        // Acquire pairs with the Release in `set_durable`.
        Lsn(self.durable.load(Ordering::Acquire))
    }

    /// Publishes a higher durable LSN, which frees the bytes before it (RING-4).
    pub(crate) fn set_durable(&self, lsn: Lsn) {
        invariant(lsn >= self.durable(), "ring: the durable LSN never falls");
        // Release pairs with the Acquire in `durable` and `limit`: the flusher has read the bytes
        // before the next owner of their memory may write there.
        self.durable.store(lsn.0, Ordering::Release);
    }

    /// Returns the LSN at or before which a record's region must end now (RING-2).
    pub fn limit(&self) -> u64 {
        self.durable().0 + self.bytes() - TRAILER_ROOM
    }

    /// Returns the durable LSN at which a record of `bytes` bytes will fit after `end`.
    pub(crate) fn durable_for_room(&self, end: Lsn, bytes: u64) -> Lsn {
        Lsn((end.0 + bytes + TRAILER_ROOM).saturating_sub(self.bytes()))
    }

    /// Writes a record into its region: padding, body, header.
    #[inline]
    pub fn fill(&self, region: Region, draft: &Draft<'_>) -> LsnSpan {
        let span = region.span();
        let fits = span.end.0 - span.start.0 == draft.span_bytes();
        if !invariant(fits, "RING-1: a record fills its region") {
            return span; // Otherwise this would overwrite another region.
        }
        self.mapping.witness(region.start, region.end, Trace::write);
        let header = draft.header_at(span.start);
        let first = self.mapping.address(region.start);
        // SAFETY: the region's `span_bytes` are mapped in one piece (MAPPING-1, MAPPING-2, RING-2:
        // a region is shorter than the ring) and this thread alone may write them (RING-1, RING-2,
        // RING-3). The pieces written are `HEADER_BYTES` and the body, which together are
        // `len ≤ span_bytes`, and the last word, which lies in `span_bytes ≥ 32`; it is written
        // first, so it stays only where the padding is. The sources are not in the ring: only a
        // flusher has a reference into it.
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
    /// LSN does not pass `group.start` while the slice lives (RING-4).
    pub(crate) unsafe fn released(&self, group: LsnSpan) -> &[u8] {
        let len = (group.end.0 - group.start.0) as usize;
        assert!(len <= self.mapping.bytes(), "a group fits the ring");
        self.mapping.witness(group.start.0, group.end.0, Trace::read);
        // SAFETY: MAPPING-1 and MAPPING-2 make the range one piece; by RING-4 no thread writes to
        // it meanwhile.
        unsafe { std::slice::from_raw_parts(self.mapping.address(group.start.0), len) }
    }
}
