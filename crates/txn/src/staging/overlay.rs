//! The writes of a fetch stage, which change no page.
//!
//! Invariant: OVERLAY-1. For each change since the first [`position`](Overlay::position) that a
//! caller may return to, `changes` has what the overlay said of the key before, so that a rollback
//! to it restores the overlay as it was there.

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
    /// By table. A closure writes to few tables.
    tables: Vec<(TreeId, BTreeMap<Vec<u8>, Written>)>,
    changes: Vec<OverlayChange>,
    /// True if there is a position to return to.
    is_recorded: bool,
}

struct OverlayChange {
    tree: TreeId,
    key: Vec<u8>,
    /// `None` if the overlay did not have the key.
    before: Option<Written>,
}

impl Overlay {
    /// An overlay that can be rolled back to any number of changes.
    pub(super) fn recorded() -> Overlay {
        Overlay { is_recorded: true, ..Overlay::default() }
    }

    /// Returns what was written of a key: `Some(None)` if it was deleted, `None` if it was not
    /// written.
    pub(super) fn get(&self, tree: TreeId, key: &[u8]) -> Option<Option<&[u8]>> {
        self.written(tree)?.get(key).map(Option::as_deref)
    }

    fn written(&self, tree: TreeId) -> Option<&BTreeMap<Vec<u8>, Written>> {
        self.tables.iter().find(|(of, _)| *of == tree).map(|(_, written)| written)
    }

    fn written_mut(&mut self, tree: TreeId) -> &mut BTreeMap<Vec<u8>, Written> {
        let at = self.tables.iter().position(|(of, _)| *of == tree);
        let at = at.unwrap_or_else(|| {
            self.tables.push((tree, BTreeMap::new()));
            self.tables.len() - 1
        });
        &mut self.tables[at].1
    }

    /// Sets the value of a key, or deletes it.
    pub(super) fn set(&mut self, tree: TreeId, key: &[u8], value: Option<&[u8]>) {
        let before = self.written_mut(tree).insert(key.to_vec(), value.map(<[u8]>::to_vec));
        if self.is_recorded {
            self.changes.push(OverlayChange { tree, key: key.to_vec(), before });
        }
    }

    /// Returns the number of changes so far, from the first call on.
    pub(super) fn position(&mut self) -> usize {
        self.is_recorded = true;
        self.changes.len()
    }

    /// Takes all changes back that came after `position`.
    pub(super) fn rollback_to(&mut self, position: usize) {
        while self.changes.len() > position
            && let Some(OverlayChange { tree, key, before }) = self.changes.pop()
        {
            let table = self.written_mut(tree);
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
        let table = self.written(tree)?;
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
