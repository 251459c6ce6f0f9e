//! The cursor of a fetch stage: the records of the tree, and what the overlay says of them.

use std::{cmp::Ordering, ops::Bound};

use clearway_base::{PageId, Result};
use clearway_tree::{Cursor, Direction, KeyBounds, behind};

use super::FetchStage;
use crate::table::Table;

/// See the module. The records of the tree stay in its cursor.
pub(crate) struct MergedCursor {
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    direction: Direction,
    /// True if the record of the tree's cursor was not passed yet.
    is_ahead: bool,
    /// True if the tree has no further record.
    is_at_end: bool,
    /// True if the cursor has come to the end of its range, where it stays.
    is_over: bool,
    /// True if a key was passed: then `passed` is the last one.
    has_passed: bool,
    passed: Vec<u8>,
    /// True if the last record is that of the tree's cursor. Otherwise its key is `passed`.
    is_of_tree: bool,
    value: Vec<u8>,
    /// The leaf that was kept last.
    leaf: Option<PageId>,
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
            is_ahead: false,
            is_at_end: false,
            is_over,
            has_passed: false,
            passed: Vec::new(),
            is_of_tree: false,
            value: Vec::new(),
            leaf: None,
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
        self.has_passed = false;
        let next = cursor.entry().0;
        let is_behind = match self.direction {
            Direction::Ascending => next < key,
            Direction::Descending => next > key,
        };
        if !self.is_ahead || is_behind {
            self.is_ahead = false;
            cursor.seek(key);
        }
    }

    /// The record that the last step came to.
    pub(crate) fn entry<'c>(&'c self, cursor: &'c Cursor) -> (&'c [u8], &'c [u8]) {
        if self.is_of_tree { cursor.entry() } else { (&self.passed, &self.value) }
    }

    /// Takes that record.
    pub(crate) fn take_entry(&mut self, cursor: &mut Cursor) -> (Vec<u8>, Vec<u8>) {
        match self.is_of_tree {
            true => cursor.take_entry(),
            false => (self.passed.clone(), std::mem::take(&mut self.value)),
        }
    }

    /// Goes to the next record. Returns false at the end of the range, and `None` if a page is
    /// absent: then it goes on by [`go_on`](MergedCursor::go_on).
    ///
    /// # Errors
    /// Those of an operation of the fetch stage.
    pub(crate) fn advance_at_once(
        &mut self,
        stage: &mut FetchStage,
        table: &Table,
        cursor: &mut Cursor,
    ) -> Result<Option<bool>> {
        while !self.is_over {
            if !self.is_ahead && !self.is_at_end {
                let Some(found) = stage.advance_at_once(table, cursor)? else { return Ok(None) };
                (self.is_ahead, self.is_at_end) = (found, !found);
            }
            if self.leaf != cursor.leaf() {
                if !stage.keep_leaf_at_once(table, cursor) {
                    return Ok(None);
                }
                self.leaf = cursor.leaf();
            }
            match self.pass_first(stage, table, cursor) {
                Some(true) => return Ok(Some(true)),
                Some(false) => {}
                None => self.is_over = true,
            }
        }
        Ok(Some(false))
    }

    /// Goes to the next record after all, once pages were read.
    ///
    /// # Errors
    /// Those of an operation of the fetch stage.
    #[cold]
    pub(crate) async fn go_on(
        &mut self,
        stage: &mut FetchStage,
        table: &Table,
        cursor: &mut Cursor,
    ) -> Result<bool> {
        loop {
            if !self.is_ahead && !self.is_at_end {
                self.is_at_end = !stage.advance(table, cursor).await?;
                self.is_ahead = !self.is_at_end; // Noted before the next wait (STAGING-6).
            }
            if self.leaf != cursor.leaf() {
                self.leaf = cursor.leaf();
                stage.keep_leaf(table, cursor).await;
            }
            if let Some(found) = self.advance_at_once(stage, table, cursor)? {
                return Ok(found);
            }
        }
    }

    /// Passes the first of the tree's next record and the overlay's. Of one key, what the overlay
    /// says counts. Returns false if the key was deleted, and `None` if there is none.
    fn pass_first(
        &mut self,
        stage: &mut FetchStage,
        table: &Table,
        cursor: &Cursor,
    ) -> Option<bool> {
        let written = stage.memory.overlay.first(table.id(), self.rest(), self.direction);
        let key = cursor.entry().0;
        let order = match (self.is_ahead, written) {
            (false, None) => return None,
            (true, None) => Ordering::Less,
            (false, Some(_)) => Ordering::Greater,
            (true, Some((other, _))) => match self.direction {
                Direction::Ascending => key.cmp(other),
                Direction::Descending => other.cmp(key),
            },
        };
        self.is_of_tree = order == Ordering::Less;
        self.is_ahead &= order == Ordering::Greater;
        let (key, value) = match written {
            Some((key, value)) if !self.is_of_tree => (key, value),
            _ => (key, Some(&[][..])),
        };
        self.has_passed = true;
        self.passed.clear();
        self.passed.extend_from_slice(key);
        if !self.is_of_tree {
            self.value.clear();
            self.value.extend_from_slice(value.unwrap_or_default());
        }
        Some(value.is_some())
    }

    /// The part of the range that was not passed yet.
    fn rest(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        let (lower, upper) = (as_slice(&self.lower), as_slice(&self.upper));
        let passed = Bound::Excluded(&self.passed[..]);
        match self.direction {
            _ if !self.has_passed => (lower, upper),
            Direction::Ascending => (passed, upper),
            Direction::Descending => (lower, passed),
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
