//! The descent for restart storms: shared latches, coupled from the root to the leaf.
//!
//! Nobody can change a pointer that a coupled descent is about to follow, so one pass always
//! arrives. To keep all reading-in outside of latches, a pass that meets a page it has not pinned
//! yet lets everything go, pins that page and starts again; pins only grow, so the number of
//! passes is bounded by the length of the path, and by what splits add to it meanwhile.

use clearway_base::{PageId, Result};
use clearway_pool::Pin;

use super::{Latched, STEPS_MAX};
use crate::Tree;
use crate::node::{Node, Place};

/// What one pass came to.
enum Pass<L> {
    /// The leaf.
    Leaf(PageId, L),
    /// A page to pin first.
    Absent(PageId),
}

impl Tree {
    /// The leaf of `key`, by latch coupling.
    ///
    /// # Errors
    /// [`CorruptPage`](clearway_base::Error::CorruptPage) if the path does not lead to the key.
    #[cold]
    pub(super) fn descend_latched<'a, L: Latched<'a>>(&'a self, key: &[u8]) -> Result<(PageId, L)> {
        let mut pins: Vec<Pin<'a>> = vec![self.pool.pin(self.root)?];
        for _ in 0..STEPS_MAX * 4 {
            match self.pass(key, &pins)? {
                Pass::Leaf(page, leaf) => return Ok((page, leaf)),
                Pass::Absent(page) => pins.push(self.pool.pin(page)?),
            }
        }
        Err(self.misplaced(self.root, "a descent under latches does not end".into()))
    }

    fn pass<'a, L: Latched<'a>>(&'a self, key: &[u8], pins: &[Pin<'a>]) -> Result<Pass<L>> {
        let mut page = self.root;
        let mut above = self.pool.shared(page)?;
        if Node::new(&*above).is_leaf() {
            // A root that is a leaf has no parent to couple with; it stays the root, though it may
            // become a branch before it is latched again: then the next pass knows.
            drop(above);
            let leaf = L::latch(&self.pool, page)?;
            return match self.leaf_place(&leaf, key) {
                Some(Place::Here) => Ok(Pass::Leaf(page, leaf)),
                Some(Place::Foster(foster)) => self.couple_leaf(leaf, foster, key, pins),
                _ => Ok(Pass::Absent(page)),
            };
        }
        for _ in 0..STEPS_MAX {
            let node = Node::new(&*above);
            if !node.is_branch() || node.tree() != self.id {
                let kind = node.kind();
                return Err(self.misplaced(page, format!("{kind:?} where a branch should be")));
            }
            let foster = node.foster_for(key);
            let next = foster.unwrap_or_else(|| node.child_for(key).1);
            if !pins.iter().any(|pin| pin.id() == next) {
                return Ok(Pass::Absent(next));
            }
            if foster.is_none() && node.level() == 1 {
                let leaf = L::latch(&self.pool, next)?;
                drop(above);
                return match self.leaf_place(&leaf, key) {
                    Some(Place::Here) => Ok(Pass::Leaf(next, leaf)),
                    Some(Place::Foster(foster)) => self.couple_leaf(leaf, foster, key, pins),
                    place => Err(self.misplaced(next, format!("leaf of the key is {place:?}"))),
                };
            }
            let below = self.pool.shared(next)?;
            (above, page) = (below, next);
        }
        Err(self.misplaced(page, "a path without end".into()))
    }

    /// Follows the chain from a latched leaf, left to right.
    fn couple_leaf<'a, L: Latched<'a>>(
        &'a self,
        mut leaf: L,
        mut next: PageId,
        key: &[u8],
        pins: &[Pin<'a>],
    ) -> Result<Pass<L>> {
        for _ in 0..STEPS_MAX {
            if !pins.iter().any(|pin| pin.id() == next) {
                return Ok(Pass::Absent(next));
            }
            let right = L::latch(&self.pool, next)?;
            drop(leaf);
            match self.leaf_place(&right, key) {
                Some(Place::Here) => return Ok(Pass::Leaf(next, right)),
                Some(Place::Foster(foster)) => (leaf, next) = (right, foster),
                place => return Err(self.misplaced(next, format!("foster leaf is {place:?}"))),
            }
        }
        Err(self.misplaced(next, "a foster chain without end".into()))
    }
}
