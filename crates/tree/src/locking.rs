//! The locking protocol's reaction to a denied request: the step ends with a need; once the lock is
//! granted, it is kept, and the next step finds the leaf again, by the hint or by a descent, and
//! repeats the request.
//!
//! Invariants
//! 1. *No wait under a latch.* [`LockWaitState::lacks`] makes the need that ends the step; its
//!    guards are dropped before the driver waits.
//! 2. *Keep.* A lock obtained by waiting is kept until the request is repeated, so that on a hot
//!    page the operation makes progress however often the page changes.
//! 3. *No more than requested.* After a wait, the protocol may request another lock, or may have
//!    needed the lock only for a check. Then the lock obtained by waiting is released, unless the
//!    transaction held part of it before it waited: then all of it is kept, since
//!    [`Locks::release`] may be called only for locks of which the transaction held nothing before.
//!    An insertion that waited for the gap and has to wait for the key, or the other way round,
//!    keeps both ([`LockWaitState::keep_both`]): two insertions that released one for the other
//!    could repeat that for ever.
//! 4. *Named where it is known.* An operation that is denied a lock names the lock's key, in the
//!    same latch hold ([`Tree::name_of`], [`Tree::name_before`]), so that the wait can be
//!    published with the key's name.
//! 5. *Own gaps stay covered.* A key inserted into a gap that the transaction itself has locked
//!    splits the gap; its lock then covers its new gap in the same mode
//!    ([`LockWaitState::own_gap`]).
//!
//! Algorithm
//! : "Efficient Locking for Databases", section 2.2, algorithms 1 and 2 and their footnote.
//!
//! Differences
//! : The footnote compares page LSNs after a wait and starts over when they differ. Dropping the
//!   lock then is a livelock on a hot page; here the lock is kept and the *request* is repeated.
//! : The low fence of a leaf counts as a key that is present as a ghost, whether or not a ghost
//!   record is stored for it: reading or inserting it locks its key and not a gap. Every page
//!   border is thus a lockable key of its own, and cursors lock it when they pass.

use clearway_base::{KeyName, KeySample};
use clearway_lock::{LockId, Part, RangeMode};

use crate::need::{Incomplete, Need};
use crate::node::Node;
use crate::scratch::Scratch;
use crate::{Locks, Tree};

/// The locks, if any, that the running operation obtained by waiting and may have to release.
#[derive(Default)]
pub(crate) struct LockWaitState {
    kept: Option<LockId>,
    /// The lock waited for before that, if both are needed (invariant 3).
    beside: Option<LockId>,
}

impl LockWaitState {
    /// Returns the need for a lock that was denied under the latch: the step ends with it. If the
    /// driver meets the need, the transaction holds the lock when the next step begins.
    #[cold]
    pub(crate) fn lacks<C: Locks>(
        &mut self,
        ctx: &mut C,
        id: LockId,
        mode: RangeMode,
        name: KeyName,
    ) -> Incomplete {
        if self.kept != Some(id)
            && let Some(other) = self.kept.take()
        {
            ctx.release(other);
        }
        if self.kept.is_none() && !holds_any(ctx, id) {
            self.kept = Some(id);
        }
        Need::Lock { id, mode, name }.into()
    }

    /// Called when the protocol has requested `id` again and it was granted: the transaction now
    /// keeps it. Releases any other lock that was obtained by waiting.
    #[inline]
    pub(crate) fn keep_only<C: Locks>(&mut self, ctx: &mut C, id: LockId) {
        if self.kept.is_some() || self.beside.is_some() {
            self.keep(id);
            self.release_others(ctx);
        }
    }

    /// Called before a wait for another lock, when `id` is needed too: if `id` was obtained by
    /// waiting, it is kept beside the other.
    #[cold]
    pub(crate) fn keep_both<C: Locks>(&mut self, ctx: &mut C, id: LockId) {
        if self.beside == Some(id) {
            return;
        }
        if let Some(other) = self.beside.take() {
            ctx.release(other);
        }
        if self.kept == Some(id) {
            self.beside = self.kept.take();
        }
    }

    /// As [`keep_only`](LockWaitState::keep_only), but releases nothing yet: another lock that was
    /// obtained by waiting, if there is one, may still guard what the operation is about to do.
    /// [`release_others`](LockWaitState::release_others) releases it afterwards.
    #[inline]
    pub(crate) fn keep(&mut self, id: LockId) {
        if self.kept == Some(id) {
            self.kept = None;
        }
        if self.beside == Some(id) {
            self.beside = None;
        }
    }

    /// Releases the locks that were needed only for a check, or are not needed any more.
    #[inline]
    pub(crate) fn release_others<C: Locks>(&mut self, ctx: &mut C) {
        for id in [self.kept.take(), self.beside.take()].into_iter().flatten() {
            ctx.release(id);
        }
    }

    /// Returns the mode (N, S or X) in which the transaction holds `id`'s gap until it ends; a lock
    /// that will be released does not count (invariant 5).
    pub(crate) fn own_gap<C: Locks>(&self, ctx: &C, id: LockId) -> Part {
        if self.kept == Some(id) || self.beside == Some(id) {
            Part::N
        } else if ctx.holds(id, RangeMode::NX) {
            Part::X
        } else if ctx.holds(id, RangeMode::NS) {
            Part::S
        } else {
            Part::N
        }
    }
}

impl Tree {
    /// Returns the name of `key`, under the latch under which its lock was denied.
    // Out of line, like the next function: in their callers each instruction counts.
    #[cold]
    #[inline(never)]
    pub(crate) fn name_of(&self, key: &[u8]) -> KeyName {
        KeyName { tree: self.id, key: KeySample::of(key) }
    }

    /// Returns the name of the key before `slot`; see [`Tree::lock_before`].
    #[cold]
    #[inline(never)]
    pub(crate) fn name_before(&self, node: Node<'_, [u8]>, slot: usize) -> KeyName {
        match slot.checked_sub(1) {
            None => self.name_of(node.low_fence()),
            Some(before) => {
                let mut scratch = Scratch::borrow();
                node.key_into(before, &mut scratch.key);
                self.name_of(&scratch.key)
            }
        }
    }
}

/// Returns true if the transaction holds any part of `id`.
fn holds_any<C: Locks>(ctx: &C, id: LockId) -> bool {
    ctx.holds(id, RangeMode::SN) || ctx.holds(id, RangeMode::NS)
}
