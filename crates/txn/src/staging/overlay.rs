//! The writes of a fetch stage, which change no page.
//!
//! Invariant: OVERLAY-1. For each change since the beginning, `changes` has what the overlay said
//! of the key before, so that a rollback to a position restores the overlay as it was there.

use std::{
    collections::BTreeMap,
    ops::Bound::{self, Excluded, Included, Unbounded},
};

use clearway_base::TreeId;
use clearway_tree::Direction;

/// The contents of a key: `None` if it was deleted.
type Written = Option<Vec<u8>>;

/// See the module.
#[derive(Default)]
pub(super) struct Overlay {
    tables: BTreeMap<u32, BTreeMap<Vec<u8>, Written>>,
    changes: Vec<OverlayChange>,
}

struct OverlayChange {
    tree: u32,
    key: Vec<u8>,
    /// `None` if the overlay did not have the key.
    before: Option<Written>,
}

impl Overlay {
    /// Returns what was written of a key: `Some(None)` if it was deleted, `None` if it was not
    /// written.
    pub(super) fn get(&self, tree: TreeId, key: &[u8]) -> Option<Option<&[u8]>> {
        self.tables.get(&tree.0)?.get(key).map(Option::as_deref)
    }

    /// Sets the value of a key, or deletes it.
    pub(super) fn set(&mut self, tree: TreeId, key: &[u8], value: Option<&[u8]>) {
        let table = self.tables.entry(tree.0).or_default();
        let before = table.insert(key.to_vec(), value.map(<[u8]>::to_vec));
        self.changes.push(OverlayChange { tree: tree.0, key: key.to_vec(), before });
    }

    /// The number of changes so far.
    pub(super) fn position(&self) -> usize {
        self.changes.len()
    }

    /// Takes all changes back that came after `position`.
    pub(super) fn rollback_to(&mut self, position: usize) {
        while self.changes.len() > position
            && let Some(OverlayChange { tree, key, before }) = self.changes.pop()
        {
            let table = self.tables.entry(tree).or_default();
            match before {
                Some(before) => table.insert(key, before),
                None => table.remove(&key),
            };
        }
    }

    /// Returns the first written key of a range in the order of `direction`, and what was written.
    pub(super) fn first(
        &self,
        tree: TreeId,
        (lower, upper): (Bound<&[u8]>, Bound<&[u8]>),
        direction: Direction,
    ) -> Option<(&[u8], Option<&[u8]>)> {
        let table = self.tables.get(&tree.0)?;
        if is_empty(lower, upper) {
            return None;
        }
        let mut range = table.range::<[u8], _>((lower, upper));
        let (key, written) = match direction {
            Direction::Ascending => range.next()?,
            Direction::Descending => range.next_back()?,
        };
        Some((key, written.as_deref()))
    }
}

/// Returns true for bounds between which there is no key, for some of which `range` panics.
fn is_empty(lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> bool {
    match (lower, upper) {
        (Unbounded, _) | (_, Unbounded) => false,
        (Included(low), Included(high)) => low > high,
        (Included(low) | Excluded(low), Excluded(high)) | (Excluded(low), Included(high)) => {
            low >= high
        }
    }
}
