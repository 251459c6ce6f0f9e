//! The descent after too many restarts (`RESTARTS_MAX`): latch coupling from the root to the leaf.
//!
//! No other thread can change a pointer that a coupled descent is about to follow. So if the
//! pointer and the page that it leads to do not match, that is damage and not a race.
//!
//! To keep all reading-in outside of latches, the walk releases its latch, pins the page that the
//! pointer leads to, latches again and checks whether the pointer still leads there. (If that page
//! is absent, the operation's step ends with a need, and the next one walks from the root again.)
//! If the pointer no longer leads there, another thread has just changed this very node: this part
//! of the walk is repeated, or the descent starts over if the node no longer has the key. So at
//! most two pages are pinned, however long a foster chain is.
//!
//! Invariants
//! 1. *It ends.* Each step goes one level down or, on one level, to a higher low fence; both are
//!    checked under the latches of both pages. Steps are repeated only after another thread's
//!    change.

use clearway_base::{PageId, Result};
use clearway_pool::{NotResident, Pin, Pool, SharedPage};

use super::Latched;
use crate::need::Step;
use crate::node::{Node, Place};
use crate::{Tree, resident};

/// Where a branch leads for a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hop {
    Foster(PageId),
    Child(PageId),
}

impl Tree {
    /// The leaf of `key`, by latch coupling.
    ///
    /// # Errors
    /// [`CorruptPage`](clearway_base::Error::CorruptPage) if the path does not lead to the key.
    #[cold]
    pub(super) fn descend_latched<'a, L: Latched<'a>>(&'a self, key: &[u8]) -> Step<(PageId, L)> {
        loop {
            if let Some(found) = self.walk(key)? {
                return Ok(found);
            }
        }
    }

    /// One walk from the root. `None` if a node on the way was changed so that it has to start
    /// over.
    fn walk<'a, L: Latched<'a>>(&'a self, key: &[u8]) -> Step<Option<(PageId, L)>> {
        let mut at = resident::pin(&self.pool, self.root)?;
        let mut branch = resident::shared(&self.pool, self.root)?;
        let root = Node::new(&*branch);
        let mut level = root.level();
        if root.is_leaf() && root.tree() == self.id {
            // A root that is a leaf has no parent to couple with; it stays the root, though it may
            // become a branch before it is latched again.
            drop(branch);
            let leaf: L = latched(&self.pool, self.root)?;
            let (node, place) = (Node::new(&*leaf), self.leaf_place(&leaf, key));
            let is_still_leaf = node.is_leaf() && node.tree() == self.id;
            if is_still_leaf && !matches!(place, Some(Place::Here | Place::Foster(_))) {
                // A root owns all keys, so starting over would find the same for ever.
                return Err(self
                    .misplaced(self.root, format!("the root is a leaf, {place:?}"))
                    .into());
            }
            return self.walk_leaves(at, leaf, key);
        }
        if self.hop(&branch, level, key).is_none() {
            let (kind, tree) = (root.kind(), root.tree().0);
            let detail = format!("the root is {kind:?} of tree {tree}");
            return Err(self.misplaced(self.root, detail).into());
        }
        loop {
            let Some(hop) = self.hop(&branch, level, key) else { return Ok(None) };
            let (Hop::Foster(next) | Hop::Child(next)) = hop;
            self.check_not_itself(at.id(), next)?;
            drop(branch);
            let below = resident::pin(&self.pool, next)?;
            branch = resident::shared(&self.pool, at.id())?;
            if self.hop(&branch, level, key) != Some(hop) {
                continue;
            }
            if hop == Hop::Child(next) && level == 1 {
                let leaf: L = latched(&self.pool, next)?;
                let place = self.leaf_place(&leaf, key);
                if !matches!(place, Some(Place::Here | Place::Foster(_))) {
                    return Err(self
                        .misplaced(next, format!("leaf of the key is {place:?}"))
                        .into());
                }
                drop(branch);
                return self.walk_leaves(below, leaf, key);
            }
            let child = resident::shared(&self.pool, next)?;
            if let Hop::Foster(_) = hop {
                self.check_link(at.id(), &branch, next, &child)?;
            } else {
                level -= 1;
            }
            if self.hop(&child, level, key).is_none() {
                let (kind, found) = (Node::new(&*child).kind(), Node::new(&*child).level());
                let detail = format!("{kind:?} on level {found} where level {level} should be");
                return Err(self.misplaced(next, detail).into());
            }
            (branch, at) = (child, below);
        }
    }

    /// Follows the chain from a latched leaf, left to right.
    fn walk_leaves<'a, L: Latched<'a>>(
        &'a self,
        mut at: Pin<'a>,
        mut leaf: L,
        key: &[u8],
    ) -> Step<Option<(PageId, L)>> {
        loop {
            let next = match self.leaf_place(&leaf, key) {
                Some(Place::Here) => return Ok(Some((at.id(), leaf))),
                Some(Place::Foster(next)) => next,
                _ => return Ok(None),
            };
            self.check_not_itself(at.id(), next)?;
            drop(leaf);
            let below = resident::pin(&self.pool, next)?;
            leaf = latched(&self.pool, at.id())?;
            if self.leaf_place(&leaf, key) != Some(Place::Foster(next)) {
                continue;
            }
            let right: L = latched(&self.pool, next)?;
            self.check_link(at.id(), &leaf, next, &right)?;
            let place = self.leaf_place(&right, key);
            if !matches!(place, Some(Place::Here | Place::Foster(_))) {
                return Err(self.misplaced(next, format!("foster leaf is {place:?}")).into());
            }
            (leaf, at) = (right, below);
        }
    }

    /// Where a latched page leads for `key`; `None` if it is no branch on `level` that has the key.
    fn hop(&self, page: &SharedPage<'_>, level: u8, key: &[u8]) -> Option<Hop> {
        let node = Node::new(&**page);
        if level == 0 || !self.is_node_at(page, level) {
            return None;
        }
        match node.place(key) {
            Place::Here => Some(Hop::Child(node.child_for(key).1)),
            Place::Foster(next) => Some(Hop::Foster(next)),
            Place::Below | Place::Above => None,
        }
    }

    /// Checks that the pointer of a latched page leads to another page: the walk latches both.
    fn check_not_itself(&self, page: PageId, next: PageId) -> Result<()> {
        if page == next {
            return Err(self.misplaced(page, "it points to itself".into()));
        }
        Ok(())
    }

    /// Checks that the foster child starts where its predecessor ends, and above where that starts.
    fn check_link(&self, left: PageId, above: &[u8], page: PageId, below: &[u8]) -> Result<()> {
        let (from, to) = (Node::new(above), Node::new(below));
        let starts_there = from.foster_link().is_some_and(|(_, key)| key == to.low_fence());
        if starts_there && to.low_fence() > from.low_fence() {
            return Ok(());
        }
        Err(self.misplaced(page, format!("it does not start where page {left} says")))
    }
}

fn latched<'a, L: Latched<'a>>(pool: &'a Pool, page: PageId) -> Step<L> {
    L::latch(pool, page).map_err(|NotResident| resident::lacking(page))
}
