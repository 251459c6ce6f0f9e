//! Point writes: insert, put, update, delete.
//!
//! Invariants
//! 1. *Lock before change.* A record is changed only under its key's exclusive lock, which is
//!    requested in the same exclusive latch hold as the change. (An exclusive lock on the table or
//!    the database takes its place. An undo requests no lock.)
//! 2. *No insert into a locked gap.* A key is added to a leaf only after one of two calls in the
//!    same latch hold: `check`, which found that no other owner holds or awaits the gap that the
//!    key falls into, or `holds`, which found that the transaction itself holds that gap in X. An
//!    owner relies on a gap lock only after a request under the leaf's latch (a lock that a wait
//!    has granted is requested again there), so none can begin to do so between the check and the
//!    insert. The new key now covers the upper part of the gap, so its tag is raised to that of the
//!    gap. (A key that is the leaf's low fence counts as present: it is a boundary already and
//!    falls into no gap, so its own lock suffices.)
//! 3. *Undo leaves a ghost.* An inserted key stays as a ghost when its insert is undone; only
//!    `reclaim` removes ghosts.
//! 4. *Paid first.* Log space is reserved and room in the page is found before the record is
//!    logged: once the record is in the log, nothing can fail.
//! 5. *No I/O for overflow pages under the latch.* Overflow chains are written while the leaf is
//!    not latched, between the latch hold that decides and the one that changes it, and old ones
//!    are freed after commit ([`Upkeep::defer_free`](crate::Upkeep)).
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
use clearway_lock::{Outcome, Part, RangeMode};
use clearway_pool::ExclusivePage;

use crate::locking::LockWaitState;
use crate::need::Step;
use crate::node::Node;
use crate::scratch::Scratch;
use crate::{Environment, Journal, LeafHint, Locks, Tree, Wait, op};
pub(crate) use delete::Delete;
pub use store::Goal;
pub(crate) use store::Store;

/// Bytes a user operation logs beside key and values: code, page, tree, slot, lengths and flags are
/// at most 24; the rest is for the log's own header, whose size the tree need not know.
pub(crate) const OP_OVERHEAD: usize = 128;

/// The slot of a key that is locked, or the slot where it would be.
type LockedSlot = std::result::Result<usize, usize>;

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
    pub fn insert<C: Environment + Wait>(
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
    pub fn put<C: Environment + Wait>(
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
    pub fn update<C: Environment + Wait>(
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
    fn lock_for_write<C: Locks>(
        &self,
        ctx: &mut C,
        node: Node<'_, [u8]>,
        key: &[u8],
        known: Option<usize>,
        absent: Absent,
        waited: &mut LockWaitState,
    ) -> Step<LockedSlot> {
        let found = known.map_or_else(|| node.find(key), Ok);
        match found {
            Err(slot) if slot > 0 || node.low_fence() != key => {
                self.lock_absent(ctx, node, key, slot, absent, waited)
            }
            // Present as record or ghost, or as the low fence, which counts as a ghost.
            _ => {
                let id = self.lock_of(key);
                if ctx.request(id, RangeMode::XN) == Outcome::Denied {
                    return Err(waited.lacks(ctx, id, RangeMode::XN, self.name_of(key)));
                }
                waited.keep_only(ctx, id);
                Ok(found)
            }
        }
    }

    /// As `lock_for_write`, for a key that is absent and whose record would be at `slot`.
    fn lock_absent<C: Locks>(
        &self,
        ctx: &mut C,
        node: Node<'_, [u8]>,
        key: &[u8],
        slot: usize,
        absent: Absent,
        waited: &mut LockWaitState,
    ) -> Step<LockedSlot> {
        let before = self.lock_before(node, slot);
        if absent == Absent::Read {
            if ctx.request(before, RangeMode::NS) == Outcome::Denied {
                let name = self.name_before(node, slot);
                return Err(waited.lacks(ctx, before, RangeMode::NS, name));
            }
            waited.keep_only(ctx, before);
            return Ok(Err(slot));
        }
        // Only check that no other owner holds or awaits the gap. No lock is kept: to rely on a
        // lock of the gap, an owner must request it under the leaf's latch, which this thread holds
        // (invariant 2). A check is also denied because of waiting requests. But if this
        // transaction already holds the gap in X, as after a wait for it, those requests wait for
        // this transaction, and waiting for them would never end; so `holds` is tested, too.
        if ctx.check(before, RangeMode::NX) == Outcome::Denied && !ctx.holds(before, RangeMode::NX)
        {
            waited.keep_both(ctx, self.lock_of(key));
            let name = self.name_before(node, slot);
            return Err(waited.lacks(ctx, before, RangeMode::NX, name));
        }
        let (id, gap) = (self.lock_of(key), waited.own_gap(ctx, before));
        let mode = RangeMode::new(Part::X, gap);
        if ctx.request(id, mode) == Outcome::Denied {
            waited.keep_both(ctx, before);
            return Err(waited.lacks(ctx, id, mode, self.name_of(key)));
        }
        ctx.pass_tag(before, id);
        // A lock on `before` that was obtained by waiting is kept until the record is inserted, or
        // until the overflow chain is to be written; the store then releases it.
        waited.keep(id);
        Ok(Err(slot))
    }

    /// Logs and makes a change of content in a latched leaf.
    #[inline]
    fn perform_user<C: Journal>(
        ctx: &mut C,
        leaf: &mut ExclusivePage<'_>,
        scratch: &Scratch,
    ) -> Result<()> {
        op::perform(ctx, Journal::log_user, &scratch.body, &mut [leaf]).map(drop)
    }
}
