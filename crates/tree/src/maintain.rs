//! The life of a tree: creation, upkeep, destruction.

use clearway_base::{
    PageId, Result, TreeId,
    failpoint::{self, Failpoint},
};
use clearway_pool::{ExclusivePage, Pool};
use std::sync::Arc;

use crate::descend::Located;
use crate::need::{Step, drive, drive_reads, reserve};
use crate::node::{Node, Place};
use crate::op::{self, Op, SystemOp};
use crate::overflow::OverflowRef;
use crate::restructure::{Latching, PathAdopter};
use crate::space::{Allocation, Preparation, map_page_of};
use crate::{
    Environment, Journal, LeafHint, SpaceMap, Tree, TreeConfig, Upkeep, Wait, overflow, resident,
};

/// Merges of one visit to a path.
const ROUNDS_MAX: usize = 32;

/// Most pages that one record of a destruction frees: a body of about 4 KiB.
const PRUNE_BATCH: usize = 1000;

/// Log bytes of a small system transaction.
const SMALL_RESERVE: usize = 512;

impl Tree {
    /// Creates a tree: allocates its root, an empty leaf, in a system transaction of its own. Until
    /// something durable leads to the root, destroying the tree is up to the caller.
    ///
    /// # Errors
    /// `DiskFull`, and what the log returns.
    pub fn create<C: Journal + Wait>(
        pool: Arc<Pool>,
        space: Arc<SpaceMap>,
        id: TreeId,
        config: TreeConfig,
        ctx: &mut C,
    ) -> Result<Tree> {
        let mut tree = Tree::open(pool, space, id, PageId::NONE, config);
        let mut preparation = Preparation::default();
        tree.root = drive(&tree.pool, ctx, |ctx| {
            reserve(ctx, SMALL_RESERVE + SpaceMap::ALLOCATE_RESERVE)?;
            tree.space.prepare(ctx, 1, &mut preparation)?;
            let Allocation { mut map, mut page } = tree.space.allocate(ctx)?;
            let node_bytes = tree.node_bytes;
            let op = SystemOp::FormatRoot { page: page.id(), tree: id, node_bytes };
            let mut body = Vec::new();
            Op::System(op).encode(&mut body);
            op::perform(ctx, Journal::log_system, &body, &mut [&mut page, &mut map])?;
            Ok(page.id())
        })?;
        Ok(tree)
    }

    /// Frees a value's overflow chain that a committed transaction has dropped; see
    /// [`Upkeep::defer_free`].
    ///
    /// # Errors
    /// `Corrupt` if `reference` is none, and what the pool and the log return; what is not freed
    /// by then stays allocated, which `verify` reports.
    pub fn free_value<C: Environment + Wait>(&self, ctx: &mut C, reference: &[u8]) -> Result<()> {
        let chain = OverflowRef::of_record(reference)?;
        overflow::free(ctx, &self.pool, &self.space, self.id, chain)
    }

    /// Reports a leaf, in which a ghost was just left, to upkeep if that is the leaf's only ghost:
    /// the visit that follows also finds the later ones, and is repeated until the leaf has none.
    /// Reports it again when more than half of its records are ghosts, and when all are: the
    /// transaction that left the first ghost may run for long, and reports it only when it ends.
    #[inline]
    pub(crate) fn note_ghost<C: Upkeep>(&self, ctx: &mut C, leaf: Node<'_, [u8]>) {
        let (ghosts, count) = (leaf.ghost_count(), leaf.count());
        if ghosts == 1 || ghosts == count || ghosts == count / 2 + 1 {
            self.report_leaf(ctx, leaf);
        }
    }

    /// Reports a leaf to upkeep under its low fence, so that all such reports have the same key.
    #[cold]
    pub(crate) fn report_leaf<C: Upkeep>(&self, ctx: &mut C, leaf: Node<'_, [u8]>) {
        ctx.defer_maintenance(self.id, leaf.low_fence());
    }

    /// Upkeep of the path to `key`: foster children are adopted, ghosts reclaimed, and a sparse
    /// leaf is merged with a neighbour, then sparse branches above it; a root with one child only
    /// takes over that child's content. Waits for the latch of one node at a time, to look at the
    /// node or to reclaim the leaf's ghosts; adoptions and merges only try their latches, and are
    /// omitted if one is taken. Safe at any time. Outside of any user's transaction: `ctx` must
    /// hold no locks on keys. (Upkeep holds IX on the table, except on the catalogue.)
    ///
    /// # Errors
    /// What the pool and the log return.
    pub fn maintain<C: Environment + Wait>(&self, ctx: &mut C, key: &[u8]) -> Result<()> {
        let mut hint = LeafHint::default();
        let mut adopter = PathAdopter::new(key, Latching::Try);
        let adopted = drive(&self.pool, ctx, |ctx| adopter.step(self, ctx, key));
        if !matches!(adopted, Ok(true)) {
            adopter.defer_rest(self, ctx, key);
        }
        if !adopted? {
            ctx.defer_maintenance(self.id, key);
        }
        if !drive(&self.pool, ctx, |ctx| self.reclaim_at(ctx, &mut hint, key))? {
            return Ok(());
        }
        self.merge_path(ctx, key)?;
        while drive(&self.pool, ctx, |ctx| self.shrink_root(ctx))? {}
        Ok(())
    }

    /// Merges sparse nodes on the path to `key`, from the leaf upwards.
    fn merge_path<C: Environment + Wait>(&self, ctx: &mut C, key: &[u8]) -> Result<()> {
        // The highest level worth a look: above a merge, and above a node that stays sparse for
        // want of a neighbour under the same parent.
        let (mut level, mut highest) = (0, 0);
        for _ in 0..ROUNDS_MAX {
            if level > highest {
                return Ok(());
            }
            let mut resume = None;
            if drive_reads(&self.pool, || self.is_sparse_at(key, level, &mut resume))? {
                highest = highest.max(level + 1);
                resume = None;
                if drive(&self.pool, ctx, |ctx| self.merge(ctx, key, level, &mut resume))? {
                    // After a merge of branches, nodes below that were the first or the last child
                    // of their parents have a neighbour now.
                    level = 0;
                    continue;
                }
            }
            level += 1;
        }
        // There is more to merge than one visit does.
        ctx.defer_maintenance(self.id, key);
        Ok(())
    }

    /// Reclaims the ghosts in the leaf of `key`; whether the leaf is sparse then.
    fn reclaim_at<C: Environment>(
        &self,
        ctx: &mut C,
        hint: &mut LeafHint,
        key: &[u8],
    ) -> Step<bool> {
        reserve(ctx, clearway_base::PAGE_SIZE)?;
        let mut leaf: ExclusivePage<'_> = self.leaf(key, hint, &mut None)?;
        self.reclaim(ctx, &mut leaf, None)?;
        Ok(Tree::is_sparse(Node::new(&*leaf)))
    }

    /// Whether the node of `key` on `level` is sparse; not if there is no such level.
    fn is_sparse_at(&self, key: &[u8], level: u8, resume: &mut Option<Located>) -> Step<bool> {
        let Some(at) = self.locate(key, level, resume)? else { return Ok(false) };
        let page = resident::shared(&self.pool, at.page)?;
        Ok(self.is_node_at(&page, level)
            && Node::new(&*page).place(key) == Place::Here
            && Tree::is_sparse(Node::new(&*page)))
    }

    /// Frees all pages of the tree. No other thread may use the tree, now or later. It takes many
    /// system transactions, each of which leaves a smaller tree; after a crash or an error, call it
    /// again. If the pages are freed already, it does nothing.
    ///
    /// # Errors
    /// What the pool and the log return.
    pub fn destroy<C: Journal + Wait>(&self, ctx: &mut C) -> Result<()> {
        if !self.space.is_allocated(self.root)? {
            return Ok(());
        }
        let level = {
            let root = self.pool.shared(self.root)?;
            let level = Node::new(&*root).level();
            if !self.is_node_at(&root, level) {
                return Ok(());
            }
            level
        };
        self.empty_node(ctx, self.root, level)?;
        drive(&self.pool, ctx, |ctx| {
            reserve(ctx, SMALL_RESERVE)?;
            let mut map = self.space.map_for(self.root)?;
            let op = SystemOp::FreePages { tree: self.id, pages: vec![self.root] };
            let mut body = Vec::new();
            Op::System(op).encode(&mut body);
            op::perform(ctx, Journal::log_system, &body, &mut [&mut map])?;
            Ok(())
        })?;
        self.space.note_freed(self.root);
        Ok(())
    }

    /// Frees everything below a node: children, overflow chains, and the chain of its foster
    /// children, from the last one on, so that what is freed leads nowhere. Recursive by level
    /// only: a chain may be long. A damaged pointer ends it, since every page must be a node of the
    /// tree on the level that its pointer says.
    fn empty_node<C: Journal + Wait>(&self, ctx: &mut C, page: PageId, level: u8) -> Result<()> {
        let mut chain = vec![page];
        let (mut low, mut last) = (Vec::new(), page);
        loop {
            // A statement of its own: no latch is held while `next` is read in.
            let next = Node::new(&*self.pool.shared(last)?).foster();
            let Some(next) = next else { break };
            let foster = self.pool.shared(next)?;
            let found = Node::new(&*foster).low_fence();
            if found <= &low[..] {
                return Err(self.misplaced(next, format!("it does not lie behind page {last}")));
            }
            low.clear();
            low.extend_from_slice(found);
            chain.push(next);
            last = next;
        }
        chain.into_iter().rev().try_for_each(|page| self.empty_one(ctx, page, level))
    }

    /// Frees everything below a node whose foster child, if it has one, is empty.
    fn empty_one<C: Journal + Wait>(&self, ctx: &mut C, page: PageId, level: u8) -> Result<()> {
        let (mut below, foster) = {
            let latched = self.pool.shared(page)?;
            let node = Node::new(&*latched);
            if !self.is_node_at(&latched, level) {
                let detail = format!("{:?}, not a node on level {level}", node.kind());
                return Err(self.misplaced(page, detail));
            }
            let count = if node.is_branch() { node.count() } else { 0 };
            ((0..count).map(|slot| node.child(slot)).collect::<Vec<_>>(), node.foster())
        };
        if level == 0 {
            self.cut_chains(ctx, page)?;
        }
        for &child in &below {
            self.empty_node(ctx, child, level - 1)?;
        }
        let mut drop_foster = foster;
        while !below.is_empty() || drop_foster.is_some() {
            // From the end, as many as one space-map page covers and one record can name.
            let map = map_page_of(drop_foster.unwrap_or_else(|| below[below.len() - 1]));
            let mut pages: Vec<PageId> = drop_foster.into_iter().collect();
            let had_foster = drop_foster.take().is_some();
            while pages.len() < PRUNE_BATCH
                && let Some(child) = below.pop_if(|child| map_page_of(*child) == map)
            {
                pages.push(child);
            }
            let keep = below.len();
            drive(&self.pool, ctx, |ctx| self.prune(ctx, page, keep, had_foster, &pages))?;
        }
        Ok(())
    }

    /// Frees childless nodes at the end of a node's slots.
    fn prune<C: Journal>(
        &self,
        ctx: &mut C,
        node: PageId,
        keep: usize,
        drop_foster: bool,
        pages: &[PageId],
    ) -> Step<()> {
        reserve(ctx, SMALL_RESERVE + pages.len() * 4)?;
        let lowest = pages.iter().copied().min().unwrap_or(node);
        let _resident = resident::pin(&self.pool, map_page_of(lowest))?;
        let mut latched = resident::exclusive(&self.pool, node)?;
        // A leaf keeps its records: they lead nowhere.
        let keep = if Node::new(&*latched).is_leaf() { Node::new(&*latched).count() } else { keep };
        let mut map = self.space.map_for(lowest)?;
        let pages = pages.to_vec();
        let op = SystemOp::Prune { node, tree: self.id, keep, drop_foster, pages };
        let mut body = Vec::new();
        Op::System(op).encode(&mut body);
        op::perform(ctx, Journal::log_system, &body, &mut [&mut latched, &mut map])?;
        failpoint::pass(Failpoint::DropPruned);
        drop(map);
        self.space.note_freed(lowest);
        Ok(())
    }

    /// Frees the overflow chains of a leaf's records, front to end, so that a crash in between
    /// leaves a record that leads to the rest. A ghost's chain was freed when its delete committed.
    fn cut_chains<C: Journal + Wait>(&self, ctx: &mut C, leaf: PageId) -> Result<()> {
        let mut slot = 0;
        loop {
            let chain = {
                let page = self.pool.shared(leaf)?;
                let node = Node::new(&*page);
                if slot >= node.count() {
                    return Ok(());
                }
                if node.is_ghost(slot) || !node.is_overflow(slot) {
                    slot += 1;
                    continue;
                }
                OverflowRef::of_record(node.value(slot))?
            };
            let (pages, rest) = overflow::front(&self.pool, self.id, chain)?;
            let lowest = pages.iter().copied().min().unwrap_or(leaf);
            let op = SystemOp::CutChain { leaf, tree: self.id, slot, rest, pages };
            let mut body = Vec::new();
            Op::System(op).encode(&mut body);
            drive(&self.pool, ctx, |ctx| {
                // The body names at most as many pages as this.
                reserve(ctx, SMALL_RESERVE + body.len())?;
                let _resident = resident::pin(&self.pool, map_page_of(lowest))?;
                let mut latched = resident::exclusive(&self.pool, leaf)?;
                let mut map = self.space.map_for(lowest)?;
                op::perform(ctx, Journal::log_system, &body, &mut [&mut latched, &mut map])?;
                Ok(())
            })?;
            self.space.note_freed(lowest);
        }
    }
}
