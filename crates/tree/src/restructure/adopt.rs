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
//! 4. *Parent full.* Then the parent is split, which gives *its* parent a foster child to adopt.
//!    The child's foster child is adopted in a later attempt: of the same operation, if it has
//!    split a leaf or is upkeep, otherwise of the next write whose descent meets it.
//! 5. *Never forgotten.* An adoption that a latch, a need or an error prevents is left to upkeep
//!    ([`Upkeep::defer_maintenance`](crate::Upkeep::defer_maintenance)), under a key whose path
//!    meets the foster child: the adopted part of a chain no longer leads to the rest. After a
//!    crash, the next opening has upkeep walk all leaves.
//! 6. *Chains grow no faster than they are adopted.* A writer that has split a leaf waits for the
//!    two latches, one at a time, before it goes on. So if a thread is descheduled while it holds
//!    the parent's latch, each other writer splits about one leaf of the chain and then waits for
//!    that latch.

use clearway_base::PageId;
use clearway_pool::ExclusivePage;

use super::{IMAGE_RESERVE, Tree};
use crate::descend::PendingAdoption;
use crate::need::{Step, reserve};
use crate::node::{Division, Image, Node, Place};
use crate::op::SystemOp;
use crate::scratch::Scratch;
use crate::space::{Allocation, Preparation};
use crate::{Environment, resident};

/// Bytes of a child pointer, the value of a branch record.
const CHILD_LEN: usize = 4;

/// Times that a writer waits for the latches of an adoption before it leaves it to upkeep.
const WAITS_MAX: usize = 8;

/// The way in which an adoption latches its pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Latching {
    /// If a latch is taken, it gives up.
    Try,
    /// If a latch is taken, it waits, while it holds none. It gives up after [`WAITS_MAX`] waits;
    /// the growth of the root, which needs one latch of a node, does not give up.
    Wait,
}

/// The result of an attempt to adopt a foster child.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Adoption {
    /// The parent has adopted the foster child.
    Adopted,
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
    /// holds no latch. Replaces `low_fence` by that of an adopted node.
    #[cold]
    pub(crate) fn adopt<C: Environment>(
        &self,
        ctx: &mut C,
        pending: PendingAdoption,
        latching: Latching,
        preparation: &mut Preparation,
        low_fence: &mut Vec<u8>,
    ) -> Step<Adoption> {
        reserve(ctx, IMAGE_RESERVE)?;
        self.space.prepare(ctx, 1, preparation)?;
        if pending.parent == PageId::NONE {
            let is_root = pending.child == self.root;
            return if is_root { self.grow_root(ctx, latching) } else { Ok(Adoption::Gone) };
        }
        let Some((mut parent, mut child)) = self.latch_for_adoption(pending, latching)? else {
            return Ok(Adoption::Busy);
        };
        let (above, below) = (Node::new(&*parent), Node::new(&*child));
        let level = above.level();
        // Everything is checked again: the descent that met the foster child holds no latch any
        // more.
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
        low_fence.clear();
        low_fence.extend_from_slice(key);
        let op = SystemOp::Adopt {
            parent: parent.id(),
            child: child.id(),
            tree: self.id,
            foster,
            key: low_fence,
        };
        Tree::perform_system(ctx, op, &mut [&mut parent, &mut child])?;
        Ok(Adoption::Adopted)
    }

    /// Latches the parent and the child of a pending adoption; `None` if a latch is taken.
    fn latch_for_adoption(
        &self,
        pending: PendingAdoption,
        latching: Latching,
    ) -> Step<Option<(ExclusivePage<'_>, ExclusivePage<'_>)>> {
        let PendingAdoption { parent, child } = pending;
        let _resident = resident::pin(&self.pool, child)?;
        if latching == Latching::Try {
            let Some(parent) = resident::try_exclusive(&self.pool, parent)? else {
                return Ok(None);
            };
            let child = resident::try_exclusive(&self.pool, child)?;
            return Ok(child.map(|child| (parent, child)));
        }
        let _resident = resident::pin(&self.pool, parent)?;
        for _ in 0..WAITS_MAX {
            // Many threads wait for the latch of a child into which keys are inserted, few for its
            // parent's. So wait for the child's latch and only try the parent's; a latch that is
            // only tried may be taken against the latch order. If the parent's latch is taken, wait
            // for it with no latch held, and start over.
            let child = resident::exclusive(&self.pool, child)?;
            if let Some(parent) = resident::try_exclusive(&self.pool, parent)? {
                return Ok(Some((parent, child)));
            }
            drop(child);
            drop(resident::exclusive(&self.pool, parent)?);
        }
        Ok(None)
    }

    /// Moves the content of the root, foster child and all, one level down.
    fn grow_root<C: Environment>(&self, ctx: &mut C, latching: Latching) -> Step<Adoption> {
        let root = match latching {
            Latching::Try => resident::try_exclusive(&self.pool, self.root)?,
            Latching::Wait => Some(resident::exclusive(&self.pool, self.root)?),
        };
        let Some(mut root) = root else { return Ok(Adoption::Busy) };
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
