//! The locking protocol's reaction to a denied request: release the latch, wait, keep the lock,
//! descend and request again.
//!
//! Invariants
//! 1. *No wait under a latch.* [`LockWaitState::wait`] is called with no latch held.
//! 2. *Keep.* A lock obtained by waiting is kept over the new descent, so that on a hot page the
//!    operation makes progress however often the page changes.
//! 3. *No more than requested.* After a wait and a new descent, the protocol may request another
//!    lock, or may have needed the lock only for a check. Then the lock obtained by waiting is
//!    released, unless the transaction held part of it before it waited: then all of it is kept,
//!    since [`Context::release`] may be called only for locks of which the transaction held nothing
//!    before. An insertion that waited for the gap and has to wait for the key, or the other way
//!    round, keeps both ([`LockWaitState::keep_both`]): two insertions that released one for the
//!    other could repeat that for ever.
//! 4. *Named where it is known.* An operation that is denied a lock notes the lock's key, in the
//!    same latch hold ([`Tree::note_key`], [`Tree::note_before`]), so that the wait can be
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

use clearway_base::{KeyName, KeySample, Result, TreeId};
use clearway_lock::{LockId, Part, RangeMode};

use crate::node::Node;
use crate::scratch::Scratch;
use crate::{Context, Tree};

/// The locks, if any, that the running operation obtained by waiting and may have to release.
#[derive(Default)]
pub(crate) struct LockWaitState {
    kept: Option<LockId>,
    /// The lock waited for before that, if both are needed (invariant 3).
    beside: Option<LockId>,
    /// The lock that was denied last (invariant 4).
    name: Option<KeyName>,
}

impl LockWaitState {
    /// Waits for a lock that was denied under the latch. The caller has released the latch.
    pub(crate) fn wait<C: Context>(
        &mut self,
        ctx: &mut C,
        id: LockId,
        mode: RangeMode,
    ) -> Result<()> {
        if self.kept != Some(id)
            && let Some(other) = self.kept.take()
        {
            ctx.release(other);
        }
        let is_new = self.kept.is_none() && !holds_any(ctx, id);
        debug_assert!(self.name.is_some(), "invariant 4");
        let unknown = KeyName { tree: TreeId(0), key: KeySample::of(&[]) };
        ctx.wait(id, mode, &self.name.take().unwrap_or(unknown))?;
        if is_new {
            self.kept = Some(id);
        }
        Ok(())
    }

    /// Called when the protocol has requested `id` again and it was granted: the transaction now
    /// keeps it. Releases any other lock that was obtained by waiting.
    #[inline]
    pub(crate) fn keep_only<C: Context>(&mut self, ctx: &mut C, id: LockId) {
        if self.kept.is_some() || self.beside.is_some() {
            self.keep(id);
            self.release_others(ctx);
        }
    }

    /// Called before a wait for another lock, when `id` is needed too: if `id` was obtained by
    /// waiting, it is kept beside the other.
    #[cold]
    pub(crate) fn keep_both<C: Context>(&mut self, ctx: &mut C, id: LockId) {
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

    /// As [`keep_only`](LockWaitState::keep_only), but the operation also keeps a lock other than
    /// `id`: that lock guards what the operation is about to do, and is released afterwards.
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
    pub(crate) fn release_others<C: Context>(&mut self, ctx: &mut C) {
        for id in [self.kept.take(), self.beside.take()].into_iter().flatten() {
            ctx.release(id);
        }
    }

    /// Returns the part of `id`'s gap that the transaction holds until it ends, that is, not
    /// counting a lock that will be released (invariant 5).
    pub(crate) fn own_gap<C: Context>(&self, ctx: &C, id: LockId) -> Part {
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
    /// Notes, under the latch, that the lock of `key` was denied.
    // Out of line, as the next: the callers are where each instruction counts.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_key(&self, waited: &mut LockWaitState, key: &[u8]) {
        waited.name = Some(KeyName { tree: self.id, key: KeySample::of(key) });
    }

    /// Notes the same of the lock of the key before `slot`; see [`Tree::lock_before`].
    #[cold]
    #[inline(never)]
    pub(crate) fn note_before(
        &self,
        waited: &mut LockWaitState,
        node: Node<'_, [u8]>,
        slot: usize,
    ) {
        match slot.checked_sub(1) {
            None => self.note_key(waited, node.low_fence()),
            Some(before) => {
                let mut scratch = Scratch::borrow();
                node.key_into(before, &mut scratch.key);
                self.note_key(waited, &scratch.key);
            }
        }
    }
}

/// Returns true if the transaction holds any part of `id`.
fn holds_any<C: Context>(ctx: &C, id: LockId) -> bool {
    ctx.holds(id, RangeMode::SN) || ctx.holds(id, RangeMode::NS)
}
