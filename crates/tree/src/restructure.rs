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
//!    the check that decides until the change is made.
//! 2. *No locks.* The contents do not change, so no lock is taken. It is only tested whether a lock
//!    is held or awaited, under the exclusive latch of the leaf: an operation relies on a lock only
//!    after it has requested the lock under that latch (write invariant 2).
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
    Lsn, PAGE_SIZE, PageId, Result,
    failpoint::{self, Failpoint},
};
use clearway_pool::{ExclusivePage, SharedPage};

use crate::descend::PendingAdoption;
use crate::need::{Incomplete, Need, Step, reserve};
use crate::node::{Division, Node};
use crate::op::{self, Op, SystemOp};
use crate::space::Preparation;
use crate::{Environment, Journal, LeafHint, SpaceMap, Tree, Upkeep, resident};
use adopt::Adoption;
pub(crate) use adopt::Latching;

/// Log bytes of a system transaction that carries a node's image and allocates or frees a page:
/// image, map page's format, and codes, ids, slots, log header.
const IMAGE_RESERVE: usize = PAGE_SIZE + SpaceMap::ALLOCATE_RESERVE + 256;

/// Log bytes of a ghost reclamation: at most 1,017 slots of at most two bytes, and the rest.
const RECLAIM_RESERVE: usize = 1017 * 2 + 128;

/// Upper bound on the successive splits of one leaf that make room for one record. The first two
/// are placed by the pattern of earlier insertions, the next two in the middle; the two in the
/// middle always suffice ([`split_slot`](Node::split_slot)).
const SPLITS_MAX: usize = 4;

/// Adoptions that one visit to a path makes at most: in practice more than a path has levels.
const ADOPTIONS_MAX: usize = 32;

/// The making of room in the leaf of a key, so that its record can have a value of a certain
/// length: the record that is there, or a new one.
pub(crate) struct RoomMaker {
    value_len: usize,
    preparation: Preparation,
    /// Set once there is room, if the leaf was split: makes the adoptions that the splits require.
    adopter: Option<PathAdopter>,
    /// The number of splits since another thread last changed the leaf.
    splits: usize,
    /// The page LSN that the last split gave the leaf.
    split_lsn: Option<Lsn>,
}

impl RoomMaker {
    pub(crate) fn new(value_len: usize) -> RoomMaker {
        let preparation = Preparation::default();
        RoomMaker { value_len, preparation, adopter: None, splits: 0, split_lsn: None }
    }

    /// Makes the room, and then the adoptions that its splits require. By the time the caller
    /// latches the leaf again, other threads may have taken the room; then the caller makes room
    /// again. No latch is held.
    ///
    /// # Errors
    /// `CorruptPage` if splits make no room, which happens only in a damaged leaf; `DiskFull`, and
    /// those of the log.
    #[cold]
    pub(crate) fn step<C: Environment>(
        &mut self,
        tree: &Tree,
        ctx: &mut C,
        hint: &mut LeafHint,
        key: &[u8],
    ) -> Step<()> {
        let made = self.advance(tree, ctx, hint, key);
        if made.is_err() && self.split_lsn.is_some() {
            // The operation may fail, or be dropped before what it needs is there: then the
            // adoptions are upkeep's.
            self.defer(tree, ctx, key);
        }
        made
    }

    fn advance<C: Environment>(
        &mut self,
        tree: &Tree,
        ctx: &mut C,
        hint: &mut LeafHint,
        key: &[u8],
    ) -> Step<()> {
        let Some(adopter) = &mut self.adopter else {
            self.make_room(tree, ctx, hint, key)?;
            if self.split_lsn.is_none() {
                return Ok(());
            }
            // An adoption that finds its branch full splits it, so one split of the leaf leads to
            // at most one new foster child on each level. All are adopted now: with leaf hints,
            // descents may be rare, and chains would grow faster than they are shortened by the
            // writers whose descents meet them.
            self.adopter = Some(PathAdopter::new(key, Latching::Wait));
            return self.advance(tree, ctx, hint, key);
        };
        match adopter.step(tree, ctx, key).map_err(Incomplete::need) {
            Ok(true) => {}
            // The operation has its room, so a full disk does not fail it: upkeep adopts the rest.
            Ok(false) | Err(Err(_) | Ok(Need::FileLength { is_required: true, .. })) => {
                self.defer(tree, ctx, key);
            }
            Err(Ok(need)) => return Err(need.into()),
        }
        Ok(())
    }

    /// Leaves the adoptions to upkeep.
    fn defer<C: Upkeep>(&self, tree: &Tree, ctx: &mut C, key: &[u8]) {
        if let Some(adopter) = &self.adopter {
            adopter.defer_rest(tree, ctx, key);
        }
        ctx.defer_maintenance(tree.id, key);
    }

    fn make_room<C: Environment>(
        &mut self,
        tree: &Tree,
        ctx: &mut C,
        hint: &mut LeafHint,
        key: &[u8],
    ) -> Step<()> {
        loop {
            reserve(ctx, IMAGE_RESERVE + RECLAIM_RESERVE)?;
            tree.space.prepare(ctx, 1, &mut self.preparation)?;
            let mut leaf: ExclusivePage<'_> = tree.leaf(key, hint, &mut None)?;
            if self.split_lsn.is_some_and(|lsn| lsn != leaf.page_lsn()) {
                self.splits = 0;
            }
            if !has_room(&leaf, key, self.value_len) {
                tree.reclaim(ctx, &mut leaf, Some(key))?;
            }
            if has_room(&leaf, key, self.value_len) {
                return Ok(());
            }
            if self.splits == SPLITS_MAX {
                return Err(tree.misplaced(leaf.id(), "splitting makes no room".into()).into());
            }
            let is_first = self.splits < SPLITS_MAX / 2;
            let division = if is_first { Division::ByPattern } else { Division::Even };
            let (Ok(slot) | Err(slot)) = Node::new(&*leaf).find(key);
            tree.split(ctx, &mut leaf, slot, division)?;
            self.splits += 1;
            self.split_lsn = Some(leaf.page_lsn());
            self.preparation = Preparation::default();
        }
    }
}

impl Tree {
    /// Makes the adoption that the descent to `key` has noted, if it has noted one. The operation
    /// is done, and its outcome does not depend on the adoption.
    #[inline]
    pub(crate) fn adopt_pending<C: Environment>(
        &self,
        ctx: &mut C,
        key: &[u8],
        pending: Option<PendingAdoption>,
    ) {
        if let Some(pending) = pending {
            self.adopt_noted(ctx, key, pending);
        }
    }

    /// Makes an adoption, and reports to upkeep what is left then: the adoption, if it failed or
    /// needs something; otherwise the foster children behind the adopted node, should it have some.
    #[cold]
    fn adopt_noted<C: Environment>(&self, ctx: &mut C, key: &[u8], pending: PendingAdoption) {
        let mut low_fence = Vec::new();
        let preparation = &mut Preparation::default();
        match self.adopt(ctx, pending, Latching::Try, preparation, &mut low_fence) {
            Ok(Adoption::Gone) => {}
            Ok(Adoption::Adopted) => ctx.defer_maintenance(self.id, &low_fence),
            Ok(Adoption::RoomMade | Adoption::Busy) | Err(_) => {
                ctx.defer_maintenance(self.id, key);
            }
        }
    }

    /// Logs and makes a system transaction. `pages` are all of its pages, exclusively latched.
    fn perform_system<C: Journal>(
        ctx: &mut C,
        op: SystemOp<'_>,
        pages: &mut [&mut ExclusivePage<'_>],
    ) -> Result<()> {
        let mut body = Vec::with_capacity(256);
        Op::System(op).encode(&mut body);
        let log = |ctx: &mut _, body: &[u8]| {
            let span = Journal::log_system(ctx, body)?;
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
    fn look(&self, page: PageId) -> Step<SharedPage<'_>> {
        resident::shared(&self.pool, page)
    }
}

/// The adoptions that are pending on the path to a key and, after each of them, those of the foster
/// children behind the adopted one in its chain.
pub(crate) struct PathAdopter {
    latching: Latching,
    /// The key of the next descent, and how far that has come: the key of the path or, after an
    /// adoption, the low fence of a node that the path no longer meets.
    at: Vec<u8>,
    hint: LeafHint,
    /// The adoption that the last descent has noted.
    pending: Option<PendingAdoption>,
    adoptions: usize,
    preparation: Preparation,
    /// The low fence of the node that was adopted last.
    low_fence: Vec<u8>,
}

impl PathAdopter {
    pub(crate) fn new(key: &[u8], latching: Latching) -> PathAdopter {
        PathAdopter {
            latching,
            at: key.to_vec(),
            hint: LeafHint::default(),
            pending: None,
            adoptions: 0,
            preparation: Preparation::default(),
            low_fence: Vec::new(),
        }
    }

    /// Makes adoptions on the path to `key`. Returns false if some are left: a latch was taken, or
    /// the chains are long. Then, and if the step is not repeated after an error or a need, the
    /// caller reports `key` to upkeep, and [the rest](PathAdopter::defer_rest).
    pub(crate) fn step<C: Environment>(
        &mut self,
        tree: &Tree,
        ctx: &mut C,
        key: &[u8],
    ) -> Step<bool> {
        while self.adoptions < ADOPTIONS_MAX {
            if self.pending.is_none() {
                self.pending = tree.pending_on_path(&self.at, &mut self.hint)?;
            }
            let Some(pending) = self.pending else {
                if self.at == key {
                    return Ok(true);
                }
                self.at.clear();
                self.at.extend_from_slice(key);
                continue;
            };
            let (preparation, low_fence) = (&mut self.preparation, &mut self.low_fence);
            match tree.adopt(ctx, pending, self.latching, preparation, low_fence)? {
                Adoption::Busy => return Ok(false),
                // The descent to a key in front of the adopted node no longer meets it, nor its own
                // foster child.
                Adoption::Adopted if self.at < self.low_fence => {
                    std::mem::swap(&mut self.at, &mut self.low_fence);
                }
                Adoption::Adopted | Adoption::Gone | Adoption::RoomMade => {}
            }
            self.pending = None;
            self.preparation = Preparation::default();
            self.adoptions += 1;
        }
        Ok(false)
    }

    /// Leaves to upkeep the rest of the chain in which the last adoption was made, if the path to
    /// `key` does not meet it.
    #[cold]
    pub(crate) fn defer_rest<C: Upkeep>(&self, tree: &Tree, ctx: &mut C, key: &[u8]) {
        if self.at != key {
            ctx.defer_maintenance(tree.id, &self.at);
        }
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
