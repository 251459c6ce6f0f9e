//! The writes of a fetch stage, which change no page.
//!
//! Invariant: OVERLAY-1. For each change since the first [`position`](Overlay::position) that a
//! caller may return to, `changes` has what the overlay said of the key before, so that a rollback
//! to it restores the overlay as it was there.
//!
//! Keys and values are one after the other in `bytes`. A key is looked for among all entries while
//! they are few. Then, and for scans, the entries are sorted by an index in pieces of bounded
//! length, so that an insertion moves little, however many entries there are. A rollback takes back
//! the newest changes, so the entries and bytes that it removes are the last ones.

use std::{
    cmp::Ordering,
    ops::Bound::{self, Excluded, Included, Unbounded},
};

use clearway_base::TreeId;
use clearway_tree::Direction;

/// The number of entries beyond which the index is used to find a key.
const LOOKED_THROUGH_MAX: usize = 24;

/// Upper bound on the entries in a piece of the index.
const PIECE_MAX: usize = 256;

/// An overlay that is emptied keeps its memory if it has at most this number of bytes.
const BYTES_KEPT: usize = 64 << 10;

/// See the module.
#[derive(Default)]
pub(crate) struct Overlay {
    /// Keys and values, also those that were replaced.
    bytes: Vec<u8>,
    /// One for each key that was written, in the order of the first writes.
    entries: Vec<OverlayEntry>,
    /// Numbers of the first `indexed` entries, sorted by table and key. No piece is empty if there
    /// are several.
    index: Vec<Vec<u32>>,
    indexed: usize,
    /// A bit for each table that was written, the same one for every 64th.
    tables: u64,
    changes: Vec<OverlayChange>,
    /// True if there is a position to return to.
    is_recorded: bool,
}

/// A part of `bytes`.
#[derive(Clone, Copy)]
struct OverlayPart {
    at: usize,
    len: usize,
}

/// A key that was written.
struct OverlayEntry {
    tree: TreeId,
    key: OverlayPart,
    /// `None` if it was deleted.
    value: Option<OverlayPart>,
}

struct OverlayChange {
    entry: u32,
    /// `None` if the overlay did not have the key.
    before: Option<Option<OverlayPart>>,
    /// The length of `bytes` before.
    len: usize,
}

/// A place in the index.
#[derive(Clone, Copy)]
struct IndexPlace {
    piece: usize,
    at: usize,
}

impl Overlay {
    /// An overlay that can be rolled back to any number of changes.
    pub(crate) fn recorded() -> Overlay {
        Overlay { is_recorded: true, ..Overlay::default() }
    }

    /// Makes the overlay empty.
    pub(crate) fn clear(&mut self) {
        let is_small = self.bytes.capacity() <= BYTES_KEPT
            && self.index.len() <= 1
            && self.changes.capacity() <= PIECE_MAX;
        if !is_small {
            *self = Overlay::default();
            return;
        }
        self.bytes.clear();
        self.entries.clear();
        self.index.iter_mut().for_each(Vec::clear);
        (self.indexed, self.tables) = (0, 0);
        self.changes.clear();
        self.is_recorded = false;
    }

    /// Returns what was written of a key: `Some(None)` if it was deleted, `None` if it was not
    /// written.
    #[inline]
    pub(crate) fn get(&mut self, tree: TreeId, key: &[u8]) -> Option<Option<&[u8]>> {
        let entry = self.find(tree, key)?;
        Some(self.value_of(&self.entries[entry as usize]))
    }

    /// Returns the entry of a key.
    #[inline]
    pub(crate) fn find(&mut self, tree: TreeId, key: &[u8]) -> Option<u32> {
        if self.tables & bit_of(tree) == 0 {
            return None;
        }
        if self.entries.len() > LOOKED_THROUGH_MAX {
            return self.find_in_index(tree, key);
        }
        let is_it = |entry: &OverlayEntry| {
            entry.tree == tree && entry.key.len == key.len() && self.part(entry.key) == key
        };
        self.entries.iter().position(is_it).map(|entry| entry as u32)
    }

    /// Returns true if the key of an entry was not deleted.
    pub(crate) fn is_present(&self, entry: u32) -> bool {
        self.entries[entry as usize].value.is_some()
    }

    /// Sets the value of a key, or deletes it.
    pub(crate) fn set(&mut self, tree: TreeId, key: &[u8], value: Option<&[u8]>) {
        let entry = self.find(tree, key);
        self.set_at(entry, tree, key, value);
    }

    /// As [`set`](Overlay::set), if it is known what [`find`](Overlay::find) returns.
    pub(crate) fn set_at(
        &mut self,
        entry: Option<u32>,
        tree: TreeId,
        key: &[u8],
        value: Option<&[u8]>,
    ) {
        let len = self.bytes.len();
        let (entry, before) = match entry {
            Some(number) => {
                let value = value.map(|value| self.append(value));
                let entry = &mut self.entries[number as usize];
                (number, Some(std::mem::replace(&mut entry.value, value)))
            }
            None => {
                self.tables |= bit_of(tree);
                let key = self.append(key);
                let value = value.map(|value| self.append(value));
                self.entries.push(OverlayEntry { tree, key, value });
                (self.entries.len() as u32 - 1, None)
            }
        };
        if self.is_recorded {
            self.changes.push(OverlayChange { entry, before, len });
        }
    }

    /// Returns the number of changes so far, from the first call on.
    pub(crate) fn position(&mut self) -> usize {
        self.is_recorded = true;
        self.changes.len()
    }

    /// Takes all changes back that came after `position`.
    pub(crate) fn rollback_to(&mut self, position: usize) {
        while self.changes.len() > position
            && let Some(OverlayChange { entry, before, len }) = self.changes.pop()
        {
            match before {
                Some(before) => self.entries[entry as usize].value = before,
                None => self.remove_newest(),
            }
            self.bytes.truncate(len);
        }
    }

    /// Returns the first written key of a range in the order of `direction`, and what was written.
    pub(crate) fn first(
        &mut self,
        tree: TreeId,
        (lower, upper): (Bound<&[u8]>, Bound<&[u8]>),
        direction: Direction,
    ) -> Option<(&[u8], Option<&[u8]>)> {
        if self.entries.is_empty() {
            return None;
        }
        self.complete_index();
        let is_below = |entry: &OverlayEntry| match lower {
            Unbounded => entry.tree < tree,
            Included(low) => self.order(entry, tree, low) == Ordering::Less,
            Excluded(low) => self.order(entry, tree, low) != Ordering::Greater,
        };
        let is_up_to_end = |entry: &OverlayEntry| match upper {
            Unbounded => entry.tree <= tree,
            Included(high) => self.order(entry, tree, high) != Ordering::Greater,
            Excluded(high) => self.order(entry, tree, high) == Ordering::Less,
        };
        let number = match direction {
            Direction::Ascending => {
                let IndexPlace { piece, at } = self.place_after(is_below);
                self.index.get(piece)?.get(at)?
            }
            Direction::Descending => match self.place_after(is_up_to_end) {
                IndexPlace { piece, at: 0 } => self.index[..piece].last()?.last()?,
                IndexPlace { piece, at } => &self.index[piece][at - 1],
            },
        };
        let entry = &self.entries[*number as usize];
        // The other end of the range, which may be empty.
        let is_in_range = entry.tree == tree && !is_below(entry) && is_up_to_end(entry);
        is_in_range.then(|| (self.part(entry.key), self.value_of(entry)))
    }

    #[inline]
    fn part(&self, OverlayPart { at, len }: OverlayPart) -> &[u8] {
        &self.bytes[at..at + len]
    }

    #[inline]
    fn value_of(&self, entry: &OverlayEntry) -> Option<&[u8]> {
        entry.value.map(|value| self.part(value))
    }

    fn append(&mut self, part: &[u8]) -> OverlayPart {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(part);
        OverlayPart { at, len: part.len() }
    }

    #[inline]
    fn order(&self, entry: &OverlayEntry, tree: TreeId, key: &[u8]) -> Ordering {
        entry.tree.cmp(&tree).then_with(|| self.part(entry.key).cmp(key))
    }

    /// Returns the place of the first entry for which `is_before` is false. It is true for those
    /// before that place.
    #[inline]
    fn place_after(&self, is_before: impl Fn(&OverlayEntry) -> bool) -> IndexPlace {
        let is_before = |number: &u32| is_before(&self.entries[*number as usize]);
        let piece = match &self.index[..] {
            [_] => 0,
            pieces => pieces.partition_point(|piece| piece.last().is_some_and(is_before)),
        };
        let at = self.index.get(piece).map_or(0, |piece| piece.partition_point(is_before));
        IndexPlace { piece, at }
    }

    fn find_in_index(&mut self, tree: TreeId, key: &[u8]) -> Option<u32> {
        self.complete_index();
        let IndexPlace { piece, at } = self.place_of(tree, key);
        let number = *self.index.get(piece)?.get(at)?;
        let entry = &self.entries[number as usize];
        (entry.tree == tree && self.part(entry.key) == key).then_some(number)
    }

    /// Returns the place of a key, or where it would be.
    fn place_of(&self, tree: TreeId, key: &[u8]) -> IndexPlace {
        self.place_after(|entry| self.order(entry, tree, key) == Ordering::Less)
    }

    /// Inserts all entries into the index.
    #[inline]
    fn complete_index(&mut self) {
        while let Some(entry) = self.entries.get(self.indexed) {
            let place = self.place_of(entry.tree, self.part(entry.key));
            self.insert(place, self.indexed as u32);
            self.indexed += 1;
        }
    }

    /// Inserts an entry into the index.
    fn insert(&mut self, IndexPlace { piece: number, at }: IndexPlace, entry: u32) {
        if number == self.index.len() {
            match self.index.last_mut() {
                Some(last) => last.push(entry), // The place is behind all entries.
                None => self.index.push(vec![entry]),
            }
        } else {
            self.index[number].insert(at, entry);
        }
        let number = number.min(self.index.len() - 1);
        let piece = &mut self.index[number];
        if piece.len() > PIECE_MAX {
            let upper = piece.split_off(PIECE_MAX / 2);
            self.index.insert(number + 1, upper);
        }
    }

    /// Removes the entry that was added last.
    fn remove_newest(&mut self) {
        let Some(newest) = self.entries.last() else { return };
        if self.indexed == self.entries.len() {
            let IndexPlace { piece, at } = self.place_of(newest.tree, self.part(newest.key));
            self.index[piece].remove(at);
            if self.index[piece].is_empty() && self.index.len() > 1 {
                self.index.remove(piece);
            }
            self.indexed -= 1;
        }
        self.entries.pop();
    }
}

fn bit_of(tree: TreeId) -> u64 {
    1 << (tree.0 % 64)
}

#[cfg(test)]
mod tests;
