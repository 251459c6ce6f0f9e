//! Point writes: insert, put, update, delete.
//!
//! Invariants
//! 1. *Lock before change.* A record is changed only under its key's exclusive lock, and the lock
//!    is requested under the same exclusive latch as the change, or was held before.
//! 2. *No insert into a locked gap.* A key becomes part of a leaf only after the gap it falls into
//!    was found free of others' locks, in the same latch hold: who wants to lock the gap needs the
//!    leaf's latch, so nobody can come in between.
//!    The new key takes over the gap's tag with the part of the gap above it.
//! 3. *Undo leaves a ghost.* Whatever was inserted stays as a ghost when it is undone; ghosts leave
//!    by `reclaim` only.
//! 4. *Paid first.* Log space and room in the page are found before the record is logged: after
//!    the log record is in the log, nothing can fail.
//! 5. *No foreign I/O under the latch.* Overflow chains are written before the leaf is latched, and
//!    old ones are freed after commit ([`Context::defer_free`]).
//!
//! Algorithm
//! : "Efficient Locking for Databases", algorithm 1, with updates and deletes after its pattern.
//!
//! Differences
//! : The paper creates a ghost in a system transaction, locks it and turns it into a record. Here
//!   the lock comes first, which nobody can observe since the leaf stays latched, and then one log
//!   record inserts the record itself; its undo leaves the ghost that the system transaction would
//!   have left. Locking first also closes a hole: between creation and lock, an inserter that had
//!   to wait for the new key's lock would leave its own gap lock one key short.

mod delete;
mod store;

use clearway_base::Result;
use clearway_lock::{LockId, Outcome, Part, RangeMode};
use clearway_pool::ExclusivePage;

use crate::locking::LockWaitState;
use crate::node::Node;
use crate::scratch::Scratch;
use crate::{Context, LeafHint, Tree, op};
use store::Goal;

/// Bytes a user operation logs beside key and values: code, page, tree, slot, lengths and flags are
/// at most 24; the rest is for the log's own header, whose size the tree need not know.
pub(crate) const OP_OVERHEAD: usize = 128;

/// What the locking protocol said, under the latch.
enum LockVerdict {
    /// Locked: the key's slot, or the slot where it would be.
    Locked(Result<usize, usize>),
    /// Denied: let the latch go and wait for this.
    Denied(LockId, RangeMode),
}

/// What an operation is going to do about an absent key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Absent {
    /// Report it, which is a read.
    Read,
    /// Insert it.
    Insert,
}

impl Tree {
    /// Inserts a record.
    ///
    /// # Errors
    /// `DuplicateKey` if the key is present (the transaction has then read it, under a lock);
    /// `KeyTooLarge`, `ValueTooLarge`; whatever waiting, logging or reading a page can fail with.
    pub fn insert<C: Context>(
        &self,
        ctx: &mut C,
        hint: &mut LeafHint,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        self.store(ctx, hint, key, value, Goal::Insert).map(|_| ())
    }

    /// Inserts a record or replaces the value of an existing one; `true` if it replaced.
    ///
    /// # Errors
    /// As for [`insert`](Tree::insert), but for `DuplicateKey`.
    pub fn put<C: Context>(
        &self,
        ctx: &mut C,
        hint: &mut LeafHint,
        key: &[u8],
        value: &[u8],
    ) -> Result<bool> {
        self.store(ctx, hint, key, value, Goal::Put)
    }

    /// Replaces the value of an existing record.
    ///
    /// # Errors
    /// `NotFound` if the key is absent (the transaction has then read that, under a lock);
    /// otherwise as for [`insert`](Tree::insert).
    pub fn update<C: Context>(
        &self,
        ctx: &mut C,
        hint: &mut LeafHint,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        self.store(ctx, hint, key, value, Goal::Update).map(|_| ())
    }

    /// Asks for the locks that a write of `key` needs, under the exclusive latch of its leaf.
    /// `known` is its slot, if the hint knew it.
    #[inline]
    fn lock_for_write<C: Context>(
        &self,
        ctx: &mut C,
        node: Node<'_, [u8]>,
        key: &[u8],
        known: Option<usize>,
        absent: Absent,
        waited: &mut LockWaitState,
    ) -> LockVerdict {
        let found = known.map_or_else(|| node.find(key), Ok);
        match found {
            Err(slot) if slot > 0 || node.low_fence() != key => {
                self.lock_absent(ctx, node, key, slot, absent, waited)
            }
            // Present as record or ghost, or as the low fence, which counts as a ghost.
            _ => {
                let id = self.lock_of(key);
                if ctx.request(id, RangeMode::XN) == Outcome::Denied {
                    self.note_key(waited, key);
                    return LockVerdict::Denied(id, RangeMode::XN);
                }
                waited.keep_only(ctx, id);
                LockVerdict::Locked(found)
            }
        }
    }

    /// The same for a key that is absent and would stand at `slot`.
    fn lock_absent<C: Context>(
        &self,
        ctx: &mut C,
        node: Node<'_, [u8]>,
        key: &[u8],
        slot: usize,
        absent: Absent,
        waited: &mut LockWaitState,
    ) -> LockVerdict {
        let before = self.lock_before(node, slot);
        if absent == Absent::Read {
            if ctx.request(before, RangeMode::NS) == Outcome::Denied {
                self.note_before(waited, node, slot);
                return LockVerdict::Denied(before, RangeMode::NS);
            }
            waited.keep_only(ctx, before);
            return LockVerdict::Locked(Err(slot));
        }
        // For an instant only, under the latch that newcomers to the gap would need (invariant 2).
        // Waiters count against a check; but once this transaction has the gap, as after a wait,
        // they wait for it, and to wait for them would go on for ever.
        if ctx.check(before, RangeMode::NX) == Outcome::Denied && !ctx.holds(before, RangeMode::NX)
        {
            waited.keep_both(ctx, self.lock_of(key));
            self.note_before(waited, node, slot);
            return LockVerdict::Denied(before, RangeMode::NX);
        }
        let (id, gap) = (self.lock_of(key), waited.own_gap(ctx, before));
        let mode = RangeMode::new(Part::X, gap);
        if ctx.request(id, mode) == Outcome::Denied {
            waited.keep_both(ctx, before);
            self.note_key(waited, key);
            return LockVerdict::Denied(id, mode);
        }
        ctx.pass_tag(before, id);
        // A lock waited for on `before` stays until the record stands; `store` gives it back.
        waited.keep(id);
        LockVerdict::Locked(Err(slot))
    }

    /// Logs and makes a change of content in a latched leaf.
    #[inline]
    fn perform_user<C: Context>(
        ctx: &mut C,
        leaf: &mut ExclusivePage<'_>,
        scratch: &Scratch,
    ) -> Result<()> {
        op::perform(ctx, Context::log_user, &scratch.body, &mut [leaf]).map(drop)
    }
}
