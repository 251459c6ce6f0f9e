//! Undo: taking one user operation back, logically.
//!
//! Invariants
//! 1. *By key.* The record is found again by its key, wherever splits and merges have put it by
//!    now; the page in the body is a hint.
//! 2. *It is there*, at least as a ghost: its key has been locked all the time, and recovery
//!    reclaims no ghosts ([`Upkeep::ghost_is_free`](crate::Upkeep::ghost_is_free)).
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

use crate::need::{Step, drive, reserve};
use crate::node::Node;
use crate::op::{self, CompensationOp, Op, Restore, UndoAction, UndoOf};
use crate::overflow::OverflowRef;
use crate::restructure::RoomMaker;
use crate::scratch::Scratch;
use crate::write::OP_OVERHEAD;
use crate::{Environment, Journal, LeafHint, Tree, Wait};

/// The undo of one operation.
struct Undo<'a> {
    of: UndoOf<'a>,
    hint: LeafHint,
    /// Set while room is made for the old value.
    room: Option<RoomMaker>,
}

impl Undo<'_> {
    /// Logs the compensation, and changes the leaf.
    fn step<C: Environment>(&mut self, tree: &Tree, ctx: &mut C) -> Step<()> {
        let UndoOf { key, action, .. } = self.of;
        loop {
            if let Some(room) = &mut self.room {
                room.step(tree, ctx, &mut self.hint, key)?;
                self.room = None;
            }
            reserve(ctx, key.len() + tree.limits.record_len_max + OP_OVERHEAD)?;
            let mut leaf: ExclusivePage<'_> = tree.leaf(key, &mut self.hint, &mut None)?;
            let node = Node::new(&*leaf);
            let Ok(slot) = node.find(key) else {
                return Err(tree.misplaced(leaf.id(), "the record to undo is gone".into()).into());
            };
            let restore = match action {
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
                self.room = Some(RoomMaker::new(value.len()));
                continue;
            }
            let op = CompensationOp { page: leaf.id(), tree: tree.id, slot, restore };
            let mut scratch = Scratch::borrow();
            op.encode(&mut scratch.body);
            op::perform(ctx, Journal::log_compensation, &scratch.body, &mut [&mut leaf])?;
            if restore == Restore::Hide {
                tree.note_ghost(ctx, Node::new(&*leaf));
            }
            return Ok(());
        }
    }
}

impl Tree {
    /// Undoes the user operation whose log body is `body`, logging a compensation. If the operation
    /// brought in an overflow chain, no record leads to the chain then
    /// ([`Upkeep::note_unlinked`](crate::Upkeep::note_unlinked)).
    ///
    /// # Errors
    /// `Corrupt` if the body is no user operation of this tree, `CorruptPage` if the record is
    /// gone, and what the pool and the log return.
    pub fn undo<C: Environment + Wait>(&self, ctx: &mut C, body: &[u8]) -> Result<()> {
        let Op::User(user) = Op::decode(body)? else {
            return Err(Error::corrupt("log record", "undo of what is no user operation"));
        };
        let of = user.undo();
        if of.tree != self.id {
            return Err(Error::corrupt("log record", "undo in another tree"));
        }
        let mut undo = Undo { of, hint: LeafHint::at(of.page), room: None };
        drive(&self.pool, ctx, |ctx| undo.step(self, ctx))?;
        // Last: until the compensation is in the log, the record leads to the chain.
        if let Some(reference) = user.gained_overflow() {
            let chain = OverflowRef::of_record(reference)?;
            ctx.note_unlinked(Some((self.id, chain.to_bytes())));
        }
        Ok(())
    }
}
