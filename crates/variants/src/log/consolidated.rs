//! Consolidation: inserters that find the mutex taken form a group, and one of them reserves space
//! for all.
//!
//! Algorithm 2 of "Aether: A Scalable Approach to Logging" (appendix A.1): contention for the mutex
//! is bounded by the places of the array and not by the number of threads. Fills of one group run
//! in parallel; groups are still serialised, each as long as its largest record.
//!
//! Differences: the leader holds the mutex until all members of its group are done, while in the
//! paper the last member releases it: a mutex belongs to a thread.

use std::sync::Arc;

use clearway_base::{Lsn, LsnSpan};
use clearway_log::parts::{Draft, Insertion, Ring, Trailer, TrailerFields};
use clearway_sync::Mutex;

use super::{
    Consolidation,
    array::{Array, Base, Member},
    cursor::{Cursor, Space},
};

/// Insertion in groups, under one mutex.
pub(super) struct ConsolidatedInsertion {
    space: Space,
    array: Array,
    cursor: Mutex<Cursor>,
}

impl ConsolidatedInsertion {
    pub(super) fn new(ring: Arc<Ring>, sizes: Consolidation) -> Self {
        let array = sizes.array(&ring);
        let (space, cursor) = Space::new(ring);
        ConsolidatedInsertion { space, array, cursor: Mutex::new(cursor) }
    }

    fn fill(&self, base: Base, member: &Member, draft: &Draft<'_>) -> LsnSpan {
        self.space.fill_member(base.lsn, member.offset, draft)
    }

    /// Reserves space for the whole group and keeps the mutex until all members have filled theirs.
    fn lead(&self, leader: Member, draft: &Draft<'_>) -> Option<LsnSpan> {
        let mut cursor = self.cursor.lock();
        let group = self.array.close(&leader);
        let base = cursor.take_group(&group.into(), &self.space).map(|lsn| Base { lsn, ticket: 0 });
        self.array.notify(&leader, base, group);
        let span = base.map(|base| self.fill(base, &leader, draft));
        if !self.array.release(&leader) {
            self.array.wait_for_all(&leader);
        }
        self.array.free(leader);
        span
    }

    fn follow(&self, member: &Member, draft: &Draft<'_>) -> Option<LsnSpan> {
        let span = self.array.wait(member).map(|base| self.fill(base, member, draft));
        self.array.release(member);
        span
    }
}

impl Insertion for ConsolidatedInsertion {
    fn insert(&self, draft: &Draft<'_>) -> Option<LsnSpan> {
        // Without contention there is nothing to share.
        let alone = self.cursor.try_lock();
        let joined = if alone.is_none() { self.array.join(draft) } else { None };
        match joined {
            Some(leader) if leader.leads() => self.lead(leader, draft),
            Some(member) => self.follow(&member, draft),
            None => {
                let mut cursor = alone.unwrap_or_else(|| self.cursor.lock());
                let region = cursor.take(draft, &self.space)?;
                Some(self.space.fill(region, draft))
            }
        }
    }

    fn end_group(&self, group_start: Lsn, fields: TrailerFields) -> Option<Trailer> {
        let mut cursor = self.cursor.lock();
        let taken = cursor.take_trailer(group_start, fields, &self.space)?;
        Some(taken.fill(fields, &self.space))
    }

    #[inline]
    fn end(&self) -> Lsn {
        self.space.end()
    }

    fn close(&self) {
        self.cursor.lock().close();
    }

    /// Nothing to wait for: the thread that ended the group held the mutex after each fill in it
    /// (INSERTION-2).
    fn await_released(&self, _group: LsnSpan) {}

    fn records(&self) -> u64 {
        self.cursor.lock().records()
    }

    fn trailers_paid(&self) -> u64 {
        self.cursor.lock().trailers_paid()
    }
}

#[cfg(test)]
impl ConsolidatedInsertion {
    /// Inserts in a group, each record in one of its own: a leader waits for its members, so one
    /// thread cannot be two of them.
    pub(super) fn insert_in_groups(&self, drafts: [&Draft<'_>; 2]) -> Option<[LsnSpan; 2]> {
        let insert = |draft| self.lead(self.array.join(draft).expect("the array is empty"), draft);
        Some([insert(drafts[0])?, insert(drafts[1])?])
    }
}
