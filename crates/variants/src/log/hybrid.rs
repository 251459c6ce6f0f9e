//! Consolidation and decoupled fill together: groups reserve space under a short latch, and every
//! member fills outside of it.
//!
//! The hybrid of "Aether: A Scalable Approach to Logging" (section 5.3, "CD"): the latch is taken
//! once for each group, for a time that does not depend on the records' size.
//!
//! Differs from the paper in the release as [`decoupled`](super::decoupled) does: members mark
//! their own regions as complete (`links.rs`), so no thread waits for the group before its own.

use std::sync::Arc;

use clearway_base::{Lsn, LsnSpan};
use clearway_log::parts::{Draft, Insertion, Links, Ring, Trailer, TrailerFields};
use clearway_sync::{CachePadded, SpinLatch};

use super::{
    Consolidation,
    array::{Array, Base, Member},
    cursor::{Cursor, Space},
};

/// Insertion in groups, with decoupled fill.
pub(super) struct HybridInsertion {
    space: Space,
    links: Links,
    array: Array,
    cursor: CachePadded<SpinLatch<Cursor>>,
}

impl HybridInsertion {
    pub(super) fn new(ring: Arc<Ring>, sizes: Consolidation) -> Self {
        let (links, array) = (Links::new(ring.bytes()), sizes.array(&ring));
        let (space, cursor) = Space::new(ring);
        HybridInsertion { space, links, array, cursor: CachePadded::new(SpinLatch::new(cursor)) }
    }

    fn mark(&self, span: LsnSpan) -> LsnSpan {
        self.links.mark(span);
        span
    }

    /// Reserves space for the whole group. The leader has the cursor.
    fn take_for_all(&self, leader: &Member) -> Option<Base> {
        let mut cursor = self.cursor.lock();
        let group = self.array.close(leader);
        let base = cursor.take_group(&group.into(), &self.space).map(|lsn| Base { lsn, ticket: 0 });
        drop(cursor);
        self.array.notify(leader, base, group);
        base
    }

    /// Out of line, to keep the path of threads that find the latch free short.
    #[inline(never)]
    fn insert_contended(&self, draft: &Draft<'_>) -> Option<LsnSpan> {
        if let Some(member) = self.array.join(draft) {
            return self.insert_with_others(member, draft);
        }
        let region = self.cursor.lock().take(draft, &self.space)?;
        Some(self.mark(self.space.fill(region, draft)))
    }

    fn insert_with_others(&self, member: Member, draft: &Draft<'_>) -> Option<LsnSpan> {
        let base =
            if member.leads() { self.take_for_all(&member) } else { self.array.wait(&member) };
        let fill = |base: Base| self.mark(self.space.fill_member(base.lsn, member.offset, draft));
        let span = base.map(fill);
        if self.array.release(&member) {
            self.array.free(member);
        }
        span
    }
}

impl Insertion for HybridInsertion {
    fn insert(&self, draft: &Draft<'_>) -> Option<LsnSpan> {
        // Without contention there is nothing to share. The latch is free before the fill
        // (INSERTION-4).
        if let Some(mut cursor) = self.cursor.try_lock() {
            let region = cursor.take(draft, &self.space)?;
            drop(cursor);
            return Some(self.mark(self.space.fill(region, draft)));
        }
        self.insert_contended(draft)
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

#[cfg(test)]
impl HybridInsertion {
    /// Inserts two records like two threads that form a group: in one group, if they fit.
    pub(super) fn insert_in_groups(&self, drafts: [&Draft<'_>; 2]) -> Option<[LsnSpan; 2]> {
        let [first, second] = drafts.map(|draft| self.array.join(draft).expect("there is room"));
        let first = self.insert_with_others(first, drafts[0])?;
        Some([first, self.insert_with_others(second, drafts[1])?])
    }
}
