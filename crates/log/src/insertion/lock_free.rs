//! Reservation by one compare-and-swap, without a latch. Each thread then fills its own region and
//! marks it as complete ([`Links`]).
//!
//! Invariants:
//! - LOCK-FREE-1. One word contains the end of the log, whether the log is closed, and the number
//!   of records since the last trailer that have reserved space for the next one. So the
//!   reservation of a trailer reads exactly how many records of its group have paid for it, and no
//!   record except group trailers comes after the end that a closing thread sees.
//! - LOCK-FREE-2. The word holds the end modulo 8 TiB. The end is at most one ring after the
//!   durable LSN, and a ring is smaller than 8 TiB; so the word and the durable LSN together
//!   determine the end. (A thread that read one of them, was stopped while 8 TiB were written, and
//!   then read the other would compute a wrong end; no thread is stopped for so long.)
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
    end_word: CachePadded<AtomicU64>,
    /// The number of records, trailers included, in groups that were released.
    records: AtomicU64,
}

/// The word of LOCK-FREE-1: bits 0..40 are the end of the log in units of 8 bytes, modulo 2⁴⁰
/// (LOCK-FREE-2); bits 40..63 are the number of records with which space for the trailer was
/// reserved; bit 63 is set if the log is closed.
#[derive(Clone, Copy)]
struct EndWord(u64);

const UNIT: u64 = RECORD_ALIGN as u64;
const PAID_AT: u32 = 40;
const END: u64 = (1 << PAID_AT) - 1;
const CLOSED: u64 = 1 << 63;
/// The maximum of 23 bits.
const PAID_MAX: u64 = (1 << 23) - 1;

impl EndWord {
    fn new(end: u64, trailers_paid: u64, closed: u64) -> EndWord {
        // A count above the maximum is stored as the maximum, so that it never touches the other
        // bits. (The trailer space that the records above the maximum have reserved would not be
        // released, LOG-SPACE-3; a ring of the default size has no room for more than `PAID_MAX`
        // records.)
        EndWord((end / UNIT) & END | trailers_paid.min(PAID_MAX) << PAID_AT | closed)
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
        let word = EndWord::new(ring.durable().0, 0, 0);
        LockFreeInsertion {
            links: Links::new(ring.bytes()),
            end_word: CachePadded::new(AtomicU64::new(word.0)),
            records: AtomicU64::new(0),
            ring,
        }
    }

    /// Moves the end of the log. `next` computes the new word from the present one and its end, or
    /// returns `None`.
    #[inline]
    fn reserve(&self, next: impl Fn(EndWord, u64) -> Option<EndWord>) -> Option<(Region, EndWord)> {
        // Load this before the word: the end in the word is then at or after it (LOCK-FREE-2).
        let durable = self.ring.durable();
        let mut seen = self.end_word.load(Ordering::Relaxed);
        loop {
            let start = EndWord(seen).end(durable);
            let word = next(EndWord(seen), start)?;
            // AcqRel: an earlier reservation happens before a later one, as it would under a latch.
            // The transaction table relies on that order (TXN-TABLE-3). Release also pairs with the
            // Acquire in `end`. This order is not needed for the bytes of the records. A flusher
            // sees them through the links. A thread that reuses a part of the ring writes only
            // after the flusher has read the old bytes: `next` reads the durable LSN with Acquire
            // when it checks the room.
            match self.end_word.compare_exchange_weak(
                seen,
                word.0,
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => {
                    return Some((Region::between(start, word.end(durable)), EndWord(seen)));
                }
                Err(now) => seen = now,
            }
        }
    }
}

impl Insertion for LockFreeInsertion {
    fn insert(&self, draft: &Draft<'_>) -> Option<LsnSpan> {
        let (bytes, paid) = (draft.span_bytes(), draft.trailers_paid());
        let (region, _) = self.reserve(|word, start| {
            let end = start + bytes;
            let has_room = word.closed() == 0 && end <= self.ring.limit();
            has_room.then(|| EndWord::new(end, word.trailers_paid() + paid, 0))
        })?;
        let span = self.ring.fill(region, draft);
        self.links.mark(span);
        Some(span)
    }

    fn end_group(&self, group_start: Lsn, fields: TrailerFields) -> Option<Trailer> {
        let (region, before) = self.reserve(|word, start| {
            let end = fields.trailer_end(group_start, start)?;
            Some(EndWord::new(end, 0, word.closed()))
        })?;
        let trailer = fields.fill(&self.ring, region, before.trailers_paid());
        self.links.mark(trailer.span);
        Some(trailer)
    }

    #[inline]
    fn end(&self) -> Lsn {
        // In this order (LOCK-FREE-2). Acquire pairs with the Release in `reserve`.
        let durable = self.ring.durable();
        Lsn(EndWord(self.end_word.load(Ordering::Acquire)).end(durable))
    }

    fn close(&self) {
        // Relaxed: a reservation either precedes the close or sees it.
        self.end_word.fetch_or(CLOSED, Ordering::Relaxed);
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
        EndWord(self.end_word.load(Ordering::Relaxed)).trailers_paid()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_word_determines_one_end() {
        let lap = (END + 1) * UNIT;
        for durable in [0, 512, lap - 512, lap, 3 * lap - 1024, 5 * lap + 4096] {
            for ahead in [0, 8, 504, 1 << 20, 1 << 32] {
                let word = EndWord::new(durable + ahead, 7, CLOSED);
                assert_eq!(word.end(Lsn(durable)), durable + ahead);
                assert_eq!((word.trailers_paid(), word.closed()), (7, CLOSED));
            }
        }
    }

    #[test]
    fn too_many_trailers_paid_do_not_touch_the_end() {
        let word = EndWord::new(4096, PAID_MAX + 9, 0);
        assert_eq!((word.end(Lsn(0)), word.trailers_paid(), word.closed()), (4096, PAID_MAX, 0));
    }
}
