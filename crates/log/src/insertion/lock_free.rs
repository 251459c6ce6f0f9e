//! Reservation by one compare-and-swap, without a latch. Each thread then fills its own region and
//! marks it as complete ([`Links`]).
//!
//! Invariants:
//! - LOCK-FREE-1. The log's end, whether it is closed, and how many records of the running group
//!   have paid for its trailer are one word: a trailer knows exactly which records precede it, and
//!   no record comes after the end that a closing thread sees.
//! - LOCK-FREE-2. A word names the end up to a multiple of 8 TiB. The ring is smaller, so together
//!   with the durable LSN, which is never further away, it names one LSN. (A thread that was
//!   stopped between the two reads while 8 TiB were written would compute a wrong end; no thread is
//!   stopped for so long.)
//!
//! Algorithm: the log of MySQL 8 reserves with one atomic addition and finds the gap-free prefix by
//! links between records. Differences: compare-and-swap in place of addition, since a record that
//! finds no room must leave no trace; and no thread advances the prefix, since the flusher walks
//! the links of its own group.

use std::sync::Arc;

use clearway_base::{Lsn, LsnSpan};
use clearway_sync::{
    CachePadded,
    atomic::{AtomicU64, Ordering},
};

use super::{Insertion, Trailer, TrailerFields, links::Links};
use crate::{
    record::{Draft, RECORD_ALIGN},
    ring::{Region, Ring},
};

/// Insertion without a latch.
pub(crate) struct LockFreeInsertion {
    ring: Arc<Ring>,
    links: Links,
    /// LOCK-FREE-1.
    tail: CachePadded<AtomicU64>,
    /// The number of records whose group was written.
    records: AtomicU64,
}

/// The word of LOCK-FREE-1: bits 0..40 the end in units of 8 bytes (LOCK-FREE-2), 40..63 the number
/// of records that have paid for a trailer, 63 closed.
#[derive(Clone, Copy)]
struct Tail(u64);

const UNIT: u64 = RECORD_ALIGN as u64;
const PAID_AT: u32 = 40;
const END: u64 = (1 << PAID_AT) - 1;
const CLOSED: u64 = 1 << 63;
/// The maximum of 23 bits.
const PAID_MAX: u64 = (1 << 23) - 1;

impl Tail {
    fn new(end: u64, trailers_paid: u64, closed: u64) -> Tail {
        // A count that does not fit is cut off: the trailer needs only one payment.
        Tail((end / UNIT) & END | trailers_paid.min(PAID_MAX) << PAID_AT | closed)
    }

    /// Returns the end, which is at or after `durable` (LOCK-FREE-2).
    fn end(self, durable: Lsn) -> u64 {
        let base = durable.0 / UNIT;
        (base + ((self.0 & END).wrapping_sub(base) & END)) * UNIT
    }

    fn trailers_paid(self) -> u64 {
        self.0 >> PAID_AT & PAID_MAX
    }

    fn closed(self) -> u64 {
        self.0 & CLOSED
    }
}

impl LockFreeInsertion {
    /// Creates the insertion of an empty ring.
    pub(crate) fn new(ring: Arc<Ring>) -> LockFreeInsertion {
        let tail = Tail::new(ring.durable().0, 0, 0);
        LockFreeInsertion {
            links: Links::new(ring.bytes()),
            tail: CachePadded::new(AtomicU64::new(tail.0)),
            records: AtomicU64::new(0),
            ring,
        }
    }

    /// Moves the end of the log. `next` computes the new tail from the tail and its end, or returns
    /// `None`.
    #[inline]
    fn reserve(&self, next: impl Fn(Tail, u64) -> Option<Tail>) -> Option<(Region, Tail)> {
        // Read before the tail, so that no tail seen here ends before it (LOCK-FREE-2).
        let durable = self.ring.durable();
        let mut seen = self.tail.load(Ordering::Relaxed);
        loop {
            let start = Tail(seen).end(durable);
            let tail = next(Tail(seen), start)?;
            // AcqRel: an earlier reservation happens before a later one, as under a latch, on which
            // the transaction table relies (TXN-TABLE-3). Release also pairs with the Acquire in
            // `end`. Links and the durable LSN order the fills; `next` reads the latter for the
            // room, with Acquire.
            match self.tail.compare_exchange_weak(seen, tail.0, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => {
                    return Some((Region::between(start, tail.end(durable)), Tail(seen)));
                }
                Err(now) => seen = now,
            }
        }
    }
}

impl Insertion for LockFreeInsertion {
    fn insert(&self, draft: &Draft<'_>) -> Option<LsnSpan> {
        let (bytes, paid) = (draft.span_bytes(), draft.trailers_paid());
        let (region, _) = self.reserve(|tail, start| {
            let end = start + bytes;
            let has_room = tail.closed() == 0 && end <= self.ring.limit();
            has_room.then(|| Tail::new(end, tail.trailers_paid() + paid, 0))
        })?;
        let span = self.ring.fill(region, draft);
        self.links.mark(span);
        Some(span)
    }

    fn end_group(&self, group_start: Lsn, fields: TrailerFields) -> Option<Trailer> {
        let (region, before) = self.reserve(|tail, start| {
            let end = fields.trailer_end(group_start, start)?;
            Some(Tail::new(end, 0, tail.closed()))
        })?;
        let trailer = fields.fill(&self.ring, region, before.trailers_paid());
        self.links.mark(trailer.span);
        Some(trailer)
    }

    #[inline]
    fn end(&self) -> Lsn {
        // In this order (LOCK-FREE-2). Acquire pairs with the Release in `reserve`.
        let durable = self.ring.durable();
        Lsn(Tail(self.tail.load(Ordering::Acquire)).end(durable))
    }

    fn close(&self) {
        // Relaxed: a reservation either precedes the close or sees it.
        self.tail.fetch_or(CLOSED, Ordering::Relaxed);
    }

    fn await_released(&self, group: LsnSpan) {
        let records = self.links.walk(group);
        // Relaxed: a statistic.
        self.records.fetch_add(records, Ordering::Relaxed);
    }

    fn records(&self) -> u64 {
        self.records.load(Ordering::Relaxed)
    }

    fn trailers_paid(&self) -> u64 {
        Tail(self.tail.load(Ordering::Relaxed)).trailers_paid()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_names_one_end() {
        let lap = (END + 1) * UNIT;
        for durable in [0, 512, lap - 512, lap, 3 * lap - 1024, 5 * lap + 4096] {
            for ahead in [0, 8, 504, 1 << 20, 1 << 32] {
                let tail = Tail::new(durable + ahead, 7, CLOSED);
                assert_eq!(tail.end(Lsn(durable)), durable + ahead);
                assert_eq!((tail.trailers_paid(), tail.closed()), (7, CLOSED));
            }
        }
    }

    #[test]
    fn too_many_trailers_paid_do_not_touch_the_end() {
        let tail = Tail::new(4096, PAID_MAX + 9, 0);
        assert_eq!((tail.end(Lsn(0)), tail.trailers_paid(), tail.closed()), (4096, PAID_MAX, 0));
    }
}
