//! Point writes: insert, put, update, delete.
//!
//! Invariants
//! 1. *Lock before change.* A record is changed only under its key's exclusive lock, and the lock
//!    is requested under the same exclusive latch as the change, or was held before.
//! 2. *No insert into a locked gap.* A key is added to a leaf only after one of two calls in the
//!    same latch hold: `check`, which found that no other owner holds or awaits the gap that the
//!    key falls into, or `holds`, which found that the transaction itself holds that gap in X. An
//!    owner relies on a gap lock only after a request under the leaf's latch (a lock that a wait
//!    has granted is requested again there), so none can begin to do so between the check and the
//!    insert. The new key now covers the upper part of the gap, so its tag is raised to that of the
//!    gap.
//! 3. *Undo leaves a ghost.* An inserted key stays as a ghost when its insert is undone; only
//!    `reclaim` removes ghosts.
//! 4. *Paid first.* Log space is reserved and room in the page is found before the record is
//!    logged: once the record is in the log, nothing can fail.
//! 5. *No I/O for overflow pages under the latch.* Overflow chains are written before the leaf is
//!    latched, and old ones are freed after commit ([`Context::defer_free`]).
//!
//! Algorithm
//! : "Efficient Locking for Databases", algorithm 1, with updates and deletes after its pattern.
//!
//! Differences
//! : The paper creates a ghost in a system transaction, locks it and turns it into a record. Here
//!   the key is locked first. No other thread can observe the difference, since the leaf stays
//!   latched. Then one log record inserts the record itself; its undo leaves the ghost that the
//!   system transaction would have left. Locking first also avoids an error of the paper's order:
//!   if the inserter had to wait for the new key's lock after the ghost had been created, a gap
//!   lock that the inserter itself held would end at that ghost and no longer cover the gap above
//!   it.

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

/// The result of the locking protocol, under the latch.
enum LockVerdict {
    /// Locked: the key's slot, or the slot where it would be.
    Locked(Result<usize, usize>),
    /// Denied: release the latch and wait for this lock.
    Denied(LockId, RangeMode),
}

/// The purpose for which an operation locks an absent key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Absent {
    /// To report that it is absent, which is a read.
    Read,
    /// To insert it.
    Insert,
}

impl Tree {
    /// Inserts a record.
    ///
    /// # Errors
    /// `DuplicateKey` if the key is present (the transaction then holds the key's exclusive lock);
    /// `KeyTooLarge`, `ValueTooLarge`; the errors of waiting, logging and reading a page.
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
    /// Those of [`insert`](Tree::insert) except `DuplicateKey`.
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
    /// `NotFound` if the key is absent (the transaction then holds a lock under which it stays
    /// absent); otherwise as for [`insert`](Tree::insert).
    pub fn update<C: Context>(
        &self,
        ctx: &mut C,
        hint: &mut LeafHint,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        self.store(ctx, hint, key, value, Goal::Update).map(|_| ())
    }

    /// Requests the locks that a write of `key` needs, under the exclusive latch of its leaf.
    /// `known` is the key's slot, if the leaf hint has it.
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

    /// As `lock_for_write`, for a key that is absent and whose record would be at `slot`.
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
        // Only check that no other owner holds or awaits the gap. No lock is kept: to rely on a
        // lock of the gap, an owner must request it under the leaf's latch, which this thread holds
        // (invariant 2). A check is also denied because of waiting requests. But if this
        // transaction already holds the gap in X, as after a wait for it, those requests wait for
        // this transaction, and waiting for them would never end; so `holds` is tested, too.
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
        // A lock on `before` that was obtained by waiting is kept until the record is inserted;
        // `store` then releases it.
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
