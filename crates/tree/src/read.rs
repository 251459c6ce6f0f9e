//! Point reads.
//!
//! A key that is present, be it as a ghost, is locked by itself (`SN`, `XN`); for a key that is
//! absent the gap in which it would be is locked (`NS`, `NX`), under the name of the key before
//! it or of the leaf's low fence.
//!
//! Invariants
//! 1. "Not found" is a read like any other: it locks, and it takes the tag.
//! 2. The value is copied out under the latch under which the lock was granted; a value in overflow
//!    pages is read after the latch is gone, under the lock.
//!
//! Algorithm
//! : "Efficient Locking for Databases", algorithm 2.
//!
//! Differences
//! : See [`locking`](crate::locking) on low fences. An update-intent read of an absent key takes
//!   the gap exclusively: with `NS`, two transactions could both read "absent" and then wait for
//!   each other's gap with their inserts.

use clearway_base::Result;
use clearway_lock::{LockId, Outcome, RangeMode};
use clearway_pool::SharedPage;

use crate::locking::LockWaitState;
use crate::need::{Step, drive};
use crate::node::Node;
use crate::overflow::ChainReader;
use crate::scratch::Scratch;
use crate::tree::ReadIntent;
use crate::{LeafHint, Locks, Tree, Wait};

impl ReadIntent {
    /// Locks a key that is present.
    #[inline]
    pub(crate) fn key_mode(self) -> RangeMode {
        match self {
            ReadIntent::Read => RangeMode::SN,
            ReadIntent::Update => RangeMode::XN,
        }
    }

    /// Locks the gap that an absent key is in.
    #[inline]
    fn gap_mode(self) -> RangeMode {
        match self {
            ReadIntent::Read => RangeMode::NS,
            ReadIntent::Update => RangeMode::NX,
        }
    }
}

/// A read of one key.
pub(crate) struct Get<'a> {
    key: &'a [u8],
    /// The key's lock.
    own: LockId,
    intent: ReadIntent,
    waited: LockWaitState,
    /// The value's overflow chain, as far as it has not been read. The key is locked then.
    chain: Option<ChainReader>,
}

impl<'a> Get<'a> {
    /// Begins a read into `out`, which it empties.
    ///
    /// # Errors
    /// `KeyTooLarge`.
    #[inline]
    pub(crate) fn new(
        tree: &Tree,
        key: &'a [u8],
        intent: ReadIntent,
        out: &mut Vec<u8>,
    ) -> Result<Get<'a>> {
        tree.check_key(key)?;
        out.clear();
        let own = tree.lock_of(key);
        Ok(Get { key, own, intent, waited: LockWaitState::default(), chain: None })
    }

    /// Hints that the next step will request the key's lock.
    #[inline]
    pub(crate) fn expect<C: Locks>(&self, ctx: &C) {
        ctx.expect(self.own);
    }

    /// Returns false if the key is absent; otherwise `out` has its value.
    #[inline(always)] // Each driver has its own copy.
    pub(crate) fn step<C: Locks>(
        &mut self,
        tree: &Tree,
        ctx: &mut C,
        hint: &mut LeafHint,
        out: &mut Vec<u8>,
    ) -> Step<bool> {
        if self.chain.is_some() {
            return self.read_chain(tree, out);
        }
        let Get { key, own, intent, .. } = *self;
        let (leaf, known): (SharedPage<'_>, _) = tree.leaf_and_slot(key, hint, &mut None)?;
        let node = Node::new(&*leaf);
        let found = known.map_or_else(|| node.find(key), Ok);
        let (id, mode) = match found {
            Ok(_) => (own, intent.key_mode()),
            Err(0) if node.low_fence() == key => (own, intent.key_mode()),
            Err(slot) => (tree.lock_before(node, slot), intent.gap_mode()),
        };
        if ctx.request(id, mode) == Outcome::Denied {
            let name = match found {
                Err(slot) if mode == intent.gap_mode() => tree.name_before(node, slot),
                _ => tree.name_of(key),
            };
            return Err(self.waited.lacks(ctx, id, mode, name));
        }
        self.waited.keep_only(ctx, id);
        let Ok(slot) = found else { return Ok(false) };
        hint.slot = slot;
        if node.is_ghost(slot) {
            return Ok(false);
        }
        if node.is_overflow(slot) {
            self.chain = Some(ChainReader::of_record(node.value(slot))?);
            drop(leaf);
            return self.read_chain(tree, out);
        }
        out.extend_from_slice(node.value(slot));
        Ok(true)
    }

    /// Reads the value, or the rest of it, from its overflow chain. No latch is held: the lock on
    /// the key keeps the chain as it is, since a transaction that replaces a value frees the old
    /// chain only after it has committed.
    #[cold]
    fn read_chain(&mut self, tree: &Tree, out: &mut Vec<u8>) -> Step<bool> {
        self.chain.as_mut().map_or(Ok(()), |chain| chain.step(&tree.pool, tree.id, out))?;
        Ok(true)
    }
}

impl Tree {
    /// Reads the value of `key` into `out`; `false`, and nothing in `out`, if it is absent.
    ///
    /// # Errors
    /// `KeyTooLarge`; the errors of waiting for a lock and of reading a page.
    pub fn get<C: Locks + Wait>(
        &self,
        ctx: &mut C,
        hint: &mut LeafHint,
        key: &[u8],
        intent: ReadIntent,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let mut get = Get::new(self, key, intent, out)?;
        get.expect(ctx);
        drive(&self.pool, ctx, |ctx| get.step(self, ctx, hint, out))
    }

    /// The lock of the key before `slot`: its predecessor's, or the low fence's.
    #[inline]
    pub(crate) fn lock_before(&self, node: Node<'_, [u8]>, slot: usize) -> LockId {
        match slot.checked_sub(1) {
            None => self.lock_of(node.low_fence()),
            Some(before) => self.lock_at(node, before),
        }
    }

    /// The lock of the key at `slot`.
    #[inline]
    pub(crate) fn lock_at(&self, node: Node<'_, [u8]>, slot: usize) -> LockId {
        if node.prefix_len() == 0 {
            return self.lock_of(node.suffix(slot));
        }
        let mut scratch = Scratch::borrow();
        node.key_into(slot, &mut scratch.key);
        self.lock_of(&scratch.key)
    }
}
