//! The memory of a fetch stage, which the state of its transaction keeps for the next one.

mod overlay;
mod unlocked;

use clearway_base::{PageId, TreeId};
use clearway_lock::LockId;
use clearway_tree::LeafHint;

pub(crate) use overlay::Overlay;
pub(crate) use unlocked::Unlocked;

/// Elements of a list that is kept: more are given back.
const ELEMENTS_KEPT: usize = 1024;

/// See the module.
#[derive(Default)]
pub(crate) struct StageMemory {
    pub(crate) overlay: Overlay,
    pub(crate) tables: Vec<FetchedTable>,
    pub(crate) unlocked: Unlocked,
    /// The pages on the way to a key.
    pub(crate) way: Vec<PageId>,
}

/// A table that was used.
pub(crate) struct FetchedTable {
    tree: TreeId,
    /// The leaf of the last operation. It is kept in memory.
    pub(crate) hint: LeafHint,
    /// The last read that has found its key: the lock of the key, which stands for it, and the
    /// length of the value.
    pub(crate) read: Option<(LockId, usize)>,
}

impl StageMemory {
    /// Makes the lists empty for the next stage.
    pub(crate) fn clear(&mut self) {
        self.overlay.clear();
        clear(&mut self.tables);
        clear(&mut self.unlocked.wanted);
    }

    /// Returns the place of a table in `tables`.
    #[inline]
    pub(crate) fn place_of(&mut self, tree: TreeId) -> usize {
        let at = self.tables.iter().position(|table| table.tree == tree);
        at.unwrap_or_else(|| self.add_table(tree))
    }

    fn add_table(&mut self, tree: TreeId) -> usize {
        self.tables.push(FetchedTable { tree, hint: LeafHint::default(), read: None });
        self.tables.len() - 1
    }

    /// Notes that a read of the table at a place, the last operation, has found its key.
    #[inline]
    pub(crate) fn note_read(&mut self, at: usize, len: usize) {
        let read = self.unlocked.wanted.last().map(|(key, _)| (*key, len));
        self.tables[at].read = read;
    }
}

fn clear<T>(list: &mut Vec<T>) {
    if list.capacity() > ELEMENTS_KEPT {
        *list = Vec::new();
    } else {
        list.clear();
    }
}
