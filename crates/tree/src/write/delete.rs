//! Delete: a record becomes a ghost.
//!
//! The ghost keeps its place in the leaf, and so its key stays a boundary that can be locked, until
//! no transaction holds or awaits the lock (restructure invariant 3). Its value stays too, but undo
//! does not rely on it: an insert over the ghost may have replaced it, so the log body has a copy.

use clearway_base::{Error, Result};
use clearway_pool::ExclusivePage;

use super::{Absent, OP_OVERHEAD};
use crate::descend::PendingAdoption;
use crate::locking::LockWaitState;
use crate::need::{Step, drive, reserve};
use crate::node::Node;
use crate::op::{Change, UserOp};
use crate::scratch::Scratch;
use crate::{Environment, LeafHint, Tree, Wait};

/// A deletion of one record.
#[derive(Default)]
pub(crate) struct Delete {
    waited: LockWaitState,
    pending: Option<PendingAdoption>,
}

impl Delete {
    /// Returns true if a descent has noted an adoption.
    #[cold]
    pub(crate) fn has_pending(&self) -> bool {
        self.pending.is_some()
    }

    #[inline(always)] // Each driver has its own copy.
    pub(crate) fn step<C: Environment>(
        &mut self,
        tree: &Tree,
        ctx: &mut C,
        hint: &mut LeafHint,
        key: &[u8],
    ) -> Step<()> {
        // The operation and its undo each carry the old value, which stands in the leaf.
        reserve(ctx, 2 * (key.len() + tree.limits.record_len_max + OP_OVERHEAD))?;
        let (mut leaf, known): (ExclusivePage<'_>, _) =
            tree.leaf_and_slot(key, hint, &mut self.pending)?;
        let node = Node::new(&*leaf);
        let found = tree.lock_for_write(ctx, node, key, known, Absent::Read, &mut self.waited)?;
        let slot = match found {
            Ok(slot) if !node.is_ghost(slot) => slot,
            _ => return Err(Error::not_found().into()),
        };
        let (old, overflow) = (node.value(slot), node.is_overflow(slot));
        let change = Change::Delete { old, overflow };
        let op = UserOp { page: leaf.id(), tree: tree.id, slot, key, change };
        let mut scratch = Scratch::borrow();
        op.encode(&mut scratch.body);
        let dropped = op.dropped_overflow().map(<[u8]>::to_vec);
        Tree::perform_user(ctx, &mut leaf, &scratch)?;
        if let Some(reference) = dropped {
            ctx.defer_free(tree.id, &reference);
        }
        tree.note_ghost(ctx, Node::new(&*leaf));
        drop(leaf);
        tree.adopt_pending(ctx, key, self.pending);
        Ok(())
    }
}

impl Tree {
    /// Deletes a record.
    ///
    /// # Errors
    /// `NotFound` if the key is absent (the transaction then holds a lock under which it stays
    /// absent); `KeyTooLarge`; the errors of waiting, logging and reading a page.
    pub fn delete<C: Environment + Wait>(
        &self,
        ctx: &mut C,
        hint: &mut LeafHint,
        key: &[u8],
    ) -> Result<()> {
        self.check_key(key)?;
        ctx.expect(self.lock_of(key));
        let mut delete = Delete::default();
        drive(&self.pool, ctx, |ctx| delete.step(self, ctx, hint, key))
    }
}
