//! System transactions: how the tree changes its shape and never its content.
//!
//! | operation | when | module |
//! | --- | --- | --- |
//! | ghost reclamation | room is wanted in a leaf; upkeep | `reclaim` |
//! | split into a foster child | room is wanted and no ghost gives it | `split` |
//! | adoption of a foster child | a writer's descent met one; upkeep | `adopt` |
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

use crate::descend::Debt;
use crate::node::Node;
use crate::op::{self, Op, SystemOp};
use crate::{Context, LeafHint, SpaceMap, Tree};

/// Log bytes of a system transaction that carries a node's image and allocates or frees a page:
/// image, map page's format, and codes, ids, slots, log header.
const IMAGE_RESERVE: usize = PAGE_SIZE + SpaceMap::ALLOCATE_RESERVE + 256;

/// Log bytes of a ghost reclamation: at most 1,017 slots of at most two bytes, and the rest.
const RECLAIM_RESERVE: usize = 1017 * 2 + 128;

/// Rounds of making room. The first reclaims and splits; the half that owns the key may have to be
/// split again if records are large, and others may fill it meanwhile.
const ROUNDS_MAX: usize = 64;

/// Foster children that one visit to a path has adopted: more than a path has levels.
const SETTLE_MAX: usize = 32;

impl Tree {
    /// Makes room in the leaf of `key` for its record to have a value of `value_len` bytes: the
    /// record that is there, or a new one. By the time the caller looks again, others may have
    /// taken the room; then it asks again. No latch is held.
    #[cold]
    pub(crate) fn make_room<C: Context>(
        &self,
        ctx: &mut C,
        hint: &mut LeafHint,
        key: &[u8],
        value_len: usize,
    ) -> Result<()> {
        for round in 0..ROUNDS_MAX {
            ctx.reserve(IMAGE_RESERVE + RECLAIM_RESERVE)?;
            self.space.prepare(ctx, 1)?;
            let mut leaf: ExclusivePage<'_> = self.leaf(key, hint, &mut None)?;
            if has_room(&leaf, key, value_len) {
                drop(leaf);
                if round > 0 {
                    // One split brings at most one foster child to each level, as adoptions fill
                    // branches. All are paid for now: with hints, descents may be rare, and chains
                    // would grow faster than writers that happen to meet them shorten them.
                    let _ = self.settle_path(ctx, key);
                }
                return Ok(());
            }
            self.reclaim(ctx, &mut leaf, Some(key))?;
            if has_room(&leaf, key, value_len) {
                return Ok(());
            }
            let (Ok(slot) | Err(slot)) = Node::new(&*leaf).find(key);
            self.split(ctx, &mut leaf, slot)?;
        }
        Err(self.misplaced(hint.page, "splitting makes no room".into()))
    }

    /// Has a foster child that a descent met adopted. The operation that met it is done, and its
    /// outcome does not depend on this, so a failure is left to whoever fails on it next.
    #[inline]
    pub(crate) fn settle_debt<C: Context>(&self, ctx: &mut C, debt: Option<Debt>) {
        if let Some(debt) = debt {
            let _ = self.adopt(ctx, debt);
        }
    }

    /// Has foster children on the path to `key` adopted until there are none, or until one must
    /// wait for a latch.
    pub(crate) fn settle_path<C: Context>(&self, ctx: &mut C, key: &[u8]) -> Result<()> {
        for _ in 0..SETTLE_MAX {
            match self.debt_on_path(key)? {
                Some(debt) if self.adopt(ctx, debt)? => {}
                _ => break,
            }
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
