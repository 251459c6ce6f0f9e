//! Undo: taking one user operation back, logically.
//!
//! Invariants
//! 1. *By key.* The record is found again by its key, wherever splits and merges have put it by
//!    now; the page in the body is a hint.
//! 2. *It is there*, at least as a ghost: its key has been locked all the time, and recovery
//!    reclaims no ghosts ([`Context::ghost_is_free`]).
//! 3. *No locks.* Undo requests none: the transaction still holds its locks, or recovery runs the
//!    undo, and then there are no other transactions.
//! 4. *Room is kept for it.* If others have used the room that an old value needs, the leaf is
//!    split. A context that rolls back grants the log space, and the space map keeps pages for it,
//!    a limited number (space invariant 6).
//! 5. *Once.* What was done is logged as a compensation, which is redone like anything else and
//!    never undone.
//!
//! Algorithm
//! : Mohan et al., "ARIES" (TODS 1992): logical undo, compensation records.

use clearway_base::{Error, Result};
use clearway_pool::ExclusivePage;

use crate::node::Node;
use crate::op::{self, CompensationOp, Op, Restore, UndoAction};
use crate::overflow::OverflowRef;
use crate::scratch::Scratch;
use crate::write::OP_OVERHEAD;
use crate::{Context, LeafHint, Tree, overflow};

impl Tree {
    /// Undoes the user operation whose log body is `body`, logging a compensation. Then frees the
    /// overflow chain that the operation brought in, if it did.
    ///
    /// # Errors
    /// `Corrupt` if the body is no user operation of this tree, `CorruptPage` if the record is
    /// gone, and what the pool and the log return.
    pub fn undo<C: Context>(&self, ctx: &mut C, body: &[u8]) -> Result<()> {
        let Op::User(user) = Op::decode(body)? else {
            return Err(Error::corrupt("log record", "undo of what is no user operation"));
        };
        let undo = user.undo();
        if undo.tree != self.id {
            return Err(Error::corrupt("log record", "undo in another tree"));
        }
        let mut hint = LeafHint::at(undo.page);
        loop {
            ctx.reserve(undo.key.len() + self.limits.record_len_max + OP_OVERHEAD)?;
            let mut leaf: ExclusivePage<'_> = self.leaf(undo.key, &mut hint, &mut None)?;
            let node = Node::new(&*leaf);
            let Ok(slot) = node.find(undo.key) else {
                return Err(self.misplaced(leaf.id(), "the record to undo is gone".into()));
            };
            let restore = match undo.action {
                UndoAction::Remove => Restore::Hide,
                UndoAction::RestoreDelta { offset, old } => Restore::Patch { offset, bytes: old },
                UndoAction::RestoreValue { old: value, overflow }
                | UndoAction::Revive { value, overflow } => Restore::Value { value, overflow },
            };
            // Only whole values can have lost their room: a ghost keeps its key, and a patched
            // value its length (invariant 4).
            if let Restore::Value { value, .. } = restore
                && !node.fits_value(slot, value.len())
            {
                drop(leaf);
                self.make_room(ctx, &mut hint, undo.key, value.len())?;
                continue;
            }
            let op = CompensationOp { page: leaf.id(), tree: self.id, slot, restore };
            let mut scratch = Scratch::borrow();
            op.encode(&mut scratch.body);
            op::perform(ctx, Context::log_compensation, &scratch.body, &mut [&mut leaf])?;
            if restore == Restore::Hide {
                self.note_ghost(ctx, Node::new(&*leaf));
            }
            break;
        }
        // Last: until the compensation is in the log, the record leads to the chain.
        match user.gained_overflow() {
            Some(reference) => {
                let chain = OverflowRef::of_record(reference)?;
                overflow::free(ctx, &self.pool, &self.space, self.id, chain)
            }
            None => Ok(()),
        }
    }
}
