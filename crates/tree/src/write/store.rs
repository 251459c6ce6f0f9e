//! Insert, put and update: one operation, since they differ only in how they treat a key that is
//! present or absent.
//!
//! ```text
//!          ┌──────────── a need (driver waits) ◄────────┐
//!          ▼                                            │
//!   reserve ─► latch leaf ─► lock ─► decide ────────────┼─► log, change ─► done
//!          ▲                                            │
//!          ├──────────── make room ◄────────────────────┤
//!          └──────────── write chain ◄──────────────────┘     (latch released on each way back)
//! ```
//! Once the key's lock is granted, the transaction keeps it, so a decision made in one latch hold
//! is valid in all later ones. Only the gap must be checked again in each later latch hold, while
//! the key has no record in the leaf.
//!
//! A value that goes to an overflow chain is written there after the locks are granted and the
//! decision is made, so that a refused insert writes no chain.

use clearway_base::{Error, Result};
use clearway_pool::ExclusivePage;

use super::{Absent, OP_OVERHEAD};
use crate::descend::PendingAdoption;
use crate::locking::LockWaitState;
use crate::need::{Step, drive, reserve};
use crate::node::Node;
use crate::op::{self, Change, Op, UserOp};
use crate::overflow::{ChainWriter, OverflowRef};
use crate::restructure::RoomMaker;
use crate::scratch::Scratch;
use crate::{Environment, Journal, LeafHint, Tree, Wait};

/// The requirement of a store on the key's presence.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Goal {
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

/// A store of one record.
pub(crate) struct Store<'a> {
    key: &'a [u8],
    value: &'a [u8],
    goal: Goal,
    is_inline: bool,
    /// The reference to the value's overflow chain, once that is written.
    chain: Option<[u8; OverflowRef::LEN]>,
    waited: LockWaitState,
    pending: Option<PendingAdoption>,
    stage: StoreStage<'a>,
}

/// The next thing that a store does.
enum StoreStage<'a> {
    /// Change the leaf.
    Leaf,
    /// Make room in the leaf first.
    Room(RoomMaker),
    /// The key is locked, and the operation allowed: write the value's overflow chain first.
    Chain(ChainWriter<'a>),
}

/// The result of one latch hold on the leaf.
enum LeafStep {
    /// Done; whether a record was replaced.
    Done(bool),
    /// The leaf is too full: make room for this many bytes and repeat.
    Room(usize),
    /// The key is locked and the operation allowed: write the overflow chain and repeat.
    Chain,
}

impl<'a> Store<'a> {
    /// Begins a store.
    ///
    /// # Errors
    /// `KeyTooLarge`, `ValueTooLarge`.
    #[inline]
    pub(crate) fn new(
        tree: &Tree,
        key: &'a [u8],
        value: &'a [u8],
        goal: Goal,
    ) -> Result<Store<'a>> {
        tree.check_key(key)?;
        tree.check_value(value)?;
        let is_inline = tree.limits.is_inline(key.len(), value.len());
        let (waited, stage) = (LockWaitState::default(), StoreStage::Leaf);
        Ok(Store { key, value, goal, is_inline, chain: None, waited, pending: None, stage })
    }

    /// Returns true if the store has replaced a record.
    #[inline(always)] // Each driver has its own copy.
    pub(crate) fn step<C: Environment>(
        &mut self,
        tree: &Tree,
        ctx: &mut C,
        hint: &mut LeafHint,
    ) -> Step<bool> {
        loop {
            if !matches!(self.stage, StoreStage::Leaf) {
                self.prepare(tree, ctx, hint)?;
            }
            match self.step_leaf(tree, ctx, hint)? {
                LeafStep::Done(replaced) => return Ok(self.done(tree, ctx, replaced)),
                LeafStep::Chain => {
                    self.waited.release_others(ctx);
                    self.stage = StoreStage::Chain(ChainWriter::new(tree.id, self.value));
                }
                LeafStep::Room(bytes) => self.stage = StoreStage::Room(RoomMaker::new(bytes)),
            }
        }
    }

    /// As the first [`step`](Store::step), if one latch hold suffices; otherwise changes nothing
    /// and returns `None`.
    #[inline]
    pub(crate) fn try_leaf<C: Environment>(
        &mut self,
        tree: &Tree,
        ctx: &mut C,
        hint: &mut LeafHint,
    ) -> Step<Option<bool>> {
        match self.step_leaf(tree, ctx, hint)? {
            LeafStep::Done(replaced) => Ok(Some(self.done(tree, ctx, replaced))),
            LeafStep::Room(_) | LeafStep::Chain => Ok(None),
        }
    }

    /// Returns true if a descent has noted an adoption.
    #[cold]
    pub(crate) fn has_pending(&self) -> bool {
        self.pending.is_some()
    }

    #[inline]
    fn done<C: Environment>(&mut self, tree: &Tree, ctx: &mut C, replaced: bool) -> bool {
        self.waited.release_others(ctx);
        tree.adopt_pending(ctx, self.key, self.pending);
        replaced
    }

    /// Does what is to be done before the leaf can be changed.
    #[cold]
    fn prepare<C: Environment>(
        &mut self,
        tree: &Tree,
        ctx: &mut C,
        hint: &mut LeafHint,
    ) -> Step<()> {
        match &mut self.stage {
            StoreStage::Leaf => {}
            StoreStage::Room(room) => room.step(tree, ctx, hint, self.key)?,
            StoreStage::Chain(writer) => {
                self.chain = Some(writer.step(ctx, &tree.space)?.to_bytes());
            }
        }
        self.stage = StoreStage::Leaf;
        Ok(())
    }

    /// One latch hold: lock, decide, log, change.
    #[inline]
    fn step_leaf<C: Environment>(
        &mut self,
        tree: &Tree,
        ctx: &mut C,
        hint: &mut LeafHint,
    ) -> Step<LeafStep> {
        let Store { key, goal, .. } = *self;
        let chain = self.chain;
        let stored = match &chain {
            Some(reference) => Some(Stored { bytes: reference, overflow: true }),
            None => self.is_inline.then_some(Stored { bytes: self.value, overflow: false }),
        };
        // The old value's length is not known yet; it is at most the longest inline record. Twice,
        // for the undo.
        let new_len = stored.map_or(0, |stored| stored.bytes.len());
        reserve(ctx, 2 * (key.len() + new_len + tree.limits.record_len_max + OP_OVERHEAD))?;
        let (mut leaf, known): (ExclusivePage<'_>, _) =
            tree.leaf_and_slot(key, hint, &mut self.pending)?;
        let node = Node::new(&*leaf);
        let absent = goal.absent();
        let found = tree.lock_for_write(ctx, node, key, known, absent, &mut self.waited)?;
        // The key is locked, or, for an update of an absent key, the gap in which it would be. So
        // whether the key is present cannot change until the transaction ends, and a refusal
        // because of that is a serializable read.
        let live = found.is_ok_and(|slot| !node.is_ghost(slot));
        match goal {
            Goal::Insert if live => return Err(Error::DuplicateKey { at: None }.into()),
            Goal::Update if !live => return Err(Error::not_found().into()),
            _ => {}
        }
        let Some(stored) = stored else { return Ok(LeafStep::Chain) };
        let fits = match found {
            Ok(slot) => node.fits_value(slot, stored.bytes.len()),
            Err(_) => node.fits(key.len(), stored.bytes.len()),
        };
        if !fits {
            return Ok(LeafStep::Room(stored.bytes.len()));
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
        let op = UserOp { page: leaf.id(), tree: tree.id, slot, key, change };
        if matches!(op.change, Change::Delta { new: [], .. }) {
            return Ok(LeafStep::Done(true)); // The value is what it was.
        }
        let mut scratch = Scratch::borrow();
        op.encode(&mut scratch.body);
        let dropped = op.dropped_overflow().map(<[u8]>::to_vec);
        let change = detached(&op.change, stored.bytes);
        let op = Op::User(UserOp { page: op.page, tree: op.tree, slot, key, change });
        op::perform_decoded(ctx, Journal::log_user, &op, &scratch.body, &mut [&mut leaf])?;
        if stored.overflow {
            ctx.note_unlinked(None);
        }
        if let Some(reference) = dropped {
            ctx.defer_free(tree.id, &reference);
        }
        if shrinks && Tree::is_sparse(Node::new(&*leaf)) {
            ctx.defer_maintenance(tree.id, key);
        }
        Ok(LeafStep::Done(live))
    }
}

impl Tree {
    /// Stores a record; `true` if it replaced one.
    #[inline]
    pub(super) fn store<C: Environment + Wait>(
        &self,
        ctx: &mut C,
        hint: &mut LeafHint,
        key: &[u8],
        value: &[u8],
        goal: Goal,
    ) -> Result<bool> {
        let mut store = Store::new(self, key, value, goal)?;
        ctx.expect(self.lock_of(key));
        drive(&self.pool, ctx, |ctx| store.step(self, ctx, hint))
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
