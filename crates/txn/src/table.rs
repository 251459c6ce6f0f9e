//! A handle on a table: the tree that holds it, and whether it still exists.

use std::{fmt, sync::Arc};

use clearway_base::TreeId;
use clearway_sync::atomic::{AtomicBool, Ordering};
use clearway_tree::Tree;

/// A table: ordered byte keys and their values. Cheap to clone, usable from every thread.
///
/// A handle outlives its table: after a drop every use of it is
/// [`Error::UnknownTable`](clearway_base::Error::UnknownTable).
#[derive(Clone)]
pub struct Table {
    inner: Arc<TableInner>,
}

struct TableInner {
    name: String,
    tree: Tree,
    /// Number of the opening it belongs to: a table of another database is unknown here.
    opening: u64,
    /// Set under the table's absolute lock; read by users after they hold an intent lock on the
    /// table, so either they see it or the drop waits for them.
    dropped: AtomicBool,
}

impl Table {
    pub(crate) fn new(name: String, tree: Tree, opening: u64) -> Table {
        let dropped = AtomicBool::new(false);
        Table { inner: Arc::new(TableInner { name, tree, opening, dropped }) }
    }

    /// Whether it is a table of the opening with this number.
    pub(crate) fn belongs_to(&self, opening: u64) -> bool {
        self.inner.opening == opening
    }

    /// The table's name.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Returns the id of the tree that holds the table. No two tables of one opening of the
    /// database have the same id, even if one of them has been dropped; a later opening may give
    /// the id of a dropped table to a new one.
    pub fn id(&self) -> TreeId {
        self.inner.tree.id()
    }

    pub(crate) fn tree(&self) -> &Tree {
        &self.inner.tree
    }

    pub(crate) fn is_dropped(&self) -> bool {
        // Acquire pairs with the Release in `mark_dropped`.
        self.inner.dropped.load(Ordering::Acquire)
    }

    pub(crate) fn mark_dropped(&self) {
        self.inner.dropped.store(true, Ordering::Release);
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("name", &self.name()).field("id", &self.id().0).finish()
    }
}
