//! Adoption: a parent takes over the pointer to its child's foster child. And root growth: if the
//! root has a foster child, its whole content moves to a new node, the root's only child, and the
//! root can then adopt the foster child from that node.
//!
//! Invariants
//! 1. *One path.* The pointer moves in one record that changes parent and child, both latched:
//!    every key is reached by exactly one path, before and after.
//! 2. *Fences.* The foster key becomes the separator, and the child's high fence: equal on both
//!    levels, as verification wants it.
//! 3. *Never twice.* Of two threads that met the same foster child, the second finds no foster
//!    child, or another one, and adopts that.
//! 4. *Parent full.* Then the parent is split, which gives *its* parent a foster child to adopt;
//!    the child's is adopted by the next write whose descent meets it, or by upkeep.
//! 5. *Never forgotten.* An adoption that a latch or an error prevents is left to upkeep
//!    ([`Context::defer_maintenance`]); after a crash, the next write near it meets it.

use clearway_base::{PageId, Result};

use super::{IMAGE_RESERVE, Tree};
use crate::Context;
use crate::descend::PendingAdoption;
use crate::node::{Division, Image, Node, Place};
use crate::op::SystemOp;
use crate::scratch::Scratch;
use crate::space::Allocation;

/// Bytes of a child pointer, the value of a branch record.
const CHILD_LEN: usize = 4;

/// What an attempt to adopt a foster child came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Adoption {
    /// The parent has adopted this foster child.
    Adopted(PageId),
    /// The parent was full and was split, or the root was grown: the foster child is still one.
    RoomMade,
    /// Another thread has adopted it, or has changed the nodes in another way.
    Gone,
    /// A latch is taken: the foster child stays one, and has to be adopted later.
    Busy,
}

impl Tree {
    /// Makes the adoption `pending`. If the parent is full, splits the parent instead; if the node
    /// with the foster child is the root, which has no parent, grows the root instead. The caller
    /// holds no latch.
    #[cold]
    pub(crate) fn adopt<C: Context>(
        &self,
        ctx: &mut C,
        pending: PendingAdoption,
    ) -> Result<Adoption> {
        if pending.parent == PageId::NONE {
            let is_root = pending.child == self.root;
            return if is_root { self.grow_root(ctx) } else { Ok(Adoption::Gone) };
        }
        ctx.reserve(IMAGE_RESERVE)?;
        self.space.prepare(ctx, 1)?;
        let _resident = self.pool.pin(pending.child)?;
        let Some(mut parent) = self.pool.try_exclusive(pending.parent)? else {
            return Ok(Adoption::Busy);
        };
        let Some(mut child) = self.pool.try_exclusive(pending.child)? else {
            return Ok(Adoption::Busy);
        };
        let (above, below) = (Node::new(&*parent), Node::new(&*child));
        let level = above.level();
        // Everything is asked again: the descent that met the foster child held no latch.
        let nodes_fit = level > 0
            && self.is_node_at(&parent, level)
            && self.is_node_at(&child, level - 1)
            && above.place(below.low_fence()) == Place::Here;
        if !nodes_fit {
            return Ok(Adoption::Gone);
        }
        let Some((foster, key)) = below.foster_link() else { return Ok(Adoption::Gone) };
        let slot = match above.find(below.low_fence()) {
            Ok(slot) if above.child(slot) == pending.child => slot,
            _ => return Ok(Adoption::Gone),
        };
        if !above.fits(key.len(), CHILD_LEN) {
            // The child's latch goes first: a split allocates, and needs the parent only.
            drop(child);
            self.split(ctx, &mut parent, slot + 1, Division::ByPattern)?;
            return Ok(Adoption::RoomMade);
        }
        let mut scratch = Scratch::borrow();
        scratch.key.clear();
        scratch.key.extend_from_slice(key);
        let op = SystemOp::Adopt {
            parent: parent.id(),
            child: child.id(),
            tree: self.id,
            foster,
            key: &scratch.key,
        };
        Tree::perform_system(ctx, op, &mut [&mut parent, &mut child])?;
        Ok(Adoption::Adopted(foster))
    }

    /// Moves the content of the root, foster child and all, one level down.
    fn grow_root<C: Context>(&self, ctx: &mut C) -> Result<Adoption> {
        ctx.reserve(IMAGE_RESERVE)?;
        self.space.prepare(ctx, 1)?;
        let Some(mut root) = self.pool.try_exclusive(self.root)? else {
            return Ok(Adoption::Busy);
        };
        let node = Node::new(&*root);
        let mut scratch = Scratch::borrow();
        if node.tree() != self.id
            || node.foster().is_none()
            || node.level() == u8::MAX
            || !node.image_into(&mut scratch.value)
        {
            return Ok(Adoption::Gone);
        }
        let Some(image) = Image::parse(&scratch.value) else { return Ok(Adoption::Gone) };
        let Allocation { mut map, page: mut child } = self.space.allocate(ctx)?;
        let (root_id, tree) = (self.root, self.id);
        let op = SystemOp::GrowRoot { root: root_id, child: child.id(), tree, image };
        Tree::perform_system(ctx, op, &mut [&mut root, &mut child, &mut map])?;
        Ok(Adoption::RoomMade)
    }
}
