//! The check that an optimistic descent makes, in debug builds, of each node that it reads without
//! a latch, except the one at which it begins.

use clearway_base::Result;
use clearway_pool::OptimisticPage;

use crate::Tree;
use crate::node::{Node, Place};

impl Tree {
    /// Checks that the node behind `view` is what the validated pointer to it promises: a node of
    /// this tree, on this level, whose fences enclose the key. The pointer was validated after the
    /// view had been opened (descent invariant 1), so a mismatch in a view that still validates is
    /// damage and not a race.
    ///
    /// # Errors
    /// [`CorruptPage`](clearway_base::Error::CorruptPage).
    #[inline]
    pub(super) fn check_visited(
        &self,
        view: &OptimisticPage<'_>,
        level: u8,
        key: &[u8],
    ) -> Result<()> {
        if !cfg!(debug_assertions) {
            return Ok(());
        }
        let node = Node::new(view);
        let kind = if level == 0 { node.is_leaf() } else { node.is_branch() };
        let place = node.place(key);
        let sound = kind
            && node.tree() == self.id
            && node.level() == level
            && matches!(place, Place::Here | Place::Foster(_));
        if sound || view.validate().is_err() {
            return Ok(());
        }
        let (kind, found, tree) = (node.kind(), node.level(), node.tree().0);
        Err(self.misplaced(
            view.id(),
            format!(
                "{kind:?} of tree {tree}, level {found}, key {place:?}; expected level {level}"
            ),
        ))
    }
}
