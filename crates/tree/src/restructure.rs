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
//! 2. *No content.* No lock is taken. It is only tested whether a lock is held or awaited, under
//!    the exclusive latch of the leaf: an operation relies on a lock only after it has requested
//!    the lock under that latch (write invariant 2).
//! 3. *Boundaries with a lock stay.* A key, ghost or fence on which a transaction holds or awaits a
//!    lock is not removed; a fence that a merge would remove becomes a ghost record then.
//! 4. *Tags are met.* The tag of the boundary before a removed one is raised to the tag of the
//!    removed one, in the same latch hold, so that an owner that locks the gap later meets it
//!    there. An owner that already holds a lock on the boundary before would not read the tag
//!    again, although its lock would then cover a larger gap. So while another owner holds or
//!    awaits such a lock, and the tag is not durable, no boundary is removed: it stays as the ghost
//!    that it is or, if it is a fence, as a ghost that the merge makes.
//! 5. *No boundary in a locked gap.* A leaf is split at the full key of an existing record or
//!    ghost, so a split creates no new boundary at all.
//! 6. *Optional work gives up.* Adoption, growth, merge and shrinkage try the latches of their
//!    nodes and return without having done anything if one is taken or the shape is no longer what
//!    it was. (A writer that has just split a leaf waits for the latches of the adoption, and holds
//!    none while it waits.) For the latch of a space-map page they wait, in the latch order. Splits
//!    are not optional: the caller holds the latch of the node, no other thread knows the new node,
//!    and the space-map page is latched in the latch order, too.
//!
//! Latch order
//! : Parent, child; left, right; space-map page; then the page that is being allocated, whose latch
//!   is only tried. Children are pinned before a parent is latched, so that none is read in under
//!   it.
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
pub(crate) use adopt::Latching;

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
    /// `CorruptPage` if splits make no room, as in a damaged leaf only; `DiskFull`, and what the
    /// log returns.
    #[cold]
    pub(crate) fn make_room<C: Context>(
        &self,
        ctx: &mut C,
        hint: &mut LeafHint,
        key: &[u8],
        value_len: usize,
    ) -> Result<()> {
        // The number of splits since another thread last changed the leaf, and the page LSN that
        // the last split gave the leaf.
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
            // An adoption that finds its branch full splits it, so one split of the leaf leads to
            // at most one new foster child on each level. All are adopted now: with leaf hints,
            // descents may be rare, and chains would grow faster than the writers whose descents
            // meet them shorten them.
            self.adopt_path(ctx, key);
        }
        Ok(())
    }

    /// Makes the adoption that the descent to `key` has noted. The operation is done, and its
    /// outcome does not depend on the adoption: one that fails is left to upkeep.
    #[inline]
    pub(crate) fn adopt_pending<C: Context>(
        &self,
        ctx: &mut C,
        key: &[u8],
        pending: Option<PendingAdoption>,
    ) {
        if let Some(pending) = pending
            && let Ok(Adoption::Busy) | Err(_) = self.adopt(ctx, pending, Latching::Try)
        {
            ctx.defer_maintenance(self.id, key);
        }
    }

    /// Makes the pending adoptions on the path to `key`, for which it waits for latches; those that
    /// fail are left to upkeep.
    fn adopt_path<C: Context>(&self, ctx: &mut C, key: &[u8]) {
        if !matches!(self.try_adopt_path(ctx, key, Latching::Wait), Ok(true)) {
            ctx.defer_maintenance(self.id, key);
        }
    }

    /// Makes the pending adoptions on the path to `key`, and then those of the foster children
    /// behind the adopted ones in their chains. `false` if some are left: a latch was taken, or the
    /// chains are long.
    pub(crate) fn try_adopt_path<C: Context>(
        &self,
        ctx: &mut C,
        key: &[u8],
        latching: Latching,
    ) -> Result<bool> {
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
            match self.adopt(ctx, pending, latching)? {
                Adoption::Busy => return Ok(false),
                Adoption::Adopted(page) => self.rest_of_chain(page, &mut at)?,
                Adoption::Gone | Adoption::RoomMade => {}
            }
        }
        Ok(false)
    }

    /// Replaces `at` by the low fence of the node `page`, which was just adopted, if that node has
    /// a foster child itself: a descent for a smaller key no longer meets the node.
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

    /// Latches `page` shared, to read a few of its fields.
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
