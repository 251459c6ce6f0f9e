//! The baseline: one mutex around the whole insertion.
//!
//! Algorithm 1 of "Aether: A Scalable Approach to Logging" (appendix A.1): the critical section
//! reserves, fills and releases, so it is as long as the record. Release in LSN order needs no
//! extra work, because a trailer is reserved under the same mutex after every fill before it.

use std::sync::Arc;

use clearway_base::{Lsn, LsnSpan};
use clearway_log::parts::{Draft, Insertion, Ring, Trailer, TrailerFields};
use clearway_sync::Mutex;

use super::cursor::{Cursor, Space};

/// Insertion under one mutex.
pub(super) struct MutexInsertion {
    space: Space,
    cursor: Mutex<Cursor>,
}

impl MutexInsertion {
    pub(super) fn new(ring: Arc<Ring>) -> MutexInsertion {
        let (space, cursor) = Space::new(ring);
        MutexInsertion { space, cursor: Mutex::new(cursor) }
    }
}

impl Insertion for MutexInsertion {
    fn insert(&self, draft: &Draft<'_>) -> Option<LsnSpan> {
        let mut cursor = self.cursor.lock();
        let region = cursor.take(draft, &self.space)?;
        Some(self.space.fill(region, draft))
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
