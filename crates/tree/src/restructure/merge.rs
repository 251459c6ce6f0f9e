//! The merge of a sparse node with a neighbour under the same parent, and root shrinkage.
//!
//! Invariants
//! 1. *Content.* All records and ghosts of both nodes are in the left one afterwards; keys are
//!    reached by one path before and after, since the right one's pointer goes in the same record.
//! 2. *Stale pointers.* The node that is freed is marked so under its exclusive latch: a thread
//!    that still has its page id finds no node there and descends again.
//! 3. *Optional.* Nothing waits for a merge, so after the first look the latch of each node is only
//!    tried.
//!
//! A merge removes the border between two nodes. Between two leaves the border is the fence `F`,
//! a boundary of the locking protocol: if `F` is a record or ghost of the right leaf it simply
//! stays. If it is a fence only, it becomes a ghost if a transaction holds or awaits its lock, or
//! would miss its tag; otherwise it vanishes, and its tag is passed to the boundary before it
//! (restructure invariants 3, 4).

use clearway_base::PageId;
use clearway_pool::ExclusivePage;

use super::{IMAGE_RESERVE, Tree};
use crate::descend::Located;
use crate::need::{Step, reserve};
use crate::node::{Image, Node, Place};
use crate::op::SystemOp;
use crate::scratch::Scratch;
use crate::space::map_page_of;
use crate::{Environment, Journal, Locks, Upkeep, resident};

/// A merged node is at most this many sixteenths full, so that the next insertions do not split it
/// again at once. An empty node is merged however full the result is.
const FULL_SIXTEENTHS: usize = 13;

/// Two neighbours and their parent, by page id.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Pair {
    left: PageId,
    right: PageId,
}

impl Tree {
    /// Whether a node is empty enough to look for a neighbour: its records take less than a third
    /// of what its fences leave, or it is a branch that leads to one child only. (With long keys,
    /// fences alone take more than a third of a node.)
    pub(crate) fn is_sparse(node: Node<'_, [u8]>) -> bool {
        let records = node.used_bytes().saturating_sub(node.fence_bytes());
        node.count() <= usize::from(node.is_branch()) || records * 3 < records + node.free_bytes()
    }

    /// Merges the node of `key` on `level` with its right or left neighbour, if they fit well
    /// together. Whether anything was done; not if a latch is taken or things have changed.
    /// `resume` is where the search for the parent goes on in the next step.
    pub(crate) fn merge<C: Environment>(
        &self,
        ctx: &mut C,
        key: &[u8],
        level: u8,
        resume: &mut Option<Located>,
    ) -> Step<bool> {
        *resume = self.locate(key, level + 1, resume)?;
        let Some(Located { page: parent, .. }) = *resume else { return Ok(false) };
        reserve(ctx, IMAGE_RESERVE)?;
        // To the right first, so that a run of sparse leaves folds into one.
        for to_right in [true, false] {
            let Some(pair) = self.pair(&self.look(parent)?, key, level, to_right) else { continue };
            if self.merge_pair(ctx, parent, pair, (key, level, to_right))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The child of `key` and its neighbour, if the page is the branch above `level` that owns
    /// `key`.
    fn pair(&self, parent: &[u8], key: &[u8], level: u8, to_right: bool) -> Option<Pair> {
        let node = Node::new(parent);
        if !self.is_node_at(parent, level + 1) || node.place(key) != Place::Here {
            return None;
        }
        let slot = node.child_for(key).0;
        let left = if to_right { slot } else { slot.checked_sub(1)? };
        let pair = Pair { left: node.child(left), right: node.child(left + 1) };
        (left + 1 < node.count()).then_some(pair)
    }

    fn merge_pair<C: Environment>(
        &self,
        ctx: &mut C,
        parent: PageId,
        pair: Pair,
        (key, level, to_right): (&[u8], u8, bool),
    ) -> Step<bool> {
        let pool = &self.pool;
        let _resident = (
            resident::pin(pool, pair.left)?,
            resident::pin(pool, pair.right)?,
            resident::pin(pool, map_page_of(pair.right))?,
        );
        let Some(mut parent) = resident::try_exclusive(pool, parent)? else { return Ok(false) };
        // The pair was chosen in an earlier latch hold; this look decides.
        if self.pair(&parent, key, level, to_right) != Some(pair) {
            return Ok(false);
        }
        let Some(mut left) = resident::try_exclusive(pool, pair.left)? else { return Ok(false) };
        let Some(mut right) = resident::try_exclusive(pool, pair.right)? else { return Ok(false) };
        if !self.is_node_at(&left, level) || !self.is_node_at(&right, level) {
            return Ok(false);
        }
        // Branches have no locks, and their separators are no boundaries.
        let keep_fence = level == 0 && self.fence_is_needed(ctx, &left, &right);
        if !fit_together(&left, &right, keep_fence) {
            return Ok(false);
        }
        let mut scratch = Scratch::borrow();
        Node::new(&*right).image_into(&mut scratch.value);
        let Some(image) = Image::parse(&scratch.value) else { return Ok(false) };
        let mut map = self.space.map_for(pair.right)?;
        let op = SystemOp::Merge {
            parent: parent.id(),
            left: pair.left,
            right: pair.right,
            tree: self.id,
            keep_fence,
            image,
        };
        let pages: &mut [&mut ExclusivePage<'_>] =
            &mut [&mut parent, &mut left, &mut right, &mut map];
        Tree::perform_system(ctx, op, pages)?;
        drop(map);
        self.space.note_freed(pair.right);
        // The right leaf's ghosts were reported under its low fence only, and a later split can put
        // them into another leaf than that key.
        if level == 0 && Node::new(&*left).ghost_count() > 0 {
            self.report_leaf(ctx, Node::new(&*left));
        }
        Ok(true)
    }

    /// Returns true if the border between two latched leaves must stay as a ghost. If not, and it
    /// is no record, passes its tag to the boundary before it. If the merge does not take place
    /// then, that tag is too high, which can only delay the delivery of a result.
    fn fence_is_needed<C: Locks + Upkeep>(&self, ctx: &mut C, left: &[u8], right: &[u8]) -> bool {
        let (left, right) = (Node::new(left), Node::new(right));
        let fence = right.low_fence();
        if right.find(fence).is_ok() {
            return false; // It stays as what it is.
        }
        let id = self.lock_of(fence);
        !ctx.ghost_is_free(id) || !ctx.inherit_tag(id, self.lock_before(left, left.count()))
    }

    /// Moves the content of the root's only child to the root. Whether it was done.
    pub(crate) fn shrink_root<C: Journal>(&self, ctx: &mut C) -> Step<bool> {
        // A foster child of either would have no place in what is left.
        let only = |node: Node<'_, [u8]>| {
            let one = node.is_branch() && node.tree() == self.id && node.count() == 1;
            (one && node.foster().is_none()).then(|| node.child(0))
        };
        let Some(child_id) = only(Node::new(&*self.look(self.root)?)) else { return Ok(false) };
        reserve(ctx, IMAGE_RESERVE)?;
        let pool = &self.pool;
        let _resident =
            (resident::pin(pool, child_id)?, resident::pin(pool, map_page_of(child_id))?);
        let Some(mut root) = resident::try_exclusive(pool, self.root)? else { return Ok(false) };
        if only(Node::new(&*root)) != Some(child_id) {
            return Ok(false);
        }
        let Some(mut child) = resident::try_exclusive(pool, child_id)? else { return Ok(false) };
        let node = Node::new(&*child);
        let mut scratch = Scratch::borrow();
        if node.foster().is_some() || !node.image_into(&mut scratch.value) {
            return Ok(false);
        }
        let Some(image) = Image::parse(&scratch.value) else { return Ok(false) };
        let mut map = self.space.map_for(child_id)?;
        let op = SystemOp::ShrinkRoot { root: self.root, child: child_id, tree: self.id, image };
        Tree::perform_system(ctx, op, &mut [&mut root, &mut child, &mut map])?;
        drop(map);
        self.space.note_freed(child_id);
        Ok(true)
    }
}

/// Whether two neighbours make one good node. The left one must have no foster child: that would
/// stand between them.
fn fit_together(left: &[u8], right: &[u8], keep_fence: bool) -> bool {
    let (left, right) = (Node::new(left), Node::new(right));
    if left.foster().is_some() {
        return false;
    }
    // A leaf without records, or a branch with one child, is of no use, however full the result.
    let is_useless = |node: Node<'_, [u8]>| node.count() <= usize::from(node.is_branch());
    let capacity = left.used_bytes() + left.free_bytes();
    left.used_absorbed(right, keep_fence).is_some_and(|used| {
        is_useless(left) || is_useless(right) || used * 16 <= capacity * FULL_SIXTEENTHS
    })
}
