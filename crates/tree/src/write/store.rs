//! Insert, put and update: one loop, since they differ only in how they treat a key that is present
//! or absent.
//!
//! ```text
//!          ┌──────────── wait for a lock ◄──────┐
//!          ▼                                    │
//!   reserve ─► latch leaf ─► lock ─► decide ────┼─► log, change ─► done
//!          ▲                                    │
//!          ├──────────── make room ◄────────────┤
//!          └──────────── write chain ◄──────────┘     (latch released on each way back)
//! ```
//! Once the key's lock is granted, the transaction keeps it, so a decision made in one latch hold
//! is valid in all later ones. Only the gap must be checked again in each later latch hold, while
//! the key has no record in the leaf.

use clearway_base::{Error, Result};
use clearway_pool::ExclusivePage;

use super::{Absent, LockVerdict, OP_OVERHEAD};
use crate::descend::PendingAdoption;
use crate::locking::LockWaitState;
use crate::node::Node;
use crate::op::{self, Change, Op, UserOp};
use crate::scratch::Scratch;
use crate::{Context, LeafHint, Tree, overflow};

/// The requirement of a store on the key's presence.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    /// The key must be absent.
    Insert,
    /// The key may be present or absent.
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

/// The result of one latch hold on the leaf.
enum StoreStep {
    /// Done; whether a record was replaced.
    Done(bool),
    /// The lock that the operation needs is held, and the operation is refused because the key is
    /// present (or absent).
    Refused(Error),
    /// The lock was denied: wait for it and repeat.
    Wait(clearway_lock::LockId, clearway_lock::RangeMode),
    /// The leaf is too full: make room for this many bytes and repeat.
    Room(usize),
    /// The key is locked and the operation allowed: write the overflow chain and repeat.
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
        // First the locks and the decision, then the chain: a refused insert writes no chain.
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

    /// Repeats `store_step`, with the work that each step requires in between, until the store is
    /// done. Returns `None` if the value is still to be written to a chain.
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
            match self.store_step(ctx, hint, key, stored, goal, (&mut waited, &mut pending))? {
                StoreStep::Done(replaced) => {
                    waited.release_others(ctx);
                    self.adopt_pending(ctx, key, pending);
                    return Ok(Some(replaced));
                }
                StoreStep::Chain => {
                    waited.release_others(ctx);
                    return Ok(None);
                }
                StoreStep::Refused(error) => return Err(error),
                StoreStep::Wait(id, mode) => waited.wait(ctx, id, mode)?,
                StoreStep::Room(bytes) => self.make_room(ctx, hint, key, bytes)?,
            }
        }
    }

    /// One latch hold: lock, decide, log, change.
    #[inline]
    fn store_step<C: Context>(
        &self,
        ctx: &mut C,
        hint: &mut LeafHint,
        key: &[u8],
        stored: Option<Stored<'_>>,
        goal: Goal,
        (waited, pending): (&mut LockWaitState, &mut Option<PendingAdoption>),
    ) -> Result<StoreStep> {
        let (mut leaf, known): (ExclusivePage<'_>, _) = self.leaf_and_slot(key, hint, pending)?;
        let node = Node::new(&*leaf);
        let found = match self.lock_for_write(ctx, node, key, known, goal.absent(), waited) {
            LockVerdict::Denied(id, mode) => return Ok(StoreStep::Wait(id, mode)),
            LockVerdict::Locked(found) => found,
        };
        // The key, or the gap in which it would be, is locked. So whether the key is present cannot
        // change until the transaction ends, and a refusal because of that is a serializable read.
        let live = found.is_ok_and(|slot| !node.is_ghost(slot));
        match goal {
            Goal::Insert if live => return Ok(StoreStep::Refused(Error::DuplicateKey)),
            Goal::Update if !live => return Ok(StoreStep::Refused(Error::NotFound)),
            _ => {}
        }
        let Some(stored) = stored else { return Ok(StoreStep::Chain) };
        let fits = match found {
            Ok(slot) => node.fits_value(slot, stored.bytes.len()),
            Err(_) => node.fits(key.len(), stored.bytes.len()),
        };
        if !fits {
            return Ok(StoreStep::Room(stored.bytes.len()));
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
            return Ok(StoreStep::Done(true)); // The value is what it was.
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
        Ok(StoreStep::Done(live))
    }
}

/// Returns the outcome of a `store_loop` that was given the value. Such a loop never returns
/// `None`: only `StoreStep::Chain` leads to it, which requires that there is no value. The error
/// for that impossible case keeps this code free of a panic.
#[inline]
fn stored_or_absent(done: Option<bool>) -> Result<bool> {
    match done {
        Some(replaced) => Ok(replaced),
        None => Err(Error::NotFound),
    }
}

/// Returns `change` without any borrow of the page: its new bytes come from `value`, and its old
/// bytes, which applying it does not need, are empty. The page can then be borrowed mutably.
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
