//! The tables that a transaction uses: for each, the intent lock and the place of the last
//! operation.

use std::ops::{Deref, DerefMut};

use clearway_base::TreeId;
use clearway_lock::{IntentMode, RangeMode};
use clearway_tree::LeafHint;

/// The tables that a transaction has used, and some that earlier ones of its state have used.
#[derive(Default)]
pub(super) struct UsedTables {
    list: Vec<TableUse>,
    /// By the lowest bits of a tree's id: the index at which the tree's table probably is.
    guesses: [u8; GUESSES],
}

/// Enough that the tables of a transaction rarely share one.
const GUESSES: usize = 32;

impl UsedTables {
    /// Returns the index of a tree's table.
    #[inline]
    pub(super) fn find(&self, tree: TreeId) -> Option<usize> {
        let guess = usize::from(self.guesses[tree.0 as usize % GUESSES]);
        match self.list.get(guess) {
            Some(used) if used.tree == tree => Some(guess),
            _ => self.search(tree),
        }
    }

    #[inline(never)]
    fn search(&self, tree: TreeId) -> Option<usize> {
        self.list.iter().position(|used| used.tree == tree)
    }

    /// Adds a tree's table, which is not there yet, and returns its index.
    pub(super) fn add(&mut self, tree: TreeId) -> usize {
        let at = self.list.len();
        self.list.push(TableUse::new(tree));
        // Of tables with the same low bits, the guess names the last one; others are searched for.
        self.guesses[tree.0 as usize % GUESSES] = u8::try_from(at).unwrap_or(u8::MAX);
        at
    }

    pub(super) fn clear(&mut self) {
        self.list.clear();
    }
}

impl Deref for UsedTables {
    type Target = [TableUse];

    #[inline]
    fn deref(&self) -> &[TableUse] {
        &self.list
    }
}

impl DerefMut for UsedTables {
    #[inline]
    fn deref_mut(&mut self) -> &mut [TableUse] {
        &mut self.list
    }
}

/// The part of a transaction state that concerns one table.
pub(super) struct TableUse {
    pub(super) tree: TreeId,
    /// The transaction's intent or absolute lock.
    pub(super) intent: Option<IntentMode>,
    /// The range-lock mode that the absolute locks on the table and the database imply for each key
    /// (TXN-6).
    pub(super) cover: RangeMode,
    /// The number of range locks that the transaction has taken here since it last tried to
    /// escalate; counted only where locks escalate.
    pub(super) locks: usize,
    /// The leaf of the last operation, maybe an earlier transaction's. Only ever a hint.
    pub(super) hint: LeafHint,
    /// The leaf in which the previous transaction ended.
    last: LeafHint,
    /// Raised, up to 8, when a transaction begins in another leaf than the one in which the
    /// transaction before it ended; lowered when it begins in the same leaf. If the count is high,
    /// a hint from the transaction before costs more than it saves.
    hint_misses: u8,
    /// Whether the running transaction has not used the table yet.
    is_first: bool,
}

/// From this count of hint misses on, hints are not handed on.
const HINT_MISSES_MAX: u8 = 2;

impl TableUse {
    pub(super) fn new(tree: TreeId) -> TableUse {
        let none = LeafHint::default();
        TableUse {
            tree,
            intent: None,
            cover: RangeMode::NN,
            locks: 0,
            hint: none,
            last: none,
            hint_misses: 0,
            is_first: true,
        }
    }

    /// Records that the running transaction now holds `mode` on the table, and `database` on the
    /// database.
    #[inline]
    pub(super) fn hold(&mut self, mode: IntentMode, database: Option<IntentMode>) {
        let mode = self.intent.map_or(mode, |held| held.supremum(mode));
        self.intent = Some(mode);
        if mode.is_absolute() || database.is_some_and(IntentMode::is_absolute) {
            self.cover_keys(mode, database);
        }
    }

    #[cold]
    fn cover_keys(&mut self, mode: IntentMode, database: Option<IntentMode>) {
        let above = database.map_or(RangeMode::NN, IntentMode::on_every_key);
        self.cover = mode.on_every_key().supremum(above);
    }

    /// An operation has ended in the leaf `hint`.
    #[inline]
    pub(super) fn note(&mut self, hint: LeafHint) {
        if self.is_first {
            self.is_first = false;
            let is_hit = hint.is_same_leaf(&self.last);
            self.hint_misses = match is_hit {
                true => self.hint_misses.saturating_sub(1),
                false => (self.hint_misses + 1).min(8),
            };
        }
        self.hint = hint;
    }

    /// The transaction has ended.
    #[inline]
    pub(super) fn end(&mut self) {
        if self.intent.take().is_some() {
            self.cover = RangeMode::NN;
            self.locks = 0;
            self.last = self.hint;
            self.is_first = true;
            if self.hint_misses >= HINT_MISSES_MAX {
                self.hint = LeafHint::default();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_found_whatever_their_ids_share() {
        let mut tables = UsedTables::default();
        let ids: Vec<TreeId> = (0..600).map(|n| TreeId(n * 16 % 599)).collect();
        for (at, id) in ids.iter().enumerate() {
            assert_eq!(tables.find(*id), ids[..at].iter().position(|other| other == id));
            if tables.find(*id).is_none() {
                assert_eq!(tables.add(*id), at);
            }
        }
        for id in &ids[..599] {
            let at = tables.find(*id).unwrap();
            assert_eq!(tables[at].tree, *id);
        }
        tables.clear();
        assert!(ids.iter().all(|id| tables.find(*id).is_none()));
    }
}
