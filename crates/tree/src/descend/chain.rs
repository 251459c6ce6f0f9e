//! Along a chain of foster children, without coupled latches.
//!
//! A chain is short as long as parents adopt what descents note, but no length is wrong: a parent
//! that is latched whenever an adoption is tried, or a crash before the adoption, leaves a longer
//! one. Damage shows in a link that does not fit: a foster child must start exactly at its
//! predecessor's foster key, which lies above the predecessor's low fence.
//!
//! Invariants
//! 1. *A walk ends.* It goes on only to a node that starts above the node before it, and there are
//!    finitely many pages.
//! 2. *Damage is reported only under latches.* A link that seems broken is a reason to start the
//!    descent over: the page may have been merged away and used again in between. The coupled
//!    descent ([`latched`](super::latched)), to which a descent comes when starting over does not
//!    help, reads both ends of a link under latches and reports damage. (The check that debug
//!    builds make, [`visit`](super::visit), reports damage without a latch.)

use clearway_base::PageId;
use clearway_pool::OptimisticPage;

use super::{Latched, Located, lacking};
use crate::Tree;
use crate::need::Step;
use crate::node::{Node, Place};

impl Tree {
    /// The branch on `level` that owns `key`, from `view` on along its chain. `None` if the descent
    /// must start over.
    #[cold]
    pub(super) fn along_chain<'a>(
        &'a self,
        mut view: OptimisticPage<'a>,
        level: u8,
        key: &[u8],
        resume: &mut Option<Located>,
    ) -> Step<Option<OptimisticPage<'a>>> {
        let (mut low, mut start, mut found) = (Vec::new(), Vec::new(), Vec::new());
        while let Some(foster) = Node::new(&view).foster_for(key) {
            Node::new(&view).low_fence_into(&mut low);
            Node::new(&view).foster_key_into(&mut start);
            if view.validate().is_err() {
                return Ok(None);
            }
            let Ok(child) = self.pool.optimistic_if_resident(foster) else {
                return Err(lacking(Located::foster(foster, view.id()), resume));
            };
            if view.validate().is_err() {
                return Ok(None);
            }
            self.check_visited(&child, level, key)?;
            Node::new(&child).low_fence_into(&mut found);
            if found != start || found <= low {
                return Ok(None);
            }
            view = child;
        }
        Ok(Some(view))
    }

    /// Latches the leaf that owns `key`. It is farther along the chain than `leaf`: `next`, or a
    /// foster child after it. `None` if the descent must start over.
    #[cold]
    pub(super) fn latch_in_chain<'a, L: Latched<'a>>(
        &'a self,
        mut leaf: L,
        mut next: Located,
        key: &[u8],
        resume: &mut Option<Located>,
    ) -> Step<Option<(PageId, L)>> {
        let mut low = Vec::new();
        loop {
            Node::new(&*leaf).low_fence_into(&mut low);
            drop(leaf);
            leaf = L::latch(&self.pool, next.page).map_err(|_| lacking(next, resume))?;
            let place = self.leaf_place(&leaf, key);
            if Node::new(&*leaf).low_fence() <= &low[..] {
                return Ok(None);
            }
            match place {
                Some(Place::Here) => return Ok(Some((next.page, leaf))),
                Some(Place::Foster(foster)) => next = Located::foster(foster, next.page),
                _ => return Ok(None),
            }
        }
    }

    /// The node on `level` that owns `key`, from `at` on along its chain; `Some(None)` if the tree
    /// is not that high, `None` if the descent must start over.
    pub(super) fn locate_in_chain(
        &self,
        mut at: Located,
        key: &[u8],
        level: u8,
        resume: &mut Option<Located>,
    ) -> Step<Option<Option<Located>>> {
        let (mut low, mut found) = (Vec::new(), Vec::new());
        loop {
            let page = self.pool.shared_if_resident(at.page).map_err(|_| lacking(at, resume))?;
            let node = Node::new(&*page);
            if at.page == self.root && node.tree() == self.id && node.level() < level {
                return Ok(Some(None));
            }
            node.low_fence_into(&mut found);
            if at.is_foster && found <= low {
                return Ok(None);
            }
            match node.place(key) {
                Place::Foster(next) if self.is_node_at(&page, level) => {
                    at = Located::foster(next, at.page);
                }
                _ => return Ok(Some(Some(at))),
            }
            std::mem::swap(&mut low, &mut found);
        }
    }
}
