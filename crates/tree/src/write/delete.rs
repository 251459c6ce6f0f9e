//! Delete: a record becomes a ghost.
//!
//! The ghost keeps its place in the leaf, and so its key stays a boundary that can be locked, until
//! no transaction holds or awaits the lock (restructure invariant 3). Its value stays too, but undo
//! does not rely on it: an insert over the ghost may have replaced it, so the log body has a copy.

use clearway_base::{Error, Result};
use clearway_pool::ExclusivePage;

use super::{Absent, LockVerdict, OP_OVERHEAD};
use crate::locking::LockWaitState;
use crate::node::Node;
use crate::op::{Change, UserOp};
use crate::scratch::Scratch;
use crate::{Context, LeafHint, Tree};

impl Tree {
    /// Deletes a record.
    ///
    /// # Errors
    /// `NotFound` if the key is absent (the transaction then holds a lock under which it stays
    /// absent); `KeyTooLarge`; the errors of waiting, logging and reading a page.
    pub fn delete<C: Context>(&self, ctx: &mut C, hint: &mut LeafHint, key: &[u8]) -> Result<()> {
        self.check_key(key)?;
        ctx.expect(self.lock_of(key));
        let mut waited = LockWaitState::default();
        let mut pending = None;
        loop {
            // The operation and its undo each carry the old value, which stands in the leaf.
            ctx.reserve(2 * (key.len() + self.limits.record_len_max + OP_OVERHEAD))?;
            let (mut leaf, known): (ExclusivePage<'_>, _) =
                self.leaf_and_slot(key, hint, &mut pending)?;
            let node = Node::new(&*leaf);
            let found = match self.lock_for_write(ctx, node, key, known, Absent::Read, &mut waited)
            {
                LockVerdict::Locked(found) => found,
                LockVerdict::Denied(id, mode) => {
                    drop(leaf);
                    waited.wait(ctx, id, mode)?;
                    continue;
                }
            };
            let slot = match found {
                Ok(slot) if !node.is_ghost(slot) => slot,
                _ => return Err(Error::NotFound),
            };
            let (old, overflow) = (node.value(slot), node.is_overflow(slot));
            let change = Change::Delete { old, overflow };
            let op = UserOp { page: leaf.id(), tree: self.id, slot, key, change };
            let mut scratch = Scratch::borrow();
            op.encode(&mut scratch.body);
            let dropped = op.dropped_overflow().map(<[u8]>::to_vec);
            Tree::perform_user(ctx, &mut leaf, &scratch)?;
            if let Some(reference) = dropped {
                ctx.defer_free(self.id, &reference);
            }
            self.note_ghost(ctx, Node::new(&*leaf));
            drop(leaf);
            self.adopt_pending(ctx, key, pending);
            return Ok(());
        }
    }
}
