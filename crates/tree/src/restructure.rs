//! System transactions: how the tree changes its shape and never its content.
//!
//! | operation | when | module |
//! | --- | --- | --- |
//! | ghost reclamation | room is wanted in a leaf; upkeep | `reclaim` |
//! | split into a foster child | room is wanted and no ghost gives it | `split` |
//! | adoption of a foster child | a writer's descent met one; a leaf was split; upkeep | `adopt` |
//! | root growth | the root has a foster child | `adopt` |
//! | merge with a neighbour | upkeep finds a sparse node | `merge` |
//! | root shrinkage | the root has one child only | `merge` |
//!
//! Invariants
//! 1. *One record.* Each operation is one log record over pages that stay exclusively latched from
//!    the first look until the change is made.
//! 2. *No content.* No lock is taken; those of others are only asked about, under the exclusive
//!    latch of the leaf through which a newcomer would have to come.
//! 3. *Boundaries with a lock stay.* A key, ghost or fence that somebody holds or awaits a lock on
//!    is not removed; a fence that a merge would remove becomes a ghost record then.
//! 4. *Tags are met.* The tag of a removed boundary goes to the boundary before it, in the same
//!    latch hold: who later asks for the gap meets it there. Who has that gap already, and whose
//!    lock now reaches further, asks no more; so as long as there is anybody, and the tag is not
//!    durable, the boundary stays, as the ghost that it is or, for a fence, as one that the merge
//!    makes.
//! 5. *No boundary in a locked gap.* A leaf is split at the full key of an existing record or
//!    ghost, so a split creates no new boundary at all.
//! 6. *Optional work gives up.* Adoption, growth, merge and shrinkage try their latches and return
//!    without having done anything if one is taken or the shape is no longer what it was. Splits
//!    are not optional, and need one latch only that others can know of.
//!
//! Latch order
//! : Parent, child; left, right; space-map page; then a page just allocated, which nobody keeps
//!   latched. Children are pinned before a parent is latched, so that none is read in under it.
//!
//! Algorithm
//! : Graefe, Kimura, Kuno, "Foster B-trees" (TODS 2012). Reclamation and tags:
//!   "Efficient Locking for Databases", sections 2.2 and 5.3; tag inheritance is ours.

mod adopt;
mod merge;
mod reclaim;
mod split;

use clearway_base::{
    PAGE_SIZE, PageId, Result,
    failpoint::{self, Failpoint},
};
use clearway_pool::{ExclusivePage, SharedPage};

use crate::descend::PendingAdoption;
use crate::node::{Division, Node};
use crate::op::{self, Op, SystemOp};
use crate::{Context, LeafHint, SpaceMap, Tree};
use adopt::Adoption;

/// Log bytes of a system transaction that carries a node's image and allocates or frees a page:
/// image, map page's format, and codes, ids, slots, log header.
const IMAGE_RESERVE: usize = PAGE_SIZE + SpaceMap::ALLOCATE_RESERVE + 256;

/// Log bytes of a ghost reclamation: at most 1,017 slots of at most two bytes, and the rest.
const RECLAIM_RESERVE: usize = 1017 * 2 + 128;

/// Splits of one leaf, one after another, after which the record that needs room has it: two as
/// insertions' pattern suggests, then two in the middle, which always suffice
/// ([`split_slot`](Node::split_slot)).
const SPLITS_MAX: usize = 4;

/// Adoptions that one visit to a path makes at most: more than a path has levels.
const ADOPTIONS_MAX: usize = 32;

impl Tree {
    /// Makes room in the leaf of `key` for its record to have a value of `value_len` bytes: the
    /// record that is there, or a new one. By the time the caller looks again, other threads may
    /// have taken the room; then it asks again. No latch is held.
    ///
    /// # Errors
    /// `CorruptPage` if the leaf's records do not add up; `DiskFull`, and what the log returns.
    #[cold]
    pub(crate) fn make_room<C: Context>(
        &self,
        ctx: &mut C,
        hint: &mut LeafHint,
        key: &[u8],
        value_len: usize,
    ) -> Result<()> {
        // Splits since another thread last changed the leaf, and the LSN that the last one left.
        let (mut splits, mut split_lsn) = (0, None);
        loop {
            ctx.reserve(IMAGE_RESERVE + RECLAIM_RESERVE)?;
            self.space.prepare(ctx, 1)?;
            let mut leaf: ExclusivePage<'_> = self.leaf(key, hint, &mut None)?;
            if split_lsn.is_some_and(|lsn| lsn != leaf.page_lsn()) {
                splits = 0;
            }
            if !has_room(&leaf, key, value_len) {
                self.reclaim(ctx, &mut leaf, Some(key))?;
            }
            if has_room(&leaf, key, value_len) {
                break;
            }
            if splits == SPLITS_MAX {
                return Err(self.misplaced(leaf.id(), "splitting makes no room".into()));
            }
            let division =
                if splits < SPLITS_MAX / 2 { Division::ByPattern } else { Division::Even };
            let (Ok(slot) | Err(slot)) = Node::new(&*leaf).find(key);
            self.split(ctx, &mut leaf, slot, division)?;
            splits += 1;
            split_lsn = Some(leaf.page_lsn());
        }
        if split_lsn.is_some() {
            // One split brings at most one foster child to each level, as adoptions fill branches.
            // All are adopted now: with hints, descents may be rare, and chains would grow faster
            // than the writers that happen to meet them shorten them.
            self.adopt_path(ctx, key);
        }
        Ok(())
    }

    /// Has a foster child adopted that the descent to `key` met. The operation that met it is done,
    /// and its outcome does not depend on this: what fails is left to upkeep.
    #[inline]
    pub(crate) fn adopt_pending<C: Context>(
        &self,
        ctx: &mut C,
        key: &[u8],
        pending: Option<PendingAdoption>,
    ) {
        if let Some(pending) = pending
            && let Ok(Adoption::Busy) | Err(_) = self.adopt(ctx, pending)
        {
            ctx.defer_maintenance(self.id, key);
        }
    }

    /// Has the foster children on the path to `key` adopted; what fails is left to upkeep.
    fn adopt_path<C: Context>(&self, ctx: &mut C, key: &[u8]) {
        if !matches!(self.try_adopt_path(ctx, key), Ok(true)) {
            ctx.defer_maintenance(self.id, key);
        }
    }

    /// Has foster children on the path to `key` adopted, and those behind them in their chains.
    /// `false` if some are left: a latch was taken, or the chains are long.
    pub(crate) fn try_adopt_path<C: Context>(&self, ctx: &mut C, key: &[u8]) -> Result<bool> {
        let mut at = key.to_vec();
        for _ in 0..ADOPTIONS_MAX {
            let Some(pending) = self.pending_on_path(&at)? else {
                if at == key {
                    return Ok(true);
                }
                at.clear();
                at.extend_from_slice(key);
                continue;
            };
            match self.adopt(ctx, pending)? {
                Adoption::Busy => return Ok(false),
                Adoption::Adopted(page) => self.rest_of_chain(page, &mut at)?,
                Adoption::Gone | Adoption::RoomMade => {}
            }
        }
        Ok(false)
    }

    /// Replaces `at` by the low fence of a node that was just adopted, if it has a foster child
    /// itself: descents for smaller keys do not come to that any more.
    fn rest_of_chain(&self, page: PageId, at: &mut Vec<u8>) -> Result<()> {
        let page = self.look(page)?;
        let node = Node::new(&*page);
        if self.is_node_at(&page, node.level()) && node.foster().is_some() {
            node.low_fence_into(at);
        }
        Ok(())
    }

    /// Logs and makes a system transaction. `pages` are all of its pages, exclusively latched.
    fn perform_system<C: Context>(
        ctx: &mut C,
        op: SystemOp<'_>,
        pages: &mut [&mut ExclusivePage<'_>],
    ) -> Result<()> {
        let mut body = Vec::with_capacity(256);
        Op::System(op).encode(&mut body);
        let log = |ctx: &mut _, body: &[u8]| {
            let span = Context::log_system(ctx, body)?;
            failpoint::pass(Failpoint::StructureLogged);
            Ok(span)
        };
        op::perform(ctx, log, &body, pages).map(drop)
    }

    /// Whether a latched page is a node of this tree on `level`.
    pub(crate) fn is_node_at(&self, page: &[u8], level: u8) -> bool {
        let node = Node::new(page);
        let kind = if level == 0 { node.is_leaf() } else { node.is_branch() };
        kind && node.tree() == self.id && node.level() == level
    }

    /// Has `page` in memory, latched shared for a look.
    fn look(&self, page: PageId) -> Result<SharedPage<'_>> {
        self.pool.shared(page)
    }
}

/// Whether the record of `key` can have a value of `value_len` bytes in this leaf.
fn has_room(leaf: &[u8], key: &[u8], value_len: usize) -> bool {
    let node = Node::new(leaf);
    match node.find(key) {
        Ok(slot) => node.fits_value(slot, value_len),
        Err(_) => node.fits(key.len(), value_len),
    }
}
