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
use crate::node::Node;
use crate::overflow::OverflowRef;
use crate::scratch::Scratch;
use crate::tree::ReadIntent;
use crate::{Context, LeafHint, Tree, overflow};

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

impl Tree {
    /// Reads the value of `key` into `out`; `false`, and nothing in `out`, if it is absent.
    ///
    /// # Errors
    /// `KeyTooLarge`; whatever waiting for a lock or reading a page can fail with.
    pub fn get<C: Context>(
        &self,
        ctx: &mut C,
        hint: &mut LeafHint,
        key: &[u8],
        intent: ReadIntent,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        self.check_key(key)?;
        out.clear();
        let own = self.lock_of(key);
        ctx.expect(own);
        let mut waited = LockWaitState::default();
        loop {
            let (leaf, known): (SharedPage<'_>, _) = self.leaf_and_slot(key, hint, &mut None)?;
            let node = Node::new(&*leaf);
            let found = known.map_or_else(|| node.find(key), Ok);
            let (id, mode) = match found {
                Ok(_) => (own, intent.key_mode()),
                Err(0) if node.low_fence() == key => (own, intent.key_mode()),
                Err(slot) => (self.lock_before(node, slot), intent.gap_mode()),
            };
            if ctx.request(id, mode) == Outcome::Denied {
                match found {
                    Err(slot) if mode == intent.gap_mode() => {
                        self.note_before(&mut waited, node, slot);
                    }
                    _ => self.note_key(&mut waited, key),
                }
                drop(leaf);
                waited.wait(ctx, id, mode)?;
                continue;
            }
            waited.keep_only(ctx, id);
            let Ok(slot) = found else { return Ok(false) };
            hint.slot = slot;
            if node.is_ghost(slot) {
                return Ok(false);
            }
            out.extend_from_slice(node.value(slot));
            if node.is_overflow(slot) {
                drop(leaf);
                self.load_value(out)?;
            }
            return Ok(true);
        }
    }

    /// Replaces an overflow reference by the value it stands for. No latch is held: the lock on the
    /// key keeps the chain as it is, since whoever replaces a value frees its old chain only after
    /// it has committed.
    pub(crate) fn load_value(&self, out: &mut Vec<u8>) -> Result<()> {
        let chain = OverflowRef::of_record(out)?;
        overflow::load(&self.pool, self.id, chain, out)
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
