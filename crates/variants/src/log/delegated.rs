//! Consolidation, decoupled fill, and release in log order without waiting.
//!
//! The design of "Aether: A Scalable Approach to Logging" (appendix A.3, "CDME") against long
//! records that hold up all that come after them: a thread that is done before its predecessors
//! delegates its release to them (`releases.rs`).
//!
//! Here the flusher could walk links instead, and [`hybrid`](super::hybrid) does. The advantage of
//! delegation is that one word holds the LSN up to which the log is filled, at the price of one
//! more contended word for each group.

use std::sync::Arc;

use clearway_base::{Lsn, LsnSpan};
use clearway_log::parts::{Draft, Insertion, Region, Ring, Trailer, TrailerFields};
use clearway_sync::{CachePadded, SpinLatch};

use super::{
    Consolidation,
    array::{Array, Base, Member},
    cursor::{Cursor, Space},
    releases::Releases,
};

/// Insertion in groups, with decoupled fill and delegated release.
pub(super) struct DelegatedInsertion {
    space: Space,
    releases: Releases,
    array: Array,
    cursor: CachePadded<SpinLatch<Numbered>>,
}

/// The cursor, and the number of the next region.
struct Numbered {
    cursor: Cursor,
    next: u64,
}

impl Numbered {
    /// Numbers the region that ends at `end`.
    fn number(&mut self, end: Lsn, releases: &Releases) -> u64 {
        let number = self.next;
        self.next += 1;
        releases.enter(number, end);
        number
    }
}

impl DelegatedInsertion {
    pub(super) fn new(ring: Arc<Ring>, sizes: Consolidation) -> Self {
        let releases = Releases::new(ring.bytes(), ring.durable());
        let array = sizes.array(&ring);
        let (space, cursor) = Space::new(ring);
        let cursor = CachePadded::new(SpinLatch::new(Numbered { cursor, next: 0 }));
        DelegatedInsertion { space, releases, array, cursor }
    }

    fn insert_alone(&self, taken: &mut Numbered, draft: &Draft<'_>) -> Option<(Region, u64)> {
        let region = taken.cursor.take(draft, &self.space)?;
        let number = taken.number(region.span().end, &self.releases);
        Some((region, number))
    }

    fn fill_alone(&self, (region, number): (Region, u64), draft: &Draft<'_>) -> LsnSpan {
        let span = self.space.fill(region, draft);
        self.releases.release(number);
        span
    }

    /// Reserves space for the whole group. The leader has the cursor.
    fn take_for_all(&self, leader: &Member) -> Option<Base> {
        let mut taken = self.cursor.lock();
        let group = self.array.close(leader);
        let lsn = taken.cursor.take_group(&group.into(), &self.space);
        let base = lsn.map(|lsn| {
            let ticket = taken.number(Lsn(lsn.0 + group.bytes()), &self.releases);
            Base { lsn, ticket }
        });
        drop(taken);
        self.array.notify(leader, base, group);
        base
    }

    /// Out of line, to keep the path of threads that find the latch free short.
    #[inline(never)]
    fn insert_contended(&self, draft: &Draft<'_>) -> Option<LsnSpan> {
        if let Some(member) = self.array.join(draft) {
            return self.insert_with_others(member, draft);
        }
        let place = self.insert_alone(&mut self.cursor.lock(), draft)?;
        Some(self.fill_alone(place, draft))
    }

    fn insert_with_others(&self, member: Member, draft: &Draft<'_>) -> Option<LsnSpan> {
        let base =
            if member.leads() { self.take_for_all(&member) } else { self.array.wait(&member) };
        let fill = |base: Base| self.space.fill_member(base.lsn, member.offset, draft);
        let span = base.map(fill);
        if self.array.release(&member) {
            self.array.free(member);
            // All members have filled theirs: `Array::release` says so to the last of them.
            base.into_iter().for_each(|base| self.releases.release(base.ticket));
        }
        span
    }
}

impl Insertion for DelegatedInsertion {
    fn insert(&self, draft: &Draft<'_>) -> Option<LsnSpan> {
        // Without contention there is nothing to share. The latch is free before the fill
        // (INSERTION-4).
        if let Some(mut taken) = self.cursor.try_lock() {
            let place = self.insert_alone(&mut taken, draft)?;
            drop(taken);
            return Some(self.fill_alone(place, draft));
        }
        self.insert_contended(draft)
    }

    fn end_group(&self, group_start: Lsn, fields: TrailerFields) -> Option<Trailer> {
        let mut taken = self.cursor.lock();
        let place = taken.cursor.take_trailer(group_start, fields, &self.space)?;
        let number = taken.number(place.end(), &self.releases);
        drop(taken);
        let trailer = place.fill(fields, &self.space);
        self.releases.release(number);
        Some(trailer)
    }

    #[inline]
    fn end(&self) -> Lsn {
        self.space.end()
    }

    fn close(&self) {
        self.cursor.lock().cursor.close();
    }

    fn await_released(&self, group: LsnSpan) {
        self.releases.await_released(group.end);
    }

    fn records(&self) -> u64 {
        self.cursor.lock().cursor.records()
    }

    fn trailers_paid(&self) -> u64 {
        self.cursor.lock().cursor.trailers_paid()
    }
}

#[cfg(test)]
impl DelegatedInsertion {
    /// Inserts two records like two threads that form a group: in one group, if they fit.
    pub(super) fn insert_in_groups(&self, drafts: [&Draft<'_>; 2]) -> Option<[LsnSpan; 2]> {
        let [first, second] = drafts.map(|draft| self.array.join(draft).expect("there is room"));
        let first = self.insert_with_others(first, drafts[0])?;
        Some([first, self.insert_with_others(second, drafts[1])?])
    }
}
