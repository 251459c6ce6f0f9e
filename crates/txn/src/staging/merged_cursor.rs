//! The cursor of a fetch stage: the records of the tree, and what the overlay says of them.

use std::{cmp::Ordering, ops::Bound};

use clearway_base::Result;
use clearway_tree::{Cursor, Direction, KeyBounds, behind};

use super::FetchStage;
use crate::table::Table;

/// See the module.
pub(crate) struct MergedCursor {
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    direction: Direction,
    /// The tree's next record, if it was read already.
    next: Option<(Vec<u8>, Vec<u8>)>,
    /// True if the tree has no further record.
    is_at_end: bool,
    /// True if the cursor has come to the end of its range, where it stays.
    is_over: bool,
    /// The key that was passed last.
    passed: Option<Vec<u8>>,
    record: (Vec<u8>, Vec<u8>),
}

impl MergedCursor {
    /// The rest of what a cursor has not passed yet. Its steps pass it on to the cursor.
    pub(crate) fn continuing(cursor: &Cursor) -> MergedCursor {
        let rest = cursor.rest();
        let is_over = rest.is_none();
        let (lower, upper) = rest.unwrap_or((Bound::Unbounded, Bound::Unbounded));
        MergedCursor {
            lower: lower.map(<[u8]>::to_vec),
            upper: upper.map(<[u8]>::to_vec),
            direction: cursor.direction(),
            next: None,
            is_at_end: false,
            is_over,
            passed: None,
            record: Default::default(),
        }
    }

    /// The part of the range that was not passed yet; `None` at the end.
    pub(crate) fn rest_of_range(&self) -> Option<KeyBounds<'_>> {
        (!self.is_over).then(|| self.rest())
    }

    /// Goes forward, as [`Cursor::seek`] does.
    pub(crate) fn seek(&mut self, key: &[u8], cursor: &mut Cursor) {
        let (lower, upper) = behind(key, self.rest(), self.direction);
        (self.lower, self.upper) = (lower.map(<[u8]>::to_vec), upper.map(<[u8]>::to_vec));
        self.passed = None;
        let is_ahead = |next: &[u8]| match self.direction {
            Direction::Ascending => next >= key,
            Direction::Descending => next <= key,
        };
        if !self.next.as_ref().is_some_and(|(next, _)| is_ahead(next)) {
            self.next = None;
            cursor.seek(key);
        }
    }

    /// The record that the last [`advance`](MergedCursor::advance) came to.
    pub(crate) fn entry(&self) -> (&[u8], &[u8]) {
        (&self.record.0, &self.record.1)
    }

    /// Takes that record.
    pub(crate) fn take_entry(&mut self) -> (Vec<u8>, Vec<u8>) {
        std::mem::take(&mut self.record)
    }

    /// Goes to the next record. Returns false at the end of the range.
    ///
    /// # Errors
    /// Those of an operation of the fetch stage.
    pub(crate) async fn advance(
        &mut self,
        stage: &mut FetchStage,
        table: &Table,
        cursor: &mut Cursor,
    ) -> Result<bool> {
        while !self.is_over {
            if self.next.is_none() && !self.is_at_end {
                self.is_at_end = !stage.advance(table, cursor).await?;
                let (key, value) = cursor.entry();
                self.next = (!self.is_at_end).then(|| (key.to_vec(), value.to_vec()));
                // Noted before the next wait (STAGING-6).
                stage.keep_leaf(table, cursor).await;
            }
            let Some((key, value)) = self.take_first(stage, table) else {
                self.is_over = true;
                break;
            };
            self.passed = Some(key.clone());
            if let Some(value) = value {
                self.record = (key, value);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes the first of the tree's next record and the overlay's. Of one key, what the overlay
    /// says counts; its value is `None` if it was deleted.
    fn take_first(
        &mut self,
        stage: &FetchStage,
        table: &Table,
    ) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
        let written = stage.overlay.first(table.id(), self.rest(), self.direction);
        let order = match (&self.next, written) {
            (None, None) => return None,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((key, _)), Some((other, _))) => match self.direction {
                Direction::Ascending => key.as_slice().cmp(other),
                Direction::Descending => other.cmp(key),
            },
        };
        let written = written.map(|(key, value)| (key.to_vec(), value.map(<[u8]>::to_vec)));
        match order {
            Ordering::Less => self.next.take().map(|(key, value)| (key, Some(value))),
            Ordering::Equal => {
                self.next = None;
                written
            }
            Ordering::Greater => written,
        }
    }

    /// The part of the range that was not passed yet.
    fn rest(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        let (lower, upper) = (as_slice(&self.lower), as_slice(&self.upper));
        match (&self.passed, self.direction) {
            (None, _) => (lower, upper),
            (Some(passed), Direction::Ascending) => (Bound::Excluded(passed), upper),
            (Some(passed), Direction::Descending) => (lower, Bound::Excluded(passed)),
        }
    }
}

fn as_slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    match bound {
        Bound::Included(key) => Bound::Included(key),
        Bound::Excluded(key) => Bound::Excluded(key),
        Bound::Unbounded => Bound::Unbounded,
    }
}
