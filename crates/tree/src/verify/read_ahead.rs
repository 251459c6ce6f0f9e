//! Read-ahead of a walk along a level: the nodes behind the one that is checked next are read while
//! that is checked.
//!
//! Nothing depends on what was read ahead: a node that could not be read, or was damaged, is
//! absent, and the walk reads it itself.

use clearway_base::PageId;

use crate::Tree;
use crate::descend::Located;
use crate::node::Node;

/// Nodes of a window: as many as the I/O queue has in flight if they are not adjacent.
const WINDOW: usize = 64;

/// The window of a level's walk.
pub(super) struct LevelWindow {
    /// The branch that leads to its nodes.
    parent: PageId,
    /// The node in its middle, from which on another window is read.
    trigger: PageId,
}

impl Default for LevelWindow {
    fn default() -> LevelWindow {
        LevelWindow { parent: PageId::NONE, trigger: PageId::NONE }
    }
}

impl Tree {
    /// Called before the walk along `level` reads the node `at`.
    pub(super) fn read_level_ahead(&self, at: Located, level: u8, window: &mut LevelWindow) {
        let is_due = at.above != window.parent || at.page == window.trigger;
        if at.is_foster || at.above == PageId::NONE || !is_due {
            return;
        }
        let nodes = self.children_from(at, level);
        let trigger = nodes.get(WINDOW / 2).copied().unwrap_or(PageId::NONE);
        *window = LevelWindow { parent: at.above, trigger };
        self.pool.load_ahead(&nodes);
    }

    /// Returns the children of a node's parent from the node on, at most a window of them.
    fn children_from(&self, at: Located, level: u8) -> Vec<PageId> {
        let Some((parent, first)) = self.resident_branch_to(at.above, at.page, level + 1) else {
            return Vec::new();
        };
        let node = Node::new(&*parent);
        let most = WINDOW.min(self.pool.read_ahead_max());
        (first..node.count()).take(most).map(|slot| node.child(slot)).collect()
    }
}
