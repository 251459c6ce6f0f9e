//! Reservation under a short latch, fill outside of it.
//!
//! Algorithm 3 of "Aether: A Scalable Approach to Logging" (appendix A.1). The latch covers the
//! advance of the cursor alone, so its hold time does not depend on the record's size and large
//! fills run in parallel.
//!
//! Differs from the paper in the release: there a thread waits until its predecessor has released;
//! here it marks its own region as complete and continues (`links.rs`). The flusher, which alone
//! needs the gap-free prefix, walks the marks of its group.

use std::sync::Arc;

use clearway_base::{Lsn, LsnSpan};
use clearway_log::parts::{Draft, Insertion, Links, Ring, Trailer, TrailerFields};
use clearway_sync::{CachePadded, SpinLatch};

use super::cursor::{Cursor, Space};

/// Insertion with decoupled fill.
pub(super) struct DecoupledInsertion {
    space: Space,
    links: Links,
    cursor: CachePadded<SpinLatch<Cursor>>,
}

impl DecoupledInsertion {
    pub(super) fn new(ring: Arc<Ring>) -> DecoupledInsertion {
        let (space, cursor) = Space::new(ring);
        let links = Links::new(space.bytes());
        DecoupledInsertion { space, links, cursor: CachePadded::new(SpinLatch::new(cursor)) }
    }
}

impl Insertion for DecoupledInsertion {
    fn insert(&self, draft: &Draft<'_>) -> Option<LsnSpan> {
        // The guard is a temporary: the latch is free when this statement ends (INSERTION-4).
        let region = self.cursor.lock().take(draft, &self.space)?;
        let span = self.space.fill(region, draft);
        self.links.mark(span);
        Some(span)
    }

    fn end_group(&self, group_start: Lsn, fields: TrailerFields) -> Option<Trailer> {
        let taken = self.cursor.lock().take_trailer(group_start, fields, &self.space)?;
        let trailer = taken.fill(fields, &self.space);
        self.links.mark(trailer.span());
        Some(trailer)
    }

    #[inline]
    fn end(&self) -> Lsn {
        self.space.end()
    }

    fn close(&self) {
        self.cursor.lock().close();
    }

    fn await_released(&self, group: LsnSpan) {
        let _records = self.links.walk(group);
    }

    fn records(&self) -> u64 {
        self.cursor.lock().records()
    }

    fn trailers_paid(&self) -> u64 {
        self.cursor.lock().trailers_paid()
    }
}
