//! Insert, put and update: one loop, since they differ only in what they make of finding the key.
//!
//! ```text
//!          ┌──────────── wait for a lock ◄──────┐
//!          ▼                                    │
//!   reserve ─► latch leaf ─► lock ─► decide ────┼─► log, change ─► done
//!          ▲                                    │
//!          ├──────────── make room ◄────────────┤
//!          └──────────── write chain ◄──────────┘     (latch let go on each way back)
//! ```
//! The key's lock, once granted, is kept, so what was decided on one look holds on every later one:
//! only the gap may have to be asked for again, as long as the key is not part of the leaf.

use clearway_base::{Error, Result};
use clearway_pool::ExclusivePage;

use super::{Absent, LockVerdict, OP_OVERHEAD};
use crate::descend::PendingAdoption;
use crate::locking::LockWaitState;
use crate::node::Node;
use crate::op::{self, Change, Op, UserOp};
use crate::scratch::Scratch;
use crate::{Context, LeafHint, Tree, overflow};

/// What a store makes of finding the key, or not.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    /// The key must be absent.
    Insert,
    /// Either will do.
    Put,
    /// The key must be present.
    Update,
}

impl Goal {
    fn absent(self) -> Absent {
        if self == Goal::Update { Absent::Read } else { Absent::Insert }
    }
}

/// The value to store, as the leaf holds it.
#[derive(Clone, Copy)]
struct Stored<'v> {
    bytes: &'v [u8],
    overflow: bool,
}

/// What one look at the leaf came to.
enum Look {
    /// Done; whether a record was replaced.
    Done(bool),
    /// The key's state, locked, forbids the operation.
    Refused(Error),
    /// Wait for this lock and look again.
    Wait(clearway_lock::LockId, clearway_lock::RangeMode),
    /// Make room for this many bytes and look again.
    Room(usize),
    /// The key is locked and the operation allowed: write the overflow chain and look again.
    Chain,
}

impl Tree {
    /// Stores a record; `true` if it replaced one.
    pub(super) fn store<C: Context>(
        &self,
        ctx: &mut C,
        hint: &mut LeafHint,
        key: &[u8],
        value: &[u8],
        goal: Goal,
    ) -> Result<bool> {
        self.check_key(key)?;
        self.check_value(value)?;
        if self.limits.is_inline(key.len(), value.len()) {
            let stored = Stored { bytes: value, overflow: false };
            return stored_or_absent(self.store_loop(ctx, hint, key, Some(stored), goal)?);
        }
        // First the locks and the verdict, then the chain: a refused insert writes no chain.
        if let Some(replaced) = self.store_loop(ctx, hint, key, None, goal)? {
            return Ok(replaced);
        }
        let chain = overflow::store(ctx, &self.pool, &self.space, self.id, value)?;
        let stored = Stored { bytes: &chain.to_bytes(), overflow: true };
        let result = self.store_loop(ctx, hint, key, Some(stored), goal);
        if result.is_err() {
            // The chain is not linked to anything yet. If freeing it fails too, the first error is
            // the one to report; the pages show up in `verify` as allocated and unreachable.
            let _ = overflow::free(ctx, &self.pool, &self.space, self.id, chain);
        }
        stored_or_absent(result?)
    }

    /// Looks, and does what the look asks for, until it is done. `None` if the value is still to
    /// be written to a chain.
    fn store_loop<C: Context>(
        &self,
        ctx: &mut C,
        hint: &mut LeafHint,
        key: &[u8],
        stored: Option<Stored<'_>>,
        goal: Goal,
    ) -> Result<Option<bool>> {
        ctx.expect(self.lock_of(key));
        let mut waited = LockWaitState::default();
        let mut pending = None;
        // The old value's length is not known yet; it is at most the longest inline record. Twice,
        // for the undo.
        let new_len = stored.map_or(0, |stored| stored.bytes.len());
        let bytes = key.len() + new_len + self.limits.record_len_max + OP_OVERHEAD;
        loop {
            ctx.reserve(2 * bytes)?;
            match self.store_look(ctx, hint, key, stored, goal, (&mut waited, &mut pending))? {
                Look::Done(replaced) => {
                    waited.release_others(ctx);
                    self.adopt_pending(ctx, key, pending);
                    return Ok(Some(replaced));
                }
                Look::Chain => {
                    waited.release_others(ctx);
                    return Ok(None);
                }
                Look::Refused(error) => return Err(error),
                Look::Wait(id, mode) => waited.wait(ctx, id, mode)?,
                Look::Room(bytes) => self.make_room(ctx, hint, key, bytes)?,
            }
        }
    }

    /// One latch hold: lock, decide, log, change.
    #[inline]
    fn store_look<C: Context>(
        &self,
        ctx: &mut C,
        hint: &mut LeafHint,
        key: &[u8],
        stored: Option<Stored<'_>>,
        goal: Goal,
        (waited, pending): (&mut LockWaitState, &mut Option<PendingAdoption>),
    ) -> Result<Look> {
        let (mut leaf, known): (ExclusivePage<'_>, _) = self.leaf_and_slot(key, hint, pending)?;
        let node = Node::new(&*leaf);
        let found = match self.lock_for_write(ctx, node, key, known, goal.absent(), waited) {
            LockVerdict::Denied(id, mode) => return Ok(Look::Wait(id, mode)),
            LockVerdict::Locked(found) => found,
        };
        // The key is locked: this answer, and a refusal because of it, is a read that stays true.
        let live = found.is_ok_and(|slot| !node.is_ghost(slot));
        match goal {
            Goal::Insert if live => return Ok(Look::Refused(Error::DuplicateKey)),
            Goal::Update if !live => return Ok(Look::Refused(Error::NotFound)),
            _ => {}
        }
        let Some(stored) = stored else { return Ok(Look::Chain) };
        let fits = match found {
            Ok(slot) => node.fits_value(slot, stored.bytes.len()),
            Err(_) => node.fits(key.len(), stored.bytes.len()),
        };
        if !fits {
            return Ok(Look::Room(stored.bytes.len()));
        }
        // From here on nothing can fail but the log itself (write invariant 4).
        let change = match found {
            Ok(slot) if live => replace(node, slot, stored),
            _ => Change::Insert {
                value: stored.bytes,
                overflow: stored.overflow,
                new_slot: found.is_err(),
            },
        };
        let (Ok(slot) | Err(slot)) = found;
        let shrinks = live && stored.bytes.len() < node.value_len(slot) && !Tree::is_sparse(node);
        let op = UserOp { page: leaf.id(), tree: self.id, slot, key, change };
        if matches!(op.change, Change::Delta { new: [], .. }) {
            return Ok(Look::Done(true)); // The value is what it was.
        }
        let mut scratch = Scratch::borrow();
        op.encode(&mut scratch.body);
        let dropped = op.dropped_overflow().map(<[u8]>::to_vec);
        let change = detached(&op.change, stored.bytes);
        let op = Op::User(UserOp { page: op.page, tree: op.tree, slot, key, change });
        op::perform_decoded(ctx, Context::log_user, &op, &scratch.body, &mut [&mut leaf])?;
        if let Some(reference) = dropped {
            ctx.defer_free(self.id, &reference);
        }
        if shrinks && Tree::is_sparse(Node::new(&*leaf)) {
            ctx.defer_maintenance(self.id, key);
        }
        Ok(Look::Done(live))
    }
}

/// The outcome of a loop that had its value at hand.
#[inline]
fn stored_or_absent(done: Option<bool>) -> Result<bool> {
    match done {
        Some(replaced) => Ok(replaced),
        None => Err(Error::NotFound),
    }
}

/// What applying `change` needs, out of the value that it stores: nothing of it lies in the page,
/// which can then be changed.
#[inline]
fn detached<'v>(change: &Change<'_>, value: &'v [u8]) -> Change<'v> {
    match *change {
        Change::Delta { offset, new, .. } => {
            Change::Delta { offset, old: &[], new: &value[offset..offset + new.len()] }
        }
        Change::Replace { old_overflow, new_overflow, .. } => {
            Change::Replace { old: &[], old_overflow, new: value, new_overflow }
        }
        Change::Insert { overflow, new_slot, .. } => Change::Insert { value, overflow, new_slot },
        Change::Delete { overflow, .. } => Change::Delete { old: &[], overflow },
    }
}

/// The change from the record at `slot` to the stored value.
#[inline]
fn replace<'a>(node: Node<'a, [u8]>, slot: usize, stored: Stored<'a>) -> Change<'a> {
    let (old, new) = (node.value(slot), stored.bytes);
    let (old_overflow, new_overflow) = (node.is_overflow(slot), stored.overflow);
    if old_overflow || new_overflow {
        Change::Replace { old, old_overflow, new, new_overflow }
    } else {
        Change::between(old, new)
    }
}
