//! Completion marks of regions: a link from the start of each complete region to its end.
//!
//! Invariants:
//! - LINKS-1. A slot serves 32 consecutive bytes of the ring. Records are at least 32 bytes long,
//!   so at most one record starts in them in any lap.
//! - LINKS-2. A slot holds the end of the last complete record that started in its bytes, or 0.
//! - LINKS-3. A link is valid for a record that starts at `at` iff it is greater than `at`. A link
//!   that an earlier lap left in the slot is the end of a record that shares memory with the record
//!   at `at`. That record was durable before the region at `at` was handed out (RING-2), so its end
//!   is at most `at`.
//!
//! No thread clears a slot, and no two threads write the same slot at the same time, so a release
//! costs one store and no thread ever waits for its predecessor. This takes the place of the "wait
//! my turn" loop in Algorithm 3 of "Aether" (and of the delegation of its Algorithm 4). With that
//! loop, a thread that was descheduled while it filled its span stalled all threads with later
//! spans. Links from which the gap-free prefix follows are known from InnoDB's redo log; there a
//! dedicated thread advances the tail, here the flusher walks exactly the group it is about to
//! write.

use clearway_base::{Lsn, LsnSpan};
use clearway_sync::{
    Backoff,
    atomic::{AtomicU64, Ordering},
    invariant,
};

use crate::record::HEADER_BYTES;

/// The links of one ring.
pub struct Links {
    slots: Box<[AtomicU64]>,
}

impl Links {
    /// Creates the links for a ring of `ring_bytes`, a power of two.
    pub fn new(ring_bytes: u64) -> Links {
        let slots = ring_bytes as usize / HEADER_BYTES;
        Links { slots: (0..slots).map(|_| AtomicU64::new(0)).collect() }
    }

    #[inline]
    fn slot(&self, at: u64) -> &AtomicU64 {
        // The length is a power of two and the mask is the length less one, so the index is always
        // in bounds.
        &self.slots[(at as usize / HEADER_BYTES) & (self.slots.len() - 1)]
    }

    /// Marks a record as complete (LINKS-2). Called by the thread that filled it.
    #[inline]
    pub fn mark(&self, span: LsnSpan) {
        // Release pairs with the Acquire in `walk`: a thread that sees the link sees the record's
        // bytes.
        self.slot(span.start.0).store(span.end.0, Ordering::Release);
    }

    /// Follows the links from the group's start to its end.
    ///
    /// A missing link means that a thread is still filling its span, for some nanoseconds unless it
    /// was descheduled; so this spins a little and then yields the processor.
    ///
    /// Returns the number of records.
    pub fn walk(&self, group: LsnSpan) -> u64 {
        let (mut at, mut records) = (group.start, 0);
        while at < group.end {
            let next = self.follow(at);
            if !invariant(next > at, "LINKS-3: a link leads forwards") {
                break; // It would lead here again, for ever.
            }
            at = next;
            records += 1;
        }
        invariant(at == group.end, "links: a group ends where a record ends");
        records
    }

    #[inline]
    fn follow(&self, at: Lsn) -> Lsn {
        let backoff = Backoff::new();
        loop {
            if let Some(end) = self.end_of(at) {
                return end;
            }
            backoff.snooze();
        }
    }

    /// Returns the end of the record at `at`, if it is complete (LINKS-3).
    #[inline]
    fn end_of(&self, at: Lsn) -> Option<Lsn> {
        // Acquire pairs with the Release in `mark`.
        let end = self.slot(at.0).load(Ordering::Acquire);
        (end > at.0).then_some(Lsn(end))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn span(start: u64, end: u64) -> LsnSpan {
        LsnSpan { start: Lsn(start), end: Lsn(end) }
    }

    #[test]
    fn walk_waits_for_the_last_thread_that_fills() {
        let links = Links::new(4096);
        links.mark(span(0, 40));
        links.mark(span(72, 512));
        clearway_sync::thread::scope(|scope| {
            let walker = scope.spawn(|| links.walk(span(0, 512)));
            // Give a walker that does not wait the time to return.
            clearway_sync::thread::sleep(Duration::from_millis(5));
            assert!(!walker.is_finished());
            links.mark(span(40, 72));
        });
    }

    #[test]
    fn links_of_an_earlier_lap_are_not_followed() {
        let links = Links::new(4096);
        let mut at = 0;
        // Sizes that shift the record borders from lap to lap, so that most slots are stale.
        for size in (0..2000u64).map(|i| 32 + (i * 8) % 96) {
            assert_eq!(links.end_of(Lsn(at)), None, "a stale link at {at} is valid");
            links.mark(span(at, at + size));
            links.walk(span(at, at + size));
            at += size;
        }
    }
}
