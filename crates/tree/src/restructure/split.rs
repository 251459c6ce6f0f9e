//! The split of a full node into itself and a foster child. Of the nodes that are in the tree it
//! latches only this one: the parent gets the pointer to the foster child later, by adoption.

use clearway_pool::ExclusivePage;

use super::Tree;
use crate::Environment;
use crate::need::Step;
use crate::node::{Division, Image, Node};
use crate::op::SystemOp;
use crate::scratch::Scratch;
use crate::space::Allocation;

impl Tree {
    /// Moves the upper records of a latched node to a new foster child. `insert_at` is the slot
    /// where room is wanted. The caller has reserved log space and prepared the space map.
    ///
    /// # Errors
    /// `CorruptPage` for a node that is full and has no slot to be split at, which the limits on
    /// keys and values rule out; `DiskFull`, and what the log returns.
    pub(super) fn split<'a, C: Environment>(
        &'a self,
        ctx: &mut C,
        node: &mut ExclusivePage<'a>,
        insert_at: usize,
        division: Division,
    ) -> Step<()> {
        let mut scratch = Scratch::borrow();
        let view = Node::new(&**node);
        let slot = view.split_slot(insert_at, division);
        let image = match slot {
            Some(slot) if view.upper_image_into(slot, &mut scratch.value) => {
                Image::parse(&scratch.value)
            }
            _ => None,
        };
        let (Some(slot), Some(image)) = (slot, image) else {
            return Err(self
                .misplaced(node.id(), "full, and no slot to split it at".into())
                .into());
        };
        let Allocation { mut map, page: mut right } = self.space.allocate(ctx)?;
        let (left, tree) = (node.id(), self.id);
        let op = SystemOp::Split { left, right: right.id(), tree, slot, image };
        Tree::perform_system(ctx, op, &mut [node, &mut right, &mut map])?;
        // The operations that left these ghosts can only have reported the left leaf.
        if Node::new(&*right).ghost_count() > 0 {
            self.report_leaf(ctx, Node::new(&*right));
        }
        Ok(())
    }
}
